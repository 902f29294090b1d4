//! Products so small that to find places and to pack rows is no small part of them: the left operand is read where it is,
//! whatever its strides, and so is the right one where its columns lie together. Both are soon in the second cache.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::axis::Axis;
use super::grid::Grid;
use super::micro::{Ask, Kernels, Tile};
use super::scatter::scatter;
use super::{Compute, Job, Product, Workspace, out_of_memory, room};
use crate::context::Context;

/// Multiplications up to which the other ways lose more time.
const MOST_WORK: usize = if cfg!(test) { 1 << 14 } else { 1 << 23 };
/// Multiplications below which threads cost more than they save.
const SERIAL: usize = if cfg!(test) { 1 << 12 } else { 1 << 18 };
/// Bytes between steps up to which a block of them lies on pages that the processor knows, and not all in the same
/// places of the first cache.
const MOST_STRIDE: usize = 1 << 10;
/// Rows are read once for each panel of columns.
const MOST_COLUMNS: usize = 512;

/// A product with all strides that there are.
pub(super) struct Near<'a, T: 'static> {
    product: &'a Product<'a, T>,
    kernels: &'static Kernels<T>,
    /// From one row and step to the next in the left operand.
    a_row: usize,
    a_step: usize,
    /// From one step to the next in the right operand, if columns lie together there.
    b_step: Option<usize>,
    /// From one row to the next in the result, where columns lie together.
    c_row: isize,
    depth: usize,
}

impl<'a, T: Compute> Near<'a, T> {
    /// The product, if it is one of these.
    pub(super) fn of(job: &Job<'a, T>) -> Option<Near<'a, T>> {
        let (product, kernels) = (job.product, job.strided?);
        let [m, n, k] = [product.m, product.n, product.k];
        let work = m.len().saturating_mul(n.len()).saturating_mul(k.len());
        let stride = |axis: &Axis, operand: usize| usize::try_from(axis.stride(operand)?).ok();
        let (a_row, a_step) = (stride(m, 0)?, stride(k, 0)?);
        let near = |step: usize| step * size_of::<T>() <= MOST_STRIDE;
        let suits = product.a.direct
            && product.round.is_none()
            && (1..=MOST_WORK).contains(&work)
            && n.len() <= MOST_COLUMNS
            && n.stride(1) == Some(1)
            && near(a_step)
            && (near(a_row) || job.has_ways_for_rows());
        let b_step = stride(k, 1).filter(|&step| {
            product.b.direct && n.stride(0) == Some(1) && near(step) && step >= n.len()
        });
        let c_row = m.stride(1)?;
        let depth = k.len().div_ceil(k.len().div_ceil(T::BLOCK).max(1));
        suits.then_some(Near { product, kernels, a_row, a_step, b_step, c_row, depth })
    }

    /// # Safety
    ///
    /// As for [`super::multiply`].
    pub(super) unsafe fn multiply(
        &self,
        context: &Context,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let [m, n, k] = [self.product.m, self.product.n, self.product.k].map(Axis::len);
        let threads = if m * n * k < SERIAL { 1 } else { context.threads() };
        let grid = Grid::new([m, n, self.depth], threads, T::kernels(), size_of::<T>());
        if grid.tasks() == 1 {
            // SAFETY: the caller's promise.
            return unsafe { self.compute(0..m, 0..n, workspace) };
        }
        let failed = AtomicBool::new(false);
        context.parallel_for(grid.tasks(), 1, |begin, end| {
            let mut workspace = Workspace::default();
            for task in begin..end {
                let (rows, columns) = (grid.rows(task), grid.columns(task));
                // SAFETY: the caller's promise; tasks write different parts of the result.
                let done = unsafe { self.compute(rows, columns, &mut workspace) };
                if done.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        });
        if failed.into_inner() { Err(out_of_memory()) } else { Ok(()) }
    }

    /// What the next tile reads: the rows below these, or, after the last ones, those of the next matrix, which is likely
    /// to begin where this one ends.
    fn soon(&self, a: *const T, height: usize, depth: usize, last: bool) -> Ask {
        let Near { a_row, a_step, .. } = *self;
        let (next, step) = match (a_row, a_step) {
            // A line of each step: the one where the rows end.
            (1, _) if last => (depth * a_step + height - 1, a_step * size_of::<T>()),
            (1, _) => (2 * height - 1, a_step * size_of::<T>()),
            // All lines, if there are no more than steps.
            (_, 1) if height * a_row * size_of::<T>() <= 64 * depth => {
                (height * a_row, height * a_row * size_of::<T>() / depth)
            }
            _ => (0, 0),
        };
        Ask { from: a.wrapping_add(next).cast(), step: step as isize }
    }

    /// Computes a part of the result, block by block of k and panel by panel of the columns.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`].
    unsafe fn compute(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let Near { product, kernels, .. } = *self;
        let Workspace { steps: [_, steps], places, row_places, column_places, .. } = workspace;
        let Workspace { right, tile, .. } = workspace;
        let width = 2 * kernels.lanes;
        let spare = room::<T>(tile, kernels.rows * width)?;
        let packed = room::<T>(right, self.depth * width)?;
        // Tiles of nearly the same height.
        let tiles = rows.len().div_ceil(kernels.rows);
        let edge = |tile: usize| rows.start + tile * rows.len() / tiles;
        let k = product.k.len();
        for k0 in (0..k).step_by(self.depth) {
            let depth = self.depth.min(k - k0);
            let mut known = false;
            for first in columns.clone().step_by(width) {
                let count = width.min(columns.end - first);
                let vectors = count.div_ceil(kernels.lanes);
                let whole = count == vectors * kernels.lanes;
                let (b, b_step) = match self.b_step.filter(|_| whole) {
                    Some(step) => {
                        let b = product.b.data.cast::<T>().wrapping_add(first + k0 * step);
                        (b, step)
                    }
                    None => {
                        if !known {
                            product.k.offsets(1, k0, depth, &mut steps.places);
                            steps.find_runs();
                            known = true;
                        }
                        product.n.offsets(0, first, count, places);
                        let lanes = vectors * kernels.lanes;
                        // SAFETY: there is room; the matrix is the caller's promise.
                        unsafe {
                            (product.b.pack)(product.b.data, places, steps, lanes, 0, packed)
                        };
                        (packed.cast_const(), lanes)
                    }
                };
                for tile in 0..tiles {
                    let (row, height) = (edge(tile), edge(tile + 1) - edge(tile));
                    let a = product.a.data.cast::<T>();
                    let c = product.c.wrapping_offset(row as isize * self.c_row);
                    let a = a.wrapping_add(row * self.a_row + k0 * self.a_step);
                    let (into, add) = match whole {
                        true => ((c.wrapping_add(first), self.c_row), k0 > 0),
                        false => ((spare, width as isize), false),
                    };
                    let task = Tile::new(depth, (a, self.a_step), (b, b_step as isize), into);
                    let task = Tile {
                        a_row: self.a_row,
                        add,
                        soon: self.soon(a, height, depth, tile + 1 == tiles),
                        ..task
                    };
                    // SAFETY: the caller's promise; what is packed or does not fit has room of its own.
                    unsafe {
                        kernels.run(vectors, height, &task);
                        if !whole {
                            product.m.offsets(1, row, height, row_places);
                            product.n.offsets(1, first, count, column_places);
                            scatter(spare, width, product.c, row_places, column_places, k0 > 0);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}
