//! `batch-dot-simplification`, XLA's BatchDotSimplification: batch dimensions of size 1 are no
//! batch. Without them a dot is a plain product of matrices.

use rxla_base::Result;
use rxla_hlo::op::{Dot, Reshape};
use rxla_hlo::{Dims, InstructionId, Module, Op, Shape};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct BatchDotSimplification;

const RULES: &[NamedRule] = rules! {
    Dot => [batch_of_one],
};

impl Pass for BatchDotSimplification {
    fn name(&self) -> &'static str {
        "batch-dot-simplification"
    }

    fn class(&self) -> &'static str {
        "BatchDotSimplification"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `dot(x[1,…], y[1,…]) => reshape(dot(reshape(x), reshape(y)))` for batch dimensions of size 1
fn batch_of_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(op) = &m[i].op else { return None };
    let [x, y] = [view::operand(m, i, 0), view::operand(m, i, 1)];
    let (left, right) = (view::dims(m, x)?.clone(), view::dims(m, y)?.clone());
    let result = view::dims(m, i)?.clone();
    let single: Vec<usize> = (0..op.lhs_batch_dims.len()).filter(|&b| result[b] == 1).collect();
    if single.is_empty() {
        return None;
    }
    let op = op.clone();
    let gone = |dims: &Dims| -> Dims { single.iter().map(|&b| dims[b]).collect() };
    let (x_gone, y_gone) = (gone(&op.lhs_batch_dims), gone(&op.rhs_batch_dims));
    let x = drop_dimensions(m, i, x, &left, &x_gone);
    let y = drop_dimensions(m, i, y, &right, &y_gone);
    let smaller = Dot {
        lhs_batch_dims: renumber(&op.lhs_batch_dims, &x_gone),
        lhs_contracting_dims: renumber(&op.lhs_contracting_dims, &x_gone),
        rhs_batch_dims: renumber(&op.rhs_batch_dims, &y_gone),
        rhs_contracting_dims: renumber(&op.rhs_contracting_dims, &y_gone),
        ..*op
    };
    let dims: Dims = (0..result.len()).filter(|d| !single.contains(d)).map(|d| result[d]).collect();
    let shape = Shape::array(view::element_type(m, i)?, dims);
    let dot = view::add_with_shape(m, i, Op::from(Box::new(smaller)), shape, &[x, y]);
    Some(view::add_same(m, i, Reshape::default(), &[dot]))
}

/// `x` without some dimensions of size 1.
fn drop_dimensions(
    m: &mut Module,
    i: InstructionId,
    x: InstructionId,
    sizes: &Dims,
    gone: &Dims,
) -> InstructionId {
    let kept = (0..sizes.len()).filter(|&d| !gone.contains(&(d as i64))).map(|d| sizes[d]);
    let shape = Shape::array(view::element_type(m, x).expect("an array"), kept);
    view::add_with_shape(m, i, Reshape::default(), shape, &[x])
}

/// The numbers that remain, counted without those that are gone.
fn renumber(dimensions: &Dims, gone: &Dims) -> Dims {
    dimensions
        .iter()
        .filter(|d| !gone.contains(d))
        .map(|&d| d - gone.iter().filter(|&&g| g < d).count() as i64)
        .collect()
}
