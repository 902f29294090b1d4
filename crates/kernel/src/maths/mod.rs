//! Mathematical functions: every one of the IR's is an approximation of our own, made of additions,
//! multiplications, selects and bit operations that vectorise.
//!
//! Each is written once, over [`lanes::Float`]: on plain numbers, where it is measured, and on
//! values of a kernel, where [`expand`] puts its operations in the place of the one they stand for.
//! Both give the same bits. There is no branch but one, around the reduction of large arguments of
//! sine, cosine and tangent, taken if any lane needs it.
//!
//! All are right for special values: NaN, infinities, the sign of zeros, subnormal numbers in and
//! out, results that overflow. Formats of 16 bits are computed in f32 and rounded once: over all
//! their inputs the error is at most 0.51 units in the last place.
//!
//! [`bounds`] says how far each may be off.
//!
//! Coefficients come from `tools/maths/fit.py`; sources of methods stand where they are used.

pub mod bounds;
mod coefficients;
mod emit;
mod erf;
mod exp;
mod expand;
mod inverse_trig;
pub mod lanes;
mod log;
mod plain;
mod pow;
pub mod precision;
mod reduction;
mod roots;
#[cfg(test)]
mod tests;
mod trig;

use crate::ir::{BinaryOp, UnaryOp};
pub use expand::{expand, takes_turns};
use lanes::Float;

/// The function that an operation stands for, of `x`. `None` for operations that are none. Inlined
/// so that where the operation is known, as in measurements, one arm is left.
#[inline(always)]
pub fn unary<F: Float>(op: UnaryOp, x: F) -> Option<F> {
    let y = match op {
        UnaryOp::Exp => exp::exp(x),
        UnaryOp::Exp2 => exp::exp2(x),
        UnaryOp::Expm1 => exp::expm1(x),
        UnaryOp::Log => log::log(x),
        UnaryOp::Log2 => log::log2(x),
        UnaryOp::Log1p => log::log1p(x),
        UnaryOp::Sin => trig::sin(x),
        UnaryOp::Cos => trig::cos(x),
        UnaryOp::Tan => trig::tan(x),
        UnaryOp::Asin => inverse_trig::asin(x),
        UnaryOp::Acos => inverse_trig::acos(x),
        UnaryOp::Atan => inverse_trig::atan(x),
        UnaryOp::Sinh => exp::sinh(x),
        UnaryOp::Cosh => exp::cosh(x),
        UnaryOp::Tanh => exp::tanh(x),
        UnaryOp::Asinh => log::asinh(x),
        UnaryOp::Acosh => log::acosh(x),
        UnaryOp::Atanh => log::atanh(x),
        UnaryOp::Erf => erf::erf(x),
        UnaryOp::Erfc => erf::erfc(x),
        UnaryOp::Cbrt => roots::cbrt(x),
        UnaryOp::Rsqrt => roots::rsqrt(x),
        UnaryOp::Logistic => exp::logistic(x),
        UnaryOp::Neg
        | UnaryOp::Not
        | UnaryOp::FAbs
        | UnaryOp::Sqrt
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::RoundEven
        | UnaryOp::PopCount
        | UnaryOp::CountLeadingZeros => return None,
    };
    Some(y)
}

/// The function that an operation stands for. `None` for operations that are none.
pub fn binary<F: Float>(op: BinaryOp, a: F, b: F) -> Option<F> {
    let y = match op {
        BinaryOp::Atan2 => inverse_trig::atan2(a, b),
        BinaryOp::Pow => pow::pow(a, b),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::FDiv
        | BinaryOp::FRem
        | BinaryOp::FMin
        | BinaryOp::FMax
        | BinaryOp::SDiv
        | BinaryOp::UDiv
        | BinaryOp::SRem
        | BinaryOp::URem
        | BinaryOp::SMin
        | BinaryOp::SMax
        | BinaryOp::UMin
        | BinaryOp::UMax
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor
        | BinaryOp::Shl
        | BinaryOp::LShr
        | BinaryOp::AShr
        | BinaryOp::CopySign => return None,
    };
    Some(y)
}
