//! `convert` and `bitcast-convert` of one element.

use rxla_base::{Error, Result};
use rxla_hlo::{ElementType, TypeClass};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Convert, Scalar, Value};

use super::{extend, integer, like, small_float};
use crate::Element;
use crate::scalar::{number, scalar_of};

/// A float in the type it is computed in, with that type.
pub(crate) fn widened(
    b: &mut Builder,
    element_type: ElementType,
    x: Value,
) -> Result<(ElementType, Value)> {
    Ok(match element_type {
        ElementType::F64 => (element_type, x),
        ElementType::F32 => (element_type, x),
        ElementType::F16 | ElementType::Bf16 => {
            (ElementType::F32, b.convert(Convert::Float, x, Scalar::F32))
        }
        _ if element_type.is_float() => {
            (ElementType::F32, small_float::decode(b, element_type, x)?)
        }
        _ => return Err(Error::internal(format!("`{element_type}` is no float"))),
    })
}

/// The value in another element type: integers wrap, floats saturate on the way to integers with NaN
/// giving 0, anything but zero is true, floats round once, complex numbers lose their imaginary part.
pub(crate) fn convert(
    b: &mut Builder,
    from: ElementType,
    to: ElementType,
    x: Element,
) -> Result<Element> {
    if from == to {
        return Ok(x);
    }
    if let Element::Complex(re, im) = x {
        if !to.is_complex() {
            return convert(b, from.real_part(), to, Element::One(re));
        }
        let part = scalar_of(to);
        let re = b.convert(Convert::Float, re, part);
        return Ok(Element::Complex(re, b.convert(Convert::Float, im, part)));
    }
    let x = x.one()?;
    if to.is_complex() {
        let re = convert(b, from, to.real_part(), Element::One(x))?.one()?;
        let im = like(b, re, 0.0);
        return Ok(Element::Complex(re, im));
    }
    let value = match from.class() {
        TypeClass::Pred | TypeClass::Signed | TypeClass::Unsigned => from_integer(b, from, to, x)?,
        TypeClass::Float | TypeClass::Complex => from_float(b, from, to, x)?,
    };
    Ok(Element::One(value))
}

fn from_integer(b: &mut Builder, from: ElementType, to: ElementType, x: Value) -> Result<Value> {
    let scalar = scalar_of(to);
    let signed = from.is_signed();
    match to.class() {
        TypeClass::Pred => {
            let zero = like(b, x, 0.0);
            Ok(b.compare(ComparePredicate::Ne, x, zero))
        }
        TypeClass::Signed | TypeClass::Unsigned => {
            let have = b.ty(x).scalar;
            let value = if have.bits() > scalar.bits() {
                b.convert(Convert::Truncate, x, scalar)
            } else {
                extend(b, from, x, scalar)
            };
            Ok(integer::wrapped(b, to, value))
        }
        TypeClass::Float | TypeClass::Complex if from == ElementType::Pred && scalar.is_float() => {
            // A choice takes fewer instructions than a number made of a bit.
            let (one, zero) = (number(b, scalar, 1.0), number(b, scalar, 0.0));
            Ok(b.select(x, one, zero))
        }
        TypeClass::Float | TypeClass::Complex => {
            let op = if signed { Convert::SignedToFloat } else { Convert::UnsignedToFloat };
            if scalar.is_float() {
                return Ok(b.convert(op, x, scalar));
            }
            // Integers of up to 32 bits are exact in f64; of wider ones the small types keep so
            // little that only the last bit counts, which rounding to odd would keep.
            if from.bit_width() > 32 {
                return Err(Error::unimplemented(format!("`convert` from `{from}` to `{to}`")));
            }
            let wide = b.convert(op, x, Scalar::F64);
            small_float::encode(b, to, wide)
        }
    }
}

