//! Convolutions whose features lie side by side, as in NHWC, without a copy of the operand.
//!
//! A tile is some places of the result, wherever they are, and some outputs of one group in the lanes of vectors. For
//! each place and tap an address says where the elements are; where a window leaves the operand, or meets what
//! dilation puts between elements, it is that of zeros. So what packing and padding cost is not paid, of which groups
//! of few features would pay most.

mod tile;

use rxla_base::Result;

use super::line::{Line, OUTSIDE};
use super::pad::pad;
use super::parts::Plan;
use super::{Convolution, plan};
use crate::context::Context;
use crate::element::{Element, Elements};
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, scratch};
use tile::{Kernels, Tile};

/// Places from which on it pays to have the window in another order.
const LEAST_PLACES: usize = if cfg!(test) { 1 } else { 48 };
/// Outputs, where all are of one group, from which on vectors are full enough.
const LEAST_OUTPUTS: usize = if cfg!(test) { 1 } else { 16 };
/// Features of a tap that are fewer than is good for a loop.
const FEW_FEATURES: usize = 32;
/// Bytes of a panel of the window that are gone through before the next tile.
const PANEL_BYTES: usize = 128 << 10;
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
    let elements = [c.left, c.right, c.result].map(E::known);
    if elements != [Element::F32; 3] {
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
    for lines in Line::of_parts(&inner, &plans) {
        let operands = [left.cast(), zeros.cast_const(), right.cast()];
        // SAFETY: the caller's promise.
        unsafe { Piece::new(&inner, lines, operands, result.cast()).run(context)? };
    }
    drop(padded);
    Ok(true)
}

