//! Updates that would lose their place if somebody read what they overwrite too late: a `dynamic-update-slice` of
//! a row that is computed from another row of the same array while it is written, or a `gather` of rows as
//! they were before a `scatter`.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::{InstructionId, Module, Op};

use super::cost::{Role, bytes, role};
use super::groups::Group;
use crate::schedule::{Overwritten, overwritten};

/// A search that comes to more instructions counts as having found such a read.
const SEARCH_LIMIT: usize = 200;

/// Whether `update`, fused into `user`, would have it read other elements of the array that it
/// overwrites, so that it had to make a copy of all of it.
pub(super) fn reads_what_it_overwrites(
    module: &Module,
    user: InstructionId,
    update: InstructionId,
) -> bool {
    let operands = module[user].operands();
    let written = match &module[user].op {
        Op::DynamicUpdateSlice(_) => 1,
        Op::Scatter(_) if operands.len() == 3 => 2,
        _ => return false,
    };
    if operands[written] != update || !is_small_part(module, update, operands[0]) {
        return false;
    }
    let target = array(module, operands[0]);
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
            if array(module, operand) == target {
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

/// The updates of a computation, and in which order they may run.
pub(super) struct Updates<'a> {
    module: &'a Module,
    /// By the array that they overwrite, with [`Overwritten::part`].
    of: FxHashMap<InstructionId, Vec<(InstructionId, Option<usize>)>>,
    /// Places of instructions in an order in which they may run.
    pub(super) position: FxHashMap<InstructionId, usize>,
}

impl<'a> Updates<'a> {
    /// Of instructions in an order in which they may run.
    pub(super) fn new(module: &'a Module, order: &[InstructionId]) -> Updates<'a> {
        let mut of: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for &id in order {
            for Overwritten { array, part } in overwritten(module, id) {
                of.entry(array).or_default().push((id, part));
            }
        }
        let position = order.iter().enumerate().map(|(place, &id)| (id, place)).collect();
        Updates { module, of, position }
    }

    /// Whether `id`, computed with a group, would read an array after others have overwritten it, so that these had
    /// to make a copy of all of it.
    pub(super) fn are_before(&self, id: InstructionId, group: &Group) -> bool {
        let module = self.module;
        let mut parts =
            module[id].operands().iter().filter(|&&array| is_small_part(module, id, array));
        parts.any(|&array| {
            self.that_copy(array, id).any(|own| {
                !group.members.contains(&own)
                    && group.roots.iter().any(|&root| self.needs(root, own))
            })
        })
    }

    /// Whether a product that reads a slice where it lies would do so after the array has been overwritten.
    pub(super) fn are_between(&self, slice: InstructionId, product: InstructionId) -> bool {
        let array = self.module[slice].operands()[0];
        self.that_copy(array, slice).any(|own| self.needs(product, own))
    }

    /// Those updates of an array that had better not run before an instruction that reads some of it, since they
    /// would copy all of the array for it.
    fn that_copy(
        &self,
        array: InstructionId,
        reader: InstructionId,
    ) -> impl Iterator<Item = InstructionId> {
        let module = self.module;
        // To go through all of an array once more is as long a way as to copy it.
        let few = matches!(module[reader].op, Op::DynamicSlice(_) | Op::Gather(_) | Op::Slice(_));
        let worth =
            move |part: Option<usize>| part.is_none_or(|part| few && bytes(module, reader) <= part);
        let updates = self.of.get(&array).into_iter().flatten();
        let others = updates.filter(move |&&(own, part)| own != reader && worth(part));
        others.map(|&(own, _)| own)
    }

    /// Whether an instruction is computed from another.
    fn needs(&self, id: InstructionId, other: InstructionId) -> bool {
        let mut seen: FxHashSet<InstructionId> = FxHashSet::default();
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            if id == other || seen.len() >= SEARCH_LIMIT {
                return true;
            }
            if self.position[&id] > self.position[&other] && seen.insert(id) {
                stack.extend(self.module[id].operands());
            }
        }
        false
    }
}

/// To store and fetch nearly everything is as long a way as to copy it.
fn is_small_part(module: &Module, part: InstructionId, array: InstructionId) -> bool {
    bytes(module, array) >= 2 * bytes(module, part)
}

/// The array that was there before updates, though not before more than a search goes through.
fn array(module: &Module, mut id: InstructionId) -> InstructionId {
    for _ in 0..SEARCH_LIMIT {
        id = origin(module, id);
        match &module[id].op {
            Op::Scatter(_) if module[id].operands().len() == 3 => id = module[id].operands()[0],
            Op::DynamicUpdateSlice(_) => id = module[id].operands()[0],
            _ => return id,
        }
    }
    id
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
    if !matches!(update.op, Op::DynamicUpdateSlice(_)) {
        return false;
    }
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
