//! Factors of general matrices, with rows exchanged so that each pivot is the largest of its column.
//!
//! Small matrices are factored row by row where they are. Of large ones, a block of columns is factored at a
//! time, in a copy in which columns lie in order. Then its exchanges are done in the other columns, those to
//! its right are divided by the block's triangle in panels, and the product is subtracted from what is left.

use rxla_base::Result;

use super::number::{Number, Strided};
use super::panel::{self, Conjugation, Panel, panel_columns};
use super::update::{Part, Update};
use super::{Diagonal, each};
use crate::context::Context;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, scratch};

/// A batch of matrices to factor.
pub(super) struct Batch<T> {
    pub count: usize,
    pub rows: usize,
    pub columns: usize,
    pub operand: Address<T>,
    pub result: Address<T>,
    /// The rows exchanged, from 1 on.
    pub pivots: Address<i32>,
    /// The first column, from 1 on, whose pivot is zero, or 0.
    pub failures: Address<i32>,
}

/// Rows and columns up to which matrices are factored where they are.
const SMALL: usize = 32;

/// Factors a batch of matrices.
///
/// # Safety
///
/// The buffers hold the batch, the result is not the operand, and nobody else uses the results.
pub(super) unsafe fn factor_all<T: Number>(context: &Context, batch: &Batch<T>) -> Result<()> {
    let &Batch { rows, columns, .. } = batch;
    let (count, least) = (rows * columns, rows.min(columns));
    each(context, batch.count, count * least + 256, |context, index| {
        // SAFETY: the caller's promise; each matrix is in one piece.
        unsafe {
            let operand = batch.operand.get().add(index * count).cast_const();
            let result = batch.result.get().add(index * count);
            super::copy(context, operand, result, count);
            let pivots =
                std::slice::from_raw_parts_mut(batch.pivots.get().add(index * least), least);
            let failure = if rows.max(columns) <= SMALL {
                factor_small(std::slice::from_raw_parts_mut(result, count), columns, pivots)
            } else {
                let matrix = Strided { start: result, row: columns as isize, column: 1 };
                factor(context, matrix, [rows, columns], pivots)?
            };
            let number = failure.map_or(0, |column| column as i32 + 1);
            batch.failures.get().add(index).write(number);
        }
        Ok(())
    })
}

for_each_set! {
    /// Factors a matrix in place and gives the first column whose pivot is zero.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor_small[Number] =
        factor_small_body(matrix: &mut [T], columns: usize, pivots: &mut [i32]) -> Option<usize>
}

/// # Safety
///
/// See `factor_small`.
#[inline(always)]
unsafe fn factor_small_body<T: Number>(
    matrix: &mut [T],
    columns: usize,
    pivots: &mut [i32],
) -> Option<usize> {
    let rows = matrix.len() / columns;
    let mut failure = None;
    for (j, pivot) in pivots.iter_mut().enumerate() {
        let mut largest = j;
        for i in j + 1..rows {
            let magnitude = |i: usize| matrix[i * columns + j].magnitude();
            if magnitude(i) > magnitude(largest) {
                largest = i;
            }
        }
        *pivot = largest as i32 + 1;
        let (above, below) = matrix.split_at_mut((j + 1) * columns);
        let row = &mut above[j * columns..];
        if largest > j {
            row.swap_with_slice(&mut below[(largest - j - 1) * columns..][..columns]);
        }
        if row[j].magnitude() == T::default().magnitude() {
            failure = failure.or(Some(j));
            continue;
        }
        for other in below.chunks_exact_mut(columns) {
            let factor = other[j].over(row[j]);
            other[j] = factor;
            for (value, &known) in other[j + 1..].iter_mut().zip(&row[j + 1..]) {
                *value = value.minus_product(factor, known);
            }
        }
    }
    failure
}

/// Columns that are factored at once.
fn block(least: usize) -> usize {
    match least {
        0..=256 => 32,
        257..=1536 => 64,
        _ => 128,
    }
}

