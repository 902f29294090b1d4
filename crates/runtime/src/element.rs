//! Types of elements in buffers, and how they become the types that are computed in.

use half::{bf16, f16};
use rxla_base::{Error, Result};

/// The type of a buffer's elements. Truth values and integers below a byte take a byte each and are
/// told as [`Element::U8`] or [`Element::I8`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(i64)]
pub enum Element {
    I8 = 0,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    C64,
    C128,
}

impl Element {
    const ALL: [Element; 14] = [
        Element::I8,
        Element::I16,
        Element::I32,
        Element::I64,
        Element::U8,
        Element::U16,
        Element::U32,
        Element::U64,
        Element::F16,
        Element::BF16,
        Element::F32,
        Element::F64,
        Element::C64,
        Element::C128,
    ];

    pub(crate) fn from_number(number: i64) -> Result<Element> {
        let found = usize::try_from(number).ok().and_then(|number| Element::ALL.get(number));
        found.copied().ok_or_else(|| Error::internal(format!("no element type {number}")))
    }

    #[inline]
    pub fn byte_width(self) -> usize {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::BF16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 | Element::C64 => 8,
            Element::C128 => 16,
        }
    }

    #[inline]
    pub fn is_integer(self) -> bool {
        (self as i64) < Element::F16 as i64
    }

    #[inline]
    pub fn is_complex(self) -> bool {
        matches!(self, Element::C64 | Element::C128)
    }
}

/// Which elements a kernel may meet, so that one compiled for a single type carries nothing of the others:
/// in a program compiled ahead of time that is most of its size.
pub trait Elements: 'static {
    /// Whether there may be any.
    const ANY: bool = false;
    /// The element, where there is only one as a constant.
    fn known(element: Element) -> Element;
}

/// Any elements.
pub enum Any {}

/// Those of the type with this number only, in all operands and in the result.
pub enum Only<const NUMBER: usize> {}

impl Elements for Any {
    const ANY: bool = true;

    #[inline(always)]
    fn known(element: Element) -> Element {
        element
    }
}

impl<const NUMBER: usize> Elements for Only<NUMBER> {
    #[inline(always)]
    fn known(_element: Element) -> Element {
        const { Element::ALL[NUMBER] }
    }
}

/// A number in a buffer that can be computed with as a `T`.
pub(crate) trait Load<T>: Copy {
    fn load(self) -> T;
}

/// A number in a buffer that a `T` can be rounded or cut to.
pub(crate) trait Store<T>: Copy {
    fn store(value: T) -> Self;
}

macro_rules! casts {
    ($($from:ty => $($to:ty),*;)*) => {$($(
        impl Load<$to> for $from {
            #[inline(always)]
            fn load(self) -> $to {
                self as $to
            }
        }

        impl Store<$to> for $from {
            #[inline(always)]
            fn store(value: $to) -> $from {
                value as $from
            }
        }
    )*)*};
}

casts! {
    i8 => i32, i64, f32, f64;
    i16 => i32, i64, f32, f64;
    i32 => i32, i64, f32, f64;
    i64 => i32, i64, f32, f64;
    u8 => i32, i64, f32, f64;
    u16 => i32, i64, f32, f64;
    u32 => i32, i64, f32, f64;
    u64 => i32, i64, f32, f64;
    f32 => i32, i64, f32, f64;
    f64 => i32, i64, f32, f64;
}

macro_rules! halves {
    ($($half:ty, $widen:path, $narrow:path => $($to:ty),*;)*) => {$($(
        impl Load<$to> for $half {
            #[inline(always)]
            fn load(self) -> $to {
                $widen(self) as $to
            }
        }

        impl Store<$to> for $half {
            #[inline(always)]
            fn store(value: $to) -> $half {
                $narrow(value as f32)
            }
        }
    )*)*};
}

halves! {
    f16, widen_f16, narrow_f16 => i32, i64, f32, f64;
    bf16, widen_bf16, narrow_bf16 => i32, i64, f32, f64;
}

// Those of ours without branches, so that loops over them become vector code.

