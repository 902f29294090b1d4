//! Floats that the kernel IR has no type for, as sequences of integer operations, and the order of
//! all bit patterns.

use rxla_base::{Error, Result};
use rxla_hlo::ElementType;
use rxla_hlo::small_float::{Format, Specials};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Convert, Scalar, UnaryOp, Value};

use super::undefined;
use crate::scalar::scalar_of;

fn format_of(element_type: ElementType) -> Result<Format> {
    Format::of(element_type)
        .ok_or_else(|| Error::internal(format!("`{element_type}` is no floating point type")))
}

/// The value as `f32`, which holds all of them exactly.
pub(super) fn decode(b: &mut Builder, element_type: ElementType, x: Value) -> Result<Value> {
    let format = format_of(element_type)?;
    let int = |b: &mut Builder, value: u64| b.constant(Scalar::I32, value);
    let bits = b.convert(Convert::ZeroExtend, x, Scalar::I32);
    let nan = b.constant(Scalar::F32, 0x7fc0_0000);
    if format.specials == Specials::ExponentOnly {
        let amount = int(b, 23);
        let normal = b.binary(BinaryOp::Shl, bits, amount);
        let (zero, least) = (int(b, 0), int(b, 1 << 22));
        let is_least = b.compare(ComparePredicate::Eq, bits, zero);
        let pattern = b.select(is_least, least, normal);
        let value = b.convert(Convert::Bitcast, pattern, Scalar::F32);
        let all = int(b, format.nan_bits());
        let is_nan = b.compare(ComparePredicate::Eq, bits, all);
        return Ok(b.select(is_nan, nan, value));
    }
    let mask = int(b, format.magnitude_mask());
    let magnitude = b.binary(BinaryOp::And, bits, mask);
    // With the fields in place the exponent is off by a constant, subnormal numbers included.
    let amount = int(b, u64::from(23 - format.mantissa_bits));
    let pattern = b.binary(BinaryOp::Shl, magnitude, amount);
    let small = b.convert(Convert::Bitcast, pattern, Scalar::F32);
    let scale = b.f32(f32::from_bits(((127 - format.bias + 127) as u32) << 23));
    let mut value = b.mul(small, scale);
    if format.has_infinity() {
        let infinity_bits = int(b, format.infinity_bits());
        let infinity = b.f32(f32::INFINITY);
        let is_infinite = b.compare(ComparePredicate::Eq, magnitude, infinity_bits);
        value = b.select(is_infinite, infinity, value);
        let is_nan = b.compare(ComparePredicate::Ugt, magnitude, infinity_bits);
        value = b.select(is_nan, nan, value);
    }
    let sign_mask = int(b, format.sign_bit());
    let sign = b.binary(BinaryOp::And, bits, sign_mask);
    let up = int(b, u64::from(32 - format.width()));
    let sign = b.binary(BinaryOp::Shl, sign, up);
    if format.specials == Specials::NanAllOnes {
        let all = int(b, format.nan_bits());
        let is_nan = b.compare(ComparePredicate::Eq, magnitude, all);
        value = b.select(is_nan, nan, value);
    }
    let plain = b.convert(Convert::Bitcast, value, Scalar::I32);
    let signed = b.binary(BinaryOp::Or, plain, sign);
    let value = b.convert(Convert::Bitcast, signed, Scalar::F32);
    if format.specials == Specials::NanIsNegativeZero {
        let pattern = int(b, format.nan_bits());
        let is_nan = b.compare(ComparePredicate::Eq, bits, pattern);
        return Ok(b.select(is_nan, nan, value));
    }
    Ok(value)
}

