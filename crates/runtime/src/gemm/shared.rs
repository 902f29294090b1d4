//! Large products on several threads: the right operand is packed once, by all of them, and then each
//! takes rows of the left one, which it reads where they are, if they lie well there.
//!
//! Who packs for himself packs what others pack, too; with large matrices that costs more than to wait
//! for each other twice in a block of k. Sums are the same as those of [`super::Job::compute`]: blocks of k
//! and the order in them are.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::lines::{Lines, Panels};
use super::micro::{ASKING, Ask};
use super::pack::{Steps, at_once, is_near, prefetch_rows};
use super::panels::{self, Packed};
use super::{Address, Compute, Job, Rows, is_arithmetic, out_of_memory, scratch};
use crate::context::Context;
use crate::system;

/// Multiplications from which on it pays.
const LEAST_WORK: usize = if cfg!(test) { 1 << 22 } else { 1 << 23 };
/// Bytes of the packed operand: more is done one part after the other.
const MOST_BYTES: usize = if cfg!(test) { 1 << 17 } else { 8 << 20 };
/// Tasks for each thread, at least, so that nobody waits long for the last one.
const ROUNDS: usize = 6;
/// Tiles that a task packs before it goes on to other columns.
const MOST_TILES: usize = 8;

/// Whether this way is the faster one.
pub(super) fn pays<T: Compute>(job: &Job<'_, T>, threads: usize) -> bool {
    let product = job.product;
    let [m, n, k] = [product.m, product.n, product.k].map(super::Axis::len);
    let work = m.saturating_mul(n).saturating_mul(k);
    let width = 2 * job.kernels.lanes;
    // With few rows, or few columns, packing for oneself is little.
    !job.direct && threads > 1 && work >= LEAST_WORK && m >= 4 * job.kernels.rows && n >= 2 * width
}

/// # Safety
///
/// As for [`super::multiply`].
pub(super) unsafe fn multiply<T: Compute>(context: &Context, job: &Job<'_, T>) -> Result<()> {
    let (n, k) = (job.product.n.len(), job.product.k.len());
    let width = 2 * job.kernels.lanes;
    let values = job.depth.min(k).div_ceil(T::STEPS);
    let panel_size = width * (values + T::HEAD);
    let most = (MOST_BYTES / (panel_size * size_of::<T>())).max(1) * width;
    // Parts of nearly the same size.
    let parts = n.div_ceil(most);
    let step = n.div_ceil(parts).next_multiple_of(width);
    let packed = scratch::<T>(step.min(n).div_ceil(width) * panel_size)?;
    for first in (0..n).step_by(step) {
        let columns = first..n.min(first + step);
        let mut places = Vec::new();
        job.product.n.offsets(1, columns.start, columns.len(), &mut places);
        let dense = is_arithmetic(&places) == Some(1);
        let mut k0 = 0;
        while k0 < k {
            let depth = job.depth.min(k - k0);
            let steps = job.steps(k0);
            let block = Block {
                job,
                steps: &steps,
                columns: columns.clone(),
                places: &places,
                dense,
                packed: Address(packed.as_ptr().cast::<T>()),
                panel_step: panel_size,
                values: depth.div_ceil(T::STEPS),
                add: k0 > 0,
            };
            // SAFETY: the caller's promise; the packed operand has room.
            unsafe {
                block.pack(context, 0..block.panels());
                block.multiply(context)?;
            }
            k0 += depth;
        }
    }
    Ok(())
}

/// A block of k, for some columns.
pub(super) struct Block<'a, T: 'static> {
    pub(super) job: &'a Job<'a, T>,
    /// Of the left and the right operand.
    pub(super) steps: &'a [Steps; 2],
    pub(super) columns: Range<usize>,
    /// Where they are in the result.
    pub(super) places: &'a [isize],
    /// Whether they lie together there.
    pub(super) dense: bool,
    pub(super) packed: Address<T>,
    /// From one packed panel of columns to the next.
    pub(super) panel_step: usize,
    pub(super) values: usize,
    pub(super) add: bool,
}

