//! `erfc`, `erf_inv` and `bessel_i1e`.

use rxla_hlo::op::{ComparisonDirection, UnaryKind};
use rxla_hlo::{ElementType, InstructionId};

use super::super::attributes::View;
use super::super::importer::{Importer, Result};
use super::coefficients::{
    BESSEL_A_F32, BESSEL_A_F64, BESSEL_B_F32, BESSEL_B_F64, ERF_INV_FAR_F32, ERF_INV_FAR_F64,
    ERF_INV_MIDDLE_F64, ERF_INV_NEAR_F32, ERF_INV_NEAR_F64, ERF_T_F32, ERF_T_F64, ERF_U_F64,
    ERFC_P_F32, ERFC_P_F64, ERFC_Q_F64, ERFC_R_F32, ERFC_R_F64, ERFC_S_F64, MAX_LOG_F32,
    MAX_LOG_F64,
};
use super::expression::{Real, with_f32_at_least};

fn is_f64(f: &Real<'_, '_>) -> bool {
    f.cx.element_type(f.like) == ElementType::F64
}

/// `erfc(x)` where `|x| >= 1`.
fn erfc_far(f: &mut Real<'_, '_>, x: InstructionId) -> InstructionId {
    let square = f.mul(x, x);
    let z = f.neg(square);
    let exp_z = f.exp(z);
    let magnitude = f.abs(x);
    let (approximation, max_log) = if is_f64(f) {
        // exp(-x²) P(|x|) / Q(|x|) below 8, exp(-x²) R(|x|) / S(|x|) from there.
        let mut quotient = |p: &[f64], q: &[f64]| {
            let p = f.polynomial(magnitude, p);
            let q = f.polynomial(magnitude, q);
            let product = f.mul(exp_z, p);
            f.div(product, q)
        };
        let below = quotient(&ERFC_P_F64, &ERFC_Q_F64);
        let above = quotient(&ERFC_R_F64, &ERFC_S_F64);
        let eight = f.c(8.0);
        let is_below = f.less(magnitude, eight);
        (f.select(is_below, below, above), MAX_LOG_F64)
    } else {
        // exp(-x²) / |x| P(1/x²) below 2, with R from there.
        let one = f.c(1.0);
        let inverse_square = f.div(one, square);
        let inverse = f.div(one, magnitude);
        let scale = f.mul(exp_z, inverse);
        let below = f.polynomial(inverse_square, &ERFC_P_F32);
        let above = f.polynomial(inverse_square, &ERFC_R_F32);
        let two = f.c(2.0);
        let is_below = f.less(magnitude, two);
        let polynomial = f.select(is_below, below, above);
        (f.mul(scale, polynomial), MAX_LOG_F32)
    };
    let least = f.c(-max_log);
    let underflows = f.less(z, least);
    let zero = f.c(0.0);
    let positive = f.select(underflows, zero, approximation);
    // erfc(x) = 2 - erfc(-x)
    let two = f.c(2.0);
    let mirrored = f.sub(two, positive);
    let is_negative = f.less(x, zero);
    f.select(is_negative, mirrored, positive)
}

/// `erf(x)` where `|x| < 1`.
fn erf_near(f: &mut Real<'_, '_>, x: InstructionId) -> InstructionId {
    let square = f.mul(x, x);
    if is_f64(f) {
        let t = f.polynomial(square, &ERF_T_F64);
        let product = f.mul(x, t);
        let u = f.polynomial(square, &ERF_U_F64);
        f.div(product, u)
    } else {
        let t = f.polynomial(square, &ERF_T_F32);
        f.mul(x, t)
    }
}

/// `chlo.erfc`.
pub(in super::super) fn erfc<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [x]| {
        let far = erfc_far(f, x);
        let erf = erf_near(f, x);
        let one = f.c(1.0);
        let near = f.sub(one, erf);
        let magnitude = f.abs(x);
        let is_near = f.less(magnitude, one);
        f.select(is_near, near, far)
    })
}

