//! Products of a matrix and a vector: the matrix is read once, so that all that counts is to read it
//! in order.

use rxla_base::Result;

use super::axis::Axis;
use super::{Address, Compute, Operand, Product, Widen, scratch};
use crate::context::Context;

/// Columns whose sums are kept near while rows go by.
const STRIP: usize = 512;

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
    let Some(widen) = matrix.widen else { return Ok(false) };
    let kind = match (product.k.stride(1 - side), lines.stride(0)) {
        (Some(1), Some(_)) => Kind::Dots,
        (Some(_), Some(1)) => Kind::Sums,
        _ => return Ok(false),
    };
    let packed = scratch::<T>(k)?;
    let x = packed.as_ptr().cast::<T>();
    let mut steps = Vec::new();
    product.k.offsets(side, 0, k, &mut steps);
    // SAFETY: there is room for `k` values; the vector is the caller's promise.
    unsafe { (vector.pack)(vector.data, &[0], &steps, 1, x) };
    // SAFETY: written just now.
    let x = unsafe { std::slice::from_raw_parts(x.cast_const(), k) };
    let line_step = lines.stride(0).unwrap_or(0);
    let k_step = product.k.stride(1 - side).unwrap_or(0);
    let job = Job { matrix, widen, x, lines, c: Address(product.c), line_step, k_step };
    let count = lines.len();
    let grain = (super::SERIAL / k).max(1);
    match kind {
        Kind::Dots => context.parallel_for(count, grain, |begin, end| {
            let mut converted = Vec::new();
            for line in begin..end {
                // SAFETY: the caller's promise; every line has a place of its own.
                unsafe { job.dot(line, &mut converted) };
            }
        }),
        Kind::Sums => {
            let strips = count.div_ceil(STRIP);
            context.parallel_for(strips, grain.div_ceil(STRIP), |begin, end| {
                for strip in begin..end {
                    // SAFETY: the caller's promise; every strip has places of its own.
                    unsafe { job.sums(strip * STRIP, count.min((strip + 1) * STRIP)) };
                }
            });
        }
    }
    Ok(true)
}

/// What lies together in the matrix.
enum Kind {
    /// Each line: its result is one product of vectors.
    Dots,
    /// Each step of k: lines are summed side by side.
    Sums,
}

struct Job<'a, T> {
    matrix: Operand<T>,
    widen: Widen<T>,
    x: &'a [T],
    lines: &'a Axis,
    c: Address<T>,
    line_step: isize,
    k_step: isize,
}

// SAFETY: as for `Product`.
unsafe impl<T> Sync for Job<'_, T> {}

impl<T: Compute> Job<'_, T> {
    /// # Safety
    ///
    /// The line is in the matrix.
    unsafe fn dot(&self, line: usize, converted: &mut Vec<T>) {
        let offset = line as isize * self.line_step;
        let count = self.x.len();
        let y = if self.matrix.direct {
            self.matrix.data.cast::<T>().wrapping_offset(offset)
        } else {
            converted.resize(count, T::ZERO);
            // SAFETY: the line lies together, and there is room for it.
            unsafe { (self.widen)(self.matrix.data, offset, count, converted.as_mut_ptr()) };
            converted.as_ptr()
        };
        // SAFETY: the line lies together, or has been converted just now; equally long.
        let sum = unsafe { dot(self.x, std::slice::from_raw_parts(y, count)) };
        // SAFETY: the caller's promise.
        unsafe { *self.c.get().offset(self.lines.offset(1, line)) = sum };
    }

    /// # Safety
    ///
    /// The lines are in the matrix.
    unsafe fn sums(&self, begin: usize, end: usize) {
        let mut sums = [T::ZERO; STRIP];
        let sums = &mut sums[..end - begin];
        if self.matrix.direct {
            let start = self.matrix.data.cast::<T>().wrapping_add(begin);
            // SAFETY: the caller's promise.
            unsafe { add_rows(self.x, start, self.k_step, sums) };
        } else {
            // Some rows at a time are converted, and then added like others.
            const ROWS: usize = 8;
            let mut converted = [T::ZERO; ROWS * STRIP];
            for (block, x) in self.x.chunks(ROWS).enumerate() {
                for row in 0..x.len() {
                    let step = (block * ROWS + row) as isize * self.k_step;
                    let into = &mut converted[row * STRIP..];
                    // SAFETY: the caller's promise, and there is room for a strip.
                    unsafe {
                        let offset = begin as isize + step;
                        (self.widen)(self.matrix.data, offset, sums.len(), into.as_mut_ptr());
                    }
                }
                // SAFETY: converted just now.
                unsafe { add_rows(x, converted.as_ptr(), STRIP as isize, sums) };
            }
        }
        for (place, &sum) in sums.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *self.c.get().offset(self.lines.offset(1, begin + place)) = sum };
        }
    }
}

super::for_each_set! {
    /// # Safety
    ///
    /// None is asked for; slices are of equal length.
    unsafe fn dot = dot_body(x: &[T], y: &[T]) -> T
}

super::for_each_set! {
    /// # Safety
    ///
    /// From `start` on there are as many rows as `x` is long, `step` apart, each as long as `sums`.
    unsafe fn add_rows = add_rows_body(x: &[T], start: *const T, step: isize, sums: &mut [T]) -> ()
}

/// # Safety
///
/// None is asked for.
#[inline(always)]
unsafe fn dot_body<T: Compute>(x: &[T], y: &[T]) -> T {
    const LANES: usize = 64;
    let mut sums = [T::ZERO; LANES];
    let (heads, tail) = x.as_chunks::<LANES>();
    let (other_heads, other_tail) = y.as_chunks::<LANES>();
    for (x, y) in heads.iter().zip(other_heads) {
        for lane in 0..LANES {
            sums[lane] = x[lane].multiply_add(y[lane], sums[lane]);
        }
    }
    for (lane, (&x, &y)) in tail.iter().zip(other_tail).enumerate() {
        sums[lane] = x.multiply_add(y, sums[lane]);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] = sums[lane].add(sums[lane + width]);
        }
        width /= 2;
    }
    sums[0]
}

/// # Safety
///
/// See `add_rows`.
#[inline(always)]
unsafe fn add_rows_body<T: Compute>(x: &[T], start: *const T, step: isize, sums: &mut [T]) {
    const ROWS: usize = 4;
    let count = sums.len();
    let row = |p: usize| {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(start.offset(p as isize * step), count) }
    };
    let (blocks, rest) = x.as_chunks::<ROWS>();
    for (block, x) in blocks.iter().enumerate() {
        let rows: [&[T]; ROWS] = std::array::from_fn(|r| row(block * ROWS + r));
        for j in 0..count {
            let mut sum = sums[j];
            for r in 0..ROWS {
                sum = rows[r][j].multiply_add(x[r], sum);
            }
            sums[j] = sum;
        }
    }
    for (r, &x) in rest.iter().enumerate() {
        let row = row(blocks.len() * ROWS + r);
        for j in 0..count {
            sums[j] = row[j].multiply_add(x, sums[j]);
        }
    }
}
