//! Gather and scatter.

use rxla_hlo::op::{Gather, Scatter};
use rxla_hlo::{ArrayShape, Dims, Shape};

use super::attributes::View;
use super::importer::{Importer, Result, one_or_tuple_shape};
use crate::mlir::{Attribute, GatherDimensionNumbers};

fn gather_numbers<'a>(view: View<'a>) -> Result<&'a GatherDimensionNumbers> {
    match view.require("dimension_numbers")? {
        Attribute::GatherDimensionNumbers(numbers) => Ok(numbers),
        _ => Err(view.wrong("dimension_numbers", "a gather's dimension numbers")),
    }
}

fn dims(list: &[i64]) -> Dims {
    Dims::from_slice(list)
}

/// `stablehlo.gather`, and `stablehlo.dynamic_gather` with `slice_sizes` known.
pub(super) fn gather<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand, indices] = cx.exactly(view)?;
    let sizes = view.integers("slice_sizes")?;
    gather_with(cx, view, operand, indices, sizes)
}

pub(super) fn gather_with<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    operand: rxla_hlo::InstructionId,
    indices: rxla_hlo::InstructionId,
    slice_sizes: Dims,
) -> Result {
    let numbers = gather_numbers(view)?;
    let (operand_array, indices_array) = (cx.array(view, operand)?, cx.array(view, indices)?);
    if slice_sizes.len() != operand_array.rank() {
        return Err(view.wrong("slice_sizes", "one size per dimension of the operand"));
    }
    let known = gathered_dims(numbers, &indices_array, &slice_sizes);
    let shape = cx.declared(view, 0, |_| known)?;
    let op = Gather {
        offset_dims: dims(&numbers.offset_dims),
        collapsed_slice_dims: dims(&numbers.collapsed_slice_dims),
        start_index_map: dims(&numbers.start_index_map),
        operand_batching_dims: dims(&numbers.operand_batching_dims),
        start_indices_batching_dims: dims(&numbers.start_indices_batching_dims),
        index_vector_dim: numbers.index_vector_dim,
        slice_sizes,
        indices_are_sorted: view.bool_or("indices_are_sorted", false)?,
    };
    let instruction = cx.add(Box::new(op), shape, &[operand, indices]);
    cx.finish(view, instruction)
}

/// Sizes of the result: batch dimensions of the indices with slice dimensions put in between.
fn gathered_dims(
    numbers: &GatherDimensionNumbers,
    indices: &ArrayShape,
    slice_sizes: &Dims,
) -> Option<Dims> {
    let mut batch = indices.dims.iter().enumerate().filter_map(|(dimension, &size)| {
        (dimension as i64 != numbers.index_vector_dim).then_some(size)
    });
    let mut slices = slice_sizes.iter().enumerate().filter_map(|(dimension, &size)| {
        let dimension = dimension as i64;
        let dropped = numbers.collapsed_slice_dims.contains(&dimension)
            || numbers.operand_batching_dims.contains(&dimension);
        (!dropped).then_some(size)
    });
    let batch_rank =
        indices.rank() - usize::from((numbers.index_vector_dim as usize) < indices.rank());
    (0..(batch_rank + numbers.offset_dims.len()) as i64)
        .map(|dimension| match numbers.offset_dims.contains(&dimension) {
            true => slices.next(),
            false => batch.next(),
        })
        .collect()
}

/// `stablehlo.scatter`: inputs, one array of indices, as many updates as inputs.
pub(super) fn scatter<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let count = operands.len() / 2;
    if operands.len() != 2 * count + 1 || count == 0 {
        return Err(view.error(format_args!(
            "has {} operands, which are not inputs, indices and as many updates",
            operands.len()
        )));
    }
    view.expect_results(count)?;
    let Attribute::ScatterDimensionNumbers(numbers) = view.require("scatter_dimension_numbers")?
    else {
        return Err(view.wrong("scatter_dimension_numbers", "a scatter's dimension numbers"));
    };
    let shapes: Vec<Shape> =
        operands[..count].iter().map(|&operand| cx.logical_shape(operand)).collect();
    let to_apply = cx.region(view, 0)?;
    let op = Scatter {
        update_window_dims: dims(&numbers.update_window_dims),
        inserted_window_dims: dims(&numbers.inserted_window_dims),
        scatter_dims_to_operand_dims: dims(&numbers.scatter_dims_to_operand_dims),
        input_batching_dims: dims(&numbers.input_batching_dims),
        scatter_indices_batching_dims: dims(&numbers.scatter_indices_batching_dims),
        index_vector_dim: numbers.index_vector_dim,
        indices_are_sorted: view.bool_or("indices_are_sorted", false)?,
        unique_indices: view.bool_or("unique_indices", false)?,
        to_apply,
    };
    let instruction = cx.add(Box::new(op), one_or_tuple_shape(shapes), &operands);
    cx.finish_tuple(view, instruction)
}
