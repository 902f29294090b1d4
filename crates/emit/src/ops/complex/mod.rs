//! Complex numbers: arithmetic in the type itself, everything else in `f64`, rounded once.

mod arithmetic;
mod exponential;
mod inverse;
mod maths;
mod power;

use rxla_base::Result;
use rxla_hlo::op::{BinaryKind, UnaryKind};
use rxla_kernel::{Builder, Convert, Scalar, UnaryOp, Value};

use self::arithmetic::{divide, goes_before, multiply};
use self::maths::{Maths, Width, Z};
use crate::Element;

/// `Ok(None)` for functions that complex numbers do not have.
pub(super) fn unary(b: &mut Builder, kind: UnaryKind, x: Element) -> Result<Option<Element>> {
    let (re, im) = x.parts()?;
    let function: fn(&mut Maths<'_>, Z) -> Z = match kind {
        UnaryKind::Real => return Ok(Some(Element::One(re))),
        UnaryKind::Imag => return Ok(Some(Element::One(im))),
        UnaryKind::Negate => {
            let negated = (b.unary(UnaryOp::Neg, re), b.unary(UnaryOp::Neg, im));
            return Ok(Some(Element::Complex(negated.0, negated.1)));
        }
        UnaryKind::Abs => {
            let (scalar, z) = widened(b, (re, im));
            let size = Maths(b, width(scalar)).hypot(z.0, z.1);
            return Ok(Some(Element::One(b.convert(Convert::Float, size, scalar))));
        }
        UnaryKind::Acos => inverse::acos,
        UnaryKind::Acosh => inverse::acosh,
        UnaryKind::Asin => inverse::asin,
        UnaryKind::Asinh => inverse::asinh,
        UnaryKind::Atanh => inverse::atanh,
        UnaryKind::Cos => exponential::cos,
        UnaryKind::Cosh => exponential::cosh,
        UnaryKind::Exp => exponential::exp,
        UnaryKind::Expm1 => exponential::expm1,
        UnaryKind::Log => power::log,
        UnaryKind::Log1p => power::log1p,
        UnaryKind::Logistic => exponential::logistic,
        UnaryKind::Rsqrt => power::rsqrt,
        UnaryKind::Sign => power::sign,
        UnaryKind::Sin => |m, z| exponential::turned(m, z, exponential::sinh),
        UnaryKind::Sinh => exponential::sinh,
        UnaryKind::Sqrt => power::sqrt,
        UnaryKind::Tan => |m, z| exponential::turned(m, z, exponential::tanh),
        UnaryKind::Tanh => exponential::tanh,
        UnaryKind::Ceil
        | UnaryKind::Cbrt
        | UnaryKind::CountLeadingZeros
        | UnaryKind::Erf
        | UnaryKind::Floor
        | UnaryKind::IsFinite
        | UnaryKind::Not
        | UnaryKind::PopulationCount
        | UnaryKind::RoundNearestAfz
        | UnaryKind::RoundNearestEven => return Ok(None),
    };
    let (scalar, z) = widened(b, (re, im));
    let w = function(&mut Maths(b, width(scalar)), z);
    Ok(Some(narrowed(b, scalar, w)))
}

pub(super) fn binary(
    b: &mut Builder,
    kind: BinaryKind,
    x: Element,
    y: Element,
) -> Result<Option<Element>> {
    let (x, y) = (x.parts()?, y.parts()?);
    let (re, im) = match kind {
        BinaryKind::Add => (b.add(x.0, y.0), b.add(x.1, y.1)),
        BinaryKind::Subtract => (b.sub(x.0, y.0), b.sub(x.1, y.1)),
        BinaryKind::Multiply => multiply(b, x, y),
        BinaryKind::Divide => divide(b, x, y),
        BinaryKind::Maximum => {
            let before = goes_before(b, x, y);
            (b.select(before, y.0, x.0), b.select(before, y.1, x.1))
        }
        BinaryKind::Minimum => {
            let before = goes_before(b, y, x);
            (b.select(before, y.0, x.0), b.select(before, y.1, x.1))
        }
        BinaryKind::Atan2 | BinaryKind::Power => {
            let ((scalar, x), (_, y)) = (widened(b, x), widened(b, y));
            let m = &mut Maths(b, width(scalar));
            let w = if kind == BinaryKind::Power {
                power::power(m, x, y)
            } else {
                power::atan2(m, x, y)
            };
            return Ok(Some(narrowed(b, scalar, w)));
        }
        BinaryKind::And
        | BinaryKind::Complex
        | BinaryKind::Mulhi
        | BinaryKind::Or
        | BinaryKind::Remainder
        | BinaryKind::ShiftLeft
        | BinaryKind::ShiftRightArithmetic
        | BinaryKind::ShiftRightLogical
        | BinaryKind::Xor => return Ok(None),
    };
    Ok(Some(Element::Complex(re, im)))
}

/// The number in `f64`, with the type that its parts had.
fn widened(b: &mut Builder, (re, im): (Value, Value)) -> (Scalar, Z) {
    let scalar = b.ty(re).scalar;
    let re = b.convert(Convert::Float, re, Scalar::F64);
    (scalar, (re, b.convert(Convert::Float, im, Scalar::F64)))
}

fn width(scalar: Scalar) -> Width {
    if scalar == Scalar::F64 { Width::F64 } else { Width::F32 }
}

fn narrowed(b: &mut Builder, scalar: Scalar, w: Z) -> Element {
    let re = b.convert(Convert::Float, w.0, scalar);
    Element::Complex(re, b.convert(Convert::Float, w.1, scalar))
}
