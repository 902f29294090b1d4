//! Vectors of AVX-512, which brings chosen lanes together and writes the first lanes of a vector alone.

use std::arch::x86_64::*;

macro_rules! negated {
    ($name:ident, $mask:ty) => {
        /// The other lanes. A comparison the other way round, which the compiler would make of it, takes the
        /// unit that compressing needs.
        #[inline]
        #[target_feature(enable = "avx512f")]
        fn $name(mask: $mask) -> $mask {
            let other: u16;
            // SAFETY: it reads and writes nothing else.
            unsafe {
                std::arch::asm!(
                    "knotw {}, {}",
                    out(kreg) other,
                    in(kreg) u16::from(mask),
                    options(pure, nomem, nostack, preserves_flags)
                );
            }
            other as $mask
        }
    };
}

negated!(negated_16, __mmask16);
negated!(negated_8, __mmask8);

macro_rules! lanes {
    ($name:ident, $number:ty, $lanes:literal, $mask:ty, $splat:ident, $mask_load:ident, $mask_store:ident,
     $compress:ident, $less:ident, $at_most:ident, $min:ident, $max:ident, $permute:ident, $permute_two:ident,
     $blend:ident, $negated:ident) => {
        pub(crate) mod $name {
            use super::*;
            pub(crate) use std::arch::x86_64::{
                $at_most as at_most, $less as less, $max as max, $min as min,
            };

            pub(crate) type Number = $number;
            pub(crate) type Vector = __m512i;
            pub(crate) type Mask = $mask;
            pub(crate) const LANES: usize = $lanes;
            pub(crate) const MOST_VECTORS: usize = 16;
            pub(crate) const ROOM: usize = 1;

            /// A bit for each of the first lanes. From a table, since making masks of numbers takes the unit that
            /// compressing needs.
            const FIRST: [Mask; LANES + 1] = {
                let mut first = [Mask::MAX; LANES + 1];
                let mut count = 0;
                while count < LANES {
                    first[count] = (1 << count) - 1;
                    count += 1;
                }
                first
            };

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) fn splat(number: Number) -> Vector {
                $splat(number as _)
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) unsafe fn load(from: *const Number) -> Vector {
                // SAFETY: the caller's promise.
                unsafe { _mm512_loadu_si512(from.cast()) }
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) unsafe fn store(into: *mut Number, vector: Vector) {
                // SAFETY: the caller's promise.
                unsafe { _mm512_storeu_si512(into.cast(), vector) };
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) unsafe fn load_first(
                others: Vector,
                count: usize,
                from: *const Number,
            ) -> Vector {
                // SAFETY: the caller's promise.
                unsafe { $mask_load(others, FIRST[count], from.cast()) }
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) unsafe fn store_first(into: *mut Number, count: usize, vector: Vector) {
                // SAFETY: the caller's promise.
                unsafe { $mask_store(into.cast(), FIRST[count], vector) };
            }

            #[inline]
            #[target_feature(enable = "avx512f,popcnt")]
            pub(crate) unsafe fn put(
                low: *mut Number,
                high: *mut Number,
                vector: Vector,
                lows: Mask,
            ) -> usize {
                let count = lows.count_ones() as usize;
                let high = high.wrapping_sub(LANES - count);
                // SAFETY: the caller's promise. What is written too much of the first is written again.
                unsafe {
                    _mm512_storeu_si512(low.cast(), $compress(lows, vector));
                    let highs = *FIRST.get_unchecked(LANES - count);
                    $mask_store(high.cast(), highs, $compress($negated(lows), vector));
                }
                count
            }

            #[inline]
            #[target_feature(enable = "avx512f,popcnt")]
            pub(crate) unsafe fn put_some(
                low: *mut Number,
                high: *mut Number,
                count: usize,
                vector: Vector,
                lows: Mask,
            ) -> usize {
                let (lows, highs) = (lows & FIRST[count], !lows & FIRST[count]);
                let (low_count, high_count) =
                    (lows.count_ones() as usize, highs.count_ones() as usize);
                // SAFETY: the caller's promise.
                unsafe {
                    store_first(low, low_count, $compress(lows, vector));
                    store_first(high.sub(high_count), high_count, $compress(highs, vector));
                }
                low_count
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) fn partners<const BITS: usize>(vector: Vector) -> Vector {
                let partners: [Number; LANES] = std::array::from_fn(|lane| (lane ^ BITS) as Number);
                // SAFETY: as many as a vector has.
                $permute(unsafe { load(partners.as_ptr()) }, vector)
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) fn chosen<const BIT: usize>(vector: Vector, other: Vector) -> Vector {
                let mask: Mask = const {
                    let (mut mask, mut lane) = (0, 0);
                    while lane < LANES {
                        mask |= ((lane & BIT != 0) as Mask) << lane;
                        lane += 1;
                    }
                    mask
                };
                $blend(mask, vector, other)
            }

            #[inline]
            #[target_feature(enable = "avx512f")]
            pub(crate) fn interleaved(a: Vector, b: Vector) -> (Vector, Vector) {
                let half = |half: usize| -> Vector {
                    let places: [Number; LANES] = std::array::from_fn(|lane| {
                        (half * LANES / 2 + lane / 2 + lane % 2 * LANES) as Number
                    });
                    // SAFETY: as many as a vector has.
                    $permute_two(a, unsafe { load(places.as_ptr()) }, b)
                };
                (half(0), half(1))
            }
        }
    };
}

lanes!(
    of_u32,
    u32,
    16,
    u16,
    _mm512_set1_epi32,
    _mm512_mask_loadu_epi32,
    _mm512_mask_storeu_epi32,
    _mm512_maskz_compress_epi32,
    _mm512_cmplt_epu32_mask,
    _mm512_cmple_epu32_mask,
    _mm512_min_epu32,
    _mm512_max_epu32,
    _mm512_permutexvar_epi32,
    _mm512_permutex2var_epi32,
    _mm512_mask_blend_epi32,
    negated_16
);
lanes!(
    of_u64,
    u64,
    8,
    u8,
    _mm512_set1_epi64,
    _mm512_mask_loadu_epi64,
    _mm512_mask_storeu_epi64,
    _mm512_maskz_compress_epi64,
    _mm512_cmplt_epu64_mask,
    _mm512_cmple_epu64_mask,
    _mm512_min_epu64,
    _mm512_max_epu64,
    _mm512_permutexvar_epi64,
    _mm512_permutex2var_epi64,
    _mm512_mask_blend_epi64,
    negated_8
);
