//! Factors of general matrices, with rows exchanged so that each pivot is the largest of its column.
//!
//! Small matrices are factored row by row where they are. Of large ones, a block of columns is factored at a
//! time, in a copy ([`Tall`]). Then its exchanges are done in the other columns, those to
//! its right are divided by the block's triangle in panels, and the product is subtracted from what is left.

use rxla_base::Result;

use super::number::{Number, Strided};
use super::panel::{self, Conjugation, Panel, panel_columns};
use super::tall::Tall;
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

/// Bytes of rows that are exchanged at once: lines of the cache that are fetched together, and some more.
const NEAR: usize = 256;

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
    let tall = scratch::<T>(Tall::<T>::room([rows, block]))?;
    let mut failure = None;
    for first in (0..least).step_by(block) {
        let (width, height) = (block.min(least - first), rows - first);
        let last = first + width;
        let corner = matrix.from(first, first);
        // SAFETY: the caller's promise; there is room.
        unsafe {
            let room = tall.as_ptr().cast::<T>();
            let mut tall = Tall::copied(context, corner, [height, width], room);
            let found = tall.factor(0..width, &mut pivots[first..last]);
            failure = failure.or(found.map(|column| first + column));
            tall.put_back(context, corner);
        }
        let exchanges = &pivots[first..last];
        let right = columns - last;
        let panels = right.div_ceil(across);
        let count = |index: usize| across.min(right - index * across);
        let panel = |index: usize| {
            Panel::new(Address(start.get().wrapping_add(index * room)), count(index))
        };
        let triangle = panel::Triangle::new(width, Diagonal::Unit)?;
        // SAFETY: the caller's promise, for all that follows; each group of columns is in one piece.
        unsafe {
            triangle.pack(&Context::default(), corner, Conjugation::None);
            let together = (NEAR / (across * size_of::<T>())).max(1);
            let groups = panels.div_ceil(together);
            let lefts = first.div_ceil(together * across);
            let grain = 1 + (1 << 15) / (width * width * together * across);
            context.parallel_for(groups + lefts, grain, |begin, end| {
                for task in begin..end {
                    if task >= groups {
                        let column = (task - groups) * together * across;
                        let columns = first - column;
                        let rows = matrix.from(first, column);
                        exchange(rows, exchanges, columns.min(together * across));
                        continue;
                    }
                    let group = task * together..panels.min((task + 1) * together);
                    let column = group.start * across;
                    let rows = matrix.from(first, last + column);
                    exchange(rows, exchanges, (right - column).min(together * across));
                    for index in group {
                        let rows = matrix.from(first, last + index * across);
                        let panel = panel(index);
                        panel.load(rows, width, count(index), Conjugation::None);
                        triangle.solve(&panel, 0, width);
                        panel.store(rows, 0..width, count(index), Conjugation::None);
                    }
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
