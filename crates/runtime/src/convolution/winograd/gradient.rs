//! Results of three by three places under large windows, as the gradient of a window is: two by two taps at
//! once, or four by four.
//!
//! The products are summed over all patches of all pictures. What patches are transformed into is too much to
//! keep, so this goes by parts of them. Where the sums are small, each thread takes patches and has sums of its own,
//! and all that it works on stays in its cache ([`alone`]). Where they are not, all threads transform a part, and then
//! each adds the products of some points and panels to the sums ([`together`]). Both cut by sizes alone.

use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::transform::Form;
use super::{LEAST_FEATURES, MOST_POINTS, PANEL, Patches, row};
use crate::context::Context;
use crate::convolution::pictures::{Lanes, Pictures};
use crate::convolution::{Convolution, Spatial};
use crate::gemm::Compute;
use crate::gemm::micro::Tile;
use crate::gemm::{Address, out_of_memory, scratch};
use crate::system;

/// Patches for which the sums are worth transforming back.
const LEAST_PATCHES: usize = if cfg!(test) { 1 } else { 64 };
/// Bytes of a part, and its least patches.
const PART_BYTES: usize = 4 << 20;
const LEAST_PART: usize = if cfg!(test) { 3 } else { 96 };
/// Patches of a share, and shares.
const LEAST_SHARE: usize = if cfg!(test) { 5 } else { 128 };
const MOST_SHARES: usize = 8;
/// Values that are worth a thread's attention.
const GRAIN: usize = 1 << 14;

pub(super) fn pays(c: &Convolution, dims: [Spatial; 2]) -> bool {
    dims.iter().all(|dim| dim.output == 3 && dim.right_dilation == 1)
        && c.images.min(c.outputs) >= LEAST_FEATURES
        && Patches::new(c.features, dims.map(|dim| dim.kernel), 2).len() >= LEAST_PATCHES
}

/// # Safety
///
/// As for [`super::run`].
pub(super) unsafe fn run(
    context: &Context,
    c: &Convolution,
    dims: [Spatial; 2],
    left: *const f32,
    right: *const f32,
    result: *mut f32,
) -> Result<bool> {
    let [y, x] = dims;
    let (elements, stride) = Pictures::of_left(c, dims, left, Lanes::Images);
    let taps = Pictures {
        data: Address(right.cast_mut().wrapping_offset(c.right_start)),
        count: c.features,
        size: [y.kernel, x.kernel],
        strides: [c.right_feature_stride, y.right_stride, x.right_stride],
        lanes: c.outputs,
    };
    // SAFETY: the caller's promise.
    let (elements, _copy) = unsafe { elements.lanes_together(context, stride)? };
    // SAFETY: the caller's promise.
    let (taps, _copy_of_taps) = unsafe { taps.lanes_together(context, c.output_strides[0])? };
    let count = |step: usize| Patches::new(c.features, taps.size, step).len();
    let form = Form::best_of(Form::two_taps(), Form::four_taps(), count);
    let points = form.points();
    let patches = Patches::new(c.features, taps.size, form.step);
    let rows = [elements, taps].map(|pictures| row(pictures.lanes));
    let sums_size = points * c.images * rows[1];
    let shares = shares(patches.len(), sums_size);
    let lanes = c.images.max(c.outputs);
    let count = shares.unwrap_or(1);
    let room = scratch::<f32>(count * sums_size + lanes)?;
    let sums = room.as_ptr().cast::<f32>();
    let zeros = sums.wrapping_add(count * sums_size);
    // SAFETY: there is room for them.
    unsafe { zeros.write_bytes(0, lanes) };
    let work = Work {
        form,
        elements,
        taps,
        pads: dims.map(|dim| dim.pad_low),
        patches,
        rows,
        sums: Address(sums),
        transformed: [Address(std::ptr::null_mut()); 2],
        zeros,
    };
    // SAFETY: the caller's promise; there is room for the sums.
    unsafe {
        match shares {
            Some(shares) => alone(context, &work, shares, sums_size)?,
            None => together(context, &work)?,
        }
    }
    if let Some(shares) = shares {
        // SAFETY: all sums are there.
        unsafe { add_shares(context, work.sums, shares, [points * c.images, rows[1], c.outputs]) };
    }
    let failed = AtomicBool::new(false);
    let result = Address(result);
    context.parallel_for(c.images, 1 + GRAIN / (points * rows[1]), |begin, end| {
        let mut room = vec![0.0; 9 * c.outputs];
        for image in begin..end {
            let sums = work.sums.get().wrapping_add(image * rows[1]);
            let target = Target {
                data: result.get().wrapping_offset(image as isize * c.image_strides[1]),
                strides: [y.result_stride, x.result_stride, c.output_strides[1]],
                lanes: c.outputs,
            };
            // SAFETY: all sums are there; every image is a part of the result of its own.
            let finite = unsafe { put(&form, sums, c.images * rows[1], &target, &mut room) };
            failed.fetch_or(!finite, Ordering::Relaxed);
        }
    });
    Ok(!failed.into_inner())
}