/// Factors a matrix in place.
///
/// # Safety
///
/// Nobody else uses the matrix.
unsafe fn factor<T: Number>(
    context: &Context,
    matrix: Strided<T>,
    [rows, columns]: [usize; 2],
    pivots: &mut [i32],
) -> Result<Option<usize>> {
    let least = pivots.len();
    let block = block(least);
    let across = panel_columns::<T>();
    let room = Panel::<T>::room(block);
    let memory = scratch::<T>(columns.div_ceil(across) * room)?;
    let start = Address(memory.as_ptr().cast::<T>());
    let tall = scratch::<T>(block * rows.next_multiple_of(LANES))?;
    let mut failure = None;
    for first in (0..least).step_by(block) {
        let (width, height) = (block.min(least - first), rows - first);
        let last = first + width;
        let stride = height.next_multiple_of(LANES);
        // SAFETY: there is room for so much; all of it is written before it is read.
        let tall = unsafe {
            let tall = tall.as_ptr().cast::<T>();
            tall.write_bytes(0, width * stride);
            std::slice::from_raw_parts_mut(tall, width * stride)
        };
        let corner = matrix.from(first, first);
        // SAFETY: the caller's promise.
        unsafe {
            move_columns(context, corner, [height, width], tall, stride, Way::In);
            let found = factor_columns(tall, stride, height, &mut pivots[first..last]);
            failure = failure.or(found.map(|column| first + column));
            move_columns(context, corner, [height, width], tall, stride, Way::Out);
        }
        let exchanges = &pivots[first..last];
        let right = columns - last;
        let panels = right.div_ceil(across);
        let lefts = first.div_ceil(across);
        let count = |index: usize| across.min(right - index * across);
        let panel = |index: usize| {
            Panel::new(Address(start.get().wrapping_add(index * room)), count(index))
        };
        let triangle = panel::Triangle::new(width, Diagonal::Unit)?;
        // SAFETY: the caller's promise, for all that follows; each group of columns is in one piece.
        unsafe {
            triangle.pack(&Context::default(), corner, Conjugation::None);
            let grain = 1 + (1 << 15) / (width * width * across);
            context.parallel_for(panels + lefts, grain, |begin, end| {
                for task in begin..end {
                    if task >= panels {
                        let column = (task - panels) * across;
                        let rows = matrix.from(first, column);
                        exchange(rows, exchanges, across.min(first - column));
                        continue;
                    }
                    let rows = matrix.from(first, last + task * across);
                    exchange(rows, exchanges, count(task));
                    let panel = panel(task);
                    panel.load(rows, width, count(task), Conjugation::None);
                    triangle.solve(&panel, 0, width);
                    panel.store(rows, 0..width, count(task), Conjugation::None);
                }
            });
            let update = Update {
                below: matrix.from(last, first),
                rest: matrix.from(last, last),
                rows: rows - last,
                columns: right,
                width,
                part: Part::All,
            };
            update.subtract_all(context, &panel);
        }
        pivots[first..last].iter_mut().for_each(|pivot| *pivot += first as i32);
    }
    Ok(failure)
}

