//! `lgamma`, `digamma`, `polygamma` and `zeta`.
//!
//! The gamma functions are Lanczos' approximation with g = 7 and 9 terms (C. Lanczos, SIAM J.
//! Numer. Anal. B 1, 1964) with reflection below 1/2. Zeta is the Euler-Maclaurin formula (5) of
//! F. Johansson, arXiv:1309.2877, with 9 terms summed and 12 of the tail. Constants and order of
//! operations are those of StableHLO's legalisation.

use std::f64::consts::PI;

use rxla_hlo::op::{ComparisonDirection, UnaryKind};
use rxla_hlo::{ElementType, InstructionId};

use super::super::attributes::View;
use super::super::importer::{Importer, Result};
use super::coefficients::{LANCZOS, LANCZOS_BASE, LANCZOS_G, ZETA};
use super::expression::{Real, with_f32_at_least};

const ZETA_TERMS: usize = 9;

/// What both gamma functions start with: whether to reflect, and the argument less one then.
struct Shifted {
    reflect: InstructionId,
    z: InstructionId,
    /// log(z + g + 1/2), by `log1p` since logarithms may be imprecise.
    log_t: InstructionId,
    /// z + g + 1/2.
    t: InstructionId,
}

fn shifted(f: &mut Real<'_, '_>, x: InstructionId) -> Shifted {
    let (half, one) = (f.c(0.5), f.c(1.0));
    let reflect = f.less(x, half);
    let negative = f.neg(x);
    let less_one = f.sub(x, one);
    let z = f.select(reflect, negative, less_one);
    let offset = f.c(LANCZOS_G + 0.5);
    let t = f.add(offset, z);
    let log_offset = f.c((LANCZOS_G + 0.5).ln());
    let quotient = f.div(z, offset);
    let log1p = f.log1p(quotient);
    let log_t = f.add(log_offset, log1p);
    Shifted { reflect, z, log_t, t }
}

fn lgamma_of(f: &mut Real<'_, '_>, x: InstructionId) -> InstructionId {
    let Shifted { reflect, z, log_t, t } = shifted(f, x);
    let (half, one) = (f.c(0.5), f.c(1.0));
    let mut a = f.c(LANCZOS_BASE);
    for (index, &coefficient) in LANCZOS.iter().enumerate() {
        let (coefficient, place) = (f.c(coefficient), f.c(index as f64 + 1.0));
        let denominator = f.add(z, place);
        let quotient = f.div(coefficient, denominator);
        a = f.add(a, quotient);
    }
    // (z + 1/2) log t - t as (z + 1/2 - t / log t) log t, which does not overflow early.
    let quotient = f.div(t, log_t);
    let z_half = f.add(z, half);
    let sum = f.sub(z_half, quotient);
    let r = f.mul(sum, log_t);
    let log_a = f.log(a);
    let base = f.c((2f64.ln() + PI.ln()) / 2.0);
    let partial = f.add(base, r);
    let direct = f.add(partial, log_a);
    // lgamma(x) = log π - lgamma(1 - x) - log |sin πx|, with the fraction of |x| folded into
    // [0, 1/2], where π times it is exact enough.
    let magnitude = f.abs(x);
    let whole = f.floor(magnitude);
    let fraction = f.sub(magnitude, whole);
    let fold = f.less(half, fraction);
    let folded = f.sub(one, fraction);
    let fraction = f.select(fold, folded, fraction);
    let pi = f.c(PI);
    let angle = f.mul(pi, fraction);
    let sine = f.unary(UnaryKind::Sin, angle);
    let log_sine = f.log(sine);
    let log_pi = f.c(PI.ln());
    let partial = f.sub(log_pi, log_sine);
    let reflected = f.sub(partial, direct);
    // Where the sine is zero its logarithm wins; infinity less infinity would be NaN.
    let finite = f.unary(UnaryKind::IsFinite, log_sine);
    let negative = f.neg(log_sine);
    let reflected = f.select(finite, reflected, negative);
    let value = f.select(reflect, reflected, direct);
    let infinity = f.c(f64::INFINITY);
    let is_infinite = f.equal(magnitude, infinity);
    f.select(is_infinite, infinity, value)
}

fn digamma_of(f: &mut Real<'_, '_>, x: InstructionId) -> InstructionId {
    let Shifted { reflect, z, log_t, t } = shifted(f, x);
    let zero = f.c(0.0);
    let mut a = f.c(LANCZOS_BASE);
    let mut a_prime = zero;
    for (index, &coefficient) in LANCZOS.iter().enumerate() {
        let (coefficient, place) = (f.c(coefficient), f.c(index as f64 + 1.0));
        let term = f.add(z, place);
        let square = f.mul(term, term);
        let quotient = f.div(coefficient, square);
        a_prime = f.sub(a_prime, quotient);
        let quotient = f.div(coefficient, term);
        a = f.add(a, quotient);
    }
    let ratio = f.div(a_prime, a);
    let g = f.c(LANCZOS_G);
    let g_over_t = f.div(g, t);
    let sum = f.add(log_t, ratio);
    let direct = f.sub(sum, g_over_t);
    // digamma(x) = digamma(1 - x) - π cot πx, with x moved into [-1/2, 1/2].
    let half = f.c(0.5);
    let shifted = f.add(x, half);
    let floor = f.floor(shifted);
    let steps = f.abs(floor);
    let reduced = f.add(x, steps);
    let pi = f.c(PI);
    let angle = f.mul(pi, reduced);
    let cosine = f.unary(UnaryKind::Cos, angle);
    let sine = f.unary(UnaryKind::Sin, angle);
    let product = f.mul(pi, cosine);
    let cotangent = f.div(product, sine);
    let reflected = f.sub(direct, cotangent);
    let value = f.select(reflect, reflected, direct);
    // Poles at zero and the negative integers.
    let not_positive = f.compare(ComparisonDirection::Le, x, zero);
    let floor = f.floor(x);
    let is_integer = f.equal(x, floor);
    let is_pole = f.and(not_positive, is_integer);
    let nan = f.c(f64::NAN);
    f.select(is_pole, nan, value)
}

