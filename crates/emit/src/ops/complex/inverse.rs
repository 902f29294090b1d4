//! Inverse trigonometric and hyperbolic functions of complex numbers.
//!
//! Arcsine and arccosine follow Hull, Fairgrieve and Tang, "Implementing the complex arcsine and
//! arccosine functions using exception handling" (1997); atanh follows Kahan, "Branch cuts for complex
//! elementary functions" (1987). All cases are computed and one is chosen.

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

use rxla_kernel::{ComparePredicate, UnaryOp, Value};

use super::maths::{Maths, Z};

/// asin and acos of one number of the first quadrant: their real parts, and the imaginary part of
/// asin, which is minus that of acos.
type Arcs = [Value; 3];

fn pick(m: &mut Maths<'_>, condition: Value, x: Arcs, y: Arcs) -> Arcs {
    [0, 1, 2].map(|part| m.select(condition, x[part], y[part]))
}

pub(super) fn asin(m: &mut Maths<'_>, z: Z) -> Z {
    let size = (m.abs(z.0), m.abs(z.1));
    let arcs = arcs(m, size);
    let result = (m.copysign(arcs[0], z.0), m.copysign(arcs[2], z.1));
    // NaN in, and what is still known of the result.
    let (nan, infinity) = (m.number(f64::NAN), m.number(f64::INFINITY));
    let (re_zero, re_infinite, im_infinite) =
        (m.is_zero(z.0), m.is_infinite(z.0), m.is_infinite(z.1));
    let mut special = m.choose(re_zero, (z.0, nan), (nan, nan));
    special = m.choose(re_infinite, (nan, infinity), special);
    special = m.choose(im_infinite, (nan, z.1), special);
    let nans = [z.0, z.1].map(|part| m.is_nan(part));
    let is_special = m.or(nans[0], nans[1]);
    m.choose(is_special, special, result)
}

pub(super) fn acos(m: &mut Maths<'_>, z: Z) -> Z {
    let size = (m.abs(z.0), m.abs(z.1));
    let arcs = arcs(m, size);
    let pi = m.number(PI);
    let mirrored = m.sub(pi, arcs[1]);
    let negative = m.is_negative(z.0);
    let im = m.copysign(arcs[2], z.1);
    let result = (m.select(negative, mirrored, arcs[1]), m.neg(im));
    let w = asin(m, z);
    let right = m.number(FRAC_PI_2);
    let special = (m.sub(right, w.0), m.neg(w.1));
    let nans = [z.0, z.1].map(|part| m.is_nan(part));
    let is_special = m.or(nans[0], nans[1]);
    m.choose(is_special, special, result)
}

/// The imaginary part of asin, mirrored: asinh z = i asin(-iz).
pub(super) fn asinh(m: &mut Maths<'_>, z: Z) -> Z {
    let w = asin(m, (z.1, z.0));
    (w.1, w.0)
}

/// i acos z above the cut, -i acos z below.
pub(super) fn acosh(m: &mut Maths<'_>, z: Z) -> Z {
    let w = acos(m, z);
    let re = m.abs(w.1);
    let signed = m.copysign(w.0, z.1);
    let nans = [w.0, w.1].map(|part| m.is_nan(part));
    let lost = m.or(nans[0], nans[1]);
    (re, m.select(lost, w.0, signed))
}

/// Up to here asin b and acos b lose nothing.
const B_CROSSOVER: f64 = 0.6417;
/// Up to here acosh a is better computed from a - 1.
const A_CROSSOVER: f64 = 1.5;
/// Squares of larger numbers might overflow.
const HUGE: f64 = 1e150;
/// The least normal number.
const TINY: f64 = f64::MIN_POSITIVE;

