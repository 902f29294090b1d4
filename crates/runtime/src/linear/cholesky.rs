//! Cholesky's factorisation by blocks of columns: the square on the diagonal is factored, the rows below are
//! divided by it in panels, and their product with themselves, of which only the lower half is computed, is
//! subtracted from what is left.
//!
//! Upper triangles are transposed on the way in and out.
//!
//! LAPACK's `potrf` differs in what it leaves: the other triangle as it was, and a number that says where a
//! matrix turned out not to be positive definite.

use rxla_base::Result;

use super::number::{Number, Strided};
use super::panel::{self, Conjugation, Panel, panel_columns};
use super::update::{Part, Update};
use super::{Diagonal, Triangle as Half, each, lanes, transposed};
use crate::context::Context;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, scratch};

/// What the triangle that the factor is not in becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    Zero,
    /// As in the operand, which is not the result then.
    Operand,
}

/// A batch of matrices to factor.
pub(super) struct Batch<T> {
    pub count: usize,
    pub size: usize,
    pub half: Half,
    pub other: Other,
    pub operand: Address<T>,
    pub result: Address<T>,
    /// Where to write 0 for each matrix, or the number, from 1 on, of the first column in which it is
    /// not positive definite. May be null.
    pub failures: Address<i32>,
}

impl<T> Batch<T> {
    /// # Safety
    ///
    /// There is such a matrix, and nobody else writes its number.
    pub(super) unsafe fn report(&self, index: usize, failure: Option<usize>) {
        if !self.failures.get().is_null() {
            let number = failure.map_or(0, |column| column as i32 + 1);
            // SAFETY: the caller's promise.
            unsafe { self.failures.get().add(index).write(number) };
        }
    }
}

/// Factors a batch of matrices.
///
/// # Safety
///
/// The operand and the result, which may be the operand, hold the batch, and nobody else uses the result.
pub(super) unsafe fn factor_all<T: Number>(context: &Context, batch: &Batch<T>) -> Result<()> {
    let size = batch.size;
    if batch.half == Half::Lower && lanes::suits(batch.count, size) {
        // SAFETY: the caller's promise.
        unsafe { lanes::factor_all(context, batch) };
        return Ok(());
    }
    each(context, batch.count, size * size * size / 3, |context, index| {
        // SAFETY: the caller's promise; each matrix is in one piece.
        unsafe { factor_one(context, batch, index) }
    })
}

/// # Safety
///
/// As for [`factor_all`], of one matrix.
unsafe fn factor_one<T: Number>(context: &Context, batch: &Batch<T>, index: usize) -> Result<()> {
    let size = batch.size;
    let place = |start: Address<T>| Strided {
        start: start.get().wrapping_add(index * size * size),
        row: size as isize,
        column: 1,
    };
    let (operand, matrix) = (place(batch.operand), place(batch.result));
    let grain = 1 + (1 << 15) / size;
    if !std::ptr::eq(operand.start, matrix.start) {
        context.parallel_for(size, grain, |begin, end| {
            for i in begin..end {
                let places = if batch.half == Half::Lower { 0..i + 1 } else { i..size };
                let (from, into) = (operand.at(i, places.start), matrix.at(i, places.start));
                // SAFETY: the caller's promise; rows are each in one piece.
                unsafe { std::ptr::copy_nonoverlapping(from, into, places.len()) };
            }
        });
    }
    // SAFETY: the caller's promise, for all that follows; rows are each in one piece.
    unsafe {
        if batch.half == Half::Upper {
            transpose(matrix, size);
        }
        let failure = factor(context, matrix, size)?;
        batch.report(index, failure);
        context.parallel_for(size, grain, |begin, end| {
            for i in begin..end {
                let row = std::slice::from_raw_parts_mut(matrix.at(i, 0), size);
                match failure {
                    None if batch.other == Other::Zero => row[i + 1..].fill(T::default()),
                    None => {}
                    Some(_) => row.fill(T::NAN),
                }
            }
        });
        if batch.half == Half::Upper {
            transpose(matrix, size);
        }
    }
    if batch.other == Other::Operand {
        context.parallel_for(size, grain, |begin, end| {
            for i in begin..end {
                let places = if batch.half == Half::Lower { i + 1..size } else { 0..i };
                let (from, into) = (operand.at(i, places.start), matrix.at(i, places.start));
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(from, into, places.len()) };
            }
        });
    }
    Ok(())
}

/// Transposes in place, by tiles that fit a cache.
///
/// # Safety
///
/// Nobody else uses the matrix.
unsafe fn transpose<T: Number>(matrix: Strided<T>, size: usize) {
    const TILE: usize = 16;
    for top in (0..size).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..size.min(top + TILE) {
                for j in left..i.min(left + TILE) {
                    // SAFETY: the caller's promise.
                    unsafe { std::ptr::swap(matrix.at(i, j), matrix.at(j, i)) };
                }
            }
        }
    }
}

