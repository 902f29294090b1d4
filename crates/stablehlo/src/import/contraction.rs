//! Dots.

use rxla_hlo::op::{Dot, DotAlgorithm, Precision};
use rxla_hlo::{ArrayShape, Dims, InstructionId, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::shapes::check_dimension;
use crate::mlir::{self, Attribute, DotDimensionNumbers, EnumValue, Float, Type};

/// `precision_config`: one per operand, or nothing when all are the default.
pub(super) fn precisions(view: View<'_>) -> Result<Vec<Precision>> {
    let Some(list) = view.get("precision_config") else { return Ok(Vec::new()) };
    let wrong = || view.wrong("precision_config", "a list of precisions");
    let mut precisions = Vec::new();
    for item in list.as_array().ok_or_else(wrong)? {
        let Attribute::Enum(attribute) = item else { return Err(wrong()) };
        let EnumValue::Precision(precision) = attribute.value else { return Err(wrong()) };
        precisions.push(match precision {
            mlir::Precision::Default => Precision::Default,
            mlir::Precision::High => Precision::High,
            mlir::Precision::Highest => Precision::Highest,
        });
    }
    if precisions.iter().all(|&precision| precision == Precision::Default) {
        precisions.clear();
    }
    Ok(precisions)
}

/// The algorithm asked of a dot, one of those that HLO names.
fn algorithm(view: View<'_>) -> Result<Option<DotAlgorithm>> {
    let algorithm = match view.get("algorithm") {
        None => return Ok(None),
        Some(Attribute::DotAlgorithm(algorithm)) => algorithm,
        Some(_) => return Err(view.wrong("algorithm", "a dot algorithm")),
    };
    let name = |ty: &Type| match ty {
        Type::Float(float) => Some(*float),
        _ => None,
    };
    let is_f8 = |float: Option<Float>| {
        matches!(
            float,
            Some(
                Float::F8E5M2
                    | Float::F8E4M3
                    | Float::F8E4M3FN
                    | Float::F8E5M2FNUZ
                    | Float::F8E4M3FNUZ
                    | Float::F8E4M3B11FNUZ
                    | Float::F8E3M4
            )
        )
    };
    let (left, right) = (name(&algorithm.lhs_precision_type), name(&algorithm.rhs_precision_type));
    let sum = name(&algorithm.accumulation_type);
    let components = (algorithm.lhs_component_count, algorithm.rhs_component_count);
    let passes = algorithm.num_primitive_operations;
    let imprecise = algorithm.allow_imprecise_accumulation;
    let known = match (left, sum, components, passes, imprecise) {
        (_, Some(Float::F32), (1, 1), 1, imprecise) if is_f8(left) && is_f8(right) => {
            Some(match imprecise {
                false => DotAlgorithm::AnyF8AnyF8F32,
                true => DotAlgorithm::AnyF8AnyF8F32FastAccum,
            })
        }
        _ if left != right => None,
        (Some(Float::F16), Some(Float::F16), (1, 1), 1, false) => Some(DotAlgorithm::F16F16F16),
        (Some(Float::F16), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::F16F16F32),
        (Some(Float::BF16), Some(Float::BF16), (1, 1), 1, false) => {
            Some(DotAlgorithm::Bf16Bf16Bf16)
        }
        (Some(Float::BF16), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::Bf16Bf16F32),
        (Some(Float::BF16), Some(Float::F32), (1, 1), 3, false) => {
            Some(DotAlgorithm::Bf16Bf16F32X3)
        }
        (Some(Float::BF16), Some(Float::F32), (1, 1), 6, false) => {
            Some(DotAlgorithm::Bf16Bf16F32X6)
        }
        (Some(Float::BF16), Some(Float::F32), (1, 1), 9, false) => {
            Some(DotAlgorithm::Bf16Bf16F32X9)
        }
        (Some(Float::TF32), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::Tf32Tf32F32),
        (Some(Float::TF32), Some(Float::F32), (1, 1), 3, false) => {
            Some(DotAlgorithm::Tf32Tf32F32X3)
        }
        (Some(Float::F32), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::F32F32F32),
        (Some(Float::F64), Some(Float::F64), (1, 1), 1, false) => Some(DotAlgorithm::F64F64F64),
        _ => None,
    };
    known.map(Some).ok_or_else(|| view.unimplemented("this `algorithm`, which HLO has no name for"))
}

/// Sizes of a dot: batch, then what is left of the left and of the right.
fn dot_dims(
    view: View<'_>,
    left: &ArrayShape,
    right: &ArrayShape,
    numbers: &DotDimensionNumbers,
) -> Result<Dims> {
    let check = |name: &str, dimensions: &[i64], rank: usize| {
        dimensions.iter().try_for_each(|&d| check_dimension(view, name, d, rank).map(drop))
    };
    check("lhs dimensions", &numbers.lhs_batching_dimensions, left.rank())?;
    check("lhs dimensions", &numbers.lhs_contracting_dimensions, left.rank())?;
    check("rhs dimensions", &numbers.rhs_batching_dimensions, right.rank())?;
    check("rhs dimensions", &numbers.rhs_contracting_dimensions, right.rank())?;
    let free = |array: &ArrayShape, batch: &[i64], contracting: &[i64]| -> Vec<i64> {
        (0..array.rank() as i64)
            .filter(|d| !batch.contains(d) && !contracting.contains(d))
            .map(|d| array.dims[d as usize])
            .collect()
    };
    let batch = numbers.lhs_batching_dimensions.iter().map(|&d| left.dims[d as usize]);
    Ok(batch
        .chain(free(left, &numbers.lhs_batching_dimensions, &numbers.lhs_contracting_dimensions))
        .chain(free(right, &numbers.rhs_batching_dimensions, &numbers.rhs_contracting_dimensions))
        .collect())
}

/// The shape of a dot: the declared one, completed from the operands.
fn dot_shape<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    left: InstructionId,
    right: InstructionId,
    numbers: &DotDimensionNumbers,
) -> Result<Shape> {
    let (left_array, right_array) = (cx.array(view, left)?, cx.array(view, right)?);
    let dims = dot_dims(view, &left_array, &right_array, numbers)?;
    cx.declared(view, 0, |_| Some(dims))
}

