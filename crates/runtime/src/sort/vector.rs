//! Sorts of numbers by AVX-512: partitions around pivots, and networks for what is short. They are not
//! stable, but equal numbers cannot be told apart.

use std::arch::x86_64::*;
use std::ops::Range;

use super::order::LONG;
use crate::context::Context;
use crate::gemm::Address;

/// Vectors that a network sorts at most.
const MOST_VECTORS: usize = 16;

macro_rules! vector_sort {
    ($name:ident, $number:ty, $lanes:literal, $mask:ty, $splat:ident, $load:ident, $mask_load:ident,
     $store:ident, $mask_store:ident, $compress:ident, $less:ident, $at_most:ident, $min:ident,
     $max:ident, $mask_max:ident, $permute:ident) => {
        mod $name {
            use super::*;

            const LANES: usize = $lanes;

            /// Sorts numbers, by several threads if they are many; `spare` is as long.
            ///
            /// # Safety
            ///
            /// The processor has AVX-512, and with it `popcnt`.
            pub(in crate::sort) unsafe fn sort(
                context: &Context,
                numbers: &mut [$number],
                spare: &mut [$number],
            ) {
                let most_depth = |count: usize| 2 * count.max(1).ilog2();
                if context.threads() == 1 || numbers.len() < LONG {
                    // SAFETY: the caller's promise.
                    unsafe { quick(numbers, spare, most_depth(numbers.len())) };
                    return;
                }
                let mut parts: Vec<Range<usize>> = Vec::new();
                parts.push(0..numbers.len());
                while parts.len() < 2 * context.threads() {
                    parts.sort_by_key(|part| part.len());
                    let Some(part) = parts.pop_if(|part| part.len() >= LONG) else { break };
                    let (numbers, spare) = (&mut numbers[part.clone()], &mut spare[part.clone()]);
                    // SAFETY: the caller's promise.
                    let (low, high) = unsafe { divide(numbers, spare) };
                    parts.extend([part.start..part.start + low, part.start + high..part.end]);
                }
                let (numbers, spare) = (Address(numbers.as_mut_ptr()), Address(spare.as_mut_ptr()));
                context.parallel_for(parts.len(), 1, |begin, end| {
                    for part in &parts[begin..end] {
                        // SAFETY: parts lie within the slices and apart, and the caller's promise.
                        unsafe {
                            let at = |from: Address<$number>| {
                                let start = from.get().add(part.start);
                                std::slice::from_raw_parts_mut(start, part.len())
                            };
                            quick(at(numbers), at(spare), most_depth(part.len()));
                        }
                    }
                });
            }

            /// Sorts by partitions, by comparisons where pivots have been bad so often.
            #[target_feature(enable = "avx512f,popcnt")]
            fn quick(mut numbers: &mut [$number], spare: &mut [$number], mut depth: u32) {
                while numbers.len() > MOST_VECTORS * LANES {
                    if depth == 0 {
                        numbers.sort_unstable();
                        return;
                    }
                    depth -= 1;
                    let (low, high) = divide(numbers, spare);
                    let (lows, rest) = numbers.split_at_mut(low);
                    quick(lows, spare, depth);
                    numbers = &mut rest[high - low..];
                }
                match numbers.len().div_ceil(LANES) {
                    0 => {}
                    1 => network::<1>(numbers),
                    2 => network::<2>(numbers),
                    3..=4 => network::<4>(numbers),
                    5..=8 => network::<8>(numbers),
                    _ => network::<MOST_VECTORS>(numbers),
                }
            }

            /// Moves numbers less than one of them to the front. Those up to the first place are less,
            /// those from the second place on are not, and those between them are where they belong.
            #[target_feature(enable = "avx512f,popcnt")]
            fn divide(numbers: &mut [$number], spare: &mut [$number]) -> (usize, usize) {
                const SAMPLES: usize = 4 * LANES;
                let mut samples = [0; SAMPLES];
                for (i, sample) in samples.iter_mut().enumerate() {
                    *sample = numbers[i * numbers.len() / SAMPLES];
                }
                network::<4>(&mut samples);
                let pivot = samples[SAMPLES / 2];
                match partition::<false>(numbers, spare, pivot) {
                    // It is the least.
                    0 => (0, partition::<true>(numbers, spare, pivot)),
                    count => (count, count),
                }
            }

            /// Moves numbers less than the pivot, or no greater than it, to the front, and says how many.
            #[target_feature(enable = "avx512f,popcnt")]
            fn partition<const OR_EQUAL: bool>(
                numbers: &mut [$number],
                spare: &mut [$number],
                pivot: $number,
            ) -> usize {
                let pivot = $splat(pivot as _);
                let (mut low, mut high) = (0, 0);
                let count = numbers.len();
                assert!(spare.len() >= count);
                let (start, spare_start) = (numbers.as_mut_ptr(), spare.as_mut_ptr());
                let is_low = |vector| {
                    if OR_EQUAL { $at_most(vector, pivot) } else { $less(vector, pivot) }
                };
                let whole = count - count % LANES;
                let mut place = 0;
                while place < whole {
                    // SAFETY: a vector is there. No more is written to the front than was read, and
                    // behind the rest of `high` numbers is room: no more were read than there is.
                    unsafe {
                        let vector = $load(start.add(place).cast());
                        let lows = is_low(vector);
                        $store(start.add(low).cast(), $compress(lows, vector));
                        $store(spare_start.add(high).cast(), $compress(!lows, vector));
                        let low_count = lows.count_ones() as usize;
                        low += low_count;
                        high += LANES - low_count;
                    }
                    place += LANES;
                }
                let there = first(count - whole);
                // SAFETY: as above, for so many numbers.
                unsafe {
                    let vector = $mask_load(pivot, there, start.add(whole).cast());
                    let lows = is_low(vector) & there;
                    let highs = !lows & there;
                    let (low_count, high_count) = (lows.count_ones(), highs.count_ones());
                    let into = start.add(low).cast();
                    $mask_store(into, first(low_count as usize), $compress(lows, vector));
                    let into = spare_start.add(high).cast();
                    $mask_store(into, first(high_count as usize), $compress(highs, vector));
                    low += low_count as usize;
                    high += high_count as usize;
                }
                numbers[low..].copy_from_slice(&spare[..high]);
                low
            }

            /// A bit for each of the first lanes.
            fn first(count: usize) -> $mask {
                if count >= LANES { <$mask>::MAX } else { (1 << count) - 1 }
            }

            /// Sorts up to so many vectors by a bitonic network.
            #[target_feature(enable = "avx512f,popcnt")]
            fn network<const VECTORS: usize>(numbers: &mut [$number]) {
                assert!(numbers.len() <= VECTORS * LANES);
                let mut vectors = [$splat(-1); VECTORS];
                let count = numbers.len();
                let left = |i: usize| first(count.saturating_sub(i * LANES));
                let start = numbers.as_mut_ptr();
                for (i, vector) in vectors.iter_mut().enumerate() {
                    let from = start.wrapping_add(i * LANES);
                    // SAFETY: so many numbers are there.
                    *vector = unsafe { $mask_load(*vector, left(i), from.cast()) };
                }
                merge::<VECTORS, 2>(&mut vectors);
                merge::<VECTORS, 4>(&mut vectors);
                merge::<VECTORS, 8>(&mut vectors);
                merge::<VECTORS, 16>(&mut vectors);
                merge::<VECTORS, 32>(&mut vectors);
                merge::<VECTORS, 64>(&mut vectors);
                merge::<VECTORS, 128>(&mut vectors);
                merge::<VECTORS, 256>(&mut vectors);
                for (i, &vector) in vectors.iter().enumerate() {
                    let into = start.wrapping_add(i * LANES);
                    // SAFETY: so many numbers are there.
                    unsafe { $mask_store(into.cast(), left(i), vector) };
                }
            }

            /// Makes runs of `SIZE` numbers, of which every other one descends, of runs half as long.
            #[inline]
            #[target_feature(enable = "avx512f,popcnt")]
            fn merge<const VECTORS: usize, const SIZE: usize>(vectors: &mut [__m512i; VECTORS]) {
                if SIZE > VECTORS * LANES {
                    return;
                }
                exchange::<VECTORS, SIZE, 128>(vectors);
                exchange::<VECTORS, SIZE, 64>(vectors);
                exchange::<VECTORS, SIZE, 32>(vectors);
                exchange::<VECTORS, SIZE, 16>(vectors);
                exchange::<VECTORS, SIZE, 8>(vectors);
                exchange::<VECTORS, SIZE, 4>(vectors);
                exchange::<VECTORS, SIZE, 2>(vectors);
                exchange::<VECTORS, SIZE, 1>(vectors);
            }

            /// Exchanges numbers that are `STRIDE` apart where they are in the wrong order.
            #[inline]
            #[target_feature(enable = "avx512f,popcnt")]
            fn exchange<const VECTORS: usize, const SIZE: usize, const STRIDE: usize>(
                vectors: &mut [__m512i; VECTORS],
            ) {
                if STRIDE >= SIZE {
                    return;
                }
                if STRIDE >= LANES {
                    for i in (0..VECTORS).filter(|i| i & (STRIDE / LANES) == 0) {
                        let j = i + STRIDE / LANES;
                        let (a, b) = (vectors[i], vectors[j]);
                        let (less, more) = ($min(a, b), $max(a, b));
                        let ascends = i * LANES & SIZE == 0;
                        (vectors[i], vectors[j]) =
                            if ascends { (less, more) } else { (more, less) };
                    }
                    return;
                }
                let partners: [$number; LANES] = const {
                    let mut partners = [0; LANES];
                    let mut lane = 0;
                    while lane < LANES {
                        partners[lane] = (lane ^ STRIDE) as $number;
                        lane += 1;
                    }
                    partners
                };
                // SAFETY: as many as a vector has.
                let partners = unsafe { $load(partners.as_ptr().cast()) };
                // Of a vector whose runs ascend, or all of it.
                let larger: $mask = const {
                    let mut mask = 0;
                    let mut lane = 0;
                    while lane < LANES {
                        if (lane & STRIDE != 0) != (lane & SIZE != 0) {
                            mask |= 1 << lane;
                        }
                        lane += 1;
                    }
                    mask
                };
                for (i, vector) in vectors.iter_mut().enumerate() {
                    let larger = if i * LANES & SIZE == 0 { larger } else { !larger };
                    let other = $permute(partners, *vector);
                    *vector = $mask_max($min(*vector, other), larger, *vector, other);
                }
            }
        }
    };
}

