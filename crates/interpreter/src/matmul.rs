//! The one matrix product behind dots and convolutions, and the types it is computed in.
//!
//! Sums run over the contracted index from its start; only where both sides are read along it, and
//! it is long, in eight lanes. The order depends on nothing but the sizes. Narrow integers are computed in `s32` and narrow floats in `f32`;
//! integers wrap.

use num_complex::Complex;
use rxla_base::Result;
use rxla_hlo::native::NativeType;
use rxla_hlo::{ArrayLiteral, ElementType};

use crate::elementwise;

/// A type that products are summed in.
pub(crate) trait Term: NativeType {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

macro_rules! float_terms {
    ($($t:ty),+) => { $(impl Term for $t {
        #[inline]
        fn plus(self, other: Self) -> Self { self + other }
        #[inline]
        fn times(self, other: Self) -> Self { self * other }
    })+ };
}
float_terms!(f32, f64, Complex<f32>, Complex<f64>);

macro_rules! integer_terms {
    ($($t:ty),+) => { $(impl Term for $t {
        #[inline]
        fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
        #[inline]
        fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
    })+ };
}
integer_terms!(i32, i64);

/// The type in which products of `lhs` and `rhs` with the given result are computed.
pub(crate) fn term_type(result: ElementType, lhs: ElementType, rhs: ElementType) -> ElementType {
    use ElementType::*;
    match result {
        Pred | S1 | S2 | S4 | S8 | S16 | S32 | U1 | U2 | U4 | U8 | U16 | U32 => S32,
        S64 | U64 => S64,
        F32 if lhs == F64 || rhs == F64 => F64,
        F16 | Bf16 | F32 | F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz
        | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => F32,
        F64 => F64,
        C64 => C64,
        C128 => C128,
    }
}

/// Runs a block with `$T` bound to the Rust type of a [`term_type`].
macro_rules! with_term {
    ($element_type:expr, $T:ident => $body:expr) => {
        match $element_type {
            rxla_hlo::ElementType::S32 => {
                type $T = i32;
                $body
            }
            rxla_hlo::ElementType::S64 => {
                type $T = i64;
                $body
            }
            rxla_hlo::ElementType::F32 => {
                type $T = f32;
                $body
            }
            rxla_hlo::ElementType::F64 => {
                type $T = f64;
                $body
            }
            rxla_hlo::ElementType::C64 => {
                type $T = rxla_hlo::native::C64;
                $body
            }
            rxla_hlo::ElementType::C128 => {
                type $T = rxla_hlo::native::C128;
                $body
            }
            other => unreachable!("products are not summed in {other}"),
        }
    };
}
pub(crate) use with_term;

/// `convert` that leaves the right type alone.
pub(crate) fn to_type(operand: ArrayLiteral, to: ElementType) -> Result<ArrayLiteral> {
    if operand.element_type() == to { Ok(operand) } else { elementwise::convert(operand, to) }
}

/// `c[i, j] += Σ a[i, p] b[p, j]` for row-major `a` (m × k), `b` (k × n) and `c` (m × n).
pub(crate) fn multiply_add<T: Term>(
    a: &[T],
    b: &[T],
    c: &mut [T],
    (m, k, n): (usize, usize, usize),
) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    // A block of b that stays in the second cache while all rows of a pass over it.
    const COLUMNS: usize = 512;
    const DEPTH: usize = 128;
    let mut depth = 0;
    while depth < k {
        let depth_end = (depth + DEPTH).min(k);
        let mut column = 0;
        while column < n {
            let column_end = (column + COLUMNS).min(n);
            for row in 0..m {
                let a = &a[row * k..][..k];
                let c = &mut c[row * n + column..row * n + column_end];
                let b_row = |p: usize| &b[p * n + column..p * n + column_end];
                let mut p = depth;
                while p + 4 <= depth_end {
                    let (a0, a1, a2, a3) = (a[p], a[p + 1], a[p + 2], a[p + 3]);
                    let (b0, b1) = (b_row(p), b_row(p + 1));
                    let (b2, b3) = (b_row(p + 2), b_row(p + 3));
                    for ((((c, b0), b1), b2), b3) in c.iter_mut().zip(b0).zip(b1).zip(b2).zip(b3) {
                        let sum = c.plus(a0.times(*b0)).plus(a1.times(*b1));
                        *c = sum.plus(a2.times(*b2)).plus(a3.times(*b3));
                    }
                    p += 4;
                }
                while p < depth_end {
                    let a = a[p];
                    for (c, b) in c.iter_mut().zip(b_row(p)) {
                        *c = c.plus(a.times(*b));
                    }
                    p += 1;
                }
            }
            column = column_end;
        }
        depth = depth_end;
    }
}

/// `c[i, j] += Σ a[i, p] b[j, p]`: for few columns, where both sides are read along `p`.
pub(crate) fn multiply_add_transposed<T: Term>(
    a: &[T],
    b: &[T],
    c: &mut [T],
    (m, k, n): (usize, usize, usize),
) {
    for row in 0..m {
        let a = &a[row * k..][..k];
        for column in 0..n {
            let sum = inner_product(a, &b[column * k..][..k]);
            let c = &mut c[row * n + column];
            *c = c.plus(sum);
        }
    }
}

fn inner_product<T: Term>(a: &[T], b: &[T]) -> T {
    const LANES: usize = 8;
    if a.len() < 4 * LANES {
        return a.iter().zip(b).fold(T::default(), |sum, (a, b)| sum.plus(a.times(*b)));
    }
    let mut lanes = [T::default(); LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (a_rest, b_rest) = (a_blocks.remainder(), b_blocks.remainder());
    for (a, b) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] = lanes[lane].plus(a[lane].times(b[lane]));
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[lane] = lanes[lane].plus(a.times(*b));
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    (a.plus(e).plus(c.plus(g))).plus(b.plus(f).plus(d.plus(h)))
}
