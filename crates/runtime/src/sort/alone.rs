//! Numbers sorted with nothing to be moved along: what is sorted are keys, and keys tell the numbers, but for
//! NaN of one key and the order of zeros of both signs, which are looked up in the operand.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::key::{FromKey, Key, zero_keys};
use super::order::{Word, sort_words};
use super::{Direction, FloatOrder, GRAIN, Job, Lines, Room, SortKey, room};
use crate::context::Context;
use crate::element::with_element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{self, Address};

impl Job<'_> {
    /// Sorts some lines of the key's operand, of which the first begins at `start`, into its result.
    ///
    /// # Safety
    ///
    /// As for [`super::rxla_sort`]; nobody else has these lines.
    pub(super) unsafe fn values_alone(
        &self,
        context: &Context,
        start: usize,
        lines: Lines,
        key: SortKey,
        memory: &mut Room,
    ) -> Result<()> {
        let (element, _) = self.sort.operands[key.operand];
        let (from, into) = (self.operands[key.operand].get(), self.results[key.operand].get());
        with_element!(element, S => {
            let flips = match key.direction {
                Direction::Ascending => 0,
                Direction::Descending => u64::MAX >> (64 - <S as Key>::BITS),
            };
            let alone = Alone {
                from: Address(from.cast::<S>().wrapping_add(start)),
                into: Address(into.cast::<S>().wrapping_add(start)),
                lines,
                length: self.sort.length,
                inner: self.sort.inner,
                order: key.order,
                flips,
            };
            let unclear = !element.is_integer() && key.order == FloatOrder::Value;
            // SAFETY: the caller's promise.
            unsafe { alone.sort(context, memory, unclear) }
        })
    }
}

/// Lines of numbers.
struct Alone<S> {
    /// The first element of the first line, and where the least goes.
    from: Address<S>,
    into: Address<S>,
    lines: Lines,
    length: usize,
    /// From one element of a line to the next.
    inner: usize,
    order: FloatOrder,
    /// Bits of keys that are turned.
    flips: u64,
}

/// Numbers that keys do not tell.
struct Unclear<S> {
    line: usize,
    /// Where they go in their line.
    range: Range<usize>,
    /// They themselves, in their order.
    numbers: Vec<S>,
}

