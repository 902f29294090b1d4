//! Products with panels of a few outputs, as groups have: the panel stays in registers, rows go by.

use super::LANES;
use crate::convolution::vector::Vector;
use crate::gemm::sets;

/// Rows of `k` values, `a_row` from each other, times a panel, into rows `c_row` from each other.
pub(super) struct Product {
    pub(super) rows: usize,
    pub(super) k: usize,
    pub(super) a: *const f32,
    pub(super) a_row: usize,
    pub(super) b: *const f32,
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
}

/// # Safety
///
/// What [`Product`] says can be read and written, and the processor has the vectors for which it was chosen.
type Kernel = unsafe fn(&Product);

/// A kernel for panels of one vector.
pub(super) struct Narrow {
    pub(super) lanes: usize,
    kernel: Kernel,
}

impl Narrow {
    /// # Safety
    ///
    /// What [`Product`] says can be read and written, by nobody else.
    pub(super) unsafe fn run(&self, product: &Product) {
        // SAFETY: the caller's promise; the kernel is one of this processor's.
        unsafe { (self.kernel)(product) };
    }
}

/// How wide panels of groups of so many outputs are, and the kernel if they are narrow.
pub(super) fn panel(outputs: usize) -> (usize, Option<&'static Narrow>) {
    let narrow: &[Narrow] = match sets::best() {
        #[cfg(target_arch = "x86_64")]
        sets::Set::Avx512 => &x86::AVX512,
        #[cfg(target_arch = "x86_64")]
        sets::Set::Avx2 => &x86::AVX2,
        _ => &BASELINE,
    };
    match narrow.iter().find(|narrow| narrow.lanes >= outputs) {
        Some(narrow) => (narrow.lanes, Some(narrow)),
        // Rows of products have so much room at their end.
        None => (LANES, None),
    }
}

macro_rules! kernel {
    ($vector:ty, $lanes:literal, $rows:literal, $(#[$features:meta])?) => {{
        /// # Safety
        ///
        /// See [`Kernel`].
        $(#[$features])?
        unsafe fn kernel(product: &Product) {
            // SAFETY: the caller's promise.
            unsafe { body::<$vector, $rows>(product) };
        }
        Narrow { lanes: $lanes, kernel }
    }};
}

static BASELINE: [Narrow; 1] = [kernel!(crate::convolution::vector::Plain, 4, 4,)];

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128, __m256};

    use super::*;

    pub(super) static AVX2: [Narrow; 2] = [
        kernel!(__m128, 4, 4, #[target_feature(enable = "avx2,fma")]),
        kernel!(__m256, 8, 4, #[target_feature(enable = "avx2,fma")]),
    ];
    // Twice as many registers, also of these widths.
    pub(super) static AVX512: [Narrow; 2] = [
        kernel!(__m128, 4, 12, #[target_feature(enable = "avx512f,avx512vl")]),
        kernel!(__m256, 8, 12, #[target_feature(enable = "avx512f,avx512vl")]),
    ];
}

/// # Safety
///
/// See [`Kernel`].
#[inline(always)]
unsafe fn body<V: Vector, const ROWS: usize>(product: &Product) {
    let mut from = 0;
    while from < product.k {
        // SAFETY: the caller's promise; so many steps are left.
        unsafe {
            from += match product.k - from {
                1 => steps::<V, ROWS, 1>(product, from),
                2 | 3 => steps::<V, ROWS, 2>(product, from),
                4..=7 => steps::<V, ROWS, 4>(product, from),
                _ => steps::<V, ROWS, 8>(product, from),
            };
        }
    }
}

/// The products of some steps for all rows; says how many steps.
///
/// # Safety
///
/// See [`Kernel`]; there are so many steps from `from` on.
#[inline(always)]
unsafe fn steps<V: Vector, const ROWS: usize, const STEPS: usize>(
    product: &Product,
    from: usize,
) -> usize {
    // SAFETY: the caller's promise.
    let mut panel = [unsafe { V::zero() }; STEPS];
    for step in 0..STEPS {
        // SAFETY: as above.
        panel[step] = unsafe { V::load(product.b.add((from + step) * V::LANES)) };
    }
    let mut row = 0;
    while row + ROWS <= product.rows {
        // SAFETY: as above.
        unsafe { some_rows::<V, ROWS, STEPS>(product, panel, row, from) };
        row += ROWS;
    }
    while row < product.rows {
        // SAFETY: as above.
        unsafe { some_rows::<V, 1, STEPS>(product, panel, row, from) };
        row += 1;
    }
    STEPS
}

/// # Safety
///
/// As for [`steps`], for so many rows.
#[inline(always)]
unsafe fn some_rows<V: Vector, const ROWS: usize, const STEPS: usize>(
    product: &Product,
    panel: [V; STEPS],
    row: usize,
    from: usize,
) {
    let &Product { a_row, c_row, .. } = product;
    // Every third row has an address of its own: the two after it are reached by what an instruction can add to an address.
    let third = |i: usize| product.a.wrapping_add((row + 3 * i) * a_row + from);
    let a: [*const f32; 4] = std::array::from_fn(third);
    let c = product.c.wrapping_add(row * c_row);
    // SAFETY: the caller's promise.
    let mut sums = [unsafe { V::zero() }; ROWS];
    if from > 0 {
        for i in 0..ROWS {
            // SAFETY: as above.
            sums[i] = unsafe { V::load(c.add(i * c_row)) };
        }
    }
    for step in 0..STEPS {
        for i in 0..ROWS {
            // SAFETY: as above.
            let x = unsafe { V::splat(*a[i / 3].add(i % 3 * a_row + step)) };
            sums[i] = sums[i].add_product(x, panel[step]);
        }
    }
    for i in 0..ROWS {
        // SAFETY: as above.
        unsafe { sums[i].store(c.add(i * c_row)) };
    }
}
