//! Convolutions whose features lie side by side, as in NHWC, without a copy of the operand.
//!
//! A tile is some places of the result, wherever they are, and some outputs of one group in the lanes of vectors. For
//! each place and tap an address says where the elements are; where a window leaves the operand, or meets what
//! dilation puts between elements, it is that of zeros. So what packing and padding cost is not paid, of which groups
//! of few features would pay most.

mod tile;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::line::{Line, OUTSIDE};
use super::pad::pad;
use super::parts::Plan;
use super::{Convolution, Spatial, plan};
use crate::context::Context;
use crate::element::Elements;
use crate::gemm::pack::{Steps, pack_panels};
use crate::gemm::{Address, out_of_memory, scratch};
use crate::system;
use tile::{Kernels, Tile};

/// Places from which on it pays to have the window in another order.
const LEAST_PLACES: usize = if cfg!(test) { 1 } else { 48 };
/// Outputs, where all are of one group, from which on vectors are full enough.
const LEAST_OUTPUTS: usize = if cfg!(test) { 1 } else { 16 };
/// Features of a tap that are fewer than is good for a loop.
const FEW_FEATURES: usize = 32;
/// Stretches of so few features up to which their addresses are not more work than what they are for. Larger windows are
/// results whose gradient is asked for; that is a product with long sums.
const MOST_RUNS: usize = 256;
/// Values that are summed before the next tile, if taps end there: a panel of so many stays in the cache, and shorter
/// chains of sums round less.
const STEPS: usize = if cfg!(test) { 8 } else { 512 };
/// Tiles of a task, at most, and addresses of elements that it holds.
const TILES: usize = 16;
const ADDRESSES: usize = 1 << 13;
/// Multiplications that are worth a thread's attention.
const GRAIN: usize = 1 << 17;
/// Tasks for each thread, so that none waits long for the last.
const ROUNDS: usize = 4;

