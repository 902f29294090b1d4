//! Elementwise operations, convert and their kin.

use rxla_hlo::op::{
    BinaryKind, BitcastConvert, Clamp, Compare, ComparisonDirection, ComparisonType, Convert,
    ReducePrecision, ResultAccuracy, Select, Unary, UnaryKind,
};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Op, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::types;
use crate::mlir::{self, Attribute, EnumValue, ResultAccuracyMode};

/// The HLO op of a StableHLO operation with one operand.
fn unary_kind(name: &str) -> Option<UnaryKind> {
    Some(match name {
        "stablehlo.abs" => UnaryKind::Abs,
        "stablehlo.cbrt" => UnaryKind::Cbrt,
        "stablehlo.ceil" => UnaryKind::Ceil,
        "stablehlo.cosine" => UnaryKind::Cos,
        "stablehlo.count_leading_zeros" => UnaryKind::CountLeadingZeros,
        "stablehlo.exponential" => UnaryKind::Exp,
        "stablehlo.exponential_minus_one" => UnaryKind::Expm1,
        "stablehlo.floor" => UnaryKind::Floor,
        "stablehlo.imag" => UnaryKind::Imag,
        "stablehlo.is_finite" => UnaryKind::IsFinite,
        "stablehlo.log" => UnaryKind::Log,
        "stablehlo.log_plus_one" => UnaryKind::Log1p,
        "stablehlo.logistic" => UnaryKind::Logistic,
        "stablehlo.negate" => UnaryKind::Negate,
        "stablehlo.not" => UnaryKind::Not,
        "stablehlo.popcnt" => UnaryKind::PopulationCount,
        "stablehlo.real" => UnaryKind::Real,
        "stablehlo.round_nearest_afz" => UnaryKind::RoundNearestAfz,
        "stablehlo.round_nearest_even" => UnaryKind::RoundNearestEven,
        "stablehlo.rsqrt" => UnaryKind::Rsqrt,
        "stablehlo.sign" => UnaryKind::Sign,
        "stablehlo.sine" => UnaryKind::Sin,
        "stablehlo.sqrt" => UnaryKind::Sqrt,
        "stablehlo.tan" | "chlo.tan" => UnaryKind::Tan,
        "stablehlo.tanh" => UnaryKind::Tanh,
        "chlo.acos" => UnaryKind::Acos,
        "chlo.acosh" => UnaryKind::Acosh,
        "chlo.asin" => UnaryKind::Asin,
        "chlo.asinh" => UnaryKind::Asinh,
        "chlo.atanh" => UnaryKind::Atanh,
        "chlo.cosh" => UnaryKind::Cosh,
        "chlo.sinh" => UnaryKind::Sinh,
        "chlo.erf" => UnaryKind::Erf,
        _ => return None,
    })
}

fn binary_kind(name: &str) -> Option<BinaryKind> {
    Some(match name {
        "stablehlo.add" => BinaryKind::Add,
        "stablehlo.and" => BinaryKind::And,
        "stablehlo.atan2" => BinaryKind::Atan2,
        "stablehlo.complex" => BinaryKind::Complex,
        "stablehlo.divide" => BinaryKind::Divide,
        "stablehlo.maximum" => BinaryKind::Maximum,
        "stablehlo.minimum" => BinaryKind::Minimum,
        "stablehlo.multiply" => BinaryKind::Multiply,
        "stablehlo.or" => BinaryKind::Or,
        "stablehlo.power" => BinaryKind::Power,
        "stablehlo.remainder" => BinaryKind::Remainder,
        "stablehlo.shift_left" => BinaryKind::ShiftLeft,
        "stablehlo.shift_right_arithmetic" => BinaryKind::ShiftRightArithmetic,
        "stablehlo.shift_right_logical" => BinaryKind::ShiftRightLogical,
        "stablehlo.subtract" => BinaryKind::Subtract,
        "stablehlo.xor" => BinaryKind::Xor,
        "chlo.mulhi" => BinaryKind::Mulhi,
        _ => return None,
    })
}

