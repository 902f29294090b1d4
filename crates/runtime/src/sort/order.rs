//! Orders of lines: which element of a line comes first, second, and so on. All are stable.

use super::{GRAIN, Number};
use crate::context::Context;
use crate::gemm::Address;
#[cfg(target_arch = "x86_64")]
use crate::gemm::sets::{self, Set};

/// Lines that are as short are sorted side by side, one in each lane of vectors.
pub(super) const SHORTEST: usize = 16;
/// Below this length comparing beats counting.
const SHORT: usize = 1024;
/// Bits of a key that one pass of counting sorts by.
const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;
/// From this length on several threads sort one line.
pub(super) const LONG: usize = 1 << 15;

/// What a key is kept in.
pub(crate) trait Word: Number + Ord + Into<u64> + Send + Sync {
    fn new(key: u64) -> Self;
    /// Sorts words by vectors; false if the processor has none for it. `spare` is as long.
    fn sort_by_vectors(context: &Context, words: &mut [Self], spare: &mut [Self]) -> bool;
    /// Sorts lines of so many words, as long as [`SHORTEST`] or shorter, by vectors; false as above.
    fn sort_lines_by_vectors(words: &mut [Self], length: usize) -> bool;
}

macro_rules! words {
    ($($word:ty: $avx2:ident, $avx512:ident;)*) => {$(
        impl Word for $word {
            #[inline(always)]
            fn new(key: u64) -> $word {
                key as $word
            }

            #[cfg(target_arch = "x86_64")]
            fn sort_by_vectors(context: &Context, words: &mut [$word], spare: &mut [$word]) -> bool {
                let sort = match sets::best() {
                    Set::Baseline => return false,
                    Set::Avx2 => super::vector::$avx2::sort,
                    Set::Avx512 => super::vector::$avx512::sort,
                };
                // SAFETY: detected.
                unsafe { sort(context, words, spare) };
                true
            }

            #[cfg(target_arch = "x86_64")]
            fn sort_lines_by_vectors(words: &mut [$word], length: usize) -> bool {
                let sort = match sets::best() {
                    Set::Baseline => return false,
                    Set::Avx2 => super::vector::$avx2::sort_lines,
                    Set::Avx512 => super::vector::$avx512::sort_lines,
                };
                // SAFETY: detected.
                unsafe { sort(words, length) };
                true
            }

            #[cfg(not(target_arch = "x86_64"))]
            fn sort_by_vectors(_: &Context, _: &mut [$word], _: &mut [$word]) -> bool {
                false
            }

            #[cfg(not(target_arch = "x86_64"))]
            fn sort_lines_by_vectors(_: &mut [$word], _: usize) -> bool {
                false
            }
        }
    )*};
}

words! { u32: of_u32_avx2, of_u32_avx512; u64: of_u64_avx2, of_u64_avx512; }

/// Sorts lines of so many keys of so many bits on their own; `spare` is as long as a line.
pub(crate) fn sort_words<W: Word>(
    context: &Context,
    keys: &mut [W],
    length: usize,
    spare: &mut [W],
    bits: u32,
) {
    if length <= SHORTEST && W::sort_lines_by_vectors(keys, length) {
        return;
    }
    for keys in keys.chunks_mut(length) {
        if length >= SHORT && keys.is_sorted() {
            continue;
        }
        // Two passes of counting are less work.
        if (bits > 2 * DIGIT || length < SHORT) && W::sort_by_vectors(context, keys, spare) {
            continue;
        }
        if length < SHORT {
            keys.sort_unstable();
            continue;
        }
        by_digits(context, keys, spare, bits, Into::into);
    }
}

/// Sorts entries, keys of so many bits above their places, which stand in the order of the places; `spare` is as long.
pub(crate) fn sort_entries(context: &Context, entries: &mut [u64], spare: &mut [u64], bits: u32) {
    if entries.len() >= SHORT && entries.is_sorted() {
        return;
    }
    if u64::sort_by_vectors(context, entries, spare) {
        return;
    }
    if entries.len() < SHORT {
        entries.sort_unstable();
        return;
    }
    by_digits(context, entries, spare, bits, |entry| entry >> 32);
}

