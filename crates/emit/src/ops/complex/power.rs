//! Roots, logarithms and powers of complex numbers.

use rxla_kernel::{BinaryOp, ComparePredicate, UnaryOp, Value};

use super::arithmetic::{divide, multiply};
use super::maths::{Maths, Width, Z};

/// What to multiply a number by before its root is taken, and the root by then. Powers of four, so that roots of scales
/// are exact, keep the sum in it away from both ends.
fn scales_of_root(m: &mut Maths<'_>, (a, b): Z) -> (Value, Value) {
    let (size_a, size_b) = (m.abs(a), m.abs(b));
    let largest = m.larger(size_a, size_b);
    let huge = m.is(ComparePredicate::FGt, largest, 1e300);
    let tiny = m.is(ComparePredicate::FLt, largest, 1e-290);
    let (one, down, up) = (m.number(1.0), m.number(0.0625), m.number(2f64.powi(108)));
    let scale = m.select(tiny, up, one);
    let scale = m.select(huge, down, scale);
    let (root_up, root_down) = (m.number(4.0), m.number(2f64.powi(-54)));
    let root = m.select(tiny, root_down, one);
    (scale, m.select(huge, root_up, root))
}

/// The root with non-negative real part; below the cut the imaginary part is negative.
pub(super) fn sqrt(m: &mut Maths<'_>, z: Z) -> Z {
    let (a0, b0) = z;
    let scales = (m.1 == Width::F64).then(|| scales_of_root(m, z));
    let (a, b) = match scales {
        Some((scale, _)) => (m.mul(a0, scale), m.mul(b0, scale)),
        None => z,
    };
    let size = m.hypot(a, b);
    let abs_a = m.abs(a);
    let sum = m.add(abs_a, size);
    let sum = m.scaled(0.5, sum);
    let t = m.sqrt(sum);
    let abs_b = m.abs(b);
    let twice = m.scaled(2.0, t);
    let other = m.div(abs_b, twice);
    let (t, other) = match scales {
        Some((_, root)) => (m.mul(t, root), m.mul(other, root)),
        None => (t, other),
    };
    let right = (t, m.copysign(other, b));
    let left = (other, m.copysign(t, b));
    let is_right = m.is(ComparePredicate::FGe, a, 0.0);
    let mut result = m.choose(is_right, right, left);

    let (zero, infinity, nan) = (m.number(0.0), m.number(f64::INFINITY), m.number(f64::NAN));
    let signed_zero = m.copysign(zero, b0);
    let b_nan = m.is_nan(b0);
    let small = m.select(b_nan, nan, signed_zero);
    let signed_infinity = m.copysign(infinity, b0);
    let at_left = (m.abs(small), signed_infinity);
    let above = m.is(ComparePredicate::FGt, a0, 0.0);
    let far = m.choose(above, (a0, small), at_left);
    let a_infinite = m.is_infinite(a0);
    result = m.choose(a_infinite, far, result);
    let b_infinite = m.is_infinite(b0);
    result = m.choose(b_infinite, (infinity, b0), result);
    let zeros = [a0, b0].map(|part| m.is_zero(part));
    let is_zero = m.and(zeros[0], zeros[1]);
    m.choose(is_zero, (zero, b0), result)
}

/// 1 / √z. Zero gives an infinity of unknown direction, infinities a zero.
pub(super) fn rsqrt(m: &mut Maths<'_>, z: Z) -> Z {
    let root = sqrt(m, z);
    let (zero, one) = (m.number(0.0), m.number(1.0));
    let result = divide(m.0, (one, zero), root);
    let minus_zero = m.number(-0.0);
    let flipped = m.copysign(zero, z.1);
    let flipped = m.neg(flipped);
    let (re_infinite, im_infinite) = (m.is_infinite(z.0), m.is_infinite(z.1));
    let result = m.choose(im_infinite, (zero, flipped), result);
    let re_nan = m.is_nan(z.0);
    let beside = m.and(im_infinite, re_nan);
    let far = m.or(re_infinite, beside);
    let re = m.copysign(minus_zero, z.0);
    let result = m.choose(far, (re, flipped), result);
    let zeros = [z.0, z.1].map(|part| m.is_zero(part));
    let is_zero = m.and(zeros[0], zeros[1]);
    let pole = (m.number(f64::INFINITY), m.number(f64::NAN));
    m.choose(is_zero, pole, result)
}

/// z / |z|, and 0 for 0.
pub(super) fn sign(m: &mut Maths<'_>, z: Z) -> Z {
    let size = m.hypot(z.0, z.1);
    let result = (m.div(z.0, size), m.div(z.1, size));
    let is_zero = m.is_zero(size);
    let zero = m.number(0.0);
    m.choose(is_zero, (zero, zero), result)
}

/// log |z| + i arg z.
pub(super) fn log(m: &mut Maths<'_>, z: Z) -> Z {
    (log_magnitude(m, z), m.atan2(z.1, z.0))
}

fn log_magnitude(m: &mut Maths<'_>, (a, b): Z) -> Value {
    let (size_a, size_b) = (m.abs(a), m.abs(b));
    let (large, small) = (m.larger(size_a, size_b), m.smaller(size_a, size_b));
    let size = m.hypot(a, b);
    let plain = m.of(UnaryOp::Log, size);
    let minus_one = m.number(-1.0);
    let excess = sum_with_squares(m, minus_one, large, small);
    let near = m.of(UnaryOp::Log1p, excess);
    let near = m.scaled(0.5, near);
    let low = m.is(ComparePredicate::FGe, large, 0.5);
    let high = m.is(ComparePredicate::FLe, large, 2.0);
    let enough = m.is(ComparePredicate::FGt, excess, -0.5);
    let is_near = m.and(low, high);
    let is_near = m.and(is_near, enough);
    m.select(is_near, near, plain)
}

