//! Floating point types that the language lacks: what their bits mean, and conversion from wider
//! types with one rounding (to nearest, ties to even).
//!
//! A [`Format`] says everything about a type; [`encode`] and [`Format::decode`] are the same code
//! for all of them, `f16` and `bf16` included. Values come out exactly as `ml_dtypes` and XLA
//! compute them, which the tests check over all bit patterns.

mod encode;
mod format;
#[cfg(test)]
mod tests;

pub use encode::{bf16_from_f64, encode, f16_from_f64};
pub use format::{Format, Specials};

use crate::ElementType;
use crate::native::{
    F4e2m1fn, F6e2m3fn, F6e3m2fn, F8e3m4, F8e4m3, F8e4m3b11fnuz, F8e4m3fn, F8e4m3fnuz, F8e5m2,
    F8e5m2fnuz, F8e8m0fnu, NativeType,
};

/// A floating point type of at most eight bits.
pub trait SmallFloat: NativeType {
    const FORMAT: Format;

    fn from_bits(bits: u8) -> Self;

    fn to_bits(self) -> u8;

    /// The value rounded once. What happens out of range is in [`Specials`].
    fn from_f64(value: f64) -> Self {
        Self::from_bits(encode(Self::FORMAT, value) as u8)
    }

    fn from_f32(value: f32) -> Self {
        Self::from_f64(f64::from(value))
    }

    /// The value, which every small type's is exactly.
    fn to_f32(self) -> f32;
}

macro_rules! small_floats {
    ($($name:ident),+ $(,)?) => { $(
        impl SmallFloat for $name {
            const FORMAT: Format = match Format::of(ElementType::$name) {
                Some(format) => format,
                None => panic!("a floating point type"),
            };

            fn from_bits(bits: u8) -> $name {
                $name(bits & Self::FORMAT.mask() as u8)
            }

            fn to_bits(self) -> u8 {
                self.0
            }

            fn to_f32(self) -> f32 {
                static VALUES: [f32; 256] = format::decoded($name::FORMAT);
                VALUES[usize::from(self.0)]
            }
        }
    )+ };
}
small_floats! {
    F8e5m2, F8e4m3, F8e4m3fn, F8e4m3b11fnuz, F8e3m4, F8e5m2fnuz, F8e4m3fnuz, F8e8m0fnu,
    F6e3m2fn, F6e2m3fn, F4e2m1fn,
}