/// Leaves the places of keys of up to 64 bits in the lower halves of entries, in the order of the keys. They are
/// sorted by the upper halves of keys first, and then, where these are equal, by the lower ones; `spare` is as long.
pub(crate) fn sort_wide(context: &Context, keys: &[u64], entries: &mut [u64], spare: &mut [u64]) {
    for ((place, key), entry) in (0_u64..).zip(keys).zip(entries.iter_mut()) {
        *entry = key >> 32 << 32 | place;
    }
    sort_entries(context, entries, spare, 32);
    // Pieces end where an upper half does.
    let mut pieces: Vec<(&mut [u64], &mut [u64])> = Vec::new();
    let (mut entries, mut spare) = (entries, &mut spare[..keys.len()]);
    while !entries.is_empty() {
        let mut end = entries.len().min(GRAIN);
        while end < entries.len() && entries[end] >> 32 == entries[end - 1] >> 32 {
            end += 1;
        }
        let (piece, spare_piece);
        (piece, entries) = entries.split_at_mut(end);
        (spare_piece, spare) = spare.split_at_mut(end);
        pieces.push((piece, spare_piece));
    }
    // What is equal in many is sorted by all threads.
    let (count, list) = (pieces.len(), Address(pieces.as_mut_ptr()));
    context.parallel_for(count, 1, |begin, end| {
        for i in begin..end {
            // SAFETY: each piece is one thread's.
            let (piece, spare) = unsafe { &mut *list.get().add(i) };
            if piece.len() < LONG {
                by_lower_halves(&Context::default(), keys, piece, spare);
            }
        }
    });
    for (piece, spare) in pieces.iter_mut().filter(|(piece, _)| piece.len() >= LONG) {
        by_lower_halves(context, keys, piece, spare);
    }
}

/// Sorts places within equal upper halves of their keys.
fn by_lower_halves(context: &Context, keys: &[u64], entries: &mut [u64], mut spare: &mut [u64]) {
    for run in entries.chunk_by_mut(|a, b| a >> 32 == b >> 32) {
        let spare_run;
        (spare_run, spare) = spare.split_at_mut(run.len());
        if run.len() > 1 {
            for entry in &mut *run {
                let place = *entry & u64::from(u32::MAX);
                *entry = keys[place as usize] << 32 | place;
            }
            sort_entries(context, run, spare_run, 32);
        }
    }
}

/// Counts digits from the last to the first; a digit that all keys share costs nothing.
fn by_digits<E: Copy + Send + Sync>(
    context: &Context,
    entries: &mut [E],
    spare: &mut [E],
    bits: u32,
    key: impl Fn(E) -> u64 + Sync,
) {
    let passes = bits.div_ceil(DIGIT) as usize;
    let digit =
        |entry: E, pass: usize| (key(entry) >> (pass as u32 * DIGIT)) as usize & (BUCKETS - 1);
    // Several threads count before each pass, since a pass changes whose share an entry is in.
    let together = context.threads() > 1 && entries.len() >= LONG;
    let mut counts = vec![[0_u32; BUCKETS]; if together { 0 } else { passes }];
    for &entry in entries.iter() {
        for (pass, counts) in counts.iter_mut().enumerate() {
            counts[digit(entry, pass)] += 1;
        }
    }
    let (mut from, mut into) = (entries, spare);
    let mut swapped = false;
    for pass in 0..passes {
        let digit = |entry: E| digit(entry, pass);
        let moved = match counts.get_mut(pass) {
            Some(counts) => move_by(from, into, counts, digit),
            None => move_together(context, from, into, digit),
        };
        if moved {
            (from, into) = (into, from);
            swapped = !swapped;
        }
    }
    if swapped {
        into.copy_from_slice(from);
    }
}

/// Moves entries into the order of a digit, of which there are so many; false if all have the same.
fn move_by<E: Copy>(
    from: &[E],
    into: &mut [E],
    counts: &mut [u32; BUCKETS],
    digit: impl Fn(E) -> usize,
) -> bool {
    if counts.iter().any(|&count| count as usize == from.len()) {
        return false;
    }
    let mut sum = 0;
    for count in counts.iter_mut() {
        (*count, sum) = (sum, sum + *count);
    }
    for &entry in from {
        let place = &mut counts[digit(entry)];
        into[*place as usize] = entry;
        *place += 1;
    }
    true
}

/// The same by several threads, each of which counts and moves a share of the entries: of one digit
/// those of earlier shares come first, so the order is the same however many there are.
fn move_together<E: Copy + Send + Sync>(
    context: &Context,
    from: &[E],
    into: &mut [E],
    digit: impl Fn(E) -> usize + Sync,
) -> bool {
    let shares = context.threads();
    let size = from.len().div_ceil(shares);
    let share =
        |number: usize| &from[from.len().min(number * size)..from.len().min((number + 1) * size)];
    let mut counts = vec![[0_u32; BUCKETS]; shares];
    let places = Address(counts.as_mut_ptr());
    context.parallel_for(shares, 1, |begin, end| {
        for number in begin..end {
            // SAFETY: each share has its own counts.
            let counts = unsafe { &mut *places.get().add(number) };
            for &entry in share(number) {
                counts[digit(entry)] += 1;
            }
        }
    });
    let mut sum = 0;
    for bucket in 0..BUCKETS {
        let before = sum;
        for counts in &mut counts {
            (counts[bucket], sum) = (sum, sum + counts[bucket]);
        }
        if (sum - before) as usize == from.len() {
            return false;
        }
    }
    let (places, into) = (Address(counts.as_mut_ptr()), Address(into.as_mut_ptr()));
    context.parallel_for(shares, 1, |begin, end| {
        for number in begin..end {
            // SAFETY: each share has its own counts.
            let counts = unsafe { &mut *places.get().add(number) };
            for &entry in share(number) {
                let place = &mut counts[digit(entry)];
                // SAFETY: the counts of all shares are of all entries, of which there is room for as
                // many, and give each its own place.
                unsafe { *into.get().add(*place as usize) = entry };
                *place += 1;
            }
        }
    });
    true
}

