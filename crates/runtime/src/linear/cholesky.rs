//! Cholesky's factorisation by blocks of columns: the square on the diagonal is factored, the rows below are
//! divided by it in panels, and their product with themselves, of which only the lower half is computed, is
//! subtracted from what is left.
//!
//! Upper triangles are transposed on the way in and out.

use rxla_base::Result;

use super::number::{Number, Strided};
use super::panel::{self, Conjugation, Panel, kernels, panel_columns};
use super::{Diagonal, Triangle as Half, each, lanes};
use crate::context::Context;
use crate::gemm::micro::Tile;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, scratch};

/// Factors a batch of matrices.
///
/// # Safety
///
/// The operand and the result, which may be the operand, hold the batch, and nobody else uses the result.
pub(super) unsafe fn factor_all<T: Number>(
    context: &Context,
    batch: usize,
    size: usize,
    half: Half,
    operand: *const T,
    result: *mut T,
) -> Result<()> {
    if half == Half::Lower && lanes::suits(batch, size) {
        // SAFETY: the caller's promise.
        unsafe { lanes::factor_all(context, batch, size, operand, result) };
        return Ok(());
    }
    let (operand, result) = (Address(operand.cast_mut()), Address(result));
    each(context, batch, size * size * size / 3, |context, index| {
        let start = index * size * size;
        // SAFETY: the caller's promise; each matrix is in one piece.
        unsafe {
            let operand = operand.get().add(start).cast_const();
            let result = result.get().add(start);
            factor_one(context, size, half, operand, result)
        }
    })
}

/// # Safety
///
/// As for [`factor_all`], of one matrix.
unsafe fn factor_one<T: Number>(
    context: &Context,
    size: usize,
    half: Half,
    operand: *const T,
    result: *mut T,
) -> Result<()> {
    let matrix = Strided { start: result, row: size as isize, column: 1 };
    let grain = 1 + (1 << 15) / size;
    // SAFETY: the caller's promise, for all that follows; rows are each in one piece.
    unsafe {
        if !std::ptr::eq(operand, result) {
            let operand = Strided { start: operand.cast_mut(), ..matrix };
            context.parallel_for(size, grain, |begin, end| {
                for i in begin..end {
                    let places = if half == Half::Lower { 0..i + 1 } else { i..size };
                    let from = operand.at(i, places.start);
                    std::ptr::copy_nonoverlapping(from, matrix.at(i, places.start), places.len());
                }
            });
        }
        if half == Half::Upper {
            transpose(matrix, size);
        }
        let done = factor(context, matrix, size)?;
        context.parallel_for(size, grain, |begin, end| {
            for i in begin..end {
                let row = std::slice::from_raw_parts_mut(matrix.at(i, 0), size);
                match done {
                    true => row[i + 1..].fill(T::default()),
                    false => row.fill(T::NAN),
                }
            }
        });
        if half == Half::Upper {
            transpose(matrix, size);
        }
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

/// Factors the lower triangle in place; what is above the diagonal is used as room. False if the matrix is not
/// positive definite.
///
/// # Safety
///
/// Nobody else uses the matrix.
unsafe fn factor<T: Number>(context: &Context, matrix: Strided<T>, size: usize) -> Result<bool> {
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
            for i in 0..width {
                for j in 0..=i {
                    square[j * stride + i] = (*corner.at(i, j)).conjugate();
                }
            }
            if !factor_square(&mut square, stride, width) {
                return Ok(false);
            }
            for i in 0..width {
                for j in 0..=i {
                    corner.at(i, j).write(square[j * stride + i].conjugate());
                }
            }
        }
        let last = first + width;
        let rest = size - last;
        if rest == 0 {
            break;
        }
        let triangle = panel::Triangle::new(width, Diagonal::Stored)?;
        let upper = Strided { start: square.as_mut_ptr(), row: 1, column: stride as isize };
        // SAFETY: the square is as large as the triangle.
        unsafe { triangle.pack(context, upper, Conjugation::Conjugate) };
        let panels = rest.div_ceil(columns);
        let count = |index: usize| columns.min(rest - index * columns);
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
        let update = Update { below, rest: matrix.from(last, last), size: rest, width };
        let rows = kernels::<T>().rows;
        let blocks = rest.div_ceil(rows);
        context.parallel_for(blocks, 1 + (1 << 16) / (rows * width * rest), |begin, end| {
            let mut left = Vec::new();
            for task in begin..end {
                // The long ones first.
                let block = blocks - 1 - task;
                // SAFETY: the caller's promise; each block of rows is in one piece.
                unsafe { update.subtract(block * rows, &panel, &mut left) };
            }
        });
    }
    Ok(true)
}

