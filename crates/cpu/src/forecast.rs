//! What is known of a program's runs before the first one.

use rxla_hlo::cost::{Cost, Costs};
use rxla_hlo::{InstructionId, Module, Op};

/// What a core does in a nanosecond, roughly: the order of magnitude is what matters.
const FLOPS: f64 = 10.0;
const TRANSCENDENTALS: f64 = 1.0;
const BYTES: f64 = 8.0;
/// Instructions of a loop's body, its counting included.
const INSTRUCTIONS: f64 = 1.0;
/// For the interpreter to evaluate an instruction, at least: some take much longer.
const FALLBACK: f64 = 20e3;

/// What a run takes on one core. Nobody knows that of loops that end when they end.
pub(crate) fn nanoseconds(module: &Module, fallbacks: &[InstructionId]) -> Option<u64> {
    let costs = Costs::of(module);
    if !costs.know_all(module) {
        return None;
    }
    let total = costs.computation(module.try_entry()?);
    let instructions = |&id: &_| costs.runs(id) * module[id].instructions().len() as f64;
    let instructions = module.computations().iter().map(instructions).sum::<f64>();
    let sum = of_cost(total) + instructions / INSTRUCTIONS + fallbacks.len() as f64 * FALLBACK;
    Some(sum as u64)
}

/// What something of this cost takes on one core, in nanoseconds.
pub(crate) fn of_cost(cost: Cost) -> f64 {
    cost.flops / FLOPS + cost.transcendentals / TRANSCENDENTALS + cost.bytes / BYTES
}

/// Whether somebody else's code takes part: handlers of custom calls, but those of LAPACK, and
/// whoever gets and gives what the program sends and receives.
pub(crate) fn calls_outside(module: &Module) -> bool {
    module.instruction_ids().any(|id| match &module[id].op {
        Op::CustomCall(call) => {
            let target = &call.custom_call_target;
            !target.starts_with("lapack_") && target != crate::plan::ROOM
        }
        op => matches!(op, Op::Send(_) | Op::Recv(_) | Op::Infeed(_) | Op::Outfeed(_)),
    })
}
