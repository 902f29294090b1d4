//! Products of a few vectors with a matrix whose rows lie together, as of a few inputs with
//! weights: rows are read in order, some side by side, and added to the sums of all vectors, which
//! stay in the first cache.
//!
//! Tiles of the result, whose columns are few, would read a little of each row and then of the next
//! one, which may be pages away.

use std::ops::Range;

use super::super::Compute;
use super::values::Vectors;
use crate::element::Load;

/// Adds `length` elements of rows of a matrix that are `step` apart, of which the first one is at
/// `offset`, to each vector's sums, times the vector's values at these steps. Sums have room up to
/// the next multiple of [`LANES`].
pub(super) type AddRows<T> = unsafe fn(
    x: &Vectors<'_, T>,
    steps: Range<usize>,
    matrix: *const u8,
    offset: isize,
    step: isize,
    length: usize,
    sums: &mut [T],
);

/// Sums that registers hold at once, at most.
pub(super) const LANES: usize = 32;

/// Rows that are read side by side, as many as registers hold.
pub(super) const ROWS: usize = 8;
/// Bytes of rows up to which those that are read next are asked for, since the processor asks ahead in pages.
const SHORT: usize = 4096;

/// Whether reading rows whole is the faster way, for elements of so many bytes: where the
/// beginnings of rows, `step` elements apart, share places in the caches, or where there is more
/// than the caches keep.
pub(super) fn pays(width: usize, columns: usize, rows: usize, step: isize) -> bool {
    const CROWDED: usize = if cfg!(test) { 4 } else { 4096 };
    /// Where rows are short.
    const SOME_BYTES: usize = 1 << 20;
    const MOST_BYTES: usize = 16 << 20;
    let few = if columns <= SHORT / width { SOME_BYTES } else { MOST_BYTES };
    (step.unsigned_abs() * width).is_multiple_of(CROWDED)
        || columns.saturating_mul(rows) > few / width
}

/// The function for elements of a type, where the processor has registers for it.
pub(super) fn add_rows_of<S: Load<T>, T: Compute>() -> Option<AddRows<T>> {
    #[cfg(target_arch = "x86_64")]
    {
        use super::super::sets::{Set, best};

        /// # Safety
        ///
        /// See [`AddRows`]; the rows are there, and the processor has the instructions.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
        unsafe fn avx512<S: Load<T>, T: Compute>(
            x: &Vectors<'_, T>,
            steps: Range<usize>,
            matrix: *const u8,
            offset: isize,
            step: isize,
            length: usize,
            sums: &mut [T],
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                match size_of::<T>() {
                    8 => add_rows::<S, T, { LANES / 2 }>(
                        x, steps, matrix, offset, step, length, sums,
                    ),
                    _ => add_rows::<S, T, LANES>(x, steps, matrix, offset, step, length, sums),
                }
            }
        }
        if best() == Set::Avx512 {
            return Some(avx512::<S, T>);
        }
    }
    None
}

/// # Safety
///
/// See [`AddRows`]; the rows are there.
#[inline(always)]
unsafe fn add_rows<S: Load<T>, T: Compute, const COLUMNS: usize>(
    x: &Vectors<'_, T>,
    steps: Range<usize>,
    matrix: *const u8,
    offset: isize,
    step: isize,
    length: usize,
    sums: &mut [T],
) {
    let mut row = matrix.cast::<S>().wrapping_offset(offset);
    let mut p = steps.start;
    while p < steps.end {
        // SAFETY: the caller's promise.
        unsafe {
            if p + ROWS <= steps.end {
                some_rows::<S, T, COLUMNS, ROWS>(x, p, row, step, length, sums);
                p += ROWS;
                row = row.wrapping_offset(ROWS as isize * step);
            } else {
                some_rows::<S, T, COLUMNS, 1>(x, p, row, step, length, sums);
                p += 1;
                row = row.wrapping_offset(step);
            }
        }
    }
}

/// # Safety
///
/// As for [`add_rows`], for so many rows from one on.
#[inline(always)]
unsafe fn some_rows<S: Load<T>, T: Compute, const COLUMNS: usize, const ROWS: usize>(
    x: &Vectors<'_, T>,
    p: usize,
    row: *const S,
    step: isize,
    length: usize,
    sums: &mut [T],
) {
    let room = sums.len() / x.count;
    let heads = length / COLUMNS * COLUMNS;
    let short = length <= SHORT / size_of::<S>();
    // Which parts are asked for: the first one, from one to the next, and from those of one place to those of the next.
    let (mut wanted, between, forward) = match super::ahead::are_short(length, step, size_of::<S>())
    {
        true => (row.wrapping_add(ROWS * length), COLUMNS as isize, ROWS * COLUMNS),
        false => (row.wrapping_offset(ROWS as isize * step), step, COLUMNS),
    };
    for place in (0..heads).step_by(COLUMNS) {
        if short {
            for r in 0..ROWS {
                let part = wanted.wrapping_offset(r as isize * between);
                super::ahead::ask_for(part, COLUMNS * size_of::<S>());
            }
            wanted = wanted.wrapping_add(forward);
        }
        let mut parts = [[T::ZERO; COLUMNS]; ROWS];
        for r in 0..ROWS {
            let part = row.wrapping_offset(r as isize * step).wrapping_add(place);
            // SAFETY: the caller's promise.
            parts[r] = super::load(unsafe { part.cast::<[S; COLUMNS]>().read_unaligned() });
        }
        // SAFETY: the caller's promise.
        unsafe { add_parts(x, p, &parts, &mut sums[place..], room) };
    }
    if heads < length {
        let mut parts = [[T::ZERO; COLUMNS]; ROWS];
        for r in 0..ROWS {
            let part = row.wrapping_offset(r as isize * step);
            for place in heads..length {
                // SAFETY: the caller's promise.
                parts[r][place - heads] = unsafe { part.add(place).read() }.load();
            }
        }
        // SAFETY: the caller's promise.
        unsafe { add_parts(x, p, &parts, &mut sums[heads..], room) };
    }
}

/// # Safety
///
/// There are values of each vector from step `p` on, and sums of each, `room` apart.
#[inline(always)]
unsafe fn add_parts<T: Compute, const COLUMNS: usize, const ROWS: usize>(
    x: &Vectors<'_, T>,
    p: usize,
    parts: &[[T; COLUMNS]; ROWS],
    sums: &mut [T],
    room: usize,
) {
    for vector in 0..x.count {
        // SAFETY: the caller's promise.
        unsafe {
            let factors: [T; ROWS] = *x.values.as_ptr().add(vector * x.depth + p).cast();
            let into = sums.as_mut_ptr().add(vector * room).cast::<[T; COLUMNS]>();
            let mut sum = *into;
            for r in 0..ROWS {
                for lane in 0..COLUMNS {
                    sum[lane] = parts[r][lane].multiply_add(factors[r], sum[lane]);
                }
            }
            *into = sum;
        }
    }
}
