//! Micro-kernels: a small tile of the result in registers, for each instruction set.
//!
//! Each element of the result is one chain of fused multiply-adds over k in ascending order, whatever
//! the tile; so neither the shape of tiles nor who computes them shows in the result.

use super::Compute;

/// Rows of the tallest tile.
pub(crate) const MAX_ROWS: usize = 12;

/// What a tile is computed from and where it goes. `a` holds `rows` values for each step of k; `b` one
/// row of the tile for each step, `b_step` values apart. With `add` the tile is added to what is there.
pub(crate) struct Tile<T> {
    pub k: usize,
    pub a: *const T,
    pub b: *const T,
    pub b_step: isize,
    pub c: *mut T,
    pub c_step: isize,
    pub add: bool,
}

/// # Safety
///
/// The addresses may be accessed as [`Tile`] says, `c` by nobody else, and the processor has the
/// instruction set for which the kernel was chosen.
pub(crate) type Kernel<T> = unsafe fn(&Tile<T>);

/// The kernels of one instruction set: `table[vectors - 1][rows - 1]` computes `rows` rows of
/// `vectors` times `lanes` columns.
pub(crate) struct Kernels<T: 'static> {
    pub lanes: usize,
    pub rows: usize,
    pub table: [[Kernel<T>; MAX_ROWS]; 2],
}

macro_rules! table {
    ($kernel:ident, twelve rows) => {
        table!(
            $kernel, 1 2 3 4 5 6 7 8 9 10 11 12
        )
    };
    ($kernel:ident, six rows) => {
        table!(
            $kernel, 1 2 3 4 5 6 6 6 6 6 6 6
        )
    };
    ($kernel:ident, four rows) => {
        table!(
            $kernel, 1 2 3 4 4 4 4 4 4 4 4 4
        )
    };
    // Entries past the most rows are never looked at.
    ($kernel:ident, $($rows:literal)*) => {
        [[$($kernel::<$rows, 1>),*], [$($kernel::<$rows, 2>),*]]
    };
}

