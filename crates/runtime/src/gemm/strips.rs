//! Large products with at most twice as many rows as columns, as of a few hundred tokens with weights: each thread takes
//! strips of columns, which it packs for itself just before it multiplies them, so that they come from its own cache and
//! pass through no other. Columns that lie together are packed by the kernels, while they multiply them with the first
//! rows, in time that they have to spare. The left operand is read where it is, if it is small and lies well: what one
//! thread packs comes to others from its cache, which takes long where cores do not share one, and they would have to
//! wait for it. Otherwise it is packed once, by all threads, before.
//!
//! Sums are the same as those of [`super::Job::compute`]: blocks of k and the order in them are.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::micro::{ASKING, Ask};
use super::pack::{Steps, at_once};
use super::panels::{self, InPlace, Packed};
use super::{Address, Compute, Job, Product, Rows, is_arithmetic, out_of_memory, scratch};
use crate::context::Context;
use crate::system;

/// Multiplications from which on it pays.
const LEAST_WORK: usize = if cfg!(test) { 1 << 20 } else { 1 << 23 };
/// Rows from which on it pays where kernels pack the columns, which takes no time of its own.
const LEAST_ROWS: usize = 13;
/// Bytes of the packed operand: more is done one part after the other.
const MOST_BYTES: usize = if cfg!(test) { 1 << 17 } else { 6 << 20 };
/// Pieces of work for each thread, at least, if they can be had.
const UNITS: usize = 16;
/// Pieces that a panel's rows are cut into where panels are few, so that threads end together.
const MOST_PIECES: usize = 8;

/// Whether this way is the faster one.
pub(super) fn pays<T: Compute>(job: &Job<'_, T>) -> bool {
    let product = job.product;
    let [m, n, k] = [product.m, product.n, product.k].map(super::Axis::len);
    let work = m.saturating_mul(n).saturating_mul(k);
    let width = 2 * job.kernels.lanes;
    let least = if has_lines(job) { LEAST_ROWS } else { 4 * job.kernels.rows };
    // The left operand goes by for every panel. Where it need not be packed, [`super::shared`] has it go by once, which
    // is the better the more rows there are, but takes rows that lie apart for that.
    let (least_columns, most_rows) = match near_rows(job) {
        Some(Rows::Apart(_)) => (2 * width, n),
        Some(Rows::Together(_)) => (2 * width, 2 * n),
        None => (8 * width, 2 * n),
    };
    work >= LEAST_WORK && n >= least_columns && (least..=most_rows).contains(&m)
}

/// How the left operand is read where it is, by every panel anew, if what of it a panel is multiplied with stays near.
/// It does not in a first cache of few ways, where a tile's rows are a fifth faster to read when they are packed.
fn near_rows<T: Compute>(job: &Job<'_, T>) -> Option<Rows> {
    let Product { m, k, .. } = job.product;
    let how = job.readable(m.stride(0)?, k.stride(0)?).filter(|_| job.has_ways_for_rows())?;
    // Rows that lie apart are read in as many lines at once, which is slow where most of them come from memory; of those
    // that lie together a step takes a line of its own each, for which the second cache has to have room.
    let (steps, most) = match how {
        Rows::Apart(_) => (k.len(), MOST_BYTES),
        Rows::Together(_) => (job.depth.min(k.len()), system::second_cache() / 2),
    };
    (m.len().saturating_mul(steps).saturating_mul(size_of::<T>()) <= most).then_some(how)
}

/// Whether it is the faster way even where [`super::shares`] would do: rows lie in lines as well, and there are columns
/// enough for all threads.
pub(super) fn pays_for_long_sums<T: Compute>(job: &Job<'_, T>) -> bool {
    let Product { n, k, .. } = job.product;
    let wide = n.len() >= UNITS * 2 * job.kernels.lanes;
    wide && k.stride(0) == Some(1) && packs_on_the_way(job)
}

