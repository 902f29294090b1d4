//! Custom calls that frontends use for operations StableHLO lacks: approximate top-k, assertions on
//! shapes, and operations whose dimension numbers are operands.

use rxla_hlo::op::{Largest, RandomAlgorithm, ReduceWindow, RngBitGenerator, Sort, TopK};
use rxla_hlo::{Dims, ElementType, InstructionId, Shape};

use super::attributes::View;
use super::custom_call::called;
use super::fold;
use super::importer::{Importer, Result, one_or_tuple_shape};
use super::reductions::{window, windowed_dims};
use super::shapes::{check_dimension, slice_of};
use crate::mlir::Attribute;

/// The dictionary that configures such a call.
fn configuration<'a>(view: View<'a>) -> Result<&'a Attribute> {
    let config = view.get("mhlo.backend_config").or_else(|| view.get("backend_config"));
    config
        .filter(|config| config.as_dictionary().is_some())
        .ok_or_else(|| view.error("has no dictionary `mhlo.backend_config`"))
}

/// `ApproxTopK`: on a CPU the exact answer costs no more, so it sorts and takes what is asked for.
/// Operands are arrays and as many initial values, which an exact search does not need.
pub(super) fn approx_top_k<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    approx_top_k_of(cx, view, &operands)
}

/// `stablehlo.dynamic_approx_top_k`, whose last operand is k.
pub(super) fn dynamic_approx_top_k<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let Some((_, rest)) = operands.split_last() else {
        return Err(view.error("has no operands"));
    };
    approx_top_k_of(cx, view, rest)
}

fn approx_top_k_of<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    operands: &[InstructionId],
) -> Result {
    let count = operands.len() / 2;
    if count == 0 || operands.len() != 2 * count {
        return Err(view.error("takes arrays and as many initial values"));
    }
    view.expect_results(count)?;
    let config = configuration(view)?;
    let reduction_dim = config
        .entry("reduction_dim")
        .and_then(Attribute::as_integer)
        .ok_or_else(|| view.wrong("reduction_dim", "an integer"))?;
    let arrays = operands[..count]
        .iter()
        .map(|&operand| cx.array(view, operand))
        .collect::<Result<Vec<_>>>()?;
    let rank = arrays[0].rank();
    let at = check_dimension(view, "reduction_dim", reduction_dim, rank)?;
    let &[to_apply] = &called(cx, view)?[..] else {
        return Err(view.error("calls not exactly one computation"));
    };
    let shapes: Vec<Shape> = arrays.iter().cloned().map(Shape::Array).collect();
    let op = Sort { dimensions: Dims::from_slice(&[reduction_dim]), is_stable: true, to_apply };
    let sorted = cx.add(op, one_or_tuple_shape(shapes), &operands[..count]);
    let mut results = Vec::new();
    for (index, array) in arrays.iter().enumerate() {
        let part = match count {
            1 => sorted,
            _ => cx.get_tuple_element(sorted, index),
        };
        let declared = cx.declared(view, index, |_| None)?;
        let wanted = declared.as_array().map(|shape| shape.dims.clone());
        let Some(wanted) = wanted.filter(|dims| dims.len() == array.rank()) else {
            return Err(view.error(format_args!("has a result `{declared}` for `{array}`")));
        };
        let mut limits = array.dims.clone();
        limits[at] = wanted[at];
        let starts = Dims::from_elem(0, rank);
        let strides = Dims::from_elem(1, rank);
        results.push(slice_of(cx, view, part, &starts, &limits, &strides)?);
    }
    cx.finish_all(view, &results)
}

/// `shape_assertion`: what must hold of sizes, known while compiling.
pub(super) fn shape_assertion<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let condition = cx.operand(view, 0)?;
    match fold::integers(cx, condition).as_deref() {
        Some([1]) => Ok(()),
        Some(_) => {
            let message = view.str_or("error_message", "a shape assertion does not hold")?;
            let numbers = (1..view.op.operands.len())
                .map(|index| {
                    let operand = cx.operand(view, index)?;
                    Ok(fold::integers(cx, operand).map_or("?".to_owned(), |n| format!("{n:?}")))
                })
                .collect::<Result<Vec<_>>>()?;
            Err(view.error(format_args!("{message} (with {})", numbers.join(", "))))
        }
        None => Err(view.unimplemented("a condition that is not known while compiling")),
    }
}

