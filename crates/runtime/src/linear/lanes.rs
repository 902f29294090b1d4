//! Many small matrices side by side in the lanes of vectors, each step done for all of them at once.

use rxla_base::Result;

use super::Diagonal;
use super::cholesky::{Batch, Other};
use super::number::Number;
use super::triangular::System;
use crate::context::Context;
use crate::gemm::sets::for_each_set;

/// Rows of the largest matrices that are done so.
pub(super) const SMALL: usize = 32;

/// Whether a batch of matrices is better done side by side.
pub(super) fn suits(batch: usize, size: usize) -> bool {
    size <= SMALL && batch >= 8
}

/// Factors the lower triangles of a batch.
///
/// # Safety
///
/// As for [`super::cholesky::factor_all`].
pub(super) unsafe fn factor_all<T: Number>(context: &Context, batch: &Batch<T>) {
    let size = batch.size;
    groups::<T>(context, batch.count, size * size * size / 3, |first, count| {
        // SAFETY: the caller's promise; each matrix is in one group.
        unsafe {
            match lanes::<T>() {
                16 => factor_16(batch, first, count),
                8 => factor_8(batch, first, count),
                _ => factor_4(batch, first, count),
            }
        }
    });
}

/// Solves a batch of systems in place.
///
/// # Safety
///
/// As for [`super::triangular::solve_all`].
pub(super) unsafe fn solve_all<T: Number>(
    context: &Context,
    batch: usize,
    first: &System<T>,
) -> Result<()> {
    groups::<T>(context, batch, first.size * first.size * first.lines, |start, count| {
        let system = first.of_batch(start);
        // SAFETY: the caller's promise; each system is in one group.
        unsafe {
            match lanes::<T>() {
                16 => solve_16(&system, count),
                8 => solve_8(&system, count),
                _ => solve_4(&system, count),
            }
        }
    });
    Ok(())
}

/// Numbers in the widest vector.
fn lanes<T>() -> usize {
    64 / size_of::<T>()
}

/// Calls `work(first, count)` for groups of matrices that fill the lanes.
fn groups<T>(context: &Context, batch: usize, work: usize, run: impl Fn(usize, usize) + Sync) {
    let lanes = lanes::<T>();
    // Moving elements in and out counts for more than computing.
    context.parallel_for(batch.div_ceil(lanes), 1 + (1 << 13) / (work + 64), |begin, end| {
        for group in begin..end {
            let first = group * lanes;
            run(first, lanes.min(batch - first));
        }
    });
}

macro_rules! with_lanes {
    ($($factor:ident $factor_body:ident $solve:ident $solve_body:ident $lanes:literal)*) => {$(
        for_each_set! {
            /// # Safety
            ///
            /// See `factor`.
            unsafe fn $factor[Number] =
                $factor_body(batch: &Batch<T>, first: usize, count: usize) -> ()
        }

        /// # Safety
        ///
        /// See `factor`.
        #[inline(always)]
        unsafe fn $factor_body<T: Number>(batch: &Batch<T>, first: usize, count: usize) {
            // SAFETY: the caller's promise.
            unsafe { factor::<T, $lanes>(batch, first, count) };
        }

        for_each_set! {
            /// # Safety
            ///
            /// See `solve`.
            unsafe fn $solve[Number] = $solve_body(first: &System<T>, count: usize) -> ()
        }

        /// # Safety
        ///
        /// See `solve`.
        #[inline(always)]
        unsafe fn $solve_body<T: Number>(first: &System<T>, count: usize) {
            // SAFETY: the caller's promise.
            unsafe { solve::<T, $lanes>(first, count) };
        }
    )*};
}

with_lanes! {
    factor_16 factor_16_body solve_16 solve_16_body 16
    factor_8 factor_8_body solve_8 solve_8_body 8
    factor_4 factor_4_body solve_4 solve_4_body 4
}

