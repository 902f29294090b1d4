//! What the bits of a floating point type mean.

use crate::ElementType;

/// The layout of a floating point type: sign (unless [`Specials::ExponentOnly`]), exponent,
/// mantissa, from the highest bit down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    pub exponent_bits: u32,
    /// Stored bits, the implicit one not counted.
    pub mantissa_bits: u32,
    pub bias: i32,
    pub specials: Specials,
}

/// Which values are not ordinary numbers, and what becomes of values that do not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specials {
    /// As IEEE 754: the highest exponent holds infinities and NaNs. Overflow gives infinity.
    Ieee,
    /// `fn`: no infinity, NaN is all ones below the sign. Overflow and infinity give NaN.
    NanAllOnes,
    /// `fnuz`: no infinity and no negative zero, whose bits are the only NaN. Overflow and
    /// infinity give NaN.
    NanIsNegativeZero,
    /// Numbers only. Overflow and infinity give the greatest number, NaN a zero of opposite sign.
    FiniteOnly,
    /// `e8m0`: a power of two, no sign, no zero, NaN is all ones. Zero, negative values and
    /// overflow give NaN; ties round up (see [`super::encode`]).
    ExponentOnly,
}

impl Format {
    /// The format of a floating point element type, `None` for other types.
    pub const fn of(element_type: ElementType) -> Option<Format> {
        use Specials::*;
        Some(match element_type {
            ElementType::F64 => Format::new(11, 52, 1023, Ieee),
            ElementType::F32 => Format::new(8, 23, 127, Ieee),
            ElementType::Bf16 => Format::new(8, 7, 127, Ieee),
            ElementType::F16 => Format::new(5, 10, 15, Ieee),
            ElementType::F8e5m2 => Format::new(5, 2, 15, Ieee),
            ElementType::F8e4m3 => Format::new(4, 3, 7, Ieee),
            ElementType::F8e3m4 => Format::new(3, 4, 3, Ieee),
            ElementType::F8e4m3fn => Format::new(4, 3, 7, NanAllOnes),
            ElementType::F8e4m3b11fnuz => Format::new(4, 3, 11, NanIsNegativeZero),
            ElementType::F8e5m2fnuz => Format::new(5, 2, 16, NanIsNegativeZero),
            ElementType::F8e4m3fnuz => Format::new(4, 3, 8, NanIsNegativeZero),
            ElementType::F8e8m0fnu => Format::new(8, 0, 127, ExponentOnly),
            ElementType::F6e3m2fn => Format::new(3, 2, 3, FiniteOnly),
            ElementType::F6e2m3fn => Format::new(2, 3, 1, FiniteOnly),
            ElementType::F4e2m1fn => Format::new(2, 1, 1, FiniteOnly),
            ElementType::Pred
            | ElementType::S1
            | ElementType::S2
            | ElementType::S4
            | ElementType::S8
            | ElementType::S16
            | ElementType::S32
            | ElementType::S64
            | ElementType::U1
            | ElementType::U2
            | ElementType::U4
            | ElementType::U8
            | ElementType::U16
            | ElementType::U32
            | ElementType::U64
            | ElementType::C64
            | ElementType::C128 => return None,
        })
    }

    const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> Format {
        Format { exponent_bits, mantissa_bits, bias, specials }
    }

    pub const fn has_sign(self) -> bool {
        !matches!(self.specials, Specials::ExponentOnly)
    }

    pub const fn has_infinity(self) -> bool {
        matches!(self.specials, Specials::Ieee)
    }

    pub const fn has_nan(self) -> bool {
        !matches!(self.specials, Specials::FiniteOnly)
    }

    pub const fn width(self) -> u32 {
        self.exponent_bits + self.mantissa_bits + self.has_sign() as u32
    }

    /// All bits of the type.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    /// The sign bit, 0 for a type without one.
    pub const fn sign_bit(self) -> u64 {
        if self.has_sign() { 1 << (self.exponent_bits + self.mantissa_bits) } else { 0 }
    }

    /// All bits below the sign.
    pub const fn magnitude_mask(self) -> u64 {
        self.mask() & !self.sign_bit()
    }

