//! The exponential of a complex number and what is made of it; special values are those of C's annex
//! G.

use rxla_kernel::{ComparePredicate, UnaryOp, Value};

use super::arithmetic::divide;
use super::maths::{Maths, Z};

/// e^709 is finite.
const MAX_EXPONENT: f64 = 709.0;

/// e^a z, where e^a alone may overflow.
fn scaled_by_exp(m: &mut Maths<'_>, a: Value, z: Z) -> Z {
    let big = m.is(ComparePredicate::FGt, a, MAX_EXPONENT);
    let half = m.scaled(0.5, a);
    let exponent = m.select(big, half, a);
    let e = m.of(UnaryOp::Exp, exponent);
    let one = m.number(1.0);
    let again = m.select(big, e, one);
    let (re, im) = (m.mul(e, z.0), m.mul(e, z.1));
    (m.mul(re, again), m.mul(im, again))
}

/// e^(a + bi) = e^a (cos b + i sin b).
pub(super) fn exp(m: &mut Maths<'_>, z: Z) -> Z {
    let (a, b) = z;
    let unit = (m.of(UnaryOp::Cos, b), m.of(UnaryOp::Sin, b));
    let result = scaled_by_exp(m, a, unit);
    // The direction is unknown: a zero has none, an infinity keeps its size.
    let (zero, nan) = (m.number(0.0), m.number(f64::NAN));
    let below = m.is(ComparePredicate::FLt, a, 0.0);
    let lost = m.choose(below, (zero, zero), (a, nan));
    let a_infinite = m.is_infinite(a);
    let b_finite = m.is_finite(b);
    let unknown = m.not(b_finite);
    let unknown = m.and(a_infinite, unknown);
    let result = m.choose(unknown, lost, result);
    let real = m.is_zero(b);
    let alone = m.of(UnaryOp::Exp, a);
    m.choose(real, (alone, b), result)
}

/// e^z - 1 = (e^a - 1) cos b - 2 sin²(b/2) + i e^a sin b.
pub(super) fn expm1(m: &mut Maths<'_>, z: Z) -> Z {
    let (a, b) = z;
    let (sin, cos) = (m.of(UnaryOp::Sin, b), m.of(UnaryOp::Cos, b));
    let half = m.scaled(0.5, b);
    let half = m.of(UnaryOp::Sin, half);
    let square = m.mul(half, half);
    let twice = m.scaled(2.0, square);
    let less = m.of(UnaryOp::Expm1, a);
    let re = m.mul(less, cos);
    let re = m.sub(re, twice);
    let e = m.of(UnaryOp::Exp, a);
    let near = (re, m.mul(e, sin));
    let far = exp(m, z);
    let far = (m.plus(far.0, -1.0), far.1);
    let finite = [a, b].map(|part| m.is_finite(part));
    let finite = m.and(finite[0], finite[1]);
    let small = m.is(ComparePredicate::FLe, a, MAX_EXPONENT);
    let small = m.and(finite, small);
    let result = m.choose(small, near, far);
    let real = m.is_zero(b);
    m.choose(real, (less, b), result)
}

/// 1 / (1 + e^-z).
pub(super) fn logistic(m: &mut Maths<'_>, z: Z) -> Z {
    let negative = (m.neg(z.0), m.neg(z.1));
    let e = exp(m, negative);
    let divisor = (m.plus(e.0, 1.0), e.1);
    let one = (m.number(1.0), m.number(0.0));
    divide(m.0, one, divisor)
}

/// sinh a cos b + i cosh a sin b.
pub(super) fn sinh(m: &mut Maths<'_>, (a, b): Z) -> Z {
    let (sin, cos) = (m.of(UnaryOp::Sin, b), m.of(UnaryOp::Cos, b));
    let (sh, ch) = (m.of(UnaryOp::Sinh, a), m.of(UnaryOp::Cosh, a));
    let mut result = (m.mul(sh, cos), m.mul(ch, sin));
    let size = m.abs(a);
    let half = (m.scaled(0.5, cos), m.scaled(0.5, sin));
    let e = scaled_by_exp(m, size, half);
    let signed = m.mul(e.0, a);
    let far = (m.copysign(e.0, signed), e.1);
    let is_far = m.is(ComparePredicate::FGt, size, MAX_EXPONENT);
    result = m.choose(is_far, far, result);
    let a_zero = m.is_zero(a);
    result = m.choose(a_zero, (a, sin), result);
    // A zero real part stays; anything else has no direction.
    let nan = m.number(f64::NAN);
    let a_infinite = m.is_infinite(a);
    let stays = m.or(a_zero, a_infinite);
    let re = m.select(stays, a, nan);
    let b_finite = m.is_finite(b);
    result = m.choose(b_finite, result, (re, nan));
    let real = m.is_zero(b);
    m.choose(real, (sh, b), result)
}

