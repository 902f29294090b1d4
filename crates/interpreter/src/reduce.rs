//! `reduce` over any dimensions with any reducer.
//!
//! A recognised function runs over the operand in memory order, runs along reduced dimensions as a
//! tree ([`crate::reducer::fold_run`]). Any other computation combines neighbours pairwise, level
//! by level, which keeps the order of the elements; the initial value comes first. Either way the
//! order depends on the shape only.

use bytemuck::Pod;
use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ArrayShape, ComputationId, Dims};
use smallvec::SmallVec;

use crate::context::Context;
use crate::dot::others;
use crate::lift::apply;
use crate::matmul::to_type;
use crate::movement::{fill, transpose};
use crate::reducer::{Fold, FoldVisitor, Reducer, fold_run};
use crate::strided::{CopyPlan, Extents, for_each_run, row_major, with_width, words, words_mut};

/// One result per operand.
pub(crate) fn reduce(
    cx: &Context<'_>,
    operands: Vec<ArrayLiteral>,
    initial: &[ArrayLiteral],
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Result<Vec<ArrayLiteral>> {
    if let ([_], Reducer::Binary(kind)) = (&*operands, cx.plans.reducer(cx.module, to_apply))
        && let Some(fold) = Fold::of(kind, operands[0].element_type())
    {
        let operand = operands.into_iter().next().expect("one operand");
        return Ok(vec![reduce_with(fold, operand, &initial[0], dimensions)?]);
    }
    reduce_generally(cx, operands, initial, dimensions, to_apply)
}

/// [`reduce`] of one operand with a recognised function.
pub(crate) fn reduce_with(
    fold: Fold,
    operand: ArrayLiteral,
    initial: &ArrayLiteral,
    dimensions: &[i64],
) -> Result<ArrayLiteral> {
    struct Run<'a> {
        operand: &'a ArrayLiteral,
        result: &'a mut ArrayLiteral,
        /// Strides in the result per operand dimension; reduced ones have 0.
        to: &'a [isize],
    }
    impl FoldVisitor for Run<'_> {
        type Output = ();
        fn visit<T: Pod, F: Fn(T, T) -> T + Copy>(self, f: F) {
            let dims = self.operand.dims();
            let source = words::<T>(self.operand);
            let target = words_mut::<T>(self.result);
            for_each_run(dims, &row_major(dims), self.to, |from, to, run| {
                let source = &source[from as usize..][..run.size as usize];
                if run.to == 0 {
                    let target = &mut target[to as usize];
                    *target = f(*target, fold_run(source, f));
                } else {
                    for (target, &x) in target[to as usize..].iter_mut().zip(source) {
                        *target = f(*target, x);
                    }
                }
            });
        }
    }
    let element_type = operand.element_type();
    let kept = others(operand.dims().len(), &[dimensions]);
    let dims: Dims = kept.iter().map(|&d| operand.dims()[d as usize]).collect();
    let mut to: Extents = SmallVec::from_elem(0, operand.dims().len());
    for (&dimension, stride) in kept.iter().zip(row_major(&dims)) {
        to[dimension as usize] = stride;
    }
    let operand = fold.widen(operand)?;
    let mut result = fill(&fold.widen(initial.clone())?, &dims)?;
    if !operand.is_empty() {
        fold.visit(Run { operand: &operand, result: &mut result, to: &to });
    }
    to_type(result, element_type)
}

fn reduce_generally(
    cx: &Context<'_>,
    operands: Vec<ArrayLiteral>,
    initial: &[ArrayLiteral],
    dimensions: &[i64],
    to_apply: ComputationId,
) -> Result<Vec<ArrayLiteral>> {
    let kept = others(operands[0].dims().len(), &[dimensions]);
    let dims: Dims = kept.iter().map(|&d| operands[0].dims()[d as usize]).collect();
    let count: usize =
        dimensions.iter().map(|&d| operands[0].dims()[d as usize] as usize).product();
    let n: usize = dims.iter().map(|&d| d as usize).product();
    let start: Vec<ArrayLiteral> =
        initial.iter().map(|value| fill(value, &[n as i64])).collect::<Result<_>>()?;
    let results = if count == 0 || n == 0 {
        start
    } else {
        // Reduced dimensions first, so that a row has one element per result.
        let order = [dimensions, &kept].concat();
        let rows: Vec<ArrayLiteral> = operands
            .into_iter()
            .map(|operand| transpose(operand, &order))
            .collect::<Result<_>>()?;
        let all = combine_rows(cx, rows, count, n, to_apply)?;
        apply(cx, to_apply, [start, all].concat(), n)?
    };
    results
        .into_iter()
        .map(|result| {
            let shape = ArrayShape::new(result.element_type(), dims.iter().copied());
            result.with_shape(&shape)
        })
        .collect()
}

/// Combines `count` rows of `n` elements per operand, neighbours first.
pub(crate) fn combine_rows(
    cx: &Context<'_>,
    mut rows: Vec<ArrayLiteral>,
    mut count: usize,
    n: usize,
    to_apply: ComputationId,
) -> Result<Vec<ArrayLiteral>> {
    // What did not find a partner, to the right of everything else.
    let mut tail: Option<Vec<ArrayLiteral>> = None;
    while count > 1 {
        let pairs = count / 2;
        if count % 2 == 1 {
            let last = every(&rows, count - 1, 1, 1, n)?;
            tail = Some(match tail {
                Some(tail) => apply(cx, to_apply, [last, tail].concat(), n)?,
                None => last,
            });
        }
        let left = every(&rows, 0, 2, pairs, n)?;
        let right = every(&rows, 1, 2, pairs, n)?;
        rows = apply(cx, to_apply, [left, right].concat(), pairs * n)?;
        count = pairs;
    }
    let rows = every(&rows, 0, 1, 1, n)?;
    match tail {
        Some(tail) => apply(cx, to_apply, [rows, tail].concat(), n),
        None => Ok(rows),
    }
}

/// Rows `start`, `start + step`, … of each operand, as one flat array.
fn every(
    rows: &[ArrayLiteral],
    start: usize,
    step: usize,
    count: usize,
    n: usize,
) -> Result<Vec<ArrayLiteral>> {
    let dims = [count as i64, n as i64];
    let plan = CopyPlan::new(&dims, &[(step * n) as isize, 1], &[n as isize, 1]);
    rows.iter()
        .map(|row| {
            let shape = ArrayShape::new(row.element_type(), [(count * n) as i64]);
            let mut result = ArrayLiteral::zeros(&shape)?;
            with_width!(row.element_type().byte_width(), T => {
                plan.run::<T>(words(row), (start * n) as isize, words_mut(&mut result), 0)
            });
            Ok(result)
        })
        .collect()
}