/// Refuses an operand of other sizes than the others'.
pub(super) fn same_dims(view: View<'_>, shapes: &[&ArrayShape]) -> Result {
    let Some((first, rest)) = shapes.split_first() else { return Ok(()) };
    match rest.iter().position(|other| !first.same_dims(other)) {
        None => Ok(()),
        Some(index) => Err(view.error(format_args!(
            "operand 0 is `{first}` and operand {} is `{}`, which have different sizes",
            index + 1,
            rest[index]
        ))),
    }
}

/// The result's shape: as declared, but with the operand's sizes where those are unknown.
pub(super) fn refined(view: View<'_>, operand: &ArrayShape) -> Result<Shape> {
    let declared = view.result_shape(0)?;
    match declared {
        Shape::Array(array) if types::is_unbounded(&Shape::Array(array.clone())) => {
            Ok(operand.with_element_type(array.element_type).into())
        }
        declared => Ok(declared),
    }
}

fn check_result(view: View<'_>, result: &Shape, operand: &ArrayShape) -> Result {
    match result {
        Shape::Array(array) if array.dims == operand.dims => Ok(()),
        other => {
            Err(view.error(format_args!("has the type `{other}` for operands of `{operand}`")))
        }
    }
}

fn accuracy(view: View<'_>) -> Result<Option<ResultAccuracy>> {
    match view.get("result_accuracy") {
        None => Ok(None),
        Some(Attribute::ResultAccuracy(accuracy)) => Ok(match accuracy.mode {
            ResultAccuracyMode::Default => None,
            ResultAccuracyMode::Highest => Some(ResultAccuracy::Highest),
            ResultAccuracyMode::Tolerance => Some(ResultAccuracy::Tolerance {
                atol_bits: accuracy.atol,
                rtol_bits: accuracy.rtol,
                ulps: accuracy.ulps,
            }),
        }),
        Some(_) => Err(view.wrong("result_accuracy", "a result accuracy")),
    }
}

/// Every operation that [`unary_kind`] lists.
pub(super) fn unary<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let Some(kind) = unary_kind(view.name) else {
        return Err(view.error("is no operation with one operand"));
    };
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let shape = refined(view, &array)?;
    check_result(view, &shape, &array)?;
    // The real part of a real number is the number, its imaginary part zero.
    let instruction = match kind {
        UnaryKind::Real if !array.element_type.is_complex() => operand,
        UnaryKind::Imag if !array.element_type.is_complex() => cx.full(&array, 0.0),
        // HLO takes cube roots of real numbers only.
        UnaryKind::Cbrt if array.element_type.is_complex() => {
            let third = cx.full(&array, 1.0 / 3.0);
            cx.binary(BinaryKind::Power, operand, third)
        }
        kind => {
            cx.add(Op::Unary(Unary { kind, result_accuracy: accuracy(view)? }), shape, &[operand])
        }
    };
    cx.finish(view, instruction)
}

/// Every operation that [`binary_kind`] lists.
pub(super) fn binary<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let Some(kind) = binary_kind(view.name) else {
        return Err(view.error("is no operation with two operands"));
    };
    let [left, right] = cx.exactly(view)?;
    if cx.shape(left) == &Shape::Token {
        return Err(view.error("takes arrays, not tokens"));
    }
    let (left_array, right_array) = (cx.array(view, left)?, cx.array(view, right)?);
    same_dims(view, &[&left_array, &right_array])?;
    let shape = refined(view, &left_array)?;
    check_result(view, &shape, &left_array)?;
    let instruction = cx.add(Op::binary(kind), shape, &[left, right]);
    cx.finish(view, instruction)
}

pub(super) fn direction(view: View<'_>, name: &str) -> Result<ComparisonDirection> {
    let EnumValue::ComparisonDirection(direction) = view.enumeration(name)? else {
        return Err(view.wrong(name, "a comparison direction"));
    };
    Ok(match direction {
        mlir::ComparisonDirection::Eq => ComparisonDirection::Eq,
        mlir::ComparisonDirection::Ne => ComparisonDirection::Ne,
        mlir::ComparisonDirection::Ge => ComparisonDirection::Ge,
        mlir::ComparisonDirection::Gt => ComparisonDirection::Gt,
        mlir::ComparisonDirection::Le => ComparisonDirection::Le,
        mlir::ComparisonDirection::Lt => ComparisonDirection::Lt,
    })
}

