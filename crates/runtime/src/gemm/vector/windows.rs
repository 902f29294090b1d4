//! Products of one vector with a matrix whose lines lie side by side in rows of an image, as where a convolution has
//! one output for each channel: a few rows of the image, each times a number, are added up in registers.
//!
//! Each result is one chain of fused multiply-adds in the order of the vector, as those of tiles are.

use super::super::axis::{Axis, Dim};
use super::super::pack::Steps;
use super::super::sets::for_each_set;
use super::super::{Address, Compute, SERIAL};
use crate::context::Context;
use crate::element::Load;

/// Lines one `step` after the other from an offset on: for each the products of the vector with the elements at
/// `places` from there, summed.
pub(super) type Window<T> = unsafe fn(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    places: &[isize],
    step: isize,
    into: &mut [T],
);

/// Lines of a row that one thread has at least, if there are as many: results that stay in its cache.
const PIECE: usize = if cfg!(test) { 16 } else { 1 << 12 };

/// The function for elements of a type.
pub(super) fn window_of<S: Load<T>, T: Compute>() -> Window<T> {
    window::<S, T>
}

/// Whether there is code for such lines, and enough of them side by side.
pub(super) fn suit(lines: &Axis) -> bool {
    const FEW: usize = 4;
    let inner = lines.dims.last();
    inner.is_some_and(|dim| matches!(dim.strides, [1 | 2, 1]) && dim.size >= FEW)
}

/// Whether lines that lie together overlap, as windows of a signal do, and are so short that their products are better
/// made side by side: each would end with a sum over lanes.
pub(super) fn overlap(lines: &Axis, steps: usize) -> bool {
    const SHORT: usize = 256;
    (2..=SHORT).contains(&steps) && suit(lines)
}

/// # Safety
///
/// As for [`super::multiply`], with the vector's values in `x` and the places of a line's elements as steps.
pub(super) unsafe fn multiply<T: Compute>(
    context: &Context,
    window: Window<T>,
    x: &[T],
    matrix: *const u8,
    steps: &Steps,
    lines: &Axis,
    c: *mut T,
) {
    let Some((&Dim { size, strides: [step, _] }, outer)) = lines.dims.split_last() else { return };
    let outer = Axis { dims: outer.to_vec() };
    let (matrix, c) = (Address(matrix.cast_mut()), Address(c));
    let pieces = (size / PIECE).max(1);
    let grain = (SERIAL / (size / pieces * x.len()).max(1)).max(1);
    context.parallel_for(outer.len() * pieces, grain, |begin, end| {
        for number in begin..end {
            let (row, piece) = (number / pieces, number % pieces);
            let (first, last) = (piece * size / pieces, (piece + 1) * size / pieces);
            // SAFETY: the caller's promise; every piece has a place of its own in the result, whose values
            // are written, and nothing else done with them.
            unsafe {
                let into = c.get().offset(outer.offset(1, row)).add(first);
                let count = last - first;
                std::slice::from_raw_parts_mut(into.cast::<u8>(), count * size_of::<T>()).fill(0);
                let into = std::slice::from_raw_parts_mut(into, count);
                let offset = outer.offset(0, row) + first as isize * step;
                window(x, matrix.get(), offset, &steps.places, step, into);
            }
        }
    });
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Window`]; the elements are there.
    unsafe fn window[S: Load<T>, T: Compute] = window_body(
        x: &[T],
        matrix: *const u8,
        offset: isize,
        places: &[isize],
        step: isize,
        into: &mut [T]
    ) -> ()
}

/// # Safety
///
/// See [`window`].
#[inline(always)]
unsafe fn window_body<S: Load<T>, T: Compute>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    places: &[isize],
    step: isize,
    into: &mut [T],
) {
    let start = matrix.cast::<S>().wrapping_offset(offset);
    // SAFETY: the caller's promise.
    unsafe {
        match step {
            1 => row::<S, T, 1>(x, start, places, into),
            _ => row::<S, T, 2>(x, start, places, into),
        }
    }
}

/// # Safety
///
/// The elements are there, and results at least four.
#[inline(always)]
unsafe fn row<S: Load<T>, T: Compute, const STEP: usize>(
    x: &[T],
    start: *const S,
    places: &[isize],
    into: &mut [T],
) {
    // SAFETY: the caller's promise.
    unsafe {
        match into.len() {
            64.. => chunks::<S, T, STEP, 64>(x, start, places, into),
            16.. => chunks::<S, T, STEP, 16>(x, start, places, into),
            8.. => chunks::<S, T, STEP, 8>(x, start, places, into),
            _ => chunks::<S, T, STEP, 4>(x, start, places, into),
        }
    }
}

/// # Safety
///
/// The elements are there, and results at least `LANES`.
#[inline(always)]
unsafe fn chunks<S: Load<T>, T: Compute, const STEP: usize, const LANES: usize>(
    x: &[T],
    start: *const S,
    places: &[isize],
    into: &mut [T],
) {
    let mut done = 0;
    while done < into.len() {
        // The last chunk may compute again what the one before did.
        let begin = done.min(into.len() - LANES);
        let mut sums = [T::ZERO; LANES];
        for (&x, &place) in x.iter().zip(places) {
            let from = start.wrapping_offset(place).wrapping_add(begin * STEP);
            let mut values = [T::ZERO; LANES];
            for lane in 0..LANES {
                // SAFETY: the caller's promise.
                values[lane] = unsafe { from.add(lane * STEP).read() }.load();
            }
            for lane in 0..LANES {
                sums[lane] = x.multiply_add(values[lane], sums[lane]);
            }
        }
        into[begin..begin + LANES].copy_from_slice(&sums);
        done = begin + LANES;
    }
}
