//! Exact rounding to the float types.

use half::{bf16, f16};

use crate::types::Scalar;

/// The value of a float of any type; exact.
pub fn to_f64(scalar: Scalar, bits: u64) -> f64 {
    match scalar {
        Scalar::F16 => f16::from_bits(bits as u16).to_f64(),
        Scalar::BF16 => bf16::from_bits(bits as u16).to_f64(),
        Scalar::F32 => f64::from(f32::from_bits(bits as u32)),
        Scalar::F64 => f64::from_bits(bits),
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => {
            unreachable!("{} is no float", scalar.name())
        }
    }
}

/// `value` rounded to nearest even, as bits.
pub fn from_f64(scalar: Scalar, value: f64) -> u64 {
    match scalar {
        // Rounding twice is exact if the first result keeps what was lost in its last bit.
        Scalar::F16 => u64::from(f16::from_f32(to_odd_f32(value)).to_bits()),
        Scalar::BF16 => u64::from(bf16::from_f32(to_odd_f32(value)).to_bits()),
        Scalar::F32 => u64::from((value as f32).to_bits()),
        Scalar::F64 => value.to_bits(),
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => {
            unreachable!("{} is no float", scalar.name())
        }
    }
}

/// An integer rounded to nearest even, as bits.
pub(super) fn from_integer(scalar: Scalar, value: i128) -> u64 {
    match scalar {
        Scalar::F32 => u64::from((value as f32).to_bits()),
        Scalar::F64 => (value as f64).to_bits(),
        Scalar::F16 | Scalar::BF16 => {
            let nearest = value as f64;
            let error = value - nearest as i128;
            from_f64(scalar, to_odd_f64(nearest, error as f64))
        }
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => {
            unreachable!("{} is no float", scalar.name())
        }
    }
}

/// `a * b + c` rounded once.
pub(super) fn fma(scalar: Scalar, [a, b, c]: [u64; 3]) -> u64 {
    match scalar {
        Scalar::F32 => {
            let [a, b, c] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
            u64::from(a.mul_add(b, c).to_bits())
        }
        Scalar::F64 => {
            let [a, b, c] = [a, b, c].map(f64::from_bits);
            a.mul_add(b, c).to_bits()
        }
        Scalar::F16 | Scalar::BF16 => {
            // The product is exact in f64, and the sum's error is a float too.
            let [a, b, c] = [a, b, c].map(|bits| to_f64(scalar, bits));
            let product = a * b;
            let sum = product + c;
            let rest = sum - product;
            let error = (product - (sum - rest)) + (c - rest);
            from_f64(scalar, if error.is_nan() { sum } else { to_odd_f64(sum, error) })
        }
        Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => {
            unreachable!("{} is no float", scalar.name())
        }
    }
}

/// `value` if an `f32` holds it, else the one of its neighbours with an odd last bit.
fn to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    let bits = nearest.to_bits();
    if f64::from(nearest) == value || value.is_nan() || bits & 1 == 1 {
        return nearest;
    }
    let too_far = f64::from(nearest).abs() > value.abs();
    f32::from_bits(if too_far { bits - 1 } else { bits + 1 })
}

/// `nearest`, which misses a value by `error`, or its neighbour in that direction if that has
/// the odd last bit.
fn to_odd_f64(nearest: f64, error: f64) -> f64 {
    let bits = nearest.to_bits();
    if error == 0.0 || bits & 1 == 1 || !nearest.is_finite() {
        return nearest;
    }
    let away = (error > 0.0) == (nearest > 0.0);
    f64::from_bits(if away { bits + 1 } else { bits - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_broken_by_what_lies_far_below() {
        // 1 + 2^-11 lies between two neighbours of f16; anything more is nearer to the upper one.
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(from_f64(Scalar::F16, tie), 0x3c00);
        assert_eq!(from_f64(Scalar::F16, tie + 2f64.powi(-50)), 0x3c01);
        assert_eq!(from_f64(Scalar::F16, -tie - 2f64.powi(-50)), 0xbc01);
        assert_eq!(from_f64(Scalar::F16, tie - 2f64.powi(-50)), 0x3c00);
        assert_eq!(from_f64(Scalar::F16, 65519.999), 0x7bff);
        assert_eq!(from_f64(Scalar::F16, 65520.0), 0x7c00);
        assert_eq!(from_f64(Scalar::F16, 2f64.powi(-25)), 0);
        assert_eq!(from_f64(Scalar::F16, 2f64.powi(-25) * 1.0000001), 1);
        assert_eq!(from_f64(Scalar::BF16, f64::MAX), 0x7f80);
        // The same for integers that an f64 does not hold.
        let tie = (1i128 << 62) + (1 << 54);
        assert_eq!(from_integer(Scalar::BF16, tie), 0x5e80);
        assert_eq!(from_integer(Scalar::BF16, tie + 1), 0x5e81);
        assert_eq!(from_integer(Scalar::BF16, -tie - 1), 0xde81);
    }

    #[test]
    fn fma_of_small_floats_rounds_once() {
        let f = |value: f64| from_f64(Scalar::F16, value);
        let tiny = f(2f64.powi(-24));
        // 1 + 2^-11 exactly, and a bit more that an f64 cannot hold beside it.
        let tie = [f(2f64.powi(-11)), f(1.0), f(1.0)];
        assert_eq!(fma(Scalar::F16, tie), 0x3c00);
        assert_eq!(fma(Scalar::F16, [tiny, tiny, f(1.0)]), 0x3c00);
        assert_eq!(fma(Scalar::F16, [f(65504.0), f(65504.0), f(-65504.0)]), 0x7c00);
        assert_eq!(fma(Scalar::F16, [tiny, f(-1.0), tiny]), 0);
    }
}
