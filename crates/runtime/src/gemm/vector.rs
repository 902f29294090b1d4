//! Products of a matrix and a vector: the matrix is read once, so that all that counts is to read it
//! in order, and on all threads.

use rxla_base::Result;

use super::axis::Axis;
use super::pack::{Steps, prefetch};
use super::sets::for_each_set;
use super::{Address, Compute, Operand, Product, scratch};
use crate::context::Context;
use crate::element::Load;

/// Columns whose sums are kept near while rows go by.
const STRIP: usize = 4096;
/// Rows that one thread adds up; how many there are decides alone where sums are cut.
const CHUNK: usize = 512;
/// Lines that are read side by side: one alone does not keep memory busy.
const LINES: usize = 4;
/// Bytes for which the matrix is asked for ahead.
const AHEAD: usize = 1024;

/// How the rows of a matrix with elements of some type are read.
pub(crate) struct Streams<T> {
    /// The product of the vector and as many elements from an offset on.
    dot: unsafe fn(x: &[T], matrix: *const u8, offset: isize) -> [T; 1],
    /// The same for several lines that are `step` apart.
    dots: unsafe fn(x: &[T], matrix: *const u8, offset: isize, step: isize) -> [T; LINES],
    /// Adds rows that are `step` apart from an offset on, each times an element of the vector.
    add_rows: unsafe fn(x: &[T], matrix: *const u8, offset: isize, step: isize, sums: &mut [T]),
}

impl<T> Clone for Streams<T> {
    fn clone(&self) -> Streams<T> {
        *self
    }
}

impl<T> Copy for Streams<T> {}

impl<T: Compute> Streams<T> {
    pub(crate) fn of<S: Load<T>>() -> Streams<T> {
        Streams { dot: dot::<S, T>, dots: dots::<S, T>, add_rows: add_rows::<S, T> }
    }
}

/// Does the product if one side is a vector and the other is one whose rows or columns lie together;
/// false if not.
///
/// # Safety
///
/// As for [`super::multiply`].
pub(super) unsafe fn multiply<T: Compute>(
    context: &Context,
    product: &Product<'_, T>,
) -> Result<bool> {
    let (m, n, k) = (product.m.len(), product.n.len(), product.k.len());
    if k == 0 || (m != 1 && n != 1) {
        return Ok(false);
    }
    // The matrix has `lines` along n (or m) and steps along k.
    let (vector, matrix, lines, side) = match m == 1 {
        true => (product.a, product.b, product.n, 0),
        false => (product.b, product.a, product.m, 1),
    };
    let Some(streams) = matrix.streams else { return Ok(false) };
    let (Some(k_step), Some(line_step)) = (product.k.stride(1 - side), lines.stride(0)) else {
        return Ok(false);
    };
    if k_step != 1 && line_step != 1 {
        return Ok(false);
    }
    let packed = scratch::<T>(k)?;
    let x = packed.as_ptr().cast::<T>();
    let mut steps = Steps::default();
    product.k.offsets(side, 0, k, &mut steps.places);
    steps.find_runs();
    // SAFETY: there is room for `k` values; the vector is the caller's promise.
    unsafe { (vector.pack)(vector.data, &[0], &steps, 1, x) };
    // SAFETY: written just now.
    let x = unsafe { std::slice::from_raw_parts(x.cast_const(), k) };
    let job = Job { matrix, streams, x, lines, c: Address(product.c), line_step, k_step };
    // SAFETY: the caller's promise.
    unsafe {
        // Where a line is one element, both orders are the same.
        if k_step == 1 && (line_step != 1 || k > 1) {
            job.dots(context);
        } else {
            job.sums(context)?;
        }
    }
    Ok(true)
}

struct Job<'a, T> {
    matrix: Operand<T>,
    streams: Streams<T>,
    x: &'a [T],
    lines: &'a Axis,
    c: Address<T>,
    line_step: isize,
    k_step: isize,
}

// SAFETY: as for `Product`.
unsafe impl<T> Sync for Job<'_, T> {}

