//! Functions of truth values. Arithmetic that XLA allows on `pred` is that of integers which are
//! true when not zero.

use rxla_hlo::native::Pred;
use rxla_hlo::op::{BinaryKind, UnaryKind};

use super::loops::{Binary, Unary, map, zip};

/// The kernel of a function of `pred`; `None` for functions that are not defined on it.
pub(super) fn unary(kind: UnaryKind) -> Option<Unary<Pred>> {
    match kind {
        UnaryKind::Not => Some(|v| map(v, |x| Pred::from(!x.get()))),
        UnaryKind::Abs
        | UnaryKind::Acos
        | UnaryKind::Acosh
        | UnaryKind::Asin
        | UnaryKind::Asinh
        | UnaryKind::Atanh
        | UnaryKind::Cbrt
        | UnaryKind::Ceil
        | UnaryKind::Cos
        | UnaryKind::Cosh
        | UnaryKind::CountLeadingZeros
        | UnaryKind::Erf
        | UnaryKind::Exp
        | UnaryKind::Expm1
        | UnaryKind::Floor
        | UnaryKind::Imag
        | UnaryKind::IsFinite
        | UnaryKind::Log
        | UnaryKind::Log1p
        | UnaryKind::Logistic
        | UnaryKind::Negate
        | UnaryKind::PopulationCount
        | UnaryKind::Real
        | UnaryKind::RoundNearestAfz
        | UnaryKind::RoundNearestEven
        | UnaryKind::Rsqrt
        | UnaryKind::Sign
        | UnaryKind::Sin
        | UnaryKind::Sinh
        | UnaryKind::Sqrt
        | UnaryKind::Tan
        | UnaryKind::Tanh => None,
    }
}

/// The kernel of a function of two `pred`; `None` for functions that are not defined on it.
pub(super) fn binary(kind: BinaryKind) -> Option<Binary<Pred>> {
    match kind {
        BinaryKind::Add | BinaryKind::Maximum | BinaryKind::Or => {
            Some(|a, b| zip(a, b, |x, y| Pred(x.0 | y.0)))
        }
        BinaryKind::Multiply | BinaryKind::Minimum | BinaryKind::And => {
            Some(|a, b| zip(a, b, |x, y| Pred(x.0 & y.0)))
        }
        BinaryKind::Xor => Some(|a, b| zip(a, b, |x, y| Pred(x.0 ^ y.0))),
        BinaryKind::Atan2
        | BinaryKind::Complex
        | BinaryKind::Divide
        | BinaryKind::Mulhi
        | BinaryKind::Power
        | BinaryKind::Remainder
        | BinaryKind::ShiftLeft
        | BinaryKind::ShiftRightArithmetic
        | BinaryKind::ShiftRightLogical
        | BinaryKind::Subtract => None,
    }
}
