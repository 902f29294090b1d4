//! Powers: `exp(y log(x))`, the logarithm in more than the precision of the result, since y makes
//! its error as large as the result's exponent.

use super::coefficients::{DOUBLE_LN2, POW_LOG, POWF_EXP2, POWF_LOG2, TWO_THIRDS};
use super::exp::{exp_parts_with_rest, power_of_two};
use super::lanes::{Float, FloatExt};
use super::log::{split, split_normal};
use super::precision::{Double, Precision, Single};

/// IEEE 754's `pow`: 1 if x is 1 or y is 0, even if the other is NaN; negative numbers have powers
/// that are integers.
pub(super) fn pow<F: Float>(x: F, y: F) -> F {
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|value| x.constant(value));
    let magnitude = x.abs();
    let power = F::Precision::power(magnitude, y);
    // One to the infinite power; powers of zero and infinity.
    let is_zero = magnitude.equals(zero);
    let is_infinite = magnitude.equals(infinity);
    let vanishes = is_zero ^ y.below(zero);
    let extreme = F::select(vanishes, zero, infinity);
    let power = F::select(is_zero | is_infinite, extreme, power);
    let power = F::select(magnitude.equals(one) & y.abs().equals(infinity), one, power);
    // Powers of negative numbers.
    let half = y * x.constant(0.5);
    let is_integer = y.floor().equals(y);
    let is_even = half.floor().equals(half);
    let negative = x.is_negative();
    let flipped = F::select(negative & is_integer & !is_even, -power, power);
    let has_none = x.below(zero) & !is_integer & !is_infinite;
    let propagates = has_none | x.is_nan() | y.is_nan();
    let power = F::select(propagates, x.constant(f64::NAN), flipped);
    F::select(x.equals(one) | y.equals(zero), one, power)
}

/// In double precision all the way, with short polynomials: what is left of them after rounding is
/// right to nearly half a unit.
pub(super) fn single<F: Float<Precision = Single>>(magnitude: F, power: F) -> F {
    let (x, y) = (magnitude.widen(), power.widen());
    // What is subnormal in single precision is normal here.
    let (e, m) = split_normal(x);
    let one = x.constant(1.0);
    let s = (m - one) / (m + one);
    let log2 = (s * s).polynomial(POWF_LOG2).fma(s, e);
    let [low, high] = Single::EXP2_RANGE.map(|limit| x.constant(limit));
    let t = (y * log2).clamp_below(low).clamp_above(high);
    let (n, count) = t.nearest(1.0);
    let r = t - n;
    F::narrow(r.polynomial(POWF_EXP2).fma(r, one) * power_of_two(x, count))
}

/// The logarithm in two parts, good to 2^-65: with `s = (m - 1) / (m + 1)`,
/// `log(m) = 2 s + 2/3 s^3 + s^5 p(s^2)`, where only p needs no second part.
fn log_in_parts<F: Float<Precision = Double>>(x: F) -> [F; 2] {
    let (e, m) = split(x);
    let [one, two] = [1.0, 2.0].map(|value| x.constant(value));
    let f = m - one;
    let divisor = f + two;
    let divisor_rest = f - (divisor - two);
    let inverse = one / divisor;
    let s = f * inverse;
    let s_rest = s.fma(-divisor_rest, s.fma(-divisor, f)) * inverse;

    let (z, z_rest) = exact_product(s, s);
    let z_rest = (s + s).fma(s_rest, z_rest);
    // c = 2/3 + z p(z)
    let p = z.polynomial(POW_LOG);
    let (q, q_rest) = exact_product(z, p);
    let q_rest = z_rest.fma(p, q_rest);
    let [third, third_rest] = TWO_THIRDS.map(|part| x.constant(part));
    let (c, c_rest) = ordered_sum(third, q);
    let c_rest = c_rest + (third_rest + q_rest);
    // v = s^3 c
    let (w, w_rest) = exact_product(s, z);
    let w_rest = w_rest + s.fma(z_rest, s_rest * z);
    let (v, v_rest) = exact_product(w, c);
    let v_rest = v_rest + w.fma(c_rest, w_rest * c);

    let (log_m, log_m_rest) = ordered_sum(s + s, v);
    let log_m_rest = log_m_rest + (v_rest + (s_rest + s_rest));
    let [ln2, ln2_rest] = DOUBLE_LN2.map(|part| x.constant(part));
    let (sum, sum_rest) = ordered_sum(e * ln2, log_m);
    let rest = e.fma(ln2_rest, sum_rest + log_m_rest);
    let (high, low) = ordered_sum(sum, rest);
    [high, low]
}

pub(super) fn double<F: Float<Precision = Double>>(magnitude: F, power: F) -> F {
    let [log, log_rest] = log_in_parts(magnitude);
    let (t, t_rest) = exact_product(power, log);
    let t_rest = power.fma(log_rest, t_rest);
    // Where the product overflows, what it lost is no number.
    let bounded = t.abs().below(t.constant(1000.0));
    let (p, s) = exp_parts_with_rest(t, F::select(bounded, t_rest, t.constant(0.0)));
    p * s * s
}

/// A product and what rounding it lost.
fn exact_product<F: Float>(a: F, b: F) -> (F, F) {
    let product = a * b;
    (product, a.fma(b, -product))
}

/// A sum and what rounding it lost; `large` is larger in magnitude, or zero.
fn ordered_sum<F: Float>(large: F, small: F) -> (F, F) {
    let sum = large + small;
    (sum, small - (sum - large))
}
