//! Approximations on plain numbers: `f32` and `f64` are lanes of one.

use std::num::Wrapping;

use super::lanes::{Bits, Float, Mask};
use super::precision::{Double, Single};

impl Mask for bool {}

macro_rules! plain {
    ($float:ident, $int:ident, $unsigned:ident, $precision:ident) => {
        impl Float for $float {
            type Precision = $precision;
            type Bits = Wrapping<$int>;
            type Mask = bool;
            type Wide = f64;

            fn constant(self, value: f64) -> $float {
                value as $float
            }
            fn integer(self, value: i64) -> Wrapping<$int> {
                Wrapping(value as $int)
            }
            fn fma(self, factor: $float, addend: $float) -> $float {
                self.mul_add(factor, addend)
            }
            fn abs(self) -> $float {
                $float::abs(self)
            }
            fn sqrt(self) -> $float {
                $float::sqrt(self)
            }
            fn floor(self) -> $float {
                $float::floor(self)
            }
            fn copy_sign(self, sign: $float) -> $float {
                self.copysign(sign)
            }
            fn below(self, other: $float) -> bool {
                self < other
            }
            fn equals(self, other: $float) -> bool {
                self == other
            }
            fn differs(self, other: $float) -> bool {
                self != other
            }
            fn select(mask: bool, a: $float, b: $float) -> $float {
                if mask { a } else { b }
            }
            fn bits(self) -> Wrapping<$int> {
                Wrapping(self.to_bits() as $int)
            }
            fn from_bits(bits: Wrapping<$int>) -> $float {
                $float::from_bits(bits.0 as $unsigned)
            }
            fn from_integer(bits: Wrapping<$int>) -> $float {
                bits.0 as $float
            }
            fn widen(self) -> f64 {
                self as f64
            }
            fn narrow(wide: f64) -> $float {
                wide as $float
            }
            fn widen_bits(bits: Wrapping<$int>) -> Wrapping<i64> {
                Wrapping(bits.0 as $unsigned as i64)
            }
            fn narrow_bits(wide: Wrapping<i64>) -> Wrapping<$int> {
                Wrapping(wide.0 as $int)
            }
            fn rarely(
                mask: bool,
                common: ($float, Wrapping<$int>),
                rare: impl FnOnce() -> ($float, Wrapping<$int>),
            ) -> ($float, Wrapping<$int>) {
                if mask { rare() } else { common }
            }
        }

        impl Bits for Wrapping<$int> {
            type Mask = bool;

            fn constant(self, value: i64) -> Self {
                Wrapping(value as $int)
            }
            fn shl(self, count: Self) -> Self {
                Wrapping(self.0.checked_shl(count.0 as u32).unwrap_or(0))
            }
            fn lshr(self, count: Self) -> Self {
                Wrapping((self.0 as $unsigned).checked_shr(count.0 as u32).unwrap_or(0) as $int)
            }
            fn ashr(self, count: Self) -> Self {
                Wrapping(self.0.checked_shr(count.0 as u32).unwrap_or(self.0 >> ($int::BITS - 1)))
            }
            fn equals(self, other: Self) -> bool {
                self.0 == other.0
            }
            fn below(self, other: Self) -> bool {
                self.0 < other.0
            }
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
        }
    };
}

plain!(f32, i32, u32, Single);
plain!(f64, i64, u64, Double);
