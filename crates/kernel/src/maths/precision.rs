//! The two formats that approximations are evaluated in: their layout, and which polynomials go
//! with them.

use super::coefficients as c;
use super::lanes::{Float, FloatExt};
use super::{erf, exp, pow, reduction};
use crate::types::Scalar;

/// A float format.
pub trait Precision: Copy {
    const FLOAT: Scalar;
    const INTEGER: Scalar;
    /// Bits of the fraction that are stored.
    const MANTISSA: u32;
    /// The exponent field of one.
    const BIAS: i64;
    /// The sign bit, as a signed integer.
    const SIGN: i64;
    /// Where one unit in the last place is one: numbers added to it are rounded to integers, and
    /// the low bits of the sum count them.
    const ROUNDER: f64;
    const MIN_NORMAL: f64;
    const MAX: f64;
    /// ln 2 with zeros at its end, so that multiples by exponents are exact, and what is missing.
    const LN2: [f64; 2];
    /// log2(e), nearest and what is missing.
    const LOG2_E: [f64; 2];
    /// pi / 2 in parts that each are the nearest to what is left.
    const HALF_PI: [f64; 3];
    /// Below this the parts of pi / 2 reduce an argument of sine exactly enough.
    const REDUCIBLE: f64;
    /// `exp` of what is above is infinite.
    const EXP_HIGH: f64;
    /// `expm1` of what is below is -1 when rounded.
    const EXPM1_LOW: f64;
    /// `exp2` of what is below is zero, of what is above infinite.
    const EXP2_RANGE: [f64; 2];

    const EXP: &'static [f64];
    const EXPM1: &'static [f64];
    const EXP2: &'static [f64];
    const SIN: &'static [f64];
    const COS: &'static [f64];
    const ASIN: &'static [f64];
    const ATAN: &'static [f64];
    const SINH: &'static [f64];
    const TAN: &'static [f64];
    const TANH: &'static [f64];
    /// Up to where that polynomial is for.
    const TANH_SMALL: f64;
    const ERF: &'static [f64];
    const ERFC: &'static [f64];
    /// From here on `erfc` is zero.
    const ERFC_ZERO: f64;
    const INVERSE_CBRT: &'static [f64];
    const INVERSE_CBRT_STEPS: usize;

    /// The bits of a number rounded to the format.
    fn bits_of(value: f64) -> u64;
    /// A signed integer that is small enough to be exact.
    fn small_integer<F: Float<Precision = Self>>(like: F, bits: F::Bits) -> F;
    /// `log(1 + f) - f` for 1 + f between sqrt(1/2) and sqrt(2).
    fn log_tail<F: Float<Precision = Self>>(f: F) -> F;
    /// What a large finite magnitude is away from the nearest multiple of pi / 2, and in the low
    /// two bits which one that is.
    fn reduce_large<F: Float<Precision = Self>>(magnitude: F) -> (F, F::Bits);
    /// `magnitude^power` of a positive finite magnitude that is not one, or of a finite power.
    fn power<F: Float<Precision = Self>>(magnitude: F, power: F) -> F;
    /// `exp(2 x)` for `tanh` of x.
    fn exp_of_twice<F: Float<Precision = Self>>(x: F) -> F;
    /// `erfc` from 1 on, to be subtracted from one.
    fn erfc_beyond_one<F: Float<Precision = Self>>(magnitude: F) -> F;
}

#[derive(Clone, Copy, Debug)]
pub struct Single;

#[derive(Clone, Copy, Debug)]
pub struct Double;

impl Precision for Single {
    const FLOAT: Scalar = Scalar::F32;
    const INTEGER: Scalar = Scalar::I32;
    const MANTISSA: u32 = 23;
    const BIAS: i64 = 127;
    const SIGN: i64 = i32::MIN as i64;
    const ROUNDER: f64 = 12582912.0; // 1.5 * 2^23
    const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;
    const MAX: f64 = f32::MAX as f64;
    const LN2: [f64; 2] = c::SINGLE_LN2;
    const LOG2_E: [f64; 2] = c::SINGLE_LOG2_E;
    const HALF_PI: [f64; 3] = c::SINGLE_HALF_PI;
    const REDUCIBLE: f64 = 65536.0;
    const EXP_HIGH: f64 = 89.0;
    const EXPM1_LOW: f64 = -18.0;
    const EXP2_RANGE: [f64; 2] = [-151.0, 129.0];
    const EXP: &'static [f64] = c::SINGLE_EXP;
    const EXPM1: &'static [f64] = c::SINGLE_EXPM1;
    const EXP2: &'static [f64] = c::SINGLE_EXP2;
    const SIN: &'static [f64] = c::SINGLE_SIN;
    const COS: &'static [f64] = c::SINGLE_COS;
    const ASIN: &'static [f64] = c::SINGLE_ASIN;
    const ATAN: &'static [f64] = c::SINGLE_ATAN;
    const SINH: &'static [f64] = c::SINGLE_SINH;
    const TAN: &'static [f64] = c::SINGLE_TAN;
    const TANH: &'static [f64] = c::SINGLE_TANH;
    const TANH_SMALL: f64 = 0.625;
    const ERF: &'static [f64] = c::SINGLE_ERF;
    const ERFC: &'static [f64] = c::SINGLE_ERFC;
    const ERFC_ZERO: f64 = 10.1;
    const INVERSE_CBRT: &'static [f64] = c::SINGLE_INVERSE_CBRT;
    const INVERSE_CBRT_STEPS: usize = 1;

