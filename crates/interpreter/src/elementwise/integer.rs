//! Functions of integers: arithmetic wraps, division by zero and shifts past the width have the
//! results that XLA gives them.

use rxla_hlo::native::{NativeType, S1, S2, S4, U1, U2, U4};
use rxla_hlo::op::{BinaryKind, UnaryKind};

use super::loops::{Binary, Unary, map, zip};

/// The integer types. Sub-byte ones wrap at their own width.
pub(crate) trait Integer: NativeType + Ord {
    const BITS: u32;
    const ZERO: Self;
    const ONE: Self;
    const IS_SIGNED: bool;

    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    /// Towards zero; x / 0 is all ones, MIN / -1 is MIN.
    fn divide(self, other: Self) -> Self;
    /// With the sign of the dividend; x % 0 is x, MIN % -1 is 0.
    fn remainder(self, other: Self) -> Self;
    /// The upper half of the product.
    fn multiply_high(self, other: Self) -> Self;
    /// The bits, zero-extended.
    fn bits(self) -> u64;
    /// The low bits of `bits`.
    fn of_bits(bits: u64) -> Self;

    fn negate(self) -> Self {
        Self::ZERO.subtract(self)
    }

    fn absolute(self) -> Self {
        if self < Self::ZERO { self.negate() } else { self }
    }

    fn sign(self) -> Self {
        match self.cmp(&Self::ZERO) {
            std::cmp::Ordering::Less => Self::ZERO.subtract(Self::ONE),
            std::cmp::Ordering::Equal => Self::ZERO,
            std::cmp::Ordering::Greater => Self::ONE,
        }
    }

    /// Negative powers are 0, but those of 1 are 1.
    fn power(self, exponent: Self) -> Self {
        if exponent < Self::ZERO {
            return if self == Self::ONE { Self::ONE } else { Self::ZERO };
        }
        let (mut result, mut base, mut exponent) = (Self::ONE, self, exponent.bits());
        while exponent != 0 {
            if exponent & 1 != 0 {
                result = result.multiply(base);
            }
            base = base.multiply(base);
            exponent >>= 1;
        }
        result
    }

    fn shift_left(self, amount: Self) -> Self {
        match amount.shift_amount::<Self>() {
            Some(amount) => Self::of_bits(self.bits() << amount),
            None => Self::ZERO,
        }
    }

    fn shift_right_logical(self, amount: Self) -> Self {
        match amount.shift_amount::<Self>() {
            Some(amount) => Self::of_bits(self.bits() >> amount),
            None => Self::ZERO,
        }
    }

    /// The highest bit is the sign, for unsigned types too.
    fn shift_right_arithmetic(self, amount: Self) -> Self {
        let top = 64 - Self::BITS;
        let amount = amount.shift_amount::<Self>().unwrap_or(Self::BITS - 1);
        Self::of_bits(((((self.bits() << top) as i64) >> top) >> amount) as u64)
    }

    /// Seen as unsigned, if that is less than the width.
    fn shift_amount<T: Integer>(self) -> Option<u32> {
        let bits = self.bits();
        (bits < u64::from(T::BITS)).then_some(bits as u32)
    }
}

macro_rules! native_integers {
    ($($t:ident: $unsigned:ident, $wide:ident, $signed:literal;)+) => { $(
        impl Integer for $t {
            const BITS: u32 = $t::BITS;
            const ZERO: $t = 0;
            const ONE: $t = 1;
            const IS_SIGNED: bool = $signed;

            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }

            fn subtract(self, other: $t) -> $t {
                self.wrapping_sub(other)
            }

            fn multiply(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }

            fn divide(self, other: $t) -> $t {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            fn remainder(self, other: $t) -> $t {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }

            fn multiply_high(self, other: $t) -> $t {
                ((self as $wide * other as $wide) >> $t::BITS) as $t
            }

            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            fn of_bits(bits: u64) -> $t {
                bits as $t
            }
        }
    )+ };
}
native_integers! {
    i8: u8, i16, true;
    i16: u16, i32, true;
    i32: u32, i64, true;
    i64: u64, i128, true;
    u8: u8, u16, false;
    u16: u16, u32, false;
    u32: u32, u64, false;
    u64: u64, u128, false;
}

