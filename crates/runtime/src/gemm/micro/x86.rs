//! Kernels of the sets of instructions of x86.

use std::arch::x86_64::*;

use super::{ASKING, Ask, Kernels, Tile, plain};
use crate::gemm::Compute;
use crate::gemm::units::{Halves, Pair, Quad};

/// Steps of k for which the operands are asked for ahead.
const AHEAD: usize = 12;
/// The same for columns that come from where the program has them.
const FAR_AHEAD: isize = 64;
/// Steps of k below which a product of rows read where they are is so short that to ask for what it writes shows.
const SHORT: usize = 48;

/// Kernels for rows of the left operand that lie together, or apart.
macro_rules! kernel {
    ($apart:literal, $name:ident, $features:literal, $scalar:ty, $lanes:literal, $vector:ty,
     $zero:path, $load:path, $store:path, $splat:path, $fma:path, $add:path) => {
        /// # Safety
        ///
        /// See [`super::Kernel`].
        #[target_feature(enable = $features)]
        unsafe fn $name<const ROWS: usize, const VECTORS: usize>(tile: &Tile<$scalar>) {
            const LINE: usize = 64 / size_of::<$scalar>();
            // Short vectors are more instructions in the time than processors take up at their ease, the more so where
            // another program shares the core: none are spent on counting, or on asking for what comes by itself.
            const UNROLLED: usize =
                if $lanes < LINE && <$scalar as Compute>::FUSED { 4 } else { 1 };
            let mut sums: [[$vector; VECTORS]; ROWS] = [[$zero(); VECTORS]; ROWS];
            if !tile.start.is_null() {
                for j in 0..VECTORS {
                    // SAFETY: the tile's promise: as many values as it has columns.
                    let first = unsafe { $load(tile.start.add(j * $lanes)) };
                    for i in 0..ROWS {
                        sums[i][j] = first;
                    }
                }
            }
            let asked = if $apart && tile.k < SHORT { 0 } else { ROWS };
            for i in 0..asked {
                let c = tile.c.wrapping_offset(i as isize * tile.c_step);
                for j in 0..VECTORS {
                    _mm_prefetch::<_MM_HINT_T0>(c.wrapping_add(j * $lanes).cast());
                }
            }
            // Of rows that are apart every third has an address of its own: the two after it are reached by what an
            // instruction can add to an address, so that all fit into registers.
            let third = if $apart { 3 * tile.a_row } else { 0 };
            let mut a: [*const $scalar; 4] =
                std::array::from_fn(|number| tile.a.wrapping_add(number * third));
            if $apart {
                // Otherwise the compiler finds one address from the other, by an instruction for each row and step, which
                // is more than some processors take up in the time.
                for address in &mut a {
                    // SAFETY: nothing is done.
                    unsafe {
                        std::arch::asm!(
                            "/* {} */",
                            inout(reg) * address,
                            options(pure, nomem, nostack, preserves_flags)
                        );
                    }
                }
            }
            let (mut b, mut keep) = (tile.b, tile.keep);
            let at_hand = Ask { from: tile.a.cast(), step: 0 };
            let Ask { from: mut wanted, step: apart } = tile.ask.unwrap_or(at_hand);
            let asks = tile.ask.is_some();
            let mut soon = tile.soon.from;
            let mut step = |fetch: bool, keeps: bool| {
                // Columns push tiles out of the first cache.
                if $apart {
                    if $lanes >= LINE {
                        _mm_prefetch::<_MM_HINT_T0>(soon.cast());
                        soon = soon.wrapping_offset(tile.soon.step);
                    }
                } else if fetch && $lanes >= LINE {
                    _mm_prefetch::<_MM_HINT_T0>(a[0].wrapping_add(AHEAD * tile.a_step).cast());
                }
                let mut row: [$vector; VECTORS] = [$zero(); VECTORS];
                for j in 0..VECTORS {
                    // SAFETY: the tile's promise: so many values at each step.
                    row[j] = unsafe { $load(b.add(j * $lanes)) };
                    if keeps && !keep.is_null() {
                        // SAFETY: the tile's promise: there is room for all rows.
                        unsafe { $store(keep, row[j]) };
                        keep = keep.wrapping_add($lanes);
                        if j * $lanes % LINE == 0 {
                            let later = b.wrapping_offset(FAR_AHEAD * tile.b_step);
                            _mm_prefetch::<_MM_HINT_T1>(later.wrapping_add(j * $lanes).cast());
                        }
                    }
                    if fetch && j * $lanes % LINE == 0 {
                        let later = b.wrapping_offset(AHEAD as isize * tile.b_step);
                        _mm_prefetch::<_MM_HINT_T0>(later.wrapping_add(j * $lanes).cast());
                    }
                }
                for i in 0..ROWS {
                    // SAFETY: as above.
                    let place = if $apart {
                        a[i / 3].wrapping_add(i % 3 * tile.a_row)
                    } else {
                        a[0].wrapping_add(i)
                    };
                    let x = $splat(unsafe { *place });
                    for j in 0..VECTORS {
                        sums[i][j] = $fma(x, row[j], sums[i][j]);
                    }
                }
                a = a.map(|a| a.wrapping_add(tile.a_step));
                b = b.wrapping_offset(tile.b_step);
            };
            let mut ask = || {
                _mm_prefetch::<_MM_HINT_T1>(wanted.cast());
                wanted = wanted.wrapping_offset(apart);
            };
            let mut left = tile.k;
            if $apart && tile.keep.is_null() && tile.ask.is_none() {
                for _ in 0..std::mem::take(&mut left) {
                    step(false, false);
                }
            }
            if UNROLLED > 1 && tile.b_step == ($lanes * VECTORS) as isize {
                while left >= UNROLLED {
                    left -= UNROLLED;
                    ask();
                    for _ in 0..UNROLLED {
                        step(false, true);
                    }
                }
            }
            while left > 0 {
                let some = left.min(2 * ASKING);
                left -= some;
                if asks {
                    (0..some).step_by(ASKING).for_each(|_| ask());
                }
                for _ in 0..some {
                    step(!$apart, true);
                }
            }
            for i in 0..ROWS {
                for j in 0..VECTORS {
                    // SAFETY: as above, for `c`, which is ours alone.
                    unsafe {
                        let c = tile.c.offset(i as isize * tile.c_step).add(j * $lanes);
                        let sum = if tile.add { $add($load(c), sums[i][j]) } else { sums[i][j] };
                        $store(c, sum);
                    }
                }
            }
        }
    };
}