    fn bits_of(value: f64) -> u64 {
        u64::from((value as f32).to_bits())
    }

    fn small_integer<F: Float<Precision = Self>>(_: F, bits: F::Bits) -> F {
        F::from_integer(bits)
    }

    /// One polynomial; a division would cost more than its longer series.
    fn log_tail<F: Float<Precision = Self>>(f: F) -> F {
        let square = f * f;
        let cube_up = f.polynomial(c::SINGLE_LOG) * f;
        square * (cube_up + f.constant(-0.5))
    }

    fn reduce_large<F: Float<Precision = Self>>(magnitude: F) -> (F, F::Bits) {
        reduction::single(magnitude)
    }

    fn power<F: Float<Precision = Self>>(magnitude: F, power: F) -> F {
        pow::single(magnitude, power)
    }

    fn exp_of_twice<F: Float<Precision = Self>>(x: F) -> F {
        exp::exp_of_twice_in_single(x)
    }

    fn erfc_beyond_one<F: Float<Precision = Self>>(magnitude: F) -> F {
        erf::erfc_beyond_one_in_single(magnitude)
    }
}

impl Precision for Double {
    const FLOAT: Scalar = Scalar::F64;
    const INTEGER: Scalar = Scalar::I64;
    const MANTISSA: u32 = 52;
    const BIAS: i64 = 1023;
    const SIGN: i64 = i64::MIN;
    const ROUNDER: f64 = 6755399441055744.0; // 1.5 * 2^52
    const MIN_NORMAL: f64 = f64::MIN_POSITIVE;
    const MAX: f64 = f64::MAX;
    const LN2: [f64; 2] = c::DOUBLE_LN2;
    const LOG2_E: [f64; 2] = c::DOUBLE_LOG2_E;
    const HALF_PI: [f64; 3] = c::DOUBLE_HALF_PI;
    const REDUCIBLE: f64 = 1099511627776.0; // 2^40
    const EXP_HIGH: f64 = 710.0;
    const EXPM1_LOW: f64 = -38.0;
    const EXP2_RANGE: [f64; 2] = [-1076.0, 1025.0];
    const EXP: &'static [f64] = c::DOUBLE_EXP;
    const EXPM1: &'static [f64] = c::DOUBLE_EXPM1;
    const EXP2: &'static [f64] = c::DOUBLE_EXP2;
    const SIN: &'static [f64] = c::DOUBLE_SIN;
    const COS: &'static [f64] = c::DOUBLE_COS;
    const ASIN: &'static [f64] = c::DOUBLE_ASIN;
    const ATAN: &'static [f64] = c::DOUBLE_ATAN;
    const SINH: &'static [f64] = c::DOUBLE_SINH;
    const TAN: &'static [f64] = c::DOUBLE_TAN;
    const TANH: &'static [f64] = c::DOUBLE_TANH;
    const TANH_SMALL: f64 = 0.55;
    const ERF: &'static [f64] = c::DOUBLE_ERF;
    const ERFC: &'static [f64] = c::DOUBLE_ERFC;
    const ERFC_ZERO: f64 = 27.3;
    const INVERSE_CBRT: &'static [f64] = c::DOUBLE_INVERSE_CBRT;
    const INVERSE_CBRT_STEPS: usize = 2;

    fn bits_of(value: f64) -> u64 {
        value.to_bits()
    }

    /// Not all processors convert integers of 64 bits in lanes; this needs no conversion.
    fn small_integer<F: Float<Precision = Self>>(like: F, bits: F::Bits) -> F {
        let rounder = like.integer(Self::bits_of(Self::ROUNDER) as i64);
        F::from_bits(rounder + bits) - like.constant(Self::ROUNDER)
    }

    /// With s = f / (2 + f), log(1 + f) = 2 atanh(s) = f - s (f - s^2 p(s^2)), in which f^2 / 2 is
    /// taken out: f - (f^2 / 2 - s (f^2 / 2 + s^2 p(s^2))). The form is that of FDLIBM's `e_log.c`.
    fn log_tail<F: Float<Precision = Self>>(f: F) -> F {
        let s = f / (f + f.constant(2.0));
        let square = s * s;
        let half = f * f * f.constant(0.5);
        let rest = square * square.polynomial(c::DOUBLE_LOG);
        s * (half + rest) - half
    }

    fn reduce_large<F: Float<Precision = Self>>(magnitude: F) -> (F, F::Bits) {
        reduction::double(magnitude)
    }

    fn power<F: Float<Precision = Self>>(magnitude: F, power: F) -> F {
        pow::double(magnitude, power)
    }

    fn exp_of_twice<F: Float<Precision = Self>>(x: F) -> F {
        exp::exp_of_twice(x)
    }

    fn erfc_beyond_one<F: Float<Precision = Self>>(magnitude: F) -> F {
        erf::erfc_of_magnitude(magnitude)
    }
}
