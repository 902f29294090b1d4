//! What implicit QR steps of real and of complex Hessenberg matrices share.
//!
//! Where a matrix is taken apart follows Ahues and Tisseur, "A new deflation criterion for the QR algorithm" (1997).

use super::number::{Number, Real};
use crate::gemm::Compute;

/// Steps for an eigenvalue that are more than enough.
pub(super) const STEPS: usize = 60;
/// Every so many of them, shifts are none that the matrix suggests.
pub(super) const EXCEPTIONAL: usize = 10;

/// Where the block begins that ends there: above it is a negligible number.
#[inline(always)]
pub(super) fn block<T: Number>(matrix: &[T], size: usize, start: usize, end: usize) -> usize {
    let nothing = T::Part::SMALL * T::Part::SMALL;
    let at = |i: usize, j: usize| matrix[i * size + j];
    for k in (start + 1..end).rev() {
        let below = at(k, k - 1).magnitude();
        if below <= nothing {
            return k;
        }
        let (first, second) = (at(k - 1, k - 1), at(k, k));
        let mut around = first.magnitude() + second.magnitude();
        if around == T::Part::ZERO {
            if k >= start + 2 {
                around = around + at(k - 1, k - 2).magnitude();
            }
            if k + 1 < end {
                around = around + at(k + 1, k).magnitude();
            }
        }
        if below > T::Part::EPSILON * around {
            continue;
        }
        let [more, less] = in_order(below, at(k - 1, k).magnitude());
        let difference = first.plus(second.negative()).magnitude();
        let [large, small] = in_order(second.magnitude(), difference);
        let sum = large + more;
        let bound = T::Part::EPSILON * (small * (large / sum));
        if less * (more / sum) <= if bound > nothing { bound } else { nothing } {
            return k;
        }
    }
    start
}

/// Takes `tau w vᴴ` from two columns of rows, where `v` is one and `second`, and `w` the columns times `v`.
#[inline(always)]
pub(super) fn reflect_columns<T: Number>(rows: &mut [T], size: usize, k: usize, second: T, tau: T) {
    let weights = [tau, tau.times(second.conjugate())];
    for row in rows.chunks_mut(size) {
        let sum = row[k].plus_product(second, row[k + 1]);
        row[k] = row[k].minus_product(weights[0], sum);
        row[k + 1] = row[k + 1].minus_product(weights[1], sum);
    }
}

/// The larger and the smaller of two numbers.
#[inline(always)]
pub(super) fn in_order<P: Real>(a: P, b: P) -> [P; 2] {
    if a > b { [a, b] } else { [b, a] }
}
