//! Results that are there long before the run ends, as the loss of a training step, of which the backward pass and the
//! optimiser are still to come: the driver says so, and who waits for them alone goes on.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::cost::Costs;
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module};
use rxla_kernel::Builder;

use crate::buffers::{Buffers, Output, Place, in_register};
use crate::forecast;
use crate::plan::{Leaf, Plan, Step, ValueId};
use crate::schedule::SMALL_RESULT;

use super::{Driver, memory};

/// The function that the driver calls: `EARLY(context, output, address)`. The bytes there are the output's and may
/// change after the call.
pub(crate) const EARLY: &str = "rxla_early";

/// So many come early at most.
const MOST: usize = 32;
/// What has to be still to do for it to pay, in nanoseconds of the forecast.
const WORTH: f64 = 1e6;

/// By the number of a step of the entry, the outputs that are there after it.
pub(super) fn outputs(
    module: &Module,
    plan: &Plan,
    buffers: &Buffers,
) -> FxHashMap<usize, Vec<usize>> {
    let steps = &plan.entry.steps;
    let donated: FxHashSet<usize> = buffers.aliases.iter().map(|&(_, output)| output).collect();
    // Numbers of outputs by the values that they are.
    let mut wanted: FxHashMap<ValueId, Vec<usize>> = FxHashMap::default();
    for (number, leaf) in plan.entry.results.iter().enumerate() {
        if let (Leaf::Array(value), Output::Computed) = (*leaf, buffers.outputs[number])
            && is_small(&plan.values[value].shape)
            && !donated.contains(&number)
        {
            wanted.entry(value).or_default().push(number);
        }
    }
    let mut found = Vec::new();
    if !wanted.is_empty() {
        // After the last step the run ends.
        for (step, what) in steps.iter().enumerate().rev().skip(1) {
            for value in results(what) {
                let bytes = plan.values[value].shape.byte_size();
                found.extend(wanted.remove(&value).into_iter().flatten().map(|n| (bytes, step, n)));
            }
        }
    }
    let mut early: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    if found.is_empty() {
        return early;
    }
    // Single numbers, as losses are, before statistics.
    found.sort_unstable();
    for (_, step, number) in found.into_iter().take(MOST) {
        early.entry(step).or_default().push(number);
    }
    let costs = Costs::of(module);
    let mut left = 0.0;
    for (step, what) in steps.iter().enumerate().rev() {
        if left < WORTH {
            early.remove(&step);
        }
        left += forecast::of_cost(costs.instruction(instruction(what)));
    }
    early
}

fn is_small(shape: &ArrayShape) -> bool {
    // Narrow numbers are put in order when the run ends.
    let whole = shape.element_type == ElementType::Pred || shape.element_type.bit_width() >= 8;
    whole && shape.byte_size().is_some_and(|bytes| (1..=SMALL_RESULT).contains(&bytes))
}

fn instruction(step: &Step) -> InstructionId {
    match step {
        Step::Compute(compute) => compute.instruction,
        Step::While(step) => step.instruction,
        Step::Conditional(step) => step.instruction,
    }
}

fn results(step: &Step) -> Vec<ValueId> {
    match step {
        Step::Compute(compute) => compute
            .results
            .iter()
            .filter_map(|leaf| match leaf {
                Leaf::Array(value) => Some(*value),
                Leaf::Token => None,
            })
            .collect(),
        Step::While(step) => step.carries.iter().map(|carry| carry.result).collect(),
        Step::Conditional(step) => step.results.clone(),
    }
}

impl Driver<'_> {
    /// Says that an output is there.
    pub(super) fn tell(&mut self, b: &mut Builder, number: usize) {
        let Leaf::Array(value) = self.plan.entry.results[number] else { return };
        let address = if in_register(&self.plan.values[value].shape) {
            let element = self.register(b, value);
            let address = self.results[&number];
            memory::store(b, address, element);
            address
        } else {
            let place = self.buffers.place(value);
            debug_assert_ne!(place, Place::Register);
            self.address(b, place)
        };
        let number = b.index(number as i64);
        b.call_runtime(EARLY, vec![self.context, number, address], None);
    }
}