impl<T: Compute> Block<'_, T> {
    pub(super) fn panels(&self) -> usize {
        self.columns.len().div_ceil(2 * self.job.kernels.lanes)
    }

    /// Packs some panels.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`]; there is room for the panels.
    pub(super) unsafe fn pack(&self, context: &Context, panels: Range<usize>) {
        let Job { product, kernels, .. } = *self.job;
        let width = 2 * kernels.lanes;
        let at_once = at_once(width, product.b.width);
        // A thread's attention is worth so many values.
        let grain = ((1 << 14) / (at_once * width * self.values).max(1)).max(1);
        context.parallel_for(panels.len().div_ceil(at_once), grain, |begin, end| {
            let mut places = Vec::new();
            for number in begin..end {
                let panel = panels.start + number * at_once;
                let first = self.columns.start + panel * width;
                let count = (at_once.min(panels.end - panel) * width).min(self.columns.end - first);
                product.n.offsets(0, first, count, &mut places);
                let into = self.packed.get().wrapping_add(panel * self.panel_step);
                let (data, steps) = (product.b.data, &self.steps[1]);
                // SAFETY: every panel has room of its own; the matrix is the caller's promise.
                unsafe { (product.b.pack)(data, &places, steps, width, self.panel_step, into) };
            }
        });
    }

    /// Multiplies with the panels, which are packed.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`].
    pub(super) unsafe fn multiply(&self, context: &Context) -> Result<()> {
        let Job { product, kernels, .. } = *self.job;
        let panels = self.panels();
        let tiles = product.m.len().div_ceil(kernels.rows);
        // Where there are few rows, columns are shared as well.
        let sides = (ROUNDS * context.threads() / tiles).clamp(1, panels);
        let failed = AtomicBool::new(false);
        context.parallel_for_each(tiles * sides, |begin, end| {
            let mut next = begin;
            while next < end {
                let (tile, side) = (next / sides, next % sides);
                let some = if sides == 1 { MOST_TILES.min(end - next) } else { 1 };
                next += some;
                let panels = side * panels / sides..(side + 1) * panels / sides;
                // SAFETY: the caller's promise; tasks write different parts of the result.
                if unsafe { self.compute(tile..tile + some, panels) }.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        });
        if failed.into_inner() { Err(out_of_memory()) } else { Ok(()) }
    }

    /// Multiplies tiles with panels, as many of these at a time as the second cache keeps.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`]; the panels are packed.
    unsafe fn compute(&self, tiles: Range<usize>, panels: Range<usize>) -> Result<()> {
        let Job { product, kernels, .. } = *self.job;
        // Tiles of nearly the same height.
        let all = product.m.len().div_ceil(kernels.rows);
        let edge = |tile: usize| tile * product.m.len() / all;
        if let Some(lines) = Lines::of(self.job, &self.steps[0], self.places, self.dense) {
            let (size, values) = (self.panel_step, self.values);
            let step = 2 * kernels.lanes;
            let b = Panels { b: self.packed.get(), size, step, values, add: self.add };
            // SAFETY: the caller's promise.
            unsafe { lines.multiply(edge, tiles, panels, &b) };
            return Ok(());
        }
        let tile_size = kernels.rows * self.values;
        let left = scratch::<T>(tiles.len() * tile_size + panels::spare(kernels))?;
        let left = left.as_ptr().cast::<T>();
        let spare = left.wrapping_add(tiles.len() * tile_size);
        let panel_size = 2 * kernels.lanes * self.values;
        let near = system::second_cache() / 2 / (panel_size * size_of::<T>()).max(1);
        let (mut places, mut next_places) = (Vec::new(), Vec::new());
        let fetches = is_near(product.a.width, kernels.rows, &self.steps[0]);
        let _session = kernels.session();
        for first in panels.clone().step_by(near.max(1)) {
            let some = first..panels.end.min(first + near.max(1));
            for (number, tile) in tiles.clone().enumerate() {
                let height = edge(tile + 1) - edge(tile);
                product.m.offsets(0, edge(tile), height, &mut places);
                let in_place = self.job.in_place(&places, &self.steps[0]);
                let a = in_place.unwrap_or_else(|| {
                    let packed = left.wrapping_add(number * tile_size);
                    if first == panels.start {
                        let (data, steps) = (product.a.data, &self.steps[0]);
                        // SAFETY: the room is large enough; the matrix is the caller's promise.
                        unsafe { (product.a.pack)(data, &places, steps, height, 0, packed) };
                    }
                    (packed.cast_const(), Rows::Together(height))
                });
                next_places.clear();
                if fetches && first == panels.start && tile + 1 < tiles.end {
                    let next = edge(tile + 1);
                    product.m.offsets(0, next, edge(tile + 2) - next, &mut next_places);
                }
                product.m.offsets(1, edge(tile), height, &mut places);
                // SAFETY: the caller's promise.
                unsafe { self.row(a, &places, some.clone(), &next_places, spare) };
            }
        }
        Ok(())
    }

    /// Multiplies a tile's rows with panels, while the next rows are fetched.
    ///
    /// # Safety
    ///
    /// As for [`Block::compute`]; `a` has the rows, and there is room for a tile at `spare`.
    unsafe fn row(
        &self,
        a: (*const T, Rows),
        rows: &[isize],
        panels: Range<usize>,
        next: &[isize],
        spare: *mut T,
    ) {
        let mut next = next.chunks(next.len().div_ceil(panels.len()).max(1));
        let packed = Packed {
            b: self.packed.get(),
            fresh: None,
            size: self.panel_step,
            values: self.values,
            places: self.places,
            dense: self.dense,
            add: self.add,
        };
        let before = |panel| {
            prefetch_rows(self.job.product.a, next.next().unwrap_or_default(), &self.steps[0]);
            let Rows::Together(step) = a.1 else { return None };
            // Of the next tile's steps, where they lie beside these: each panel asks for some.
            let first = panel * self.values.div_ceil(ASKING);
            (step > rows.len() && first < self.values).then(|| Ask {
                from: a.0.wrapping_add(2 * rows.len() - 1 + first * step).cast(),
                step: (step * size_of::<T>()) as isize,
            })
        };
        // SAFETY: both operands are packed, the last panel filled up with zeros, and there is room.
        unsafe { self.job.put_panels(a, rows, &packed, panels, spare, before) };
    }
}
