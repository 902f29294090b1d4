//! Matrices packed for the micro-kernels of products, which triangular systems are solved in.
//!
//! A triangle is packed by blocks of as many rows as a micro-kernel takes: what is left of the diagonal
//! with the sign turned, so that a kernel that adds subtracts, and the square on the diagonal apart. The
//! unknowns are packed in panels, some columns wide, and solved there. Complex numbers are pairs of real
//! ones, and each row of a panel comes twice, the second time multiplied with the imaginary unit, so that
//! products of real numbers are all there is.

use std::ops::Range;

use rxla_base::Result;

use super::number::{Number, Strided};
use super::{Diagonal, transposed};
use crate::gemm::micro::{Kernels, Tile};
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute, scratch};
use crate::{Block, Context};

pub(super) fn kernels<T: Number>() -> &'static Kernels<T::Part> {
    <T::Part as Compute>::kernels()
}

/// Columns of a panel.
pub(super) fn panel_columns<T: Number>() -> usize {
    2 * kernels::<T>().lanes / T::PARTS
}

/// Whether numbers are taken as they are or conjugated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conjugation {
    None,
    Conjugate,
}

impl Conjugation {
    #[inline(always)]
    pub(super) fn of<T: Number>(self, value: T) -> T {
        match self {
            Conjugation::None => value,
            Conjugation::Conjugate => value.conjugate(),
        }
    }
}

/// A lower triangle, packed.
pub(super) struct Triangle<T> {
    pub size: usize,
    /// What is left of the diagonal, block after block, step by step.
    left: Address<T>,
    /// The squares on the diagonal, row by row.
    squares: Address<T>,
    diagonal: Diagonal,
    _room: [Block; 2],
}

impl<T: Number> Triangle<T> {
    /// Room for a triangle of such a size.
    pub(super) fn new(size: usize, diagonal: Diagonal) -> Result<Triangle<T>> {
        let rows = kernels::<T>().rows;
        let blocks = size.div_ceil(rows);
        let left = scratch::<T>(rows * rows * (blocks * blocks.saturating_sub(1) / 2))?;
        let squares = scratch::<T>(rows * rows * blocks)?;
        Ok(Triangle {
            size,
            left: Address(left.as_ptr().cast()),
            squares: Address(squares.as_ptr().cast()),
            diagonal,
            _room: [left, squares],
        })
    }

    /// Where the part of a block of rows left of the diagonal is, from a step on.
    fn left(&self, block: usize, height: usize, step: usize) -> *mut T {
        let rows = kernels::<T>().rows;
        self.left
            .get()
            .wrapping_add(rows * rows * (block * block.saturating_sub(1) / 2) + height * step)
    }

    fn square(&self, block: usize) -> *mut T {
        let rows = kernels::<T>().rows;
        self.squares.get().wrapping_add(rows * rows * block)
    }

    /// Packs a triangle.
    ///
    /// # Safety
    ///
    /// The matrix is readable and has the size.
    pub(super) unsafe fn pack(
        &self,
        context: &Context,
        matrix: Strided<T>,
        conjugation: Conjugation,
    ) {
        let rows = kernels::<T>().rows;
        let blocks = self.size.div_ceil(rows);
        let grain = 1 + (1 << 15) / (rows * self.size);
        context.parallel_for(blocks, grain, |begin, end| {
            for task in begin..end {
                // The long ones first.
                let block = blocks - 1 - task;
                let first = block * rows;
                let height = rows.min(self.size - first);
                // SAFETY: the caller's promise; each block of the room is in one piece.
                unsafe {
                    let from = matrix.from(first, 0);
                    pack_rows(from, height, first, conjugation, self.left(block, height, 0));
                    let square = self.square(block);
                    for i in 0..height {
                        for j in 0..=i {
                            let value = *matrix.at(first + i, first + j);
                            square.add(i * rows + j).write(conjugation.of(value));
                        }
                    }
                }
            }
        });
    }

    /// Solves for rows `begin..end` of a panel, of which the rows before are solved and, up to `begin`,
    /// taken account of. `begin` is a multiple of the kernels' rows.
    ///
    /// # Safety
    ///
    /// The panel is as long as the triangle, and nobody else uses it.
    pub(super) unsafe fn solve(&self, panel: &Panel<T>, begin: usize, end: usize) {
        let rows = kernels::<T>().rows;
        for first in (begin..end).step_by(rows) {
            // SAFETY: the caller's promise.
            unsafe {
                self.subtract(panel, begin, first, first);
                let height = rows.min(end - first);
                let square = std::slice::from_raw_parts(self.square(first / rows), rows * rows);
                let step = panel.row_step();
                let count = panel.columns();
                solve_square::<T>(
                    square,
                    rows,
                    height,
                    self.diagonal,
                    panel.row(first),
                    step,
                    count,
                );
                panel.turn(first, height);
            }
        }
    }