fn arcs(m: &mut Maths<'_>, (x, y): Z) -> Arcs {
    let (right, left) = (m.plus(x, 1.0), m.plus(x, -1.0));
    let (r, s) = (m.hypot(right, y), m.hypot(left, y));
    let a = m.add(r, s);
    let a = m.scaled(0.5, a);
    let b = m.div(x, a);
    // r - right and s ∓ left, without cancellation.
    let yy = m.mul(y, y);
    let outer = m.add(r, right);
    let r_excess = m.div(yy, outer);
    let inner = m.sub(s, left);
    let beside = m.div(yy, inner);
    let beyond = m.add(s, left);
    let is_left = m.is(ComparePredicate::FLt, left, 0.0);
    let s_excess = m.select(is_left, beside, beyond);

    let less = m.add(r_excess, s_excess);
    let less = m.scaled(0.5, less);
    let more = m.plus(a, 1.0);
    let product = m.mul(less, more);
    let root = m.sqrt(product);
    let sum = m.add(less, root);
    let near = m.of(UnaryOp::Log1p, sum);
    let aa = m.mul(a, a);
    let aa = m.plus(aa, -1.0);
    let root = m.sqrt(aa);
    let sum = m.add(a, root);
    let far = m.of(UnaryOp::Log, sum);
    let is_near = m.is(ComparePredicate::FLe, a, A_CROSSOVER);
    let im = m.select(is_near, near, far);

    // √(a² - x²)
    let ax = m.add(a, x);
    let within = m.add(r_excess, inner);
    let within = m.mul(ax, within);
    let within = m.scaled(0.5, within);
    let within = m.sqrt(within);
    let (one, two) = (m.div(ax, outer), m.div(ax, beyond));
    let outside = m.add(one, two);
    let outside = m.scaled(0.5, outside);
    let outside = m.sqrt(outside);
    let outside = m.mul(y, outside);
    let inside = m.is(ComparePredicate::FLe, left, 0.0);
    let root = m.select(inside, within, outside);
    let steep = [m.atan2(x, root), m.atan2(root, x), im];
    let flat = [m.of(UnaryOp::Asin, b), m.of(UnaryOp::Acos, b), im];
    let is_flat = m.is(ComparePredicate::FLe, b, B_CROSSOVER);
    let mut result = pick(m, is_flat, flat, steep);

    let axis = arcs_at_axis(m, (x, y));
    let distance = m.abs(left);
    let limit = m.scaled(f64::EPSILON, distance);
    let close = m.0.compare(ComparePredicate::FLe, y, limit);
    let at_one = m.is(ComparePredicate::FEq, x, 1.0);
    let tiny = m.is(ComparePredicate::FLt, y, TINY);
    let at_one = m.and(at_one, tiny);
    let close = m.or(close, at_one);
    result = pick(m, close, axis, result);

    let (large, small) = (m.larger(x, y), m.smaller(x, y));
    let ratio = m.div(small, large);
    let endless = m.is_infinite(large);
    let zero = m.number(0.0);
    let ratio = m.select(endless, zero, ratio);
    let square = m.mul(ratio, ratio);
    let rest = m.of(UnaryOp::Log1p, square);
    let rest = m.scaled(0.5, rest);
    let whole = m.of(UnaryOp::Log, large);
    let whole = m.plus(whole, LN_2);
    let im = m.add(whole, rest);
    let far = [m.atan2(x, y), m.atan2(y, x), im];
    let is_far = m.is(ComparePredicate::FGt, large, HUGE);
    pick(m, is_far, far, result)
}

/// So near the real axis that y counts only to first order.
fn arcs_at_axis(m: &mut Maths<'_>, (x, y): Z) -> Arcs {
    let (right, left) = (m.plus(x, 1.0), m.plus(x, -1.0));
    let quarter = m.number(FRAC_PI_2);
    let distance = m.abs(left);
    let slope = m.mul(right, distance);
    let slope = m.sqrt(slope);
    let small = m.div(y, slope);
    let inside = [m.of(UnaryOp::Asin, x), m.of(UnaryOp::Acos, x), small];
    let root = m.sqrt(y);
    let corner = [m.sub(quarter, root), root, root];
    let big = m.of(UnaryOp::Log, x);
    let big = m.plus(big, LN_2);
    let sum = m.add(left, slope);
    let near = m.of(UnaryOp::Log1p, sum);
    let is_big = m.is(ComparePredicate::FGt, x, 1e8);
    let outside = [quarter, small, m.select(is_big, big, near)];
    let at_corner = m.is_zero(left);
    let result = pick(m, at_corner, corner, outside);
    let is_inside = m.is(ComparePredicate::FLt, left, 0.0);
    pick(m, is_inside, inside, result)
}

