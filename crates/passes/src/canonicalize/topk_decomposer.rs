//! `topk-decomposer`, XLA's TopkDecomposer: the greatest or least elements of a row are the first of
//! the sorted row.

use rxla_base::Result;
use rxla_hlo::op::{
    Compare, ComparisonDirection, ComparisonType, Iota, Slice, SliceDimension, Sort,
};
use rxla_hlo::{ArrayShape, ComputationId, ElementType, InstructionId, Module, Op, Shape};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct TopkDecomposer;

const RULES: &[NamedRule] = rules! {
    TopK => [topk],
};

impl Pass for TopkDecomposer {
    fn name(&self) -> &'static str {
        "topk-decomposer"
    }

    fn class(&self) -> &'static str {
        "TopkDecomposer"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `topk(x) => slice(sort(x, iota))`, both sorted by the total order of `x`; among equal ones the
/// first comes first.
fn topk(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::TopK(op) = &m[i].op else { return None };
    let (k, largest) = (op.k, op.largest.0);
    let x = view::operand(m, i, 0);
    let shape = view::static_array(m, x)?.clone();
    let row = *shape.dims.last()?;
    if !(0..=row).contains(&k) || row > i64::from(i32::MAX) || shape.element_type.is_complex() {
        return None;
    }
    let last = shape.rank() as i64 - 1;
    let direction = if largest { ComparisonDirection::Gt } else { ComparisonDirection::Lt };
    let to_apply = comparator(m, shape.element_type, direction);
    let places = ArrayShape::new(ElementType::S32, shape.dims.iter().copied());
    let places =
        view::add_with_shape(m, i, Iota { iota_dimension: last }, Shape::Array(places), &[]);
    let sort = Sort { dimensions: [last].into_iter().collect(), is_stable: true, to_apply };
    let sorted = view::add(m, i, sort, &[x, places]);
    let slice: Vec<SliceDimension> = shape
        .dims
        .iter()
        .enumerate()
        .map(|(dimension, &size)| {
            let limit = if dimension as i64 == last { k } else { size };
            SliceDimension { start: 0, limit, stride: 1 }
        })
        .collect();
    let parts = [0, 1].map(|index| {
        let part = view::add(m, i, Op::get_tuple_element(index), &[sorted]);
        view::add(m, i, Slice { slice: slice.to_vec() }, &[part])
    });
    Some(view::add(m, i, Op::tuple(), &parts))
}

/// Compares values, whatever their places.
fn comparator(
    m: &mut Module,
    element_type: ElementType,
    direction: ComparisonDirection,
) -> ComputationId {
    let computation = m.add_computation("compare");
    let lhs = m.add_parameter(computation, "lhs", Shape::scalar(element_type));
    let rhs = m.add_parameter(computation, "rhs", Shape::scalar(element_type));
    m.add_parameter(computation, "lhs_place", Shape::scalar(ElementType::S32));
    m.add_parameter(computation, "rhs_place", Shape::scalar(ElementType::S32));
    let comparison_type = element_type.is_float().then_some(ComparisonType::TotalOrder);
    let root = view::add(m, lhs, Compare { direction, comparison_type }, &[lhs, rhs]);
    m.set_root(root);
    computation
}
