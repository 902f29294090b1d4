//! Vectors as values one after the other: where they are, or packed.

use rxla_base::Result;

use super::BLOCK;
use crate::allocator::Block;
use crate::gemm::axis::Axis;
use crate::gemm::pack::Steps;
use crate::gemm::{Compute, Operand, room};

/// Steps whose lines stay in the first cache. Whole values divide them.
const NEAR_STEPS: usize = if cfg!(test) { 16 } else { 256 };

/// Vectors, one after the other.
pub(super) struct Vectors<'a, T> {
    pub values: &'a [T],
    /// Values of each.
    pub depth: usize,
    pub count: usize,
}

/// The vectors that begin at `rows`, along k, which whole values divide. Several are filled up with zeros to a multiple
/// of [`BLOCK`]. What is not read where it is lies in `memory`.
///
/// # Safety
///
/// All elements are there as long as the values are used.
pub(super) unsafe fn of<'a, T: Compute>(
    vector: &Operand<T>,
    rows: &Axis,
    k: &Axis,
    side: usize,
    memory: &'a mut Option<Block>,
) -> Result<Vectors<'a, T>> {
    let (count, depth) = (rows.len(), k.len() / T::STEPS);
    let together = T::STEPS == 1 && k.stride(side) == Some(1);
    if count == 1 && vector.direct && together {
        let start = vector.data.cast::<T>().wrapping_offset(rows.offset(0, 0));
        // SAFETY: the caller's promise.
        let values = unsafe { std::slice::from_raw_parts(start, depth) };
        return Ok(Vectors { values, depth, count });
    }
    let places = if count == 1 { 1 } else { count.next_multiple_of(BLOCK) };
    let size = places.saturating_mul(depth);
    let values = room::<T>(memory, size)?;
    if together {
        for row in 0..count {
            let (start, into) = (rows.offset(0, row), values.wrapping_add(row * depth));
            // SAFETY: the caller's promise; there is room for the values of each.
            unsafe { convert(vector, start, depth, into) };
        }
    } else {
        let single = T::STEPS == 1 && vector.direct;
        let apart = k.stride(side).filter(|_| single);
        let mut steps = Steps::default();
        // What lies beside a value is read again by the next vector, while it is near.
        for first in (0..k.len()).step_by(NEAR_STEPS) {
            let some = NEAR_STEPS.min(k.len() - first);
            if apart.is_none() {
                k.offsets(side, first, some, &mut steps.places);
                steps.find_runs();
            }
            for row in 0..count {
                let start = rows.offset(0, row);
                let into = values.wrapping_add(row * depth + first / T::STEPS);
                // SAFETY: the caller's promise; there is room for the values of each.
                unsafe {
                    match apart {
                        Some(step) => {
                            let from = vector.data.cast::<T>().wrapping_offset(start);
                            copy(from.wrapping_offset(first as isize * step), step, some, into);
                        }
                        None => (vector.pack)(vector.data, &[start], &steps, 1, 0, into),
                    }
                }
            }
        }
    }
    // SAFETY: there is room for all, and they have been written.
    let values = unsafe {
        std::slice::from_raw_parts_mut(values.add(count * depth), size - count * depth)
            .fill(T::ZERO);
        std::slice::from_raw_parts(values.cast_const(), size)
    };
    Ok(Vectors { values, depth, count })
}

/// Packs elements that lie together, as rows of one step: so many are converted at once.
///
/// # Safety
///
/// The elements are there from `start` on, and there is room for as many values.
unsafe fn convert<T: Compute>(vector: &Operand<T>, start: isize, depth: usize, into: *mut T) {
    const TOGETHER: usize = 32;
    let mut steps = Steps::default();
    steps.places.push(0);
    steps.find_runs();
    for first in (0..depth).step_by(TOGETHER) {
        let count = TOGETHER.min(depth - first);
        let places: [isize; TOGETHER] = std::array::from_fn(|i| start + (first + i) as isize);
        let into = into.wrapping_add(first);
        // SAFETY: the caller's promise.
        unsafe { (vector.pack)(vector.data, &places[..count], &steps, count, 0, into) };
    }
}

/// Copies values that are `step` apart.
///
/// # Safety
///
/// So many values are there, and there is room for them.
unsafe fn copy<T: Copy>(from: *const T, step: isize, count: usize, into: *mut T) {
    for at in 0..count {
        // SAFETY: the caller's promise.
        unsafe { *into.add(at) = *from.wrapping_offset(at as isize * step) };
    }
}
