//! The four operations on complex numbers.

use num_complex::Complex;

use super::Real;

pub(super) fn add<F: Real>(x: Complex<F>, y: Complex<F>) -> Complex<F> {
    Complex { re: x.re + y.re, im: x.im + y.im }
}

pub(super) fn negate<F: Real>(x: Complex<F>) -> Complex<F> {
    Complex { re: -x.re, im: -x.im }
}

pub(super) fn subtract<F: Real>(x: Complex<F>, y: Complex<F>) -> Complex<F> {
    Complex { re: x.re - y.re, im: x.im - y.im }
}

/// The textbook formula, as XLA computes it: infinities may give NaN.
pub(super) fn multiply<F: Real>(x: Complex<F>, y: Complex<F>) -> Complex<F> {
    Complex { re: x.re * y.re - x.im * y.im, im: x.re * y.im + x.im * y.re }
}

/// Smith's method, which scales by the larger part of the divisor. Where that gives NaN twice, the
/// limits of C's annex G: division by zero and infinite operands.
pub(super) fn divide<F: Real>(x: Complex<F>, y: Complex<F>) -> Complex<F> {
    let quotient = if y.re.abs() < y.im.abs() {
        let ratio = y.re / y.im;
        let divisor = y.im + y.re * ratio;
        Complex { re: (x.re * ratio + x.im) / divisor, im: (x.im * ratio - x.re) / divisor }
    } else {
        let ratio = y.im / y.re;
        let divisor = y.re + y.im * ratio;
        Complex { re: (x.re + x.im * ratio) / divisor, im: (x.im - x.re * ratio) / divisor }
    };
    if quotient.re.is_nan() && quotient.im.is_nan() { limit(x, y, quotient) } else { quotient }
}

fn limit<F: Real>(x: Complex<F>, y: Complex<F>, otherwise: Complex<F>) -> Complex<F> {
    let finite = |z: Complex<F>| z.re.is_finite() && z.im.is_finite();
    let infinite = |z: Complex<F>| z.re.is_infinite() || z.im.is_infinite();
    // 1 for an infinite part, 0 for a finite one, with its sign.
    let direction = |z: Complex<F>| {
        let part = |p: F| (if p.is_infinite() { F::ONE } else { F::ZERO }).copysign(p);
        Complex { re: part(z.re), im: part(z.im) }
    };
    let scaled = |scale: F, x: Complex<F>, y: Complex<F>| Complex {
        re: scale * (x.re * y.re + x.im * y.im),
        im: scale * (x.im * y.re - x.re * y.im),
    };
    if y.re == F::ZERO && y.im == F::ZERO && !(x.re.is_nan() && x.im.is_nan()) {
        let infinity = F::INFINITY.copysign(y.re);
        Complex { re: infinity * x.re, im: infinity * x.im }
    } else if infinite(x) && finite(y) {
        scaled(F::INFINITY, direction(x), y)
    } else if infinite(y) && finite(x) {
        scaled(F::ZERO, x, direction(y))
    } else {
        otherwise
    }
}
