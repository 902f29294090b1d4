//! Sorts of numbers by vectors: partitions around pivots, and networks for what is short. They are not stable, but
//! equal numbers cannot be told apart.

mod avx2;
mod avx512;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::order::{LONG, SHORTEST};
use crate::context::Context;
use crate::gemm::Address;

/// Samples that the pivot of a short part is found in, and numbers from which on a part is worth more of them.
const FEW_SAMPLES: usize = 16;
const SEVERAL: usize = 2048;
/// Vectors that are compared with a pivot before the first of them is written.
const TOGETHER: usize = 4;

/// A part of what is to be sorted.
#[derive(Debug)]
struct Task {
    range: Range<usize>,
    /// Where its numbers are.
    in_spare: bool,
    /// How often it may still be divided.
    depth: u32,
}

/// What is still to be done by several threads.
struct Tasks {
    waiting: Mutex<Vec<Task>>,
    /// Those waiting and those that threads are at.
    unfinished: AtomicUsize,
}

impl Tasks {
    fn new(tasks: Vec<Task>) -> Tasks {
        Tasks { unfinished: AtomicUsize::new(tasks.len()), waiting: Mutex::new(tasks) }
    }

    /// The longest of those waiting, so that what is left in the end is short.
    fn longest(&self) -> Option<Task> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (0..waiting.len()).max_by_key(|&place| waiting[place].range.len())?;
        Some(waiting.swap_remove(place))
    }

    /// Does tasks until none is left, each of which may leave two others.
    fn work(&self, run: impl Fn(&Task) -> Option<[Task; 2]>) {
        while self.unfinished.load(Ordering::Acquire) > 0 {
            let mut next = self.longest();
            while let Some(task) = next.take() {
                if let Some([now, later]) = run(&task) {
                    self.unfinished.fetch_add(1, Ordering::Relaxed);
                    self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(later);
                    next = Some(now);
                } else {
                    self.unfinished.fetch_sub(1, Ordering::Release);
                }
            }
            std::hint::spin_loop();
        }
    }
}

