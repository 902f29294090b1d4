//! Putting another module's program into a computation of this one.

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

use crate::groups::next_channel;

/// Copies the entry of `from` to the end of `into`, with `arguments` in place of its parameters.
/// Returns the copy of its root.
pub(crate) fn graft(
    module: &mut Module,
    into: ComputationId,
    from: &Module,
    arguments: &[InstructionId],
) -> Result<InstructionId> {
    let channels = next_channel(module);
    let mut copied: FxHashMap<ComputationId, ComputationId> = FxHashMap::default();
    let entry = from
        .try_entry()
        .ok_or_else(|| Error::invalid_argument("a partitioner gave a module without an entry"))?;
    for computation in from.computation_post_order() {
        if computation == entry {
            continue;
        }
        let copy = module.add_computation(from[computation].name());
        let root = body(module, copy, from, computation, None, &copied, channels)?;
        module.set_root(root);
        copied.insert(computation, copy);
    }
    body(module, into, from, entry, Some(arguments), &copied, channels)
}

fn body(
    module: &mut Module,
    into: ComputationId,
    from: &Module,
    computation: ComputationId,
    arguments: Option<&[InstructionId]>,
    computations: &FxHashMap<ComputationId, ComputationId>,
    channels: i64,
) -> Result<InstructionId> {
    let mut copies: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    for original in from.post_order(computation) {
        let instruction = &from[original];
        if let (Op::Parameter(parameter), Some(arguments)) = (&instruction.op, arguments) {
            let number = usize::try_from(parameter.number).unwrap_or(usize::MAX);
            let argument = arguments
                .get(number)
                .copied()
                .filter(|&argument| module[argument].shape.compatible(&instruction.shape));
            let argument = argument.ok_or_else(|| {
                Error::invalid_argument(format!(
                    "a partitioner gave a program whose parameter {number} is `{}`, which is no \
                     part of the call's operand",
                    instruction.shape
                ))
            })?;
            copies.insert(original, argument);
            continue;
        }
        let operands: Vec<_> = instruction.operands().iter().map(|o| copies[o]).collect();
        let mut op = instruction.op.clone();
        op.map_computations(&mut |callee| computations.get(&callee).copied().unwrap_or(callee));
        if let Some(Some(channel)) = op.channel_id_mut() {
            *channel = channel.saturating_add(channels);
        }
        let shape = instruction.shape.clone();
        let copy = module.add_instruction(into, instruction.name(), op, shape, &operands);
        if let Some(info) = instruction.info() {
            *module[copy].info_mut() = info.clone();
            // The frames belong to the other module's table.
            module[copy].info_mut().metadata.stack_frame_id = 0;
        }
        for before in instruction.control_predecessors() {
            module.add_control_edge(copies[before], copy);
        }
        copies.insert(original, copy);
    }
    Ok(copies[&from[computation].root()])
}
