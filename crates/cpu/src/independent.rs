//! Loops whose iterations may run at once. The pass that made such a loop says so
//! ([`rxla_passes::tiling::is_independent`]); here is seen whether it is one that can be run so.
//!
//! It counts from zero, so many times; each array that it carries is only updated in place, by one op or in
//! a loop by one, in parts that, as the pass has promised, no other iteration reads, or writes another value to;
//! and everything in it has a kernel.

use rustc_hash::FxHashMap;
use rxla_hlo::{InstructionId, Module};

use crate::buffers::in_register;
use crate::plan::{Block, Carry, Compute, Leaf, Plan, Step, ValueId, While};

/// How often the loop runs, if its iterations are said to be independent.
pub(crate) fn promised(module: &Module, id: InstructionId) -> Option<u64> {
    rxla_passes::tiling::is_independent(module, id)
        .then(|| rxla_passes::control::trip_count::counts_from_zero(module, id))
        .flatten()
}

/// Takes the promise back where a loop cannot be run so. `has_kernel` tells what needs no interpreter.
pub(crate) fn confirm(plan: &mut Plan, has_kernel: &dyn Fn(&Compute) -> bool) {
    let mut entry = std::mem::take(&mut plan.entry);
    confirm_block(plan, &mut entry, has_kernel);
    plan.entry = entry;
}

fn confirm_block(plan: &Plan, block: &mut Block, has_kernel: &dyn Fn(&Compute) -> bool) {
    for step in &mut block.steps {
        match step {
            Step::Compute(_) => {}
            Step::While(step) => {
                let runs = step.independent.is_some_and(|times| times > 1)
                    && updates_only(plan, step)
                    && all(&step.body, &|compute| has_kernel(compute));
                if !runs {
                    step.independent = None;
                    confirm_block(plan, &mut step.body, has_kernel);
                }
            }
            Step::Conditional(step) => {
                step.branches.iter_mut().for_each(|b| confirm_block(plan, b, has_kernel));
            }
        }
    }
}

/// Whether the counter is all that a loop carries in registers, and each array is read by nothing but
/// what makes its next value.
fn updates_only(plan: &Plan, step: &While) -> bool {
    let mut reads: FxHashMap<ValueId, u32> = FxHashMap::default();
    each(&step.body, &mut |part| {
        let values = match part {
            Part::Compute(compute) => crate::plan::arrays(&compute.operands),
            Part::Carry(init) => vec![init],
        };
        for value in values {
            *reads.entry(value).or_default() += 1;
        }
    });
    let (counters, arrays): (Vec<&Carry>, Vec<&Carry>) =
        step.carries.iter().partition(|carry| in_register(&plan.values[carry.param].shape));
    counters.len() == 1
        && arrays.iter().all(|carry| {
            reads.get(&carry.param) == Some(&1)
                && !reads.contains_key(&carry.next)
                && updates(&step.body, &reads, carry.param, carry.next)
        })
}

/// Whether what reads an array makes another of it: an op, or a loop in which that is so.
fn updates(block: &Block, reads: &FxHashMap<ValueId, u32>, from: ValueId, to: ValueId) -> bool {
    block.steps.iter().any(|step| match step {
        Step::Compute(compute) => {
            compute.operands.contains(&Leaf::Array(from))
                && compute.results.contains(&Leaf::Array(to))
        }
        Step::While(step) => step.carries.iter().any(|carry| {
            (carry.init, carry.result) == (from, to)
                && reads.get(&carry.param) == Some(&1)
                && !reads.contains_key(&carry.next)
                && updates(&step.body, reads, carry.param, carry.next)
        }),
        Step::Conditional(_) => false,
    })
}

/// The array that a loop carries, as loops in it carry it on.
pub(crate) fn carried_on(block: &Block, from: ValueId) -> Vec<ValueId> {
    let inner = block.steps.iter().find_map(|step| match step {
        Step::While(step) => {
            let carry = step.carries.iter().find(|carry| carry.init == from)?;
            Some((step, carry))
        }
        Step::Compute(_) | Step::Conditional(_) => None,
    });
    let Some((step, carry)) = inner else { return Vec::new() };
    let mut list = vec![carry.param, carry.next, carry.result];
    list.extend(carried_on(&step.body, carry.param));
    list
}

/// Whether all that is computed in a block, loops and branches too, is such.
fn all(block: &Block, test: &dyn Fn(&Compute) -> bool) -> bool {
    let mut all = true;
    each(block, &mut |part| {
        if let Part::Compute(compute) = part {
            all &= test(compute);
        }
    });
    all
}

enum Part<'a> {
    Compute(&'a Compute),
    /// What a loop begins with.
    Carry(ValueId),
}

fn each(block: &Block, visit: &mut dyn FnMut(Part<'_>)) {
    for step in &block.steps {
        match step {
            Step::Compute(compute) => visit(Part::Compute(compute)),
            Step::While(step) => {
                step.carries.iter().for_each(|carry| visit(Part::Carry(carry.init)));
                each(&step.condition, visit);
                each(&step.body, visit);
            }
            Step::Conditional(step) => step.branches.iter().for_each(|b| each(b, visit)),
        }
    }
}
