//! `while-loop-invariant-code-motion`, XLA's WhileLoopInvariantCodeMotion: what a body computes anew
//! each time from values that do not change is computed before the loop and carried.
//!
//! Only what costs something and is no bigger than what it is made of moves: a broadcast, an iota or a
//! transpose is cheaper made anew than carried. Such ones are copied along where what moves needs them.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op, Shape};

use super::carried::{self, Loop, Place};
use super::trip_count::trip_count;
use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::MAX_INSTRUCTIONS;
use crate::view;

pub struct WhileLoopInvariantCodeMotion;

impl Pass for WhileLoopInvariantCodeMotion {
    fn name(&self) -> &'static str {
        "while-loop-invariant-code-motion"
    }

    fn class(&self) -> &'static str {
        "WhileLoopInvariantCodeMotion"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        let mut effects = Effects::of(module);
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                let Some(found) = carried::find(module, site) else { continue };
                let moved = invariants(module, &effects, &found);
                if moved.is_empty() || module.instruction_capacity() > MAX_INSTRUCTIONS {
                    continue;
                }
                if !cx.spend() {
                    return Ok(made);
                }
                hoist(module, &found, &moved);
                effects = Effects::of(module);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// What is worth moving and still used by what stays.
fn invariants(m: &Module, effects: &Effects, found: &Loop) -> Vec<InstructionId> {
    let state = m[found.body].parameters()[0];
    let order = m.post_order(found.body);
    let mut fixed: FxHashSet<InstructionId> = FxHashSet::default();
    for &i in &order {
        let known = match carried::element(m, i, state) {
            Some(index) => found.passes_through(m, index),
            None => may_move(m, effects, i) && m[i].operands().iter().all(|o| fixed.contains(o)),
        };
        if known {
            fixed.insert(i);
        }
    }
    let root = m[found.body].root();
    let mut needed: FxHashSet<InstructionId> = FxHashSet::default();
    let mut moved = Vec::new();
    for &i in order.iter().rev() {
        if i != root && !needed.contains(&i) && !effects.has(m, i) {
            continue;
        }
        if fixed.contains(&i) && is_worth_it(m, i) {
            moved.push(i);
        } else {
            needed.extend(m[i].operands());
        }
    }
    moved.reverse();
    moved
}

/// Whether the op may be computed before the loop, even if the loop never runs.
fn may_move(m: &Module, effects: &Effects, i: InstructionId) -> bool {
    let is_static = |shape: &Shape| shape.as_array().is_some_and(|shape| shape.is_static());
    let free = !effects.has(m, i) && !view::has_control_edges(m, i);
    free && match (&m[i].op, m[i].shape.as_tuple()) {
        // Its elements are carried.
        (op, Some(elements)) => {
            (matches!(op, Op::Tuple(_)) || has_results(m, i)) && elements.iter().all(is_static)
        }
        (op, None) => {
            is_static(&m[i].shape) && (is_cheap(op) || is_elementwise(op) || is_heavy(m, i))
        }
    }
}

/// Whether it gives a tuple of what was computed, and always ends: a call of LAPACK, which says in a result what went
/// wrong, or a loop that runs a known number of times.
fn has_results(m: &Module, i: InstructionId) -> bool {
    match &m[i].op {
        Op::CustomCall(op) => op.custom_call_target.starts_with("lapack_"),
        Op::While(_) => trip_count(m, i).is_some(),
        _ => false,
    }
}

/// Made or put in another form, without computing: it moves only where what is computed from it does.
fn is_cheap(op: &Op) -> bool {
    matches!(
        op,
        Op::Constant(_)
            | Op::Iota(_)
            | Op::Broadcast(_)
            | Op::Reshape(_)
            | Op::BitcastConvert(_)
            | Op::Concatenate(_)
            | Op::Convert(_)
            | Op::Copy(_)
            | Op::DynamicSlice(_)
            | Op::DynamicUpdateSlice(_)
            | Op::Gather(_)
            | Op::Pad(_)
            | Op::Reverse(_)
            | Op::Slice(_)
            | Op::Transpose(_)
    )
}

/// A few operations for each element of the result.
fn is_elementwise(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Clamp(_)
            | Op::Compare(_)
            | Op::ReducePrecision(_)
            | Op::Select(_)
    )
}

