//! Inverse trigonometric and hyperbolic functions of complex numbers.
//!
//! Arcsine and arccosine follow Hull, Fairgrieve and Tang, "Implementing the complex arcsine and
//! arccosine functions using exception handling" (1997): with r and s the distances from ±1,
//! a = (r + s)/2 and b = x/a, the result is asin b and acosh a, rearranged where that cancels. The
//! others are made of them or, for atanh, follow Kahan, "Branch cuts for complex elementary
//! functions" (1987).

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

use rxla_hlo::native::C128;

/// asin and acos of one number of the first quadrant.
struct Arcs {
    asin_re: f64,
    acos_re: f64,
    /// The imaginary part of asin; minus that of acos.
    im: f64,
}

pub(super) fn asin(z: C128) -> C128 {
    if let Some(special) = asin_of_special(z) {
        return special;
    }
    let arcs = arcs(z.re.abs(), z.im.abs());
    C128::new(arcs.asin_re.copysign(z.re), arcs.im.copysign(z.im))
}

pub(super) fn acos(z: C128) -> C128 {
    if z.re.is_nan() || z.im.is_nan() {
        let w = asin(z);
        // Only asin of zero real part has a real part that is no NaN.
        return C128::new(if w.re.is_nan() { w.re } else { FRAC_PI_2 - w.re }, -w.im);
    }
    let arcs = arcs(z.re.abs(), z.im.abs());
    let re = if z.re.is_sign_negative() { PI - arcs.acos_re } else { arcs.acos_re };
    C128::new(re, -arcs.im.copysign(z.im))
}

/// The imaginary part of asin, mirrored: asinh z = i asin(-iz).
pub(super) fn asinh(z: C128) -> C128 {
    let w = asin(C128::new(z.im, z.re));
    C128::new(w.im, w.re)
}

/// i acos z above the cut, -i acos z below.
pub(super) fn acosh(z: C128) -> C128 {
    let w = acos(z);
    if w.im.is_nan() || w.re.is_nan() {
        return C128::new(w.im.abs(), w.re);
    }
    C128::new(w.im.abs(), w.re.copysign(z.im))
}

/// NaN in, and what is still known of the result.
fn asin_of_special(z: C128) -> Option<C128> {
    let C128 { re, im } = z;
    if !re.is_nan() && !im.is_nan() {
        return None;
    }
    Some(if im.is_infinite() {
        C128::new(f64::NAN, im)
    } else if re.is_infinite() {
        C128::new(f64::NAN, f64::INFINITY)
    } else if re == 0.0 {
        C128::new(re, f64::NAN)
    } else {
        C128::new(f64::NAN, f64::NAN)
    })
}

/// Up to here asin b and acos b lose nothing.
const B_CROSSOVER: f64 = 0.6417;
/// Up to here acosh a is better computed from a - 1.
const A_CROSSOVER: f64 = 1.5;
/// Squares of larger numbers might overflow.
const HUGE: f64 = 1e150;
/// The least normal number.
const TINY: f64 = f64::MIN_POSITIVE;

/// For x, y ≥ 0, not NaN.
fn arcs(x: f64, y: f64) -> Arcs {
    if x > HUGE || y > HUGE {
        let acos_re = libm::atan2(y, x);
        let (large, small) = (x.max(y), x.min(y));
        let ratio = if large.is_infinite() { 0.0 } else { small / large };
        return Arcs {
            asin_re: libm::atan2(x, y),
            acos_re,
            im: LN_2 + libm::log(large) + 0.5 * libm::log1p(ratio * ratio),
        };
    }
    if y <= f64::EPSILON * (x - 1.0).abs() || (x == 1.0 && y < TINY) {
        return arcs_at_axis(x, y);
    }
    let (right, left) = (x + 1.0, x - 1.0);
    let r = libm::hypot(right, y);
    let s = libm::hypot(left, y);
    let a = 0.5 * (r + s);
    let b = x / a;
    // r - right and s ∓ left, without cancellation.
    let r_excess = y * y / (r + right);
    let s_excess = if left < 0.0 { y * y / (s - left) } else { s + left };
    let im = if a <= A_CROSSOVER {
        let a_minus_one = 0.5 * (r_excess + s_excess);
        libm::log1p(a_minus_one + (a_minus_one * (a + 1.0)).sqrt())
    } else {
        libm::log(a + (a * a - 1.0).sqrt())
    };
    if b <= B_CROSSOVER {
        return Arcs { asin_re: libm::asin(b), acos_re: libm::acos(b), im };
    }
    // √(a² - x²)
    let root = if left <= 0.0 {
        (0.5 * (a + x) * (r_excess + (s - left))).sqrt()
    } else {
        y * (0.5 * ((a + x) / (r + right) + (a + x) / (s + left))).sqrt()
    };
    Arcs { asin_re: libm::atan2(x, root), acos_re: libm::atan2(root, x), im }
}

/// So near the real axis that y counts only to first order.
fn arcs_at_axis(x: f64, y: f64) -> Arcs {
    let (right, left) = (x + 1.0, x - 1.0);
    if left < 0.0 {
        let slope = (right * -left).sqrt();
        return Arcs { asin_re: libm::asin(x), acos_re: libm::acos(x), im: y / slope };
    }
    if left == 0.0 {
        let root = y.sqrt();
        return Arcs { asin_re: FRAC_PI_2 - root, acos_re: root, im: root };
    }
    let slope = (right * left).sqrt();
    Arcs {
        asin_re: FRAC_PI_2,
        acos_re: y / slope,
        im: if x > 1e8 { LN_2 + libm::log(x) } else { libm::log1p(left + slope) },
    }
}

/// ¼ log1p(4x / ((1 - x)² + y²)) + ½ i arg(1 - x² - y² + 2iy).
pub(super) fn atanh(z: C128) -> C128 {
    let C128 { re, im } = z;
    let (x, y) = (re.abs(), im.abs());
    if y == 0.0 && x <= 1.0 {
        return C128::new(libm::atanh(re), im);
    }
    if x == 0.0 && !y.is_nan() {
        return C128::new(re, libm::atan(im));
    }
    if x.is_nan() || y.is_nan() {
        // Far away the real part is zero and the imaginary one a right angle.
        return if x.is_infinite() {
            C128::new(0f64.copysign(re), f64::NAN)
        } else if y.is_infinite() {
            C128::new(0f64.copysign(re), FRAC_PI_2.copysign(im))
        } else {
            C128::new(if x == 0.0 { re } else { f64::NAN }, f64::NAN)
        };
    }
    if x > 1e8 || y > 1e8 {
        // atanh z = ±iπ/2 + 1/z + …
        return C128::new(reciprocal_re(x, y).copysign(re), FRAC_PI_2.copysign(im));
    }
    let real = if x == 1.0 && y < f64::EPSILON {
        0.5 * (LN_2 - libm::log(y))
    } else {
        0.25 * libm::log1p(4.0 * x / ((x - 1.0) * (x - 1.0) + y * y))
    };
    let angle = libm::atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    C128::new(real.copysign(re), (0.5 * angle).copysign(im))
}

/// x / (x² + y²) without overflow.
fn reciprocal_re(x: f64, y: f64) -> f64 {
    if x.is_infinite() || y.is_infinite() {
        return 0.0;
    }
    if x >= y {
        let ratio = y / x;
        1.0 / (x + y * ratio)
    } else {
        let ratio = x / y;
        ratio / (y + x * ratio)
    }
}
