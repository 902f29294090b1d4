//! Values of attributes to and from protos, each pair side by side.

use rxla_base::Diagnostic;
use rxla_hlo::op::{
    ConvolutionDimensions, DotAlgorithm, OutputOperandAlias, Precision, ResultAccuracy,
    SparsityConfig, TensorSparsity, Window, WindowDimension,
};

use crate::proto::{self, HloInstructionProto};
use crate::shape::dims;

pub(crate) fn aliases_to_proto(
    aliases: &[OutputOperandAlias],
) -> Vec<proto::OutputOperandAliasing> {
    let aliases = aliases.iter().map(|alias| proto::OutputOperandAliasing {
        output_shape_index: alias.output_index.to_vec(),
        operand_index: alias.operand,
        operand_shape_index: alias.operand_index.to_vec(),
    });
    aliases.collect()
}

pub(crate) fn aliases_from_proto(p: &HloInstructionProto) -> Vec<OutputOperandAlias> {
    let aliases = p.output_operand_aliasing.iter().map(|alias| OutputOperandAlias {
        output_index: dims(&alias.output_shape_index),
        operand: alias.operand_index,
        operand_index: dims(&alias.operand_shape_index),
    });
    aliases.collect()
}

pub(crate) fn accuracy_to_proto(accuracy: ResultAccuracy) -> proto::ResultAccuracy {
    let (mode, tolerance) = match accuracy {
        ResultAccuracy::Default => (Some(0), None),
        ResultAccuracy::Highest => (Some(1), None),
        ResultAccuracy::Tolerance { atol_bits, rtol_bits, ulps } => {
            let (atol, rtol) = (f64::from_bits(atol_bits), f64::from_bits(rtol_bits));
            (None, Some(proto::Tolerance { atol, rtol, ulps }))
        }
    };
    proto::ResultAccuracy { mode, tolerance }
}

pub(crate) fn accuracy_from_proto(p: &proto::ResultAccuracy) -> Option<ResultAccuracy> {
    if let Some(tolerance) = &p.tolerance {
        return Some(ResultAccuracy::Tolerance {
            atol_bits: tolerance.atol.to_bits(),
            rtol_bits: tolerance.rtol.to_bits(),
            ulps: tolerance.ulps,
        });
    }
    match p.mode {
        Some(1) => Some(ResultAccuracy::Highest),
        Some(_) | None => None,
    }
}

pub(crate) fn precision_to_proto(
    precision: &[Precision],
    algorithm: Option<DotAlgorithm>,
    operands: usize,
) -> Option<proto::PrecisionConfig> {
    let mut operand_precision: Vec<i32> = precision.iter().map(|p| p.proto_number()).collect();
    if operand_precision.is_empty() {
        operand_precision = vec![Precision::Default.proto_number(); operands];
    }
    let algorithm = algorithm.map_or(0, |algorithm| algorithm.proto_number());
    Some(proto::PrecisionConfig { operand_precision, algorithm })
}

/// All at their defaults is the same as nothing said.
pub(crate) fn precision_from_proto(
    p: &HloInstructionProto,
) -> Result<(Vec<Precision>, Option<DotAlgorithm>), Diagnostic> {
    let Some(config) = &p.precision_config else { return Ok((Vec::new(), None)) };
    let precisions = config.operand_precision.iter().map(|&number| {
        Precision::from_proto_number(number).ok_or_else(|| unknown("operand_precision", number))
    });
    let mut precisions = precisions.collect::<Result<Vec<_>, _>>()?;
    if precisions.iter().all(|&precision| precision == Precision::Default) {
        precisions.clear();
    }
    let algorithm = optional(config.algorithm, "algorithm", DotAlgorithm::from_proto_number)?;
    Ok((precisions, algorithm))
}

