//! Values as unsigned integers of the same order.

use half::{bf16, f16};

use super::order::Word;

/// How floats are ordered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum FloatOrder {
    /// By sign, exponent and mantissa: -NaN, -inf, …, -0, 0, …, inf, NaN.
    Total = 0,
    /// By value: -0 and 0 are the same, and so are all NaN, which come last.
    Value = 1,
}

/// A number that can be a key.
pub(crate) trait Key: Copy + Send + Sync {
    /// What holds a key.
    type Word: Word;
    /// Ascending in the order of the numbers. Numbers of one key are the same in that order; those
    /// that are the same may have different keys only if these are the two zeros.
    fn key(self, order: FloatOrder) -> u64;
    const BITS: u32;
}

macro_rules! integer_keys {
    ($($signed:ty, $unsigned:ty, $word:ty;)*) => {$(
        impl Key for $unsigned {
            type Word = $word;
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self, _order: FloatOrder) -> u64 {
                u64::from(self)
            }
        }

        impl Key for $signed {
            type Word = $word;
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self, _order: FloatOrder) -> u64 {
                u64::from((self as $unsigned) ^ (1 << (<$unsigned>::BITS - 1)))
            }
        }
    )*};
}

integer_keys! { i8, u8, u32; i16, u16, u32; i32, u32, u32; i64, u64, u64; }

macro_rules! float_keys {
    ($($float:ty, $unsigned:ty, $signed:ty, $word:ty;)*) => {$(
        impl Key for $float {
            type Word = $word;
            const BITS: u32 = <$unsigned>::BITS;
            #[inline(always)]
            fn key(self, order: FloatOrder) -> u64 {
                const LAST: u32 = <$unsigned>::BITS - 1;
                let bits = self.to_bits();
                // Negative numbers count down, positive ones come after them.
                let flips = ((bits as $signed >> LAST) as $unsigned) | (1 << LAST);
                let key = bits ^ flips;
                match order {
                    FloatOrder::Total => u64::from(key),
                    FloatOrder::Value => u64::from(if self.is_nan() { <$unsigned>::MAX } else { key }),
                }
            }
        }
    )*};
}

float_keys! { f16, u16, i16, u32; bf16, u16, i16, u32; f32, u32, i32, u32; f64, u64, i64, u64; }

/// The key of zero with a sign, of a type so wide.
pub(crate) const fn zero_keys(bits: u32) -> (u64, u64) {
    let zero = 1 << (bits - 1);
    (zero - 1, zero)
}

/// Back from a key to the number; NaN become one.
pub(crate) trait FromKey: Key {
    fn from_key(key: u64) -> Self;
}

macro_rules! keys_back {
    ($($type:ident: $key:ident => $value:expr;)*) => {$(
        impl FromKey for $type {
            #[inline(always)]
            fn from_key($key: u64) -> $type {
                $value
            }
        }
    )*};
}

keys_back! {
    u8: key => key as u8;
    u16: key => key as u16;
    u32: key => key as u32;
    u64: key => key;
    i8: key => (key as u8 ^ 1 << 7) as i8;
    i16: key => (key as u16 ^ 1 << 15) as i16;
    i32: key => (key as u32 ^ 1 << 31) as i32;
    i64: key => (key ^ 1 << 63) as i64;
    f32: key => f32::from_bits(float_bits(key, 32) as u32);
    f64: key => f64::from_bits(float_bits(key, 64));
}

impl FromKey for f16 {
    #[inline(always)]
    fn from_key(key: u64) -> f16 {
        f16::from_bits(float_bits(key, 16) as u16)
    }
}

impl FromKey for bf16 {
    #[inline(always)]
    fn from_key(key: u64) -> bf16 {
        bf16::from_bits(float_bits(key, 16) as u16)
    }
}

/// The bits of the float with this key.
#[inline(always)]
fn float_bits(key: u64, bits: u32) -> u64 {
    let sign = 1 << (bits - 1);
    if key & sign != 0 { key ^ sign } else { !key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_the_numbers() {
        let floats =
            [f32::NEG_INFINITY, -1.5, -1e-40, -0.0, 0.0, 1e-40, 2.0, f32::INFINITY, f32::NAN];
        for order in [FloatOrder::Total, FloatOrder::Value] {
            assert!(floats.map(|value| value.key(order)).is_sorted_by(|a, b| a < b));
            assert!(floats.map(|value| bf16::from_f32(value).key(order)).is_sorted());
            assert!(floats.map(|value| f64::from(value).key(order)).is_sorted_by(|a, b| a < b));
        }
        assert_eq!((-f32::NAN).key(FloatOrder::Value), f32::NAN.key(FloatOrder::Value));
        assert!((-f32::NAN).key(FloatOrder::Total) < f32::NEG_INFINITY.key(FloatOrder::Total));
        assert_eq!(
            [-0.0_f32, 0.0].map(|zero| zero.key(FloatOrder::Value)),
            [zero_keys(32).0, zero_keys(32).1]
        );
        assert!(
            [i8::MIN, -1, 0, 1, i8::MAX]
                .map(|x| x.key(FloatOrder::Total))
                .is_sorted_by(|a, b| a < b)
        );
        assert!([0, 1, u64::MAX].map(|x| x.key(FloatOrder::Total)).is_sorted_by(|a, b| a < b));
    }
}
