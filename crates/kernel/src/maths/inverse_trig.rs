//! Arc sine, arc cosine, arc tangent.

use super::lanes::{Float, FloatExt};
use super::precision::Precision;

/// Just above the cosine of 1.
const COS_1: f64 = 0.54031;

/// pi / 2 in two parts.
fn half_pi<F: Float>(like: F) -> [F; 2] {
    let [high, low, _] = F::Precision::HALF_PI;
    [like.constant(high), like.constant(low)]
}

/// `asin(t)` of the magnitude up to cos(1), of `t = sqrt((1 - |x|) / 2)` above, where
/// `asin(|x|) = pi / 2 - 2 asin(t)`; and which of them. With this border the root's arc is below
/// 1/2, where a unit in the last place is half of what it is above.
fn folded<F: Float>(x: F) -> (F, F::Mask) {
    let magnitude = x.abs();
    let half = x.constant(0.5);
    let is_large = x.constant(COS_1).below(magnitude);
    let square = F::select(is_large, (x.constant(1.0) - magnitude) * half, magnitude * magnitude);
    let t = F::select(is_large, square.sqrt(), magnitude);
    (square.polynomial(F::Precision::ASIN).fma(square * t, t), is_large)
}

pub(super) fn asin<F: Float>(x: F) -> F {
    let (p, is_large) = folded(x);
    let [high, low] = half_pi(x);
    let large = high - ((p + p) - low);
    F::select(is_large, large, p).copy_sign(x)
}

/// `pi / 2 - asin(x)`, where large numbers need no pi or the whole.
pub(super) fn acos<F: Float>(x: F) -> F {
    let (p, is_large) = folded(x);
    let [high, low] = half_pi(x);
    let zero = x.constant(0.0);
    let is_negative = x.below(zero);
    let base = |part: F| F::select(is_large, F::select(is_negative, part + part, zero), part);
    let signed = F::select(is_large, p + p, -p).flip_sign(x.sign_bit());
    base(high) + (signed + base(low))
}

/// `atan(t)` of a magnitude up to 1.
fn atan_of_small<F: Float>(t: F) -> F {
    let square = t * t;
    square.polynomial(F::Precision::ATAN).fma(square * t, t)
}

/// Above 1, `pi / 2 - atan(1 / |x|)`.
pub(super) fn atan<F: Float>(x: F) -> F {
    let one = x.constant(1.0);
    let magnitude = x.abs();
    let is_large = one.below(magnitude);
    let p = atan_of_small(F::select(is_large, one / magnitude, magnitude));
    let [high, low] = half_pi(x);
    F::select(is_large, high - (p - low), p).copy_sign(x)
}

/// The angle of (x, y): atan of the smaller magnitude over the larger one, turned into the
/// right eighth.
pub(super) fn atan2<F: Float>(y: F, x: F) -> F {
    let [zero, one] = [0.0, 1.0].map(|value| x.constant(value));
    let [across, up] = [x.abs(), y.abs()];
    let steep = across.below(up);
    let [small, large] = [F::select(steep, across, up), F::select(steep, up, across)];
    // Equal ones may be infinite or zero.
    let of_equals = F::select(large.equals(zero), zero, one);
    let ratio = F::select(small.equals(large), of_equals, small / large);
    let p = atan_of_small(ratio);
    let backward = x.is_negative();
    let [high, low] = half_pi(x);
    let base = |part: F| F::select(steep, part, F::select(backward, part + part, zero));
    let signed = F::select(steep ^ backward, -p, p);
    (base(high) + (signed + base(low))).copy_sign(y)
}