/// Runs the convolution if it is one of those; says whether the result is there.
///
/// # Safety
///
/// As for [`super::run`].
pub(super) unsafe fn run<E: Elements>(
    context: &Context,
    c: &Convolution,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<bool> {
    if !c.is_f32::<E>() {
        return Ok(false);
    }
    let mut plans: Vec<Plan> = c.spatial.iter().map(plan).collect();
    if !pays(c, &plans) {
        return Ok(false);
    }
    let mut inner = c.clone();
    let (mut left, mut padded) = (left, None);
    if wants_margins(c, &plans) {
        // SAFETY: the caller's promise.
        let copy = unsafe { pad::<E>(context, c, &plans, left)? };
        left = copy.block.as_ptr();
        [inner.image_strides[0], inner.left_feature_stride] = [copy.strides[0], copy.strides[1]];
        for ((dim, plan), stride) in inner.spatial.iter_mut().zip(&plans).zip(&copy.strides[2..]) {
            dim.input = (plan.high - plan.low + 1) as usize;
            dim.pad_low += plan.low * dim.left_dilation as isize;
            dim.left_stride = *stride;
        }
        plans = inner.spatial.iter().map(plan).collect();
        padded = Some(copy.block);
    }
    // As many as are read at one address.
    let most = c.features * c.spatial.last().map_or(1, |dim| dim.kernel.max(1));
    let room = scratch::<f32>(most)?;
    let zeros = room.as_ptr().cast::<f32>();
    // SAFETY: there is room for them.
    unsafe { zeros.write_bytes(0, most) };
    let operands = [left.cast(), zeros.cast_const(), right.cast()];
    let piece = |lines| Piece::new(context, &inner, lines, operands, result.cast());
    let pieces = Line::of_parts(&inner, &plans).into_iter().map(piece);
    let pieces: Vec<Piece> = pieces.filter(|piece| piece.places > 0 && piece.outputs > 0).collect();
    // SAFETY: the caller's promise.
    unsafe { run_all(context, &pieces)? };
    drop(padded);
    Ok(true)
}

/// Computes all pieces, and so that threads wait for each other as seldom as if they were one.
///
/// # Safety
///
/// As for [`super::run`].
unsafe fn run_all(context: &Context, pieces: &[Piece]) -> Result<()> {
    // What one task alone needs it packs itself, so that it has it in its cache.
    let is_shared = |piece: &Piece| piece.chunks > 1;
    let panels = |piece: &Piece| if is_shared(piece) { piece.all_panels() } else { 0 };
    // Where the window of each is packed; after the last, how much room all take.
    let mut starts = vec![0];
    for (i, piece) in pieces.iter().enumerate() {
        starts.push(starts[i] + panels(piece) * piece.panel_size());
    }
    let packed = scratch::<f32>(starts[pieces.len()])?;
    let window = Address(packed.as_ptr().cast::<f32>());
    let place = |(number, piece): (usize, &Piece), panel: usize| {
        window.get().wrapping_add(starts[number] + panel * piece.panel_size())
    };
    // Which piece, and which of its panels or tasks, a number is that counts those of all.
    fn of<'p, 'a>(
        pieces: &'p [Piece<'a>],
        mut number: usize,
        count: impl Fn(&Piece) -> usize,
    ) -> Option<((usize, &'p Piece<'a>), usize)> {
        for piece in pieces.iter().enumerate() {
            match number.checked_sub(count(piece.1)) {
                Some(rest) => number = rest,
                None => return Some((piece, number)),
            }
        }
        None
    }
    let count: usize = pieces.iter().map(panels).sum();
    let grain = 1 + GRAIN / 8 * count / starts[pieces.len()].max(1);
    context.parallel_for(count, grain, |begin, end| {
        for number in begin..end {
            let Some((piece, panel)) = of(pieces, number, panels) else { return };
            // SAFETY: every panel has room of its own; the window is the caller's promise.
            unsafe { piece.1.pack(panel, place(piece, panel)) };
        }
    });
    let own = pieces.iter().filter(|piece| !is_shared(piece)).map(Piece::own_size).max();
    let failed = AtomicBool::new(false);
    let tasks = |piece: &Piece| piece.chunks * piece.shares;
    let count: usize = pieces.iter().map(tasks).sum();
    let work = |piece: &Piece| piece.places * piece.panel_size() * piece.all_panels();
    let work: usize = pieces.iter().map(work).sum();
    context.parallel_for(count, 1 + GRAIN * count / work.max(1), |begin, end| {
        let mut chunk = Chunk::default();
        let Ok(own) = scratch::<f32>(own.unwrap_or(0)) else {
            failed.store(true, Ordering::Relaxed);
            return;
        };
        for number in begin..end {
            let Some((piece, task)) = of(pieces, number, tasks) else { return };
            let (number, share) = (task / piece.1.shares, task % piece.1.shares);
            let panels = piece.1.all_panels();
            piece.1.find(number, &mut chunk);
            let panels = share * panels / piece.1.shares..(share + 1) * panels / piece.1.shares;
            // SAFETY: there is room for the panels; tasks are different parts of the result.
            unsafe {
                match is_shared(piece.1) {
                    true => panels.for_each(|panel| {
                        piece.1.compute(&chunk, panel, place(piece, panel));
                    }),
                    false => piece.1.compute_alone(&chunk, panels, own.as_ptr().cast()),
                }
            }
        }
    });
    if failed.into_inner() { Err(out_of_memory()) } else { Ok(()) }
}

fn pays(c: &Convolution, plans: &[Plan]) -> bool {
    let groups = c.feature_groups.max(1);
    let places: usize = c.images * c.spatial.iter().map(|dim| dim.output).product::<usize>();
    // Those of the last dimension may be read at one address.
    let is_apart =
        |dim: &Spatial| dim.left_stride != c.features as isize || dim.right_dilation != 1;
    let (last, outer) = c.spatial.split_last().map_or((1, &[][..]), |(last, outer)| {
        (if is_apart(last) { last.kernel } else { 1 }, outer)
    });
    let runs = last * outer.iter().map(|dim| dim.kernel).product::<usize>();
    // Where windows stay inside the operand, products read it where it is, too.
    let copied = || plans.iter().zip(&c.spatial).any(|(plan, dim)| !plan.fits(dim));
    c.batch_groups == 1
        && (c.left_feature_stride == 1 || c.features == 1)
        && (c.output_strides[1] == 1 || c.outputs == 1)
        && places >= LEAST_PLACES
        && match groups {
            1 => {
                let many_addresses = runs > MOST_RUNS && c.features < FEW_FEATURES;
                c.outputs >= LEAST_OUTPUTS && copied() && !many_addresses
            }
            _ => c.outputs / groups > 1 || c.features / groups > 1,
        }
}

