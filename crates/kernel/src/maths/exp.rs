//! The exponential functions and those that are made of one exponential.
//!
//! `exp(x)` is split as `2^n exp(r)` (Cody and Waite, *Software Manual for the Elementary
//! Functions*, 1980). No power may leave the format on the way, and results that are subnormal or
//! infinite must be rounded once. Where x may have either sign, n is even and its half's power is
//! multiplied twice, at the price of a wider interval for r. Where the sign is known, the power is
//! moved towards one by a constant, which is multiplied last.

use std::f64::consts::LN_2;

use super::coefficients::SINGLE_EXP2_OF_FRACTION;
use super::lanes::{BitsExt, Float, FloatExt};
use super::precision::{Precision, Single};

pub(super) fn exp<F: Float>(x: F) -> F {
    let (r, s) = reduce_wide(x);
    series(r, F::Precision::EXP) * s * s
}

/// `exp(x + rest) = p * s * s`, where `rest` is tiny.
pub(super) fn exp_parts_with_rest<F: Float>(x: F, rest: F) -> (F, F) {
    let (r, s) = reduce_wide(x);
    (series_with_rest(r, rest, F::Precision::EXP), s)
}

/// r and the power s with `exp(x) = exp(r) * s * s`. What is out of range is brought to its edges:
/// above, it still overflows, and below, the exponent of s is the least, which makes s zero. So what
/// a mask hides takes no longer than the rest, as products do that underflow.
fn reduce_wide<F: Float>(x: F) -> (F, F) {
    let low = -2.0 * f64::floor(F::Precision::BIAS as f64 * LN_2);
    let high = F::Precision::EXP_HIGH;
    let x = x.clamp_below(x.constant(low)).clamp_above(x.constant(high));
    let (half, count) = x.nearest(0.5 * F::Precision::LOG2_E[0]);
    let [ln2, ln2_rest] = F::Precision::LN2;
    let r = half.fma(x.constant(-2.0 * ln2), x);
    let r = half.fma(x.constant(-2.0 * ln2_rest), r);
    (r, power_of_two(x, count))
}

/// r and the power s with `exp(x) = exp(r) * s * 2^-shift`.
fn reduce_narrow<F: Float>(x: F, shift: i64) -> (F, F) {
    let (n, count) = x.nearest(F::Precision::LOG2_E[0]);
    let [ln2, ln2_rest] = F::Precision::LN2;
    let r = n.fma(x.constant(-ln2), x);
    let r = n.fma(x.constant(-ln2_rest), r);
    (r, shifted_power_of_two(x, count, shift))
}

/// `1 + r + r^2 p(r)`, one added last: what is below is smaller and so are its errors.
fn series<F: Float>(r: F, coefficients: &[f64]) -> F {
    r.constant(1.0) + r.polynomial(coefficients).fma(r * r, r)
}

/// The same times `1 + rest`, rounded nearly as well.
fn series_with_rest<F: Float>(r: F, rest: F, coefficients: &[f64]) -> F {
    let one = r.constant(1.0);
    let above_linear = r.polynomial(coefficients) * (r * r);
    let first = one + (r + above_linear);
    one + (r + first.fma(rest, above_linear))
}

/// 2 to the integer in the low bits of `count`.
pub(super) fn power_of_two<F: Float>(like: F, count: F::Bits) -> F {
    shifted_power_of_two(like, count, 0)
}

fn shifted_power_of_two<F: Float>(like: F, count: F::Bits, shift: i64) -> F {
    let mantissa = F::Precision::MANTISSA;
    F::from_bits(count.left(mantissa) + like.integer((F::Precision::BIAS + shift) << mantissa))
}

/// Half of the exponents: from 2^-2n times 2^n to 2^n, powers fit the format.
fn half_range<F: Float>() -> i64 {
    F::Precision::BIAS / 2 + 1
}

/// `2^shift`, which may be beyond the integers.
fn scale(shift: i64) -> f64 {
    (shift as f64).exp2()
}