impl<T: Compute> Job<'_, T> {
    /// What lies together are lines: each result is one product of vectors.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn dots(&self, context: &Context) {
        let grain = (super::SERIAL / self.x.len()).max(1);
        context.parallel_for(self.lines.len(), grain, |begin, end| {
            let mut line = begin;
            while line < end {
                let offset = line as isize * self.line_step;
                let data = self.matrix.data;
                // SAFETY: the caller's promise; every line has a place of its own.
                unsafe {
                    let several;
                    let one;
                    let sums: &[T] = if line + LINES <= end {
                        several = (self.streams.dots)(self.x, data, offset, self.line_step);
                        &several
                    } else {
                        one = (self.streams.dot)(self.x, data, offset);
                        &one
                    };
                    for &sum in sums {
                        *self.c.get().offset(self.lines.offset(1, line)) = sum;
                        line += 1;
                    }
                }
            }
        });
    }

    /// What lies together are rows of all lines: they are added up side by side, in chunks of rows
    /// that are added in the end.
    ///
    /// # Safety
    ///
    /// As for [`multiply`].
    unsafe fn sums(&self, context: &Context) -> Result<()> {
        let (count, k) = (self.lines.len(), self.x.len());
        let chunks = k.div_ceil(CHUNK);
        // Enough strips that few rows keep all threads busy, too, but no shorter than a page.
        let wanted = (4 * context.threads()).div_ceil(chunks);
        let strip = count.div_ceil(wanted).next_multiple_of(64).clamp(1024, STRIP);
        let strips = count.div_ceil(strip);
        let partial = scratch::<T>(chunks.saturating_mul(count))?;
        let sums = Address(partial.as_ptr().cast::<T>());
        let grain = (super::SERIAL / (strip * CHUNK.min(k))).max(1);
        context.parallel_for(chunks * strips, grain, |begin, end| {
            for piece in begin..end {
                let (chunk, strip_begin) = (piece / strips, piece % strips * strip);
                let x = &self.x[chunk * CHUNK..k.min((chunk + 1) * CHUNK)];
                let offset = (chunk * CHUNK) as isize * self.k_step + strip_begin as isize;
                // SAFETY: the piece's part of the sums, which nobody else has; the rows are the
                // caller's promise.
                unsafe {
                    let sums = sums.get().add(chunk * count + strip_begin);
                    let length = strip.min(count - strip_begin);
                    std::slice::from_raw_parts_mut(sums.cast::<u8>(), length * size_of::<T>())
                        .fill(0);
                    let sums = std::slice::from_raw_parts_mut(sums, length);
                    (self.streams.add_rows)(x, self.matrix.data, offset, self.k_step, sums);
                }
            }
        });
        let dense = self.lines.stride(1) == Some(1);
        context.parallel_for(count, 1 + super::SERIAL / chunks, |begin, end| {
            // SAFETY: written above; every line has a place of its own in the result.
            unsafe {
                let row = |chunk: usize| sums.get().add(chunk * count);
                let first = std::slice::from_raw_parts_mut(row(0).add(begin), end - begin);
                for chunk in 1..chunks {
                    let other = std::slice::from_raw_parts(row(chunk).add(begin), end - begin);
                    first.iter_mut().zip(other).for_each(|(sum, &more)| *sum = sum.add(more));
                }
                if dense {
                    let start = self.c.get().offset(self.lines.offset(1, begin));
                    start.copy_from_nonoverlapping(first.as_ptr(), end - begin);
                } else {
                    for (place, &sum) in first.iter().enumerate() {
                        *self.c.get().offset(self.lines.offset(1, begin + place)) = sum;
                    }
                }
            }
        });
        Ok(())
    }
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Streams::dot`]; the elements are there.
    unsafe fn dot[S: Load<T>, T: Compute] =
        dot_body(x: &[T], matrix: *const u8, offset: isize) -> [T; 1]
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Streams::dots`]; the elements are there.
    unsafe fn dots[S: Load<T>, T: Compute] =
        dots_body(x: &[T], matrix: *const u8, offset: isize, step: isize) -> [T; LINES]
}

for_each_set! {
    /// # Safety
    ///
    /// See [`Streams::add_rows`]; the elements are there.
    unsafe fn add_rows[S: Load<T>, T: Compute] =
        add_rows_body(x: &[T], matrix: *const u8, offset: isize, step: isize, sums: &mut [T]) -> ()
}

