//! Fusion: instructions that are computed together become one `fusion` instruction.
//!
//! A producer moves into its consumers if all of them can compute its elements as they need them and
//! if that costs no more than to store and load them: what is cheap is computed several times, what
//! is expensive once. Broadcasts and iotas are so cheap that they are never stored. A sum over a row is
//! computed where rows are gone through and it is broadcast along them, once for each; what it adds up is kept for
//! the rest of the row, if that needs it again and it is expensive. Then fusions
//! that run over the same elements and read the same arrays become one with several results. What is stored to be
//! read in another shape is stored in its own: a reshape of it is a view.
//!
//! An update of a part of an array is made in place. So what it writes is computed before, on its own,
//! if that reads other parts of the same array.
//!
//! Products that the runtime computes take slices and updates along, and leave columns out that a mask hides.
//!
//! Arrays of one element take no part: the driver has them in registers.

mod build;
mod cost;
mod groups;
pub(crate) mod masked;
mod overwrite;
mod products;
mod siblings;

use rxla_base::Result;
use rxla_hlo::{ComputationId, Module, Op};
use rxla_passes::{Context, Pass};

/// The pass. XLA's of this kind is called `fusion`.
pub struct CpuFusion;

impl Pass for CpuFusion {
    fn name(&self) -> &'static str {
        "fusion"
    }

    fn class(&self) -> &'static str {
        "CpuFusion"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in scheduled_computations(module) {
            made += products::fuse(module, computation, cx);
            let groups = groups::form(module, computation);
            let groups = siblings::merge(module, computation, groups);
            made += build::build(module, &groups, cx);
        }
        Ok(made)
    }
}

/// The computations that run as sequences of instructions: the entry and what control flow calls.
pub fn scheduled_computations(module: &Module) -> Vec<ComputationId> {
    let mut found = vec![module.entry()];
    let mut next = 0;
    while let Some(&computation) = found.get(next) {
        next += 1;
        for &id in module[computation].instructions() {
            let op = &module[id].op;
            if matches!(op, Op::While(_) | Op::Conditional(_) | Op::Call(_)) {
                for callee in op.called_computations() {
                    if !found.contains(&callee) {
                        found.push(callee);
                    }
                }
            }
        }
    }
    found
}
