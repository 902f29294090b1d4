//! The error function and its complement.
//!
//! `erfc(x) = exp(-x^2) g(x) / (1 + 2 x)` for x >= 0, where g is nearly constant; it is a polynomial
//! in `(x - 4) / (x + 4)` (M. Shepherd and J. Laframboise, *Chebyshev approximation of
//! (1 + 2x) exp(x^2) erfc x in 0 <= x < inf*, Mathematics of Computation 36, 1981).

use super::coefficients::{SINGLE_ERFC_LOG2, SINGLE_EXP2_HALF};
use super::exp::{exp_of_negative_times, exp2_of_parts};
use super::lanes::{Float, FloatExt};
use super::precision::{Precision, Single};

/// `erfc(|x|)`.
pub(super) fn erfc_of_magnitude<F: Float>(x: F) -> F {
    let one = x.constant(1.0);
    // Where it has become zero.
    let magnitude = x.abs().clamp_above(x.constant(F::Precision::ERFC_ZERO));
    let four = x.constant(4.0);
    let t = (magnitude - four) / (magnitude + four);
    let g = t.polynomial(F::Precision::ERFC) / magnitude.fma(x.constant(2.0), one);
    let square = magnitude * magnitude;
    let square_rest = magnitude.fma(magnitude, -square);
    exp_of_negative_times(square, square_rest, g)
}

/// A polynomial for magnitudes up to 1.
fn erf_of_small<F: Float>(x: F) -> F {
    (x * x).horner(F::Precision::ERF).fma(x, x)
}

/// Near zero the complement is better taken of `erf`.
pub(super) fn erfc<F: Float>(x: F) -> F {
    let tail = erfc_of_magnitude(x);
    let large = F::select(x.below(x.constant(0.0)), x.constant(2.0) - tail, tail);
    let small = x.constant(1.0) - erf_of_small(x);
    F::select(x.abs().below(x.constant(0.75)), small, large)
}

/// Above 1, the complement; NaN is small, since what is made of exponents alone would lose it.
pub(super) fn erf<F: Float>(x: F) -> F {
    let one = x.constant(1.0);
    // Not negative as yet: its sign bit is none.
    let large = (one - F::Precision::erfc_beyond_one(x.abs())).flip_sign(x.sign_bit());
    F::select(one.below(x.abs()), large, erf_of_small(x))
}

/// Where `erfc` is only to be taken from one, of which it is a sixth at most: `exp2(p(x))`.
pub(super) fn erfc_beyond_one_in_single<F: Float<Precision = Single>>(magnitude: F) -> F {
    let x = magnitude.clamp_above(magnitude.constant(3.94));
    let t = x.horner(SINGLE_ERFC_LOG2);
    let (n, count) = t.nearest(1.0);
    // No smaller than 2^-26.
    exp2_of_parts(t - n, count, SINGLE_EXP2_HALF)
}
