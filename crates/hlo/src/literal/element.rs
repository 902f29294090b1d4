//! What every element type can do: go through the widest type of its class and back. Conversions,
//! comparison and text are written once over this.

use half::{bf16, f16};

use crate::native::{
    C64, C128, F4e2m1fn, F6e2m3fn, F6e3m2fn, F8e3m4, F8e4m3, F8e4m3b11fnuz, F8e4m3fn, F8e4m3fnuz,
    F8e5m2, F8e5m2fnuz, F8e8m0fnu, NativeType, Pred, S1, S2, S4, U1, U2, U4,
};
use crate::small_float::{SmallFloat, bf16_from_f64, f16_from_f64};

/// One element and its conversions, which are those of the op `convert`:
/// integers wrap, floats saturate on the way to integers with NaN giving 0, anything but zero is
/// true, floats round once to nearest even, complex numbers lose the imaginary part.
pub trait Element: NativeType {
    /// `i64` for `pred` and signed, `u64` for unsigned, `f64` for floats, [`C128`] for complex.
    type Wide: Wide;

    /// The value, exactly.
    fn widen(self) -> Self::Wide;
    fn from_i64(value: i64) -> Self;
    fn from_u64(value: u64) -> Self;
    fn from_f64(value: f64) -> Self;
    fn from_c128(value: C128) -> Self;
}

/// The widest type of a class.
pub trait Wide: Copy + Default {
    fn narrow<T: Element>(self) -> T;
}

impl Wide for i64 {
    fn narrow<T: Element>(self) -> T {
        T::from_i64(self)
    }
}

impl Wide for u64 {
    fn narrow<T: Element>(self) -> T {
        T::from_u64(self)
    }
}

impl Wide for f64 {
    fn narrow<T: Element>(self) -> T {
        T::from_f64(self)
    }
}

impl Wide for C128 {
    fn narrow<T: Element>(self) -> T {
        T::from_c128(self)
    }
}

macro_rules! integers {
    ($($t:ty => $wide:ty),+ $(,)?) => { $(
        impl Element for $t {
            type Wide = $wide;

            fn widen(self) -> $wide {
                <$wide>::from(self)
            }

            fn from_i64(value: i64) -> $t {
                value as $t
            }

            fn from_u64(value: u64) -> $t {
                value as $t
            }

            fn from_f64(value: f64) -> $t {
                value as $t
            }

            fn from_c128(value: C128) -> $t {
                value.re as $t
            }
        }
    )+ };
}
integers! {
    i8 => i64, i16 => i64, i32 => i64, i64 => i64,
    u8 => u64, u16 => u64, u32 => u64, u64 => u64,
}