/// Whether features are so few that it pays to read those of neighbouring taps together, and to have a copy with
/// zeros around the operand to do so.
fn wants_margins(c: &Convolution, plans: &[Plan]) -> bool {
    let (Some(dim), Some(plan)) = (c.spatial.last(), plans.last()) else { return false };
    let together = dim.left_stride == c.features as isize && dim.right_dilation == 1;
    c.feature_groups == 1
        && c.features < FEW_FEATURES
        && together
        && dim.kernel > 1
        && plans.iter().all(|plan| plan.spread == 1)
        && !plan.fits(dim)
}

/// The places of a result that need the same taps.
struct Piece<'a> {
    c: &'a Convolution,
    lines: Vec<Line>,
    left: *const f32,
    /// As many as are read at one address.
    zeros: *const f32,
    right: *const f32,
    result: Address<f32>,
    kernels: &'static Kernels,
    /// Of each group.
    features: usize,
    outputs: usize,
    taps: usize,
    /// Taps whose elements all lie together, in every window.
    run: usize,
    places: usize,
    /// Of the stretches of each window, some at a time.
    blocks: Vec<Stretches>,
    tiles: usize,
    /// Tasks are so many chunks of the tiles, each with so many shares of the panels.
    chunks: usize,
    shares: usize,
}

// SAFETY: threads write different places of the result.
unsafe impl Sync for Piece<'_> {}

