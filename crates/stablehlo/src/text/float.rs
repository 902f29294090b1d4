//! Floating point formats by their parts: from a double to the bits of any format and back, and
//! the spelling MLIR gives a value.

use crate::mlir::Float;

/// How a format spends its bits and what it does without.
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

/// Which bit patterns are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// As IEEE 754: the largest exponent is infinity and NaNs.
    Ieee,
    /// Only all ones is a NaN, there is no infinity.
    AllOnesNan,
    /// The negative zero is the only NaN, there is no infinity.
    NegativeZeroNan,
    /// Every pattern is a finite number.
    None,
    /// An exponent alone: no sign, no zero, all ones is the NaN.
    ExponentOnly,
}

/// `None` for formats of more than 64 bits.
fn format(float: Float) -> Option<Format> {
    let of = |exponent_bits, mantissa_bits, bias, specials| {
        Some(Format { exponent_bits, mantissa_bits, bias, specials })
    };
    match float {
        Float::F4E2M1FN => of(2, 1, 1, Specials::None),
        Float::F6E2M3FN => of(2, 3, 1, Specials::None),
        Float::F6E3M2FN => of(3, 2, 3, Specials::None),
        Float::F8E5M2 => of(5, 2, 15, Specials::Ieee),
        Float::F8E4M3 => of(4, 3, 7, Specials::Ieee),
        Float::F8E4M3FN => of(4, 3, 7, Specials::AllOnesNan),
        Float::F8E5M2FNUZ => of(5, 2, 16, Specials::NegativeZeroNan),
        Float::F8E4M3FNUZ => of(4, 3, 8, Specials::NegativeZeroNan),
        Float::F8E4M3B11FNUZ => of(4, 3, 11, Specials::NegativeZeroNan),
        Float::F8E3M4 => of(3, 4, 3, Specials::Ieee),
        Float::F8E8M0FNU => of(8, 0, 127, Specials::ExponentOnly),
        Float::BF16 => of(8, 7, 127, Specials::Ieee),
        Float::F16 => of(5, 10, 15, Specials::Ieee),
        Float::TF32 => of(8, 10, 127, Specials::Ieee),
        Float::F32 => of(8, 23, 127, Specials::Ieee),
        Float::F64 => of(11, 52, 1023, Specials::Ieee),
        Float::F80 | Float::F128 => None,
    }
}

