//! Rounding a wider value to a floating point type, once.

use half::{bf16, f16};

use super::{Format, Specials};

/// The bits of `value` rounded to nearest, ties to even. For types narrower than `f64`.
#[inline]
pub const fn encode(format: Format, value: f64) -> u64 {
    let bits = value.to_bits();
    let sign = if bits >> 63 != 0 { format.sign_bit() } else { 0 };
    let magnitude = bits & !(1 << 63);
    if matches!(format.specials, Specials::ExponentOnly) {
        return encode_exponent(format, value);
    }
    if magnitude >= F64_INFINITY {
        return if magnitude > F64_INFINITY {
            encode_nan(format, sign)
        } else {
            overflow(format, sign)
        };
    }
    let rounded = round(format, magnitude);
    if rounded > format.max_finite_bits() {
        overflow(format, sign)
    } else if rounded == 0 && matches!(format.specials, Specials::NanIsNegativeZero) {
        0
    } else {
        rounded | sign
    }
}

const F64_INFINITY: u64 = 0x7ff0_0000_0000_0000;
const F64_MANTISSA_BITS: u32 = 52;

/// Rounds a finite magnitude as if exponents had no upper end.
#[inline]
const fn round(format: Format, magnitude: u64) -> u64 {
    let field = (magnitude >> F64_MANTISSA_BITS) as i32;
    let fraction = magnitude & ((1 << F64_MANTISSA_BITS) - 1);
    // value = significand × 2^(exponent − 52)
    let (significand, exponent) =
        if field == 0 { (fraction, -1022) } else { (fraction | 1 << 52, field - 1023) };
    let min_exponent = 1 - format.bias;
    let kept_exponent = if exponent > min_exponent { exponent } else { min_exponent };
    let shift = (kept_exponent - exponent) as u32 + F64_MANTISSA_BITS - format.mantissa_bits;
    if shift > 54 {
        return 0;
    }
    let kept = significand >> shift;
    let rest = significand & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    // A normal number's implicit one adds to the exponent field, and so does a carry.
    let base = if exponent >= min_exponent {
        ((exponent - min_exponent) as u64) << format.mantissa_bits
    } else {
        0
    };
    base + kept + up as u64
}

#[inline]
const fn overflow(format: Format, sign: u64) -> u64 {
    match format.specials {
        Specials::Ieee => format.infinity_bits() | sign,
        Specials::NanAllOnes => format.nan_bits() | sign,
        Specials::NanIsNegativeZero | Specials::ExponentOnly => format.nan_bits(),
        Specials::FiniteOnly => format.max_finite_bits() | sign,
    }
}

#[inline]
const fn encode_nan(format: Format, sign: u64) -> u64 {
    match format.specials {
        Specials::Ieee | Specials::NanAllOnes => format.nan_bits() | sign,
        Specials::NanIsNegativeZero | Specials::ExponentOnly => format.nan_bits(),
        Specials::FiniteOnly => format.nan_bits() ^ sign,
    }
}

/// Powers of two, by way of `f32` as XLA and `ml_dtypes` define it: ties go up, and so does
/// everything between the least two values, where `f32` is subnormal; smaller values that `f32`
/// holds become the least one.
#[inline]
const fn encode_exponent(format: Format, value: f64) -> u64 {
    const TIE: u32 = 1 << 22;
    let value = value as f32;
    let bits = value.to_bits();
    let fits = value > 0.0 && bits < (0xfe << 23) + TIE;
    if !fits {
        format.nan_bits()
    } else if bits <= TIE {
        0
    } else {
        ((bits + TIE) >> 23) as u64
    }
}

/// Rounds once, where going through the nearest `f32` would round twice.
#[inline]
pub fn f16_from_f64(value: f64) -> f16 {
    f16::from_f32(to_odd_f32(value))
}

/// Rounds once, where going through the nearest `f32` would round twice.
#[inline]
pub fn bf16_from_f64(value: f64) -> bf16 {
    bf16::from_f32(to_odd_f32(value))
}

/// The `f32` next to `value` that has an odd last bit, unless `value` is one: it lies on the same
/// side of every tie of a type with at least two digits less.
#[inline]
fn to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    let truncated = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(truncated | 1)
}