    /// Subtracts from the block of rows that begins with `first` what the solved rows `begin..end` mean
    /// for them.
    ///
    /// # Safety
    ///
    /// As for [`Triangle::solve`].
    pub(super) unsafe fn subtract(&self, panel: &Panel<T>, begin: usize, end: usize, first: usize) {
        if begin == end {
            return;
        }
        let kernels = kernels::<T>();
        let height = kernels.rows.min(self.size - first);
        let a = self.left(first / kernels.rows, height, begin).cast::<T::Part>().cast_const();
        let b = panel.row(begin).cast::<T::Part>().cast_const();
        let c = (panel.row(first).cast::<T::Part>(), (panel.width * T::PARTS) as isize);
        let depth = (end - begin) * T::PARTS;
        let tile = Tile::new(depth, (a, height), (b, panel.width as isize), c);
        let tile = Tile { add: true, ..tile };
        // SAFETY: packed so; the panel has these rows.
        unsafe { kernels.run(panel.width / kernels.lanes, height, &tile) };
    }
}

/// Packs rows for a micro-kernel, step by step, with the sign turned.
///
/// # Safety
///
/// The matrix has so many rows and steps, and there is room for them.
pub(super) unsafe fn pack_rows<T: Number>(
    matrix: Strided<T>,
    height: usize,
    steps: usize,
    conjugation: Conjugation,
    into: *mut T,
) {
    if T::PARTS == 1 {
        // SAFETY: the caller's promise.
        unsafe {
            if matrix.row == 1 {
                for p in 0..steps {
                    let (from, into) = (matrix.at(0, p), into.add(p * height));
                    for i in 0..height {
                        into.add(i).write((*from.add(i)).negative());
                    }
                }
            } else {
                for i in 0..height {
                    let (from, into) = (matrix.at(i, 0), into.add(i));
                    for p in 0..steps {
                        let value = *from.wrapping_offset(p as isize * matrix.column);
                        into.add(p * height).write(value.negative());
                    }
                }
            }
        }
        return;
    }
    // First all real parts of a step, then all imaginary ones.
    let parts = into.cast::<T::Part>();
    for i in 0..height {
        for p in 0..steps {
            // SAFETY: the caller's promise; a number is its parts.
            unsafe {
                let value = conjugation.of(*matrix.at(i, p)).negative();
                let from = (&raw const value).cast::<T::Part>();
                for part in 0..T::PARTS {
                    parts.add((p * T::PARTS + part) * height + i).write(*from.add(part));
                }
            }
        }
    }
}

/// Some columns of unknowns, row by row.
pub(super) struct Panel<T> {
    pub start: Address<T>,
    /// Parts of a row.
    pub width: usize,
}

impl<T: Number> Panel<T> {
    /// The panel that begins at an address, as narrow as kernels for so many columns allow.
    pub(super) fn new(start: Address<T>, columns: usize) -> Panel<T> {
        let lanes = kernels::<T>().lanes;
        Panel { start, width: (columns * T::PARTS).next_multiple_of(lanes) }
    }

    /// Numbers that a panel of so many rows takes at most.
    pub(super) fn room(rows: usize) -> usize {
        rows * T::PARTS * panel_columns::<T>()
    }

    pub(super) fn columns(&self) -> usize {
        self.width / T::PARTS
    }

    /// Numbers from a row to the next.
    fn row_step(&self) -> usize {
        self.columns() * T::PARTS
    }

    pub(super) fn row(&self, row: usize) -> *mut T {
        self.start.get().wrapping_add(row * self.row_step())
    }

    /// Fills rows from the first `count` columns of a matrix; columns after them with zeros.
    ///
    /// # Safety
    ///
    /// The matrix and the panel are so large.
    pub(super) unsafe fn load(
        &self,
        matrix: Strided<T>,
        rows: usize,
        count: usize,
        conjugation: Conjugation,
    ) {
        const TOGETHER: usize = 16;
        for begin in (0..rows).step_by(TOGETHER) {
            let end = rows.min(begin + TOGETHER);
            // SAFETY: the caller's promise.
            unsafe {
                if matrix.column == 1 && conjugation == Conjugation::None {
                    for i in begin..end {
                        copy_row(matrix.at(i, 0), self.row(i), count);
                    }
                } else if matrix.row == 1 && matrix.column > 0 && T::PARTS == 1 {
                    let from = (matrix.at(begin, 0).cast_const(), matrix.column as usize);
                    let into = (self.row(begin), self.row_step());
                    transposed::copy(from, into, [count, end - begin]);
                } else {
                    for j in 0..count {
                        for i in begin..end {
                            self.row(i).add(j).write(conjugation.of(*matrix.at(i, j)));
                        }
                    }
                }
                for i in begin..end {
                    for j in count..self.columns() {
                        self.row(i).add(j).write(T::default());
                    }
                }
            }
        }
    }