/// `exp(-magnitude)`; the power is zero from where the magnitude is brought to its edge.
fn exp_of_negative<F: Float>(magnitude: F) -> F {
    let shift = half_range::<F>();
    let most = (F::Precision::BIAS + shift) as f64 * LN_2;
    let x = -magnitude.clamp_above(magnitude.constant(most));
    let (r, s) = reduce_narrow(x, shift);
    series(r, F::Precision::EXPM1) * s * x.constant(scale(-shift))
}

/// `exp(-magnitude - rest) * factor` where `rest` is tiny and the magnitude in range; rounded
/// once if it is subnormal.
pub(super) fn exp_of_negative_times<F: Float>(magnitude: F, rest: F, factor: F) -> F {
    let shift = half_range::<F>();
    let (r, s) = reduce_narrow(-magnitude, shift);
    let p = series_with_rest(r, -rest, F::Precision::EXPM1);
    p * factor * s * magnitude.constant(scale(-shift))
}

/// `exp(magnitude) / 2`.
fn half_exp<F: Float>(magnitude: F) -> F {
    let shift = -half_range::<F>();
    let x = magnitude.clamp_above(magnitude.constant(F::Precision::EXP_HIGH + 1.0));
    let (r, s) = reduce_narrow(x, shift);
    series(r, F::Precision::EXPM1) * s * x.constant(scale(-shift - 1))
}

pub(super) fn exp2<F: Float>(x: F) -> F {
    let (low, high) = (-2.0 * F::Precision::BIAS as f64, F::Precision::EXP2_RANGE[1]);
    let x = x.clamp_below(x.constant(low)).clamp_above(x.constant(high));
    let (half, count) = x.nearest(0.5);
    let r = half.fma(x.constant(-2.0), x);
    let p = r.polynomial(F::Precision::EXP2).fma(r, x.constant(1.0));
    let s = power_of_two(x, count);
    p * s * s
}

/// `exp(x) - 1 = 2^n expm1(r) + (2^n - 1)`, computed at half its size so that 2^n fits.
pub(super) fn expm1<F: Float>(x: F) -> F {
    let high = F::Precision::EXP_HIGH;
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
    let e = exp_of_negative(x.abs());
    let one = x.constant(1.0);
    F::select(x.below(x.constant(0.0)), e, one) / (one + e)
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

/// `exp(2 x)` of what is neither negative nor large.
pub(super) fn exp_of_twice<F: Float>(x: F) -> F {
    let (r, s) = reduce_narrow(x + x, 0);
    series(r, F::Precision::EXPM1) * s
}

/// The same as `exp2(2 x log2(e))`: that the factor is rounded matters most where the result is
/// large, of which `tanh` takes the inverse from one.
pub(super) fn exp_of_twice_in_single<F: Float<Precision = Single>>(x: F) -> F {
    let factor = 2.0 * Single::LOG2_E[0];
    let (n, count) = x.nearest(factor);
    let r = x.fma(x.constant(factor), -n);
    exp2_of_parts(r, count, SINGLE_EXP2_OF_FRACTION)
}

/// `exp2(n + r)` with the integer n in the low bits of `count`, by coefficients for |r| <= 1/2; it
/// must stay within the format.
pub(super) fn exp2_of_parts<F: Float>(r: F, count: F::Bits, coefficients: &[f64]) -> F {
    let power = r.horner(coefficients).fma(r, r.constant(1.0));
    F::from_bits(power.bits() + count.left(F::Precision::MANTISSA))
}

/// `1 - 2 / (exp(2 |x|) + 1)`, which is accurate from about where it is 1/2; below, a polynomial.
pub(super) fn tanh<F: Float>(x: F) -> F {
    let magnitude = x.abs();
    // Beyond, the result rounds to one.
    let limit = f64::from(F::Precision::MANTISSA) * 0.375 + 1.0;
    let bounded = magnitude.clamp_above(x.constant(limit));
    let e = F::Precision::exp_of_twice(bounded);
    let one = x.constant(1.0);
    let large = one - x.constant(2.0) / (e + one);
    let square = magnitude * magnitude;
    let small = square.polynomial(F::Precision::TANH).fma(square * magnitude, magnitude);
    // NaN is small: what is made of exponents alone loses it.
    F::select(x.constant(F::Precision::TANH_SMALL).below(magnitude), large, small).copy_sign(x)
}
