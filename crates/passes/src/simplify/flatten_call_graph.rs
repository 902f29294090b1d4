//! `flatten-call-graph`, XLA's FlattenCallGraph: gives every call, loop, branch and asynchronous
//! start computations of its own, so that what is found out about a computation holds at its one
//! call. Reducers and comparators stay shared: they have no state of their own.

use rustc_hash::FxHashSet;
use rxla_base::{Error, Result};
use rxla_hlo::{ComputationId, Module, Op};

use super::call_inliner::MAX_INSTRUCTIONS;
use crate::pass::{Context, Pass};

pub struct FlattenCallGraph;

impl Pass for FlattenCallGraph {
    fn name(&self) -> &'static str {
        "flatten-call-graph"
    }

    fn class(&self) -> &'static str {
        "FlattenCallGraph"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        let mut taken: FxHashSet<ComputationId> = FxHashSet::default();
        // Computations that are applied, in order of a walk from the entry; copies join it.
        let mut waiting = vec![module.entry()];
        while let Some(computation) = waiting.pop() {
            for site in module[computation].instructions().to_vec() {
                if !hands_over_control(&module[site].op) {
                    continue;
                }
                let mut op = module[site].op.clone();
                let mut stopped = false;
                let mut failed = None;
                op.map_computations(&mut |callee| {
                    if taken.insert(callee) {
                        waiting.push(callee);
                        return callee;
                    }
                    let size = module[callee].instructions().len();
                    if module.instruction_capacity() + size > MAX_INSTRUCTIONS {
                        failed = Some(too_large(module));
                        return callee;
                    }
                    if stopped || !cx.spend() {
                        stopped = true;
                        return callee;
                    }
                    made += 1;
                    let name = module[callee].name().to_owned();
                    let copy = module.clone_computation(callee, &format!("{name}.clone"));
                    taken.insert(copy);
                    waiting.push(copy);
                    copy
                });
                if let Some(error) = failed {
                    return Err(error);
                }
                module[site].op = op;
                if stopped {
                    return Ok(made);
                }
            }
        }
        Ok(made)
    }
}

fn hands_over_control(op: &Op) -> bool {
    matches!(op, Op::Call(_) | Op::While(_) | Op::Conditional(_) | Op::AsyncStart(_))
}

fn too_large(module: &Module) -> Error {
    Error::resource_exhausted(format!(
        "`{}` has more than {MAX_INSTRUCTIONS} instructions when its call graph is flattened",
        module.name
    ))
}
