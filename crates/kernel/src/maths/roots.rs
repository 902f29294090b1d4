//! Roots.

use super::lanes::{BitsExt, Float, FloatExt};
use super::precision::Precision;

pub(super) fn rsqrt<F: Float>(x: F) -> F {
    x.constant(1.0) / x.sqrt()
}

/// The exponent is divided by three; of what is left, between 1 and 8, the inverse root `r` is
/// found by a polynomial and by steps `r (1 + h / 3 + 2 h^2 / 9 + 14 h^3 / 81)` with
/// `h = 1 - m r^3`, which leave an error of order h^4. The root is `m r^2`, corrected once.
pub(super) fn cbrt<F: Float>(x: F) -> F {
    let mantissa = F::Precision::MANTISSA;
    let bias = F::Precision::BIAS;
    let [zero, one, infinity] = [0.0, 1.0, f64::INFINITY].map(|value| x.constant(value));
    let magnitude = x.abs();
    // A third of an exponent that makes what is subnormal normal.
    let lift = 2.0 * (f64::from(mantissa) / 6.0 + 1.0).floor();
    let subnormal = magnitude.below(x.constant(F::Precision::MIN_NORMAL));
    let lifted = magnitude * x.constant((3.0 * lift).exp2());
    let bits = F::select(subnormal, lifted, magnitude).bits();
    // Made a multiple of three at the exponent field of one; 10923 / 2^15 is close enough to 1/3.
    let shift = (3 - bias % 3) % 3;
    let exponent = bits.right(mantissa) + x.integer(shift);
    let third = (exponent * x.integer(10923)).right(15);
    let rest = exponent - third * x.integer(3) + x.integer(bias);
    let fraction = bits & x.integer((1 << mantissa) - 1);
    let m = F::from_bits(fraction | rest.left(mantissa));

    let mut r = m.polynomial(F::Precision::INVERSE_CBRT);
    for _ in 0..F::Precision::INVERSE_CBRT_STEPS {
        let h = one - m * r * (r * r);
        let correction = h.horner(&[1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0]);
        r = (r * h).fma(correction, r);
    }
    let y = m * (r * r);
    let residual = m - y * y * y;
    let y = (residual * (r * r)).fma(x.constant(1.0 / 3.0), y);

    let scale = third - x.integer((bias + shift) / 3 - bias);
    let y = y * F::from_bits(scale.left(mantissa));
    let y = F::select(subnormal, y * x.constant((-lift).exp2()), y);
    let ordinary = zero.below(magnitude) & magnitude.below(infinity);
    F::select(ordinary, y.copy_sign(x), x)
}
