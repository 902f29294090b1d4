//! Elementwise operations, random numbers and batch normalisation.

use std::sync::Arc;

use rxla_hlo::op::{
    Compare, ComparisonDirection, ComparisonType, RandomAlgorithm, RandomDistribution,
    ReducePrecision, ResultAccuracy, Rng, RngBitGenerator, Unary,
};
use rxla_hlo::{BinaryKind, Shape, UnaryKind};

use super::attributes::Declared;
use super::exporter::{Exported, Exporter, Result, Scope, View};
use crate::mlir::{self, Attribute, DenseElements, EnumValue, Type};

/// An operation without attributes.
pub(super) fn plain<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    name: &str,
) -> Result<Exported> {
    cx.add_alike(scope, view, name, Declared::new())
}

pub(super) fn unary<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Unary,
) -> Result<Exported> {
    let (name, takes_accuracy) = match op.kind {
        UnaryKind::Abs => ("stablehlo.abs", false),
        UnaryKind::Acos => ("chlo.acos", false),
        UnaryKind::Acosh => ("chlo.acosh", false),
        UnaryKind::Asin => ("chlo.asin", false),
        UnaryKind::Asinh => ("chlo.asinh", false),
        UnaryKind::Atanh => ("chlo.atanh", false),
        UnaryKind::Cbrt => ("stablehlo.cbrt", true),
        UnaryKind::Ceil => ("stablehlo.ceil", false),
        UnaryKind::Cos => ("stablehlo.cosine", true),
        UnaryKind::Cosh => ("chlo.cosh", false),
        UnaryKind::CountLeadingZeros => ("stablehlo.count_leading_zeros", false),
        UnaryKind::Erf => ("chlo.erf", false),
        UnaryKind::Exp => ("stablehlo.exponential", true),
        UnaryKind::Expm1 => ("stablehlo.exponential_minus_one", true),
        UnaryKind::Floor => ("stablehlo.floor", false),
        UnaryKind::Imag => ("stablehlo.imag", false),
        UnaryKind::IsFinite => ("stablehlo.is_finite", false),
        UnaryKind::Log => ("stablehlo.log", true),
        UnaryKind::Log1p => ("stablehlo.log_plus_one", true),
        UnaryKind::Logistic => ("stablehlo.logistic", true),
        UnaryKind::Negate => ("stablehlo.negate", false),
        UnaryKind::Not => ("stablehlo.not", false),
        UnaryKind::PopulationCount => ("stablehlo.popcnt", false),
        UnaryKind::Real => ("stablehlo.real", false),
        UnaryKind::RoundNearestAfz => ("stablehlo.round_nearest_afz", false),
        UnaryKind::RoundNearestEven => ("stablehlo.round_nearest_even", false),
        UnaryKind::Rsqrt => ("stablehlo.rsqrt", true),
        UnaryKind::Sign => ("stablehlo.sign", false),
        UnaryKind::Sin => ("stablehlo.sine", true),
        UnaryKind::Sinh => ("chlo.sinh", false),
        UnaryKind::Sqrt => ("stablehlo.sqrt", true),
        UnaryKind::Tan => ("stablehlo.tan", true),
        UnaryKind::Tanh => ("stablehlo.tanh", true),
    };
    // Where no accuracy can be asked for, every implementation is as accurate as it gets.
    let accuracy = op.result_accuracy.filter(|_| takes_accuracy).map(|accuracy| {
        let (atol, rtol, ulps, mode) = match accuracy {
            ResultAccuracy::Default => (0, 0, 0, mlir::ResultAccuracyMode::Default),
            ResultAccuracy::Highest => (0, 0, 0, mlir::ResultAccuracyMode::Highest),
            ResultAccuracy::Tolerance { atol_bits, rtol_bits, ulps } => {
                (atol_bits, rtol_bits, ulps, mlir::ResultAccuracyMode::Tolerance)
            }
        };
        Attribute::ResultAccuracy(Arc::new(mlir::ResultAccuracy { atol, rtol, ulps, mode }))
    });
    cx.add_alike(scope, view, name, Declared::new().maybe("result_accuracy", accuracy))
}

pub(super) fn binary<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    kind: BinaryKind,
) -> Result<Exported> {
    let name = match kind {
        BinaryKind::Add => "stablehlo.add",
        BinaryKind::And => "stablehlo.and",
        BinaryKind::Atan2 => "stablehlo.atan2",
        BinaryKind::Complex => "stablehlo.complex",
        BinaryKind::Divide => "stablehlo.divide",
        BinaryKind::Maximum => "stablehlo.maximum",
        BinaryKind::Minimum => "stablehlo.minimum",
        BinaryKind::Mulhi => "chlo.mulhi",
        BinaryKind::Multiply => "stablehlo.multiply",
        BinaryKind::Or => "stablehlo.or",
        BinaryKind::Power => "stablehlo.power",
        BinaryKind::Remainder => "stablehlo.remainder",
        BinaryKind::ShiftLeft => "stablehlo.shift_left",
        BinaryKind::ShiftRightArithmetic => "stablehlo.shift_right_arithmetic",
        BinaryKind::ShiftRightLogical => "stablehlo.shift_right_logical",
        BinaryKind::Subtract => "stablehlo.subtract",
        BinaryKind::Xor => "stablehlo.xor",
    };
    plain(cx, scope, view, name)
}