/// c + a² + b² as if computed with twice the digits, which matters where that nearly vanishes.
fn sum_with_squares(m: &mut Maths<'_>, c: Value, a: Value, b: Value) -> Value {
    let (aa, bb) = (m.mul(a, a), m.mul(b, b));
    let mut rest = |x: Value, square: Value| {
        let minus = m.neg(square);
        m.0.fma(x, x, minus)
    };
    let (first, second) = (rest(a, aa), rest(b, bb));
    let errors = m.add(first, second);
    let (sum, one) = exact_sum(m, c, aa);
    let (sum, two) = exact_sum(m, sum, bb);
    let lost = m.add(one, two);
    let lost = m.add(lost, errors);
    m.add(sum, lost)
}

/// The rounded sum and what rounding lost (Knuth).
fn exact_sum(m: &mut Maths<'_>, a: Value, b: Value) -> (Value, Value) {
    let sum = m.add(a, b);
    let rest = m.sub(sum, a);
    let whole = m.sub(sum, rest);
    let (left, right) = (m.sub(a, whole), m.sub(b, rest));
    (sum, m.add(left, right))
}

/// log |1 + z| + i arg (1 + z), precise for small z.
pub(super) fn log1p(m: &mut Maths<'_>, (a, b): Z) -> Z {
    let next = m.plus(a, 1.0);
    let plain = log_magnitude(m, (next, b));
    // |1 + z|² - 1 = 2a + a² + b²
    let twice = m.scaled(2.0, a);
    let excess = sum_with_squares(m, twice, a, b);
    let near = m.of(UnaryOp::Log1p, excess);
    let near = m.scaled(0.5, near);
    let mut is_near = m.is(ComparePredicate::FGt, excess, -0.5);
    for part in [a, b] {
        let size = m.abs(part);
        let small = m.is(ComparePredicate::FLe, size, 2.0);
        is_near = m.and(is_near, small);
    }
    (m.select(is_near, near, plain), m.atan2(b, next))
}

/// x^y = |x|^c e^(-d arg x) e^(i (c arg x + d log |x|)) for y = c + di, with the exceptions that XLA
/// makes: x^0 and 1^y are 1, 0^c is 0 and ∞^c is ∞ or 0.
pub(super) fn power(m: &mut Maths<'_>, x: Z, y: Z) -> Z {
    let (c, d) = y;
    let (zero, one, infinity) = (m.number(0.0), m.number(1.0), m.number(f64::INFINITY));
    let size = m.hypot(x.0, x.1);
    let angle = m.atan2(x.1, x.0);
    let grown = m.0.binary(BinaryOp::Pow, size, c);
    let shrink = m.mul(d, angle);
    let shrink = m.neg(shrink);
    let shrink = m.of(UnaryOp::Exp, shrink);
    let scale = m.mul(grown, shrink);
    let d_zero = m.is_zero(d);
    let logarithm = log_magnitude(m, x);
    let more = m.mul(d, logarithm);
    let more = m.select(d_zero, zero, more);
    let turn = m.mul(c, angle);
    let turn = m.add(turn, more);
    let (cos, sin) = (m.of(UnaryOp::Cos, turn), m.of(UnaryOp::Sin, turn));
    let mut result = (m.mul(scale, cos), m.mul(scale, sin));

    let (above, below) = (m.is(ComparePredicate::FGt, c, 0.0), m.is(ComparePredicate::FLt, c, 0.0));
    let nothing = m.is_zero(size);
    let nothing = m.and(nothing, d_zero);
    let nothing = m.and(nothing, above);
    result = m.choose(nothing, (zero, zero), result);
    let endless = m.is(ComparePredicate::FEq, x.0, f64::INFINITY);
    let x_real = m.is_zero(x.1);
    let endless = m.and(endless, x_real);
    let endless = m.and(endless, d_zero);
    let (grows, shrinks) = (m.and(endless, above), m.and(endless, below));
    result = m.choose(grows, (infinity, zero), result);
    result = m.choose(shrinks, (zero, zero), result);
    let c_zero = m.is_zero(c);
    let to_zero = m.and(c_zero, d_zero);
    let x_one = m.is(ComparePredicate::FEq, x.0, 1.0);
    let of_one = m.and(x_one, x_real);
    let unit = m.or(to_zero, of_one);
    m.choose(unit, (one, zero), result)
}

/// -i log((x + iy) / √(x² + y²)).
pub(super) fn atan2(m: &mut Maths<'_>, y: Z, x: Z) -> Z {
    let (xx, yy) = (multiply(m.0, x, x), multiply(m.0, y, y));
    let squares = (m.add(xx.0, yy.0), m.add(xx.1, yy.1));
    let root = sqrt(m, squares);
    let i = (m.number(0.0), m.number(1.0));
    let iy = multiply(m.0, i, y);
    let sum = (m.add(x.0, iy.0), m.add(x.1, iy.1));
    let quotient = divide(m.0, sum, root);
    let w = log(m, quotient);
    (w.1, m.neg(w.0))
}
