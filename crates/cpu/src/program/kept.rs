//! Matrices that stay packed: a product is told which of its operands are constants of the program, and which do not
//! change while a loop runs, and then packs such an operand once.

use rustc_hash::FxHashSet;
use rxla_kernel::Builder;
use rxla_runtime::dot;

use super::Driver;
use crate::buffers::Place;
use crate::plan::{Block, Leaf, Step, ValueId, While};

/// A loop whose body is being written.
pub(super) struct Open {
    /// What changes while it runs.
    inside: FxHashSet<ValueId>,
    /// Slots of what does not.
    slots: Vec<u32>,
}

impl Driver<'_> {
    pub(super) fn open(&mut self, step: &While) {
        let mut inside = FxHashSet::default();
        add_loop(step, &mut inside);
        self.open.push(Open { inside, slots: Vec::new() });
    }

    /// Writes what the innermost open loop begins with.
    pub(super) fn close(&mut self, b: &mut Builder) {
        let Some(open) = self.open.pop() else { return };
        for slot in open.slots {
            let slot = b.index(i64::from(slot));
            b.call_runtime("rxla_forget", vec![self.context, slot], None);
        }
    }

    /// What a product is told of its operands' staying packed, if these are whole arrays.
    pub(super) fn keep(&mut self, operands: [Option<ValueId>; 2]) -> i64 {
        // Iterations that run at once have no context to keep anything in.
        if self.shared.is_some() {
            return 0;
        }
        // The number of the outermost loop that does not change it; none of a constant.
        let kept = operands.map(|value| {
            let value = value?;
            if let Place::Constant(_) = self.buffers.place(value) {
                return Some(None);
            }
            let changes = |open: &Open| open.inside.contains(&value);
            let first = self.open.iter().rposition(changes).map_or(0, |last| last + 1);
            (first < self.open.len()).then_some(Some(first))
        });
        let sides = kept.map(|kept| kept.is_some());
        if sides == [false; 2] {
            return 0;
        }
        let slot = self.kept_slots;
        self.kept_slots += 1;
        // The innermost of two.
        let open = kept.into_iter().flatten().flatten().max();
        if let Some(number) = open {
            self.open[number].slots.push(slot);
        }
        dot::keep(sides, open.is_none(), slot)
    }
}

fn add_loop(step: &While, inside: &mut FxHashSet<ValueId>) {
    inside.extend(step.carries.iter().flat_map(|carry| [carry.param, carry.next, carry.result]));
    add_block(&step.condition, inside);
    add_block(&step.body, inside);
}

fn add_block(block: &Block, inside: &mut FxHashSet<ValueId>) {
    for step in &block.steps {
        match step {
            Step::Compute(compute) => {
                inside.extend(compute.results.iter().filter_map(|leaf| match leaf {
                    Leaf::Array(value) => Some(*value),
                    Leaf::Token => None,
                }))
            }
            Step::While(step) => add_loop(step, inside),
            Step::Conditional(step) => {
                inside.extend(step.results.iter().copied());
                step.branches.iter().for_each(|branch| add_block(branch, inside));
            }
        }
    }
}
