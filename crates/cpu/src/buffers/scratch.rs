//! Loops whose iterations run at once: which they are, and what each thread needs memory of its own for.

use super::{Assignment, Class, in_register};
use crate::independent::carried_on;
use crate::plan::{Block, Step, While};

impl Assignment<'_> {
    /// Finds the loops in which all that is carried stays where it is. Loops in such a loop run in order.
    pub(super) fn find_shared_loops(&mut self, block: &Block) {
        for step in &block.steps {
            match step {
                Step::Compute(_) => {}
                Step::While(step) => {
                    if step.independent.is_some() && self.stays(step) {
                        self.shared.push((step.head, step.end));
                    } else {
                        self.find_shared_loops(&step.body);
                    }
                }
                Step::Conditional(step) => {
                    step.branches.iter().for_each(|branch| self.find_shared_loops(branch));
                }
            }
        }
    }

    fn stays(&self, step: &While) -> bool {
        step.carries.iter().all(|carry| {
            let class = |value| self.piece_of.get(&value).map(|&piece| self.class(piece));
            in_register(&self.plan.values[carry.param].shape)
                || (class(carry.param).is_some()
                    && std::iter::once(carry.next)
                        .chain(carried_on(&step.body, carry.param))
                        .all(|value| class(value) == class(carry.param)))
        })
    }

    /// The head of the loop whose iterations run at once and in which all of a class is made and used up.
    pub(super) fn shared_loop_of(&self, class: &Class) -> Option<u32> {
        let inside = |&&(head, end): &&(u32, u32)| {
            !class.pieces.is_empty()
                && class.pieces.iter().all(|&piece| {
                    let range = self.pieces[piece as usize].range;
                    range.start > 2 * head && range.end <= 2 * end + 1
                })
        };
        self.shared.iter().find(inside).map(|&(head, _)| head)
    }
}
