//! The logarithms and the inverse hyperbolic functions.
//!
//! `x = 2^e m` with m between sqrt(1/2) and sqrt(2); what is left is `log(1 + f)` with `f = m - 1`,
//! which [`Precision::log_tail`] gives less f.

use super::exp::tiny;
use super::lanes::{BitsExt, Float};
use super::precision::Precision;

/// The bits of sqrt(1/2): taken from those of a number they leave the exponent of m.
fn sqrt_half<F: Float>(like: F) -> F::Bits {
    like.integer(F::Precision::bits_of(std::f64::consts::FRAC_1_SQRT_2) as i64)
}

/// e and m of a positive finite number.
pub(super) fn split<F: Float>(x: F) -> (F, F) {
    let subnormal = x.below(x.constant(F::Precision::MIN_NORMAL));
    let lift = f64::from(F::Precision::MANTISSA + 1);
    let (e, m) = split_normal(F::select(subnormal, x * x.constant(lift.exp2()), x));
    (e - F::select(subnormal, x.constant(lift), x.constant(0.0)), m)
}

/// The same of what is not subnormal.
pub(super) fn split_normal<F: Float>(x: F) -> (F, F) {
    let mantissa = F::Precision::MANTISSA;
    let exponent = (x.bits() - sqrt_half(x)).right_signed(mantissa);
    let m = F::from_bits(x.bits() - exponent.left(mantissa));
    (F::Precision::small_integer(x, exponent), m)
}

/// `y`, but the right thing where `x` is no positive finite number.
pub(super) fn logarithm_or_special<F: Float>(x: F, y: F) -> F {
    let zero = x.constant(0.0);
    let infinity = x.constant(f64::INFINITY);
    let outside = F::select(x.equals(zero), -infinity, x.constant(f64::NAN));
    let inside = F::select(x.equals(infinity), infinity, y);
    F::select(zero.below(x), inside, outside)
}

/// `e ln 2 + log(1 + f)`.
fn assemble<F: Float>(e: F, f: F) -> F {
    let [ln2, ln2_rest] = F::Precision::LN2;
    let tail = F::Precision::log_tail(f);
    e.fma(f.constant(ln2), f + e.fma(f.constant(ln2_rest), tail))
}

pub(super) fn log<F: Float>(x: F) -> F {
    let (e, m) = split(x);
    logarithm_or_special(x, assemble(e, m - x.constant(1.0)))
}

/// `e + log(1 + f) log2(e)`, the product in two parts.
pub(super) fn log2<F: Float>(x: F) -> F {
    let (e, m) = split(x);
    let f = m - x.constant(1.0);
    let [factor, factor_rest] = F::Precision::LOG2_E.map(|part| x.constant(part));
    let product = f * factor;
    let rest = F::Precision::log_tail(f).fma(factor, f.fma(factor_rest, f.fma(factor, -product)));
    logarithm_or_special(x, (e + product) + rest)
}

/// `1 + x = 2^e m`; f is taken from x itself rather than from the rounded sum.
pub(super) fn log1p<F: Float>(x: F) -> F {
    let mantissa = F::Precision::MANTISSA;
    let sum = x + x.constant(1.0);
    let exponent = (sum.bits() - sqrt_half(x)).right_signed(mantissa);
    // 2^(2 - e), which is normal for each e that occurs.
    let scale = x.integer((F::Precision::BIAS + 2) << mantissa) - exponent.left(mantissa);
    let scale = F::from_bits(scale);
    let quarter = x.constant(0.25);
    let f = (x * quarter).fma(scale, scale.fma(quarter, x.constant(-1.0)));
    let y = logarithm_or_special(sum, assemble(F::Precision::small_integer(x, exponent), f));
    F::select(x.abs().below(x.constant(tiny::<F>())), x, y)
}

/// From here on squares might overflow, and adding one makes no difference.
const LARGE: f64 = (1u64 << 60) as f64;

/// `log(1 + small)`, or `log(2 large)`.
fn log_of_doubled<F: Float>(large: F, small: F) -> F {
    let is_large = large.constant(LARGE).below(large);
    let extra = F::select(is_large, large.constant(std::f64::consts::LN_2), large.constant(0.0));
    log1p(F::select(is_large, large, small)) + extra
}

/// `log(1 + t)` with `t = |x| + x^2 / (1 + sqrt(1 + x^2))`.
pub(super) fn asinh<F: Float>(x: F) -> F {
    let one = x.constant(1.0);
    let magnitude = x.abs();
    let square = magnitude * magnitude;
    let t = magnitude + square / (one + (one + square).sqrt());
    log_of_doubled(magnitude, t).copy_sign(x)
}

/// `log(1 + t + sqrt(t (t + 2)))` with `t = x - 1`.
pub(super) fn acosh<F: Float>(x: F) -> F {
    let one = x.constant(1.0);
    let t = x - one;
    let root = (t * (t + x.constant(2.0))).sqrt();
    F::select(x.below(one), x.constant(f64::NAN), log_of_doubled(x, t + root))
}

/// `log1p(2 |x| / (1 - |x|)) / 2`.
pub(super) fn atanh<F: Float>(x: F) -> F {
    let magnitude = x.abs();
    let t = (magnitude + magnitude) / (x.constant(1.0) - magnitude);
    (log1p(t) * x.constant(0.5)).copy_sign(x)
}