/// ¼ log1p(4x / ((1 - x)² + y²)) + ½ i arg(1 - x² - y² + 2iy).
pub(super) fn atanh(m: &mut Maths<'_>, (re, im): Z) -> Z {
    let (x, y) = (m.abs(re), m.abs(im));
    let (zero, nan, quarter) = (m.number(0.0), m.number(f64::NAN), m.number(FRAC_PI_2));
    let yy = m.mul(y, y);
    let left = m.plus(x, -1.0);
    let square = m.mul(left, left);
    let divisor = m.add(square, yy);
    let fourfold = m.scaled(4.0, x);
    let quotient = m.div(fourfold, divisor);
    let plain = m.of(UnaryOp::Log1p, quotient);
    let plain = m.scaled(0.25, plain);
    let logarithm = m.of(UnaryOp::Log, y);
    let ln_2 = m.number(LN_2);
    let pole = m.sub(ln_2, logarithm);
    let pole = m.scaled(0.5, pole);
    let x_one = m.is(ComparePredicate::FEq, x, 1.0);
    let low = m.is(ComparePredicate::FLt, y, f64::EPSILON);
    let at_pole = m.and(x_one, low);
    let real = m.select(at_pole, pole, plain);
    let (minus_left, right) = (m.neg(left), m.plus(x, 1.0));
    let width = m.mul(minus_left, right);
    let width = m.sub(width, yy);
    let twice = m.scaled(2.0, y);
    let angle = m.atan2(twice, width);
    let angle = m.scaled(0.5, angle);
    let mut result = (m.copysign(real, re), m.copysign(angle, im));

    // atanh z = ±iπ/2 + 1/z + …
    let reciprocal = reciprocal_re(m, x, y);
    let signed_quarter = m.copysign(quarter, im);
    let far = (m.copysign(reciprocal, re), signed_quarter);
    let (x_far, y_far) = (m.is(ComparePredicate::FGt, x, 1e8), m.is(ComparePredicate::FGt, y, 1e8));
    let is_far = m.or(x_far, y_far);
    result = m.choose(is_far, far, result);

    let signed_zero = m.copysign(zero, re);
    let x_zero = m.is_zero(x);
    let kept = m.select(x_zero, re, nan);
    let (x_infinite, y_infinite) = (m.is_infinite(x), m.is_infinite(y));
    let mut special = m.choose(y_infinite, (signed_zero, signed_quarter), (kept, nan));
    special = m.choose(x_infinite, (signed_zero, nan), special);
    let nans = [x, y].map(|part| m.is_nan(part));
    let is_special = m.or(nans[0], nans[1]);
    result = m.choose(is_special, special, result);

    let upright = (re, m.of(UnaryOp::Atan, im));
    let y_number = m.not(nans[1]);
    let is_upright = m.and(x_zero, y_number);
    result = m.choose(is_upright, upright, result);
    let lying = (m.of(UnaryOp::Atanh, re), im);
    let y_zero = m.is_zero(y);
    let x_small = m.is(ComparePredicate::FLe, x, 1.0);
    let is_lying = m.and(y_zero, x_small);
    m.choose(is_lying, lying, result)
}

/// x / (x² + y²) without overflow.
fn reciprocal_re(m: &mut Maths<'_>, x: Value, y: Value) -> Value {
    let ratio = m.div(y, x);
    let rest = m.mul(y, ratio);
    let sum = m.add(x, rest);
    let one = m.number(1.0);
    let flat = m.div(one, sum);
    let ratio = m.div(x, y);
    let rest = m.mul(x, ratio);
    let sum = m.add(y, rest);
    let steep = m.div(ratio, sum);
    let is_flat = m.0.compare(ComparePredicate::FGe, x, y);
    let result = m.select(is_flat, flat, steep);
    let (x_infinite, y_infinite) = (m.is_infinite(x), m.is_infinite(y));
    let infinite = m.or(x_infinite, y_infinite);
    let zero = m.number(0.0);
    m.select(infinite, zero, result)
}