fn from_float(b: &mut Builder, from: ElementType, to: ElementType, x: Value) -> Result<Value> {
    let scalar = scalar_of(to);
    match to.class() {
        TypeClass::Pred => {
            let (_, x) = widened(b, from, x)?;
            let zero = like(b, x, 0.0);
            Ok(b.compare(ComparePredicate::FNe, x, zero))
        }
        TypeClass::Signed | TypeClass::Unsigned => {
            let (_, x) = widened(b, from, x)?;
            let signed = to.is_signed();
            let op = if signed { Convert::FloatToSigned } else { Convert::FloatToUnsigned };
            let value = b.convert(op, x, scalar);
            let width = to.bit_width();
            if width >= 8 {
                return Ok(value);
            }
            if signed {
                let most = b.constant(Scalar::I8, (1 << (width - 1)) - 1);
                let least = number(b, Scalar::I8, -f64::from(1 << (width - 1)));
                let value = b.binary(BinaryOp::SMin, value, most);
                Ok(b.binary(BinaryOp::SMax, value, least))
            } else {
                let most = b.constant(Scalar::I8, (1 << width) - 1);
                Ok(b.binary(BinaryOp::UMin, value, most))
            }
        }
        TypeClass::Float | TypeClass::Complex => {
            if scalar.is_float() {
                if b.ty(x).scalar.is_float() {
                    return Ok(b.convert(Convert::Float, x, scalar));
                }
                let (_, x) = widened(b, from, x)?;
                return Ok(b.convert(Convert::Float, x, scalar));
            }
            let (_, x) = widened(b, from, x)?;
            let x = b.convert(Convert::Float, x, Scalar::F64);
            small_float::encode(b, to, x)
        }
    }
}

/// An integer element as i64 for use as an index between 0 and `limit`.
pub(crate) fn to_index(
    b: &mut Builder,
    element_type: ElementType,
    x: Value,
    limit: i64,
) -> Result<Value> {
    if !element_type.is_integer() {
        return Err(Error::invalid_argument(format!("an index of type `{element_type}`")));
    }
    let wide = extend(b, element_type, x, Scalar::I64);
    let limit = b.index(limit);
    if element_type.is_unsigned() {
        return Ok(b.binary(BinaryOp::UMin, wide, limit));
    }
    let zero = b.index(0);
    let wide = b.binary(BinaryOp::SMax, wide, zero);
    Ok(b.binary(BinaryOp::SMin, wide, limit))
}

/// The bits of an element as an integer of its width, and back.
pub(crate) fn bitcast_bits(
    b: &mut Builder,
    from: ElementType,
    to: ElementType,
    x: Element,
) -> Result<Element> {
    let unimplemented =
        || Error::unimplemented(format!("`bitcast-convert` from `{from}` to `{to}`"));
    if from == to {
        return Ok(x);
    }
    if from.is_complex() || to.is_complex() || from.bit_width() != to.bit_width() {
        return Err(unimplemented());
    }
    let x = x.one()?;
    let scalar = scalar_of(to);
    if from.bit_width() < 8 {
        // Signed and unsigned differ in what fills the byte.
        return Ok(Element::One(match to.class() {
            TypeClass::Signed | TypeClass::Unsigned => {
                let x = match from.class() {
                    TypeClass::Pred => b.convert(Convert::ZeroExtend, x, Scalar::I8),
                    _ => x,
                };
                integer::wrapped(b, to, x)
            }
            TypeClass::Pred => {
                let one = like(b, x, 1.0);
                let bit = b.binary(BinaryOp::And, x, one);
                let zero = like(b, x, 0.0);
                b.compare(ComparePredicate::Ne, bit, zero)
            }
            TypeClass::Float | TypeClass::Complex => {
                let mask = b.constant(Scalar::I8, (1 << to.bit_width()) - 1);
                b.binary(BinaryOp::And, x, mask)
            }
        }));
    }
    Ok(Element::One(b.convert(Convert::Bitcast, x, scalar)))
}