pub(crate) fn window_to_proto(window: &Window) -> proto::Window {
    let dimensions = window.dimensions.iter().map(|dimension| proto::WindowDimension {
        size: dimension.size,
        stride: dimension.stride,
        padding_low: dimension.padding_low,
        padding_high: dimension.padding_high,
        window_dilation: dimension.window_dilation,
        base_dilation: dimension.base_dilation,
        window_reversal: dimension.window_reversal,
    });
    proto::Window { dimensions: dimensions.collect() }
}

pub(crate) fn window_from_proto(p: &proto::Window) -> Window {
    let dimensions = p.dimensions.iter().map(|dimension| WindowDimension {
        size: dimension.size,
        stride: dimension.stride,
        padding_low: dimension.padding_low,
        padding_high: dimension.padding_high,
        window_dilation: dimension.window_dilation,
        base_dilation: dimension.base_dilation,
        window_reversal: dimension.window_reversal,
    });
    Window { dimensions: dimensions.collect() }
}

pub(crate) fn convolution_to_proto(
    dims: &ConvolutionDimensions,
) -> proto::ConvolutionDimensionNumbers {
    proto::ConvolutionDimensionNumbers {
        input_batch_dimension: dims.input_batch,
        input_feature_dimension: dims.input_feature,
        input_spatial_dimensions: dims.input_spatial.to_vec(),
        kernel_input_feature_dimension: dims.kernel_input_feature,
        kernel_output_feature_dimension: dims.kernel_output_feature,
        kernel_spatial_dimensions: dims.kernel_spatial.to_vec(),
        output_batch_dimension: dims.output_batch,
        output_feature_dimension: dims.output_feature,
        output_spatial_dimensions: dims.output_spatial.to_vec(),
    }
}

pub(crate) fn convolution_from_proto(
    p: &proto::ConvolutionDimensionNumbers,
) -> ConvolutionDimensions {
    ConvolutionDimensions {
        input_batch: p.input_batch_dimension,
        input_feature: p.input_feature_dimension,
        input_spatial: dims(&p.input_spatial_dimensions),
        kernel_input_feature: p.kernel_input_feature_dimension,
        kernel_output_feature: p.kernel_output_feature_dimension,
        kernel_spatial: dims(&p.kernel_spatial_dimensions),
        output_batch: p.output_batch_dimension,
        output_feature: p.output_feature_dimension,
        output_spatial: dims(&p.output_spatial_dimensions),
    }
}

pub(crate) fn sparsity_to_proto(config: &SparsityConfig) -> proto::SparsityConfig {
    let side = |side: Option<TensorSparsity>| {
        side.map(|side| proto::TensorSparsityConfig {
            num_non_zero: side.num_non_zero,
            block_size: side.block_size,
            dimension: side.dimension,
            stride: side.stride,
        })
    };
    proto::SparsityConfig { lhs: side(config.lhs), rhs: side(config.rhs) }
}

/// XLA writes an empty message where there is no sparsity.
pub(crate) fn sparsity_from_proto(p: &proto::SparsityConfig) -> Option<SparsityConfig> {
    let side = |side: &Option<proto::TensorSparsityConfig>| {
        side.as_ref().map(|side| TensorSparsity {
            num_non_zero: side.num_non_zero,
            block_size: side.block_size,
            dimension: side.dimension,
            stride: side.stride,
        })
    };
    let config = SparsityConfig { lhs: side(&p.lhs), rhs: side(&p.rhs) };
    (config != SparsityConfig::default()).then_some(config)
}

/// An enum whose zero says nothing.
pub(crate) fn optional<T>(
    number: i32,
    field: &str,
    from_number: fn(i32) -> Option<T>,
) -> Result<Option<T>, Diagnostic> {
    if number == 0 {
        return Ok(None);
    }
    from_number(number).map(Some).ok_or_else(|| unknown(field, number))
}

pub(crate) fn unknown(field: &str, number: i32) -> Diagnostic {
    Diagnostic::error(format!("`{field}` has no value {number}"))
}
