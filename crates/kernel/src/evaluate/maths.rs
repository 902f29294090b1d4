//! The mathematical functions in the plain way, in f64. They are what the expansions are measured
//! against, not what compiled code computes.

use crate::ir::UnaryOp;

/// The function on f64. Panics for operations that are no mathematical function.
pub(super) fn unary(op: UnaryOp) -> fn(f64) -> f64 {
    match op {
        UnaryOp::Exp => libm::exp,
        UnaryOp::Exp2 => libm::exp2,
        UnaryOp::Expm1 => libm::expm1,
        UnaryOp::Log => libm::log,
        UnaryOp::Log2 => libm::log2,
        UnaryOp::Log1p => libm::log1p,
        UnaryOp::Sin => libm::sin,
        UnaryOp::Cos => libm::cos,
        UnaryOp::Tan => libm::tan,
        UnaryOp::Asin => libm::asin,
        UnaryOp::Acos => libm::acos,
        UnaryOp::Atan => libm::atan,
        UnaryOp::Sinh => libm::sinh,
        UnaryOp::Cosh => libm::cosh,
        UnaryOp::Tanh => libm::tanh,
        UnaryOp::Asinh => libm::asinh,
        UnaryOp::Acosh => libm::acosh,
        UnaryOp::Atanh => libm::atanh,
        UnaryOp::Erf => libm::erf,
        UnaryOp::Erfc => libm::erfc,
        UnaryOp::Cbrt => libm::cbrt,
        UnaryOp::Rsqrt => |x| 1.0 / x.sqrt(),
        UnaryOp::Logistic => |x| 1.0 / (1.0 + libm::exp(-x)),
        UnaryOp::Neg
        | UnaryOp::Not
        | UnaryOp::FAbs
        | UnaryOp::Sqrt
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::RoundEven
        | UnaryOp::PopCount
        | UnaryOp::CountLeadingZeros => unreachable!("`{}` is exact", op.name()),
    }
}
