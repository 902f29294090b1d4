//! Windows of three by three: two by two places at once.
//!
//! The window is transformed first, for all. Then threads take blocks of patches, as many as their cache holds:
//! each block is transformed, multiplied and transformed back while it is there.

use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::transform;
use super::{LEAST_FEATURES, PANEL, POINTS, Patches, row};
use crate::context::Context;
use crate::convolution::pictures::{Pictures, Turned};
use crate::convolution::{Convolution, Spatial};
use crate::gemm::micro::strided::{self, Strided};
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, scratch};
use crate::system;

/// Patches for which transforming the window pays.
const LEAST_PATCHES: usize = if cfg!(test) { 1 } else { 40 };
/// Patches of a block: fewer, and the window is read too often; more, and nothing is gained.
const BLOCK: [usize; 2] = [48, 96];

pub(super) fn pays(c: &Convolution, dims: [Spatial; 2]) -> bool {
    // Lanes of the result are last, or are brought where they go in the end.
    let [y, x] = dims;
    let size = dims.map(|dim| dim.output);
    let suits = Turned::suits(size, c.output_strides[1], y.result_stride, x.result_stride);
    let together = dims.map(|dim| dim.output / dim.right_dilation.max(1));
    dims.iter().all(|dim| dim.kernel == 3 && dim.right_dilation > 0)
        && c.features.min(c.outputs) >= LEAST_FEATURES
        && Patches::new(c.images, together).len() >= LEAST_PATCHES
        && (c.output_strides[1] == 1 || suits)
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
    let elements = Pictures {
        data: Address(left.cast_mut()),
        count: c.images,
        size: [y.input, x.input],
        strides: [c.image_strides[0], y.left_stride, x.left_stride],
        lanes: c.features,
    };
    // SAFETY: the caller's promise.
    let (elements, _copy) = unsafe { elements.lanes_together(context, c.left_feature_stride)? };
    let target = Pictures {
        data: Address(result),
        count: c.images,
        size: [y.output, x.output],
        strides: [c.image_strides[1], y.result_stride, x.result_stride],
        lanes: c.outputs,
    };
    let turned = if c.output_strides[1] == 1 { None } else { Some(Turned::new(target)?) };
    let made = turned.as_ref().map_or(target, |turned| turned.made);
    let panels = c.outputs.div_ceil(PANEL);
    let window_room = scratch::<f32>(POINTS * panels * c.features * PANEL)?;
    let window = Address(window_room.as_ptr().cast::<f32>());
    // SAFETY: the caller's promise; the room is that of all panels.
    unsafe { transform_window(context, c, dims, right, window)? };
    // Taps that are apart see every such place of the operand only: as many convolutions as there are first places.
    let apart = dims.map(|dim| dim.right_dilation);
    for first in (0..apart[0]).flat_map(|y| (0..apart[1]).map(move |x| [y, x])) {
        let seen = [0, 1].map(|dim| first[dim] as isize - dims[dim].pad_low);
        let start = [0, 1].map(|dim| seen[dim].rem_euclid(apart[dim] as isize) as usize);
        let job = Job {
            elements: elements.every(start, apart),
            starts: [0, 1].map(|dim| seen[dim].div_euclid(apart[dim] as isize)),
            window,
            result: made.every(first, apart),
        };
        // SAFETY: the caller's promise; the window is transformed.
        if !unsafe { compute(context, &job)? } {
            return Ok(false);
        }
    }
    if let Some(turned) = turned {
        // SAFETY: the caller's promise, and see `pays`.
        unsafe { turned.put(context) };
    }
    Ok(true)
}

/// Writes `window[point][panel][feature][lane]`.
///
/// # Safety
///
/// As for [`super::run`]; there is room.
unsafe fn transform_window(
    context: &Context,
    c: &Convolution,
    [y, x]: [Spatial; 2],
    right: *const f32,
    window: Address<f32>,
) -> Result<()> {
    let panels = c.outputs.div_ceil(PANEL);
    let right = Address(right.cast_mut());
    let transforms = transform::best();
    // Features in the order of memory, so that they are read in lines.
    let features_inner = c.right_feature_stride.abs() < x.right_stride.abs();
    let index = |feature: usize, tap: usize| match features_inner {
        true => tap * c.features + feature,
        false => feature * 9 + tap,
    };
    let mut steps = Steps::default();
    steps.places.resize(9 * c.features, 0);
    for feature in 0..c.features {
        for tap in 0..9 {
            steps.places[index(feature, tap)] = feature as isize * c.right_feature_stride
                + (tap / 3) as isize * y.right_stride
                + (tap % 3) as isize * x.right_stride;
        }
    }
    steps.find_runs();
    let failed = AtomicBool::new(false);
    context.parallel_for(panels, 1, |begin, end| {
        let Ok(room) = scratch::<f32>(9 * c.features * PANEL) else {
            return failed.store(true, Ordering::Relaxed);
        };
        let packed = room.as_ptr().cast::<f32>();
        for panel in begin..end {
            let first = panel * PANEL;
            let lanes: Vec<isize> = (first..c.outputs.min(first + PANEL))
                .map(|output| output as isize * c.output_strides[0])
                .collect();
            let from = right.get().wrapping_offset(c.right_start);
            // SAFETY: the room is large enough; the operand is the caller's promise.
            unsafe { pack::<f32, f32>(from.cast_const().cast(), &lanes, &steps, PANEL, packed) };
            for feature in 0..c.features {
                let tap =
                    |tap: usize| packed.wrapping_add(index(feature, tap) * PANEL).cast_const();
                let taps = std::array::from_fn(|i| std::array::from_fn(|j| tap(3 * i + j)));
                let into = window.get().wrapping_add((panel * c.features + feature) * PANEL);
                // SAFETY: packed above; the room is the caller's promise.
                unsafe { (transforms.three_taps)(&taps, PANEL, into, panels * c.features * PANEL) };
            }
        }
    });
    if failed.into_inner() { Err(crate::gemm::out_of_memory()) } else { Ok(()) }
}

