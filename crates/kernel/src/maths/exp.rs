//! The exponential functions and those that are made of one exponential.
//!
//! `exp(x)` is split as `2^n exp(r)` (Cody and Waite, *Software Manual for the Elementary
//! Functions*, 1980). Here n is even and its half's power is multiplied twice, so that no power
//! leaves the format and results that are subnormal or infinite are rounded once, at the price of
//! a wider interval for r.

use super::lanes::{BitsExt, Float, FloatExt};
use super::precision::Precision;

/// `p` and `s` with `exp(x) = p * s * s`, where `p` is between 1/2 and 2. What is out of range is
/// brought to its edges, from which it still underflows or overflows.
pub(super) fn exp_parts<F: Float>(x: F) -> (F, F) {
    let (r, s) = reduce(x);
    let one = x.constant(1.0);
    (r.polynomial(F::Precision::EXP).fma(r, one).fma(r, one), s)
}

/// The same of `x + rest`, where `rest` is tiny.
pub(super) fn exp_parts_with_rest<F: Float>(x: F, rest: F) -> (F, F) {
    let (r, s) = reduce(x);
    let one = x.constant(1.0);
    let above_linear = r.polynomial(F::Precision::EXP) * (r * r);
    let first = one + (r + above_linear);
    (one + (r + first.fma(rest, above_linear)), s)
}

/// r and the power s with `exp(x) = exp(r) * s * s`.
fn reduce<F: Float>(x: F) -> (F, F) {
    let [low, high] = F::Precision::EXP_RANGE;
    // Room for results that are halved.
    let x = x.clamp_below(x.constant(low)).clamp_above(x.constant(high + 1.0));
    let (half, count) = x.nearest(0.5 * F::Precision::LOG2_E[0]);
    let [ln2, ln2_rest] = F::Precision::LN2;
    let r = half.fma(x.constant(-2.0 * ln2), x);
    let r = half.fma(x.constant(-2.0 * ln2_rest), r);
    (r, power_of_two(x, count))
}

/// 2 to the integer in the low bits of `count`.
pub(super) fn power_of_two<F: Float>(like: F, count: F::Bits) -> F {
    let mantissa = F::Precision::MANTISSA;
    F::from_bits(count.left(mantissa) + like.integer(F::Precision::BIAS << mantissa))
}

pub(super) fn exp<F: Float>(x: F) -> F {
    let (p, s) = exp_parts(x);
    p * s * s
}

pub(super) fn exp2<F: Float>(x: F) -> F {
    let [low, high] = F::Precision::EXP2_RANGE;
    let x = x.clamp_below(x.constant(low)).clamp_above(x.constant(high));
    let (half, count) = x.nearest(0.5);
    let r = half.fma(x.constant(-2.0), x);
    let p = r.polynomial(F::Precision::EXP2).fma(r, x.constant(1.0));
    let s = power_of_two(x, count);
    p * s * s
}

/// `exp(x) - 1 = 2^n expm1(r) + (2^n - 1)`, computed at half its size so that 2^n fits.
pub(super) fn expm1<F: Float>(x: F) -> F {
    let high = F::Precision::EXP_RANGE[1];
    let bounded = x.clamp_below(x.constant(F::Precision::EXPM1_LOW)).clamp_above(x.constant(high));
    let (n, count) = bounded.nearest(F::Precision::LOG2_E[0]);
    let [ln2, ln2_rest] = F::Precision::LN2;
    let r = n.fma(x.constant(-ln2), bounded);
    let r = n.fma(x.constant(-ln2_rest), r);
    let p = r.polynomial(F::Precision::EXPM1).fma(r * r, r);
    let s = power_of_two(x, count - x.integer(1));
    let y = p.fma(s, s - x.constant(0.5));
    // Keeps the sign of zero and the last bit of what is subnormal.
    let tiny = x.abs().below(x.constant(tiny::<F>()));
    F::select(tiny, x, y + y)
}

/// Below this, functions that begin with x, and whose next term is at least x^2, round to x or to
/// its neighbour, if at half a unit.
pub(super) fn tiny<F: Float>() -> f64 {
    f64::powi(2.0, -(F::Precision::MANTISSA as i32) - 2)
}

/// `exp(x) / (1 + exp(x))` of negative numbers, `1 / (1 + exp(-x))` of others: the exponential
/// never overflows and small results keep their digits.
pub(super) fn logistic<F: Float>(x: F) -> F {
    let e = exp(-x.abs());
    let one = x.constant(1.0);
    F::select(x.below(x.constant(0.0)), e, one) / (one + e)
}

/// `exp(|x|) / 2`.
fn half_exp<F: Float>(magnitude: F) -> F {
    let (p, s) = exp_parts(magnitude);
    p * s * (s * magnitude.constant(0.5))
}

pub(super) fn cosh<F: Float>(x: F) -> F {
    let half = half_exp(x.abs());
    half + x.constant(0.25) / half
}

/// A polynomial up to 1, where the difference of exponentials would cancel.
pub(super) fn sinh<F: Float>(x: F) -> F {
    let magnitude = x.abs();
    let half = half_exp(magnitude);
    let large = half - x.constant(0.25) / half;
    let square = magnitude * magnitude;
    let small = square.polynomial(F::Precision::SINH).fma(square * magnitude, magnitude);
    F::select(magnitude.below(x.constant(1.0)), small, large).copy_sign(x)
}

/// `expm1(2 |x|) / (expm1(2 |x|) + 2)`.
pub(super) fn tanh<F: Float>(x: F) -> F {
    let magnitude = x.abs();
    // Beyond, the result rounds to one.
    let magnitude =
        magnitude.clamp_above(x.constant(f64::from(F::Precision::MANTISSA) * 0.375 + 1.0));
    let e = expm1(magnitude + magnitude);
    (e / (e + x.constant(2.0))).copy_sign(x)
}
