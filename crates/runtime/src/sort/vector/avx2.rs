//! Vectors of AVX2, which compares integers with a sign: numbers are kept with their highest bit turned. It brings
//! chosen lanes together by tables of what goes where.

use std::arch::x86_64::*;

/// For each mask of so many lanes: the parts of four bytes that go first, those of lanes in the mask, and then the
/// others.
const fn parts<const LANES: usize, const MASKS: usize>() -> [[u8; 8]; MASKS] {
    let parts_of_lane = 8 / LANES;
    let mut table = [[0; 8]; MASKS];
    let mut mask = 0;
    while mask < MASKS {
        let (mut count, mut turn) = (0, 0);
        while turn < 2 * LANES {
            let (wanted, lane) = (turn < LANES, turn % LANES);
            if (mask >> lane & 1 == 1) == wanted {
                let mut part = 0;
                while part < parts_of_lane {
                    table[mask][count] = (lane * parts_of_lane + part) as u8;
                    count += 1;
                    part += 1;
                }
            }
            turn += 1;
        }
        mask += 1;
    }
    table
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn min_64(a: __m256i, b: __m256i) -> __m256i {
    _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn max_64(a: __m256i, b: __m256i) -> __m256i {
    _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
}

macro_rules! lanes {
    ($name:ident, $number:ty, $signed:ty, $lanes:literal, $splat:ident, $mask_load:ident,
     $mask_store:ident, $greater:ident, $float:ident, $bits:ident, $min:path, $max:path, $low:ident,
     $high:ident) => {
        pub(crate) mod $name {
            use super::*;
            pub(crate) use {$max as max, $min as min};

            pub(crate) type Number = $number;
            pub(crate) type Vector = __m256i;
            pub(crate) type Mask = u8;
            pub(crate) const LANES: usize = $lanes;
            pub(crate) const MOST_VECTORS: usize = 8;
            /// All of a vector is written to both ends.
            pub(crate) const ROOM: usize = 2;

            const ALL: Mask = ((1_u16 << LANES) - 1) as Mask;
            static PARTS: [[u8; 8]; 1 << LANES] = parts::<LANES, { 1 << LANES }>();

            /// Ones before as many zeros.
            static FIRST: [$signed; 2 * LANES] = {
                let mut first = [0; 2 * LANES];
                let mut lane = 0;
                while lane < LANES {
                    first[lane] = -1;
                    lane += 1;
                }
                first
            };

            #[inline]
            #[target_feature(enable = "avx2")]
            fn turned(vector: Vector) -> Vector {
                _mm256_xor_si256(vector, $splat(<$signed>::MIN))
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn splat(number: Number) -> Vector {
                turned($splat(number as $signed))
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) unsafe fn load(from: *const Number) -> Vector {
                // SAFETY: the caller's promise.
                turned(unsafe { _mm256_loadu_si256(from.cast()) })
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) unsafe fn store(into: *mut Number, vector: Vector) {
                // SAFETY: the caller's promise.
                unsafe { _mm256_storeu_si256(into.cast(), turned(vector)) };
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            fn first(count: usize) -> Vector {
                assert!(count <= LANES);
                // SAFETY: lanes before and behind the first are in the table.
                unsafe { _mm256_loadu_si256(FIRST.as_ptr().add(LANES - count).cast()) }
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) unsafe fn load_first(
                others: Vector,
                count: usize,
                from: *const Number,
            ) -> Vector {
                let first = first(count);
                // SAFETY: the caller's promise.
                let vector = unsafe { $mask_load(from.cast(), first) };
                _mm256_blendv_epi8(others, turned(vector), first)
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) unsafe fn store_first(into: *mut Number, count: usize, vector: Vector) {
                // SAFETY: the caller's promise.
                unsafe {
                    match count {
                        0 => {}
                        LANES => store(into, vector),
                        // Some processors take tens of cycles.
                        _ => $mask_store(into.cast(), first(count), turned(vector)),
                    }
                }
            }

            /// A bit for each lane of a comparison's result.
            #[inline]
            #[target_feature(enable = "avx2")]
            fn mask(compared: Vector) -> Mask {
                $bits($float(compared)) as Mask
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn less(a: Vector, b: Vector) -> Mask {
                mask($greater(b, a))
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn at_most(a: Vector, b: Vector) -> Mask {
                ALL & !mask($greater(a, b))
            }

            #[inline]
            #[target_feature(enable = "avx2,popcnt")]
            pub(crate) unsafe fn put(
                low: *mut Number,
                high: *mut Number,
                vector: Vector,
                lows: Mask,
            ) -> usize {
                // SAFETY: the mask has no other bits, and the caller's promise.
                unsafe {
                    let parts = PARTS.get_unchecked(usize::from(lows)).as_ptr();
                    let parts = _mm256_cvtepu8_epi32(_mm_loadl_epi64(parts.cast()));
                    let sorted = _mm256_permutevar8x32_epi32(vector, parts);
                    store(low, sorted);
                    store(high.wrapping_sub(LANES), sorted);
                }
                lows.count_ones() as usize
            }

            #[inline]
            #[target_feature(enable = "avx2,popcnt")]
            pub(crate) unsafe fn put_some(
                low: *mut Number,
                high: *mut Number,
                count: usize,
                vector: Vector,
                lows: Mask,
            ) -> usize {
                let (mut into_low, mut into_high) = (low, high);
                let mut lanes = [0; LANES];
                // SAFETY: a vector has as many; what is not written yet lies between, and both write there.
                unsafe {
                    store(lanes.as_mut_ptr(), vector);
                    for (lane, &number) in lanes.iter().enumerate().take(count) {
                        let is_low = usize::from(lows >> lane & 1);
                        into_low.write(number);
                        into_high.sub(1).write(number);
                        into_low = into_low.add(is_low);
                        into_high = into_high.sub(1 - is_low);
                    }
                    into_low.offset_from_unsigned(low)
                }
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn partners<const BITS: usize>(vector: Vector) -> Vector {
                let parts: [u32; 8] =
                    std::array::from_fn(|part| (part ^ BITS * (8 / LANES)) as u32);
                // SAFETY: as many as a vector has.
                let parts = unsafe { _mm256_loadu_si256(parts.as_ptr().cast()) };
                _mm256_permutevar8x32_epi32(vector, parts)
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn chosen<const BIT: usize>(vector: Vector, other: Vector) -> Vector {
                let others: [$signed; LANES] =
                    std::array::from_fn(|lane| -<$signed>::from(lane & BIT != 0));
                // SAFETY: as many as a vector has.
                let others = unsafe { _mm256_loadu_si256(others.as_ptr().cast()) };
                _mm256_blendv_epi8(vector, other, others)
            }

            #[inline]
            #[target_feature(enable = "avx2")]
            pub(crate) fn interleaved(a: Vector, b: Vector) -> (Vector, Vector) {
                // In each half of 16 bytes.
                let (low, high) = ($low(a, b), $high(a, b));
                let first = _mm256_permute2x128_si256::<0x20>(low, high);
                (first, _mm256_permute2x128_si256::<0x31>(low, high))
            }
        }
    };
}

lanes!(
    of_u32,
    u32,
    i32,
    8,
    _mm256_set1_epi32,
    _mm256_maskload_epi32,
    _mm256_maskstore_epi32,
    _mm256_cmpgt_epi32,
    _mm256_castsi256_ps,
    _mm256_movemask_ps,
    std::arch::x86_64::_mm256_min_epi32,
    std::arch::x86_64::_mm256_max_epi32,
    _mm256_unpacklo_epi32,
    _mm256_unpackhi_epi32
);
lanes!(
    of_u64,
    u64,
    i64,
    4,
    _mm256_set1_epi64x,
    _mm256_maskload_epi64,
    _mm256_maskstore_epi64,
    _mm256_cmpgt_epi64,
    _mm256_castsi256_pd,
    _mm256_movemask_pd,
    super::min_64,
    super::max_64,
    _mm256_unpacklo_epi64,
    _mm256_unpackhi_epi64
);