/// The integers of an operand that must be known.
pub(super) fn known<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    index: usize,
    what: &str,
) -> Result<Dims> {
    let operand = cx.operand(view, index)?;
    fold::integers(cx, operand).map(Dims::from_vec).ok_or_else(|| {
        view.unimplemented(format_args!("{what} that are not known while compiling"))
            .hint("make operand shapes static, so that they follow from constants")
    })
}

/// `stablehlo.dynamic_reduce_window`: inputs, initial values, then window sizes, strides, base
/// dilations, window dilations and padding.
pub(super) fn dynamic_reduce_window<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let count = view.op.results.len();
    if count == 0 || operands.len() != 2 * count + 5 {
        return Err(view.error(format_args!("has {} operands", operands.len())));
    }
    let array = cx.array(view, operands[0])?;
    let lists = (2 * count..2 * count + 5)
        .map(|index| known(cx, view, index, "window dimensions"))
        .collect::<Result<Vec<_>>>()?;
    let rank = array.rank();
    if lists[..4].iter().any(|list| list.len() != rank) || lists[4].len() != 2 * rank {
        return Err(view.error("has window attributes of another rank"));
    }
    let padding: Vec<(i64, i64)> = lists[4].chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let window = window(view, &lists[0], &lists[1], &padding, &lists[2], &lists[3])?;
    let dims = windowed_dims(&array, &window);
    let shapes = (0..count)
        .map(|index| cx.declared(view, index, |_| dims.clone()))
        .collect::<Result<Vec<_>>>()?;
    let &[to_apply] = &called(cx, view)?[..] else {
        return Err(view.error("calls not exactly one computation"));
    };
    let op = ReduceWindow { window, to_apply };
    let instruction = cx.add(op, one_or_tuple_shape(shapes), &operands[..2 * count]);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.dynamic_rng_bit_generator`: the state and the shape of the bits.
pub(super) fn dynamic_rng_bit_generator<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(2)?;
    view.expect_results(2)?;
    let state = cx.operand(view, 0)?;
    let dims = known(cx, view, 1, "sizes")?;
    let algorithm = match view.get("rng_algorithm") {
        Some(Attribute::Enum(attribute)) => match attribute.value.name() {
            "THREE_FRY" => RandomAlgorithm::ThreeFry,
            "PHILOX" => RandomAlgorithm::Philox,
            _ => RandomAlgorithm::Default,
        },
        _ => return Err(view.wrong("rng_algorithm", "an algorithm")),
    };
    let shapes = [cx.logical_shape(state), cx.declared(view, 1, |_| Some(dims))?];
    let instruction = cx.add(RngBitGenerator { algorithm }, Shape::tuple(shapes), &[state]);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.dynamic_top_k`: the array and k.
pub(super) fn dynamic_top_k<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(2)?;
    view.expect_results(2)?;
    let operand = cx.operand(view, 0)?;
    let mut values = cx.array(view, operand)?;
    let &[k] = &known(cx, view, 1, "numbers of elements")?[..] else {
        return Err(view.error("takes one number of elements"));
    };
    let Some(last) = values.dims.last_mut().filter(|last| k >= 0 && k <= **last) else {
        return Err(view.error(format_args!("cannot take {k} elements of `{values}`")));
    };
    *last = k;
    let indices = values.with_element_type(ElementType::S32);
    let shape = Shape::tuple([values.into(), indices.into()]);
    let op = TopK { k, largest: Largest(true), is_stable: true };
    let instruction = cx.add(op, shape, &[operand]);
    cx.finish_tuple(view, instruction)
}