/// cosh a cos b + i sinh a sin b.
pub(super) fn cosh(m: &mut Maths<'_>, (a, b): Z) -> Z {
    let (sin, cos) = (m.of(UnaryOp::Sin, b), m.of(UnaryOp::Cos, b));
    let (sh, ch) = (m.of(UnaryOp::Sinh, a), m.of(UnaryOp::Cosh, a));
    let mut result = (m.mul(ch, cos), m.mul(sh, sin));
    let size = m.abs(a);
    let half = (m.scaled(0.5, cos), m.scaled(0.5, sin));
    let e = scaled_by_exp(m, size, half);
    let signed = m.mul(e.1, a);
    let far = (e.0, m.copysign(e.1, signed));
    let is_far = m.is(ComparePredicate::FGt, size, MAX_EXPONENT);
    result = m.choose(is_far, far, result);
    let a_zero = m.is_zero(a);
    let at_zero = (cos, m.mul(a, sin));
    result = m.choose(a_zero, at_zero, result);
    let nan = m.number(f64::NAN);
    let a_infinite = m.is_infinite(a);
    let lost = (m.select(a_infinite, size, nan), m.select(a_zero, a, nan));
    let b_finite = m.is_finite(b);
    result = m.choose(b_finite, result, lost);
    // cosh is even: the sign of a zero imaginary part follows the real part.
    let one = m.number(1.0);
    let sign = m.copysign(one, a);
    let signed = m.mul(b, sign);
    let a_nan = m.is_nan(a);
    let im = m.select(a_nan, b, signed);
    let real = m.is_zero(b);
    m.choose(real, (ch, im), result)
}

/// Where tanh is 1 to the last bit: e^-44 is below half of it.
const TANH_IS_ONE: f64 = 22.0;

/// With t = tan b and s = sinh a: (s cosh a (1 + t²) + i t) / (1 + s² (1 + t²)), which is Kahan's
/// form and loses nothing where the denominator is small.
pub(super) fn tanh(m: &mut Maths<'_>, (a, b): Z) -> Z {
    let one = m.number(1.0);
    let t = m.of(UnaryOp::Tan, b);
    let tt = m.mul(t, t);
    let beta = m.plus(tt, 1.0);
    let s = m.of(UnaryOp::Sinh, a);
    let ss = m.mul(s, s);
    let rho = m.plus(ss, 1.0);
    let rho = m.sqrt(rho);
    let denominator = m.mul(beta, ss);
    let denominator = m.plus(denominator, 1.0);
    let re = m.mul(beta, rho);
    let re = m.mul(re, s);
    let mut result = (m.div(re, denominator), m.div(t, denominator));

    let size = m.abs(a);
    let unit = m.copysign(one, a);
    let (sin, cos) = (m.of(UnaryOp::Sin, b), m.of(UnaryOp::Cos, b));
    let less = m.neg(size);
    let e = m.of(UnaryOp::Exp, less);
    // Twice, because e^-2a underflows while the product need not.
    let im = m.mul(sin, cos);
    let im = m.scaled(4.0, im);
    let im = m.mul(im, e);
    let im = m.mul(im, e);
    let is_far = m.is(ComparePredicate::FGt, size, TANH_IS_ONE);
    result = m.choose(is_far, (unit, im), result);

    let (zero, nan) = (m.number(0.0), m.number(f64::NAN));
    let a_zero = m.is_zero(a);
    let re = m.select(a_zero, a, nan);
    let a_infinite = m.is_infinite(a);
    let lost = m.choose(a_infinite, (unit, zero), (re, nan));
    let b_finite = m.is_finite(b);
    result = m.choose(b_finite, result, lost);
    let b_zero = m.is_zero(b);
    let im = m.select(b_zero, b, nan);
    let a_nan = m.is_nan(a);
    m.choose(a_nan, (a, im), result)
}

/// f(z) = -i g(iz), as sin is of sinh and tan of tanh.
pub(super) fn turned(m: &mut Maths<'_>, z: Z, g: fn(&mut Maths<'_>, Z) -> Z) -> Z {
    let iz = (m.neg(z.1), z.0);
    let w = g(m, iz);
    (w.1, m.neg(w.0))
}

/// cos z = cosh iz.
pub(super) fn cos(m: &mut Maths<'_>, z: Z) -> Z {
    let iz = (m.neg(z.1), z.0);
    cosh(m, iz)
}
