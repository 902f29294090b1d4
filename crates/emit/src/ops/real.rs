//! Reals, in `f32` or `f64`.

use rxla_hlo::op::{BinaryKind, UnaryKind};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, UnaryOp, Value};

use super::like;

pub(super) fn is_finite(b: &mut Builder, x: Value) -> Value {
    let size = b.unary(UnaryOp::FAbs, x);
    let infinity = like(b, x, f64::INFINITY);
    b.compare(ComparePredicate::FLt, size, infinity)
}

pub(super) fn unary(b: &mut Builder, kind: UnaryKind, x: Value) -> Option<Value> {
    let op = match kind {
        UnaryKind::Abs => UnaryOp::FAbs,
        UnaryKind::Acos => UnaryOp::Acos,
        UnaryKind::Acosh => UnaryOp::Acosh,
        UnaryKind::Asin => UnaryOp::Asin,
        UnaryKind::Asinh => UnaryOp::Asinh,
        UnaryKind::Atanh => UnaryOp::Atanh,
        UnaryKind::Cbrt => UnaryOp::Cbrt,
        UnaryKind::Ceil => UnaryOp::Ceil,
        UnaryKind::Cos => UnaryOp::Cos,
        UnaryKind::Cosh => UnaryOp::Cosh,
        UnaryKind::Erf => UnaryOp::Erf,
        UnaryKind::Exp => UnaryOp::Exp,
        UnaryKind::Expm1 => UnaryOp::Expm1,
        UnaryKind::Floor => UnaryOp::Floor,
        UnaryKind::Log => UnaryOp::Log,
        UnaryKind::Log1p => UnaryOp::Log1p,
        UnaryKind::Logistic => UnaryOp::Logistic,
        UnaryKind::Negate => UnaryOp::Neg,
        UnaryKind::RoundNearestEven => UnaryOp::RoundEven,
        UnaryKind::Rsqrt => UnaryOp::Rsqrt,
        UnaryKind::Sin => UnaryOp::Sin,
        UnaryKind::Sinh => UnaryOp::Sinh,
        UnaryKind::Sqrt => UnaryOp::Sqrt,
        UnaryKind::Tan => UnaryOp::Tan,
        UnaryKind::Tanh => UnaryOp::Tanh,
        UnaryKind::Real => return Some(x),
        UnaryKind::Imag => return Some(like(b, x, 0.0)),
        UnaryKind::RoundNearestAfz => return Some(round_away(b, x)),
        UnaryKind::Sign => return Some(sign(b, x)),
        UnaryKind::CountLeadingZeros
        | UnaryKind::IsFinite
        | UnaryKind::Not
        | UnaryKind::PopulationCount => return None,
    };
    Some(b.unary(op, x))
}

pub(super) fn binary(b: &mut Builder, kind: BinaryKind, x: Value, y: Value) -> Option<Value> {
    let op = match kind {
        BinaryKind::Add => BinaryOp::Add,
        BinaryKind::Atan2 => BinaryOp::Atan2,
        BinaryKind::Divide => BinaryOp::FDiv,
        BinaryKind::Maximum => BinaryOp::FMax,
        BinaryKind::Minimum => BinaryOp::FMin,
        BinaryKind::Multiply => BinaryOp::Mul,
        BinaryKind::Power => BinaryOp::Pow,
        BinaryKind::Remainder => BinaryOp::FRem,
        BinaryKind::Subtract => BinaryOp::Sub,
        BinaryKind::And
        | BinaryKind::Complex
        | BinaryKind::Mulhi
        | BinaryKind::Or
        | BinaryKind::ShiftLeft
        | BinaryKind::ShiftRightArithmetic
        | BinaryKind::ShiftRightLogical
        | BinaryKind::Xor => return None,
    };
    Some(b.binary(op, x, y))
}

/// Ties go away from zero. What is cut off is exact, so that nothing is rounded twice.
fn round_away(b: &mut Builder, x: Value) -> Value {
    let whole = b.unary(UnaryOp::Trunc, x);
    let fraction = b.sub(x, whole);
    let fraction = b.unary(UnaryOp::FAbs, fraction);
    let (half, one) = (like(b, x, 0.5), like(b, x, 1.0));
    let up = b.compare(ComparePredicate::FGe, fraction, half);
    let step = b.binary(BinaryOp::CopySign, one, x);
    let next = b.add(whole, step);
    b.select(up, next, whole)
}

/// Zeros and NaN are their own signs.
fn sign(b: &mut Builder, x: Value) -> Value {
    let (zero, one) = (like(b, x, 0.0), like(b, x, 1.0));
    let is_zero = b.compare(ComparePredicate::FEq, x, zero);
    let is_nan = b.compare(ComparePredicate::FNe, x, x);
    let itself = b.binary(BinaryOp::Or, is_zero, is_nan);
    let unit = b.binary(BinaryOp::CopySign, one, x);
    b.select(itself, x, unit)
}
