//! Product, quotient and order of complex numbers, in their own type.

use rxla_kernel::{BinaryOp, Builder, ComparePredicate, UnaryOp, Value};

use super::super::{like, real};

pub(super) type Pair = (Value, Value);

/// The textbook formula: infinities may give NaN.
pub(super) fn multiply(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    let (rr, ii) = (b.mul(x.0, y.0), b.mul(x.1, y.1));
    let (ri, ir) = (b.mul(x.0, y.1), b.mul(x.1, y.0));
    (b.sub(rr, ii), b.add(ri, ir))
}

/// Lexicographic order of the parts.
pub(super) fn goes_before(b: &mut Builder, x: Pair, y: Pair) -> Value {
    let less = b.compare(ComparePredicate::FLt, x.0, y.0);
    let equal = b.compare(ComparePredicate::FEq, x.0, y.0);
    let then = b.compare(ComparePredicate::FLt, x.1, y.1);
    let then = b.binary(BinaryOp::And, equal, then);
    b.binary(BinaryOp::Or, less, then)
}

/// Smith's method, which scales by the larger part of the divisor; where it gives NaN twice, the
/// limits of C's annex G.
pub(super) fn divide(b: &mut Builder, x: Pair, y: Pair) -> Pair {
    let (size_re, size_im) = (b.unary(UnaryOp::FAbs, y.0), b.unary(UnaryOp::FAbs, y.1));
    let steep = b.compare(ComparePredicate::FLt, size_re, size_im);
    // The divisor's larger and smaller part.
    let (large, small) = (b.select(steep, y.1, y.0), b.select(steep, y.0, y.1));
    let ratio = b.binary(BinaryOp::FDiv, small, large);
    let scaled = b.mul(small, ratio);
    let divisor = b.add(large, scaled);
    // Steep: (re·r + im, im·r − re); else (re + im·r, im − re·r).
    let re_ratio = b.mul(x.0, ratio);
    let im_ratio = b.mul(x.1, ratio);
    let (steep_re, flat_re) = (b.add(re_ratio, x.1), b.add(x.0, im_ratio));
    let (steep_im, flat_im) = (b.sub(im_ratio, x.0), b.sub(x.1, re_ratio));
    let re = b.select(steep, steep_re, flat_re);
    let im = b.select(steep, steep_im, flat_im);
    let re = b.binary(BinaryOp::FDiv, re, divisor);
    let im = b.binary(BinaryOp::FDiv, im, divisor);
    let (nan_re, nan_im) =
        (b.compare(ComparePredicate::FNe, re, re), b.compare(ComparePredicate::FNe, im, im));
    let lost = b.binary(BinaryOp::And, nan_re, nan_im);
    let limit = limit(b, x, y, (re, im));
    (b.select(lost, limit.0, re), b.select(lost, limit.1, im))
}

/// Division by zero, and infinite operands.
fn limit(b: &mut Builder, x: Pair, y: Pair, otherwise: Pair) -> Pair {
    let (zero, one, infinity) = (like(b, x.0, 0.0), like(b, x.0, 1.0), like(b, x.0, f64::INFINITY));
    let is_infinite = |b: &mut Builder, p: Value| {
        let size = b.unary(UnaryOp::FAbs, p);
        b.compare(ComparePredicate::FEq, size, infinity)
    };
    let finite = |b: &mut Builder, z: Pair| {
        let parts = [z.0, z.1].map(|p| real::is_finite(b, p));
        b.binary(BinaryOp::And, parts[0], parts[1])
    };
    let infinite = |b: &mut Builder, z: Pair| {
        let parts = [z.0, z.1].map(|p| is_infinite(b, p));
        b.binary(BinaryOp::Or, parts[0], parts[1])
    };
    let direction = |b: &mut Builder, z: Pair| {
        let part = |b: &mut Builder, p: Value| {
            let is_infinite = is_infinite(b, p);
            let size = b.select(is_infinite, one, zero);
            b.binary(BinaryOp::CopySign, size, p)
        };
        (part(b, z.0), part(b, z.1))
    };
    let scaled = |b: &mut Builder, scale: Value, x: Pair, y: Pair| {
        let (rr, ii) = (b.mul(x.0, y.0), b.mul(x.1, y.1));
        let (ir, ri) = (b.mul(x.1, y.0), b.mul(x.0, y.1));
        let (re, im) = (b.add(rr, ii), b.sub(ir, ri));
        (b.mul(scale, re), b.mul(scale, im))
    };
    let choose = |b: &mut Builder, condition: Value, x: Pair, y: Pair| {
        (b.select(condition, x.0, y.0), b.select(condition, x.1, y.1))
    };
    let (x_finite, y_finite) = (finite(b, x), finite(b, y));
    let (x_infinite, y_infinite) = (infinite(b, x), infinite(b, y));
    let y_direction = direction(b, y);
    let small = scaled(b, zero, x, y_direction);
    let applies = b.binary(BinaryOp::And, y_infinite, x_finite);
    let mut result = choose(b, applies, small, otherwise);
    let x_direction = direction(b, x);
    let large = scaled(b, infinity, x_direction, y);
    let applies = b.binary(BinaryOp::And, x_infinite, y_finite);
    result = choose(b, applies, large, result);
    let zeros = [y.0, y.1].map(|p| b.compare(ComparePredicate::FEq, p, zero));
    let by_zero = b.binary(BinaryOp::And, zeros[0], zeros[1]);
    let numbers = [x.0, x.1].map(|p| b.compare(ComparePredicate::FEq, p, p));
    let some_number = b.binary(BinaryOp::Or, numbers[0], numbers[1]);
    let applies = b.binary(BinaryOp::And, by_zero, some_number);
    let signed = b.binary(BinaryOp::CopySign, infinity, y.0);
    let pole = (b.mul(signed, x.0), b.mul(signed, x.1));
    choose(b, applies, pole, result)
}
