//! Many small products at once, side by side in the lanes of vectors: for batches whose index is the
//! innermost in all operands, as in convolutions of each channel on its own.

use super::axis::Axis;
use super::{Address, Compute};
use crate::context::Context;
use crate::dot::{Dim, Dot};

/// Products that are summed at once.
const LANES: usize = 64;
/// Below so many products there is nothing to gain.
const FEW: usize = 8;

/// Does the products of `dot` if its batch is of this kind, and the matrices are so small or thin that
/// doing each on its own would waste most of the work; false if not.
///
/// # Safety
///
/// As for [`super::multiply`], for elements that are `T`s and no complex numbers.
pub(crate) unsafe fn multiply<T: Compute>(
    context: &Context,
    dot: &Dot,
    left: *const T,
    right: *const T,
    result: *mut T,
) -> bool {
    let count = |dims: &[Dim]| dims.iter().map(|dim| dim.size).product::<usize>();
    let (rows, columns) = (count(&dot.rows), count(&dot.columns));
    let Some(lane) = dot
        .batch
        .iter()
        .position(|dim| dim.size >= FEW && dim.strides.iter().all(|&stride| stride == 1))
    else {
        return false;
    };
    if dot.result.is_complex() || rows.min(columns) > 2 {
        return false;
    }
    let lanes = dot.batch[lane].size;
    // The other batches are rows that move both operands: one index space for all three.
    let outer: Vec<_> = dot.batch.iter().enumerate().filter(|&(place, _)| place != lane).collect();
    let batch = |operand: usize| {
        outer.iter().map(move |(_, dim)| Dim {
            size: dim.size,
            strides: [dim.strides[operand], dim.strides[2]],
        })
    };
    // What moves one operand leaves the other where it is.
    let still = |dims: &[Dim]| -> Vec<Dim> {
        dims.iter().map(|dim| Dim { size: dim.size, strides: [0, dim.strides[1]] }).collect()
    };
    let left_dims = batch(0).chain(dot.rows.iter().copied()).chain(still(&dot.columns));
    let left_places = Axis { dims: left_dims.collect() };
    let right_dims = batch(1).chain(still(&dot.rows)).chain(dot.columns.iter().copied());
    let right_places = Axis { dims: right_dims.collect() };
    let summed = Axis::new(dot.summed.iter().copied());
    let (mut left_steps, mut right_steps) = (Vec::new(), Vec::new());
    summed.offsets(0, 0, summed.len(), &mut left_steps);
    summed.offsets(1, 0, summed.len(), &mut right_steps);
    let blocks = lanes.div_ceil(LANES);
    let total = left_places.len() * blocks;
    let (left, right, result) =
        (Address(left.cast_mut()), Address(right.cast_mut()), Address(result));
    let grain = 1 + (1 << 15) / (left_steps.len().max(1) * LANES);
    context.parallel_for(total, grain, |begin, end| {
        let mut place = begin;
        let mut places: [Vec<isize>; 3] = Default::default();
        while place < end {
            // All places of one block of lanes that this piece has, one after the other.
            let (block, first) = (place / left_places.len(), place % left_places.len());
            let count = (end - place).min(left_places.len() - first).min(256);
            left_places.offsets(0, first, count, &mut places[0]);
            right_places.offsets(0, first, count, &mut places[1]);
            left_places.offsets(1, first, count, &mut places[2]);
            let lane = block * LANES;
            let width = LANES.min(lanes - lane);
            for i in 0..count {
                let x = left.get().wrapping_offset(places[0][i]).wrapping_add(lane).cast_const();
                let y = right.get().wrapping_offset(places[1][i]).wrapping_add(lane).cast_const();
                // SAFETY: the caller's promise; every place of the result is written once.
                unsafe {
                    let into = std::slice::from_raw_parts_mut(
                        result.get().offset(places[2][i]).add(lane),
                        width,
                    );
                    if width == LANES {
                        sum_whole(x, y, &left_steps, &right_steps, into);
                    } else {
                        sum_part(x, y, &left_steps, &right_steps, into);
                    }
                }
            }
            place += count;
        }
    });
    true
}

super::sets::for_each_set! {
    /// # Safety
    ///
    /// From `x` and `y` moved by any step on there are [`LANES`] values; `into` is so long.
    unsafe fn sum_whole[T: Compute] =
        sum_whole_body(x: *const T, y: *const T, left: &[isize], right: &[isize], into: &mut [T]) -> ()
}

super::sets::for_each_set! {
    /// # Safety
    ///
    /// From `x` and `y` moved by any step on there are as many values as `into` is long.
    unsafe fn sum_part[T: Compute] =
        sum_part_body(x: *const T, y: *const T, left: &[isize], right: &[isize], into: &mut [T]) -> ()
}

/// # Safety
///
/// See `sum_whole`.
#[inline(always)]
unsafe fn sum_whole_body<T: Compute>(
    x: *const T,
    y: *const T,
    left: &[isize],
    right: &[isize],
    into: &mut [T],
) {
    let mut sums = [T::ZERO; LANES];
    for (&i, &j) in left.iter().zip(right) {
        // Copies become registers; places behind references do not.
        // SAFETY: the caller's promise.
        let (x, y) =
            unsafe { (*x.offset(i).cast::<[T; LANES]>(), *y.offset(j).cast::<[T; LANES]>()) };
        for lane in 0..LANES {
            sums[lane] = x[lane].multiply_add(y[lane], sums[lane]);
        }
    }
    into.copy_from_slice(&sums);
}

/// # Safety
///
/// See `sum_part`.
#[inline(always)]
unsafe fn sum_part_body<T: Compute>(
    x: *const T,
    y: *const T,
    left: &[isize],
    right: &[isize],
    into: &mut [T],
) {
    into.fill(T::ZERO);
    for (&i, &j) in left.iter().zip(right) {
        for (lane, sum) in into.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            let (x, y) = unsafe { (*x.offset(i).add(lane), *y.offset(j).add(lane)) };
            *sum = x.multiply_add(y, *sum);
        }
    }
}
