//! Sine, cosine and tangent.
//!
//! The argument is reduced to within pi / 4 of a multiple of pi / 2: small ones by subtracting the
//! multiple of pi / 2 in three parts (Cody and Waite), large ones by multiplying with just those
//! binary digits of 2 / pi that matter (M. Payne and R. Hanek, *Radian reduction for trigonometric
//! functions*, SIGNUM Newsletter 18, 1983), in integers.

use super::lanes::{Bits, BitsExt, Float, FloatExt};
use super::precision::Precision;

/// How far a magnitude is from the nearest multiple of pi / 2, and in the low two bits which one.
fn reduce<F: Float>(magnitude: F) -> (F, F::Bits) {
    let (n, count) = magnitude.nearest(std::f64::consts::FRAC_2_PI);
    let subtract = |r: F, part: f64| n.fma(r.constant(-part), r);
    let r = F::Precision::HALF_PI.into_iter().fold(magnitude, subtract);
    let large = magnitude.constant(F::Precision::REDUCIBLE).below(magnitude);
    F::rarely(large, (r, count), || {
        let (r, quarter) = F::Precision::reduce_large(magnitude);
        // Infinity has no remainder.
        (r + magnitude * magnitude.constant(0.0), quarter)
    })
}

/// Sine and cosine of what is within pi / 4 of zero.
fn sine_cosine<F: Float>(r: F) -> (F, F) {
    let square = r * r;
    let sine = square.polynomial(F::Precision::SIN).fma(square * r, r);
    let cosine = square.polynomial(F::Precision::COS).fma(square, r.constant(-0.5));
    (sine, cosine.fma(square, r.constant(1.0)))
}

/// The sign bit if the low bit is set.
fn low_bit_as_sign<F: Float>(bits: F::Bits) -> F::Bits {
    bits.left(F::Precision::FLOAT.bits() - 1)
}

fn is_odd<F: Float>(like: F, bits: F::Bits) -> F::Mask {
    let one = like.integer(1);
    (bits & one).equals(one)
}

pub(super) fn sin<F: Float>(x: F) -> F {
    let (r, quarter) = reduce(x.abs());
    let (sine, cosine) = sine_cosine(r);
    let y = F::select(is_odd(x, quarter), cosine, sine);
    y.flip_sign(low_bit_as_sign::<F>(quarter.right(1)) ^ x.sign_bit())
}

pub(super) fn cos<F: Float>(x: F) -> F {
    let (r, quarter) = reduce(x.abs());
    let (sine, cosine) = sine_cosine(r);
    let y = F::select(is_odd(x, quarter), sine, cosine);
    y.flip_sign(low_bit_as_sign::<F>((quarter + x.integer(1)).right(1)))
}

/// The tangent of what is left, or its negative inverse.
pub(super) fn tan<F: Float>(x: F) -> F {
    let (r, quarter) = reduce(x.abs());
    let square = r * r;
    let tangent = square.polynomial(F::Precision::TAN).fma(square * r, r);
    let inverse = x.constant(1.0) / tangent;
    let y = F::select(is_odd(x, quarter), inverse, tangent);
    y.flip_sign(low_bit_as_sign::<F>(quarter) ^ x.sign_bit())
}