impl<S: FromKey> Alone<S> {
    /// # Safety
    ///
    /// The lines are there, and nobody else has where they go, which may be where they are.
    unsafe fn sort(&self, context: &Context, memory: &mut Room, unclear: bool) -> Result<()> {
        let (count, length) = (self.lines.count, self.length);
        let Room { keys, spare, copy, .. } = memory;
        let keys = room::<S::Word>(keys, length * count)?;
        let spare = room::<S::Word>(spare, length)?;
        // SAFETY: the caller's promise.
        unsafe { self.make_keys(context, keys) };
        let unclear = unclear && self.may_be_unclear(context, keys);
        sort_words(context, keys, length, spare, S::BITS);
        // Looked up before anything is written: the result may be the operand.
        let mut found: Vec<Unclear<S>> = Vec::new();
        for (line, keys) in keys.chunks(length).enumerate().filter(|_| unclear) {
            for range in self.unclear(keys) {
                let same = keys[range.start]..=keys[range.end - 1];
                let is = |number: S| same.contains(&self.key(number));
                // SAFETY: the caller's promise.
                let numbers = unsafe { self.look_up(context, line, is, copy)? };
                found.push(Unclear { line, range, numbers });
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.make_numbers(context, keys) };
        for Unclear { line, range, numbers } in found {
            for (place, number) in range.zip(numbers) {
                let into = line * self.lines.step + place * self.inner;
                // SAFETY: the caller's promise.
                unsafe { self.into.get().add(into).write(number) };
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn key(&self, number: S) -> S::Word {
        S::Word::new(number.key(self.order) ^ self.flips)
    }

    /// # Safety
    ///
    /// The lines are there.
    unsafe fn make_keys(&self, context: &Context, keys: &mut [S::Word]) {
        let (length, inner) = (self.length, self.inner);
        let (count, keys) = (keys.len(), Address(keys.as_mut_ptr()));
        match inner {
            1 => context.parallel_for(count, GRAIN, |begin, end| {
                // SAFETY: the caller's promise; each key is in one piece.
                unsafe {
                    let (from, keys) = (self.from.get().add(begin), keys.get().add(begin));
                    to_keys::<S>(from, keys, end - begin, self.order, self.flips);
                }
            }),
            _ => context.parallel_for(length, GRAIN, |begin, end| {
                // SAFETY: the caller's promise; each key is in one piece.
                unsafe {
                    for i in begin..end {
                        for line in 0..self.lines.count {
                            let number = *self.from.get().add(i * inner + line);
                            *keys.get().add(line * length + i) = self.key(number);
                        }
                    }
                }
            }),
        }
    }

    /// # Safety
    ///
    /// As for [`Alone::sort`].
    unsafe fn make_numbers(&self, context: &Context, keys: &[S::Word]) {
        let (length, inner) = (self.length, self.inner);
        match inner {
            1 => context.parallel_for(keys.len(), GRAIN, |begin, end| {
                // SAFETY: the caller's promise; each element is in one piece.
                unsafe {
                    let (keys, into) = (&keys[begin..end], self.into.get().add(begin));
                    from_keys::<S>(keys.as_ptr(), into, keys.len(), self.flips);
                }
            }),
            _ => context.parallel_for(length, GRAIN, |begin, end| {
                // SAFETY: the caller's promise; each element is in one piece.
                unsafe {
                    for i in begin..end {
                        for line in 0..self.lines.count {
                            let key: u64 = keys[line * length + i].into();
                            let into = self.into.get().add(i * inner + line);
                            into.write(S::from_key(key ^ self.flips));
                        }
                    }
                }
            }),
        }
    }

    /// Whether keys are among these that may not tell the number: there are zeros with a sign, or NaN.
    fn may_be_unclear(&self, context: &Context, keys: &[S::Word]) -> bool {
        let rare = [zero_keys(S::BITS).0, u64::MAX >> (64 - S::BITS)];
        let rare = rare.map(|key| S::Word::new(key ^ self.flips));
        let found = AtomicBool::new(false);
        context.parallel_for(keys.len(), GRAIN, |begin, end| {
            // SAFETY: nothing is asked for.
            if unsafe { has_one_of(&keys[begin..end], rare) } {
                found.store(true, Ordering::Relaxed);
            }
        });
        found.into_inner()
    }

    /// Where sorted keys do not tell the numbers: zeros if there are some of both signs, and NaN.
    fn unclear(&self, sorted: &[S::Word]) -> impl Iterator<Item = Range<usize>> {
        let (low_zero, high_zero) = zero_keys(S::BITS);
        let last = u64::MAX >> (64 - S::BITS);
        let range = |low: u64, high: u64| {
            let mut ends = [low ^ self.flips, high ^ self.flips].map(S::Word::new);
            ends.sort_unstable();
            let begin = sorted.partition_point(|&key| key < ends[0]);
            begin..begin + sorted[begin..].partition_point(|&key| key <= ends[1])
        };
        let mixed = |zeros: &Range<usize>| {
            !zeros.is_empty() && sorted[zeros.start] != sorted[zeros.end - 1]
        };
        let zeros = Some(range(low_zero, high_zero)).filter(mixed);
        let nans = Some(range(last, last)).filter(|range| !range.is_empty());
        zeros.into_iter().chain(nans)
    }

    /// Those numbers of a line of which that is said, in the order in which they stand.
    ///
    /// # Safety
    ///
    /// The lines are there.
    unsafe fn look_up(
        &self,
        context: &Context,
        line: usize,
        is: impl Fn(S) -> bool + Sync,
        copy: &mut Option<crate::allocator::Block>,
    ) -> Result<Vec<S>> {
        let (length, inner) = (self.length, self.inner);
        let found = Address(gemm::room::<S>(copy, length)?);
        let mut counts = vec![0; length.div_ceil(GRAIN)];
        let places = Address(counts.as_mut_ptr());
        context.parallel_for(counts.len(), 1, |begin, end| {
            for piece in begin..end {
                let first = piece * GRAIN;
                let from = self.from.get().wrapping_add(line * self.lines.step);
                let (into, mut count) = (found.get().wrapping_add(first), 0);
                for i in first..length.min(first + GRAIN) {
                    // SAFETY: the caller's promise; no more is found than was read, and each piece has its
                    // own room.
                    unsafe {
                        let number = *from.add(i * inner);
                        into.add(count).write(number);
                        count += usize::from(is(number));
                    }
                }
                // SAFETY: and a count of its own.
                unsafe { *places.get().add(piece) = count };
            }
        });
        let mut numbers = Vec::with_capacity(counts.iter().sum());
        for (piece, count) in counts.into_iter().enumerate() {
            // SAFETY: written above.
            numbers.extend_from_slice(unsafe {
                std::slice::from_raw_parts(found.get().add(piece * GRAIN), count)
            });
        }
        Ok(numbers)
    }
}

for_each_set! {
    /// # Safety
    ///
    /// So many elements are there, and room for as many keys.
    unsafe fn to_keys[S: Key] = to_keys_body(
        from: *const S, into: *mut S::Word, count: usize, order: FloatOrder, flips: u64
    ) -> ()
}

/// # Safety
///
/// See [`to_keys`].
#[inline(always)]
unsafe fn to_keys_body<S: Key>(
    from: *const S,
    into: *mut S::Word,
    count: usize,
    order: FloatOrder,
    flips: u64,
) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { *into.add(i) = S::Word::new((*from.add(i)).key(order) ^ flips) };
    }
}

for_each_set! {
    /// # Safety
    ///
    /// None is asked for.
    unsafe fn has_one_of[W: Word] = has_one_of_body(words: &[W], wanted: [W; 2]) -> bool
}

/// # Safety
///
/// None is asked for.
#[inline(always)]
unsafe fn has_one_of_body<W: Word>(words: &[W], wanted: [W; 2]) -> bool {
    words.iter().fold(false, |found, &word| found | (word == wanted[0]) | (word == wanted[1]))
}

for_each_set! {
    /// # Safety
    ///
    /// So many keys are there, and room for as many elements.
    unsafe fn from_keys[S: FromKey] =
        from_keys_body(from: *const S::Word, into: *mut S, count: usize, flips: u64) -> ()
}

/// # Safety
///
/// See [`from_keys`].
#[inline(always)]
unsafe fn from_keys_body<S: FromKey>(from: *const S::Word, into: *mut S, count: usize, flips: u64) {
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let key: u64 = (*from.add(i)).into();
            into.add(i).write(S::from_key(key ^ flips));
        }
    }
}