/// # Safety
///
/// See [`dot`].
#[inline(always)]
unsafe fn dot_body<S: Load<T>, T: Compute>(x: &[T], matrix: *const u8, offset: isize) -> [T; 1] {
    // SAFETY: the caller's promise.
    unsafe { lines::<S, T, 1>(x, matrix, offset, 0) }
}

/// # Safety
///
/// See [`dots`].
#[inline(always)]
unsafe fn dots_body<S: Load<T>, T: Compute>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    step: isize,
) -> [T; LINES] {
    // SAFETY: the caller's promise.
    unsafe { lines::<S, T, LINES>(x, matrix, offset, step) }
}

/// Products of the vector with lines that are `step` apart. However many they are, the sum of each is
/// taken in the same order.
///
/// # Safety
///
/// The lines are there.
#[inline(always)]
unsafe fn lines<S: Load<T>, T: Compute, const COUNT: usize>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    step: isize,
) -> [T; COUNT] {
    const LANES: usize = 64;
    let start = matrix.cast::<S>().wrapping_offset(offset);
    let lines: [&[S]; COUNT] = std::array::from_fn(|line| {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(start.wrapping_offset(line as isize * step), x.len()) }
    });
    let mut sums = [[T::ZERO; LANES]; COUNT];
    let (heads, tail) = x.as_chunks::<LANES>();
    let others = lines.map(|line| line.as_chunks::<LANES>());
    for (place, x) in heads.iter().enumerate() {
        for line in 0..COUNT {
            // SAFETY: lines are as long as the vector.
            let y = unsafe { others[line].0.get_unchecked(place) };
            ask_ahead(y);
            for lane in 0..LANES {
                sums[line][lane] = x[lane].multiply_add(y[lane].load(), sums[line][lane]);
            }
        }
    }
    for line in 0..COUNT {
        for (lane, (&x, &y)) in tail.iter().zip(others[line].1).enumerate() {
            sums[line][lane] = x.multiply_add(y.load(), sums[line][lane]);
        }
    }
    sums.map(|mut sums| {
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] = sums[lane].add(sums[lane + width]);
            }
            width /= 2;
        }
        sums[0]
    })
}

/// # Safety
///
/// See [`add_rows`].
#[inline(always)]
unsafe fn add_rows_body<S: Load<T>, T: Compute>(
    x: &[T],
    matrix: *const u8,
    offset: isize,
    step: isize,
    sums: &mut [T],
) {
    const ROWS: usize = 4;
    const LANES: usize = 64;
    let start = matrix.cast::<S>().wrapping_offset(offset);
    let count = sums.len();
    let row = |p: usize| {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(start.wrapping_offset(p as isize * step), count) }
    };
    let (blocks, rest) = x.as_chunks::<ROWS>();
    let (heads, tail) = sums.as_chunks_mut::<LANES>();
    for (block, x) in blocks.iter().enumerate() {
        let rows: [&[S]; ROWS] = std::array::from_fn(|r| row(block * ROWS + r));
        let chunks = rows.map(|row| row.as_chunks::<LANES>());
        for (j, sums) in heads.iter_mut().enumerate() {
            let parts: [&[S; LANES]; ROWS] = std::array::from_fn(|r| {
                // SAFETY: rows are as long as the sums.
                unsafe { chunks[r].0.get_unchecked(j) }
            });
            for part in parts {
                ask_ahead(part);
            }
            for lane in 0..LANES {
                let mut sum = sums[lane];
                for r in 0..ROWS {
                    sum = parts[r][lane].load().multiply_add(x[r], sum);
                }
                sums[lane] = sum;
            }
        }
        for (lane, sum) in tail.iter_mut().enumerate() {
            for r in 0..ROWS {
                *sum = chunks[r].1[lane].load().multiply_add(x[r], *sum);
            }
        }
    }
    for (r, &x) in rest.iter().enumerate() {
        for (sum, value) in sums.iter_mut().zip(row(blocks.len() * ROWS + r)) {
            *sum = value.load().multiply_add(x, *sum);
        }
    }
}

/// Asks for what comes [`AHEAD`] of these elements.
#[inline(always)]
fn ask_ahead<S, const COUNT: usize>(elements: &[S; COUNT]) {
    for line in (0..size_of_val(elements)).step_by(64) {
        prefetch(elements.as_ptr().wrapping_byte_add(AHEAD + line));
    }
}