macro_rules! sub_byte_integers {
    ($($name:ident: $byte:ident, $bits:literal, $signed:literal;)+) => { $(
        impl Integer for $name {
            const BITS: u32 = $bits;
            const ZERO: $name = $name(0);
            const ONE: $name = $name::wrapping(1);
            const IS_SIGNED: bool = $signed;

            fn add(self, other: $name) -> $name {
                $name::wrapping(self.0.wrapping_add(other.0))
            }

            fn subtract(self, other: $name) -> $name {
                $name::wrapping(self.0.wrapping_sub(other.0))
            }

            fn multiply(self, other: $name) -> $name {
                $name::wrapping(self.0.wrapping_mul(other.0))
            }

            fn divide(self, other: $name) -> $name {
                $name::wrapping(self.0.divide(other.0))
            }

            fn remainder(self, other: $name) -> $name {
                $name::wrapping(self.0.remainder(other.0))
            }

            fn multiply_high(self, other: $name) -> $name {
                $name::wrapping(self.0.wrapping_mul(other.0) >> $bits)
            }

            fn bits(self) -> u64 {
                self.0.bits() & ((1 << $bits) - 1)
            }

            fn of_bits(bits: u64) -> $name {
                $name::wrapping(bits as $byte)
            }
        }
    )+ };
}
sub_byte_integers! {
    S1: i8, 1, true;
    S2: i8, 2, true;
    S4: i8, 4, true;
    U1: u8, 1, false;
    U2: u8, 2, false;
    U4: u8, 4, false;
}

/// The kernel of a function of integers; `None` for functions that are not defined on them.
pub(super) fn unary<I: Integer>(kind: UnaryKind) -> Option<Unary<I>> {
    Some(match kind {
        UnaryKind::Abs if I::IS_SIGNED => |v| map(v, I::absolute),
        UnaryKind::CountLeadingZeros => |v| {
            map(v, |x| {
                let zeros = x.bits().leading_zeros() - (64 - I::BITS);
                I::of_bits(u64::from(zeros))
            });
        },
        UnaryKind::Negate => |v| map(v, I::negate),
        UnaryKind::Not => |v| map(v, |x| I::of_bits(!x.bits())),
        UnaryKind::PopulationCount => |v| {
            map(v, |x| I::of_bits(u64::from(x.bits().count_ones())));
        },
        UnaryKind::Sign if I::IS_SIGNED => |v| map(v, I::sign),
        UnaryKind::Abs
        | UnaryKind::Acos
        | UnaryKind::Acosh
        | UnaryKind::Asin
        | UnaryKind::Asinh
        | UnaryKind::Atanh
        | UnaryKind::Cbrt
        | UnaryKind::Ceil
        | UnaryKind::Cos
        | UnaryKind::Cosh
        | UnaryKind::Erf
        | UnaryKind::Exp
        | UnaryKind::Expm1
        | UnaryKind::Floor
        | UnaryKind::Imag
        | UnaryKind::IsFinite
        | UnaryKind::Log
        | UnaryKind::Log1p
        | UnaryKind::Logistic
        | UnaryKind::Real
        | UnaryKind::RoundNearestAfz
        | UnaryKind::RoundNearestEven
        | UnaryKind::Rsqrt
        | UnaryKind::Sign
        | UnaryKind::Sin
        | UnaryKind::Sinh
        | UnaryKind::Sqrt
        | UnaryKind::Tan
        | UnaryKind::Tanh => return None,
    })
}

/// The kernel of a function of two integers; `None` for functions that are not defined on them.
pub(super) fn binary<I: Integer>(kind: BinaryKind) -> Option<Binary<I>> {
    Some(match kind {
        BinaryKind::Add => |a, b| zip(a, b, I::add),
        BinaryKind::And => |a, b| zip(a, b, |x, y| I::of_bits(x.bits() & y.bits())),
        BinaryKind::Divide => |a, b| zip(a, b, I::divide),
        BinaryKind::Maximum => |a, b| zip(a, b, I::max),
        BinaryKind::Minimum => |a, b| zip(a, b, I::min),
        BinaryKind::Mulhi => |a, b| zip(a, b, I::multiply_high),
        BinaryKind::Multiply => |a, b| zip(a, b, I::multiply),
        BinaryKind::Or => |a, b| zip(a, b, |x, y| I::of_bits(x.bits() | y.bits())),
        BinaryKind::Power => |a, b| zip(a, b, I::power),
        BinaryKind::Remainder => |a, b| zip(a, b, I::remainder),
        BinaryKind::ShiftLeft => |a, b| zip(a, b, I::shift_left),
        BinaryKind::ShiftRightArithmetic => |a, b| zip(a, b, I::shift_right_arithmetic),
        BinaryKind::ShiftRightLogical => |a, b| zip(a, b, I::shift_right_logical),
        BinaryKind::Subtract => |a, b| zip(a, b, I::subtract),
        BinaryKind::Xor => |a, b| zip(a, b, |x, y| I::of_bits(x.bits() ^ y.bits())),
        BinaryKind::Atan2 | BinaryKind::Complex => return None,
    })
}