/// Whether kernels pack the columns while they multiply them.
pub(super) fn packs_on_the_way<T: Compute>(job: &Job<'_, T>) -> bool {
    has_lines(job) && pays(job)
}

/// Whether kernels can read the columns where they are.
fn has_lines<T: Compute>(job: &Job<'_, T>) -> bool {
    let Product { b, n, k, .. } = job.product;
    let kernels_pack = T::HEAD == 0 && !job.kernels.blocks;
    kernels_pack && b.direct && n.stride(0) == Some(1) && k.stride(1).is_some()
}

/// # Safety
///
/// As for [`super::multiply`]; k is not zero.
pub(super) unsafe fn multiply<T: Compute>(context: &Context, job: &Job<'_, T>) -> Result<()> {
    let Job { product, kernels, depth, .. } = *job;
    let (m, n, k) = (product.m.len(), product.n.len(), product.k.len());
    let blocks: Vec<[Steps; 2]> = (0..k).step_by(depth).map(|k0| job.steps(k0)).collect();
    let values = depth.min(k).div_ceil(T::STEPS);
    let tile_size = kernels.rows * values;
    let tiles = m.div_ceil(kernels.rows);
    let near_rows = near_rows(job);
    // Parts of nearly the same size: of k, so that the right operand is packed once, and if need be of the rows, too.
    let most = match near_rows {
        Some(_) => usize::MAX,
        None => MOST_BYTES / (tile_size * size_of::<T>()),
    };
    let turns = blocks.len().div_ceil((most / tiles).clamp(1, blocks.len()));
    let steps = blocks.len().div_ceil(turns);
    let parts = tiles.div_ceil((most / steps).clamp(1, tiles));
    let packed = match near_rows {
        Some(_) => 0,
        None => tiles.div_ceil(parts) * steps * tile_size,
    };
    let packed = scratch::<T>(packed)?;
    let left = match near_rows {
        Some(how) => Left::InPlace(how),
        None => Left::Packed(Address(packed.as_ptr().cast())),
    };
    let panel_size = 2 * kernels.lanes * (values + T::HEAD);
    let panels = n.div_ceil(2 * kernels.lanes);
    // As many panels as stay in the second cache beside what is asked for in their place, and the rows that go by. The
    // more steps a value holds, the sooner the rows have gone by, so that panels have to be more for them. The more panels
    // there are, the seldomer rows go by: a quarter of the cache is best on Zen 5, nearly a half on Cascade Lake, which
    // the ways of the first cache tell apart.
    let sixteenths = if job.has_ways_for_rows() { 4 } else { 7 };
    let keeps = system::second_cache() / 16 * (4 * T::STEPS).max(sixteenths);
    let near = (keeps / (panel_size * size_of::<T>())).max(1);
    // Work is handed out in pieces: some rows of a panel.
    let pieces = (UNITS * context.threads()).div_ceil(panels).clamp(1, MOST_PIECES.min(tiles));
    for number in 0..turns * parts {
        let (turn, part) = (number / parts, number % parts);
        let first = turn * blocks.len() / turns;
        let part = Part {
            job,
            blocks: &blocks[first..(turn + 1) * blocks.len() / turns],
            add: first > 0,
            tiles: part * tiles / parts..(part + 1) * tiles / parts,
            all: tiles,
            left,
            tile_size,
            panel_size,
        };
        if let Left::Packed(packed) = left {
            // A thread's attention is worth so many values.
            let grain = ((1 << 14) / tile_size).max(1);
            context.parallel_for(part.tiles.len() * part.blocks.len(), grain, |begin, end| {
                for number in begin..end {
                    // SAFETY: every tile has room of its own; the matrix is the caller's promise.
                    unsafe { part.pack(number, packed) };
                }
            });
        }
        let failed = AtomicBool::new(false);
        context.parallel_for_each(panels * pieces, |begin, end| {
            let mut next = begin;
            while next < end {
                let (panel, piece) = (next / pieces, next % pieces);
                // The rest of a panel, or whole ones, or the beginning of one.
                let (panels, some) = match (piece, (end - next) / pieces) {
                    (0, whole @ 1..) => (panel..panel + whole.min(near), 0..pieces),
                    _ => (panel..panel + 1, piece..pieces.min(piece + end - next)),
                };
                next += panels.len() * some.len();
                let follows = next < end;
                // SAFETY: the caller's promise; pieces are different parts of the result.
                if unsafe { part.strip(panels, part.share(some, pieces), follows) }.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
        });
        if failed.into_inner() {
            return Err(out_of_memory());
        }
    }
    Ok(())
}

/// Where the left operand is.
#[derive(Clone, Copy)]
enum Left<T> {
    /// Of each tile its blocks of k, one after the other.
    Packed(Address<T>),
    InPlace(Rows),
}

/// Some tiles of rows, over some of k.
struct Part<'a, T: 'static> {
    job: &'a Job<'a, T>,
    /// Of the left and the right operand, by block of k.
    blocks: &'a [[Steps; 2]],
    /// Whether there are sums of other blocks already.
    add: bool,
    tiles: Range<usize>,
    /// Tiles of the whole matrix.
    all: usize,
    left: Left<T>,
    tile_size: usize,
    panel_size: usize,
}

impl<T: Compute> Part<'_, T> {
    /// The rows of a tile; tiles are of nearly the same height.
    fn rows(&self, tile: usize) -> Range<usize> {
        let edge = |tile: usize| tile * self.job.product.m.len() / self.all;
        edge(tile)..edge(tile + 1)
    }

    /// The tiles of some pieces, of so many in all.
    fn share(&self, pieces: Range<usize>, all: usize) -> Range<usize> {
        let edge = |piece: usize| self.tiles.start + piece * self.tiles.len() / all;
        edge(pieces.start)..edge(pieces.end)
    }

    /// A block of a tile.
    fn left(&self, tile: usize, block: usize) -> (*const T, Rows) {
        let rows = self.rows(tile);
        match self.left {
            Left::Packed(packed) => {
                let number = (tile - self.tiles.start) * self.blocks.len() + block;
                let place = packed.get().wrapping_add(number * self.tile_size);
                (place.cast_const(), Rows::Together(rows.len()))
            }
            Left::InPlace(how) => {
                let Product { a, m, .. } = self.job.product;
                let place = m.offset(0, rows.start) + self.blocks[block][0].places[0];
                (a.data.cast::<T>().wrapping_offset(place), how)
            }
        }
    }

    /// # Safety
    ///
    /// As for [`super::multiply`]; nobody else packs this block of a tile.
    unsafe fn pack(&self, number: usize, packed: Address<T>) {
        let (tile, block) =
            (self.tiles.start + number / self.blocks.len(), number % self.blocks.len());
        let (a, rows) = (self.job.product.a, self.rows(tile));
        let mut places = Vec::new();
        self.job.product.m.offsets(0, rows.start, rows.len(), &mut places);
        let steps = &self.blocks[block][0];
        let into = packed.get().wrapping_add(number * self.tile_size);
        // SAFETY: the room is large enough; the matrix is the caller's promise.
        unsafe { (a.pack)(a.data, &places, steps, rows.len(), 0, into) };
    }

    /// What memory is asked for while a tile is multiplied with one of a group of panels: some lines of what is packed
    /// in their place next. The tiles, which are numbered, share them.
    fn ask(&self, group: &Range<usize>, panel: usize, block: usize, tile: usize) -> Option<Ask> {
        let Job { product, kernels, .. } = *self.job;
        let (b, width) = (product.b, 2 * kernels.lanes);
        let (column, steps) = (group.start * width, &self.blocks[block][1]);
        let (n_step, k_step) = (product.n.stride(0)?, product.k.stride(1)?);
        let count = steps.places.len();
        let (column, place, line, step) = if n_step == 1 {
            // A line of one step after the other.
            let lines = (width * b.width).div_ceil(64);
            let share = tile / lines * (count / T::STEPS).div_ceil(ASKING);
            (column + panel * width, *steps.places.get(share)?, tile % lines, k_step)
        } else {
            // A line of one column after the other, and the next one with it, which processors fetch together.
            let line = 2 * (tile * group.len() + panel);
            if k_step != 1 || line * 64 >= count * b.width {
                return None;
            }
            (column, *steps.places.first()?, line, n_step)
        };
        if column >= product.n.len() {
            return None;
        }
        let place = (product.n.offset(0, column) + place) * b.width as isize;
        let from = b.data.wrapping_offset(place).wrapping_add(line * 64);
        Some(Ask { from, step: step * b.width as isize })
    }

    /// Where columns from one on lie for a block of k, if kernels can read them there.
    fn in_place(&self, column: usize, steps: &Steps) -> Option<InPlace<T>> {
        let Product { b, n, k, .. } = self.job.product;
        let step = k.stride(1).filter(|_| has_lines(self.job))?;
        let place = n.offset(0, column) + steps.places.first()?;
        Some(InPlace { from: b.data.cast::<T>().wrapping_offset(place), step })
    }

    /// Multiplies some tiles of rows with some panels of columns. `follows` says whether the panels
    /// after these are likely to be next.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`]; the tiles are packed.
    unsafe fn strip(&self, panels: Range<usize>, tiles: Range<usize>, follows: bool) -> Result<()> {
        let Job { product, kernels, .. } = *self.job;
        let width = 2 * kernels.lanes;
        let spare_size = panels::spare(kernels);
        let room = scratch::<T>(panels.len() * self.panel_size + spare_size)?;
        let spare = room.as_ptr().cast::<T>();
        let packed = spare.wrapping_add(spare_size);
        let first = panels.start * width;
        let count = product.n.len().min(panels.end * width) - first;
        let [mut sources, mut places, mut rows] = [const { Vec::new() }; 3];
        let _session = kernels.session();
        product.n.offsets(0, first, count, &mut sources);
        product.n.offsets(1, first, count, &mut places);
        let all_dense = is_arithmetic(&places) == Some(1);
        for (block, [_, steps]) in self.blocks.iter().enumerate() {
            let at_once = at_once(width, product.b.width);
            let fresh = self.in_place(first, steps);
            let later = if fresh.is_some() { count / width } else { 0 };
            for (number, sources) in sources[later * width..].chunks(at_once * width).enumerate() {
                let into = packed.wrapping_add((later + number * at_once) * self.panel_size);
                let (data, panel) = (product.b.data, self.panel_size);
                // SAFETY: the room is large enough; the matrix is the caller's promise.
                unsafe { (product.b.pack)(data, sources, steps, width, panel, into) };
            }
            let values = steps.places.len().div_ceil(T::STEPS);
            let next = match block + 1 < self.blocks.len() {
                true => Some((panels.clone(), block + 1)),
                false => follows.then_some((panels.end..panels.end + panels.len(), 0)),
            };
            let mut packed = Packed {
                b: packed,
                size: self.panel_size,
                fresh,
                values,
                places: &places,
                dense: all_dense,
                add: self.add || block > 0,
            };
            for tile in tiles.clone() {
                let range = self.rows(tile);
                product.m.offsets(1, range.start, range.len(), &mut rows);
                let a = self.left(tile, block);
                let before = |panel: usize| {
                    let (group, block) = next.as_ref()?;
                    self.ask(group, panel, *block, tile - tiles.start)
                };
                // SAFETY: both operands are packed, and there is room.
                unsafe { self.job.put_panels(a, &rows, &packed, 0..panels.len(), spare, before) };
                packed.fresh = None;
            }
        }
        Ok(())
    }
}
