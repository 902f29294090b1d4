//! Sorts of numbers by AVX-512: partitions around pivots, and networks for what is short. They are not
//! stable, but equal numbers cannot be told apart.

use std::arch::x86_64::*;
use std::ops::Range;

use super::order::{LONG, SHORTEST};
use crate::context::Context;
use crate::gemm::Address;

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

/// Vectors that a network sorts at most.
const MOST_VECTORS: usize = 16;

macro_rules! vector_sort {
    ($name:ident, $number:ty, $lanes:literal, $mask:ty, $splat:ident, $load:ident, $mask_load:ident,
     $store:ident, $mask_store:ident, $compress:ident, $less:ident, $at_most:ident, $min:ident,
     $max:ident, $mask_max:ident, $permute:ident, $negated:ident) => {
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
                    unsafe { quick(numbers, spare, false, most_depth(numbers.len())) };
                    return;
                }
                let mut parts: Vec<Range<usize>> = Vec::new();
                parts.push(0..numbers.len());
                while parts.len() < 2 * context.threads() {
                    parts.sort_by_key(|part| part.len());
                    let Some(part) = parts.pop_if(|part| part.len() >= LONG) else { break };
                    let (numbers, spare) = (&mut numbers[part.clone()], &mut spare[part.clone()]);
                    // SAFETY: the caller's promise.
                    let (low, high) = unsafe { divide(context, numbers, spare) };
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
                            quick(at(numbers), at(spare), false, most_depth(part.len()));
                        }
                    }
                });
            }

            /// Moves numbers less than one of them to the front, by all threads. Those up to the first place
            /// are less, those from the second place on are not, and those between them are where they belong.
            ///
            /// # Safety
            ///
            /// See [`sort`].
            unsafe fn divide(
                context: &Context,
                numbers: &mut [$number],
                spare: &mut [$number],
            ) -> (usize, usize) {
                // SAFETY: the caller's promise.
                let pivot = unsafe { pivot(numbers) };
                // SAFETY: as above.
                match unsafe { divide_at::<false>(context, numbers, spare, pivot) } {
                    // It is the least.
                    // SAFETY: as above.
                    0 => (0, unsafe { divide_at::<true>(context, numbers, spare, pivot) }),
                    count => (count, count),
                }
            }

            /// Moves numbers less than the pivot, or no greater than it, to the front, and says how many: each
            /// thread divides a share, and what it has of both is then brought together.
            ///
            /// # Safety
            ///
            /// See [`sort`].
            unsafe fn divide_at<const OR_EQUAL: bool>(
                context: &Context,
                numbers: &mut [$number],
                spare: &mut [$number],
                pivot: $number,
            ) -> usize {
                let (count, shares) = (numbers.len(), context.threads());
                assert!(spare.len() >= count);
                let share = |i: usize| i * count / shares..(i + 1) * count / shares;
                let mut lows = vec![0; shares];
                let [numbers, spare] = [numbers, spare].map(|slice| Address(slice.as_mut_ptr()));
                let places = Address(lows.as_mut_ptr());
                context.parallel_for(shares, 1, |begin, end| {
                    for i in begin..end {
                        let (start, length) = (share(i).start, share(i).len());
                        // SAFETY: shares lie within the slices and apart, and the caller's promise.
                        unsafe {
                            let from = std::slice::from_raw_parts(numbers.get().add(start), length);
                            let into =
                                std::slice::from_raw_parts_mut(spare.get().add(start), length);
                            *places.get().add(i) = partition::<OR_EQUAL>(from, into, pivot);
                        }
                    }
                });
                let low: usize = lows.iter().sum();
                context.parallel_for(shares, 1, |begin, end| {
                    for i in begin..end {
                        let own = lows[i];
                        let low_place: usize = lows[..i].iter().sum();
                        let high_place = low + share(i).start - low_place;
                        // SAFETY: the shares' parts are all numbers, so that each has a place of its own.
                        unsafe {
                            let from = spare.get().add(share(i).start).cast_const();
                            let into = numbers.get().add(low_place);
                            into.copy_from_nonoverlapping(from, own);
                            let into = numbers.get().add(high_place);
                            into.copy_from_nonoverlapping(from.add(own), share(i).len() - own);
                        }
                    }
                });
                low
            }

            /// Sorts by partitions, by comparisons where pivots have been bad so often. The numbers are in
            /// `spare` if that is said, and in `numbers` in the end; both are as long.
            #[target_feature(enable = "avx512f,popcnt")]
            fn quick(
                mut numbers: &mut [$number],
                mut spare: &mut [$number],
                mut in_spare: bool,
                mut depth: u32,
            ) {
                while numbers.len() > MOST_VECTORS * LANES {
                    if depth == 0 {
                        if in_spare {
                            numbers.copy_from_slice(spare);
                        }
                        numbers.sort_unstable();
                        return;
                    }
                    depth -= 1;
                    let (from, into) =
                        if in_spare { (&*spare, &mut *numbers) } else { (&*numbers, &mut *spare) };
                    let pivot = pivot(from);
                    let mut low = partition::<false>(from, into, pivot);
                    if low == 0 {
                        // It is the least; all that are equal are where they belong.
                        low = partition::<true>(from, into, pivot);
                        if !in_spare {
                            numbers[..low].copy_from_slice(&spare[..low]);
                        }
                    } else {
                        quick(&mut numbers[..low], &mut spare[..low], !in_spare, depth);
                    }
                    (numbers, spare) = (&mut numbers[low..], &mut spare[low..]);
                    in_spare = !in_spare;
                }
                let from = if in_spare { spare.as_ptr() } else { numbers.as_ptr() };
                match numbers.len().div_ceil(LANES) {
                    0 => {}
                    1 => network::<1>(from, numbers),
                    2 => network::<2>(from, numbers),
                    3..=4 => network::<4>(from, numbers),
                    5..=8 => network::<8>(from, numbers),
                    _ => network::<MOST_VECTORS>(from, numbers),
                }
            }

            /// One of the numbers near their middle.
            #[target_feature(enable = "avx512f,popcnt")]
            fn pivot(numbers: &[$number]) -> $number {
                const SAMPLES: usize = 4 * LANES;
                let mut samples = [0; SAMPLES];
                for (i, sample) in samples.iter_mut().enumerate() {
                    *sample = numbers[i * numbers.len() / SAMPLES];
                }
                network::<4>(samples.as_ptr(), &mut samples);
                samples[SAMPLES / 2]
            }

            /// Writes numbers less than the pivot, or no greater than it, to the front and the others, in
            /// any order, behind them; says how many the first are.
            #[target_feature(enable = "avx512f,popcnt")]
            fn partition<const OR_EQUAL: bool>(
                from: &[$number],
                into: &mut [$number],
                pivot: $number,
            ) -> usize {
                const TOGETHER: usize = 4;
                let pivot = $splat(pivot as _);
                let is_low = |vector| {
                    if OR_EQUAL { $at_most(vector, pivot) } else { $less(vector, pivot) }
                };
                assert_eq!(from.len(), into.len());
                let start = into.as_mut_ptr();
                let (mut low, mut high) = (start, start.wrapping_add(from.len()));
                // From a table, since making masks of numbers takes the unit that compressing needs.
                const HIGHS: [$mask; LANES + 1] = {
                    let mut highs = [0; LANES + 1];
                    let mut low_count = 0;
                    while low_count < LANES {
                        highs[low_count] = <$mask>::MAX >> low_count;
                        low_count += 1;
                    }
                    highs
                };
                let mut put = |vector, lows: $mask| {
                    let low_count = lows.count_ones() as usize;
                    // SAFETY: between `low` and `high` is room for what was not written yet, a vector at
                    // least. What is written too much of the first is written again.
                    unsafe {
                        $store(low.cast(), $compress(lows, vector));
                        low = low.add(low_count);
                        high = high.sub(LANES - low_count);
                        let highs = *HIGHS.get_unchecked(low_count);
                        $mask_store(high.cast(), highs, $compress($negated(lows), vector));
                    }
                };
                let (vectors, rest) = from.as_chunks::<LANES>();
                let (blocks, others) = vectors.as_chunks::<TOGETHER>();
                for block in blocks {
                    let mut read = [pivot; TOGETHER];
                    for (vector, numbers) in read.iter_mut().zip(block) {
                        // SAFETY: a vector is there.
                        *vector = unsafe { $load(numbers.as_ptr().cast()) };
                    }
                    let lows = read.map(is_low);
                    for (vector, lows) in read.into_iter().zip(lows) {
                        put(vector, lows);
                    }
                }
                for numbers in others {
                    // SAFETY: as above.
                    let vector = unsafe { $load(numbers.as_ptr().cast()) };
                    put(vector, is_low(vector));
                }
                let there = first(rest.len());
                // SAFETY: as above, for so many numbers.
                unsafe {
                    let vector = $mask_load(pivot, there, rest.as_ptr().cast());
                    let lows = is_low(vector) & there;
                    let low_count = lows.count_ones() as usize;
                    $mask_store(low.cast(), first(low_count), $compress(lows, vector));
                    low = low.add(low_count);
                    let highs = first(rest.len() - low_count);
                    $mask_store(low.cast(), highs, $compress(!lows & there, vector));
                    low.offset_from_unsigned(start)
                }
            }

            /// Sorts lines of so many numbers, at most [`SHORTEST`], side by side.
            ///
            /// # Safety
            ///
            /// See [`sort`].
            pub(in crate::sort) unsafe fn sort_lines(numbers: &mut [$number], length: usize) {
                // SAFETY: the caller's promise.
                unsafe {
                    match length {
                        0..=1 => {}
                        2 => columns::<2>(numbers, length),
                        3..=4 => columns::<4>(numbers, length),
                        5..=8 => columns::<8>(numbers, length),
                        _ => columns::<SHORTEST>(numbers, length),
                    }
                }
            }

            /// Sorts lines of up to so many numbers, each in a lane of its own.
            #[target_feature(enable = "avx512f,popcnt")]
            fn columns<const ROWS: usize>(numbers: &mut [$number], length: usize) {
                for lines in numbers.chunks_mut(LANES * length) {
                    // What is not there is last.
                    let mut rows = [[<$number>::MAX; LANES]; ROWS];
                    for (lane, line) in lines.chunks(length).enumerate() {
                        for (row, &number) in rows.iter_mut().zip(line) {
                            row[lane] = number;
                        }
                    }
                    // SAFETY: a row is a vector.
                    let mut vectors = rows.map(|row| unsafe { $load(row.as_ptr().cast()) });
                    exchange_all(&mut vectors);
                    for (row, vector) in rows.iter_mut().zip(vectors) {
                        // SAFETY: as above.
                        unsafe { $store(row.as_mut_ptr().cast(), vector) };
                    }
                    for (lane, line) in lines.chunks_mut(length).enumerate() {
                        for (row, number) in rows.iter().zip(line) {
                            *number = row[lane];
                        }
                    }
                }
            }

            /// Sorts each lane of vectors by Batcher's odd-even network.
            #[inline]
            #[target_feature(enable = "avx512f,popcnt")]
            fn exchange_all<const ROWS: usize>(vectors: &mut [__m512i; ROWS]) {
                let mut size = 1;
                while size < ROWS {
                    let mut stride = size;
                    while stride > 0 {
                        for start in (stride % size..ROWS - stride).step_by(2 * stride) {
                            for i in start..ROWS.min(start + stride).min(ROWS - stride) {
                                if i / (2 * size) == (i + stride) / (2 * size) {
                                    let (a, b) = (vectors[i], vectors[i + stride]);
                                    vectors[i] = $min(a, b);
                                    vectors[i + stride] = $max(a, b);
                                }
                            }
                        }
                        stride /= 2;
                    }
                    size *= 2;
                }
            }

            /// A bit for each of the first lanes.
            fn first(count: usize) -> $mask {
                if count >= LANES { <$mask>::MAX } else { (1 << count) - 1 }
            }

            /// Sorts up to so many vectors by a bitonic network. As many are read, perhaps where they
            /// are written.
            #[target_feature(enable = "avx512f,popcnt")]
            fn network<const VECTORS: usize>(from: *const $number, into: &mut [$number]) {
                assert!(into.len() <= VECTORS * LANES);
                let mut vectors = [$splat(-1); VECTORS];
                let count = into.len();
                let left = |i: usize| first(count.saturating_sub(i * LANES));
                for (i, vector) in vectors.iter_mut().enumerate() {
                    let from = from.wrapping_add(i * LANES);
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
                    let into = into.as_mut_ptr().wrapping_add(i * LANES);
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
    _mm512_permutexvar_epi32,
    negated_16
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
    _mm512_permutexvar_epi64,
    negated_8
);

pub(super) use of_u32::{sort as sort_u32, sort_lines as sort_lines_u32};
pub(super) use of_u64::{sort as sort_u64, sort_lines as sort_lines_u64};

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
                for width in 1..=SHORTEST.min(length) {
                    let (mut found, mut wanted) = (numbers.clone(), numbers.clone());
                    found.truncate(length / width * width);
                    wanted.truncate(found.len());
                    wanted.chunks_mut(width).for_each(<[u64]>::sort_unstable);
                    let mut narrow: Vec<u32> = found.iter().map(|&number| number as u32).collect();
                    let mut wanted_narrow = narrow.clone();
                    wanted_narrow.chunks_mut(width).for_each(<[u32]>::sort_unstable);
                    // SAFETY: asked above.
                    unsafe {
                        sort_lines_u64(&mut found, width);
                        sort_lines_u32(&mut narrow, width);
                    }
                    assert_eq!(
                        (found, narrow),
                        (wanted, wanted_narrow),
                        "{length}, lines of {width}"
                    );
                }
            }
        }
    }
}