/// A dot of two arrays with a result of this shape.
pub(super) fn dot_of<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    left: InstructionId,
    right: InstructionId,
    numbers: &DotDimensionNumbers,
    shape: Shape,
) -> Result<InstructionId> {
    let op = Dot {
        lhs_batch_dims: Dims::from_slice(&numbers.lhs_batching_dimensions),
        lhs_contracting_dims: Dims::from_slice(&numbers.lhs_contracting_dimensions),
        rhs_batch_dims: Dims::from_slice(&numbers.rhs_batching_dimensions),
        rhs_contracting_dims: Dims::from_slice(&numbers.rhs_contracting_dimensions),
        operand_precision: precisions(view)?,
        algorithm: algorithm(view)?,
    };
    Ok(cx.add(Box::new(op), shape, &[left, right]))
}

/// `stablehlo.dot_general`.
pub(super) fn dot_general<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [left, right] = cx.exactly(view)?;
    let Attribute::DotDimensionNumbers(numbers) = view.require("dot_dimension_numbers")? else {
        return Err(view.wrong("dot_dimension_numbers", "a dot's dimension numbers"));
    };
    let shape = dot_shape(cx, view, left, right, numbers)?;
    let instruction = dot_of(cx, view, left, right, numbers, shape)?;
    cx.finish(view, instruction)
}

/// `stablehlo.dot`: last dimension of the left with first of the right.
pub(super) fn dot<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [left, right] = cx.exactly(view)?;
    let rank = cx.array(view, left)?.rank();
    if rank == 0 || cx.array(view, right)?.rank() == 0 {
        return Err(view.error("takes vectors and matrices, not scalars"));
    }
    let numbers = DotDimensionNumbers {
        lhs_contracting_dimensions: vec![rank as i64 - 1],
        rhs_contracting_dimensions: vec![0],
        ..DotDimensionNumbers::default()
    };
    let shape = dot_shape(cx, view, left, right, &numbers)?;
    let instruction = dot_of(cx, view, left, right, &numbers, shape)?;
    cx.finish(view, instruction)
}
