//! Elements as HLO text writes them, character for character as XLA does, and back.
//!
//! Floats are written like C's `%g` with the fewest digits of two candidates that read back as the
//! same value; NaNs show sign and payload: `-nan(0x1)`. Reading goes through `f64`, which is what
//! XLA's lexer holds, so that both read the same value from the same text.

use std::fmt::Write;

use half::{bf16, f16};
use rxla_base::{Error, Result};

use super::{ArrayLiteral, Element};
use crate::native::{
    C64, C128, F4e2m1fn, F6e2m3fn, F6e3m2fn, F8e3m4, F8e4m3, F8e4m3b11fnuz, F8e4m3fn, F8e4m3fnuz,
    F8e5m2, F8e5m2fnuz, F8e8m0fnu, NativeType, Pred, S1, S2, S4, U1, U2, U4,
};
use crate::small_float::{Format, Specials, encode};
use crate::{ElementType, with_native};

#[cfg(test)]
mod tests;

/// An element that HLO text can hold.
pub trait ElementText: Element {
    /// Appends the text of a scalar; a `pred` is `true` or `false` (inside arrays XLA writes `1`
    /// or `0`, see [`ArrayLiteral::print_element`]).
    fn print(self, out: &mut String);

    /// Reads what [`ElementText::print`] writes and everything that XLA's parser takes: integers
    /// for floats, numbers for `pred`. Fails with the reason if the text is no such element or
    /// does not fit the type.
    fn parse(text: &str) -> Result<Self>;
}

impl ArrayLiteral {
    /// Appends the text of one element. Panics if there is none.
    pub fn print_element(&self, index: usize, out: &mut String) {
        if self.element_type() == ElementType::Pred && self.shape().rank() > 0 {
            out.push(if self.values::<Pred>()[index].get() { '1' } else { '0' });
            return;
        }
        with_native!(self.element_type(), T => self.values::<T>()[index].print(out));
    }

    /// Reads the text of one element into its place. Panics if there is none.
    pub fn parse_element(&mut self, index: usize, text: &str) -> Result<()> {
        with_native!(self.element_type(), T => {
            self.values_mut::<T>()[index] = T::parse(text)?;
            Ok(())
        })
    }
}

impl ElementText for Pred {
    fn print(self, out: &mut String) {
        out.push_str(if self.get() { "true" } else { "false" });
    }

    fn parse(text: &str) -> Result<Pred> {
        match text {
            "true" => Ok(Pred::TRUE),
            "false" => Ok(Pred::FALSE),
            _ => match text.parse::<i64>() {
                Ok(number) => Ok(Pred::from(number != 0)),
                Err(_) => Err(unexpected("`true`, `false` or an integer", "pred", text)),
            },
        }
    }
}

fn unexpected(wanted: &str, type_name: &str, text: &str) -> Error {
    Error::invalid_argument(format!("expected {wanted} for `{type_name}`, got `{text}`"))
}

macro_rules! integers {
    ($($t:ty: $value:expr, $make:expr, $min:expr, $max:expr;)+) => { $(
        impl ElementText for $t {
            fn print(self, out: &mut String) {
                // Writing to a string cannot fail.
                let _ = write!(out, "{}", $value(self));
            }

            fn parse(text: &str) -> Result<$t> {
                let (min, max) = (i128::from($min), i128::from($max));
                parse_integer(text, Self::TYPE, min, max).map(|value| $make(value as _))
            }
        }
    )+ };
}
integers! {
    i8: std::convert::identity, std::convert::identity, i8::MIN, i8::MAX;
    i16: std::convert::identity, std::convert::identity, i16::MIN, i16::MAX;
    i32: std::convert::identity, std::convert::identity, i32::MIN, i32::MAX;
    i64: std::convert::identity, std::convert::identity, i64::MIN, i64::MAX;
    u8: std::convert::identity, std::convert::identity, u8::MIN, u8::MAX;
    u16: std::convert::identity, std::convert::identity, u16::MIN, u16::MAX;
    u32: std::convert::identity, std::convert::identity, u32::MIN, u32::MAX;
    S1: |v: S1| v.0, S1, S1::MIN.0, S1::MAX.0;
    S2: |v: S2| v.0, S2, S2::MIN.0, S2::MAX.0;
    S4: |v: S4| v.0, S4, S4::MIN.0, S4::MAX.0;
    U1: |v: U1| v.0, U1, U1::MIN.0, U1::MAX.0;
    U2: |v: U2| v.0, U2, U2::MIN.0, U2::MAX.0;
    U4: |v: U4| v.0, U4, U4::MIN.0, U4::MAX.0;
}

impl ElementText for u64 {
    fn print(self, out: &mut String) {
        let _ = write!(out, "{self}");
    }

