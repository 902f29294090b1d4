//! What the world around a run provides and allows.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rxla_base::Result;
use rxla_hlo::op::CustomCall;
use rxla_hlo::{FrontendAttributes, InstructionId, Literal, Shape};

/// Limits and surroundings of a run.
#[derive(Clone)]
pub struct Options {
    /// The most bytes one value may take; a larger one is RESOURCE_EXHAUSTED before it is made.
    pub memory_limit: usize,
    /// The most instructions a device may execute; beyond, the run is DEADLINE_EXCEEDED.
    pub step_limit: Option<u64>,
    /// Set from outside, it makes the run end with CANCELLED.
    pub cancelled: Option<Arc<AtomicBool>>,
    pub custom_calls: Option<Arc<dyn CustomCalls>>,
    pub host: Option<Arc<dyn Host>>,
    /// Seeds `rng`.
    pub seed: u64,
    /// How long a device waits for others at a collective.
    pub collective_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory_limit: 1 << 38,
            step_limit: None,
            cancelled: None,
            custom_calls: None,
            host: None,
            seed: 42,
            collective_timeout: Duration::from_secs(600),
        }
    }
}

/// Which of the devices of a run evaluates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DeviceId {
    pub replica: usize,
    pub partition: usize,
}

/// A custom call as its implementation sees it.
pub struct CustomCallRequest<'a> {
    pub target: &'a str,
    /// The call itself: the same in each execution of the module.
    pub id: InstructionId,
    pub op: &'a CustomCall,
    pub backend_config: &'a str,
    pub frontend_attributes: Option<&'a FrontendAttributes>,
    /// Shapes as the module says them, with layouts where it has some.
    pub operand_shapes: &'a [&'a Shape],
    pub result_shape: &'a Shape,
    pub device: DeviceId,
}

/// Implementations of custom calls by target.
pub trait CustomCalls: Send + Sync {
    /// `None` if the target is not known here. Operands and result are dense and row-major
    /// whatever their layouts.
    fn call(
        &self,
        request: &CustomCallRequest<'_>,
        operands: Vec<Literal>,
    ) -> Option<Result<Literal>>;

    /// As [`CustomCalls::call`], where the bytes of its arrays lie; tokens are not among them. Results begin as zeros.
    /// `None`: only that can, and nothing has been done.
    fn call_in_place(
        &self,
        request: &CustomCallRequest<'_>,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Option<Result<()>> {
        let _ = (request, operands, results);
        None
    }
}

/// What a program exchanges with the host while it runs.
pub trait Host: Send + Sync {
    fn infeed(&self, device: DeviceId, shape: &Shape, config: &[u8]) -> Result<Literal>;
    fn outfeed(&self, device: DeviceId, value: Literal, config: &[u8]) -> Result<()>;
    fn send(&self, device: DeviceId, channel: Option<i64>, value: Literal) -> Result<()>;
    fn recv(&self, device: DeviceId, channel: Option<i64>, shape: &Shape) -> Result<Literal>;
}
