//! What the emitter is asked about an instruction, in the units of this crate.

use rxla_hlo::{InstructionId, Module};

/// How much an instruction takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// About the cycles of one thread.
    pub(crate) work: u64,
}

/// `None` if there is no kernel for it.
pub(crate) fn cost(module: &Module, id: InstructionId) -> Option<Cost> {
    let cost = rxla_emit::cost(module, id);
    // Nothing is what it also says of what it cannot do; asking costs as much as looking.
    if cost == rxla_emit::Cost::default() && rxla_emit::supports(module, id).is_err() {
        return None;
    }
    let cycles = cost.operations / 4 + cost.bytes / 8;
    Some(Cost { work: u64::try_from(cycles).unwrap_or(0) })
}

/// Whether a result leaf may lie where an operand leaf lies.
pub(crate) fn in_place(module: &Module, id: InstructionId, operand: usize, result: usize) -> bool {
    rxla_emit::in_place(module, id, operand, result)
}
