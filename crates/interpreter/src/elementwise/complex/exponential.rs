//! The exponential of a complex number and what is made of it. Special values are those of C's
//! annex G.

use rxla_hlo::native::C128;

use super::arithmetic::divide;

/// e^(a + bi) = e^a (cos b + i sin b).
pub(super) fn exp(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(libm::exp(z.re), z.im);
    }
    if z.re.is_infinite() && !z.im.is_finite() {
        // The direction is unknown: a zero has none, an infinity keeps its size.
        return if z.re < 0.0 { C128::new(0.0, 0.0) } else { C128::new(z.re, f64::NAN) };
    }
    let (sin, cos) = libm::sincos(z.im);
    scaled_by_exp(z.re, C128::new(cos, sin))
}

/// e^a z, where e^a alone may overflow.
fn scaled_by_exp(a: f64, z: C128) -> C128 {
    if a > MAX_EXPONENT {
        let half = libm::exp(0.5 * a);
        C128::new(half * z.re * half, half * z.im * half)
    } else {
        z * libm::exp(a)
    }
}

/// e^709 is finite.
const MAX_EXPONENT: f64 = 709.0;

/// e^z - 1 = (e^a - 1) cos b - 2 sin²(b/2) + i e^a sin b.
pub(super) fn expm1(z: C128) -> C128 {
    if z.im == 0.0 {
        return C128::new(libm::expm1(z.re), z.im);
    }
    if !z.re.is_finite() || !z.im.is_finite() || z.re > MAX_EXPONENT {
        let e = exp(z);
        return C128::new(e.re - 1.0, e.im);
    }
    let (sin, cos) = libm::sincos(z.im);
    let half = libm::sin(0.5 * z.im);
    C128::new(libm::expm1(z.re) * cos - 2.0 * half * half, libm::exp(z.re) * sin)
}

/// 1 / (1 + e^-z).
pub(super) fn logistic(z: C128) -> C128 {
    let e = exp(-z);
    divide(C128::new(1.0, 0.0), C128::new(1.0 + e.re, e.im))
}

/// sinh a cos b + i cosh a sin b.
pub(super) fn sinh(z: C128) -> C128 {
    let C128 { re: a, im: b } = z;
    if b == 0.0 {
        return C128::new(libm::sinh(a), b);
    }
    if !b.is_finite() {
        // A zero real part stays; anything else has no direction.
        let re = if a == 0.0 || a.is_infinite() { a } else { f64::NAN };
        return C128::new(re, f64::NAN);
    }
    let (sin, cos) = libm::sincos(b);
    if a == 0.0 {
        return C128::new(a, sin);
    }
    if a.abs() > MAX_EXPONENT {
        let e = scaled_by_exp(a.abs(), C128::new(0.5 * cos, 0.5 * sin));
        return C128::new(e.re.copysign(e.re * a), e.im);
    }
    C128::new(libm::sinh(a) * cos, libm::cosh(a) * sin)
}

/// cosh a cos b + i sinh a sin b.
pub(super) fn cosh(z: C128) -> C128 {
    let C128 { re: a, im: b } = z;
    if b == 0.0 {
        // cosh is even: the sign of a zero imaginary part follows the real part.
        return C128::new(libm::cosh(a), if a.is_nan() { b } else { b * 1f64.copysign(a) });
    }
    if !b.is_finite() {
        let re = if a.is_infinite() { a.abs() } else { f64::NAN };
        return C128::new(re, if a == 0.0 { a } else { f64::NAN });
    }
    let (sin, cos) = libm::sincos(b);
    if a == 0.0 {
        return C128::new(cos, a * sin);
    }
    if a.abs() > MAX_EXPONENT {
        let e = scaled_by_exp(a.abs(), C128::new(0.5 * cos, 0.5 * sin));
        return C128::new(e.re, e.im.copysign(e.im * a));
    }
    C128::new(libm::cosh(a) * cos, libm::sinh(a) * sin)
}

/// Where tanh is 1 to the last bit: e^-44 is below half of it.
const TANH_IS_ONE: f64 = 22.0;

/// With t = tan b and s = sinh a: (s cosh a (1 + t²) + i t) / (1 + s² (1 + t²)), which is Kahan's
/// form and loses nothing where the denominator is small.
pub(super) fn tanh(z: C128) -> C128 {
    let C128 { re: a, im: b } = z;
    if a.is_nan() {
        return C128::new(a, if b == 0.0 { b } else { f64::NAN });
    }
    if !b.is_finite() {
        return if a.is_infinite() {
            C128::new(1f64.copysign(a), 0.0)
        } else {
            C128::new(if a == 0.0 { a } else { f64::NAN }, f64::NAN)
        };
    }
    if a.abs() > TANH_IS_ONE {
        let (sin, cos) = libm::sincos(b);
        // Twice, because e^-2a underflows while the product need not.
        let e = libm::exp(-a.abs());
        return C128::new(1f64.copysign(a), 4.0 * sin * cos * e * e);
    }
    let t = libm::tan(b);
    let beta = 1.0 + t * t;
    let s = libm::sinh(a);
    let rho = (1.0 + s * s).sqrt();
    let denominator = 1.0 + beta * s * s;
    C128::new(beta * rho * s / denominator, t / denominator)
}

/// sin z = -i sinh iz.
pub(super) fn sin(z: C128) -> C128 {
    let w = sinh(C128::new(-z.im, z.re));
    C128::new(w.im, -w.re)
}

/// cos z = cosh iz.
pub(super) fn cos(z: C128) -> C128 {
    cosh(C128::new(-z.im, z.re))
}

/// tan z = -i tanh iz.
pub(super) fn tan(z: C128) -> C128 {
    let w = tanh(C128::new(-z.im, z.re));
    C128::new(w.im, -w.re)
}