    /// Writes some rows to the first `count` columns of a matrix, from its first row on.
    ///
    /// # Safety
    ///
    /// The matrix and the panel are so large, and nobody else uses the matrix there.
    pub(super) unsafe fn store(
        &self,
        matrix: Strided<T>,
        rows: Range<usize>,
        count: usize,
        conjugation: Conjugation,
    ) {
        const TOGETHER: usize = 16;
        let top = rows.start;
        for begin in rows.clone().step_by(TOGETHER) {
            let end = rows.end.min(begin + TOGETHER);
            // SAFETY: the caller's promise.
            unsafe {
                if matrix.column == 1 && conjugation == Conjugation::None {
                    for i in begin..end {
                        copy_row(self.row(i), matrix.at(i - top, 0), count);
                    }
                } else if matrix.row == 1 && matrix.column > 0 && T::PARTS == 1 {
                    let from = (self.row(begin).cast_const(), self.row_step());
                    let into = (matrix.at(begin - top, 0), matrix.column as usize);
                    transposed::copy(from, into, [end - begin, count]);
                } else {
                    for j in 0..count {
                        for i in begin..end {
                            matrix.at(i - top, j).write(conjugation.of(*self.row(i).add(j)));
                        }
                    }
                }
            }
        }
    }

    /// Makes the second kind of rows, where there is one.
    ///
    /// # Safety
    ///
    /// The panel has these rows.
    pub(super) unsafe fn turn(&self, first: usize, height: usize) {
        if T::PARTS == 1 {
            return;
        }
        let count = self.columns();
        for i in first..first + height {
            // SAFETY: the caller's promise.
            unsafe {
                let row = self.row(i);
                for j in 0..count {
                    row.add(count + j).write((*row.add(j)).turned());
                }
            }
        }
    }
}

/// Copies numbers that lie together. Whole rows of panels, as long as two vectors, are worth code of their own.
///
/// # Safety
///
/// So many numbers are at both addresses, do not overlap, and nobody else uses the second.
unsafe fn copy_row<T: Copy>(from: *const T, into: *mut T, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match count * size_of::<T>() {
            64 => into.cast::<[u8; 64]>().write_unaligned(from.cast::<[u8; 64]>().read_unaligned()),
            128 => {
                into.cast::<[u8; 128]>().write_unaligned(from.cast::<[u8; 128]>().read_unaligned());
            }
            _ => std::ptr::copy_nonoverlapping(from, into, count),
        }
    }
}

for_each_set! {
    /// Solves rows of a panel for a square on the diagonal.
    ///
    /// # Safety
    ///
    /// There are `height` rows of `count` numbers, `step` apart.
    unsafe fn solve_square[Number] = solve_square_body(
        square: &[T], stride: usize, height: usize, diagonal: Diagonal, rows: *mut T, step: usize, count: usize
    ) -> ()
}

/// # Safety
///
/// See `solve_square`.
#[inline(always)]
unsafe fn solve_square_body<T: Number>(
    square: &[T],
    stride: usize,
    height: usize,
    diagonal: Diagonal,
    rows: *mut T,
    step: usize,
    count: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match count {
            _ if count.is_multiple_of(16) => {
                solve_lanes::<T, 16>(square, stride, height, diagonal, rows, step, count);
            }
            _ if count.is_multiple_of(8) => {
                solve_lanes::<T, 8>(square, stride, height, diagonal, rows, step, count);
            }
            _ if count.is_multiple_of(4) => {
                solve_lanes::<T, 4>(square, stride, height, diagonal, rows, step, count);
            }
            _ => solve_lanes::<T, 1>(square, stride, height, diagonal, rows, step, count),
        }
    }
}

/// # Safety
///
/// See `solve_square`; the count is a multiple of the lanes.
#[inline(always)]
unsafe fn solve_lanes<T: Number, const LANES: usize>(
    square: &[T],
    stride: usize,
    height: usize,
    diagonal: Diagonal,
    rows: *mut T,
    step: usize,
    count: usize,
) {
    for first in (0..count).step_by(LANES) {
        let row = |i: usize| rows.wrapping_add(i * step + first).cast::<[T; LANES]>();
        for i in 0..height {
            // SAFETY: the caller's promise.
            let mut values = unsafe { *row(i) };
            for k in 0..i {
                let factor = square[i * stride + k];
                // SAFETY: as above.
                let known = unsafe { *row(k) };
                for lane in 0..LANES {
                    values[lane] = values[lane].minus_product(factor, known[lane]);
                }
            }
            if diagonal == Diagonal::Stored {
                let divisor = square[i * stride + i];
                values.iter_mut().for_each(|value| *value = value.over(divisor));
            }
            // SAFETY: as above.
            unsafe { *row(i) = values };
        }
    }
}
