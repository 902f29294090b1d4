//! `dot_decomposer`, XLA's DotDecomposer: every dot is a batched product of matrices.
//!
//! After it both operands have their batch dimensions first, in order, then exactly one contracted
//! dimension and at most one other, in either order. What is summed keeps its order.

use rxla_base::Result;
use rxla_hlo::op::{Dot, Reshape, Transpose};
use rxla_hlo::{Dims, InstructionId, Module, Op, Shape};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct DotDecomposer;

const RULES: &[NamedRule] = rules! {
    Dot => [general_dot],
};

impl Pass for DotDecomposer {
    fn name(&self) -> &'static str {
        "dot_decomposer"
    }

    fn class(&self) -> &'static str {
        "DotDecomposer"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// Whether one operand of a dot has the canonical form.
pub fn is_canonical(batch: &[i64], contracting: &[i64], rank: usize) -> bool {
    let batches = batch.len();
    batch.iter().copied().eq(0..batches as i64) && contracting.len() == 1 && rank <= batches + 2
}

/// `dot(x, y) => reshape(dot(reshape(transpose(x)), reshape(transpose(y))))`
fn general_dot(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(op) = &m[i].op else { return None };
    let [x, y] = [view::operand(m, i, 0), view::operand(m, i, 1)];
    let (left, right) = (view::dims(m, x)?.clone(), view::dims(m, y)?.clone());
    view::dims(m, i)?;
    let is_done = is_canonical(&op.lhs_batch_dims, &op.lhs_contracting_dims, left.len())
        && is_canonical(&op.rhs_batch_dims, &op.rhs_contracting_dims, right.len());
    if is_done {
        return None;
    }
    let op = op.clone();
    let batches = op.lhs_batch_dims.len();
    let batch: Dims = op.lhs_batch_dims.iter().map(|&d| left[d as usize]).collect();
    let x_free = others(left.len(), &op.lhs_batch_dims, &op.lhs_contracting_dims);
    let y_free = others(right.len(), &op.rhs_batch_dims, &op.rhs_contracting_dims);

    let left = matrix(m, i, x, &batch, [&op.lhs_batch_dims, &x_free, &op.lhs_contracting_dims]);
    let right = matrix(m, i, y, &batch, [&op.rhs_batch_dims, &y_free, &op.rhs_contracting_dims]);

    let in_front: Dims = (0..batches as i64).collect();
    let canonical = Dot {
        lhs_batch_dims: in_front.clone(),
        lhs_contracting_dims: Dims::from_slice(&[left.contracting]),
        rhs_batch_dims: in_front,
        rhs_contracting_dims: Dims::from_slice(&[right.contracting]),
        ..*op
    };
    let mut dims = batch;
    dims.extend(left.free);
    dims.extend(right.free);
    // The type of the result need not be that of the operands.
    let shape = Shape::array(view::element_type(m, i)?, dims);
    let dot = view::add_with_shape(
        m,
        i,
        Op::from(Box::new(canonical)),
        shape,
        &[left.value, right.value],
    );
    if view::same_shape(m, dot, i) {
        return Some(dot);
    }
    Some(view::add_same(m, i, Reshape::default(), &[dot]))
}

/// Dimensions that are neither in `a` nor in `b`, in order.
pub fn others(rank: usize, a: &[i64], b: &[i64]) -> Dims {
    (0..rank as i64).filter(|d| !a.contains(d) && !b.contains(d)).collect()
}

/// An operand in canonical form.
struct Matrix {
    value: InstructionId,
    /// The number of the contracted dimension.
    contracting: i64,
    /// The size of the other one, if there is one.
    free: Option<i64>,
}

/// Brings an operand of batch, free and contracted dimensions into canonical form. What is last
/// stays last, so that rows in memory stay rows.
fn matrix(
    m: &mut Module,
    i: InstructionId,
    operand: InstructionId,
    batch: &Dims,
    [batch_dims, free_dims, contracting_dims]: [&Dims; 3],
) -> Matrix {
    let array = m[operand].shape.as_array().expect("an operand of dot is an array").clone();
    let product = |dimensions: &Dims| dimensions.iter().map(|&d| array.dims[d as usize]).product();
    let free = (!free_dims.is_empty()).then(|| product(free_dims));
    let contracted: i64 = product(contracting_dims);
    let last = array.rank() as i64 - 1;
    let mut dims = batch.clone();
    let (order, contracting) = if free_dims.contains(&last) {
        dims.push(contracted);
        dims.extend(free);
        ([batch_dims, contracting_dims, free_dims], batch.len())
    } else {
        dims.extend(free);
        dims.push(contracted);
        ([batch_dims, free_dims, contracting_dims], dims.len() - 1)
    };
    let dimensions: Dims = order.iter().flat_map(|part| part.iter().copied()).collect();
    let mut value = operand;
    if !dimensions.is_sorted() {
        value = view::add(m, i, Transpose { dimensions }, &[value]);
    }
    if view::dims(m, value) != Some(&dims) {
        let shape = Shape::array(array.element_type, dims);
        value = view::add_with_shape(m, i, Reshape::default(), shape, &[value]);
    }
    Matrix { value, contracting: contracting as i64, free }
}