/// What the macro needs for a type whose vectors are those of integers, in its order of arguments.
macro_rules! integers {
    ($module:ident, $features:literal, $scalar:ty, $vector:ty, $load_vector:ident,
     $store_vector:ident, $splat_bits:expr, $fma:expr, $add:expr) => {
        mod $module {
            use super::*;

            /// # Safety
            ///
            /// There are as many values as a vector has.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn load(from: *const $scalar) -> $vector {
                // SAFETY: the caller's promise.
                unsafe { $load_vector(from.cast()) }
            }

            /// # Safety
            ///
            /// There is room for as many values as a vector has.
            #[inline]
            #[target_feature(enable = $features)]
            pub(super) unsafe fn store(into: *mut $scalar, values: $vector) {
                // SAFETY: the caller's promise.
                unsafe { $store_vector(into.cast(), values) };
            }

            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn splat(value: $scalar) -> $vector {
                $splat_bits(value)
            }

            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn multiply(a: $vector, b: $vector, sum: $vector) -> $vector {
                $fma(a, b, sum)
            }

            #[inline]
            #[target_feature(enable = $features)]
            pub(super) fn add(a: $vector, b: $vector) -> $vector {
                $add(a, b)
            }
        }
    };
}

macro_rules! together {
    ($($what:tt)*) => {
        kernel!(false, $($what)*);
    };
}

floats!(together);

integers!(
    words_512,
    "avx512f",
    i32,
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi32,
    |a, b, sum| _mm512_add_epi32(sum, _mm512_mullo_epi32(a, b)),
    _mm512_add_epi32
);
integers!(
    words_256,
    "avx2",
    i32,
    __m256i,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_set1_epi32,
    |a, b, sum| _mm256_add_epi32(sum, _mm256_mullo_epi32(a, b)),
    _mm256_add_epi32
);
integers!(
    longs_512,
    "avx512f,avx512dq",
    i64,
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_set1_epi64,
    |a, b, sum| _mm512_add_epi64(sum, _mm512_mullo_epi64(a, b)),
    _mm512_add_epi64
);
integers!(
    pairs_512,
    "avx512f,avx512vnni",
    Pair,
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    |pair: Pair| _mm512_set1_epi32(pair.0),
    |a, b, sum| _mm512_dpwssd_epi32(sum, a, b),
    _mm512_add_epi32
);
integers!(
    pairs_256,
    "avx2",
    Pair,
    __m256i,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    |pair: Pair| _mm256_set1_epi32(pair.0),
    |a, b, sum| _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)),
    _mm256_add_epi32
);
integers!(
    quads_512,
    "avx512f,avx512vnni",
    Quad,
    __m512i,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    |quad: Quad| _mm512_set1_epi32(quad.0),
    |a, b, sum| _mm512_dpbusd_epi32(sum, a, b),
    _mm512_add_epi32
);
integers!(
    halves_512,
    "avx512f,avx512bf16",
    Halves,
    __m512,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    |halves: Halves| _mm512_set1_ps(f32::from_bits(halves.0)),
    |a, b, sum| {
        // SAFETY: vectors of as many bits, of any value.
        unsafe {
            _mm512_dpbf16_ps(
                sum,
                std::mem::transmute::<__m512, __m512bh>(a),
                std::mem::transmute::<__m512, __m512bh>(b),
            )
        }
    },
    _mm512_add_ps
);

