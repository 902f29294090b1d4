//! Transforms of dimensions other than the last, whose lines do not lie in order.

use num_complex::Complex;
use rxla_fourier::{FftDirection, Steps};

use super::lanes::{self, Line, Lines};
use super::{Shape, grain};
use crate::context::Context;
use crate::gemm::Address;

/// Transforms all dimensions but the last, from one place to another, which may be the same, and multiplies the
/// result with `scale` where there is one.
///
/// # Safety
///
/// Both hold what the shape says, and nobody else uses the second.
pub(super) unsafe fn transform<T: Line>(
    context: &Context,
    from: Address<Complex<T>>,
    into: Address<Complex<T>>,
    Shape { batch, outer, width }: Shape<'_>,
    direction: FftDirection,
    scale: Option<T>,
) {
    // Columns that lie side by side are gathered together, so that memory is read in order: two cache lines
    // at a time. Gathered lines are a cache line longer than they need be, since otherwise those whose
    // length is a power of two would all fall into the same few places of the cache.
    let together = 128 / size_of::<Complex<T>>();
    let gap = 64 / size_of::<Complex<T>>();
    for (axis, &length) in outer.iter().enumerate() {
        let from = if axis == 0 { from } else { into };
        let scale = scale.filter(|_| axis + 1 == outer.len());
        let inner = outer[axis + 1..].iter().product::<usize>() * width;
        let blocks = batch * outer[..axis].iter().product::<usize>();
        if let Some(steps) = lanes::steps::<T>(inner, length) {
            // SAFETY: the caller's promise.
            unsafe { side_by_side(context, from, into, [blocks, inner], &steps, direction, scale) };
            continue;
        }
        let plan = T::plan(length, direction);
        let groups = inner.div_ceil(together);
        let step = length + gap;
        context.parallel_for(blocks * groups, 1 + grain(length) / together, |begin, end| {
            let mut lines = vec![Complex::default(); step * together];
            let mut room = vec![Complex::default(); plan.get_inplace_scratch_len()];
            for task in begin..end {
                let (block, group) = (task / groups, task % groups);
                let first = group * together;
                let count = together.min(inner - first);
                let start = block * length * inner + first;
                for i in 0..length {
                    // SAFETY: inside the block.
                    let row = unsafe {
                        let row = from.get().add(start + i * inner).cast_const();
                        std::slice::from_raw_parts(row, count)
                    };
                    for (column, &value) in row.iter().enumerate() {
                        lines[column * step + i] = value;
                    }
                }
                for column in 0..count {
                    plan.process_with_scratch(&mut lines[column * step..][..length], &mut room);
                }
                for i in 0..length {
                    // SAFETY: as above; each column is in one task.
                    let row = unsafe {
                        let row = into.get().add(start + i * inner);
                        std::slice::from_raw_parts_mut(row, count)
                    };
                    for (column, value) in row.iter_mut().enumerate() {
                        *value = lines[column * step + i];
                    }
                    if let Some(scale) = scale {
                        row.iter_mut().for_each(|value| *value = *value * scale);
                    }
                }
            }
        });
    }
}

/// Transforms columns of blocks, as many as are in one of them, in the lanes of vectors.
///
/// # Safety
///
/// Both places hold so many blocks, and nobody else uses the second.
unsafe fn side_by_side<T: Line>(
    context: &Context,
    from: Address<Complex<T>>,
    into: Address<Complex<T>>,
    [blocks, inner]: [usize; 2],
    steps: &Steps<T>,
    direction: FftDirection,
    scale: Option<T>,
) {
    let (length, kernels) = (steps.length, T::side_by_side());
    let lanes = kernels.lanes;
    let groups = inner.div_ceil(lanes);
    context.parallel_for(blocks * groups, 1 + grain(length) / lanes, |begin, end| {
        let mut side = Lines::new(length);
        let mut pairs = [T::default(); 2 * 16];
        for task in begin..end {
            let (block, first) = (task / groups, task % groups * lanes);
            let count = lanes.min(inner - first);
            let row = |place: Address<Complex<T>>, i: usize| {
                place.get().wrapping_add((block * length + i) * inner + first).cast::<T>()
            };
            let data = side.data();
            for (i, vectors) in data.chunks_exact_mut(2 * lanes).take(length).enumerate() {
                // SAFETY: the caller's promise: so many numbers are in the row.
                unsafe {
                    let mut numbers = row(from, i).cast_const();
                    if count < lanes {
                        std::ptr::copy_nonoverlapping(numbers, pairs.as_mut_ptr(), 2 * count);
                        numbers = pairs.as_ptr();
                    }
                    (kernels.split)(numbers, vectors.as_mut_ptr());
                }
            }
            side.transform(steps, direction, scale);
            let data = side.data();
            for (i, &place) in steps.places.iter().enumerate() {
                let vectors = &data[place as usize * 2 * lanes..][..2 * lanes];
                // SAFETY: as above; each column is in one task.
                unsafe {
                    if count == lanes {
                        (kernels.join)(vectors.as_ptr(), row(into, i));
                        continue;
                    }
                    (kernels.join)(vectors.as_ptr(), pairs.as_mut_ptr());
                    std::ptr::copy_nonoverlapping(pairs.as_ptr(), row(into, i), 2 * count);
                }
            }
        }
    });
}
