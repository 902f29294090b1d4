//! The world outside a program as the interpreter asks for it: the client's host, with the
//! interpreter's names of devices translated to the client's.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::op::CustomCallApiVersion;
use rxla_hlo::{InstructionId, Literal, Module, Op, Shape};
use rxla_interpreter::{CustomCallRequest, CustomCalls, DeviceId, Options};
use smallvec::SmallVec;

use crate::backend::Run;
use crate::compile_options::LogicalDevice;
use crate::host::{CustomCall, Host, Kept};

/// What the host keeps for each custom call of a program.
pub(super) struct KeptByCall(FxHashMap<InstructionId, Kept>);

impl KeptByCall {
    /// Nothing yet, for each of a module's.
    pub(super) fn of(module: &Module) -> Arc<KeptByCall> {
        let calls =
            module.instruction_ids().filter(|&id| matches!(module[id].op, Op::CustomCall(_)));
        Arc::new(KeptByCall(calls.map(|id| (id, Kept::default())).collect()))
    }
}

/// The interpreter's name of a device.
pub(super) fn id(logical: &LogicalDevice) -> DeviceId {
    DeviceId { replica: logical.replica, partition: logical.partition }
}

/// Options of the interpreter for a run.
pub(super) fn options(run: &Run<'_>, kept: &Arc<KeptByCall>) -> Options {
    let world = Arc::new(World::new(run, Arc::clone(kept)));
    Options {
        custom_calls: Some(Arc::clone(&world) as Arc<dyn CustomCalls>),
        host: Some(world),
        ..Options::default()
    }
}

/// The world outside, with the interpreter's device names translated to the client's.
struct World {
    devices: FxHashMap<(usize, usize), usize>,
    host: Arc<dyn Host>,
    run_id: u64,
    kept: Arc<KeptByCall>,
}

impl World {
    fn new(run: &Run<'_>, kept: Arc<KeptByCall>) -> World {
        let devices = run
            .devices
            .iter()
            .map(|logical| ((logical.replica, logical.partition), logical.device))
            .collect();
        World { devices, host: Arc::clone(run.host), run_id: run.run_id, kept }
    }

    fn device(&self, id: DeviceId) -> usize {
        self.devices.get(&(id.replica, id.partition)).copied().unwrap_or(0)
    }
}

impl World {
    /// A call as hosts see it.
    fn with_call<R>(
        &self,
        request: &CustomCallRequest<'_>,
        body: impl FnOnce(&CustomCall<'_>) -> R,
    ) -> R {
        let op = request.op;
        let aliases: SmallVec<[(usize, usize); 4]> = op
            .output_to_operand_aliasing
            .iter()
            .filter_map(|alias| {
                let output = alias.output_index.first().copied().unwrap_or(0);
                Some((usize::try_from(output).ok()?, usize::try_from(alias.operand).ok()?))
            })
            .collect();
        let count = request.operand_shapes.len();
        let constrained: Option<SmallVec<[&Shape; 8]>> = op
            .operand_layout_constraints
            .as_ref()
            .filter(|shapes| shapes.len() == count)
            .map(|shapes| shapes.iter().collect());
        // A call that is not the program's own is one of this run alone.
        let fresh = Kept::default();
        body(&CustomCall {
            target: request.target,
            operand_shapes: constrained.as_deref().unwrap_or(request.operand_shapes),
            result_shape: request.result_shape,
            config: request.backend_config,
            api_version: op.api_version.unwrap_or(CustomCallApiVersion::Original),
            aliases: &aliases,
            device: self.device(request.device),
            run_id: self.run_id,
            kept: self.kept.0.get(&request.id).unwrap_or(&fresh),
        })
    }
}

impl CustomCalls for World {
    fn call(
        &self,
        request: &CustomCallRequest<'_>,
        operands: Vec<Literal>,
    ) -> Option<Result<Literal>> {
        self.with_call(request, |call| self.host.custom_call(call, &operands))
    }

    fn call_in_place(
        &self,
        request: &CustomCallRequest<'_>,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Option<Result<()>> {
        self.with_call(request, |call| self.host.custom_call_in_place(call, operands, results))
    }
}

impl rxla_interpreter::Host for World {
    fn infeed(&self, _device: DeviceId, _shape: &Shape, _config: &[u8]) -> Result<Literal> {
        Err(Error::unimplemented("infeed: no client of ours feeds"))
    }

    fn outfeed(&self, _device: DeviceId, _value: Literal, _config: &[u8]) -> Result<()> {
        Err(Error::unimplemented("outfeed: no client of ours takes it"))
    }

    fn send(&self, device: DeviceId, channel: Option<i64>, value: Literal) -> Result<()> {
        self.host.send(self.device(device), channel_of(channel)?, &value)
    }

    fn recv(&self, device: DeviceId, channel: Option<i64>, shape: &Shape) -> Result<Literal> {
        self.host.receive(self.device(device), channel_of(channel)?, shape)
    }
}

fn channel_of(channel: Option<i64>) -> Result<i64> {
    channel.ok_or_else(|| Error::invalid_argument("a host transfer has no channel"))
}
