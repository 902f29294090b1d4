//! Convolutions.

use rxla_hlo::op::{Convolution, ConvolutionDimensions, GroupCount};
use rxla_hlo::{ArrayShape, Dims, InstructionId};

use super::attributes::View;
use super::contraction::precisions;
use super::importer::{Importer, Result};
use super::reductions::{padding_pairs, window, windowed_dims};
use super::shapes::check_dimension;
use crate::mlir::Attribute;

/// `stablehlo.convolution`.
pub(super) fn convolution<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [input, kernel] = cx.exactly(view)?;
    let spatial = spatial_rank(cx, view, input)?;
    let padding = padding_pairs(view, spatial)?;
    convolution_with(cx, view, input, kernel, &padding)
}

pub(super) fn spatial_rank(
    cx: &Importer<'_>,
    view: View<'_>,
    input: InstructionId,
) -> Result<usize> {
    let rank = cx.array(view, input)?.rank();
    rank.checked_sub(2).ok_or_else(|| view.error("takes arrays of rank 2 at least"))
}

pub(super) fn convolution_with<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    input: InstructionId,
    kernel: InstructionId,
    padding: &[(i64, i64)],
) -> Result {
    let Attribute::ConvDimensionNumbers(numbers) = view.require("dimension_numbers")? else {
        return Err(view.wrong("dimension_numbers", "a convolution's dimension numbers"));
    };
    let spatial = spatial_rank(cx, view, input)?;
    let (input_array, kernel_array) = (cx.array(view, input)?, cx.array(view, kernel)?);
    let rank = spatial + 2;
    let lists = [
        (&numbers.input_spatial_dimensions, input_array.rank()),
        (&numbers.kernel_spatial_dimensions, kernel_array.rank()),
        (&numbers.output_spatial_dimensions, rank),
    ];
    for (list, its_rank) in lists {
        if list.len() != spatial || its_rank != rank {
            return Err(view.wrong("dimension_numbers", "of the operands' rank"));
        }
    }
    for dimension in lists.iter().flat_map(|(list, _)| list.iter().copied()).chain([
        numbers.input_batch_dimension,
        numbers.input_feature_dimension,
        numbers.kernel_input_feature_dimension,
        numbers.kernel_output_feature_dimension,
        numbers.output_batch_dimension,
        numbers.output_feature_dimension,
    ]) {
        check_dimension(view, "dimension_numbers", dimension, rank)?;
    }
    let sizes: Dims =
        numbers.kernel_spatial_dimensions.iter().map(|&d| kernel_array.dims[d as usize]).collect();
    if let Some(size) = sizes.iter().find(|&&size| size < 0) {
        return Err(view.error(format_args!("has a kernel of size {size}")));
    }
    let reversal = view.bools_or("window_reversal", spatial, false)?;
    // A kernel without elements has windows of size zero, which no other operation may have.
    let at_least_one: Dims = sizes.iter().map(|&size| size.max(1)).collect();
    let mut window = window(
        view,
        &at_least_one,
        &view.integers_or("window_strides", spatial, 1)?,
        padding,
        &view.integers_or("lhs_dilation", spatial, 1)?,
        &view.integers_or("rhs_dilation", spatial, 1)?,
    )?;
    for (dimension, (size, reversal)) in
        window.dimensions.iter_mut().zip(sizes.iter().zip(reversal))
    {
        dimension.size = *size;
        dimension.window_reversal = reversal;
    }
    let batch_groups = view.integer_or("batch_group_count", 1)?;
    let feature_groups = view.integer_or("feature_group_count", 1)?;
    if batch_groups < 1 || feature_groups < 1 {
        return Err(view.error("has group counts below 1"));
    }
    let inner = ArrayShape::new(
        input_array.element_type,
        numbers.input_spatial_dimensions.iter().map(|&d| input_array.dims[d as usize]),
    );
    let known = windowed_dims(&inner, &window).map(|moved| {
        let mut dims = Dims::from_elem(0, rank);
        dims[numbers.output_batch_dimension as usize] =
            input_array.dims[numbers.input_batch_dimension as usize] / batch_groups;
        dims[numbers.output_feature_dimension as usize] =
            kernel_array.dims[numbers.kernel_output_feature_dimension as usize];
        for (&place, size) in numbers.output_spatial_dimensions.iter().zip(moved) {
            dims[place as usize] = size;
        }
        dims
    });
    let shape = cx.declared(view, 0, |_| known)?;
    let op = Convolution {
        window,
        dim_labels: ConvolutionDimensions {
            input_batch: numbers.input_batch_dimension,
            input_feature: numbers.input_feature_dimension,
            input_spatial: Dims::from_slice(&numbers.input_spatial_dimensions),
            kernel_input_feature: numbers.kernel_input_feature_dimension,
            kernel_output_feature: numbers.kernel_output_feature_dimension,
            kernel_spatial: Dims::from_slice(&numbers.kernel_spatial_dimensions),
            output_batch: numbers.output_batch_dimension,
            output_feature: numbers.output_feature_dimension,
            output_spatial: Dims::from_slice(&numbers.output_spatial_dimensions),
        },
        feature_group_count: GroupCount(feature_groups),
        batch_group_count: GroupCount(batch_groups),
        operand_precision: precisions(view)?,
        ..Convolution::default()
    };
    let instruction = cx.add(Box::new(op), shape, &[input, kernel]);
    cx.finish(view, instruction)
}