/// Where the elements of a lower triangle begin that are in a row.
#[inline(always)]
fn row_start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// # Safety
///
/// There are so many matrices, at most as many as lanes, from the first on, and nobody else uses their
/// results.
#[inline(always)]
unsafe fn factor<T: Number, const LANES: usize>(batch: &Batch<T>, first: usize, count: usize) {
    let size = batch.size;
    let start = first * size * size;
    let (operand, result) = (
        batch.operand.get().wrapping_add(start).cast_const(),
        batch.result.get().wrapping_add(start),
    );
    let mut room = vec![[T::default(); LANES]; row_start(size)];
    for lane in 0..count {
        // SAFETY: the caller's promise.
        let matrix =
            unsafe { std::slice::from_raw_parts(operand.add(lane * size * size), size * size) };
        for i in 0..size {
            let from = &matrix[i * size..][..=i];
            for (value, &from) in room[row_start(i)..].iter_mut().zip(from) {
                value[lane] = from;
            }
        }
    }
    // The first row that fails, or the size.
    let mut failed = [size; LANES];
    for i in 0..size {
        let (above, row) = room.split_at_mut(row_start(i));
        for j in 0..=i {
            let mut sum = row[j];
            if j < i {
                // The adjoint's element, as for one matrix alone: imaginary parts are sums in that order.
                let other = &above[row_start(j)..][..=j];
                sum = sum.map(T::conjugate);
                for k in 0..j {
                    // Copies become registers; places behind references do not.
                    let (x, y) = (row[k], other[k]);
                    for lane in 0..LANES {
                        sum[lane] = sum[lane].minus_product(y[lane], x[lane].conjugate());
                    }
                }
                let divisor = other[j];
                for lane in 0..LANES {
                    sum[lane] = sum[lane].over(divisor[lane]).conjugate();
                }
            } else {
                for k in 0..j {
                    let x = row[k];
                    for lane in 0..LANES {
                        sum[lane] = sum[lane].minus_product(x[lane], x[lane].conjugate());
                    }
                }
                for lane in 0..LANES {
                    if failed[lane] == size && !sum[lane].is_positive() {
                        failed[lane] = i;
                    }
                    sum[lane] = sum[lane].root();
                }
            }
            row[j] = sum;
        }
    }
    for lane in 0..count {
        // SAFETY: the caller's promise.
        let matrix =
            unsafe { std::slice::from_raw_parts_mut(result.add(lane * size * size), size * size) };
        let failure = (failed[lane] < size).then_some(failed[lane]);
        // SAFETY: as above.
        unsafe { batch.report(first + lane, failure) };
        if failure.is_some() {
            matrix.fill(T::NAN);
            continue;
        }
        for i in 0..size {
            let (lower, upper) = matrix[i * size..][..size].split_at_mut(i + 1);
            for (into, value) in lower.iter_mut().zip(&room[row_start(i)..]) {
                *into = value[lane];
            }
            match batch.other {
                Other::Zero => upper.fill(T::default()),
                // SAFETY: as above; the operand is not the result then.
                Other::Operand => unsafe {
                    let from = operand.add(lane * size * size + i * size + i + 1);
                    std::ptr::copy_nonoverlapping(from, upper.as_mut_ptr(), upper.len());
                },
            }
        }
    }
}

/// # Safety
///
/// `count` systems, at most as many as lanes, are in a row, and nobody else uses their unknowns.
#[inline(always)]
unsafe fn solve<T: Number, const LANES: usize>(first: &System<T>, count: usize) {
    let (size, lines) = (first.size, first.lines);
    let mut triangle = vec![[T::default(); LANES]; row_start(size)];
    let mut unknowns = vec![[T::default(); LANES]; size * lines];
    for lane in 0..count {
        let system = first.of_batch(lane);
        for i in 0..size {
            for j in 0..=i {
                // SAFETY: the caller's promise.
                let value = unsafe { *system.triangle.at(i, j) };
                triangle[row_start(i) + j][lane] = system.conjugation.of(value);
            }
            for line in 0..lines {
                // SAFETY: the caller's promise.
                unknowns[i * lines + line][lane] = unsafe { *system.unknowns.at(i, line) };
            }
        }
    }
    for i in 0..size {
        let (known, rest) = unknowns.split_at_mut(i * lines);
        let row = &triangle[row_start(i)..][..=i];
        for line in 0..lines {
            let mut sum = rest[line];
            for k in 0..i {
                let (factor, known) = (row[k], known[k * lines + line]);
                for lane in 0..LANES {
                    sum[lane] = sum[lane].minus_product(factor[lane], known[lane]);
                }
            }
            if first.diagonal == Diagonal::Stored {
                let divisor = row[i];
                for lane in 0..LANES {
                    sum[lane] = sum[lane].over(divisor[lane]);
                }
            }
            rest[line] = sum;
        }
    }
    for lane in 0..count {
        let system = first.of_batch(lane);
        for i in 0..size {
            for line in 0..lines {
                // SAFETY: the caller's promise.
                unsafe { system.unknowns.at(i, line).write(unknowns[i * lines + line][lane]) };
            }
        }
    }
}
