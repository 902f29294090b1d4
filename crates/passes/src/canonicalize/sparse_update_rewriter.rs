//! `sparse-update-rewriter`: the gradient of a table of which few rows were read is never made as a whole. What is
//! computed of it element by element, as a step down it, is computed as if it were zero everywhere, and once more
//! for the rows that are not. XLA has no pass of this kind.
//!
//! Sums are taken in the same order from zero on, in the rows of the result, so every bit is as before.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::{Gather, Scatter};
use rxla_hlo::{BinaryKind, ComputationId, ElementType, InstructionId, Module, Op, Shape};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct SparseUpdateRewriter;

const RULES: &[NamedRule] = rules! {
    _ => [update_of_rows],
};

/// Elements from which on it counts that a table is gone through less often.
const LARGE: i64 = 1 << 16;
/// So many times as many elements has the table as there are updates, at least.
const FEW: i64 = 4;
/// Steps of what is computed of a gradient.
const LONGEST: usize = 16;

impl Pass for SparseUpdateRewriter {
    fn name(&self) -> &'static str {
        "sparse-update-rewriter"
    }

    fn class(&self) -> &'static str {
        "SparseUpdateRewriter"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `f(scatter(0, i, u), x) => scatter(f(0, x), i, f(sums of u, x[i]))`
fn update_of_rows(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    // Of the last step, so that it has what comes before.
    let (scatter, steps) = steps_to(m, i)?;
    let Op::Scatter(op) = &m[scatter].op else { return None };
    let op = op.clone();
    let &[zeros, indices, updates] = m[scatter].operands() else { return None };
    let gather = Gather {
        offset_dims: op.update_window_dims.clone(),
        collapsed_slice_dims: op.inserted_window_dims.clone(),
        start_index_map: op.scatter_dims_to_operand_dims.clone(),
        operand_batching_dims: op.input_batching_dims.clone(),
        start_indices_batching_dims: op.scatter_indices_batching_dims.clone(),
        index_vector_dim: op.index_vector_dim,
        slice_sizes: view::scatter_window(m, scatter)?,
        indices_are_sorted: op.indices_are_sorted,
    };
    let rows = view::dims(m, updates)?.clone();
    let ty = view::element_type(m, scatter).filter(|&ty| view::element_type(m, i) == Some(ty))?;
    // Everywhere as if nothing had been added.
    let mut all: FxHashMap<InstructionId, InstructionId> = [(scatter, zeros)].into_iter().collect();
    for &step in &steps {
        let operands: Vec<_> =
            m[step].operands().iter().map(|id| all.get(id).copied().unwrap_or(*id)).collect();
        let (op, shape) = (m[step].op.clone(), m[step].shape.clone());
        let copy = m.add_like(step, op, shape, &operands);
        all.insert(step, copy);
    }
    let base = all[&i];
    // The sums, in rows that are zero before.
    let take = set(m, ty);
    let zero = view::broadcast_scalar(m, zeros)?;
    let shape = Shape::array(ty, rows.clone());
    let nothing = view::add_with_shape(m, scatter, Op::broadcast([]), shape, &[zero]);
    let put = Op::Scatter(Box::new(Scatter { to_apply: take, ..(*op).clone() }));
    let clear = view::add_same(m, scatter, put.clone(), &[base, indices, nothing]);
    let sums = view::add_same(m, scatter, Op::Scatter(op), &[clear, indices, updates]);
    let read = |m: &mut Module, id: InstructionId| {
        let shape = Shape::array(view::element_type(m, id).expect("an array"), rows.clone());
        view::add_with_shape(
            m,
            scatter,
            Op::Gather(Box::new(gather.clone())),
            shape,
            &[id, indices],
        )
    };
    // What becomes of these rows.
    let sums_of_rows = read(m, sums);
    let mut of_rows: FxHashMap<_, _> = [(scatter, sums_of_rows)].into_iter().collect();
    for &step in &steps {
        let mut operands = Vec::new();
        for id in m[step].operands().to_vec() {
            let known = of_rows.get(&id).copied();
            let single = view::dims(m, id)?.is_empty();
            operands.push(match (known, view::broadcast_scalar(m, id)) {
                (Some(known), _) => known,
                (None, _) if single => id,
                (None, Some(scalar)) => {
                    let shape = Shape::array(view::element_type(m, id)?, rows.clone());
                    view::add_with_shape(m, step, Op::broadcast([]), shape, &[scalar])
                }
                (None, None) => read(m, id),
            });
        }
        let shape = Shape::array(view::element_type(m, step)?, rows.clone());
        let op = m[step].op.clone();
        let copy = m.add_like(step, op, shape, &operands);
        of_rows.insert(step, copy);
    }
    let rows = of_rows[&i];
    Some(view::add_same(m, scatter, put, &[sums, indices, rows]))
}

