//! Operations whose shapes or dimension numbers are operands. HLO wants them fixed, so they must
//! follow from constants and from sizes of arrays; then they are the static operations.

use rxla_hlo::op::{DynamicReshape, Iota};
use rxla_hlo::{Dims, InstructionId, Shape};

use super::attributes::View;
use super::compiler_calls::known;
use super::importer::{Importer, Result};
use super::shapes::{broadcast_to, check_dimension, pad_of, reshape_to, slice_of};
use super::{convolution, fold, gather_scatter, types};

/// The result's shape when operand `index` says its sizes.
fn shape_from<'a>(cx: &mut Importer<'a>, view: View<'a>, index: usize) -> Result<Shape> {
    let declared = view.result_shape(0)?;
    if !types::is_unbounded(&declared) {
        return Ok(declared);
    }
    let dims = known(cx, view, index, "sizes")?;
    if dims.iter().any(|&size| size < 0) {
        return Err(view.error(format_args!("is given the sizes {:?}", &dims[..])));
    }
    cx.declared(view, 0, |_| Some(dims))
}

/// `stablehlo.dynamic_reshape`.
pub(super) fn reshape<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand, sizes] = cx.exactly(view)?;
    let declared = view.result_shape(0)?;
    let is_bounded = declared.as_array().is_some_and(|array| !array.is_static())
        && !types::is_unbounded(&declared);
    let instruction = if is_bounded && fold::integers(cx, sizes).is_none() {
        dynamic_reshape(cx, operand, sizes, declared)
    } else {
        let shape = shape_from(cx, view, 1)?;
        reshape_to(cx, view, operand, shape)?
    };
    cx.finish(view, instruction)
}

/// HLO's own reshape to bounded sizes that are operands, one scalar each.
fn dynamic_reshape(
    cx: &mut Importer<'_>,
    operand: InstructionId,
    sizes: InstructionId,
    shape: Shape,
) -> InstructionId {
    let list = cx.dims_of(sizes);
    let mut operands = vec![operand];
    for index in 0..list.dims.first().copied().unwrap_or(0) {
        let slice =
            vec![rxla_hlo::op::SliceDimension { start: index, limit: index + 1, stride: 1 }];
        let one = Shape::array(list.element_type, [1]);
        let part = cx.add(rxla_hlo::op::Slice { slice }, one, &[sizes]);
        let scalar = cx.reshape(part, []);
        operands.push(cx.convert(scalar, rxla_hlo::ElementType::S32));
    }
    cx.add(DynamicReshape {}, shape, &operands)
}

/// `stablehlo.dynamic_broadcast_in_dim`.
pub(super) fn broadcast_in_dim<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(2)?;
    let operand = cx.operand(view, 0)?;
    let shape = shape_from(cx, view, 1)?;
    let dimensions = view.integers("broadcast_dimensions")?;
    let instruction = broadcast_to(cx, view, operand, shape, &dimensions)?;
    cx.finish(view, instruction)
}

/// `stablehlo.dynamic_iota`.
pub(super) fn iota<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(1)?;
    let shape = shape_from(cx, view, 0)?;
    let iota_dimension = view.integer("iota_dimension")?;
    let rank = shape.as_array().map_or(0, rxla_hlo::ArrayShape::rank);
    check_dimension(view, "iota_dimension", iota_dimension, rank)?;
    let instruction = cx.add(Iota { iota_dimension }, shape, &[]);
    cx.finish(view, instruction)
}

/// `stablehlo.dynamic_pad`.
pub(super) fn pad<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(5)?;
    let (operand, value) = (cx.operand(view, 0)?, cx.operand(view, 1)?);
    let rank = cx.array(view, operand)?.rank();
    let lists =
        (2..5).map(|index| known(cx, view, index, "paddings")).collect::<Result<Vec<_>>>()?;
    if lists.iter().any(|list| list.len() != rank) {
        return Err(view.error(format_args!("needs {rank} numbers of each padding")));
    }
    let instruction = pad_of(cx, view, operand, value, &lists[0], &lists[1], &lists[2])?;
    cx.finish(view, instruction)
}

/// `stablehlo.real_dynamic_slice`.
pub(super) fn real_dynamic_slice<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(4)?;
    let operand = cx.operand(view, 0)?;
    let array = cx.array(view, operand)?;
    let rank = array.rank();
    let starts = cx.operand(view, 1)?;
    if fold::integers(cx, starts).is_none() {
        return slice_of_known_size(cx, view, operand, starts);
    }
    let lists =
        (1..4).map(|index| known(cx, view, index, "slice bounds")).collect::<Result<Vec<_>>>()?;
    if lists.iter().any(|list| list.len() != rank) {
        return Err(view.error(format_args!("needs {rank} numbers of each bound")));
    }
    let instruction = slice_of(cx, view, operand, &lists[0], &lists[1], &lists[2])?;
    cx.finish(view, instruction)
}

/// A slice that starts anywhere but has a static size and stride 1.
fn slice_of_known_size<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    operand: InstructionId,
    starts: InstructionId,
) -> Result {
    let strides = known(cx, view, 3, "strides")?;
    if strides.iter().any(|&stride| stride != 1) {
        return Err(view.unimplemented("strides other than 1 from a start that is not known"));
    }
    let shape = cx.declared(view, 0, |_| None)?;
    let array = cx.array(view, operand)?;
    let Some(sizes) = shape.as_array().map(|shape| shape.dims.clone()) else {
        return Err(view.error("has a result that is no array"));
    };
    let list = cx.array(view, starts)?;
    let mut operands = vec![operand];
    for index in 0..array.rank() as i64 {
        let slice =
            vec![rxla_hlo::op::SliceDimension { start: index, limit: index + 1, stride: 1 }];
        let one = Shape::array(list.element_type, [1]);
        let part = cx.add(rxla_hlo::op::Slice { slice }, one, &[starts]);
        operands.push(cx.reshape(part, []));
    }
    let op = rxla_hlo::op::DynamicSlice { dynamic_slice_sizes: sizes };
    let instruction = cx.add(op, shape, &operands);
    cx.finish(view, instruction)
}

/// `stablehlo.dynamic_gather`.
pub(super) fn gather<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(3)?;
    let (operand, indices) = (cx.operand(view, 0)?, cx.operand(view, 1)?);
    let sizes = known(cx, view, 2, "slice sizes")?;
    gather_scatter::gather_with(cx, view, operand, indices, sizes)
}

/// `stablehlo.dynamic_conv`.
pub(super) fn convolution<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(3)?;
    let (input, kernel) = (cx.operand(view, 0)?, cx.operand(view, 1)?);
    let padding: Dims = known(cx, view, 2, "paddings")?;
    let spatial = convolution::spatial_rank(cx, view, input)?;
    if padding.len() != 2 * spatial {
        return Err(view.error(format_args!("needs a low and a high padding for {spatial} sizes")));
    }
    let padding: Vec<(i64, i64)> = padding.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    convolution::convolution_with(cx, view, input, kernel, &padding)
}
