//! Dots, convolutions, gather, FFT, Cholesky and triangular solve.

use std::sync::Arc;

use rxla_hlo::op::{
    Cholesky, Convolution, Dot, DotAlgorithm, Fft, FftType, Gather, Precision, RaggedDot,
    TransposeKind, TriangularSolve, WindowDimension,
};

use super::attributes::Declared;
use super::exporter::{Exported, Exporter, Result, Scope, View};
use super::types;
use crate::mlir::{self, Attribute, EnumAttribute, EnumDialect, EnumValue, Float, Type};

fn precisions(dialect: EnumDialect, precisions: &[Precision]) -> Option<Attribute> {
    let each = |precision: &Precision| {
        let precision = match precision {
            Precision::Default => mlir::Precision::Default,
            Precision::High => mlir::Precision::High,
            Precision::Highest => mlir::Precision::Highest,
        };
        let value = EnumValue::Precision(precision);
        Attribute::Enum(EnumAttribute { dialect, value })
    };
    (!precisions.is_empty()).then(|| Attribute::array(precisions.iter().map(each).collect()))
}

/// Types of operands and of sums, number of passes, and whether sums may be less exact.
fn algorithm(algorithm: DotAlgorithm) -> Option<Attribute> {
    let (operand, sum, passes, imprecise) = match algorithm {
        DotAlgorithm::Unset => return None,
        DotAlgorithm::AnyF8AnyF8F32 => (Float::F8E5M2, Float::F32, 1, false),
        DotAlgorithm::AnyF8AnyF8F32FastAccum => (Float::F8E5M2, Float::F32, 1, true),
        DotAlgorithm::F16F16F16 => (Float::F16, Float::F16, 1, false),
        DotAlgorithm::F16F16F32 => (Float::F16, Float::F32, 1, false),
        DotAlgorithm::Bf16Bf16Bf16 => (Float::BF16, Float::BF16, 1, false),
        DotAlgorithm::Bf16Bf16F32 => (Float::BF16, Float::F32, 1, false),
        DotAlgorithm::Bf16Bf16F32X3 => (Float::BF16, Float::F32, 3, false),
        DotAlgorithm::Bf16Bf16F32X6 => (Float::BF16, Float::F32, 6, false),
        DotAlgorithm::Bf16Bf16F32X9 => (Float::BF16, Float::F32, 9, false),
        DotAlgorithm::Tf32Tf32F32 => (Float::TF32, Float::F32, 1, false),
        DotAlgorithm::Tf32Tf32F32X3 => (Float::TF32, Float::F32, 3, false),
        DotAlgorithm::F32F32F32 => (Float::F32, Float::F32, 1, false),
        DotAlgorithm::F64F64F64 => (Float::F64, Float::F64, 1, false),
    };
    Some(Attribute::DotAlgorithm(Arc::new(mlir::DotAlgorithm {
        lhs_precision_type: Type::Float(operand),
        rhs_precision_type: Type::Float(operand),
        accumulation_type: Type::Float(sum),
        lhs_component_count: 1,
        rhs_component_count: 1,
        num_primitive_operations: passes,
        allow_imprecise_accumulation: imprecise,
    })))
}

pub(super) fn dot<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Dot,
) -> Result<Exported> {
    let numbers = mlir::DotDimensionNumbers {
        lhs_batching_dimensions: op.lhs_batch_dims.to_vec(),
        rhs_batching_dimensions: op.rhs_batch_dims.to_vec(),
        lhs_contracting_dimensions: op.lhs_contracting_dims.to_vec(),
        rhs_contracting_dimensions: op.rhs_contracting_dims.to_vec(),
    };
    let attributes = Declared::new()
        .with("dot_dimension_numbers", Attribute::DotDimensionNumbers(Arc::new(numbers)))
        .maybe("precision_config", precisions(EnumDialect::Stablehlo, &op.operand_precision))
        .maybe("algorithm", op.algorithm.and_then(algorithm));
    cx.add_alike(scope, view, "stablehlo.dot_general", attributes)
}

pub(super) fn ragged_dot<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &RaggedDot,
) -> Result<Exported> {
    if op.algorithm.is_some_and(|algorithm| algorithm != DotAlgorithm::Unset) {
        return Err(view.unimplemented("with an algorithm has no form"));
    }
    let numbers = mlir::RaggedDotDimensionNumbers {
        lhs_batching_dimensions: op.lhs_batch_dims.to_vec(),
        rhs_batching_dimensions: op.rhs_batch_dims.to_vec(),
        lhs_contracting_dimensions: op.lhs_contracting_dims.to_vec(),
        rhs_contracting_dimensions: op.rhs_contracting_dims.to_vec(),
        lhs_ragged_dimensions: op.lhs_ragged_dims.to_vec(),
        rhs_group_dimensions: op.rhs_group_dims.to_vec(),
    };
    let numbers = Attribute::RaggedDotDimensionNumbers(Arc::new(numbers));
    let attributes = Declared::new()
        .with("ragged_dot_dimension_numbers", numbers)
        .maybe("precision_config", precisions(EnumDialect::Chlo, &op.operand_precision));
    cx.add_alike(scope, view, "chlo.ragged_dot", attributes)
}