impl<'a> Piece<'a> {
    fn new(
        context: &Context,
        c: &'a Convolution,
        lines: Vec<Line>,
        [left, zeros, right]: [*const f32; 3],
        result: *mut f32,
    ) -> Piece<'a> {
        let groups = c.feature_groups.max(1);
        let (features, outputs) = (c.features / groups, c.outputs / groups);
        // Neighbours in the last dimension, where there is nothing between their features.
        let run = match lines.last() {
            Some(line) if groups == 1 && line.is_apart(features as isize) => line.taps.len().max(1),
            _ => 1,
        };
        let mut piece = Piece {
            run,
            taps: lines.iter().map(|line| line.taps.len()).product(),
            places: c.images * lines.iter().map(|line| line.places).product::<usize>(),
            kernels: tile::for_outputs(outputs),
            result: Address(result),
            c,
            lines,
            left,
            zeros,
            right,
            features,
            outputs,
            blocks: Vec::new(),
            tiles: 0,
            chunks: 1,
            shares: 1,
        };
        piece.find_blocks();
        let rows = piece.kernels.rows;
        piece.tiles = piece.places.div_ceil(rows);
        let most = (ADDRESSES / (rows * piece.runs().max(1))).clamp(1, TILES);
        let (wanted, panels) = (ROUNDS * context.threads(), piece.all_panels().max(1));
        // Where places are few, threads share them and take some panels each.
        piece.chunks = piece.tiles.div_ceil(most).max(wanted.div_ceil(panels).min(piece.tiles));
        piece.shares = wanted.div_ceil(piece.chunks.max(1)).min(panels);
        piece
    }

    /// Panels of each group.
    fn panels(&self) -> usize {
        self.outputs.div_ceil(self.kernels.lanes)
    }

    fn all_panels(&self) -> usize {
        self.panels() * self.c.feature_groups.max(1)
    }

    fn panel_size(&self) -> usize {
        self.taps * self.features * self.kernels.lanes
    }

    /// Stretches of elements that each window has.
    fn runs(&self) -> usize {
        self.taps / self.run
    }

    /// At least one, which writes zeros where there are no taps.
    fn find_blocks(&mut self) {
        let stride = self.c.right_feature_stride;
        let taps = Line::all_taps(&self.lines);
        let most = (STEPS / (self.features * self.run).max(1)).max(1);
        for first in (0..self.runs().max(1)).step_by(most) {
            let range = first..self.runs().min(first + most);
            let mut steps = Steps::default();
            for &at in &taps[range.start * self.run..range.end * self.run] {
                let feature = |feature: usize| at + feature as isize * stride;
                steps.places.extend((0..self.features).map(feature));
            }
            steps.find_runs();
            self.blocks.push(Stretches { range, steps });
        }
    }

    /// Values of some stretches in a panel.
    fn size(&self, stretches: usize) -> usize {
        stretches * self.run * self.features * self.kernels.lanes
    }

    /// Values of the largest block in a panel.
    fn block_size(&self) -> usize {
        self.size(self.blocks.iter().map(|block| block.range.len()).max().unwrap_or(0))
    }

    /// Panels of which a task that packs them itself has a block in its cache.
    fn near(&self) -> usize {
        let bytes = self.block_size() * size_of::<f32>();
        (system::second_cache() / 2 / bytes.max(1)).clamp(1, self.panels())
    }

    /// Values of what such a task packs at once.
    fn own_size(&self) -> usize {
        self.near() * self.block_size()
    }

    /// The first output of a panel, among all, and how many it has.
    fn outputs_of(&self, panel: usize) -> (usize, usize) {
        let (group, panel) = (panel / self.panels(), panel % self.panels());
        let first = panel * self.kernels.lanes;
        (group * self.outputs + first, self.kernels.lanes.min(self.outputs - first))
    }

    /// # Safety
    ///
    /// The window can be read, and there is room for a panel.
    unsafe fn pack(&self, panel: usize, into: *mut f32) {
        for block in &self.blocks {
            let into = into.wrapping_add(self.size(block.range.start));
            // SAFETY: the caller's promise.
            unsafe { self.pack_block(panel..panel + 1, block, into) };
        }
    }

    /// Packs a block of some panels of one group, [`Piece::block_size`] from each other.
    ///
    /// # Safety
    ///
    /// The window can be read, and there is room.
    unsafe fn pack_block(&self, panels: Range<usize>, block: &Stretches, into: *mut f32) {
        let first = self.outputs_of(panels.start).0;
        let (last, count) = self.outputs_of(panels.end - 1);
        let stride = self.c.output_strides[0];
        let lanes: Vec<isize> =
            (first..last + count).map(|output| output as isize * stride).collect();
        let from = self.right.wrapping_offset(self.c.right_start).cast();
        let (width, size) = (self.kernels.lanes, self.block_size());
        // SAFETY: the caller's promise.
        unsafe { pack_panels::<f32, f32>(from, &lanes, &block.steps, width, size, into) };
    }

    /// Finds where the elements and results of a chunk's tiles are.
    fn find(&self, number: usize, chunk: &mut Chunk) {
        let numbers = number * self.tiles / self.chunks..(number + 1) * self.tiles / self.chunks;
        let Chunk { rows, elements, result } = chunk;
        let edge = |number: usize| number * self.places / self.tiles;
        rows.clear();
        elements.clear();
        result.clear();
        let width = self.lines.last().map_or(1, |line| line.places);
        let (mut row, mut stretches) = (usize::MAX, Row::default());
        for number in numbers {
            let height = edge(number + 1) - edge(number);
            let start = elements.len();
            rows.push(height);
            elements.resize(start + height * self.runs(), std::ptr::null());
            for (tile_row, place) in (edge(number)..edge(number + 1)).enumerate() {
                if row != place / width {
                    row = place / width;
                    self.find_row(row, &mut stretches);
                }
                let here = self.lines.last().map_or(&[0][..], |line| line.elements(place % width));
                // Of a run the first tap is enough.
                let here = if self.run > 1 { &here[..1] } else { here };
                let mut slots = elements.iter_mut().skip(start + tile_row).step_by(height);
                for &above in &stretches.elements {
                    for (&element, slot) in here.iter().zip(&mut slots) {
                        *slot = match above == OUTSIDE || element == OUTSIDE {
                            true => self.zeros,
                            false => self.left.wrapping_offset(above + element),
                        };
                    }
                }
                let into = self.lines.last().map_or(0, |line| line.target(place % width));
                result.push(self.result.get().wrapping_offset(stretches.result + into));
            }
        }
    }

    /// Finds what the places along the last dimension have in common.
    fn find_row(&self, mut number: usize, row: &mut Row) {
        let outer = self.lines.split_last().map_or(&[][..], |(_, outer)| outer);
        let mut divisor = self.c.images * outer.iter().map(|line| line.places).product::<usize>();
        let mut of = |count: usize| {
            divisor /= count;
            let index = number / divisor;
            number %= divisor;
            index
        };
        let image = of(self.c.images) as isize;
        let Row { elements, next, result } = row;
        *result = image * self.c.image_strides[1];
        elements.clear();
        elements.push(image * self.c.image_strides[0]);
        for line in outer {
            let at = of(line.places);
            *result += line.target(at);
            next.clear();
            for &so_far in &*elements {
                next.extend(line.elements(at).iter().map(|&element| {
                    match so_far == OUTSIDE || element == OUTSIDE {
                        true => OUTSIDE,
                        false => so_far + element,
                    }
                }));
            }
            std::mem::swap(elements, next);
        }
    }

    /// Computes all tiles of a chunk for one panel, which is packed.
    ///
    /// # Safety
    ///
    /// As for [`super::run`]; `window` is the panel, and nobody else writes these places and outputs.
    unsafe fn compute(&self, chunk: &Chunk, panel: usize, window: *const f32) {
        for block in &self.blocks {
            let window = window.wrapping_add(self.size(block.range.start));
            // SAFETY: the caller's promise.
            unsafe { self.compute_block(chunk, panel, block, window) };
        }
    }

    /// Packs and computes all tiles of a chunk for some panels.
    ///
    /// # Safety
    ///
    /// As for [`super::run`]; there is room as [`Piece::own_size`] says, and nobody else writes these places and outputs.
    unsafe fn compute_alone(&self, chunk: &Chunk, panels: Range<usize>, room: *mut f32) {
        let mut begin = panels.start;
        while begin < panels.end {
            // Those of one group.
            let end = (begin / self.panels() + 1) * self.panels();
            let some = begin..panels.end.min(end).min(begin + self.near());
            for block in &self.blocks {
                // SAFETY: the caller's promise.
                unsafe {
                    self.pack_block(some.clone(), block, room);
                    for panel in some.clone() {
                        let window = room.add((panel - begin) * self.block_size());
                        self.compute_block(chunk, panel, block, window);
                    }
                }
            }
            begin = some.end;
        }
    }

    /// Adds what a block of a panel contributes to all tiles of a chunk; the first one begins the sums.
    ///
    /// # Safety
    ///
    /// As for [`Piece::compute`]; `window` is the block of the panel.
    unsafe fn compute_block(
        &self,
        chunk: &Chunk,
        panel: usize,
        block: &Stretches,
        window: *const f32,
    ) {
        let (output, outputs) = self.outputs_of(panel);
        let first = panel / self.panels() * self.features;
        let (mut elements, mut result) = (0, 0);
        for &rows in &chunk.rows {
            let tile = Tile {
                taps: block.range.len(),
                features: self.features * self.run,
                elements: chunk.elements[elements + block.range.start * rows..].as_ptr(),
                first,
                window,
                result: chunk.result[result..].as_ptr(),
                output,
                outputs,
                add: block.range.start > 0,
            };
            // SAFETY: the addresses are those of elements, zeros and results.
            unsafe { self.kernels.run(rows, &tile) };
            elements += rows * self.runs();
            result += rows;
        }
    }
}

/// Places that only the last dimension tells apart.
#[derive(Default)]
struct Row {
    /// By tap of the dimensions before it, where its elements begin, or [`OUTSIDE`].
    elements: Vec<isize>,
    next: Vec<isize>,
    /// Where the results begin.
    result: isize,
}

/// Some stretches of elements that every window has.
struct Stretches {
    range: Range<usize>,
    /// Where their values of one output are in the window.
    steps: Steps,
}

/// Some tiles: the rows of each, and addresses of elements (see [`Tile::elements`]) and results.
#[derive(Default)]
struct Chunk {
    rows: Vec<usize>,
    elements: Vec<*const f32>,
    result: Vec<*mut f32>,
}