/// An `f64` rounded once to nearest even; what lies beyond the type is as its [`Specials`] say.
pub(super) fn encode(b: &mut Builder, element_type: ElementType, x: Value) -> Result<Value> {
    let format = format_of(element_type)?;
    if format.specials == Specials::ExponentOnly {
        return Ok(encode_exponent(b, format, x));
    }
    let bits = b.convert(Convert::Bitcast, x, Scalar::I64);
    let magnitude_mask = b.index(i64::MAX);
    let magnitude = b.binary(BinaryOp::And, bits, magnitude_mask);
    let (zero, one) = (b.index(0), b.index(1));
    let negative = b.compare(ComparePredicate::Slt, bits, zero);
    let sign_bit = b.index(format.sign_bit() as i64);
    let sign = b.select(negative, sign_bit, zero);

    let mantissa_bits = b.index(52);
    let field = b.binary(BinaryOp::LShr, magnitude, mantissa_bits);
    let fraction_mask = b.index((1 << 52) - 1);
    let implicit = b.index(1 << 52);
    let fraction = b.binary(BinaryOp::And, magnitude, fraction_mask);
    let full = b.binary(BinaryOp::Or, fraction, implicit);
    let is_subnormal = b.compare(ComparePredicate::Eq, field, zero);
    let significand = b.select(is_subnormal, fraction, full);
    let exponent = b.binary(BinaryOp::SMax, field, one);
    let least = b.index(i64::from(1 - format.bias + 1023));
    let kept_exponent = b.binary(BinaryOp::SMax, exponent, least);
    let below = b.sub(kept_exponent, exponent);
    let dropped = b.index(i64::from(52 - format.mantissa_bits));
    let shift = b.add(below, dropped);
    let far = b.index(60);
    let shift = b.binary(BinaryOp::SMin, shift, far);
    let kept = b.binary(BinaryOp::LShr, significand, shift);
    let unit = b.binary(BinaryOp::Shl, one, shift);
    let rest_mask = b.sub(unit, one);
    let rest = b.binary(BinaryOp::And, significand, rest_mask);
    let half = b.binary(BinaryOp::LShr, unit, one);
    let above = b.compare(ComparePredicate::Ugt, rest, half);
    let tie = b.compare(ComparePredicate::Eq, rest, half);
    let last = b.binary(BinaryOp::And, kept, one);
    let odd = b.compare(ComparePredicate::Ne, last, zero);
    let tie_up = b.binary(BinaryOp::And, tie, odd);
    let up = b.binary(BinaryOp::Or, above, tie_up);
    let up = b.select(up, one, zero);
    let base = b.sub(kept_exponent, least);
    let own_mantissa = b.index(format.mantissa_bits.into());
    let base = b.binary(BinaryOp::Shl, base, own_mantissa);
    let rounded = b.add(base, kept);
    let rounded = b.add(rounded, up);

    let mut result = b.binary(BinaryOp::Or, rounded, sign);
    if format.specials == Specials::NanIsNegativeZero {
        let is_zero = b.compare(ComparePredicate::Eq, rounded, zero);
        result = b.select(is_zero, zero, result);
    }
    let (beyond, nan) = match format.specials {
        Specials::Ieee => (format.infinity_bits(), format.nan_bits()),
        Specials::NanAllOnes | Specials::NanIsNegativeZero | Specials::ExponentOnly => {
            (format.nan_bits(), format.nan_bits())
        }
        Specials::FiniteOnly => (format.max_finite_bits(), format.nan_bits()),
    };
    let mut beyond = b.index(beyond as i64);
    let mut nan = b.index(nan as i64);
    match format.specials {
        Specials::Ieee | Specials::NanAllOnes => {
            beyond = b.binary(BinaryOp::Or, beyond, sign);
            nan = b.binary(BinaryOp::Or, nan, sign);
        }
        Specials::FiniteOnly => {
            beyond = b.binary(BinaryOp::Or, beyond, sign);
            nan = b.binary(BinaryOp::Xor, nan, sign);
        }
        Specials::NanIsNegativeZero | Specials::ExponentOnly => {}
    }
    let most = b.index(format.max_finite_bits() as i64);
    let overflows = b.compare(ComparePredicate::Sgt, rounded, most);
    let infinity = b.index(0x7ff0_0000_0000_0000);
    let infinite = b.compare(ComparePredicate::Uge, magnitude, infinity);
    let overflows = b.binary(BinaryOp::Or, overflows, infinite);
    result = b.select(overflows, beyond, result);
    let is_nan = b.compare(ComparePredicate::Ugt, magnitude, infinity);
    result = b.select(is_nan, nan, result);
    Ok(b.convert(Convert::Truncate, result, Scalar::I8))
}

/// Powers of two: ties go up; zero, negative numbers and what is too large are NaN.
fn encode_exponent(b: &mut Builder, format: Format, x: Value) -> Value {
    const TIE: u64 = 1 << 22;
    let value = b.convert(Convert::Float, x, Scalar::F32);
    let bits = b.convert(Convert::Bitcast, value, Scalar::I32);
    let zero = b.f32(0.0);
    let positive = b.compare(ComparePredicate::FGt, value, zero);
    let end = b.constant(Scalar::I32, (0xfe << 23) + TIE);
    let below = b.compare(ComparePredicate::Ult, bits, end);
    let fits = b.binary(BinaryOp::And, positive, below);
    let tie = b.constant(Scalar::I32, TIE);
    let amount = b.constant(Scalar::I32, 23);
    let rounded = b.add(bits, tie);
    let rounded = b.binary(BinaryOp::LShr, rounded, amount);
    let least = b.compare(ComparePredicate::Ule, bits, tie);
    let no_bits = b.constant(Scalar::I32, 0);
    let rounded = b.select(least, no_bits, rounded);
    let nan = b.constant(Scalar::I32, format.nan_bits());
    let result = b.select(fits, rounded, nan);
    b.convert(Convert::Truncate, result, Scalar::I8)
}

/// A signed integer in the order -NaN < -∞ < … < -0 < +0 < … < ∞ < NaN.
pub(super) fn total_order_key(
    b: &mut Builder,
    element_type: ElementType,
    x: Value,
) -> Result<Value> {
    let Some(format) = Format::of(element_type) else {
        return Err(undefined("compare", element_type));
    };
    let int = match scalar_of(element_type) {
        Scalar::F64 => Scalar::I64,
        Scalar::F32 => Scalar::I32,
        Scalar::F16 | Scalar::BF16 => Scalar::I16,
        _ => Scalar::I32,
    };
    let bits = if b.ty(x).scalar == Scalar::I8 {
        b.convert(Convert::ZeroExtend, x, int)
    } else {
        b.convert(Convert::Bitcast, x, int)
    };
    let mask = b.constant(int, format.magnitude_mask());
    let magnitude = b.binary(BinaryOp::And, bits, mask);
    let sign_mask = b.constant(int, format.sign_bit());
    let sign = b.binary(BinaryOp::And, bits, sign_mask);
    let zero = b.constant(int, 0);
    let negative = b.compare(ComparePredicate::Ne, sign, zero);
    let mut below = b.unary(UnaryOp::Not, magnitude);
    if format.specials == Specials::NanIsNegativeZero {
        // The only NaN has the sign bit: it is below everything.
        let least = b.constant(int, u64::from(u32::MAX - 0xffff));
        let is_nan = b.compare(ComparePredicate::Eq, magnitude, zero);
        below = b.select(is_nan, least, below);
    }
    Ok(b.select(negative, below, magnitude))
}
