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
    if a.is_infinite() || b.is_infinite() {
        return f64::INFINITY;
    }
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (large, small) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    if (0.5..=2.0).contains(&large) {
        let excess = sum_with_squares(-1.0, large, small);
        if excess > -0.5 {
            return 0.5 * libm::log1p(excess);
        }
    }
    libm::log(libm::hypot(a, b))
}

/// c + a² + b² as if computed with twice the digits, which matters where that nearly vanishes.
fn sum_with_squares(c: f64, a: f64, b: f64) -> f64 {
    let (aa, bb) = (a * a, b * b);
    let errors = libm::fma(a, a, -aa) + libm::fma(b, b, -bb);
    let (sum, first) = exact_sum(c, aa);
    let (sum, second) = exact_sum(sum, bb);
    sum + (first + second + errors)
}

/// The rounded sum and what rounding lost (Knuth).
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let rest = sum - a;
    (sum, (a - (sum - rest)) + (b - rest))
}

/// log |1 + z| + i arg (1 + z), precise for small z.
pub(super) fn log1p(z: C128) -> C128 {
    let C128 { re: a, im: b } = z;
    let mut re = log_magnitude(1.0 + a, b);
    if a.abs() <= 2.0 && b.abs() <= 2.0 {
        // |1 + z|² - 1 = 2a + a² + b²
        let excess = sum_with_squares(2.0 * a, a, b);
        if excess > -0.5 {
            re = 0.5 * libm::log1p(excess);
        }
    }
    C128::new(re, libm::atan2(b, 1.0 + a))
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