together!(
    i32_avx512,
    "avx512f",
    i32,
    16,
    __m512i,
    _mm512_setzero_si512,
    words_512::load,
    words_512::store,
    words_512::splat,
    words_512::multiply,
    words_512::add
);
together!(
    i32_avx2,
    "avx2",
    i32,
    8,
    __m256i,
    _mm256_setzero_si256,
    words_256::load,
    words_256::store,
    words_256::splat,
    words_256::multiply,
    words_256::add
);
together!(
    i64_avx512,
    "avx512f,avx512dq",
    i64,
    8,
    __m512i,
    _mm512_setzero_si512,
    longs_512::load,
    longs_512::store,
    longs_512::splat,
    longs_512::multiply,
    longs_512::add
);
together!(
    pairs_vnni,
    "avx512f,avx512vnni",
    Pair,
    16,
    __m512i,
    _mm512_setzero_si512,
    pairs_512::load,
    pairs_512::store,
    pairs_512::splat,
    pairs_512::multiply,
    pairs_512::add
);
together!(
    pairs_avx2,
    "avx2",
    Pair,
    8,
    __m256i,
    _mm256_setzero_si256,
    pairs_256::load,
    pairs_256::store,
    pairs_256::splat,
    pairs_256::multiply,
    pairs_256::add
);
together!(
    quads_vnni,
    "avx512f,avx512vnni",
    Quad,
    16,
    __m512i,
    _mm512_setzero_si512,
    quads_512::load,
    quads_512::store,
    quads_512::splat,
    quads_512::multiply,
    quads_512::add
);
together!(
    halves_bf16,
    "avx512f,avx512bf16",
    Halves,
    16,
    __m512,
    _mm512_setzero_ps,
    halves_512::load,
    halves_512::store,
    halves_512::splat,
    halves_512::multiply,
    halves_512::add
);

/// # Safety
///
/// See [`super::Kernel`].
#[target_feature(enable = "avx2")]
unsafe fn i64_avx2<const ROWS: usize, const VECTORS: usize>(tile: &Tile<i64>) {
    // SAFETY: the caller's promise.
    unsafe { plain::<i64, 4, ROWS, VECTORS>(tile) }
}

pub(super) static F32_AVX512: Kernels<f32> =
    Kernels { lanes: 16, rows: 12, table: table!(f32_avx512, twelve rows), blocks: false };
pub(super) static F64_AVX512: Kernels<f64> =
    Kernels { lanes: 8, rows: 12, table: table!(f64_avx512, twelve rows), blocks: false };
pub(super) static I32_AVX512: Kernels<i32> =
    Kernels { lanes: 16, rows: 12, table: table!(i32_avx512, twelve rows), blocks: false };
pub(super) static I64_AVX512: Kernels<i64> =
    Kernels { lanes: 8, rows: 12, table: table!(i64_avx512, twelve rows), blocks: false };
pub(super) static PAIRS_VNNI: Kernels<Pair> =
    Kernels { lanes: 16, rows: 12, table: table!(pairs_vnni, twelve rows), blocks: false };
pub(super) static QUADS_VNNI: Kernels<Quad> =
    Kernels { lanes: 16, rows: 12, table: table!(quads_vnni, twelve rows), blocks: false };
pub(super) static HALVES_BF16: Kernels<Halves> =
    Kernels { lanes: 16, rows: 12, table: table!(halves_bf16, twelve rows), blocks: false };
pub(super) static F32_AVX2: Kernels<f32> =
    Kernels { lanes: 8, rows: 6, table: table!(f32_avx2, six rows), blocks: false };
pub(super) static F64_AVX2: Kernels<f64> =
    Kernels { lanes: 4, rows: 6, table: table!(f64_avx2, six rows), blocks: false };
pub(super) static I32_AVX2: Kernels<i32> =
    Kernels { lanes: 8, rows: 4, table: table!(i32_avx2, four rows), blocks: false };
pub(super) static I64_AVX2: Kernels<i64> =
    Kernels { lanes: 4, rows: 4, table: table!(i64_avx2, four rows), blocks: false };
pub(super) static PAIRS_AVX2: Kernels<Pair> =
    Kernels { lanes: 8, rows: 6, table: table!(pairs_avx2, six rows), blocks: false };

/// Kernels for rows that lie apart; see [`super::strided`].
pub(super) mod apart {
    use super::*;

    macro_rules! apart {
        ($($what:tt)*) => {
            kernel!(true, $($what)*);
        };
    }

    floats!(apart);

    pub(in super::super) static F32_AVX512: Kernels<f32> =
        Kernels { lanes: 16, rows: 12, table: table!(f32_avx512, twelve rows), blocks: false };
    pub(in super::super) static F64_AVX512: Kernels<f64> =
        Kernels { lanes: 8, rows: 12, table: table!(f64_avx512, twelve rows), blocks: false };
    pub(in super::super) static F32_AVX2: Kernels<f32> =
        Kernels { lanes: 8, rows: 6, table: table!(f32_avx2, six rows), blocks: false };
    pub(in super::super) static F64_AVX2: Kernels<f64> =
        Kernels { lanes: 4, rows: 6, table: table!(f64_avx2, six rows), blocks: false };
}
