//! `rxla_topk`: the first elements of each line by total order, without sorting the rest.

use rxla_base::{Error, Result};

use super::key::{FloatOrder, Key};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::{Element, with_element};
use crate::gemm::Address;
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
        with_element!(element, S => {
            // Keys for which less is better.
            let flips = if descending { u64::MAX >> (64 - <S as Key>::BITS) } else { 0 };
            context.parallel_for(lines, 1 + (1 << 14) / length, |begin, end| {
                let mut best: Vec<(u64, u32)> = Vec::new();
                for line in begin..end {
                    let start = operand.get().cast::<S>().wrapping_add(line * length);
                    // SAFETY: the caller's promise.
                    let elements = unsafe { std::slice::from_raw_parts(start.cast_const(), length) };
                    first(elements.iter().map(|value| value.key(FloatOrder::Total) ^ flips), count, &mut best);
                    for (i, &(_, place)) in best.iter().enumerate() {
                        let into = line * count + i;
                        // SAFETY: the caller's promise; each line is in one piece.
                        unsafe {
                            values.get().cast::<S>().add(into).write(elements[place as usize]);
                            places.get().add(into).write(place as i32);
                        }
                    }
                }
            });
        });
        Ok(())
    })
}

/// The `count` least keys with their places, in order.
fn first(keys: impl Iterator<Item = u64>, count: usize, best: &mut Vec<(u64, u32)>) {
    // Candidates are gathered until there are several times as many as wanted, then weeded out; what
    // is no better than the worst of the best so far is not even gathered.
    let most = (count * 4).max(64);
    let mut bound = u64::MAX;
    let mut weeded = false;
    best.clear();
    for (place, key) in (0..).zip(keys) {
        if key > bound || (weeded && key == bound) {
            continue;
        }
        best.push((key, place));
        if best.len() == most {
            best.select_nth_unstable(count - 1);
            best.truncate(count);
            (bound, weeded) = (best[count - 1].0, true);
        }
    }
    best.sort_unstable();
    best.truncate(count);
}
