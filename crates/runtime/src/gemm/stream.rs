//! Products of a few rows with a matrix that is read where it is: it goes by once, some steps of k of a stretch of
//! columns at a time, in the order in which it lies, and every line of it is asked for before its turn. The sums of
//! the stretch stay in the first cache meanwhile. Where the steps of a few columns lie one after the other, as tiled
//! matrices have them, all of a panel's go by at once, and come by themselves.

use std::ops::Range;

use rxla_base::Result;

use super::micro::Tile;
use super::pack::prefetch;
use super::{Compute, Job, Rows, Workspace, is_arithmetic, panels, room};

/// Steps of k that go by at a time.
const STEPS: usize = 32;
/// Panels that are asked for ahead.
const AHEAD: usize = 2;
/// Bytes of a step of the columns that a tiled matrix has together, at most.
const TILED: usize = 256;
/// Bytes of sums that stay near.
const NEAR: usize = 16 << 10;

impl<T: Compute> Job<'_, T> {
    /// Computes a part of the result.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`]; the right operand can be read where it is.
    pub(super) unsafe fn stream(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        workspace: &mut Workspace<T>,
    ) -> Result<()> {
        let Job { product, kernels, depth, .. } = *self;
        debug_assert!(product.round.is_none(), "sums of several blocks are not rounded");
        let (k, lanes) = (product.k.len(), kernels.lanes);
        let (width, height) = (2 * lanes, kernels.rows);
        let tiles = rows.len().div_ceil(height);
        if tiles == 0 || columns.is_empty() {
            return Ok(());
        }
        // Tiles of nearly the same height.
        let edge = |tile: usize| tile * rows.len() / tiles;
        let Workspace { steps: [steps_a, steps_b], places, row_places, column_places, .. } =
            workspace;
        let Workspace { left, right, tile, .. } = workspace;
        let left = room::<T>(left, rows.len() * depth)?;
        let spare = room::<T>(tile, panels::spare(kernels))?;
        product.n.offsets(1, columns.start, columns.len(), column_places);
        let dense = is_arithmetic(column_places) == Some(1);
        let b_step = product.k.stride(1).unwrap_or(0);
        let stretch = (NEAR / size_of::<T>() / rows.len()).next_multiple_of(width);
        // Sums are the same for all sets of instructions: how wide their panels are does not count.
        let is_tiled = product.n.dims.last().is_some_and(|inner| {
            inner.size as isize == b_step && inner.size * size_of::<T>() <= TILED
        });
        let steps_at_once = if is_tiled { depth } else { STEPS };
        let right = room::<T>(right, width * steps_at_once)?;
        for k0 in (0..k).step_by(depth) {
            let k1 = k.min(k0 + depth);
            product.k.offsets(0, k0, k1 - k0, &mut steps_a.places);
            steps_a.find_runs();
            for tile in 0..tiles {
                let rows = rows.start + edge(tile)..rows.start + edge(tile + 1);
                product.m.offsets(0, rows.start, rows.len(), row_places);
                let into = left.wrapping_add(edge(tile) * (k1 - k0));
                // SAFETY: the room is large enough; the matrix is the caller's promise.
                unsafe {
                    (product.a.pack)(product.a.data, row_places, steps_a, rows.len(), 0, into)
                };
            }
            product.m.offsets(1, rows.start, rows.len(), row_places);
            for begin in (columns.start..columns.end).step_by(stretch) {
                let end = columns.end.min(begin + stretch);
                let panels = (end - begin).div_ceil(width);
                let turns = panels * (k1 - k0).div_ceil(steps_at_once);
                // The first column of a turn and its steps.
                let turn_at = |turn: usize| {
                    let kk = k0 + turn / panels * steps_at_once;
                    (begin + turn % panels * width, kk..k1.min(kk + steps_at_once))
                };
                let place = |column: usize, k: usize| {
                    let place = product.n.offset(0, column) + product.k.offset(1, k);
                    product.b.data.cast::<T>().wrapping_offset(place)
                };
                for turn in 0..turns {
                    if !is_tiled && turn + AHEAD < turns {
                        let (column, some) = turn_at(turn + AHEAD);
                        ask(place(column, some.start), some.len(), b_step, width);
                    }
                    let (first, some) = turn_at(turn);
                    let count = width.min(end - first);
                    let vectors = count.div_ceil(lanes);
                    let (b, b_step) = if count == vectors * lanes {
                        (place(first, some.start), b_step)
                    } else {
                        product.n.offsets(0, first, count, places);
                        product.k.offsets(1, some.start, some.len(), &mut steps_b.places);
                        steps_b.find_runs();
                        let (data, lanes) = (product.b.data, vectors * lanes);
                        // SAFETY: the room is large enough; the matrix is the caller's promise.
                        unsafe { (product.b.pack)(data, places, steps_b, lanes, 0, right) };
                        (right.cast_const(), lanes as isize)
                    };
                    let first = first - columns.start;
                    let columns = &column_places[first..first + count];
                    let dense = dense || is_arithmetic(columns) == Some(1);
                    for tile in 0..tiles {
                        let rows = &row_places[edge(tile)..edge(tile + 1)];
                        let a = edge(tile) * (k1 - k0) + (some.start - k0) * rows.len();
                        let a = (left.wrapping_add(a).cast_const(), rows.len());
                        let c = (spare, (vectors * lanes) as isize);
                        let how = Rows::Together(rows.len());
                        let task = Tile::new(some.len(), a, (b, b_step), c);
                        let task = Tile { add: some.start > 0, ..task };
                        let row_step = is_arithmetic(rows);
                        // SAFETY: packed above, or the caller's promise, as the result is; there is room.
                        unsafe { self.put(task, how, rows, row_step, columns, dense) };
                    }
                }
            }
        }
        Ok(())
    }
}

/// Asks for so many steps of a panel of columns.
fn ask<T>(from: *const T, steps: usize, step: isize, width: usize) {
    for number in 0..steps as isize {
        let row = from.wrapping_offset(number * step);
        for line in (0..width * size_of::<T>()).step_by(64) {
            prefetch(row.wrapping_byte_add(line));
        }
    }
}
