//! Orders of lines: which element of a line comes first, second, and so on. All are stable.

use crate::context::Context;
use crate::gemm::Address;
#[cfg(target_arch = "x86_64")]
use crate::gemm::sets::{self, Set};

/// Below this length comparing beats counting.
const SHORT: usize = 1024;
/// Bits of a key that one pass of counting sorts by.
const DIGIT: u32 = 11;
const BUCKETS: usize = 1 << DIGIT;
/// From this length on several threads sort one line.
pub(super) const LONG: usize = 1 << 15;

/// An element on its way: its key and where it was.
pub(crate) trait Entry: Copy + Default + Send + Sync {
    fn new(key: u64, place: u32) -> Self;
    fn digits(self) -> u64;
    fn place(self) -> u32;
    /// Sorts by key and, among equals, by place.
    fn sort(entries: &mut [Self]);
    /// The same with vectors; false if the processor has none for it. `spare` is as long.
    fn sort_by_vectors(_: &Context, _: &mut [Self], _: &mut [Self]) -> bool {
        false
    }
}

/// A key of up to 32 bits above the place.
impl Entry for u64 {
    #[inline(always)]
    fn new(key: u64, place: u32) -> u64 {
        key << 32 | u64::from(place)
    }

    #[inline(always)]
    fn digits(self) -> u64 {
        self >> 32
    }

    #[inline(always)]
    fn place(self) -> u32 {
        self as u32
    }

    fn sort(entries: &mut [u64]) {
        entries.sort_unstable();
    }

    #[cfg(target_arch = "x86_64")]
    fn sort_by_vectors(context: &Context, entries: &mut [u64], spare: &mut [u64]) -> bool {
        let can = sets::best() == Set::Avx512;
        if can {
            // SAFETY: detected.
            unsafe { super::vector::sort_u64(context, entries, spare) };
        }
        can
    }
}

/// A key of up to 64 bits and the place.
impl Entry for (u64, u32) {
    #[inline(always)]
    fn new(key: u64, place: u32) -> (u64, u32) {
        (key, place)
    }

    #[inline(always)]
    fn digits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn place(self) -> u32 {
        self.1
    }

    fn sort(entries: &mut [(u64, u32)]) {
        entries.sort_unstable();
    }
}

/// Sorts entries that stand in the order of their places, by keys of so many bits; `spare` is as long.
pub(crate) fn sort_entries<E: Entry>(
    context: &Context,
    entries: &mut [E],
    spare: &mut [E],
    bits: u32,
) {
    if E::sort_by_vectors(context, entries, spare) {
        return;
    }
    if entries.len() < SHORT {
        E::sort(entries);
        return;
    }
    by_digits(context, entries, spare, bits, |entry| entry.digits());
}

/// Sorts keys of so many bits on their own; `spare` is as long.
pub(crate) fn sort_keys(context: &Context, keys: &mut [u32], spare: &mut [u32], bits: u32) {
    // Two passes of counting are less work.
    #[cfg(target_arch = "x86_64")]
    if sets::best() == Set::Avx512 && (bits > 2 * DIGIT || keys.len() < SHORT) {
        // SAFETY: detected.
        unsafe { super::vector::sort_u32(context, keys, spare) };
        return;
    }
    if keys.len() < SHORT {
        keys.sort_unstable();
        return;
    }
    by_digits(context, keys, spare, bits, u64::from);
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
        let mut narrow: Vec<u64> =
            (0..).zip(&keys).map(|(place, &key)| Entry::new(key, place)).collect();
        let mut spare = narrow.clone();
        sort_entries(context, &mut narrow, &mut spare, bits);
        assert_eq!(narrow.iter().map(|entry| entry.place()).collect::<Vec<_>>(), wanted);
        let mut wide: Vec<(u64, u32)> =
            (0..).zip(&keys).map(|(place, &key)| (key << 20, place)).collect();
        let mut spare = wide.clone();
        sort_entries(context, &mut wide, &mut spare, 64);
        assert_eq!(wide.iter().map(|entry| entry.place()).collect::<Vec<_>>(), wanted);
        let mut places: Vec<u32> = (0..count as u32).collect();
        let mut spare = places.clone();
        sort_by(&mut places, &mut spare, |a, b| keys[a as usize] < keys[b as usize]);
        assert_eq!(places, wanted);
        let mut sorted: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
        let mut spare = sorted.clone();
        sort_keys(context, &mut sorted, &mut spare, bits);
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