/// What blocks share.
struct Job {
    elements: Pictures,
    /// Where in them the first patch starts.
    starts: [isize; 2],
    window: Address<f32>,
    result: Pictures,
}

/// Computes all patches of the result; says whether all values are finite.
///
/// # Safety
///
/// As for [`super::run`]; the window is transformed.
unsafe fn compute(context: &Context, job: &Job) -> Result<bool> {
    let patches = Patches::new(job.result.count, job.result.size);
    if patches.len() == 0 {
        return Ok(true);
    }
    let (features, outputs) = (job.elements.lanes, job.result.lanes);
    let values = POINTS * (row(features) + row(outputs));
    let most = (system::second_cache() / 2 / (values * size_of::<f32>())).clamp(BLOCK[0], BLOCK[1]);
    // Whole tiles, and work for all threads.
    let rows = strided::for_f32().rows;
    let most = most.min(patches.len().div_ceil(context.threads())).next_multiple_of(rows);
    let (failed, out_of_memory) = (AtomicBool::new(false), AtomicBool::new(false));
    context.parallel_for(patches.len().div_ceil(most), 1, |begin, end| {
        let Ok(room) = scratch::<f32>(most * values + features) else {
            return out_of_memory.store(true, Ordering::Relaxed);
        };
        for block in begin..end {
            let first = block * most;
            let count = most.min(patches.len() - first);
            let room = room.as_ptr().cast();
            // SAFETY: the room is that of a block; blocks are different parts of the result.
            if !unsafe { compute_block(job, &patches, first, count, room) } {
                failed.store(true, Ordering::Relaxed);
            }
        }
    });
    if out_of_memory.into_inner() {
        return Err(crate::gemm::out_of_memory());
    }
    Ok(!failed.into_inner())
}

/// Computes `count` patches from `first` on; says whether all values are finite.
///
/// # Safety
///
/// As for [`super::run`], and nobody else writes these patches; `room` is that of transformed elements and products
/// of so many patches, and of zeros for all features.
unsafe fn compute_block(
    job: &Job,
    patches: &Patches,
    first: usize,
    count: usize,
    room: *mut f32,
) -> bool {
    let transforms = transform::best();
    let (features, outputs) = (job.elements.lanes, job.result.lanes);
    let (element_row, product_row) = (row(features), row(outputs));
    let products = room.wrapping_add(count * POINTS * element_row);
    let zeros = products.wrapping_add(count * POINTS * product_row);
    // SAFETY: the caller's promise: there is room for them.
    unsafe { zeros.write_bytes(0, features) };
    for patch in 0..count {
        let (picture, place) = patches.at(first + patch);
        let start = [0, 1].map(|dim| place[dim] as isize + job.starts[dim]);
        let patch_at = job.elements.patch(picture, start, zeros);
        let into = room.wrapping_add(patch * element_row);
        // SAFETY: the patch's places are inside the operand or the zeros.
        unsafe { (transforms.elements)(&patch_at, features, into, count * element_row) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        multiply(job, count, room, products);
        (0..count).fold(true, |finite, patch| {
            let (picture, place) = patches.at(first + patch);
            let place = place.map(|at| at as isize);
            let into = job.result.patch(picture, place, std::ptr::null());
            let into = into.map(|row| row.map(<*const f32>::cast_mut));
            let from = products.wrapping_add(patch * product_row);
            (transforms.two_places)(from, count * product_row, outputs, &into) && finite
        })
    }
}

/// The sixteen products of a block: of all patches' features with the window.
///
/// # Safety
///
/// `elements` is what patches were transformed into, and there is room for as many rows of products.
unsafe fn multiply(job: &Job, count: usize, elements: *const f32, products: *mut f32) {
    let kernels = strided::for_f32();
    let (features, outputs) = (job.elements.lanes, job.result.lanes);
    let (element_row, product_row) = (row(features), row(outputs));
    let panels = outputs.div_ceil(PANEL);
    // Tiles of nearly the same height.
    let tiles = count.div_ceil(kernels.rows);
    let edge = |tile: usize| tile * count / tiles;
    for point in 0..POINTS {
        for panel in 0..panels {
            let b = job.window.get().wrapping_add((point * panels + panel) * features * PANEL);
            for tile in 0..tiles {
                let (first, rows) = (edge(tile), edge(tile + 1) - edge(tile));
                let place = point * count + first;
                for column in (0..PANEL).step_by(2 * kernels.lanes) {
                    let tile = Strided {
                        k: features,
                        a: elements.wrapping_add(place * element_row),
                        a_row: element_row,
                        a_step: 1,
                        b: b.wrapping_add(column).cast_const(),
                        b_step: PANEL,
                        c: products.wrapping_add(place * product_row + panel * PANEL + column),
                        c_row: product_row as isize,
                        add: false,
                    };
                    // SAFETY: the caller's promise; rows have room for whole panels.
                    unsafe { kernels.run(2, rows, &tile) };
                }
            }
        }
    }
}
