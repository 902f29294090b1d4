//! Updates that would lose their place if what they write were computed while it is written: a
//! `dynamic-update-slice` of a row that is computed from another row of the same array.

use rustc_hash::FxHashSet;
use rxla_hlo::{InstructionId, Module, Op};

use super::cost::{Role, bytes, role};

/// A search that comes to more instructions counts as having found such a read.
const SEARCH_LIMIT: usize = 200;

/// Whether `update`, fused into `user`, would have it read other elements of the array that it
/// overwrites, so that it had to make a copy of all of it.
pub(super) fn reads_what_it_overwrites(
    module: &Module,
    user: InstructionId,
    update: InstructionId,
) -> bool {
    let Op::DynamicUpdateSlice(_) = &module[user].op else { return false };
    let operands = module[user].operands();
    // To store and fetch nearly everything is as long a way as to copy it.
    if operands[1] != update || bytes(module, operands[0]) < 2 * bytes(module, update) {
        return false;
    }
    let target = origin(module, operands[0]);
    let mut seen: FxHashSet<(InstructionId, bool)> = FxHashSet::default();
    // With each instruction whether its elements are read where they go.
    let mut stack = vec![(update, true)];
    while let Some((id, here)) = stack.pop() {
        if seen.len() >= SEARCH_LIMIT {
            return true;
        }
        if !seen.insert((id, here)) {
            continue;
        }
        let same = here && module[id].op.is_elementwise();
        for &operand in module[id].operands() {
            if origin(module, operand) == target {
                if !(here && reads_the_place(module, id, user)) {
                    return true;
                }
            } else if role(module, operand) == Role::Lazy {
                stack.push((operand, same));
            }
        }
    }
    false
}

/// The array behind other names of the same bytes.
pub(super) fn origin(module: &Module, mut id: InstructionId) -> InstructionId {
    while matches!(module[id].op, Op::Reshape(_) | Op::Copy(_) | Op::OptimizationBarrier(_)) {
        id = module[id].operands()[0];
    }
    id
}

/// Whether a slice takes just the elements that an update puts others in place of.
fn reads_the_place(module: &Module, slice: InstructionId, update: InstructionId) -> bool {
    let (slice, update) = (&module[slice], &module[update]);
    let same_size = |size: &[i64]| {
        let updated = module[update.operands()[1]].shape.as_array();
        updated.is_some_and(|updated| updated.dims[..] == *size)
    };
    let starts = &update.operands()[2..];
    match &slice.op {
        Op::DynamicSlice(op) => {
            slice.operands()[1..] == *starts
                && slice.operands()[0] == update.operands()[0]
                && same_size(&op.dynamic_slice_sizes)
        }
        Op::Slice(op) => {
            let start = |id: &InstructionId| match &module[*id].op {
                Op::Constant(constant) => constant.literal.as_array()?.integer(0),
                _ => None,
            };
            let sizes: Vec<i64> = op.slice.iter().map(|slice| slice.limit - slice.start).collect();
            slice.operands()[0] == update.operands()[0]
                && op.slice.iter().all(|slice| slice.stride == 1)
                && starts.iter().map(start).eq(op.slice.iter().map(|slice| Some(slice.start)))
                && same_size(&sizes)
        }
        _ => false,
    }
}