/// The smallest number above zero.
fn smallest(element_type: ElementType) -> f64 {
    match element_type {
        ElementType::F64 => f64::from_bits(1),
        _ => f32::from_bits(1).into(),
    }
}

fn zeta_of(f: &mut Real<'_, '_>, x: InstructionId, q: InstructionId) -> InstructionId {
    let (zero, one) = (f.c(0.0), f.c(1.0));
    let negative_x = f.neg(x);
    let mut position = q;
    let mut sum = f.pow(q, negative_x);
    for _ in 0..ZETA_TERMS {
        position = f.add(position, one);
        let power = f.pow(position, negative_x);
        sum = f.add(sum, power);
    }
    position = f.add(position, one);
    let power = f.pow(position, negative_x);
    // position^(1-x) / (x - 1)
    let product = f.mul(power, position);
    let less_one = f.sub(x, one);
    let correction = f.div(product, less_one);
    let square = f.mul(position, position);
    let inverse_square = f.div(one, square);
    let mut tail = zero;
    let last = ZETA.len() - 1;
    for (index, &coefficient) in ZETA[..last].iter().enumerate() {
        let high = (2 * ZETA.len() - 2 - 2 * index) as f64;
        let (a, b) = (f.c(high), f.c(high - 1.0));
        let (a, b) = (f.add(x, a), f.add(x, b));
        let factor = f.mul(a, b);
        let term = f.c(1.0 / coefficient);
        let inner = f.add(tail, term);
        let scaled = f.mul(inverse_square, inner);
        tail = f.mul(factor, scaled);
    }
    let half = f.c(0.5);
    let ratio = f.div(x, position);
    let term = f.c(1.0 / ZETA[last]);
    let inner = f.add(term, tail);
    let product = f.mul(ratio, inner);
    let inner = f.add(half, product);
    let bernoulli = f.mul(power, inner);
    let partial = f.add(sum, correction);
    let accurate = f.add(partial, bernoulli);
    // The sum alone where what follows it is nothing.
    let (power, total) = (f.abs(power), f.abs(sum));
    let least = smallest(f.cx.element_type(f.like));
    let least = f.c(least);
    let bound = f.mul(total, least);
    let enough = f.less(power, bound);
    let mut value = f.select(enough, sum, accurate);

    let (nan, infinity) = (f.c(f64::NAN), f.c(f64::INFINITY));
    let too_small = f.less(x, one);
    value = f.select(too_small, nan, value);
    // For q <= 0, x must be an integer.
    let not_positive = f.compare(ComparisonDirection::Le, q, zero);
    let floor_x = f.floor(x);
    let no_integer = f.compare(ComparisonDirection::Ne, x, floor_x);
    let outside = f.and(not_positive, no_integer);
    value = f.select(outside, nan, value);
    // Poles at all integers q <= 0, where a limit exists only for even x.
    let floor_q = f.floor(q);
    let q_integer = f.equal(q, floor_q);
    let pole = f.and(not_positive, q_integer);
    let two = f.c(2.0);
    let x_integer = f.equal(x, floor_x);
    let remainder = f.rem(x, two);
    let divisible = f.equal(remainder, zero);
    let even = f.and(x_integer, divisible);
    let at_pole = f.select(even, infinity, nan);
    value = f.select(pole, at_pole, value);
    // The harmonic series diverges.
    let harmonic = f.equal(x, one);
    f.select(harmonic, infinity, value)
}

/// `chlo.lgamma`.
pub(in super::super) fn lgamma<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [x]| lgamma_of(f, x))
}

/// `chlo.digamma`.
pub(in super::super) fn digamma<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [x]| digamma_of(f, x))
}

/// `chlo.zeta`.
pub(in super::super) fn zeta<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [x, q]| zeta_of(f, x, q))
}

/// `chlo.polygamma`: (-1)^(n+1) n! zeta(n + 1, x), digamma for n = 0, NaN unless n is natural.
pub(in super::super) fn polygamma<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [n, x]| {
        let (zero, one, two) = (f.c(0.0), f.c(1.0), f.c(2.0));
        let parity = f.rem(n, two);
        let doubled = f.mul(two, parity);
        let sign = f.sub(doubled, one);
        let next = f.add(n, one);
        let log_factorial = lgamma_of(f, next);
        let factorial = f.exp(log_factorial);
        let zeta = zeta_of(f, next, x);
        let signed = f.mul(sign, factorial);
        let value = f.mul(signed, zeta);
        let is_zero = f.equal(n, zero);
        let digamma = digamma_of(f, x);
        let value = f.select(is_zero, digamma, value);
        let floor = f.floor(n);
        let no_integer = f.compare(ComparisonDirection::Ne, n, floor);
        let negative = f.less(n, zero);
        let unnatural = f.or(no_integer, negative);
        let nan = f.c(f64::NAN);
        f.select(unnatural, nan, value)
    })
}