/// The scatter from which a value is computed element by element, in steps that nobody else looks at, and those, if
/// it is worth it.
fn steps_to(m: &Module, i: InstructionId) -> Option<(InstructionId, Vec<InstructionId>)> {
    if !is_step(m, i) || next_step(m, i).is_some() {
        return None;
    }
    let mut steps = Vec::new();
    let scatter = search(m, i, &mut steps)?;
    steps.reverse();
    Some((scatter, steps))
}

/// The scatter below a step; the steps are noted from the last one on.
fn search(
    m: &Module,
    step: InstructionId,
    steps: &mut Vec<InstructionId>,
) -> Option<InstructionId> {
    if steps.len() >= LONGEST {
        return None;
    }
    steps.push(step);
    for &operand in m[step].operands() {
        if next_step(m, operand) != Some(step) {
            continue;
        }
        if is_sparse(m, operand) {
            return Some(operand);
        }
        if is_step(m, operand)
            && let Some(found) = search(m, operand, steps)
        {
            return Some(found);
        }
    }
    steps.pop();
    None
}

/// The step that alone reads a value, element by element.
fn next_step(m: &Module, id: InstructionId) -> Option<InstructionId> {
    let user = view::only_user(m, id)?;
    let goes_on = is_step(m, user) && !view::is_root(m, id);
    (goes_on && view::same_shape(m, id, user)).then_some(user)
}

fn is_step(m: &Module, id: InstructionId) -> bool {
    m[id].op.is_elementwise()
        && view::static_array(m, id).is_some()
        && !view::has_control_edges(m, id)
}

/// Whether a scatter adds to few elements of many that are zero.
fn is_sparse(m: &Module, id: InstructionId) -> bool {
    let Op::Scatter(op) = &m[id].op else { return false };
    let &[table, indices, updates] = m[id].operands() else { return false };
    let count = |id: InstructionId| view::static_array(m, id)?.element_count();
    let (Some(all), Some(_), Some(few)) = (count(table), count(indices), count(updates)) else {
        return false;
    };
    let root = m[op.to_apply].root();
    let adds = view::binary(m, root, BinaryKind::Add)
        .is_some_and(|[a, b]| a != b && [a, b].iter().all(|&id| is_parameter(m, id)));
    let large = all as i64 >= LARGE && few as i64 * FEW <= all as i64;
    large
        && adds
        && view::broadcast_scalar(m, table).is_some()
        && view::is_positive_zero(m, table)
        && !view::has_control_edges(m, id)
}

fn is_parameter(m: &Module, id: InstructionId) -> bool {
    matches!(m[id].op, Op::Parameter(_))
}

/// What takes the new one of two numbers.
fn set(m: &mut Module, ty: ElementType) -> ComputationId {
    let computation = m.add_computation("set");
    m.add_parameter(computation, "old", Shape::array(ty, []));
    let new = m.add_parameter(computation, "new", Shape::array(ty, []));
    m.set_root(new);
    computation
}