/// The comparison type, if it is another than the element type's own.
pub(super) fn comparison_type(
    view: View<'_>,
    name: &str,
    element_type: ElementType,
) -> Result<Option<ComparisonType>> {
    if view.get(name).is_none() {
        return Ok(None);
    }
    let EnumValue::ComparisonType(ty) = view.enumeration(name)? else {
        return Err(view.wrong(name, "a comparison type"));
    };
    let own = match element_type.class() {
        rxla_hlo::TypeClass::Float | rxla_hlo::TypeClass::Complex => ComparisonType::Float,
        rxla_hlo::TypeClass::Signed => ComparisonType::Signed,
        rxla_hlo::TypeClass::Unsigned | rxla_hlo::TypeClass::Pred => ComparisonType::Unsigned,
    };
    let ty = match ty {
        mlir::ComparisonType::NoType => return Ok(None),
        mlir::ComparisonType::Float => ComparisonType::Float,
        mlir::ComparisonType::TotalOrder => ComparisonType::TotalOrder,
        mlir::ComparisonType::Signed => ComparisonType::Signed,
        mlir::ComparisonType::Unsigned => ComparisonType::Unsigned,
    };
    Ok((ty != own).then_some(ty))
}

/// `stablehlo.compare`.
pub(super) fn compare<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [left, right] = cx.exactly(view)?;
    let (left_array, right_array) = (cx.array(view, left)?, cx.array(view, right)?);
    same_dims(view, &[&left_array, &right_array])?;
    let shape = refined(view, &left_array)?;
    check_result(view, &shape, &left_array)?;
    let op = Compare {
        direction: direction(view, "comparison_direction")?,
        comparison_type: comparison_type(view, "compare_type", left_array.element_type)?,
    };
    let instruction = cx.add(op, shape, &[left, right]);
    cx.finish(view, instruction)
}

/// A scalar operand of `clamp` or `select` spread over the others' sizes.
fn spread(
    cx: &mut Importer<'_>,
    view: View<'_>,
    operand: InstructionId,
    over: &ArrayShape,
) -> Result<InstructionId> {
    let array = cx.array(view, operand)?;
    match array.rank() {
        0 => Ok(cx.splat(operand, over)),
        _ => Ok(operand),
    }
}

/// `stablehlo.clamp`, whose bounds may be scalars.
pub(super) fn clamp<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [low, value, high] = cx.exactly(view)?;
    let array = cx.array(view, value)?;
    let shape = refined(view, &array)?;
    check_result(view, &shape, &array)?;
    let low = spread(cx, view, low, &array)?;
    let high = spread(cx, view, high, &array)?;
    same_dims(view, &[&cx.array(view, low)?, &array, &cx.array(view, high)?])?;
    let instruction = cx.add(Clamp {}, shape, &[low, value, high]);
    cx.finish(view, instruction)
}

/// `stablehlo.select`, whose condition may be a scalar.
pub(super) fn select<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [condition, then, otherwise] = cx.exactly(view)?;
    let (array, other) = (cx.array(view, then)?, cx.array(view, otherwise)?);
    let shape = refined(view, &array)?;
    check_result(view, &shape, &array)?;
    let condition = spread(cx, view, condition, &array)?;
    same_dims(view, &[&cx.array(view, condition)?, &array, &other])?;
    let instruction = cx.add(Select {}, shape, &[condition, then, otherwise]);
    cx.finish(view, instruction)
}

/// `stablehlo.convert`.
pub(super) fn convert<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let shape = refined(view, &array)?;
    check_result(view, &shape, &array)?;
    let instruction = cx.add(Convert {}, shape, &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.bitcast_convert`.
pub(super) fn bitcast_convert<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    cx.array(view, operand)?;
    let shape = cx.declared(view, 0, |_| None)?;
    let instruction = cx.add(BitcastConvert {}, shape, &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.reduce_precision`.
pub(super) fn reduce_precision<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let shape = refined(view, &array)?;
    check_result(view, &shape, &array)?;
    let op = ReducePrecision {
        exponent_bits: view.integer("exponent_bits")?,
        mantissa_bits: view.integer("mantissa_bits")?,
    };
    let instruction = cx.add(op, shape, &[operand]);
    cx.finish(view, instruction)
}
