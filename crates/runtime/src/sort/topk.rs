//! `rxla_topk`: the first elements of each line by total order, without sorting the rest.

use std::ops::Range;

use rxla_base::{Error, Result};

use super::key::{FloatOrder, Key};
use super::order::Word;
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::{Element, with_element};
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;
use crate::status::{Status, guard};

/// The `count` largest (or smallest) elements of each line of a dense operand, in order, and their
/// places as i32. Of equal ones the first come first. NaN are larger than all, with their sign smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TopK {
    pub element: Element,
    pub lines: usize,
    pub length: usize,
    pub count: usize,
    pub which: super::Direction,
}

impl TopK {
    /// The array for [`rxla_topk`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        if self.count > self.length || i32::try_from(self.length).is_err() {
            let message = format!("the first {} of {} elements", self.count, self.length);
            return Err(Error::invalid_argument(message));
        }
        if self.element.is_complex() {
            return Err(Error::invalid_argument("the largest of complex numbers"));
        }
        let sizes = [self.lines, self.length, self.count].map(|size| size as i64);
        Ok([&[self.element as i64][..], &sizes, &[self.which as i64]].concat())
    }
}

/// Writes values and places of the elements that the array describes.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`TopK`], and the buffers hold what it
/// says; nobody else uses the results.
pub unsafe extern "C" fn rxla_topk(
    context: *const Context,
    operand: *const u8,
    values: *mut u8,
    places: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (lines, length, count) = (code.size(), code.size(), code.size());
        let descending = code.next() != 0;
        if count == 0 {
            return Ok(());
        }
        let (operand, values, places) =
            (Address(operand.cast_mut()), Address(values), Address(places));
        // Lines are cut where they are fewer than threads could take.
        let pieces = match lines {
            0 => return Ok(()),
            lines => (length / LEAST_PIECE).min((4 * context.threads()).div_ceil(lines)).max(1),
        };
        with_element!(element, S => {
            let work = Work::<S> {
                operand: Address(operand.get().cast()),
                length,
                count,
                // Keys for which less is better.
                flips: if descending { u64::MAX >> (64 - <S as Key>::BITS) } else { 0 },
            };
            let mut found: Vec<Vec<(u64, u32)>> = vec![Vec::new(); lines * pieces];
            let lists = Address(found.as_mut_ptr());
            let grain = 1 + LEAST_PIECE * pieces / length;
            context.parallel_for(lines * pieces, grain, |begin, end| {
                for number in begin..end {
                    let (line, piece) = (number / pieces, number % pieces);
                    let range = piece * length / pieces..(piece + 1) * length / pieces;
                    // SAFETY: the caller's promise; each piece has a list of its own.
                    unsafe {
                        let best = &mut *lists.get().add(number);
                        work.first(line, range, best);
                        if pieces == 1 {
                            work.write(line, best, values.get().cast(), places.get());
                            *best = Vec::new();
                        }
                    }
                }
            });
            for line in 0..if pieces == 1 { 0 } else { lines } {
                let mut best = found[line * pieces..][..pieces].concat();
                best.sort_unstable();
                best.truncate(count);
                // SAFETY: the caller's promise.
                unsafe { work.write(line, &best, values.get().cast(), places.get()) };
            }
        });
        Ok(())
    })
}

/// Elements of a line that are worth a thread's attention.
const LEAST_PIECE: usize = if cfg!(test) { 400 } else { 1 << 14 };
/// Elements that are wanted and can be kept in order as they are found.
const FEW: usize = 16;
/// Elements that are looked at together: whether one of them is good enough to be looked at alone.
const BLOCK: usize = 64;

struct Work<S> {
    operand: Address<S>,
    length: usize,
    count: usize,
    flips: u64,
}

impl<S: Key> Work<S> {
    fn key(&self, value: S) -> u64 {
        value.key(FloatOrder::Total) ^ self.flips
    }

    /// The best elements of a part of a line: their keys with their places, in order.
    ///
    /// # Safety
    ///
    /// The line is there.
    unsafe fn first(&self, line: usize, range: Range<usize>, best: &mut Vec<(u64, u32)>) {
        let start = self.operand.get().wrapping_add(line * self.length);
        // SAFETY: the caller's promise.
        let elements = unsafe { std::slice::from_raw_parts(start.cast_const(), self.length) };
        if self.count <= FEW {
            self.first_few(elements, range, best);
        } else {
            self.first_many(elements, range, best);
        }
    }

    /// Each that is good enough is put where it belongs.
    fn first_few(&self, elements: &[S], range: Range<usize>, best: &mut Vec<(u64, u32)>) {
        best.reserve_exact(self.count);
        let mut place = range.start;
        for block in elements[range].chunks(BLOCK) {
            let bound = (best.len() == self.count).then(|| best[self.count - 1].0);
            // SAFETY: nothing is asked for.
            let may_be = bound.is_none_or(|bound| unsafe { has_less(block, self.flips, bound) });
            for (&value, place) in block.iter().zip(place as u32..).filter(|_| may_be) {
                let key = self.key(value);
                if best.len() == self.count {
                    if key >= best[self.count - 1].0 {
                        continue;
                    }
                    best.pop();
                }
                // Behind its equals, which stand before it in the line, too.
                let worse = best.iter().rev().take_while(|&&(other, _)| other > key).count();
                best.insert(best.len() - worse, (key, place));
            }
            place += block.len();
        }
    }

    fn first_many(&self, elements: &[S], range: Range<usize>, best: &mut Vec<(u64, u32)>) {
        // Candidates are gathered until there are several times as many as wanted, then weeded out; what
        // is no better than the worst of the best so far is not even gathered.
        let most = (self.count * 4).max(64);
        let mut bound = None;
        let mut place = range.start;
        for block in elements[range].chunks(BLOCK) {
            // SAFETY: nothing is asked for.
            let may_be = bound.is_none_or(|bound| unsafe { has_less(block, self.flips, bound) });
            for (&value, place) in block.iter().zip(place as u32..).filter(|_| may_be) {
                let key = self.key(value);
                if bound.is_some_and(|bound| key >= bound) {
                    continue;
                }
                best.push((key, place));
                if best.len() == most {
                    best.select_nth_unstable(self.count - 1);
                    best.truncate(self.count);
                    bound = Some(best[self.count - 1].0);
                }
            }
            place += block.len();
        }
        best.sort_unstable();
        best.truncate(self.count);
    }

    /// # Safety
    ///
    /// The line is there, and nobody else writes its results.
    unsafe fn write(&self, line: usize, best: &[(u64, u32)], values: *mut S, places: *mut i32) {
        for (&(_, place), into) in best.iter().zip(line * self.count..) {
            // SAFETY: the caller's promise.
            unsafe {
                let value = *self.operand.get().add(line * self.length + place as usize);
                values.add(into).write(value);
                places.add(into).write(place as i32);
            }
        }
    }
}

for_each_set! {
    /// # Safety
    ///
    /// None is asked for.
    unsafe fn has_less[S: Key] = has_less_body(values: &[S], flips: u64, bound: u64) -> bool
}

/// # Safety
///
/// None is asked for.
#[inline(always)]
unsafe fn has_less_body<S: Key>(values: &[S], flips: u64, bound: u64) -> bool {
    let bound = S::Word::new(bound);
    values.iter().fold(false, |found, &value| {
        found | (S::Word::new(value.key(FloatOrder::Total) ^ flips) < bound)
    })
}