    fn parse(text: &str) -> Result<u64> {
        // XLA's lexer holds 64 bits without a sign of their own, so it takes -1 for the greatest.
        let min = i128::from(i64::MIN);
        parse_integer(text, Self::TYPE, min, i128::from(u64::MAX)).map(|value| value as u64)
    }
}

fn parse_integer(text: &str, element_type: ElementType, min: i128, max: i128) -> Result<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unexpected("an integer", element_type.name(), text));
    }
    match text.parse::<i128>() {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        // More digits than 128 bits hold are as much out of range.
        _ => Err(Error::invalid_argument(format!(
            "value {text} is out of range for `{element_type}`, which holds {min} to {max}"
        ))),
    }
}

macro_rules! small_floats {
    ($($t:ident: $bits:expr, $from_bits:expr;)+) => { $(
        impl ElementText for $t {
            fn print(self, out: &mut String) {
                const FORMAT: Format = format_of(ElementType::$t);
                print_float(FORMAT, u64::from($bits(self)), out);
            }

            fn parse(text: &str) -> Result<$t> {
                const FORMAT: Format = format_of(ElementType::$t);
                parse_float(FORMAT, ElementType::$t, text).map(|bits| $from_bits(bits as _))
            }
        }
    )+ };
}
small_floats! {
    F8e5m2: |v: F8e5m2| v.0, F8e5m2;
    F8e4m3: |v: F8e4m3| v.0, F8e4m3;
    F8e4m3fn: |v: F8e4m3fn| v.0, F8e4m3fn;
    F8e4m3b11fnuz: |v: F8e4m3b11fnuz| v.0, F8e4m3b11fnuz;
    F8e3m4: |v: F8e3m4| v.0, F8e3m4;
    F8e5m2fnuz: |v: F8e5m2fnuz| v.0, F8e5m2fnuz;
    F8e4m3fnuz: |v: F8e4m3fnuz| v.0, F8e4m3fnuz;
    F8e8m0fnu: |v: F8e8m0fnu| v.0, F8e8m0fnu;
    F6e3m2fn: |v: F6e3m2fn| v.0, F6e3m2fn;
    F6e2m3fn: |v: F6e2m3fn| v.0, F6e2m3fn;
    F4e2m1fn: |v: F4e2m1fn| v.0, F4e2m1fn;
}

macro_rules! large_floats {
    ($($t:ident: $variant:ident),+) => { $(
        impl ElementText for $t {
            fn print(self, out: &mut String) {
                const FORMAT: Format = format_of(ElementType::$variant);
                print_float(FORMAT, u64::from(self.to_bits()), out);
            }

            fn parse(text: &str) -> Result<$t> {
                const FORMAT: Format = format_of(ElementType::$variant);
                let bits = parse_float(FORMAT, ElementType::$variant, text)?;
                Ok($t::from_bits(bits as _))
            }
        }
    )+ };
}
large_floats!(f16: F16, bf16: Bf16, f32: F32, f64: F64);

macro_rules! complexes {
    ($($t:ident of $part:ty),+) => { $(
        impl ElementText for $t {
            fn print(self, out: &mut String) {
                out.push('(');
                self.re.print(out);
                out.push_str(", ");
                self.im.print(out);
                out.push(')');
            }

            fn parse(text: &str) -> Result<$t> {
                let parts = text
                    .strip_prefix('(')
                    .and_then(|text| text.strip_suffix(')'))
                    .and_then(|text| text.split_once(','));
                let Some((re, im)) = parts else {
                    return Err(unexpected("`(real, imaginary)`", Self::TYPE.name(), text));
                };
                let part = |name: &str, text: &str| {
                    <$part>::parse(text.trim()).map_err(|error| {
                        error.context(format!("in the {name} part of a `{}`", Self::TYPE))
                    })
                };
                Ok($t::new(part("real", re)?, part("imaginary", im)?))
            }
        }
    )+ };
}
complexes!(C64 of f32, C128 of f64);

const fn format_of(element_type: ElementType) -> Format {
    match Format::of(element_type) {
        Some(format) => format,
        None => panic!("a floating point type"),
    }
}

/// The greatest payload that an `f64` NaN has, which is what XLA's lexer can hold.
const MAX_PAYLOAD: u64 = (1 << 52) - 1;