/// Sorts places by any relation, which need not be an order: then neither is the result, but every
/// place is in it once. `spare` is as long.
pub(crate) fn sort_by(
    places: &mut [u32],
    spare: &mut [u32],
    mut less: impl FnMut(u32, u32) -> bool,
) {
    const RUN: usize = 8;
    let count = places.len();
    for run in places.chunks_mut(RUN) {
        for i in 1..run.len() {
            let place = run[i];
            let mut j = i;
            while j > 0 && less(place, run[j - 1]) {
                run[j] = run[j - 1];
                j -= 1;
            }
            run[j] = place;
        }
    }
    let (mut from, mut into) = (places, spare);
    let mut swapped = false;
    let mut width = RUN;
    while width < count {
        for start in (0..count).step_by(2 * width) {
            let (middle, end) = (count.min(start + width), count.min(start + 2 * width));
            let (mut i, mut j) = (start, middle);
            for place in &mut into[start..end] {
                // The left one stays first unless the right one is less.
                let right = i == middle || (j < end && less(from[j], from[i]));
                *place = if right { from[j] } else { from[i] };
                if right { j += 1 } else { i += 1 }
            }
        }
        (from, into) = (into, from);
        swapped = !swapped;
        width *= 2;
    }
    if swapped {
        into.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    fn keys(count: usize, mask: u64) -> Vec<u64> {
        (0..count as u64)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) & mask)
            .collect()
    }

    #[test]
    fn every_way_is_stable_and_right() {
        let contexts = [Context::default(), Context::new(Some(Pool::with_threads(3)))];
        for (count, mask, bits) in [
            (0, 1, 8),
            (1, 1, 8),
            (100, 0xff, 8),
            (5000, 7, 32),
            (5000, u64::from(u32::MAX), 32),
            (3000, 0xffff, 16),
            (LONG + 1, u64::from(u32::MAX), 32),
            (LONG + 2, 0xffc0_0000, 32),
        ] {
            for context in &contexts {
                check(context, count, mask, bits);
            }
        }
    }

    fn check(context: &Context, count: usize, mask: u64, bits: u32) {
        let keys = keys(count, mask);
        let mut wanted: Vec<u32> = (0..count as u32).collect();
        wanted.sort_by_key(|&place| keys[place as usize]);
        let places =
            |entries: &[u64]| entries.iter().map(|&entry| entry as u32).collect::<Vec<_>>();
        let mut entries: Vec<u64> =
            (0..).zip(&keys).map(|(place, &key)| key << 32 | place).collect();
        let mut spare = entries.clone();
        sort_entries(context, &mut entries, &mut spare, bits);
        assert_eq!(places(&entries), wanted);
        for shift in [0, 20, 32] {
            let wide: Vec<u64> = keys.iter().map(|&key| key << shift).collect();
            sort_wide(context, &wide, &mut entries, &mut spare);
            assert_eq!(places(&entries), wanted);
            let (mut sorted, mut spare) = (wide.clone(), wide.clone());
            sort_words(context, &mut sorted, count.max(1), &mut spare, 64);
            assert!(sorted.is_sorted());
        }
        let mut places: Vec<u32> = (0..count as u32).collect();
        let mut spare = places.clone();
        sort_by(&mut places, &mut spare, |a, b| keys[a as usize] < keys[b as usize]);
        assert_eq!(places, wanted);
        let mut sorted: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
        let mut spare = sorted.clone();
        sort_words(context, &mut sorted, count.max(1), &mut spare, bits);
        assert!(sorted.is_sorted());
    }

    #[test]
    fn relations_that_are_no_order_keep_every_element() {
        let mut places: Vec<u32> = (0..1000).collect();
        let mut spare = places.clone();
        let mut turn = 1_u32;
        sort_by(&mut places, &mut spare, |_, _| {
            turn = turn.wrapping_mul(1664525).wrapping_add(1013904223);
            turn >> 31 == 1
        });
        places.sort_unstable();
        assert_eq!(places, (0..1000).collect::<Vec<_>>());
    }
}
