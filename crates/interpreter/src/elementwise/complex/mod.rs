//! Functions of complex numbers. Arithmetic is done in the type itself; everything else in
//! [`C128`], rounded once for `c64`.

mod arithmetic;
mod exponential;
mod inverse;
mod power;
#[cfg(test)]
mod tests;

use num_complex::Complex;
use rxla_hlo::native::{C64, C128};
use rxla_hlo::op::{BinaryKind, UnaryKind};

use super::loops::{Binary, Unary, map, zip};
use super::real::Real;

/// [`C64`] and [`C128`].
pub(super) trait ComplexNumber: Copy {
    type Part: Real;

    fn parts(self) -> Complex<Self::Part>;
    fn of_parts(parts: Complex<Self::Part>) -> Self;
    fn to_c128(self) -> C128;
    fn of_c128(value: C128) -> Self;

    /// A function of [`C128`], rounded to this type.
    fn through_c128(self, f: impl Fn(C128) -> C128) -> Self {
        Self::of_c128(f(self.to_c128()))
    }
}

impl ComplexNumber for C64 {
    type Part = f32;

    fn parts(self) -> C64 {
        self
    }

    fn of_parts(parts: C64) -> C64 {
        parts
    }

    fn to_c128(self) -> C128 {
        C128::new(f64::from(self.re), f64::from(self.im))
    }

    fn of_c128(value: C128) -> C64 {
        C64::new(value.re as f32, value.im as f32)
    }
}

impl ComplexNumber for C128 {
    type Part = f64;

    fn parts(self) -> C128 {
        self
    }

    fn of_parts(parts: C128) -> C128 {
        parts
    }

    fn to_c128(self) -> C128 {
        self
    }

    fn of_c128(value: C128) -> C128 {
        value
    }
}

/// The magnitude, without overflow on the way.
pub(super) fn magnitude(z: C128) -> f64 {
    libm::hypot(z.re, z.im)
}

/// The kernel of a function from complex to complex numbers; `None` for functions that are not
/// defined on them or have a real result.
pub(super) fn unary<Z: ComplexNumber>(kind: UnaryKind) -> Option<Unary<Z>> {
    Some(match kind {
        UnaryKind::Acos => |v| map(v, |z| z.through_c128(inverse::acos)),
        UnaryKind::Acosh => |v| map(v, |z| z.through_c128(inverse::acosh)),
        UnaryKind::Asin => |v| map(v, |z| z.through_c128(inverse::asin)),
        UnaryKind::Asinh => |v| map(v, |z| z.through_c128(inverse::asinh)),
        UnaryKind::Atanh => |v| map(v, |z| z.through_c128(inverse::atanh)),
        UnaryKind::Cos => |v| map(v, |z| z.through_c128(exponential::cos)),
        UnaryKind::Cosh => |v| map(v, |z| z.through_c128(exponential::cosh)),
        UnaryKind::Exp => |v| map(v, |z| z.through_c128(exponential::exp)),
        UnaryKind::Expm1 => |v| map(v, |z| z.through_c128(exponential::expm1)),
        UnaryKind::Log => |v| map(v, |z| z.through_c128(power::log)),
        UnaryKind::Log1p => |v| map(v, |z| z.through_c128(power::log1p)),
        UnaryKind::Logistic => |v| map(v, |z| z.through_c128(exponential::logistic)),
        UnaryKind::Negate => |v| map(v, |z| Z::of_parts(arithmetic::negate(z.parts()))),
        UnaryKind::Rsqrt => |v| map(v, |z| z.through_c128(power::rsqrt)),
        UnaryKind::Sign => |v| map(v, |z| z.through_c128(power::sign)),
        UnaryKind::Sin => |v| map(v, |z| z.through_c128(exponential::sin)),
        UnaryKind::Sinh => |v| map(v, |z| z.through_c128(exponential::sinh)),
        UnaryKind::Sqrt => |v| map(v, |z| z.through_c128(power::sqrt)),
        UnaryKind::Tan => |v| map(v, |z| z.through_c128(exponential::tan)),
        UnaryKind::Tanh => |v| map(v, |z| z.through_c128(exponential::tanh)),
        UnaryKind::Abs
        | UnaryKind::Cbrt
        | UnaryKind::Ceil
        | UnaryKind::CountLeadingZeros
        | UnaryKind::Erf
        | UnaryKind::Floor
        | UnaryKind::Imag
        | UnaryKind::IsFinite
        | UnaryKind::Not
        | UnaryKind::PopulationCount
        | UnaryKind::Real
        | UnaryKind::RoundNearestAfz
        | UnaryKind::RoundNearestEven => return None,
    })
}

/// Lexicographic order of real and imaginary parts; a NaN goes neither before nor after.
fn goes_before<P: PartialOrd>(x: Complex<P>, y: Complex<P>) -> bool {
    x.re < y.re || x.re == y.re && x.im < y.im
}

/// The kernel of a function of two complex numbers; `None` for functions that are not defined on
/// them.
pub(super) fn binary<Z: ComplexNumber>(kind: BinaryKind) -> Option<Binary<Z>> {
    Some(match kind {
        BinaryKind::Add => |a, b| {
            zip(a, b, |x, y| Z::of_parts(arithmetic::add(x.parts(), y.parts())));
        },
        BinaryKind::Atan2 => |a, b| {
            zip(a, b, |y, x| Z::of_c128(power::atan2(y.to_c128(), x.to_c128())));
        },
        BinaryKind::Divide => |a, b| {
            zip(a, b, |x, y| Z::of_parts(arithmetic::divide(x.parts(), y.parts())));
        },
        BinaryKind::Multiply => |a, b| {
            zip(a, b, |x, y| Z::of_parts(arithmetic::multiply(x.parts(), y.parts())));
        },
        // By real, then by imaginary part.
        BinaryKind::Maximum => |a, b| {
            zip(a, b, |x, y| if goes_before(x.parts(), y.parts()) { y } else { x });
        },
        BinaryKind::Minimum => |a, b| {
            zip(a, b, |x, y| if goes_before(y.parts(), x.parts()) { y } else { x });
        },
        BinaryKind::Power => |a, b| {
            zip(a, b, |x, y| Z::of_c128(power::power(x.to_c128(), y.to_c128())));
        },
        BinaryKind::Subtract => |a, b| {
            zip(a, b, |x, y| Z::of_parts(arithmetic::subtract(x.parts(), y.parts())));
        },
        BinaryKind::And
        | BinaryKind::Complex
        | BinaryKind::Mulhi
        | BinaryKind::Or
        | BinaryKind::Remainder
        | BinaryKind::ShiftLeft
        | BinaryKind::ShiftRightArithmetic
        | BinaryKind::ShiftRightLogical
        | BinaryKind::Xor => return None,
    })
}
