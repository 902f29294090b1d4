//! Roots, logarithms and powers of complex numbers.

use rxla_hlo::native::C128;

use super::arithmetic::{divide, multiply};
use super::magnitude;

/// The root with non-negative real part; below the cut the imaginary part is negative.
pub(super) fn sqrt(z: C128) -> C128 {
    let C128 { re: a, im: b } = z;
    if a == 0.0 && b == 0.0 {
        return C128::new(0.0, b);
    }
    if b.is_infinite() {
        return C128::new(f64::INFINITY, b);
    }
    if a.is_infinite() {
        let other = if b.is_nan() { f64::NAN } else { 0f64.copysign(b) };
        return if a > 0.0 {
            C128::new(a, other)
        } else {
            C128::new(other.abs(), f64::INFINITY.copysign(b))
        };
    }
    // Powers of four, so that roots of scales are exact, keep the sum below away from both ends.
    let largest = a.abs().max(b.abs());
    let (scale, root) = if largest > 1e300 {
        (0.0625, 4.0)
    } else if largest < 1e-290 {
        (2f64.powi(108), 2f64.powi(-54))
    } else {
        (1.0, 1.0)
    };
    let (a, b) = (a * scale, b * scale);
    let t = (0.5 * (a.abs() + libm::hypot(a, b))).sqrt();
    let other = b.abs() / (2.0 * t);
    if a >= 0.0 {
        C128::new(t * root, (other * root).copysign(b))
    } else {
        C128::new(other * root, (t * root).copysign(b))
    }
}

/// 1 / √z. Zero gives an infinity of unknown direction, infinities a zero, as in XLA.
pub(super) fn rsqrt(z: C128) -> C128 {
    if z.re == 0.0 && z.im == 0.0 {
        return C128::new(f64::INFINITY, f64::NAN);
    }
    if z.re.is_infinite() || (z.im.is_infinite() && z.re.is_nan()) {
        return C128::new(0f64.copysign(z.re), -0f64.copysign(z.im));
    }
    if z.im.is_infinite() {
        return C128::new(0.0, -0f64.copysign(z.im));
    }
    divide(C128::new(1.0, 0.0), sqrt(z))
}

/// z / |z|, and 0 for 0.
pub(super) fn sign(z: C128) -> C128 {
    let magnitude = magnitude(z);
    if magnitude == 0.0 { C128::new(0.0, 0.0) } else { z / magnitude }
}

/// log |z| + i arg z.
pub(super) fn log(z: C128) -> C128 {
    C128::new(log_magnitude(z.re, z.im), libm::atan2(z.im, z.re))
}

fn log_magnitude(a: f64, b: f64) -> f64 {
    let (large, small) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    if large.is_nan() || small.is_nan() {
        // The maximum drops a NaN, but infinity beside it is still infinite.
        return if large.is_infinite() { large } else { a + b };
    }
    if !(0.5..=2.0).contains(&large) {
        return libm::log(libm::hypot(a, b));
    }
    // |z|² - 1 = (x - 1)(x + 1) + y² without cancellation: x - 1 is exact here.
    let excess = sum_of_products(large - 1.0, large + 1.0, small, small);
    if excess > -0.5 { 0.5 * libm::log1p(excess) } else { libm::log(libm::hypot(a, b)) }
}

/// ab + cd with an error far below the last bit of the result, unless that nearly vanishes.
fn sum_of_products(a: f64, b: f64, c: f64, d: f64) -> f64 {
    let (p, q) = (a * b, c * d);
    let errors = libm::fma(a, b, -p) + libm::fma(c, d, -q);
    let sum = p + q;
    // Knuth's exact error of a sum.
    let rest = sum - p;
    let error = (p - (sum - rest)) + (q - rest);
    sum + (error + errors)
}

/// log |1 + z| + i arg (1 + z), precise for small z.
pub(super) fn log1p(z: C128) -> C128 {
    let C128 { re: a, im: b } = z;
    let arg = libm::atan2(b, 1.0 + a);
    if a.abs() > 2.0 || b.abs() > 2.0 || a.is_nan() || b.is_nan() {
        return C128::new(log_magnitude(1.0 + a, b), arg);
    }
    // |1 + z|² - 1 = a (2 + a) + b²; 2 + a may round, so its error is added.
    let two_plus = 2.0 + a;
    let lost = a - (two_plus - 2.0);
    let excess = sum_of_products(a, two_plus, b, b) + a * lost;
    let re = if excess > -0.5 { 0.5 * libm::log1p(excess) } else { log_magnitude(1.0 + a, b) };
    C128::new(re, arg)
}

/// x^y = |x|^c e^(-d arg x) e^(i (c arg x + d log |x|)) for y = c + di, with the exceptions that
/// XLA makes: x^0 and 1^y are 1, 0^c is 0 and ∞^c is ∞ or 0.
pub(super) fn power(x: C128, y: C128) -> C128 {
    let C128 { re: c, im: d } = y;
    let one = C128::new(1.0, 0.0);
    let zero = C128::new(0.0, 0.0);
    if (c == 0.0 && d == 0.0) || x == one {
        return one;
    }
    if x.re == f64::INFINITY && x.im == 0.0 && d == 0.0 {
        if c > 0.0 {
            return C128::new(f64::INFINITY, 0.0);
        }
        if c < 0.0 {
            return zero;
        }
    }
    let size = magnitude(x);
    if size == 0.0 && d == 0.0 && c > 0.0 {
        return zero;
    }
    let angle = libm::atan2(x.im, x.re);
    let scale = libm::pow(size, c) * libm::exp(-d * angle);
    let turn = c * angle + if d == 0.0 { 0.0 } else { d * log(x).re };
    let (sin, cos) = libm::sincos(turn);
    C128::new(scale * cos, scale * sin)
}

/// -i log((x + iy) / √(x² + y²)).
pub(super) fn atan2(y: C128, x: C128) -> C128 {
    let i = C128::new(0.0, 1.0);
    let squares = multiply(x, x) + multiply(y, y);
    let w = log(divide(x + multiply(i, y), sqrt(squares)));
    C128::new(w.im, -w.re)
}

#[cfg(test)]
mod tests {
    use super::super::exponential::exp;
    use super::*;

    #[test]
    fn root_and_square_agree() {
        for z in [(3.0, 4.0), (-3.0, 4.0), (-3.0, -4.0), (1e-320, 1e-310), (1.7e308, -1.7e308)] {
            let z = C128::new(z.0, z.1);
            let w = sqrt(z) * sqrt(z);
            assert!((w - z).norm() <= 1e-15 * z.norm() + 1e-322, "{z} {w}");
        }
        assert_eq!(exp(log(C128::new(0.0, 1.0))).im, 1.0);
    }
}
