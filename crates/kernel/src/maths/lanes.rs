//! What an approximation is written over: lanes of floats, of integers as wide, of truth values.
//!
//! Implemented by `f32` and `f64` ([`super::plain`]), where approximations can be called and
//! measured, and by values of kernel functions ([`super::emit`]), where calling one appends its
//! operations. Both mean the same bits.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use super::precision::{Double, Precision};

/// Lanes of floats. Operators are IEEE's, rounded once each.
pub trait Float:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    type Precision: Precision;
    type Bits: Bits<Mask = Self::Mask>;
    type Mask: Mask;
    /// The same lanes in double precision; for those the type itself.
    type Wide: Float<Precision = Double, Wide = Self::Wide>;

    /// `value`, rounded to the format, in as many lanes as `self`.
    fn constant(self, value: f64) -> Self;
    /// An integer in as many lanes as `self`.
    fn integer(self, value: i64) -> Self::Bits;
    /// `self * factor + addend`, rounded once.
    fn fma(self, factor: Self, addend: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn copy_sign(self, sign: Self) -> Self;

    // Comparisons are false for NaN.
    fn below(self, other: Self) -> Self::Mask;
    fn equals(self, other: Self) -> Self::Mask;
    /// True for NaN.
    fn differs(self, other: Self) -> Self::Mask;
    /// `mask ? a : b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;

    fn bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    /// A signed integer, rounded.
    fn from_integer(bits: Self::Bits) -> Self;

    fn widen(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    /// Zero-extended.
    fn widen_bits(bits: Self::Bits) -> <Self::Wide as Float>::Bits;
    /// The low half.
    fn narrow_bits(wide: <Self::Wide as Float>::Bits) -> Self::Bits;

    /// `common`, but where `mask` is true the values that `rare` gives, which is evaluated only if
    /// some lane needs it.
    fn rarely(
        mask: Self::Mask,
        common: (Self, Self::Bits),
        rare: impl FnOnce() -> (Self, Self::Bits),
    ) -> (Self, Self::Bits);
}

/// Lanes of integers. Operators wrap.
pub trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    type Mask: Mask;

    fn constant(self, value: i64) -> Self;
    /// Shifts by the width or more give 0, or copies of the sign for `ashr`.
    fn shl(self, count: Self) -> Self;
    fn lshr(self, count: Self) -> Self;
    fn ashr(self, count: Self) -> Self;
    fn equals(self, other: Self) -> Self::Mask;
    /// Signed.
    fn below(self, other: Self) -> Self::Mask;
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
}

/// Lanes of truth values.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

/// The integer operations that take a constant.
pub trait BitsExt: Bits {
    fn left(self, count: u32) -> Self {
        self.shl(self.constant(i64::from(count)))
    }

    /// Zeros come in from above.
    fn right(self, count: u32) -> Self {
        self.lshr(self.constant(i64::from(count)))
    }

    /// Copies of the sign come in from above.
    fn right_signed(self, count: u32) -> Self {
        self.ashr(self.constant(i64::from(count)))
    }
}

impl<B: Bits> BitsExt for B {}

/// Shapes that approximations share.
pub trait FloatExt: Float {
    /// A polynomial, the lowest coefficient first. Even and odd powers are summed apart, which
    /// halves the chain of dependent operations for one more multiplication.
    fn polynomial(self, coefficients: &[f64]) -> Self {
        if coefficients.len() < 6 {
            return self.horner(coefficients);
        }
        let square = self * self;
        let evens = square.sum_powers(coefficients.iter().step_by(2));
        let odds = square.sum_powers(coefficients[1..].iter().step_by(2));
        odds.fma(self, evens)
    }

    /// A polynomial summed from the highest power down: the fewest operations.
    fn horner(self, coefficients: &[f64]) -> Self {
        self.sum_powers(coefficients.iter())
    }

    fn sum_powers<'a>(self, coefficients: impl DoubleEndedIterator<Item = &'a f64>) -> Self {
        let mut left = coefficients.rev();
        let highest = self.constant(*left.next().expect("a polynomial has coefficients"));
        left.fold(highest, |sum, &next| sum.fma(self, self.constant(next)))
    }

    fn is_nan(self) -> Self::Mask {
        self.differs(self)
    }

    /// Just the sign bit.
    fn sign_bit(self) -> Self::Bits {
        self.bits() & self.integer(Self::Precision::SIGN)
    }

    /// Whether the sign bit is set, of zeros and NaNs too.
    fn is_negative(self) -> Self::Mask {
        self.bits().below(self.integer(0))
    }

    /// Flips the sign where the bit is set; the other bits are zero.
    fn flip_sign(self, bit: Self::Bits) -> Self {
        Self::from_bits(self.bits() ^ bit)
    }

    /// The smaller one; `self` if it is NaN.
    fn clamp_above(self, limit: Self) -> Self {
        Self::select(limit.below(self), limit, self)
    }

    /// The larger one; `self` if it is NaN.
    fn clamp_below(self, limit: Self) -> Self {
        Self::select(self.below(limit), limit, self)
    }

    /// `self` rounded to an integer in magnitude below 2^(MANTISSA - 2), as a float and as bits
    /// whose low part counts it (garbage above that must be shifted or masked away).
    fn nearest(self, factor: f64) -> (Self, Self::Bits) {
        // In this binade the unit in the last place is one.
        let magic = self.constant(Self::Precision::ROUNDER);
        let shifted = self.fma(self.constant(factor), magic);
        (shifted - magic, shifted.bits())
    }
}

impl<F: Float> FloatExt for F {}