/// The plain kernel, which every instruction set can be compiled for.
///
/// # Safety
///
/// See [`Kernel`].
#[inline(always)]
unsafe fn plain<T: Compute, const LANES: usize, const ROWS: usize, const VECTORS: usize>(
    tile: &Tile<T>,
) {
    let mut sums = [[[T::ZERO; LANES]; VECTORS]; ROWS];
    let (mut a, mut b) = (tile.a, tile.b);
    for _ in 0..tile.k {
        // SAFETY: the tile's promise: so many values at each step.
        let row = unsafe { &*b.cast::<[[T; LANES]; VECTORS]>() };
        for i in 0..ROWS {
            // SAFETY: as above.
            let x = unsafe { *a.add(i) };
            for j in 0..VECTORS {
                for l in 0..LANES {
                    sums[i][j][l] = x.multiply_add(row[j][l], sums[i][j][l]);
                }
            }
        }
        a = a.wrapping_add(ROWS);
        b = b.wrapping_offset(tile.b_step);
    }
    for i in 0..ROWS {
        // SAFETY: as above, for `c`, which is ours alone.
        let row = unsafe {
            &mut *tile.c.offset(i as isize * tile.c_step).cast::<[[T; LANES]; VECTORS]>()
        };
        for j in 0..VECTORS {
            for l in 0..LANES {
                row[j][l] = if tile.add { row[j][l].add(sums[i][j][l]) } else { sums[i][j][l] };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernels, Tile, plain};

    macro_rules! kernel {
        ($name:ident, $features:literal, $scalar:ty, $lanes:literal, $vector:ty,
         $zero:ident, $load:ident, $store:ident, $splat:ident, $fma:ident, $add:ident) => {
            /// # Safety
            ///
            /// See [`super::Kernel`].
            #[target_feature(enable = $features)]
            unsafe fn $name<const ROWS: usize, const VECTORS: usize>(tile: &Tile<$scalar>) {
                let mut sums: [[$vector; VECTORS]; ROWS] = [[$zero(); VECTORS]; ROWS];
                let (mut a, mut b) = (tile.a, tile.b);
                for _ in 0..tile.k {
                    let mut row: [$vector; VECTORS] = [$zero(); VECTORS];
                    for j in 0..VECTORS {
                        // SAFETY: the tile's promise: so many values at each step.
                        row[j] = unsafe { $load(b.add(j * $lanes)) };
                    }
                    for i in 0..ROWS {
                        // SAFETY: as above.
                        let x = $splat(unsafe { *a.add(i) });
                        for j in 0..VECTORS {
                            sums[i][j] = $fma(x, row[j], sums[i][j]);
                        }
                    }
                    a = a.wrapping_add(ROWS);
                    b = b.wrapping_offset(tile.b_step);
                }
                for i in 0..ROWS {
                    for j in 0..VECTORS {
                        // SAFETY: as above, for `c`, which is ours alone.
                        unsafe {
                            let c = tile.c.offset(i as isize * tile.c_step).add(j * $lanes);
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
        f32_avx512,
        "avx512f",
        f32,
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
        f64_avx512,
        "avx512f",
        f64,
        8,
        __m512d,
        _mm512_setzero_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_add_pd
    );
    kernel!(
        f32_avx2,
        "avx2,fma",
        f32,
        8,
        __m256,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps
    );
    kernel!(
        f64_avx2,
        "avx2,fma",
        f64,
        4,
        __m256d,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd
    );

    /// # Safety
    ///
    /// See [`super::Kernel`].
    #[target_feature(enable = "avx2")]
    unsafe fn i32_avx2<const ROWS: usize, const VECTORS: usize>(tile: &Tile<i32>) {
        // SAFETY: the caller's promise.
        unsafe { plain::<i32, 8, ROWS, VECTORS>(tile) }
    }

    /// # Safety
    ///
    /// See [`super::Kernel`].
    #[target_feature(enable = "avx2")]
    unsafe fn i64_avx2<const ROWS: usize, const VECTORS: usize>(tile: &Tile<i64>) {
        // SAFETY: the caller's promise.
        unsafe { plain::<i64, 4, ROWS, VECTORS>(tile) }
    }

    pub(super) static F32_AVX512: Kernels<f32> =
        Kernels { lanes: 16, rows: 12, table: table!(f32_avx512, twelve rows) };
    pub(super) static F64_AVX512: Kernels<f64> =
        Kernels { lanes: 8, rows: 12, table: table!(f64_avx512, twelve rows) };
    pub(super) static F32_AVX2: Kernels<f32> =
        Kernels { lanes: 8, rows: 6, table: table!(f32_avx2, six rows) };
    pub(super) static F64_AVX2: Kernels<f64> =
        Kernels { lanes: 4, rows: 6, table: table!(f64_avx2, six rows) };
    pub(super) static I32_AVX2: Kernels<i32> =
        Kernels { lanes: 8, rows: 4, table: table!(i32_avx2, four rows) };
    pub(super) static I64_AVX2: Kernels<i64> =
        Kernels { lanes: 4, rows: 4, table: table!(i64_avx2, four rows) };

    pub(super) fn avx512() -> bool {
        is_x86_feature_detected!("avx512f")
    }

    pub(super) fn avx2() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }
}

macro_rules! choose {
    ($function:ident, $scalar:ty, $lanes:literal, $avx512:expr, $avx2:expr) => {
        /// The best kernels that this processor can run.
        pub(super) fn $function() -> &'static Kernels<$scalar> {
            #[cfg(target_arch = "x86_64")]
            {
                let (avx512, avx2): (Option<&'static Kernels<$scalar>>, _) = ($avx512, $avx2);
                if let Some(kernels) = avx512
                    && x86::avx512()
                {
                    return kernels;
                }
                if x86::avx2() {
                    return avx2;
                }
            }
            /// # Safety
            ///
            /// See [`Kernel`].
            unsafe fn baseline<const ROWS: usize, const VECTORS: usize>(tile: &Tile<$scalar>) {
                // SAFETY: the caller's promise.
                unsafe { plain::<$scalar, $lanes, ROWS, VECTORS>(tile) }
            }
            static BASELINE: Kernels<$scalar> =
        Kernels { lanes: $lanes, rows: 4, table: table!(baseline, four rows) };
            &BASELINE
        }
    };
}

choose!(for_f32, f32, 4, Some(&x86::F32_AVX512), &x86::F32_AVX2);
choose!(for_f64, f64, 2, Some(&x86::F64_AVX512), &x86::F64_AVX2);
choose!(for_i32, i32, 4, None, &x86::I32_AVX2);
choose!(for_i64, i64, 2, None, &x86::I64_AVX2);