/// Whether an element of the result costs more than that, by an op that always ends.
fn is_heavy(m: &Module, i: InstructionId) -> bool {
    match m[i].op {
        Op::GetTupleElement(_) => has_results(m, view::operand(m, i, 0)),
        Op::CustomCall(_) => has_results(m, i),
        Op::Cholesky(_)
        | Op::Convolution(_)
        | Op::Dot(_)
        | Op::Fft(_)
        | Op::Reduce(_)
        | Op::ReduceWindow(_)
        | Op::Scatter(_)
        | Op::Sort(_)
        | Op::TriangularSolve(_) => true,
        _ => false,
    }
}

/// Whether carrying the result beats computing it anew, from what has to be read anyway.
fn is_worth_it(m: &Module, i: InstructionId) -> bool {
    let Some(shape) = m[i].shape.as_array() else { return false };
    let size = |i: InstructionId| m[i].shape.byte_size().unwrap_or(usize::MAX);
    let is_read = |op: &Op| !matches!(op, Op::Broadcast(_) | Op::Constant(_) | Op::Iota(_));
    let read = m[i].operands().iter().filter(|&&o| is_read(&m[o].op));
    let sources = read.map(|&o| size(o)).fold(0, usize::saturating_add);
    // What loops compute of scalars is known to those who look for what they count and where they read.
    let is_scalar = shape.element_count() == Some(1);
    (is_heavy(m, i) || (is_elementwise(&m[i].op) && !is_scalar)) && size(i) <= sources
}

/// Computes instructions of the body before the loop, which carries their values.
pub(super) fn hoist(m: &mut Module, found: &Loop, moved: &[InstructionId]) {
    let width = found.width(m);
    let mut outside = FxHashMap::default();
    let mut elements: Vec<InstructionId> =
        (0..width).map(|index| found.take_initial(m, index)).collect();
    for &i in moved {
        let value = copy_outside(m, found, i, &elements[..width], &mut outside);
        elements.push(value);
    }
    let (condition, _) = carried::copy(m, found.condition);
    let (body, copies) = carried::copy(m, found.body);
    let copies: FxHashMap<InstructionId, InstructionId> = copies.into_iter().collect();
    let shape = Shape::tuple(elements.iter().map(|&i| m[i].shape.clone()));
    for computation in [condition, body] {
        let state = m[computation].parameters()[0];
        m[state].shape = shape.clone();
    }
    let state = m[body].parameters()[0];
    let mut results = m[m[body].root()].operands().to_vec();
    for (number, i) in moved.iter().enumerate() {
        let computed = copies[i];
        let index = (width + number) as i64;
        let carried = view::add(m, state, Op::get_tuple_element(index), &[state]);
        for result in results.iter_mut().filter(|result| **result == computed) {
            *result = carried;
        }
        m.replace_all_uses(computed, carried);
        results.push(carried);
    }
    carried::set_results(m, body, &results);
    let effects = Effects::of(m);
    carried::sweep(m, &effects, body);
    let places: Vec<Place> = (0..width).map(Place::Element).collect();
    found.replace(m, condition, body, &elements, &places);
}

/// What computes the same before the loop, together with what it needs.
pub(super) fn copy_outside(
    m: &mut Module,
    found: &Loop,
    i: InstructionId,
    initial: &[InstructionId],
    outside: &mut FxHashMap<InstructionId, InstructionId>,
) -> InstructionId {
    let state = m[found.body].parameters()[0];
    let mut stack = vec![i];
    while let Some(&top) = stack.last() {
        if outside.contains_key(&top) {
            stack.pop();
            continue;
        }
        if let Some(index) = carried::element(m, top, state) {
            outside.insert(top, initial[index]);
            continue;
        }
        let waiting = m[top].operands().iter().copied().filter(|o| !outside.contains_key(o));
        let waiting: Vec<InstructionId> = waiting.collect();
        if !waiting.is_empty() {
            stack.extend(waiting);
            continue;
        }
        let operands: Vec<InstructionId> = m[top].operands().iter().map(|o| outside[o]).collect();
        let made = m.copy_instruction(top, m[found.site].parent(), &operands);
        outside.insert(top, made);
    }
    outside[&i]
}