/// Exchanges rows in some columns.
///
/// # Safety
///
/// The matrix has these rows and columns, and nobody else uses them.
unsafe fn exchange<T: Number>(matrix: Strided<T>, pivots: &[i32], columns: usize) {
    for (i, &pivot) in pivots.iter().enumerate() {
        let other = pivot as usize - 1;
        if other != i {
            // SAFETY: the caller's promise; rows are in order and do not overlap.
            unsafe { std::ptr::swap_nonoverlapping(matrix.at(i, 0), matrix.at(other, 0), columns) };
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// Copies rows to where their columns lie in order, or back.
///
/// # Safety
///
/// The matrix and the copy are as large as the sizes say, and nobody else uses them.
unsafe fn move_columns<T: Number>(
    context: &Context,
    matrix: Strided<T>,
    [rows, columns]: [usize; 2],
    copy: &mut [T],
    stride: usize,
    way: Way,
) {
    const TOGETHER: usize = 16;
    let copy = Address(copy.as_mut_ptr());
    let blocks = rows.div_ceil(TOGETHER);
    context.parallel_for(blocks, 1 + (1 << 15) / (TOGETHER * columns), |begin, end| {
        for top in (begin..end).map(|block| block * TOGETHER) {
            for j in 0..columns {
                for i in top..rows.min(top + TOGETHER) {
                    // SAFETY: the caller's promise; rows are each in one piece.
                    unsafe {
                        let other = copy.get().add(j * stride + i);
                        match way {
                            Way::In => other.write(*matrix.at(i, j)),
                            Way::Out => matrix.at(i, j).write(*other),
                        }
                    }
                }
            }
        }
    });
}

/// Elements of a column that are updated at once; columns begin at multiples of it.
const LANES: usize = 64;

for_each_set! {
    /// Factors columns in place and gives the first whose pivot is zero.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor_columns[Number] = factor_columns_body(
        columns: &mut [T], stride: usize, rows: usize, pivots: &mut [i32]
    ) -> Option<usize>
}

/// # Safety
///
/// See `factor_columns`.
#[inline(always)]
unsafe fn factor_columns_body<T: Number>(
    columns: &mut [T],
    stride: usize,
    rows: usize,
    pivots: &mut [i32],
) -> Option<usize> {
    let mut failure = None;
    for j in 0..pivots.len() {
        let (known, rest) = columns.split_at_mut(j * stride);
        let column = &mut rest[..stride];
        // The part above the diagonal, one element after the other.
        for k in 0..j {
            let factor = column[k];
            let other = &known[k * stride..][..stride];
            for i in k + 1..j {
                column[i] = column[i].minus_product(other[i], factor);
            }
        }
        // The rest, all at once. What is above and in the same chunk is put back.
        let mut top = [T::default(); LANES];
        let from = j / LANES * LANES;
        let above = j - from;
        top[..above].copy_from_slice(&column[from..j]);
        let factors = &column[..j].to_vec();
        for begin in (from..stride).step_by(LANES) {
            let (chunks, _) = column[begin..].as_chunks_mut::<LANES>();
            let mut sums = chunks[0];
            for (k, &factor) in factors.iter().enumerate() {
                let (other, _) = known[k * stride + begin..][..LANES].as_chunks::<LANES>();
                // A copy becomes registers; a place behind a reference does not.
                let other = other[0];
                for lane in 0..LANES {
                    sums[lane] = sums[lane].minus_product(other[lane], factor);
                }
            }
            chunks[0] = sums;
        }
        column[from..j].copy_from_slice(&top[..above]);
        let largest = j + first_largest(&column[j..rows]);
        pivots[j] = largest as i32 + 1;
        if largest != j {
            for k in 0..pivots.len() {
                columns.swap(k * stride + j, k * stride + largest);
            }
        }
        let column = &mut columns[j * stride..][..rows];
        let pivot = column[j];
        if pivot.magnitude() == T::default().magnitude() {
            failure = failure.or(Some(j));
            continue;
        }
        column[j + 1..].iter_mut().for_each(|value| *value = value.over(pivot));
    }
    failure
}

/// The place of the first number of the largest magnitude; the first if none is above zero.
#[inline(always)]
fn first_largest<T: Number>(numbers: &[T]) -> usize {
    let zero = T::default().magnitude();
    let mut largest = [zero; LANES];
    let (chunks, tail) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let magnitude = chunk[lane].magnitude();
            largest[lane] = if magnitude > largest[lane] { magnitude } else { largest[lane] };
        }
    }
    let all = largest.into_iter().chain(tail.iter().map(|value| value.magnitude()));
    let largest = all.fold(zero, |a, b| if b > a { b } else { a });
    if largest == zero {
        return 0;
    }
    numbers.iter().position(|value| value.magnitude() == largest).unwrap_or(0)
}
