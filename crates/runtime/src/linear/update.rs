//! What blocked factorisations spend their time with: a product subtracted from what is left.

use super::number::{Number, Strided};
use super::panel::{Conjugation, Panel, kernels, pack_rows, panel_columns};
use crate::context::Context;
use crate::gemm::micro::Tile;

/// What of the rest is updated, at least.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// What is left of the diagonal and on it.
    Lower,
}

/// What is left after a block of columns, and the part of these columns that is beside it.
pub(super) struct Update<T> {
    /// The left factor: the columns.
    pub below: Strided<T>,
    /// What is left.
    pub rest: Strided<T>,
    pub rows: usize,
    pub columns: usize,
    /// How many columns were factored.
    pub width: usize,
    pub part: Part,
}

impl<T: Number> Update<T> {
    /// Subtracts from each block of rows its product with the panels, which are the right factor.
    ///
    /// # Safety
    ///
    /// Nobody else uses the rest.
    pub(super) unsafe fn subtract_all(
        &self,
        context: &Context,
        panel: &(impl Fn(usize) -> Panel<T> + Sync),
    ) {
        let rows = kernels::<T>().rows;
        let blocks = self.rows.div_ceil(rows);
        let grain = 1 + (1 << 16) / (rows * self.width * self.columns.max(1));
        context.parallel_for(blocks, grain, |begin, end| {
            let mut left = Vec::new();
            for task in begin..end {
                // The long ones first.
                let block = blocks - 1 - task;
                // SAFETY: the caller's promise; each block of rows is in one piece.
                unsafe { self.subtract(block * rows, panel, &mut left) };
            }
        });
    }

    /// # Safety
    ///
    /// Nobody else uses the block of rows.
    unsafe fn subtract(
        &self,
        first: usize,
        panel: &(impl Fn(usize) -> Panel<T> + Sync),
        left: &mut Vec<T>,
    ) {
        let kernels = kernels::<T>();
        let columns = panel_columns::<T>();
        let height = kernels.rows.min(self.rows - first);
        left.resize(kernels.rows * self.width, T::default());
        let from = self.below.from(first, 0);
        // SAFETY: the caller's promise; there is room for the rows.
        unsafe {
            pack_rows(from, height, self.width, Conjugation::None, left.as_mut_ptr());
        }
        let end = match self.part {
            Part::All => self.columns,
            Part::Lower => self.columns.min(first + height),
        };
        for index in 0..end.div_ceil(columns) {
            let panel = panel(index);
            let begin = index * columns;
            let count = panel.columns().min(self.columns - begin);
            let a = left.as_ptr().cast::<T::Part>();
            let b = panel.row(0).cast::<T::Part>().cast_const();
            let row = self.rest.row * T::PARTS as isize;
            let c = (self.rest.at(first, begin).cast::<T::Part>(), row);
            let depth = self.width * T::PARTS;
            let mut tile = Tile::new(depth, (a, height), (b, panel.width as isize), c);
            tile.add = true;
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