    /// Bits of the greatest finite number.
    pub const fn max_finite_bits(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity_bits() - 1,
            Specials::NanAllOnes | Specials::ExponentOnly => self.magnitude_mask() - 1,
            Specials::NanIsNegativeZero | Specials::FiniteOnly => self.magnitude_mask(),
        }
    }

    /// Bits of +∞ where there is one: all ones in the exponent.
    pub const fn infinity_bits(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// Bits of the NaN that arithmetic produces, with positive sign. Zero with negative sign for
    /// types without NaN, which is what they turn a NaN into.
    pub const fn nan_bits(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.infinity_bits() | 1 << (self.mantissa_bits - 1),
            Specials::NanAllOnes | Specials::ExponentOnly => self.magnitude_mask(),
            Specials::NanIsNegativeZero | Specials::FiniteOnly => self.sign_bit(),
        }
    }

    pub const fn is_nan(self, bits: u64) -> bool {
        match self.specials {
            Specials::Ieee => bits & self.magnitude_mask() > self.infinity_bits(),
            Specials::NanAllOnes | Specials::ExponentOnly => {
                bits & self.magnitude_mask() == self.magnitude_mask()
            }
            Specials::NanIsNegativeZero => bits == self.sign_bit(),
            Specials::FiniteOnly => false,
        }
    }

    pub const fn is_infinite(self, bits: u64) -> bool {
        self.has_infinity() && bits & self.magnitude_mask() == self.infinity_bits()
    }

    /// Width of the payload that tells NaNs apart and that text shows; 0 where XLA knows none.
    pub const fn nan_payload_bits(self) -> u32 {
        if self.has_infinity() { self.mantissa_bits } else { 0 }
    }

    /// The value of `bits`. Exact for every type up to `f64`; a NaN loses its payload.
    pub const fn decode(self, bits: u64) -> f64 {
        let negative = bits & self.sign_bit() != 0;
        if self.is_nan(bits) {
            // Bits, because the sign of a computed NaN is not defined.
            let signed = matches!(self.specials, Specials::Ieee | Specials::NanAllOnes);
            let sign = if negative && signed { 1 << 63 } else { 0 };
            return f64::from_bits(0x7ff8_0000_0000_0000 | sign);
        }
        let magnitude = if self.is_infinite(bits) {
            f64::INFINITY
        } else {
            let mantissa = bits & ((1 << self.mantissa_bits) - 1);
            let field = (bits & self.magnitude_mask()) >> self.mantissa_bits;
            // The exponent of the last mantissa bit; subnormals share the first normal's.
            let (significand, exponent) = if matches!(self.specials, Specials::ExponentOnly) {
                (1, field as i32 - self.bias)
            } else if field == 0 {
                (mantissa, 1 - self.bias - self.mantissa_bits as i32)
            } else {
                let implicit = 1 << self.mantissa_bits;
                (mantissa | implicit, field as i32 - self.bias - self.mantissa_bits as i32)
            };
            significand as f64 * power_of_two(exponent)
        };
        if negative { -magnitude } else { magnitude }
    }

    /// The least finite number: the negation of the greatest, or the smallest power of two.
    pub const fn lowest(self) -> f64 {
        if self.has_sign() { -self.max_finite() } else { self.decode(0) }
    }

    pub const fn max_finite(self) -> f64 {
        self.decode(self.max_finite_bits())
    }

    /// Decimal digits that identify every value: the `max_digits10` of C++.
    pub const fn round_trip_digits(self) -> usize {
        // ceil(1 + p log10(2)) for a significand of p bits.
        let p = self.mantissa_bits as usize + 1;
        (p * 30103).div_ceil(100_000) + 1
    }
}

/// 2^exponent for the exponents that `f64` has, subnormal ones included.
const fn power_of_two(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

/// The values of all bit patterns of a type of at most eight bits; higher bits are ignored.
pub(super) const fn decoded(format: Format) -> [f32; 256] {
    let mut values = [0.0; 256];
    let mut bits = 0;
    while bits < 256 {
        let value = format.decode(bits as u64 & format.mask());
        values[bits] = if value.is_nan() {
            f32::from_bits((value.to_bits() >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000)
        } else {
            value as f32
        };
        bits += 1;
    }
    values
}