/// Columns that are factored at once.
fn block<T: Number>(size: usize) -> usize {
    match size {
        0..=768 => 64,
        _ => 128,
    }
}

/// Factors the lower triangle in place; what is above the diagonal is used as room. Gives the first column in
/// which the matrix is not positive definite.
///
/// # Safety
///
/// Nobody else uses the matrix.
unsafe fn factor<T: Number>(
    context: &Context,
    matrix: Strided<T>,
    size: usize,
) -> Result<Option<usize>> {
    let block = block::<T>(size).min(size);
    let mut square = vec![T::default(); block * block.next_multiple_of(ALIGNED)];
    let columns = panel_columns::<T>();
    let room = Panel::<T>::room(block);
    let memory = scratch::<T>(size.div_ceil(columns) * room)?;
    let start = Address(memory.as_ptr().cast::<T>());
    for first in (0..size).step_by(block) {
        let width = block.min(size - first);
        let stride = width.next_multiple_of(ALIGNED);
        let corner = matrix.from(first, first);
        // SAFETY: the caller's promise.
        unsafe {
            let place = (corner.start, corner.row as usize);
            let from = (place.0.cast_const(), place.1);
            transposed::copy_adjoint(from, (square.as_mut_ptr(), stride), width);
            let failure = factor_square(&mut square, stride, width);
            if let Some(column) = failure {
                return Ok(Some(first + column));
            }
            transposed::copy_adjoint((square.as_ptr(), stride), place, width);
        }
        let last = first + width;
        let left = size - last;
        if left == 0 {
            break;
        }
        let triangle = panel::Triangle::new(width, Diagonal::Stored)?;
        let upper = Strided { start: square.as_mut_ptr(), row: 1, column: stride as isize };
        // SAFETY: the square is as large as the triangle.
        unsafe { triangle.pack(context, upper, Conjugation::Conjugate) };
        let panels = left.div_ceil(columns);
        let count = |index: usize| columns.min(left - index * columns);
        let panel = |index: usize| {
            Panel::new(Address(start.get().wrapping_add(index * room)), count(index))
        };
        let below = matrix.from(last, first);
        context.parallel_for(panels, 1 + (1 << 15) / (width * width * columns), |begin, end| {
            for index in begin..end {
                let panel = panel(index);
                let rows = below.from(index * columns, 0);
                let turned = Strided { row: rows.column, column: rows.row, ..rows };
                // SAFETY: the caller's promise; each panel and its rows are in one piece.
                unsafe {
                    panel.load(turned, width, count(index), Conjugation::Conjugate);
                    triangle.solve(&panel, 0, width);
                    panel.store(turned, 0..width, count(index), Conjugation::Conjugate);
                }
            }
        });
        let rest = matrix.from(last, last);
        let update = Update { below, rest, rows: left, columns: left, width, part: Part::Lower };
        // SAFETY: the caller's promise.
        unsafe { update.subtract_all(context, &panel) };
    }
    Ok(None)
}

/// Rows of a square begin at multiples of so many numbers, and are updated from such a multiple on.
const ALIGNED: usize = 16;

for_each_set! {
    /// Factors the upper triangle of a square in place, so that its adjoint times itself is the square. Gives
    /// the first column in which it is not positive definite.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor_square[Number] =
        factor_square_body(square: &mut [T], stride: usize, size: usize) -> Option<usize>
}

/// # Safety
///
/// See `factor_square`.
#[inline(always)]
unsafe fn factor_square_body<T: Number>(
    square: &mut [T],
    stride: usize,
    size: usize,
) -> Option<usize> {
    for j in 0..size {
        let (above, below) = square.split_at_mut((j + 1) * stride);
        let row = &mut above[j * stride..];
        if !row[j].is_positive() {
            return Some(j);
        }
        let root = row[j].root();
        row[j] = root;
        row[j + 1..size].iter_mut().for_each(|value| *value = value.over(root));
        for i in j + 1..size {
            let factor = row[i].conjugate();
            let begin = i / ALIGNED * ALIGNED;
            let (values, _) =
                below[(i - j - 1) * stride + begin..][..stride - begin].as_chunks_mut::<ALIGNED>();
            let (known, _) = row[begin..stride].as_chunks::<ALIGNED>();
            for (values, known) in values.iter_mut().zip(known) {
                // Copies become registers; places behind references do not.
                let (mut new, known) = (*values, *known);
                for lane in 0..ALIGNED {
                    new[lane] = new[lane].minus_product(factor, known[lane]);
                }
                *values = new;
            }
        }
    }
    None
}