vector_sort!(
    of_u32,
    u32,
    16,
    u16,
    _mm512_set1_epi32,
    _mm512_loadu_si512,
    _mm512_mask_loadu_epi32,
    _mm512_storeu_si512,
    _mm512_mask_storeu_epi32,
    _mm512_maskz_compress_epi32,
    _mm512_cmplt_epu32_mask,
    _mm512_cmple_epu32_mask,
    _mm512_min_epu32,
    _mm512_max_epu32,
    _mm512_mask_max_epu32,
    _mm512_permutexvar_epi32
);
vector_sort!(
    of_u64,
    u64,
    8,
    u8,
    _mm512_set1_epi64,
    _mm512_loadu_si512,
    _mm512_mask_loadu_epi64,
    _mm512_storeu_si512,
    _mm512_mask_storeu_epi64,
    _mm512_maskz_compress_epi64,
    _mm512_cmplt_epu64_mask,
    _mm512_cmple_epu64_mask,
    _mm512_min_epu64,
    _mm512_max_epu64,
    _mm512_mask_max_epu64,
    _mm512_permutexvar_epi64
);

pub(super) use of_u32::sort as sort_u32;
pub(super) use of_u64::sort as sort_u64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::sets::{self, Set};
    use crate::pool::Pool;

    #[test]
    fn numbers_of_all_kinds() {
        if sets::best() != Set::Avx512 {
            eprintln!("skipped: the processor has no AVX-512");
            return;
        }
        let contexts = [Context::default(), Context::new(Some(Pool::with_threads(3)))];
        let lengths = (0..300).chain([511, 512, 513, 1000, 4099, LONG - 1, 3 * LONG + 5]);
        for (length, mask) in lengths
            .flat_map(|length| [u64::MAX, 0xf, 0, 0xffff_0000_ffff_0000].map(|mask| (length, mask)))
        {
            let mixed =
                |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) & mask;
            let rising: Vec<u64> = (0..length as u64).collect();
            let mut numbers: Vec<u64> = (0..length).map(mixed).collect();
            if length > 3 {
                numbers[length / 3] = u64::MAX;
            }
            for numbers in [numbers, rising.iter().rev().copied().collect(), rising] {
                let mut wanted = numbers.clone();
                wanted.sort_unstable();
                let narrow: Vec<u32> = numbers.iter().map(|&number| number as u32).collect();
                let mut wanted_narrow = narrow.clone();
                wanted_narrow.sort_unstable();
                for context in &contexts {
                    let (mut found, mut spare) = (numbers.clone(), vec![0; length]);
                    // SAFETY: asked above.
                    unsafe { sort_u64(context, &mut found, &mut spare) };
                    assert_eq!(found, wanted, "{length} numbers, mask {mask:x}");
                    let (mut found, mut spare) = (narrow.clone(), vec![0; length]);
                    // SAFETY: asked above.
                    unsafe { sort_u32(context, &mut found, &mut spare) };
                    assert_eq!(found, wanted_narrow, "{length} numbers, mask {mask:x}");
                }
            }
        }
    }
}
