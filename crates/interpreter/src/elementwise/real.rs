//! Functions of real numbers. Arithmetic is IEEE 754's in the type itself. Transcendental
//! functions of `f32` are computed in `f64` and rounded once, those of `f64` by the crate `libm`,
//! so that results are the same on every machine.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use rxla_hlo::op::{BinaryKind, UnaryKind};

use super::loops::{Binary, Unary, map, zip};

/// `f32` and `f64`.
pub(crate) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const INFINITY: Self;

    fn to_f64(self) -> f64;
    fn of_f64(value: f64) -> Self;
    fn abs(self) -> Self;
    fn ceil(self) -> Self;
    fn floor(self) -> Self;
    fn round(self) -> Self;
    fn round_ties_even(self) -> Self;
    fn sqrt(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_finite(self) -> bool;
    fn is_sign_negative(self) -> bool;

    /// A function of `f64`, rounded to this type.
    fn through_f64(self, f: impl Fn(f64) -> f64) -> Self {
        Self::of_f64(f(self.to_f64()))
    }

    fn is_infinite(self) -> bool {
        self.abs() == Self::INFINITY
    }
}

macro_rules! reals {
    ($($t:ident),+) => { $(
        impl Real for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const INFINITY: $t = $t::INFINITY;

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn of_f64(value: f64) -> $t {
                value as $t
            }

            fn abs(self) -> $t {
                $t::abs(self)
            }

            fn ceil(self) -> $t {
                $t::ceil(self)
            }

            fn floor(self) -> $t {
                $t::floor(self)
            }

            fn round(self) -> $t {
                $t::round(self)
            }

            fn round_ties_even(self) -> $t {
                $t::round_ties_even(self)
            }

            fn sqrt(self) -> $t {
                $t::sqrt(self)
            }

            fn copysign(self, sign: $t) -> $t {
                $t::copysign(self, sign)
            }

            fn is_nan(self) -> bool {
                $t::is_nan(self)
            }

            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }

            fn is_sign_negative(self) -> bool {
                $t::is_sign_negative(self)
            }
        }
    )+ };
}
reals!(f32, f64);

/// The kernel of a function from reals to reals of the same type; `None` for functions that are
/// not defined on reals or have another result type.
pub(super) fn unary<F: Real>(kind: UnaryKind) -> Option<Unary<F>> {
    Some(match kind {
        UnaryKind::Abs => |v| map(v, F::abs),
        UnaryKind::Acos => |v| map(v, |x| x.through_f64(libm::acos)),
        UnaryKind::Acosh => |v| map(v, |x| x.through_f64(acosh)),
        UnaryKind::Asin => |v| map(v, |x| x.through_f64(libm::asin)),
        UnaryKind::Asinh => |v| map(v, |x| x.through_f64(libm::asinh)),
        UnaryKind::Atanh => |v| map(v, |x| x.through_f64(libm::atanh)),
        UnaryKind::Cbrt => |v| map(v, |x| x.through_f64(libm::cbrt)),
        UnaryKind::Ceil => |v| map(v, F::ceil),
        UnaryKind::Cos => |v| map(v, |x| x.through_f64(libm::cos)),
        UnaryKind::Cosh => |v| map(v, |x| x.through_f64(libm::cosh)),
        UnaryKind::Erf => |v| map(v, |x| x.through_f64(libm::erf)),
        UnaryKind::Exp => |v| map(v, |x| x.through_f64(libm::exp)),
        UnaryKind::Expm1 => |v| map(v, |x| x.through_f64(libm::expm1)),
        UnaryKind::Floor => |v| map(v, F::floor),
        UnaryKind::Imag => |v| map(v, |_| F::ZERO),
        UnaryKind::Log => |v| map(v, |x| x.through_f64(libm::log)),
        UnaryKind::Log1p => |v| map(v, |x| x.through_f64(libm::log1p)),
        UnaryKind::Logistic => |v| map(v, |x| x.through_f64(logistic)),
        UnaryKind::Negate => |v| map(v, |x| -x),
        UnaryKind::Real => |_| {},
        UnaryKind::RoundNearestAfz => |v| map(v, F::round),
        UnaryKind::RoundNearestEven => |v| map(v, F::round_ties_even),
        UnaryKind::Rsqrt => |v| map(v, |x| x.through_f64(|x| 1.0 / x.sqrt())),
        UnaryKind::Sign => |v| map(v, sign),
        UnaryKind::Sin => |v| map(v, |x| x.through_f64(libm::sin)),
        UnaryKind::Sinh => |v| map(v, |x| x.through_f64(libm::sinh)),
        UnaryKind::Sqrt => |v| map(v, F::sqrt),
        UnaryKind::Tan => |v| map(v, |x| x.through_f64(libm::tan)),
        UnaryKind::Tanh => |v| map(v, |x| x.through_f64(libm::tanh)),
        UnaryKind::CountLeadingZeros
        | UnaryKind::IsFinite
        | UnaryKind::Not
        | UnaryKind::PopulationCount => return None,
    })
}

/// The kernel of a function of two reals; `None` for functions that are not defined on reals or
/// have another result type.
pub(super) fn binary<F: Real>(kind: BinaryKind) -> Option<Binary<F>> {
    Some(match kind {
        BinaryKind::Add => |a, b| zip(a, b, |x, y| x + y),
        BinaryKind::Atan2 => |a, b| {
            zip(a, b, |y, x| F::of_f64(libm::atan2(y.to_f64(), x.to_f64())));
        },
        BinaryKind::Divide => |a, b| zip(a, b, |x, y| x / y),
        BinaryKind::Maximum => |a, b| zip(a, b, maximum),
        BinaryKind::Minimum => |a, b| zip(a, b, minimum),
        BinaryKind::Multiply => |a, b| zip(a, b, |x, y| x * y),
        BinaryKind::Power => |a, b| {
            zip(a, b, |x, y| F::of_f64(libm::pow(x.to_f64(), y.to_f64())));
        },
        BinaryKind::Remainder => |a, b| zip(a, b, |x, y| x % y),
        BinaryKind::Subtract => |a, b| zip(a, b, |x, y| x - y),
        BinaryKind::And
        | BinaryKind::Complex
        | BinaryKind::Mulhi
        | BinaryKind::Or
        | BinaryKind::ShiftLeft
        | BinaryKind::ShiftRightArithmetic
        | BinaryKind::ShiftRightLogical
        | BinaryKind::Xor => return None,
    })
}

/// NaN if either is, and -0 < +0.
pub(crate) fn maximum<F: Real>(x: F, y: F) -> F {
    if x.is_nan() || (x > y) || (x == y && y.is_sign_negative()) { x } else { y }
}

/// NaN if either is, and -0 < +0.
pub(crate) fn minimum<F: Real>(x: F, y: F) -> F {
    if x.is_nan() || (x < y) || (x == y && x.is_sign_negative()) { x } else { y }
}

/// Zeros and NaN are their own signs.
fn sign<F: Real>(x: F) -> F {
    if x.is_nan() || x == F::ZERO { x } else { F::ONE.copysign(x) }
}

/// NaN below 1, where the crate's function is not always.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// 1 / (1 + e^-x), without overflow on the negative side.
fn logistic(x: f64) -> f64 {
    if x < 0.0 {
        let e = libm::exp(x);
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + libm::exp(-x))
    }
}