/// `chlo.erf_inv`.
pub(in super::super) fn erf_inv<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [x]| {
        // w = -log(1 - x²)
        let negative = f.neg(x);
        let minus_square = f.mul(x, negative);
        let log = f.log1p(minus_square);
        let w = f.neg(log);
        let p = if is_f64(f) { erf_inv_f64(f, w) } else { erf_inv_f32(f, w) };
        let inside = f.mul(p, x);
        // At ±1 the polynomial says nothing; the value is ±infinity.
        let magnitude = f.abs(x);
        let one = f.c(1.0);
        let at_end = f.equal(magnitude, one);
        let infinity = f.c(f64::INFINITY);
        let end = f.mul(x, infinity);
        f.select(at_end, end, inside)
    })
}

fn erf_inv_f32(f: &mut Real<'_, '_>, w: InstructionId) -> InstructionId {
    let five = f.c(5.0);
    let near = f.less(w, five);
    let offset = f.c(2.5);
    let near_w = f.sub(w, offset);
    let root = f.unary(UnaryKind::Sqrt, w);
    let three = f.c(3.0);
    let far_w = f.sub(root, three);
    let w = f.select(near, near_w, far_w);
    let mut sum = None;
    for (&a, &b) in ERF_INV_NEAR_F32.iter().zip(&ERF_INV_FAR_F32) {
        let (a, b) = (f.c(a), f.c(b));
        let coefficient = f.select(near, a, b);
        sum = Some(match sum {
            None => coefficient,
            Some(sum) => {
                let product = f.mul(sum, w);
                f.add(coefficient, product)
            }
        });
    }
    sum.unwrap_or(w)
}

fn erf_inv_f64(f: &mut Real<'_, '_>, w: InstructionId) -> InstructionId {
    let border = f.c(6.25);
    let near = f.less(w, border);
    let border = f.c(16.0);
    let not_far = f.less(w, border);
    let root = f.unary(UnaryKind::Sqrt, w);
    let offset = f.c(3.125);
    let near_w = f.sub(w, offset);
    let (middle_offset, far_offset) = (f.c(3.25), f.c(5.0));
    let offset = f.select(not_far, middle_offset, far_offset);
    let other_w = f.sub(root, offset);
    let w = f.select(near, near_w, other_w);
    let mut sum = None;
    for (index, &a) in ERF_INV_NEAR_F64.iter().enumerate() {
        let mut coefficient = f.c(a);
        if let Some(&b) = ERF_INV_MIDDLE_F64.get(index) {
            let b = f.c(b);
            coefficient = f.select(near, coefficient, b);
        }
        if let Some(&b) = ERF_INV_FAR_F64.get(index) {
            let b = f.c(b);
            coefficient = f.select(not_far, coefficient, b);
        }
        sum = Some(match sum {
            None => coefficient,
            Some(sum) => {
                let product = f.mul(sum, w);
                let next = f.add(coefficient, product);
                // The shorter series are done before the longest.
                if index >= ERF_INV_MIDDLE_F64.len() {
                    f.select(near, next, sum)
                } else if index >= ERF_INV_FAR_F64.len() {
                    f.select(not_far, next, sum)
                } else {
                    next
                }
            }
        });
    }
    sum.unwrap_or(w)
}

/// `chlo.bessel_i1e`.
pub(in super::super) fn bessel_i1e<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    with_f32_at_least(cx, view, |f, [x]| {
        let z = f.abs(x);
        let (a, b): (&[f64], &[f64]) = match is_f64(f) {
            true => (&BESSEL_A_F64, &BESSEL_B_F64),
            false => (&BESSEL_A_F32, &BESSEL_B_F32),
        };
        let (half, two) = (f.c(0.5), f.c(2.0));
        let (eight, thirty_two) = (f.c(8.0), f.c(32.0));
        let halved = f.mul(half, z);
        let inner = f.sub(halved, two);
        let series = f.chebyshev(inner, a);
        let near = f.mul(z, series);
        let inverse = f.div(thirty_two, z);
        let inner = f.sub(inverse, two);
        let series = f.chebyshev(inner, b);
        let root = f.unary(UnaryKind::Sqrt, z);
        let far = f.div(series, root);
        let is_near = f.compare(ComparisonDirection::Le, z, eight);
        let value = f.select(is_near, near, far);
        let sign = f.unary(UnaryKind::Sign, x);
        f.mul(sign, value)
    })
}