/// The bits of the larger type, with its exponent's bias. Numbers below the normal ones are what lies above the
/// least of these: no operand is below the larger type's normal ones, with which processors take a hundred times as long.
#[inline(always)]
pub(crate) fn widen_f16(half: f16) -> f32 {
    const BIAS: u32 = 112 << 23;
    const LEAST: f32 = f32::from_bits(113 << 23);
    let bits = u32::from(half.to_bits());
    let exponent = bits & 0x7c00;
    let magnitude = ((bits & 0x7fff) << 13) + BIAS;
    let small = (f32::from_bits(magnitude + (1 << 23)) - LEAST).to_bits();
    // Infinities and NaN have the greatest exponent in either.
    let special = if exponent == 0x7c00 { magnitude + BIAS } else { magnitude };
    let magnitude = if exponent == 0 { small } else { special };
    f32::from_bits(magnitude | (bits & 0x8000) << 16)
}

/// Rounded to nearest, ties to even; NaNs stay NaNs.
#[inline(always)]
pub(crate) fn narrow_f16(single: f32) -> f16 {
    let bits = single.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // With the exponent's bias changed; what is rounded up past the largest number is an infinity as it stands.
    let normal =
        (magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13).wrapping_sub(112 << 10);
    // Beside a half, whose last place is the least number's, the processor rounds.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let special = if magnitude > 0x7f80_0000 { 0x7e00 | magnitude >> 13 & 0x1ff } else { 0x7c00 };
    let rounded = if magnitude < 0x3880_0000 { small } else { normal };
    let rounded = if magnitude >= 0x4780_0000 { special } else { rounded };
    f16::from_bits((rounded | bits >> 16 & 0x8000) as u16)
}

/// The upper half of a float.
#[inline(always)]
pub(crate) fn widen_bf16(half: bf16) -> f32 {
    f32::from_bits(u32::from(half.to_bits()) << 16)
}

/// The upper half, rounded to nearest, ties to even; NaNs stay NaNs.
#[inline(always)]
pub(crate) fn narrow_bf16(single: f32) -> bf16 {
    let bits = single.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let bits = if single.is_nan() { bits | 0x40_0000 } else { rounded };
    bf16::from_bits((bits >> 16) as u16)
}

/// Evaluates an expression with `S` standing for the Rust type of an element; a complex number
/// counts as its parts.
macro_rules! with_element {
    ($element:expr, $S:ident => $body:expr) => {
        match $element {
            $crate::element::Element::I8 => {
                type $S = i8;
                $body
            }
            $crate::element::Element::I16 => {
                type $S = i16;
                $body
            }
            $crate::element::Element::I32 => {
                type $S = i32;
                $body
            }
            $crate::element::Element::I64 => {
                type $S = i64;
                $body
            }
            $crate::element::Element::U8 => {
                type $S = u8;
                $body
            }
            $crate::element::Element::U16 => {
                type $S = u16;
                $body
            }
            $crate::element::Element::U32 => {
                type $S = u32;
                $body
            }
            $crate::element::Element::U64 => {
                type $S = u64;
                $body
            }
            $crate::element::Element::F16 => {
                type $S = half::f16;
                $body
            }
            $crate::element::Element::BF16 => {
                type $S = half::bf16;
                $body
            }
            $crate::element::Element::F32 | $crate::element::Element::C64 => {
                type $S = f32;
                $body
            }
            $crate::element::Element::F64 | $crate::element::Element::C128 => {
                type $S = f64;
                $body
            }
        }
    };
}
pub(crate) use with_element;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_halves_widen_exactly() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (widen_f16(f16::from_bits(bits)), f16::from_bits(bits).to_f32());
            assert!(
                ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
                "{bits:x}"
            );
            let (ours, theirs) =
                (widen_bf16(bf16::from_bits(bits)), bf16::from_bits(bits).to_f32());
            assert!(
                ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan(),
                "{bits:x}"
            );
        }
    }

    #[test]
    fn singles_are_rounded_to_f16() {
        // Upper parts that are kept, with lower ones about a half and at the ends; what is kept of small ones is less.
        for upper in 0..1_u32 << 19 {
            for lower in [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff] {
                let single = f32::from_bits(upper << 13 | lower);
                let (ours, theirs) = (narrow_f16(single), f16::from_f32(single));
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{:x}", single.to_bits());
            }
        }
    }

    #[test]
    fn singles_are_rounded_to_bf16() {
        // All upper halves, with lower ones about a half and at the ends.
        for upper in 0..=u16::MAX {
            for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let single = f32::from_bits(u32::from(upper) << 16 | lower);
                let (ours, theirs) = (narrow_bf16(single), bf16::from_f32(single));
                assert_eq!(ours.to_bits(), theirs.to_bits(), "{:x}", single.to_bits());
            }
        }
    }
}
