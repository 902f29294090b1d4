//! Micro-kernels: a small tile of the result in registers, for each instruction set.
//!
//! Each element of the result is one chain of fused multiply-adds over k in ascending order, whatever
//! the tile; so neither the shape of tiles nor who computes them shows in the result.

use super::{Compute, Pair};

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

    use super::{Kernels, Pair, Tile, plain};

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

    // What the macro needs for pairs, in its order of arguments.

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn splat_pairs_512(pair: Pair) -> __m512i {
        _mm512_set1_epi32(pair.0)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn multiply_pairs_512(a: __m512i, b: __m512i, sum: __m512i) -> __m512i {
        _mm512_dpwssd_epi32(sum, a, b)
    }

    /// # Safety
    ///
    /// There are 16 pairs.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load_pairs_512(from: *const Pair) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    /// # Safety
    ///
    /// There is room for 16 pairs.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store_pairs_512(into: *mut Pair, pairs: __m512i) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(into.cast(), pairs) };
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn splat_pairs_256(pair: Pair) -> __m256i {
        _mm256_set1_epi32(pair.0)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn multiply_pairs_256(a: __m256i, b: __m256i, sum: __m256i) -> __m256i {
        _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
    }

    /// # Safety
    ///
    /// There are 8 pairs.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_pairs_256(from: *const Pair) -> __m256i {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    /// # Safety
    ///
    /// There is room for 8 pairs.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store_pairs_256(into: *mut Pair, pairs: __m256i) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(into.cast(), pairs) };
    }

    kernel!(
        pairs_vnni,
        "avx512f,avx512vnni",
        Pair,
        16,
        __m512i,
        _mm512_setzero_si512,
        load_pairs_512,
        store_pairs_512,
        splat_pairs_512,
        multiply_pairs_512,
        _mm512_add_epi32
    );
    kernel!(
        pairs_avx2,
        "avx2",
        Pair,
        8,
        __m256i,
        _mm256_setzero_si256,
        load_pairs_256,
        store_pairs_256,
        splat_pairs_256,
        multiply_pairs_256,
        _mm256_add_epi32
    );

    pub(super) static PAIRS_VNNI: Kernels<Pair> =
        Kernels { lanes: 16, rows: 12, table: table!(pairs_vnni, twelve rows) };
    pub(super) static PAIRS_AVX2: Kernels<Pair> =
        Kernels { lanes: 8, rows: 6, table: table!(pairs_avx2, six rows) };

    pub(super) fn vnni() -> bool {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
    }

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
    ($function:ident, $scalar:ty, $lanes:literal, $has:ident $avx512:expr, $avx2:expr) => {
        /// The best kernels that this processor can run.
        pub(super) fn $function() -> &'static Kernels<$scalar> {
            #[cfg(target_arch = "x86_64")]
            {
                let (avx512, avx2): (Option<&'static Kernels<$scalar>>, _) = ($avx512, $avx2);
                if let Some(kernels) = avx512
                    && x86::$has()
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

choose!(for_f32, f32, 4, avx512 Some(&x86::F32_AVX512), &x86::F32_AVX2);
choose!(for_f64, f64, 2, avx512 Some(&x86::F64_AVX512), &x86::F64_AVX2);
choose!(for_i32, i32, 4, avx512 None, &x86::I32_AVX2);
choose!(for_i64, i64, 2, avx512 None, &x86::I64_AVX2);
choose!(for_pairs, Pair, 4, vnni Some(&x86::PAIRS_VNNI), &x86::PAIRS_AVX2);

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Every tile of a set against sums one by one.
    fn check<T: Compute + std::fmt::Debug>(kernels: &Kernels<T>, number: impl Fn(usize) -> T) {
        let depth = 5;
        for vectors in 1..=2 {
            for rows in 1..=kernels.rows {
                let width = vectors * kernels.lanes;
                let a: Vec<T> = (0..depth * rows).map(&number).collect();
                let b: Vec<T> = (0..depth * width).map(|i| number(i * 3 + 1)).collect();
                for add in [false, true] {
                    let mut c: Vec<T> = (0..rows * width).map(&number).collect();
                    let start = c.clone();
                    let tile = Tile {
                        k: depth,
                        a: a.as_ptr(),
                        b: b.as_ptr(),
                        b_step: width as isize,
                        c: c.as_mut_ptr(),
                        c_step: width as isize,
                        add,
                    };
                    // SAFETY: all is as large as the tile, and the set was detected by the caller.
                    unsafe { kernels.table[vectors - 1][rows - 1](&tile) };
                    for (place, &value) in c.iter().enumerate() {
                        let (i, j) = (place / width, place % width);
                        let sum = (0..depth).fold(T::ZERO, |sum, p| {
                            a[p * rows + i].multiply_add(b[p * width + j], sum)
                        });
                        let wanted = if add { start[place].add(sum) } else { sum };
                        assert_eq!(value, wanted, "{rows} rows, {vectors} vectors");
                    }
                }
            }
        }
    }

    #[test]
    fn sets_that_this_processor_has() {
        let small = |i: usize| (i * 7 % 11) as i16 - 5;
        let pair = |i: usize| Pair::new(small(i), small(i + 1));
        if x86::avx2() {
            check(&x86::F32_AVX2, |i| f32::from(small(i)));
            check(&x86::F64_AVX2, |i| f64::from(small(i)));
            check(&x86::I32_AVX2, |i| i32::from(small(i)));
            check(&x86::I64_AVX2, |i| i64::from(small(i)));
            check(&x86::PAIRS_AVX2, pair);
        }
        if x86::avx512() {
            check(&x86::F32_AVX512, |i| f32::from(small(i)));
            check(&x86::F64_AVX512, |i| f64::from(small(i)));
        }
        if x86::vnni() {
            check(&x86::PAIRS_VNNI, pair);
        }
    }
}