/// Makes a module that sorts numbers by the vectors of another one, which has these:
///
/// - `Number`, and `Vector` of `LANES` numbers, which need not be kept as they are: only `load`, `store` and `splat`
///   know how; `Mask`, of a bit for each lane and no others.
/// - `MOST_VECTORS`, which a network sorts at most.
/// - `load_first` and `store_first`, of as many numbers as are said.
/// - `less`, `at_most`, `min` and `max`.
/// - `put`, which writes the lanes of a mask from `low` on and the others before `high`, and says how many the first
///   are. It may write between them what it likes, if they are `ROOM` vectors apart; `put_some`, which may not, puts
///   the first lanes only.
/// - `partners`, which has in a lane what another one has whose number differs in so many bits; `chosen`, the first of
///   two vectors but for lanes whose number has a bit, which are the second's; and `interleaved`, which has the lanes
///   of two vectors by turns.
macro_rules! vector_sort {
    ($name:ident, $features:literal, $lanes:path) => {
        pub(super) mod $name {
            use super::*;
            use $lanes::*;

            /// Sorts numbers, by several threads if they are many; `spare` is as long.
            ///
            /// # Safety
            ///
            /// The processor has the instructions.
            pub(in crate::sort) unsafe fn sort(
                context: &Context,
                numbers: &mut [Number],
                spare: &mut [Number],
            ) {
                let most_depth = |count: usize| 2 * count.max(1).ilog2();
                if context.threads() == 1 || numbers.len() < LONG {
                    // SAFETY: the caller's promise.
                    unsafe { quick(numbers, spare, false, most_depth(numbers.len())) };
                    return;
                }
                let mut parts: Vec<Range<usize>> = Vec::new();
                parts.push(0..numbers.len());
                while parts.len() < context.threads() {
                    parts.sort_by_key(|part| part.len());
                    let Some(part) = parts.pop_if(|part| part.len() >= LONG) else { break };
                    let (numbers, spare) = (&mut numbers[part.clone()], &mut spare[part.clone()]);
                    // SAFETY: the caller's promise.
                    let (low, high) = unsafe { divide(context, numbers, spare) };
                    parts.extend([part.start..part.start + low, part.start + high..part.end]);
                }
                let (numbers, spare) = (Address(numbers.as_mut_ptr()), Address(spare.as_mut_ptr()));
                let tasks = parts.into_iter().map(|range| {
                    let depth = most_depth(range.len());
                    Task { range, in_spare: false, depth }
                });
                let tasks = Tasks::new(tasks.collect());
                context.parallel_for(context.threads(), 1, |_, _| {
                    tasks.work(|task| {
                        let range = task.range.clone();
                        // SAFETY: tasks lie within the slices and apart, and the caller's promise.
                        unsafe {
                            let at = |from: Address<Number>| {
                                let start = from.get().add(range.start);
                                std::slice::from_raw_parts_mut(start, range.len())
                            };
                            let (numbers, spare) = (at(numbers), at(spare));
                            if range.len() < LONG || task.depth == 0 {
                                quick(numbers, spare, task.in_spare, task.depth);
                                return None;
                            }
                            let (low, high) = partitioned(numbers, spare, task.in_spare);
                            let part = |range: Range<usize>| Task {
                                range: task.range.start + range.start..task.range.start + range.end,
                                in_spare: !task.in_spare,
                                depth: task.depth - 1,
                            };
                            Some([part(0..low), part(high..range.len())])
                        }
                    });
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
                numbers: &mut [Number],
                spare: &mut [Number],
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
                numbers: &mut [Number],
                spare: &mut [Number],
                pivot: Number,
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
            #[target_feature(enable = $features)]
            fn quick(
                mut numbers: &mut [Number],
                mut spare: &mut [Number],
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
                    let (low, high) = partitioned(numbers, spare, in_spare);
                    quick(&mut numbers[..low], &mut spare[..low], !in_spare, depth);
                    (numbers, spare) = (&mut numbers[high..], &mut spare[high..]);
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

            /// Moves numbers to the other slice, those less than one of them to the front. Those up to the first
            /// place are less, those from the second place on are not, and those between them are in `numbers`,
            /// where they belong.
            #[target_feature(enable = $features)]
            fn partitioned(
                numbers: &mut [Number],
                spare: &mut [Number],
                in_spare: bool,
            ) -> (usize, usize) {
                let (from, into) =
                    if in_spare { (&*spare, &mut *numbers) } else { (&*numbers, &mut *spare) };
                let pivot = pivot(from);
                let low = partition::<false>(from, into, pivot);
                if low > 0 {
                    return (low, low);
                }
                // It is the least; all that are equal are where they belong.
                let low = partition::<true>(from, into, pivot);
                if !in_spare {
                    numbers[..low].copy_from_slice(&spare[..low]);
                }
                (0, low)
            }

            /// One of the numbers near their middle.
            #[target_feature(enable = $features)]
            fn pivot(numbers: &[Number]) -> Number {
                match numbers.len() {
                    ..SEVERAL => middle::<{ FEW_SAMPLES / LANES }>(numbers),
                    _ => middle::<4>(numbers),
                }
            }

            /// The middle one of so many vectors of samples.
            #[inline]
            #[target_feature(enable = $features)]
            fn middle<const VECTORS: usize>(numbers: &[Number]) -> Number {
                let count = VECTORS * LANES;
                let mut samples = [[0; LANES]; VECTORS];
                for (i, sample) in samples.as_flattened_mut().iter_mut().enumerate() {
                    *sample = numbers[i * numbers.len() / count];
                }
                let samples = samples.as_flattened_mut();
                network::<VECTORS>(samples.as_ptr(), samples);
                samples[count / 2]
            }

            /// Writes numbers less than the pivot, or no greater than it, to the front and the others, in
            /// any order, behind them; says how many the first are.
            #[target_feature(enable = $features)]
            fn partition<const OR_EQUAL: bool>(
                from: &[Number],
                into: &mut [Number],
                pivot: Number,
            ) -> usize {
                let pivot = splat(pivot);
                let is_low =
                    |vector| if OR_EQUAL { at_most(vector, pivot) } else { less(vector, pivot) };
                assert_eq!(from.len(), into.len());
                let start = into.as_mut_ptr();
                let (mut low, mut high) = (start, start.wrapping_add(from.len()));
                let mut put_all = |vector, lows: Mask| {
                    // SAFETY: between `low` and `high` is room for what was not written yet, which is as much as
                    // is asked for.
                    unsafe {
                        let count = put(low, high, vector, lows);
                        low = low.add(count);
                        high = high.sub(LANES - count);
                    }
                };
                let vectors = (from.len() / LANES).saturating_sub(ROOM - 1);
                let (from, rest) = from.split_at(vectors * LANES);
                let (vectors, _) = from.as_chunks::<LANES>();
                let (blocks, others) = vectors.as_chunks::<TOGETHER>();
                for block in blocks {
                    // SAFETY: a vector is there.
                    let read = block.each_ref().map(|numbers| unsafe { load(numbers.as_ptr()) });
                    let lows = read.map(is_low);
                    for (vector, lows) in read.into_iter().zip(lows) {
                        put_all(vector, lows);
                    }
                }
                for numbers in others {
                    // SAFETY: as above.
                    let vector = unsafe { load(numbers.as_ptr()) };
                    put_all(vector, is_low(vector));
                }
                for rest in rest.chunks(LANES) {
                    // SAFETY: as above, for so many numbers.
                    unsafe {
                        let vector = load_first(pivot, rest.len(), rest.as_ptr());
                        let count = put_some(low, high, rest.len(), vector, is_low(vector));
                        low = low.add(count);
                        high = high.sub(rest.len() - count);
                    }
                }
                // SAFETY: one is in the other.
                unsafe { low.offset_from_unsigned(start) }
            }

            /// Sorts lines of so many numbers, at most [`SHORTEST`], side by side.
            ///
            /// # Safety
            ///
            /// See [`sort`].
            pub(in crate::sort) unsafe fn sort_lines(numbers: &mut [Number], length: usize) {
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
            #[target_feature(enable = $features)]
            fn columns<const ROWS: usize>(numbers: &mut [Number], length: usize) {
                for lines in numbers.chunks_mut(LANES * length) {
                    // What is not there is last.
                    let mut rows = [[<Number>::MAX; LANES]; ROWS];
                    for (lane, line) in lines.chunks(length).enumerate() {
                        for (row, &number) in rows.iter_mut().zip(line) {
                            row[lane] = number;
                        }
                    }
                    // SAFETY: a row is a vector.
                    let mut vectors = rows.map(|row| unsafe { load(row.as_ptr()) });
                    exchange_all(&mut vectors);
                    for (row, vector) in rows.iter_mut().zip(vectors) {
                        // SAFETY: as above.
                        unsafe { store(row.as_mut_ptr(), vector) };
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
            #[target_feature(enable = $features)]
            fn exchange_all<const ROWS: usize>(vectors: &mut [Vector; ROWS]) {
                let mut size = 1;
                while size < ROWS {
                    let mut stride = size;
                    while stride > 0 {
                        for start in (stride % size..ROWS - stride).step_by(2 * stride) {
                            for i in start..ROWS.min(start + stride).min(ROWS - stride) {
                                if i / (2 * size) == (i + stride) / (2 * size) {
                                    let (a, b) = (vectors[i], vectors[i + stride]);
                                    vectors[i] = min(a, b);
                                    vectors[i + stride] = max(a, b);
                                }
                            }
                        }
                        stride /= 2;
                    }
                    size *= 2;
                }
            }

            /// Sorts up to so many vectors. As many are read, perhaps where they are written.
            ///
            /// The numbers of each lane are sorted first, and these columns merged by two, four, and so on, which
            /// mostly compares whole vectors; what a lane has is brought side by side in the end.
            #[target_feature(enable = $features)]
            fn network<const VECTORS: usize>(from: *const Number, into: &mut [Number]) {
                assert!(into.len() <= VECTORS * LANES);
                let mut vectors = [splat(Number::MAX); VECTORS];
                let count = into.len();
                let left = |i: usize| count.saturating_sub(i * LANES).min(LANES);
                for (i, vector) in vectors.iter_mut().enumerate() {
                    let from = from.wrapping_add(i * LANES);
                    // SAFETY: so many numbers are there.
                    *vector = unsafe { load_first(*vector, left(i), from) };
                }
                exchange_all(&mut vectors);
                merge::<VECTORS, 1, 1>(&mut vectors);
                merge::<VECTORS, 2, 3>(&mut vectors);
                merge::<VECTORS, 4, 7>(&mut vectors);
                merge::<VECTORS, 8, 15>(&mut vectors);
                let mut size = 1;
                while size < VECTORS {
                    let columns = vectors;
                    for (i, pair) in vectors.chunks_mut(2).enumerate() {
                        (pair[0], pair[1]) = interleaved(columns[i], columns[i + VECTORS / 2]);
                    }
                    size *= 2;
                }
                for (i, &vector) in vectors.iter().enumerate() {
                    let into = into.as_mut_ptr().wrapping_add(i * LANES);
                    // SAFETY: so many numbers are there.
                    unsafe { store_first(into, left(i), vector) };
                }
            }

            /// Makes runs of so many columns, one after the other, runs of twice as many; `LAST` is one less than
            /// these.
            #[inline]
            #[target_feature(enable = $features)]
            fn merge<const VECTORS: usize, const COLUMNS: usize, const LAST: usize>(
                vectors: &mut [Vector; VECTORS],
            ) {
                if COLUMNS >= LANES {
                    return;
                }
                // The first number of a run is compared with the last of the next one.
                for i in 0..VECTORS.div_ceil(2) {
                    let j = VECTORS - 1 - i;
                    let (vector, other) = (vectors[i], partners::<LAST>(vectors[j]));
                    let (less, more) = (min(vector, other), max(vector, other));
                    // A vector alone is both.
                    vectors[j] = partners::<LAST>(chosen::<COLUMNS>(more, less));
                    vectors[i] = chosen::<COLUMNS>(less, more);
                }
                exchange_columns::<VECTORS, COLUMNS, 4>(vectors);
                exchange_columns::<VECTORS, COLUMNS, 2>(vectors);
                exchange_columns::<VECTORS, COLUMNS, 1>(vectors);
                let mut stride = VECTORS / 2;
                while stride > 0 {
                    for i in (0..VECTORS).filter(|i| i & stride == 0) {
                        let (a, b) = (vectors[i], vectors[i + stride]);
                        (vectors[i], vectors[i + stride]) = (min(a, b), max(a, b));
                    }
                    stride /= 2;
                }
            }

            /// Exchanges numbers of columns that are `STRIDE` apart where they are in the wrong order, if that is
            /// less than so many columns.
            #[inline]
            #[target_feature(enable = $features)]
            fn exchange_columns<const VECTORS: usize, const COLUMNS: usize, const STRIDE: usize>(
                vectors: &mut [Vector; VECTORS],
            ) {
                if STRIDE >= COLUMNS {
                    return;
                }
                for vector in vectors.iter_mut() {
                    let other = partners::<STRIDE>(*vector);
                    *vector = chosen::<STRIDE>(min(*vector, other), max(*vector, other));
                }
            }
        }
    };
}

vector_sort!(of_u32_avx512, "avx512f,popcnt", super::avx512::of_u32);
vector_sort!(of_u64_avx512, "avx512f,popcnt", super::avx512::of_u64);
vector_sort!(of_u32_avx2, "avx2,popcnt", super::avx2::of_u32);
vector_sort!(of_u64_avx2, "avx2,popcnt", super::avx2::of_u64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::sets::{self, Set};
    use crate::pool::Pool;

    type Sort<T> = unsafe fn(&Context, &mut [T], &mut [T]);
    type SortLines<T> = unsafe fn(&mut [T], usize);

    #[test]
    fn numbers_of_all_kinds_by_avx2() {
        numbers_of_all_kinds(
            Set::Avx2,
            (of_u32_avx2::sort, of_u32_avx2::sort_lines),
            (of_u64_avx2::sort, of_u64_avx2::sort_lines),
        );
    }

    #[test]
    fn numbers_of_all_kinds_by_avx512() {
        numbers_of_all_kinds(
            Set::Avx512,
            (of_u32_avx512::sort, of_u32_avx512::sort_lines),
            (of_u64_avx512::sort, of_u64_avx512::sort_lines),
        );
    }

    fn numbers_of_all_kinds(
        set: Set,
        (sort_u32, sort_lines_u32): (Sort<u32>, SortLines<u32>),
        (sort_u64, sort_lines_u64): (Sort<u64>, SortLines<u64>),
    ) {
        if sets::best() < set {
            eprintln!("skipped: the processor has no {set:?}");
            return;
        }
        let contexts = [Context::default(), Context::new(Some(Pool::with_threads(3)))];
        let lengths = (0..300).chain([511, 512, 513, 1000, 4099, LONG - 1, 9 * LONG + 5]);
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