/// The value of the bits; `None` for formats of more than 64 bits.
pub(super) fn decode(float: Float, bits: u64) -> Option<f64> {
    let f = format(float)?;
    if float == Float::F64 {
        return Some(f64::from_bits(bits));
    }
    let mantissa = bits & ((1 << f.mantissa_bits) - 1);
    let exponent_mask = (1u64 << f.exponent_bits) - 1;
    let exponent = (bits >> f.mantissa_bits) & exponent_mask;
    if f.specials == Specials::ExponentOnly {
        return Some(match exponent == exponent_mask {
            true => f64::NAN,
            false => power_of_two(exponent as i32 - f.bias),
        });
    }
    let negative = bits >> (f.mantissa_bits + f.exponent_bits) & 1 == 1;
    let all_ones = mantissa == (1 << f.mantissa_bits) - 1;
    let magnitude = match f.specials {
        Specials::Ieee if exponent == exponent_mask && mantissa == 0 => f64::INFINITY,
        Specials::Ieee if exponent == exponent_mask => f64::NAN,
        Specials::AllOnesNan if exponent == exponent_mask && all_ones => f64::NAN,
        Specials::NegativeZeroNan if negative && exponent == 0 && mantissa == 0 => f64::NAN,
        _ => {
            let hidden = if exponent == 0 { 0 } else { 1u64 << f.mantissa_bits };
            let scale = (exponent.max(1) as i32) - f.bias - f.mantissa_bits as i32;
            (hidden + mantissa) as f64 * power_of_two(scale)
        }
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// The nearest bits, ties to even; values too large become what the format has for them
/// (infinity, else NaN, else its largest number). `None` for formats of more than 64 bits.
pub(super) fn encode(float: Float, value: f64) -> Option<u64> {
    let f = format(float)?;
    if float == Float::F64 {
        return Some(value.to_bits());
    }
    let exponent_mask = (1u64 << f.exponent_bits) - 1;
    let mantissa_mask = (1u64 << f.mantissa_bits) - 1;
    let sign_shift = f.exponent_bits + f.mantissa_bits;
    let sign = match f.specials {
        Specials::ExponentOnly => 0,
        _ => u64::from(value.is_sign_negative()) << sign_shift,
    };
    let nan = match f.specials {
        Specials::Ieee => sign | exponent_mask << f.mantissa_bits | (1 << f.mantissa_bits) >> 1,
        Specials::AllOnesNan => sign | exponent_mask << f.mantissa_bits | mantissa_mask,
        Specials::NegativeZeroNan => 1 << sign_shift,
        Specials::ExponentOnly => exponent_mask,
        Specials::None => sign | exponent_mask << f.mantissa_bits | mantissa_mask,
    };
    if value.is_nan() {
        return Some(nan);
    }
    let magnitude = value.abs();
    let overflow = match f.specials {
        Specials::Ieee => sign | exponent_mask << f.mantissa_bits,
        _ => nan,
    };
    if magnitude.is_infinite() {
        return Some(overflow);
    }
    if f.specials == Specials::ExponentOnly && (magnitude == 0.0 || value < 0.0) {
        return Some(nan);
    }
    // The unit in the last place at this magnitude, never below the subnormals'.
    let least = match f.specials {
        Specials::ExponentOnly => -f.bias,
        _ => 1 - f.bias,
    };
    let exponent = exponent_of(magnitude).max(least);
    let units = magnitude / power_of_two(exponent - f.mantissa_bits as i32);
    let rounded = units.round_ties_even() as u64;
    // A carry out of the mantissa moves into the exponent by itself.
    let hidden = 1u64 << f.mantissa_bits;
    let biased = (exponent + f.bias) as u64;
    let bits = match f.specials {
        Specials::ExponentOnly => biased + u64::from(rounded > hidden),
        _ if rounded < hidden => rounded,
        _ => ((biased - 1) << f.mantissa_bits) + rounded,
    };
    let limit = match f.specials {
        Specials::Ieee => exponent_mask << f.mantissa_bits,
        Specials::AllOnesNan => exponent_mask << f.mantissa_bits | mantissa_mask,
        Specials::ExponentOnly => exponent_mask,
        Specials::NegativeZeroNan | Specials::None => 1 << sign_shift,
    };
    if bits >= limit {
        return Some(overflow);
    }
    let negative_zero_is_nan = f.specials == Specials::NegativeZeroNan && bits == 0;
    Some(if negative_zero_is_nan { 0 } else { sign | bits })
}

/// Two to the given power, also where that is a subnormal double.
fn power_of_two(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// The exponent of the leading bit of a positive finite double.
fn exponent_of(value: f64) -> i32 {
    if value == 0.0 {
        return -1074;
    }
    let biased = (value.to_bits() >> 52) as i32;
    match biased {
        0 => -1074 + 63 - value.to_bits().leading_zeros() as i32,
        _ => biased - 1023,
    }
}

/// The value as MLIR spells it: six digits if they are enough, else as many as the format needs,
/// else (also for infinities and NaNs) the bits in hexadecimal.
pub(super) fn spell(float: Float, bits: u64) -> String {
    let hexadecimal = || format!("0x{bits:X}");
    let Some(value) = decode(float, bits) else { return hexadecimal() };
    if !value.is_finite() {
        return hexadecimal();
    }
    let same =
        |text: &str| text.parse::<f64>().ok().and_then(|value| encode(float, value)) == Some(bits);
    let short = short_form(value);
    if same(&short) {
        return short;
    }
    let precision = format(float).map_or(53, |f| f.mantissa_bits + 1);
    match long_form(value, 2 + precision as usize * 59 / 196) {
        Some(long) if same(&long) => long,
        _ => hexadecimal(),
    }
}

/// Six significant digits, written with six decimals and an exponent of at least two digits.
fn short_form(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (digits, leading) = significant_digits(value, 6);
    let exponent_sign = if leading < 0 { '-' } else { '+' };
    let (first, rest) = digits.split_at(1);
    format!("{sign}{first}.{rest:0<6}e{exponent_sign}{:02}", leading.abs())
}

/// As many digits as needed up to `precision`, with an exponent only for small and large values;
/// `None` where that has no decimal point.
fn long_form(value: f64, precision: usize) -> Option<String> {
    const PADDING: i32 = 3;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (digits, leading) = significant_digits(value, precision);
    let count = digits.len() as i32;
    let last = leading - (count - 1);
    let scientific = if last >= 0 {
        last > PADDING || count + last > precision as i32
    } else {
        leading < 0 && -leading > PADDING
    };
    if scientific {
        let rest = if count == 1 { "0" } else { &digits[1..] };
        let exponent_sign = if leading >= 0 { '+' } else { '-' };
        let first = &digits[..1];
        return Some(format!("{sign}{first}.{rest}E{exponent_sign}{}", leading.abs()));
    }
    if last >= 0 {
        return None;
    }
    let whole = leading + 1;
    Some(if whole > 0 {
        let (whole, rest) = digits.split_at(whole as usize);
        format!("{sign}{whole}.{rest}")
    } else {
        format!("{sign}0.{}{digits}", "0".repeat(-whole as usize))
    })
}

/// At most `precision` decimal digits of a finite value, without zeros at the end, and the power of
/// ten of the first. The rounding is LLVM's, which MLIR prints with: digits far behind are cut
/// off first, what then is too much is rounded half up.
fn significant_digits(value: f64, precision: usize) -> (String, i32) {
    let value = value.abs();
    if value == 0.0 {
        return ("0".to_owned(), 0);
    }
    // The value is an odd number times a power of two. As an integer without fraction, it is that
    // times a power of two or five.
    let raw = value.to_bits();
    let fraction = raw & ((1 << 52) - 1);
    let (significand, exponent) = match (raw >> 52) as i32 {
        0 => (fraction, -1074),
        biased => (fraction | 1 << 52, biased - 1075),
    };
    let exponent = exponent + significand.trailing_zeros() as i32;
    let significand = significand >> significand.trailing_zeros();
    let own_bits = 64 - significand.leading_zeros();
    let bits = if exponent >= 0 {
        own_bits + exponent as u32
    } else {
        let log = (significand as f64).log2() + f64::from(-exponent) * 5f64.log2();
        log.floor() as u32 + 1
    };
    let decimals = usize::try_from(-exponent).unwrap_or(0);
    let all = format!("{value:.decimals$}");
    let digits: String = all.chars().filter(char::is_ascii_digit).collect();
    let mut digits = digits.trim_start_matches('0').as_bytes().to_vec();
    let mut leading = digits.len() as i32 - 1 - decimals as i32;
    let required = (precision as u32 * 196).div_ceil(59);
    let removable = (bits.saturating_sub(required) * 59 / 196) as usize;
    digits.truncate(digits.len().saturating_sub(removable).max(1));
    if digits.len() > precision {
        let up = digits[precision] >= b'5';
        digits.truncate(precision);
        if up {
            while digits.last() == Some(&b'9') {
                digits.pop();
            }
            match digits.last_mut() {
                Some(digit) => *digit += 1,
                None => {
                    digits.push(b'1');
                    leading += 1;
                }
            }
        }
    }
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
    (String::from_utf8(digits).unwrap_or_default(), leading)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_formats_round_trip() {
        for float in Float::ALL.iter().copied().filter(|f| f.bits() <= 16) {
            for bits in 0..1u64 << float.bits() {
                let value = decode(float, bits).unwrap();
                if value.is_finite() {
                    assert_eq!(encode(float, value), Some(bits), "{float:?} {bits:x} {value}");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_even_and_overflow_is_told() {
        assert_eq!(encode(Float::F32, 0.1), Some(0.1f32.to_bits().into()));
        assert_eq!(encode(Float::F32, f64::MAX), Some(f32::INFINITY.to_bits().into()));
        assert_eq!(encode(Float::F32, 1e-45), Some(1));
        assert_eq!(encode(Float::F32, 1e-60), Some(0));
        assert_eq!(encode(Float::F16, 65519.0), Some(0x7bff));
        assert_eq!(encode(Float::F16, 65520.0), Some(0x7c00));
        assert_eq!(encode(Float::F8E4M3FN, 1e9), Some(0x7f));
        assert_eq!(encode(Float::BF16, -0.0), Some(0x8000));
    }

    #[test]
    fn spelling_is_mlirs() {
        let f32s = |value: f32| spell(Float::F32, value.to_bits().into());
        assert_eq!(f32s(1.0), "1.000000e+00");
        assert_eq!(f32s(0.1), "1.000000e-01");
        assert_eq!(f32s(-std::f32::consts::PI), "-3.14159274");
        assert_eq!(f32s(1234567.0), "0x4996B438");
        assert_eq!(f32s(f32::INFINITY), "0x7F800000");
        assert_eq!(f32s(1.17549435e-38), "1.17549435E-38");
        assert_eq!(f32s(0.95), "0.949999988");
        assert_eq!(f32s(-0.0), "-0.000000e+00");
        assert_eq!(spell(Float::BF16, 0x4071), "3.765630e+00");
        assert_eq!(spell(Float::F64, 0.1f64.to_bits()), "1.000000e-01");
        assert_eq!(spell(Float::F64, (0.1f64 + 0.2).to_bits()), "0.30000000000000004");
    }
}