fn print_float(format: Format, bits: u64, out: &mut String) {
    if format.is_nan(bits) {
        if bits & format.sign_bit() != 0 {
            out.push('-');
        }
        out.push_str("nan");
        let payload = bits & ((1 << format.nan_payload_bits()) - 1);
        let quiet = format.nan_bits() & ((1 << format.nan_payload_bits()) - 1);
        if format.nan_payload_bits() > 0 && payload != quiet {
            let _ = write!(out, "(0x{payload:x})");
        }
        return;
    }
    let value = format.decode(bits);
    if value.is_infinite() {
        out.push_str(if value > 0.0 { "inf" } else { "-inf" });
        return;
    }
    // XLA tries the digits that every decimal survives first, for the two common types.
    let (few, many) = match format.mantissa_bits {
        23 => (6, 9),
        52 => (15, 17),
        _ => (format.round_trip_digits(), format.round_trip_digits()),
    };
    let start = out.len();
    print_general(value, few, out);
    let survives = match format.mantissa_bits {
        _ if few == many => true,
        23 => out[start..].parse::<f32>().is_ok_and(|read| f64::from(read) == value),
        _ => out[start..].parse::<f64>().is_ok_and(|read| read == value),
    };
    if !survives {
        out.truncate(start);
        print_general(value, many, out);
    }
}

/// C's `%.{digits}g` of a finite value.
fn print_general(value: f64, digits: usize, out: &mut String) {
    if value == 0.0 {
        out.push_str(if value.is_sign_negative() { "-0" } else { "0" });
        return;
    }
    if value.trunc() == value && value.abs() < 10f64.powi(digits.min(15) as i32) {
        let _ = write!(out, "{}", value as i64);
        return;
    }
    let scientific = format!("{:.*e}", digits - 1, value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value < 0.0 {
        out.push('-');
    }
    let trimmed = mantissa.trim_end_matches('0').trim_end_matches('.');
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{trimmed}e{sign}{:02}", exponent.abs());
        return;
    }
    let significant = trimmed.bytes().filter(u8::is_ascii_digit).map(char::from);
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1) as usize));
        out.extend(significant);
        return;
    }
    let point = exponent as usize + 1;
    let mut written = 0;
    for digit in significant {
        if written == point {
            out.push('.');
        }
        out.push(digit);
        written += 1;
    }
    out.extend(std::iter::repeat_n('0', point.saturating_sub(written)));
}

fn parse_float(format: Format, element_type: ElementType, text: &str) -> Result<u64> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text),
    };
    if let Some(payload) = magnitude.strip_prefix("nan") {
        return parse_nan(format, element_type, negative, payload, text);
    }
    let value = if magnitude == "inf" {
        f64::INFINITY
    } else {
        // The language also reads `infinity` and the like, which are no numbers here.
        let starts_well = magnitude.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        match magnitude.parse::<f64>() {
            Ok(value) if starts_well && value.is_finite() => value,
            Ok(_) if starts_well => return Err(out_of_range(format, element_type, text)),
            _ => return Err(unexpected("a number", element_type.name(), text)),
        }
    };
    let finite = value.is_finite();
    let value = if negative { -value } else { value };
    let bits = match format.mantissa_bits {
        52 => value.to_bits(),
        23 => u64::from((value as f32).to_bits()),
        _ => encode(format, value),
    };
    if finite && (format.is_nan(bits) || format.is_infinite(bits)) {
        return Err(out_of_range(format, element_type, text));
    }
    Ok(bits)
}

fn out_of_range(format: Format, element_type: ElementType, text: &str) -> Error {
    let (lowest, greatest) = (format.lowest(), format.max_finite());
    Error::invalid_argument(format!(
        "value {text} is out of range for `{element_type}`, which holds {lowest:e} to {greatest:e}"
    ))
}

fn parse_nan(
    format: Format,
    element_type: ElementType,
    negative: bool,
    payload: &str,
    text: &str,
) -> Result<u64> {
    let sign = match format.specials {
        Specials::Ieee | Specials::NanAllOnes if negative => format.sign_bit(),
        Specials::Ieee | Specials::NanAllOnes => 0,
        Specials::NanIsNegativeZero | Specials::ExponentOnly => 0,
        // NaN becomes a zero of the opposite sign: `nan_bits` has the sign already.
        Specials::FiniteOnly if negative => return Ok(0),
        Specials::FiniteOnly => 0,
    };
    if payload.is_empty() {
        return Ok(format.nan_bits() | sign);
    }
    let number = payload
        .strip_prefix("(0x")
        .and_then(|digits| digits.strip_suffix(')'))
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let Some(number) = number.filter(|number| (1..=MAX_PAYLOAD).contains(number)) else {
        return Err(unexpected("`nan` or `nan(0x…)`", element_type.name(), text));
    };
    let payload_bits = format.nan_payload_bits();
    if payload_bits == 0 {
        return Err(Error::invalid_argument(format!(
            "a NaN of `{element_type}` has no payload, but `{text}` gives one"
        )));
    }
    let greatest = (1 << payload_bits) - 1;
    if number > greatest {
        return Err(Error::invalid_argument(format!(
            "the NaN payload of `{text}` is out of range for `{element_type}`, whose greatest is \
             0x{greatest:x}"
        )));
    }
    Ok(format.infinity_bits() | number | sign)
}
