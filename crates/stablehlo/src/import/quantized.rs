//! Quantised tensors. Their values are storage integers; an operation that computes with them
//! dequantises its operands, computes with the expressed floats, and quantises its results, as the
//! specification says (`dequantize_op_quantize`). Operations that only move elements work on the
//! storage.

use rxla_hlo::op::{BinaryKind, Clamp, UnaryKind};
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType, InstructionId, Op, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::{literals, types};
use crate::mlir::{Attribute, Module, Operation, QuantizedType, SubChannelType, Type, UniformType};

/// Operations that do not look at the numbers, or hand them to regions and functions that do.
/// Sorted.
const STRUCTURAL: &[&str] = &[
    "builtin.unrealized_conversion_cast",
    "call",
    "func.call",
    "func.return",
    "sdy.manual_computation",
    "sdy.named_computation",
    "sdy.propagation_barrier",
    "sdy.reshard",
    "sdy.return",
    "sdy.sharding_constraint",
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.bitcast_convert",
    "stablehlo.broadcast",
    "stablehlo.broadcast_in_dim",
    "stablehlo.case",
    "stablehlo.collective_broadcast",
    "stablehlo.collective_permute",
    "stablehlo.composite",
    "stablehlo.concatenate",
    "stablehlo.constant",
    "stablehlo.custom_call",
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.gather",
    "stablehlo.get_dimension_size",
    "stablehlo.get_tuple_element",
    "stablehlo.if",
    "stablehlo.infeed",
    "stablehlo.map",
    "stablehlo.optimization_barrier",
    "stablehlo.outfeed",
    "stablehlo.pad",
    "stablehlo.real_dynamic_slice",
    "stablehlo.recv",
    "stablehlo.reduce",
    "stablehlo.reduce_scatter",
    "stablehlo.reduce_window",
    "stablehlo.reshape",
    "stablehlo.return",
    "stablehlo.reverse",
    "stablehlo.scatter",
    "stablehlo.select_and_scatter",
    "stablehlo.send",
    "stablehlo.slice",
    "stablehlo.sort",
    "stablehlo.torch_index_select",
    "stablehlo.transpose",
    "stablehlo.tuple",
    "stablehlo.while",
];

/// Whether an operation computes with the numbers that quantised values express.
pub(super) fn computes_expressed(source: &Module, operation: &Operation) -> bool {
    let mut values = operation.operands.iter().chain(&operation.results);
    values.any(|&value| types::quantization(&source.values[value].ty).is_some())
        && STRUCTURAL.binary_search(&&*operation.name).is_err()
}

/// The type of the floats that a quantised type expresses.
pub(super) fn expressed_type(quantized: &QuantizedType) -> Result<&Type, String> {
    match quantized {
        QuantizedType::Uniform(uniform) => Ok(&uniform.expressed),
        QuantizedType::SubChannel(blocks) => Ok(&blocks.expressed),
        QuantizedType::Calibrated { expressed, .. }
        | QuantizedType::Any { expressed: Some(expressed), .. } => Ok(expressed),
        QuantizedType::Any { expressed: None, .. } => {
            Err("a `!quant.any` type expresses nothing".to_owned())
        }
    }
}

/// What turns storage integers of an array into floats and back.
struct Parameters {
    expressed: ElementType,
    storage: ElementType,
    /// Of the array's shape and expressed type.
    scales: InstructionId,
    zero_points: InstructionId,
    storage_min: i64,
    storage_max: i64,
}

fn parameters<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    quantized: &QuantizedType,
    array: &ArrayShape,
) -> Result<Parameters> {
    let name = |reason: String| view.error(reason);
    let expressed = types::element_type(expressed_type(quantized).map_err(name)?).map_err(name)?;
    let whole = array.with_element_type(expressed);
    let (storage_min, storage_max, signed, ty) = match quantized {
        QuantizedType::Uniform(u) => (u.storage_min, u.storage_max, u.signed, &u.storage),
        QuantizedType::SubChannel(b) => (b.storage_min, b.storage_max, b.signed, &b.storage),
        QuantizedType::Any { .. } | QuantizedType::Calibrated { .. } => {
            return Err(view.error("computes with a quantised type that has no scale"));
        }
    };
    let storage = types::storage(ty, signed).map_err(name)?;
    let (scales, zero_points) = match quantized {
        QuantizedType::Uniform(uniform) => uniform_parameters(cx, view, uniform, &whole)?,
        QuantizedType::SubChannel(blocks) => block_parameters(cx, view, blocks, &whole)?,
        QuantizedType::Any { .. } | QuantizedType::Calibrated { .. } => {
            return Err(view.error("computes with a quantised type that has no scale"));
        }
    };
    Ok(Parameters { expressed, storage, scales, zero_points, storage_min, storage_max })
}