/// Strides, padding and dilations under the names that an operation gives them.
pub(super) fn window(
    view: View<'_>,
    attributes: Declared,
    window: &[WindowDimension],
    base_dilation: &'static str,
    window_dilation: &'static str,
) -> Result<Declared> {
    let of = |part: fn(&WindowDimension) -> i64| -> Vec<i64> { window.iter().map(part).collect() };
    let pairs: Vec<i64> =
        window.iter().flat_map(|window| [window.padding_low, window.padding_high]).collect();
    let padding = types::matrix(window.len() as i64, 2, &pairs)
        .ok_or_else(|| view.error("has a padding that is no matrix"))?;
    Ok(attributes
        .dims("window_strides", &of(|window| window.stride))
        .with("padding", padding)
        .dims(base_dilation, &of(|window| window.base_dilation))
        .dims(window_dilation, &of(|window| window.window_dilation)))
}

pub(super) fn convolution<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Convolution,
) -> Result<Exported> {
    if op.sparsity_config.is_some() {
        return Err(view.unimplemented("with sparse operands has no form"));
    }
    if op.algorithm.is_some_and(|algorithm| algorithm != DotAlgorithm::Unset) {
        return Err(view.unimplemented("with an algorithm has no form"));
    }
    let labels = &op.dim_labels;
    let numbers = mlir::ConvDimensionNumbers {
        input_batch_dimension: labels.input_batch,
        input_feature_dimension: labels.input_feature,
        input_spatial_dimensions: labels.input_spatial.to_vec(),
        kernel_input_feature_dimension: labels.kernel_input_feature,
        kernel_output_feature_dimension: labels.kernel_output_feature,
        kernel_spatial_dimensions: labels.kernel_spatial.to_vec(),
        output_batch_dimension: labels.output_batch,
        output_feature_dimension: labels.output_feature,
        output_spatial_dimensions: labels.output_spatial.to_vec(),
    };
    let reversal: Vec<bool> = op.window.dimensions.iter().map(|w| w.window_reversal).collect();
    let attributes = Declared::new()
        .with("dimension_numbers", Attribute::ConvDimensionNumbers(Arc::new(numbers)))
        .with("window_reversal", Attribute::bool_array(reversal))
        .integer("feature_group_count", op.feature_group_count.0)
        .integer("batch_group_count", op.batch_group_count.0)
        .maybe("precision_config", precisions(EnumDialect::Stablehlo, &op.operand_precision));
    let dimensions = &op.window.dimensions;
    let attributes = window(view, attributes, dimensions, "lhs_dilation", "rhs_dilation")?;
    cx.add_alike(scope, view, "stablehlo.convolution", attributes)
}

pub(super) fn fft<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Fft,
) -> Result<Exported> {
    let kind = match op.fft_type {
        FftType::Fft => mlir::FftType::Fft,
        FftType::Ifft => mlir::FftType::Ifft,
        FftType::Rfft => mlir::FftType::Rfft,
        FftType::Irfft => mlir::FftType::Irfft,
    };
    let attributes = Declared::new()
        .enumeration("fft_type", EnumValue::FftType(kind))
        .dims("fft_length", &op.fft_length);
    cx.add_alike(scope, view, "stablehlo.fft", attributes)
}

pub(super) fn cholesky<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Cholesky,
) -> Result<Exported> {
    cx.add_alike(scope, view, "stablehlo.cholesky", Declared::new().bool("lower", op.lower))
}

pub(super) fn triangular_solve<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &TriangularSolve,
) -> Result<Exported> {
    let transpose = match op.transpose_a {
        TransposeKind::NoTranspose => mlir::Transpose::NoTranspose,
        TransposeKind::Transpose => mlir::Transpose::Transpose,
        TransposeKind::Adjoint => mlir::Transpose::Adjoint,
    };
    let attributes = Declared::new()
        .bool("left_side", op.left_side)
        .bool("lower", op.lower)
        .bool("unit_diagonal", op.unit_diagonal)
        .enumeration("transpose_a", EnumValue::Transpose(transpose));
    cx.add_alike(scope, view, "stablehlo.triangular_solve", attributes)
}

pub(super) fn gather<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Gather,
) -> Result<Exported> {
    let numbers = mlir::GatherDimensionNumbers {
        offset_dims: op.offset_dims.to_vec(),
        collapsed_slice_dims: op.collapsed_slice_dims.to_vec(),
        operand_batching_dims: op.operand_batching_dims.to_vec(),
        start_indices_batching_dims: op.start_indices_batching_dims.to_vec(),
        start_index_map: op.start_index_map.to_vec(),
        index_vector_dim: op.index_vector_dim,
    };
    let attributes = Declared::new()
        .with("dimension_numbers", Attribute::GatherDimensionNumbers(Arc::new(numbers)))
        .dims("slice_sizes", &op.slice_sizes)
        .bool("indices_are_sorted", op.indices_are_sorted);
    cx.add_alike(scope, view, "stablehlo.gather", attributes)
}