pub(super) fn compare<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Compare,
) -> Result<Exported> {
    let direction = match op.direction {
        ComparisonDirection::Eq => mlir::ComparisonDirection::Eq,
        ComparisonDirection::Ne => mlir::ComparisonDirection::Ne,
        ComparisonDirection::Ge => mlir::ComparisonDirection::Ge,
        ComparisonDirection::Gt => mlir::ComparisonDirection::Gt,
        ComparisonDirection::Le => mlir::ComparisonDirection::Le,
        ComparisonDirection::Lt => mlir::ComparisonDirection::Lt,
    };
    let operand = cx.operand_shape(view, 0)?.as_array().map(|array| array.element_type);
    let own = operand.map(ComparisonType::of);
    let ty = match op.comparison_type.or(own) {
        None => mlir::ComparisonType::NoType,
        Some(ComparisonType::Float) => mlir::ComparisonType::Float,
        Some(ComparisonType::TotalOrder) => mlir::ComparisonType::TotalOrder,
        Some(ComparisonType::Signed) => mlir::ComparisonType::Signed,
        Some(ComparisonType::Unsigned) => mlir::ComparisonType::Unsigned,
    };
    let attributes = Declared::new()
        .enumeration("comparison_direction", EnumValue::ComparisonDirection(direction))
        .enumeration("compare_type", EnumValue::ComparisonType(ty));
    cx.add_alike(scope, view, "stablehlo.compare", attributes)
}

pub(super) fn reduce_precision<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &ReducePrecision,
) -> Result<Exported> {
    let bits = |value| Attribute::Integer { ty: Type::I32, value };
    let attributes = Declared::new()
        .with("exponent_bits", bits(op.exponent_bits))
        .with("mantissa_bits", bits(op.mantissa_bits));
    cx.add_alike(scope, view, "stablehlo.reduce_precision", attributes)
}

pub(super) fn batch_norm<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    which: &str,
    epsilon: f32,
    feature_index: i64,
) -> Result<Exported> {
    let attributes = Declared::new()
        .with("epsilon", Attribute::f32(epsilon))
        .integer("feature_index", feature_index);
    cx.add_alike(scope, view, &format!("stablehlo.batch_norm_{which}"), attributes)
}

/// StableHLO's operation takes the shape as an operand.
pub(super) fn rng<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Rng,
) -> Result<Exported> {
    let Shape::Array(array) = view.shape() else {
        return Err(view.error("gives no array"));
    };
    let distribution = match op.distribution {
        RandomDistribution::Uniform => mlir::RngDistribution::Uniform,
        RandomDistribution::Normal => mlir::RngDistribution::Normal,
    };
    let ty = Type::tensor([array.rank() as i64], Type::I64);
    let bytes: Vec<u8> = array.dims.iter().flat_map(|size| size.to_le_bytes()).collect();
    let Some(sizes) = DenseElements::new(ty.clone(), bytes) else {
        return Err(view.error("has no sizes"));
    };
    let value = Attribute::DenseElements(Arc::new(sizes));
    let constant = Declared::new().with("value", value);
    let sizes = cx.add(scope.block, view, "stablehlo.constant", &[], vec![ty], constant)?;
    let mut operands = cx.values(scope, view)?;
    operands.extend(sizes);
    let attributes =
        Declared::new().enumeration("rng_distribution", EnumValue::RngDistribution(distribution));
    cx.add_with(scope, view, "stablehlo.rng", &operands, attributes)
}

pub(super) fn rng_bit_generator<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &RngBitGenerator,
) -> Result<Exported> {
    if view.shape().as_tuple().map(<[Shape]>::len) != Some(2) {
        return Err(view.unimplemented("without its new state has no form"));
    }
    let algorithm = match op.algorithm {
        RandomAlgorithm::Default => mlir::RngAlgorithm::Default,
        RandomAlgorithm::ThreeFry => mlir::RngAlgorithm::ThreeFry,
        RandomAlgorithm::Philox => mlir::RngAlgorithm::Philox,
    };
    let attributes =
        Declared::new().enumeration("rng_algorithm", EnumValue::RngAlgorithm(algorithm));
    cx.add_alike(scope, view, "stablehlo.rng_bit_generator", attributes)
}