/// One scale, or one per element of the quantised dimension.
fn uniform_parameters(
    cx: &mut Importer<'_>,
    view: View<'_>,
    uniform: &UniformType,
    whole: &ArrayShape,
) -> Result<(InstructionId, InstructionId)> {
    let scales: Vec<f64> = uniform.scales.iter().map(|&bits| f64::from_bits(bits)).collect();
    let zeros: Vec<f64> = uniform.zero_points.iter().map(|&zero| zero as f64).collect();
    let Some(axis) = uniform.axis else {
        let (&[scale], &[zero]) = (&scales[..], &zeros[..]) else {
            return Err(view.error("has a quantised type without its one scale"));
        };
        return Ok((cx.full(whole, scale), cx.full(whole, zero)));
    };
    let at = usize::try_from(axis).ok().filter(|&at| at < whole.rank());
    let Some(at) = at.filter(|&at| whole.dims[at] == scales.len() as i64) else {
        return Err(view.error(format_args!(
            "has {} scales along dimension {axis} of `{whole}`",
            scales.len()
        )));
    };
    let mut spread = |values: &[f64]| -> Result<InstructionId> {
        let literal = ArrayLiteral::from_values([values.len() as i64], values);
        let literal =
            literal.convert(whole.element_type).map_err(|error| view.error(error.message))?;
        let shape = Shape::array(whole.element_type, [values.len() as i64]);
        let list = cx.add(Op::constant(literal), shape, &[]);
        Ok(cx.broadcast(list, whole, &[at as i64]))
    };
    Ok((spread(&scales)?, spread(&zeros)?))
}

/// One scale per block of elements.
fn block_parameters<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    blocks: &SubChannelType,
    whole: &ArrayShape,
) -> Result<(InstructionId, InstructionId)> {
    let mut sizes = Dims::from_elem(1, whole.rank());
    for (index, size) in sizes.iter_mut().enumerate() {
        let at = blocks.dimensions.iter().position(|&d| usize::try_from(d) == Ok(index));
        // A dimension without blocks of its own is one block.
        *size = match at {
            Some(at) => blocks.block_sizes.get(at).copied().unwrap_or(0),
            None => whole.dims[index],
        };
        if *size < 1 || whole.dims[index] % *size != 0 {
            return Err(view.error(format_args!(
                "has blocks of {size} elements in dimension {index} of `{whole}`"
            )));
        }
    }
    let grid: Dims = whole.dims.iter().zip(&sizes).map(|(&dim, &size)| dim / size).collect();
    let mut spread = |attribute: &Attribute| -> Result<InstructionId> {
        let Attribute::DenseElements(elements) = attribute else {
            return Err(view.error("has scales that are no dense constant"));
        };
        let literal = literals::converted(view, elements, &grid, whole.element_type)?;
        let shape = Shape::array(whole.element_type, grid.iter().copied());
        let table = cx.add(Op::constant(literal), shape, &[]);
        // Each entry over its block: [grid, size] pairs, then the pairs joined.
        let pairs: Dims = grid.iter().zip(&sizes).flat_map(|(&g, &s)| [g, s]).collect();
        let dimensions: Dims = (0..grid.len() as i64).map(|d| 2 * d).collect();
        let split = ArrayShape::new(whole.element_type, pairs);
        let spread = cx.broadcast(table, &split, &dimensions);
        Ok(cx.reshape(spread, whole.dims.iter().copied()))
    };
    Ok((spread(&blocks.scales)?, spread(&blocks.zero_points)?))
}

/// (storage - zero point) × scale. The difference is taken in floats, where it cannot overflow.
pub(super) fn dequantize<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    value: InstructionId,
    quantized: &QuantizedType,
) -> Result<InstructionId> {
    let array = cx.array(view, value)?;
    let parameters = parameters(cx, view, quantized, &array)?;
    let floats = cx.convert(value, parameters.expressed);
    let difference = cx.binary(BinaryKind::Subtract, floats, parameters.zero_points);
    Ok(cx.binary(BinaryKind::Multiply, difference, parameters.scales))
}

/// value / scale + zero point, clamped to the storage's range and rounded to the nearest, ties to
/// even.
pub(super) fn quantize<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    value: InstructionId,
    quantized: &QuantizedType,
) -> Result<InstructionId> {
    let array = cx.array(view, value)?;
    let parameters = parameters(cx, view, quantized, &array)?;
    let floats = cx.convert(value, parameters.expressed);
    let scaled = cx.binary(BinaryKind::Divide, floats, parameters.scales);
    let shifted = cx.binary(BinaryKind::Add, scaled, parameters.zero_points);
    let low = cx.full_like(shifted, parameters.storage_min as f64);
    let high = cx.full_like(shifted, parameters.storage_max as f64);
    let shape = cx.logical_shape(shifted);
    let clamped = cx.add(Clamp {}, shape, &[low, shifted, high]);
    let rounded = cx.unary(UnaryKind::RoundNearestEven, clamped);
    Ok(cx.convert(rounded, parameters.storage))
}

/// `stablehlo.uniform_quantize` and `stablehlo.uniform_dequantize`: all is done where operands are
/// looked up and results bound; only the float's type may differ between.
pub(super) fn convert<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    cx.array(view, operand)?;
    let Shape::Array(result) = view.result_shape(0)? else {
        return Err(view.error("has a result that is no array"));
    };
    let converted = cx.convert(operand, result.element_type);
    cx.finish(view, converted)
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_sorted() {
        assert!(super::STRUCTURAL.is_sorted());
    }
}