/// What is left after a block of columns, and the part of these columns that is below the diagonal.
struct Update<T> {
    below: Strided<T>,
    rest: Strided<T>,
    size: usize,
    width: usize,
}

impl<T: Number> Update<T> {
    /// Subtracts the product of a block of rows with all panels that reach to the left of the diagonal.
    ///
    /// # Safety
    ///
    /// The panels hold the adjoint of the part below the diagonal; nobody else uses the block of rows.
    unsafe fn subtract(
        &self,
        first: usize,
        panel: &(impl Fn(usize) -> Panel<T> + Sync),
        left: &mut Vec<T>,
    ) {
        let kernels = kernels::<T>();
        let columns = panel_columns::<T>();
        let height = kernels.rows.min(self.size - first);
        left.resize(kernels.rows * self.width, T::default());
        let from = self.below.from(first, 0);
        // SAFETY: the caller's promise; there is room for the rows.
        unsafe {
            panel::pack_rows(from, height, self.width, Conjugation::None, left.as_mut_ptr());
        }
        for index in 0..=(first + height - 1) / columns {
            let panel = panel(index);
            let begin = index * columns;
            let count = panel.columns().min(self.size - begin);
            let mut tile = Tile {
                k: self.width * T::PARTS,
                a: left.as_ptr().cast::<T::Part>(),
                b: panel.row(0).cast::<T::Part>().cast_const(),
                b_step: panel.width as isize,
                start: std::ptr::null(),
                c: self.rest.at(first, begin).cast::<T::Part>(),
                c_step: self.rest.row * T::PARTS as isize,
                add: true,
            };
            let kernel = kernels.table[panel.width / kernels.lanes - 1][height - 1];
            if count == panel.columns() {
                // SAFETY: packed so; the tile is in the matrix.
                unsafe { kernel(&tile) };
                continue;
            }
            let mut spare = vec![T::default(); height * panel.columns()];
            tile.c = spare.as_mut_ptr().cast();
            tile.c_step = panel.width as isize;
            tile.add = false;
            // SAFETY: as above, with a tile of our own.
            unsafe { kernel(&tile) };
            for i in 0..height {
                for j in 0..count {
                    // SAFETY: the caller's promise.
                    unsafe {
                        let into = self.rest.at(first + i, begin + j);
                        into.write((*into).plus(spare[i * panel.columns() + j]));
                    }
                }
            }
        }
    }
}

/// Rows of a square begin at multiples of so many numbers, and are updated from such a multiple on.
const ALIGNED: usize = 16;

for_each_set! {
    /// Factors the upper triangle of a square in place, so that its adjoint times itself is the square. False
    /// if it is not positive definite.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor_square[Number] =
        factor_square_body(square: &mut [T], stride: usize, size: usize) -> bool
}

/// # Safety
///
/// See `factor_square`.
#[inline(always)]
unsafe fn factor_square_body<T: Number>(square: &mut [T], stride: usize, size: usize) -> bool {
    for j in 0..size {
        let (above, below) = square.split_at_mut((j + 1) * stride);
        let row = &mut above[j * stride..];
        if !row[j].is_positive() {
            return false;
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
                for lane in 0..ALIGNED {
                    values[lane] = values[lane].minus_product(factor, known[lane]);
                }
            }
        }
    }
    true
}