fn pays(c: &Convolution, plans: &[Plan]) -> bool {
    let groups = c.feature_groups.max(1);
    let places: usize = c.images * c.spatial.iter().map(|dim| dim.output).product::<usize>();
    // Where windows stay inside the operand, products read it where it is, too.
    let copied = || plans.iter().zip(&c.spatial).any(|(plan, dim)| !plan.fits(dim));
    c.batch_groups == 1
        && (c.left_feature_stride == 1 || c.features == 1)
        && (c.output_strides[1] == 1 || c.outputs == 1)
        && places >= LEAST_PLACES
        && match groups {
            1 => c.outputs >= LEAST_OUTPUTS && copied(),
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
}

// SAFETY: threads write different places of the result.
unsafe impl Sync for Piece<'_> {}

impl<'a> Piece<'a> {
    fn new(
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
        Piece {
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
        }
    }

    /// Panels of each group.
    fn panels(&self) -> usize {
        self.outputs.div_ceil(self.kernels.lanes)
    }

    /// Stretches of elements that each window has.
    fn runs(&self) -> usize {
        self.taps / self.run
    }

    /// # Safety
    ///
    /// As for [`super::run`].
    unsafe fn run(&self, context: &Context) -> Result<()> {
        if self.places == 0 || self.c.outputs == 0 {
            return Ok(());
        }
        let panels = self.panels() * self.c.feature_groups.max(1);
        let panel_size = self.taps * self.features * self.kernels.lanes;
        let rows = self.kernels.rows;
        let tiles = self.places.div_ceil(rows);
        let most = (ADDRESSES / (rows * self.runs().max(1))).clamp(1, TILES);
        let wanted = ROUNDS * context.threads();
        let (least, steps) = (tiles.div_ceil(most), self.steps());
        // Where places are few, threads share them and take some panels each.
        let chunks = least.max(wanted.div_ceil(panels).min(tiles));
        let shares = wanted.div_ceil(chunks).min(panels);
        let packed = scratch::<f32>(panels * panel_size)?;
        let window = Address(packed.as_ptr().cast::<f32>());
        let place = |panel: usize| window.get().wrapping_add(panel * panel_size);
        // What one task alone needs it packs itself, so that it has it in its cache.
        let is_shared = chunks > 1;
        if is_shared {
            context.parallel_for(panels, 1 + GRAIN / 8 / panel_size.max(1), |begin, end| {
                for panel in begin..end {
                    // SAFETY: every panel has room of its own; the window is the caller's promise.
                    unsafe { self.pack(panel, &steps, place(panel)) };
                }
            });
        }
        let work = self.places * panel_size * panels / (chunks * shares);
        context.parallel_for(chunks * shares, 1 + GRAIN / work.max(1), |begin, end| {
            let mut chunk = Chunk::default();
            for task in begin..end {
                let (number, share) = (task / shares, task % shares);
                let edge = |number: usize| number * tiles / chunks;
                self.find(edge(number)..edge(number + 1), tiles, &mut chunk);
                for panel in share * panels / shares..(share + 1) * panels / shares {
                    // SAFETY: there is room for the panel; tasks are different parts of the result.
                    unsafe {
                        if !is_shared {
                            self.pack(panel, &steps, place(panel));
                        }
                        self.compute(&chunk, panel, place(panel));
                    }
                }
            }
        });
        Ok(())
    }

    /// Where the values of one output are in the window.
    fn steps(&self) -> Steps {
        let stride = self.c.right_feature_stride;
        let mut steps = Steps::default();
        for at in Line::all_taps(&self.lines) {
            steps.places.extend((0..self.features).map(|feature| at + feature as isize * stride));
        }
        steps.find_runs();
        steps
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
    unsafe fn pack(&self, panel: usize, steps: &Steps, into: *mut f32) {
        let (first, count) = self.outputs_of(panel);
        let stride = self.c.output_strides[0];
        let lanes: Vec<isize> =
            (first..first + count).map(|output| output as isize * stride).collect();
        let from = self.right.wrapping_offset(self.c.right_start).cast();
        // SAFETY: the caller's promise.
        unsafe { pack::<f32, f32>(from, &lanes, steps, self.kernels.lanes, into) };
    }

    /// Finds where the elements and results of some of all tiles are.
    fn find(&self, numbers: std::ops::Range<usize>, tiles: usize, chunk: &mut Chunk) {
        let Chunk { rows, elements, result } = chunk;
        let edge = |number: usize| number * self.places / tiles;
        rows.clear();
        elements.clear();
        result.clear();
        let [mut now, mut next] = [const { Vec::new() }; 2];
        for number in numbers {
            let height = edge(number + 1) - edge(number);
            let start = elements.len();
            rows.push(height);
            elements.resize(start + height * self.runs(), std::ptr::null());
            for row in 0..height {
                let mut place = edge(number) + row;
                let mut divisor = self.places;
                let mut of = |count: usize| {
                    divisor /= count;
                    let index = place / divisor;
                    place %= divisor;
                    index
                };
                let image = of(self.c.images) as isize;
                let mut into = image * self.c.image_strides[1];
                now.clear();
                now.push(image * self.c.image_strides[0]);
                for line in &self.lines {
                    let at = of(line.places);
                    into += line.target(at);
                    let here = line.elements(at);
                    next.clear();
                    for &so_far in &now {
                        next.extend(here.iter().map(|&element| {
                            match so_far == OUTSIDE || element == OUTSIDE {
                                true => OUTSIDE,
                                false => so_far + element,
                            }
                        }));
                    }
                    std::mem::swap(&mut now, &mut next);
                }
                for (run, &at) in now.iter().step_by(self.run).enumerate() {
                    elements[start + run * height + row] = match at {
                        OUTSIDE => self.zeros,
                        _ => self.left.wrapping_offset(at),
                    };
                }
                result.push(self.result.get().wrapping_offset(into));
            }
        }
    }

    /// Computes all tiles of a chunk for one panel.
    ///
    /// # Safety
    ///
    /// As for [`super::run`]; `window` is the panel, and nobody else writes these places and outputs.
    unsafe fn compute(&self, chunk: &Chunk, panel: usize, window: *const f32) {
        let (output, outputs) = self.outputs_of(panel);
        let first = panel / self.panels() * self.features;
        let features = self.features * self.run;
        let run_size = features * self.kernels.lanes;
        let most = (PANEL_BYTES / (run_size * size_of::<f32>()).max(1)).max(1);
        let mut run = 0;
        loop {
            let runs = most.min(self.runs() - run);
            let (mut elements, mut result) = (0, 0);
            for &rows in &chunk.rows {
                let tile = Tile {
                    taps: runs,
                    features,
                    elements: chunk.elements[elements + run * rows..].as_ptr(),
                    first,
                    window: window.wrapping_add(run * run_size),
                    result: chunk.result[result..].as_ptr(),
                    output,
                    outputs,
                    add: run > 0,
                };
                // SAFETY: the addresses are those of elements, zeros and results.
                unsafe { self.kernels.run(rows, &tile) };
                elements += rows * self.runs();
                result += rows;
            }
            run += runs;
            if run >= self.runs() {
                return;
            }
        }
    }
}

/// Some tiles: the rows of each, and addresses of elements (see [`Tile::elements`]) and results.
#[derive(Default)]
struct Chunk {
    rows: Vec<usize>,
    elements: Vec<*const f32>,
    result: Vec<*mut f32>,
}