/// Sub-byte integers: `$bits` low bits of a byte, extended by shifting up and down.
macro_rules! sub_byte_integers {
    ($($name:ident: $byte:ty, $bits:literal => $wide:ty),+ $(,)?) => { $(
        impl $name {
            pub const MIN: $name = $name((<$byte>::MIN) >> (8 - $bits));
            pub const MAX: $name = $name((<$byte>::MAX) >> (8 - $bits));

            /// The value of the low bits.
            pub const fn wrapping(value: $byte) -> $name {
                $name(value << (8 - $bits) >> (8 - $bits))
            }

            /// The value nearest to `value`.
            pub fn saturating(value: $byte) -> $name {
                $name(value.clamp(Self::MIN.0, Self::MAX.0))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &$name) -> std::cmp::Ordering {
                self.0.cmp(&other.0)
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Element for $name {
            type Wide = $wide;

            fn widen(self) -> $wide {
                <$wide>::from(self.0)
            }

            fn from_i64(value: i64) -> $name {
                $name::wrapping(value as $byte)
            }

            fn from_u64(value: u64) -> $name {
                $name::wrapping(value as $byte)
            }

            fn from_f64(value: f64) -> $name {
                $name::saturating(value as $byte)
            }

            fn from_c128(value: C128) -> $name {
                $name::from_f64(value.re)
            }
        }
    )+ };
}
sub_byte_integers! {
    S1: i8, 1 => i64, S2: i8, 2 => i64, S4: i8, 4 => i64,
    U1: u8, 1 => u64, U2: u8, 2 => u64, U4: u8, 4 => u64,
}

impl Element for Pred {
    type Wide = i64;

    fn widen(self) -> i64 {
        i64::from(self.get())
    }

    fn from_i64(value: i64) -> Pred {
        Pred::from(value != 0)
    }

    fn from_u64(value: u64) -> Pred {
        Pred::from(value != 0)
    }

    fn from_f64(value: f64) -> Pred {
        // NaN is not zero.
        Pred::from(value != 0.0)
    }

    fn from_c128(value: C128) -> Pred {
        // As every type without imaginary part: what was real decides.
        Pred::from(value.re != 0.0)
    }
}

/// `f32` and `f64`, to which integers convert with one rounding.
macro_rules! floats {
    ($($t:ty),+) => { $(
        impl Element for $t {
            type Wide = f64;

            fn widen(self) -> f64 {
                f64::from(self)
            }

            fn from_i64(value: i64) -> $t {
                value as $t
            }

            fn from_u64(value: u64) -> $t {
                value as $t
            }

            fn from_f64(value: f64) -> $t {
                value as $t
            }

            fn from_c128(value: C128) -> $t {
                value.re as $t
            }
        }
    )+ };
}
floats!(f32, f64);

/// An integer as `f64`, rounded to odd, so that rounding to a narrower type rounds once in effect.
fn to_odd(value: u64) -> f64 {
    let dropped = (64 - value.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let kept = value >> dropped;
    let odd = u64::from(kept << dropped != value);
    (kept | odd) as f64 * (1u64 << dropped) as f64
}

fn signed_to_odd(value: i64) -> f64 {
    to_odd(value.unsigned_abs()).copysign(if value < 0 { -1.0 } else { 1.0 })
}

macro_rules! narrow_floats {
    ($($name:ident: $from_f64:expr, $to_f32:expr;)+) => { $(
        impl Element for $name {
            type Wide = f64;

            fn widen(self) -> f64 {
                f64::from($to_f32(self))
            }

            fn from_i64(value: i64) -> $name {
                $from_f64(signed_to_odd(value))
            }

            fn from_u64(value: u64) -> $name {
                $from_f64(to_odd(value))
            }

            fn from_f64(value: f64) -> $name {
                $from_f64(value)
            }

            fn from_c128(value: C128) -> $name {
                $from_f64(value.re)
            }
        }
    )+ };
}
narrow_floats! {
    f16: f16_from_f64, f16::to_f32;
    bf16: bf16_from_f64, bf16::to_f32;
    F8e5m2: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e4m3: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e4m3fn: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e4m3b11fnuz: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e3m4: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e5m2fnuz: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e4m3fnuz: SmallFloat::from_f64, SmallFloat::to_f32;
    F8e8m0fnu: SmallFloat::from_f64, SmallFloat::to_f32;
    F6e3m2fn: SmallFloat::from_f64, SmallFloat::to_f32;
    F6e2m3fn: SmallFloat::from_f64, SmallFloat::to_f32;
    F4e2m1fn: SmallFloat::from_f64, SmallFloat::to_f32;
}

macro_rules! complexes {
    ($($t:ident of $part:ty),+) => { $(
        impl Element for $t {
            type Wide = C128;

            fn widen(self) -> C128 {
                C128::new(f64::from(self.re), f64::from(self.im))
            }

            fn from_i64(value: i64) -> $t {
                $t::new(value as $part, 0.0)
            }

            fn from_u64(value: u64) -> $t {
                $t::new(value as $part, 0.0)
            }

            fn from_f64(value: f64) -> $t {
                $t::new(value as $part, 0.0)
            }

            fn from_c128(value: C128) -> $t {
                $t::new(value.re as $part, value.im as $part)
            }
        }
    )+ };
}
complexes!(C64 of f32, C128 of f64);
