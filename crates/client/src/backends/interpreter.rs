//! The interpreter as a backend: slow, complete, and what the others are compared with.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::op::CustomCallApiVersion;
use rxla_hlo::{InstructionId, Literal, Module, Shape};
use rxla_interpreter::{CustomCallRequest, CustomCalls, DeviceId, Interpreter, Options};

use crate::backend::{Backend, Program, Run};
use crate::compile_options::CompileOptions;
use crate::host::{CustomCall, Host, Kept};

/// Runs every module there is.
pub(crate) struct InterpreterBackend;

impl Backend for InterpreterBackend {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn priority(&self) -> i32 {
        0
    }

    fn compile(&self, module: &Arc<Module>, _options: &CompileOptions) -> Result<Box<dyn Program>> {
        let interpreter = Interpreter::new(Arc::clone(module));
        Ok(Box::new(Interpreted { interpreter, kept: Arc::default() }))
    }
}

struct Interpreted {
    interpreter: Interpreter,
    kept: Arc<KeptByCall>,
}

/// What the host keeps for each custom call of a program.
type KeptByCall = Mutex<FxHashMap<InstructionId, Arc<Kept>>>;

impl Program for Interpreted {
    fn execute(&self, run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        let world = Arc::new(World::new(&run, Arc::clone(&self.kept)));
        let options = Options {
            custom_calls: Some(Arc::clone(&world) as Arc<dyn CustomCalls>),
            host: Some(world),
            ..Options::default()
        };
        let mut arguments = run.arguments;
        if arguments.len() == 1 {
            let only = arguments.pop().unwrap_or_default();
            return Ok(vec![leaves(self.interpreter.run(only, &options)?)]);
        }
        let results = self.interpreter.run_spmd(arguments, &options)?;
        Ok(results.into_iter().map(leaves).collect())
    }
}

/// The leaves of a result in order.
fn leaves(literal: Literal) -> Vec<Literal> {
    match literal {
        Literal::Tuple(elements) => elements.into_iter().flat_map(leaves).collect(),
        leaf => vec![leaf],
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

impl CustomCalls for World {
    fn call(
        &self,
        request: &CustomCallRequest<'_>,
        operands: Vec<Literal>,
    ) -> Option<Result<Literal>> {
        let op = request.op;
        let aliases: Vec<(usize, usize)> = op
            .output_to_operand_aliasing
            .iter()
            .filter_map(|alias| {
                let output = alias.output_index.first().copied().unwrap_or(0);
                Some((usize::try_from(output).ok()?, usize::try_from(alias.operand).ok()?))
            })
            .collect();
        let constrained: Vec<&Shape> = match &op.operand_layout_constraints {
            Some(shapes) if shapes.len() == operands.len() => shapes.iter().collect(),
            _ => request.operand_shapes.to_vec(),
        };
        let kept = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(kept.entry(request.id).or_default())
        };
        self.host.custom_call(&CustomCall {
            target: request.target,
            operands: &operands,
            operand_shapes: &constrained,
            result_shape: request.result_shape,
            config: request.backend_config,
            api_version: op.api_version.unwrap_or(CustomCallApiVersion::Original),
            aliases: &aliases,
            device: self.device(request.device),
            run_id: self.run_id,
            kept: &kept,
        })
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
