//! The micro-kernel for operands that are read where they are: its left operand has any strides.
//!
//! Sums are those of the kernels in [`super`]: one chain of fused multiply-adds over k in ascending order.

use super::MAX_ROWS;
use crate::gemm::sets::{self, Set};

/// As [`super::Tile`], but for the left operand: the value of row `i` at step `p` is `a[i * a_row + p * a_step]`.
pub(crate) struct Strided {
    pub k: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub a_step: usize,
    pub b: *const f32,
    pub b_step: usize,
    pub c: *mut f32,
    pub c_row: usize,
    pub add: bool,
}

/// # Safety
///
/// The addresses may be accessed as [`Strided`] says, `c` by nobody else, and the processor has the instruction set
/// for which the kernel was chosen.
type Kernel = unsafe fn(&Strided);

/// The kernels of one instruction set: `table[rows - 1]` computes so many rows of `width` columns.
pub(crate) struct Kernels {
    pub width: usize,
    pub rows: usize,
    table: [Kernel; MAX_ROWS],
}

impl Kernels {
    /// Computes a tile of `rows` rows, at most as many as the kernels have.
    ///
    /// # Safety
    ///
    /// The addresses may be accessed as [`Strided`] says, `c` by nobody else.
    pub(crate) unsafe fn run(&self, rows: usize, tile: &Strided) {
        // SAFETY: the caller's promise; the kernels are those of this processor.
        unsafe { self.table[rows - 1](tile) };
    }
}

macro_rules! kernels {
    ($name:ident, $kernel:ident, $lanes:literal, $rows:literal: $($count:literal)*) => {
        // Entries past the most rows are never looked at.
        pub(super) static $name: Kernels =
            Kernels { width: 2 * $lanes, rows: $rows, table: [$($kernel::<$count>),*] };
    };
}

/// The best kernels that this processor can run.
pub(crate) fn best() -> &'static Kernels {
    match sets::best() {
        #[cfg(target_arch = "x86_64")]
        Set::Avx512 => &x86::AVX512,
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => &x86::AVX2,
        _ => &BASELINE,
    }
}

kernels!(BASELINE, baseline, 4, 4: 1 2 3 4 4 4 4 4 4 4 4 4);

/// # Safety
///
/// See [`Kernel`].
unsafe fn baseline<const ROWS: usize>(tile: &Strided) {
    let mut sums = [[0.0_f32; 8]; ROWS];
    for p in 0..tile.k {
        // SAFETY: the tile's promise: so many values at each step.
        let row = unsafe { &*tile.b.add(p * tile.b_step).cast::<[f32; 8]>() };
        for (i, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let x = unsafe { *tile.a.add(i * tile.a_row + p * tile.a_step) };
            for (sum, &y) in sums.iter_mut().zip(row) {
                *sum = x.mul_add(y, *sum);
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        // SAFETY: as above, for `c`, which is ours alone.
        let row = unsafe { &mut *tile.c.add(i * tile.c_row).cast::<[f32; 8]>() };
        for (target, &sum) in row.iter_mut().zip(sums) {
            *target = if tile.add { *target + sum } else { sum };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernels, Strided};

    macro_rules! kernel {
        ($name:ident, $features:literal, $lanes:literal, $vector:ty, $zero:path, $load:path, $store:path,
         $splat:path, $fma:path, $add:path) => {
            /// # Safety
            ///
            /// See [`super::Kernel`].
            #[target_feature(enable = $features)]
            unsafe fn $name<const ROWS: usize>(tile: &Strided) {
                let mut sums: [[$vector; 2]; ROWS] = [[$zero(); 2]; ROWS];
                // Every third row has an address of its own: the two after it are reached by what an instruction can
                // add to an address, and all fit into registers.
                let mut a: [*const f32; 4] =
                    std::array::from_fn(|third| tile.a.wrapping_add(3 * third * tile.a_row));
                let mut b = tile.b;
                for _ in 0..tile.k {
                    // SAFETY: the tile's promise: so many values at each step.
                    let row = unsafe { [$load(b), $load(b.add($lanes))] };
                    for i in 0..ROWS {
                        // SAFETY: as above.
                        let x = $splat(unsafe { *a[i / 3].add(i % 3 * tile.a_row) });
                        for j in 0..2 {
                            sums[i][j] = $fma(x, row[j], sums[i][j]);
                        }
                    }
                    a = a.map(|a| a.wrapping_add(tile.a_step));
                    b = b.wrapping_add(tile.b_step);
                }
                for i in 0..ROWS {
                    for j in 0..2 {
                        // SAFETY: as above, for `c`, which is ours alone.
                        unsafe {
                            let c = tile.c.add(i * tile.c_row + j * $lanes);
                            let sum =
                                if tile.add { $add($load(c), sums[i][j]) } else { sums[i][j] };
                            $store(c, sum);
                        }
                    }
                }
            }
        };
    }

    kernel!(
        avx512,
        "avx512f",
        16,
        __m512,
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_fmadd_ps,
        _mm512_add_ps
    );
    kernel!(
        avx2,
        "avx2,fma",
        8,
        __m256,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps
    );
    kernels!(AVX512, avx512, 16, 12: 1 2 3 4 5 6 7 8 9 10 11 12);
    kernels!(AVX2, avx2, 8, 6: 1 2 3 4 5 6 6 6 6 6 6 6);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_every_set() {
        sets::forced::each(|| {
            let kernels = best();
            let (k, width) = (5, kernels.width);
            let number = |i: usize| (i * 7 % 11) as f32 - 5.0;
            for rows in 1..=kernels.rows {
                // Rows far from each other and steps together, and the other way round.
                for (a_row, a_step) in [(9, 1), (1, rows + 3)] {
                    for add in [false, true] {
                        let a: Vec<f32> = (0..rows.max(k) * 20).map(number).collect();
                        let b: Vec<f32> = (0..k * (width + 2)).map(|i| number(3 * i + 1)).collect();
                        let mut c: Vec<f32> = (0..rows * (width + 1)).map(number).collect();
                        let before = c.clone();
                        let tile = Strided {
                            k,
                            a: a.as_ptr(),
                            a_row,
                            a_step,
                            b: b.as_ptr(),
                            b_step: width + 2,
                            c: c.as_mut_ptr(),
                            c_row: width + 1,
                            add,
                        };
                        // SAFETY: all is as large as the tile.
                        unsafe { kernels.run(rows, &tile) };
                        for (place, &value) in c.iter().enumerate() {
                            let (i, j) = (place / (width + 1), place % (width + 1));
                            let sum: f32 = (0..k)
                                .map(|p| {
                                    a[i * a_row + p * a_step]
                                        * b[p * (width + 2) + j.min(width - 1)]
                                })
                                .sum();
                            let start = if add { before[place] } else { 0.0 };
                            let wanted = if j == width { before[place] } else { start + sum };
                            assert_eq!(value, wanted, "{rows} rows, place {place}");
                        }
                    }
                }
            }
        });
    }
}