/// Adds the sums of all shares to those of the first, in order and as they lie in memory: `count` rows of each.
///
/// # Safety
///
/// They are there, `lanes` in each row, and nobody else uses them.
unsafe fn add_shares(
    context: &Context,
    sums: Address<f32>,
    shares: usize,
    [count, row, lanes]: [usize; 3],
) {
    /// Rows that are added at once.
    const ROWS: usize = 32;
    let grain = 1 + GRAIN / (ROWS * lanes * shares).max(1);
    context.parallel_for(count.div_ceil(ROWS), grain, |begin, end| {
        for piece in begin..end {
            let rows = piece * ROWS..count.min((piece + 1) * ROWS);
            for share in 1..shares {
                for index in rows.clone() {
                    // SAFETY: the caller's promise; every row is in one piece.
                    let (sums, more) = unsafe {
                        let more = sums.get().add((share * count + index) * row).cast_const();
                        let sums = sums.get().add(index * row);
                        let sums = std::slice::from_raw_parts_mut(sums, lanes);
                        (sums, std::slice::from_raw_parts(more, lanes))
                    };
                    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
            }
        }
    });
}

/// Into how many shares patches are divided, if threads are to take some each.
fn shares(patches: usize, sums_size: usize) -> Option<usize> {
    let most = if cfg!(test) { 64 << 10 } else { system::second_cache() * 2 / 5 };
    (sums_size * size_of::<f32>() <= most).then(|| (patches / LEAST_SHARE).clamp(1, MOST_SHARES))
}

/// # Safety
///
/// As for [`super::run`]; there is room for the sums of so many shares, each of that size.
unsafe fn alone(context: &Context, work: &Work, shares: usize, sums_size: usize) -> Result<()> {
    let points = work.form.points();
    let patch_size = points * (work.rows[0] + work.rows[1]);
    let near = system::second_cache() * 3 / 4 / size_of::<f32>();
    let most = near.saturating_sub(sums_size) / patch_size;
    let most = most.clamp(LEAST_PART / 4, LEAST_PART).max(1);
    let failed = AtomicBool::new(false);
    context.parallel_for(shares, 1, |begin, end| {
        let Ok(room) = scratch::<f32>(most * patch_size) else {
            failed.store(true, Ordering::Relaxed);
            return;
        };
        let room = room.as_ptr().cast::<f32>();
        for share in begin..end {
            let edge = |share: usize| share * work.patches.len() / shares;
            let own = Work {
                sums: Address(work.sums.get().wrapping_add(share * sums_size)),
                transformed: [0, most * points * work.rows[0]]
                    .map(|offset| Address(room.wrapping_add(offset))),
                ..*work
            };
            let (begin, end) = (edge(share), edge(share + 1));
            for first in (begin..end).step_by(most) {
                let count = most.min(end - first);
                // SAFETY: there is room, which nobody else has.
                unsafe {
                    (0..count).for_each(|patch| own.transform(first, count, patch));
                    (0..own.tasks()).for_each(|task| own.multiply(count, task, first > begin));
                }
            }
        }
    });
    if failed.into_inner() { Err(out_of_memory()) } else { Ok(()) }
}

/// # Safety
///
/// As for [`super::run`]; there is room for the sums.
unsafe fn together(context: &Context, work: &Work) -> Result<()> {
    let (patches, rows, points) = (work.patches, work.rows, work.form.points());
    let patch_bytes = points * (rows[0] + rows[1]) * size_of::<f32>();
    let part = (PART_BYTES / patch_bytes).clamp(LEAST_PART, LEAST_PART.max(patches.len()));
    let parts = patches.len().div_ceil(part);
    let part = patches.len().div_ceil(parts);
    let room = scratch::<f32>(part * points * (rows[0] + rows[1]))?;
    let room = room.as_ptr().cast::<f32>();
    let transformed = [0, part * points * rows[0]].map(|offset| Address(room.wrapping_add(offset)));
    let work = Work { transformed, ..*work };
    let edge = |part: usize| part * patches.len() / parts;
    for part in 0..parts {
        let (first, count) = (edge(part), edge(part + 1) - edge(part));
        context.parallel_for(count, 1 + GRAIN / (points * (rows[0] + rows[1])), |begin, end| {
            for patch in begin..end {
                // SAFETY: every patch has room of its own.
                unsafe { work.transform(first, count, patch) };
            }
        });
        context.parallel_for(work.tasks(), 1, |begin, end| {
            for task in begin..end {
                // SAFETY: the part is transformed; every task has sums of its own.
                unsafe { work.multiply(count, task, part > 0) };
            }
        });
    }
    Ok(())
}

/// What threads share.
#[derive(Clone, Copy)]
struct Work {
    form: Form,
    elements: Pictures,
    taps: Pictures,
    pads: [isize; 2],
    patches: Patches,
    /// How long the rows of transformed elements and taps are.
    rows: [usize; 2],
    /// By point, image and output.
    sums: Address<f32>,
    /// Elements and taps of the part, by point, patch and lane.
    transformed: [Address<f32>; 2],
    zeros: *const f32,
}

// SAFETY: what is written is divided between threads by those who write.
unsafe impl Sync for Work {}

impl Work {
    /// Points and panels.
    fn tasks(&self) -> usize {
        self.form.points() * self.taps.lanes.div_ceil(PANEL)
    }

    /// Transforms patch number `patch` of a part of `count` that starts at `first`.
    ///
    /// # Safety
    ///
    /// The operands can be read, and nobody else writes this patch.
    unsafe fn transform(&self, first: usize, count: usize, patch: usize) {
        let (picture, place) = self.patches.at(first + patch);
        let place = place.map(|at| at as isize);
        let start = [0, 1].map(|dim| place[dim] - self.pads[dim]);
        let Form { side, step, elements, taps, .. } = self.form;
        let mut places = [[self.zeros; MOST_POINTS]; 2];
        let [of_elements, of_taps] = &mut places;
        let (of_elements, of_taps) = (&mut of_elements[..side * side], &mut of_taps[..step * step]);
        let read = |place: *mut f32| place.cast_const();
        self.elements.patch((picture, start), side, self.zeros, read, of_elements);
        self.taps.patch((picture, place), step, self.zeros, read, of_taps);
        let [into_elements, into_taps] =
            [0, 1].map(|side| self.transformed[side].get().wrapping_add(patch * self.rows[side]));
        // SAFETY: the caller's promise; places outside of pictures are zeros.
        unsafe {
            elements(of_elements, self.elements.lanes, into_elements, count * self.rows[0]);
            taps(of_taps, self.taps.lanes, into_taps, count * self.rows[1]);
        }
    }

    /// Adds the products of a part of `count` patches for one point and panel of outputs.
    ///
    /// # Safety
    ///
    /// The part is transformed, and nobody else has this task.
    unsafe fn multiply(&self, count: usize, task: usize, add: bool) {
        let kernels = f32::kernels();
        let (images, outputs) = (self.elements.lanes, self.taps.lanes);
        let panels = outputs.div_ceil(PANEL);
        let (point, panel) = (task / panels, task % panels);
        let [a, b] = [0, 1]
            .map(|side| self.transformed[side].get().wrapping_add(point * count * self.rows[side]));
        let sums = self.sums.get().wrapping_add(point * images * self.rows[1] + panel * PANEL);
        let tiles = images.div_ceil(kernels.rows);
        let edge = |tile: usize| tile * images / tiles;
        for column in (0..PANEL).step_by(2 * kernels.lanes) {
            for tile in 0..tiles {
                let (first, height) = (edge(tile), edge(tile + 1) - edge(tile));
                let step = self.rows[1] as isize;
                let left = (a.wrapping_add(first).cast_const(), self.rows[0]);
                let right = (b.wrapping_add(panel * PANEL + column).cast_const(), step);
                let into = (sums.wrapping_add(first * self.rows[1] + column), step);
                let tile = Tile { add, ..Tile::new(count, left, right, into) };
                // SAFETY: the caller's promise; rows have room for whole panels.
                unsafe { kernels.run(2, height, &tile) };
            }
        }
    }
}

/// Where the three by three places of an image go.
struct Target {
    data: *mut f32,
    /// Down, right, and from one output to the next.
    strides: [isize; 3],
    lanes: usize,
}

/// Transforms the sums of an image back, `stride` apart; says whether all values are finite.
///
/// # Safety
///
/// The sums can be read, and the places written; `room` has nine rows of lanes.
unsafe fn put(
    form: &Form,
    sums: *const f32,
    stride: usize,
    into: &Target,
    room: &mut [f32],
) -> bool {
    let [down, right, across] = into.strides;
    let place =
        |i: usize, j: usize| into.data.wrapping_offset(i as isize * down + j as isize * right);
    let direct = across == 1;
    let start = room.as_mut_ptr();
    let places: [*mut f32; 9] = std::array::from_fn(|tap| match direct {
        true => place(tap / 3, tap % 3),
        false => start.wrapping_add(tap * into.lanes),
    });
    // SAFETY: the caller's promise.
    let finite = unsafe { (form.places)(sums, stride, into.lanes, &places) };
    if !direct {
        for (tap, values) in room.chunks_exact(into.lanes).enumerate() {
            let at = place(tap / 3, tap % 3);
            for (lane, &value) in values.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { at.offset(lane as isize * across).write(value) };
            }
        }
    }
    finite
}
