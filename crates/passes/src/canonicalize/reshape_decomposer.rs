//! `reshape-decomposer`, XLA's ReshapeDecomposer: after it a reshape costs what it says. One that leaves
//! memory as it is becomes a `bitcast`, any other a copy to where it is one, and back.
//!
//! Arrays without a layout are row-major.

use std::ops::RangeInclusive;

use rxla_base::Result;
use rxla_hlo::op::{Bitcast, Copy_};
use rxla_hlo::{ArrayShape, InstructionId, Layout, Module, Op, Phase, Shape};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct ReshapeDecomposer;

const RULES: &[NamedRule] = rules! {
    Reshape => [reshape],
};

impl Pass for ReshapeDecomposer {
    fn name(&self) -> &'static str {
        "reshape-decomposer"
    }

    fn class(&self) -> &'static str {
        "ReshapeDecomposer"
    }

    fn phases(&self) -> RangeInclusive<Phase> {
        Phase::Input..=Phase::LayoutAssigned
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `reshape(x) => bitcast(x)`, or `copy(bitcast(copy(x)))` through row-major memory
fn reshape(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Reshape(_) = &m[i].op else { return None };
    let x = view::operand(m, i, 0);
    let from = view::static_array(m, x)?.clone();
    let to = view::static_array(m, i)?.clone();
    if strides(&from)? == strides(&to)? {
        return Some(view::add_same(m, i, Bitcast::default(), &[x]));
    }
    let mut value = x;
    let plain = row_major(&from);
    if strides(&plain)? != strides(&from)? {
        value = view::add_with_shape(m, i, Copy_ {}, Shape::Array(plain), &[value]);
    }
    let plain = row_major(&to);
    if strides(&plain)? == strides(&to)? {
        return Some(view::add_same(m, i, Bitcast::default(), &[value]));
    }
    value = view::add_with_shape(m, i, Bitcast::default(), Shape::Array(plain), &[value]);
    Some(view::add_same(m, i, Copy_ {}, &[value]))
}

fn row_major(shape: &ArrayShape) -> ArrayShape {
    let mut plain = shape.without_layout();
    plain.layout = Some(Box::new(Layout::new((0..shape.rank() as i64).rev())));
    plain
}

/// The order in which elements lie in memory: sizes, and how many elements one step goes on in the
/// row-major order, outermost first. Dimensions that run on into each other are one. `None` for tiles
/// and whatever else makes memory more than an order.
fn strides(shape: &ArrayShape) -> Option<Vec<(i64, i64)>> {
    let plain = Layout::new((0..shape.rank() as i64).rev());
    let layout = shape.layout.as_deref().unwrap_or(&plain);
    if *layout != Layout::new(layout.minor_to_major.iter().copied()) {
        return None;
    }
    let mut logical = vec![1; shape.rank()];
    for dimension in (1..shape.rank()).rev() {
        logical[dimension - 1] = logical[dimension] * shape.dims[dimension];
    }
    let mut found: Vec<(i64, i64)> = Vec::new();
    for &dimension in layout.minor_to_major.iter().rev() {
        let dimension = dimension as usize;
        let (size, stride) = (shape.dims[dimension], logical[dimension]);
        match found.last_mut() {
            _one if size == 1 => {}
            Some((outer, step)) if *step == stride * size => {
                *outer *= size;
                *step = stride;
            }
            Some(_) | None => found.push((size, stride)),
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use rxla_hlo::ElementType;

    use super::*;

    fn shape(dims: &[i64], minor_to_major: &[i64]) -> ArrayShape {
        let mut shape = ArrayShape::new(ElementType::F32, dims.iter().copied());
        shape.layout = Some(Box::new(Layout::new(minor_to_major.iter().copied())));
        shape
    }

    #[test]
    fn memory_is_an_order_of_elements() {
        assert_eq!(strides(&shape(&[2, 3, 4], &[2, 1, 0])), Some(vec![(24, 1)]));
        assert_eq!(strides(&shape(&[2, 1, 12], &[2, 0, 1])), Some(vec![(24, 1)]));
        assert_eq!(strides(&shape(&[2, 3, 4], &[0, 2, 1])), Some(vec![(12, 1), (2, 12)]));
        assert_eq!(strides(&shape(&[2, 12], &[0, 1])), Some(vec![(12, 1), (2, 12)]));
        assert_eq!(strides(&shape(&[], &[])), Some(vec![]));
    }
}
