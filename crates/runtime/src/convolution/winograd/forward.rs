//! Windows of three by three: two by two places at once, or four by four.
//!
//! Where there are many patches, the window is transformed first, for all ([`blocks`]). Then threads take blocks of
//! patches, as many as their cache holds: each block is transformed, multiplied and transformed back while it is
//! there. Where there are few, it is the patches that are transformed first ([`panels`]), and threads take panels of
//! outputs: a large window is read once, and what it is transformed into never leaves a cache.

use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::transform::Form;
use super::window::Window;
use super::{LEAST_FEATURES, MOST_POINTS, PANEL, Patches, Sum, multiply, row};
use crate::allocator::Block;
use crate::context::Context;
use crate::convolution::pictures::{Lanes, Pictures, Turned};
use crate::convolution::{Convolution, Spatial, depthwise};
use crate::gemm::micro::strided;
use crate::gemm::{Address, scratch};
use crate::system;

/// Patches for which transforming the window pays.
const LEAST_PATCHES: usize = if cfg!(test) { 1 } else { 40 };
/// Features up to which four by four places are computed at once; rounding would show with more.
const MOST_FEATURES: usize = 128;
/// Bytes of transformed patches up to which they are kept.
const MOST_KEPT: usize = 2 << 20;
/// Values that are worth a thread's attention.
const GRAIN: usize = 1 << 14;
/// Patches of a block, of sixteen points: fewer, and the window is read too often; more, and nothing is gained.
const BLOCK: [usize; 2] = [48, 96];
/// Patches of a block at least where there are groups, whose windows are small.
const LEAST_OF_GROUPS: usize = 12;
/// Features and outputs of a group from which on products are worth the transforms.
const LEAST_GROUP: usize = if cfg!(test) { 2 } else { 4 };

pub(super) fn pays(c: &Convolution, dims: [Spatial; 2]) -> bool {
    let together = dims.map(|dim| dim.output / dim.right_dilation.max(1));
    dims.iter().all(|dim| dim.kernel == 3 && dim.right_dilation > 0)
        && c.features.min(c.outputs) >= LEAST_FEATURES
        && (c.feature_groups == 1 || c.features.min(c.outputs) / c.feature_groups >= LEAST_GROUP)
        && (c.feature_groups == 1 || depthwise::width(c).is_none())
        && Patches::new(c.images, together, 2).len() >= LEAST_PATCHES
        // Lanes of the result are last, or are brought where they go in the end.
        && (c.output_strides[1] == 1 || Turned::suits(c, dims))
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
    let (elements, stride) = Pictures::of_left(c, dims, left, Lanes::Features);
    // SAFETY: the caller's promise.
    let (elements, _copy) = unsafe { elements.lanes_together(context, stride)? };
    let target = Pictures::of_result(c, dims, result);
    let turned = if c.output_strides[1] == 1 { None } else { Some(Turned::new(target)?) };
    let made = turned.as_ref().map_or(target, |turned| turned.made);
    let window = Window::new(c, dims, right);
    let together = dims.map(|dim| dim.output / dim.right_dilation.max(1));
    let count = |step: usize| Patches::new(c.images, together, step).len();
    let form = match c.feature_groups == 1 && c.features <= MOST_FEATURES {
        true => Form::best_of(Form::two_places(), Form::four_places(), count),
        // No faster: so many points of all groups, or of so large a window, are too much for a cache.
        false => Form::two_places(),
    };
    // Taps that are apart see every such place of the operand only: as many convolutions as there are first places.
    let apart = dims.map(|dim| dim.right_dilation);
    let jobs: Vec<Job> = (0..apart[0])
        .flat_map(|y| (0..apart[1]).map(move |x| [y, x]))
        .map(|first| {
            let seen = [0, 1].map(|dim| first[dim] as isize - dims[dim].pad_low);
            let start = [0, 1].map(|dim| seen[dim].rem_euclid(apart[dim] as isize) as usize);
            Job {
                form,
                elements: elements.every(start, apart),
                starts: [0, 1].map(|dim| seen[dim].div_euclid(apart[dim] as isize)),
                result: made.every(first, apart),
            }
        })
        .collect();
    let outcome = Outcome::default();
    match &jobs[..] {
        // SAFETY: the caller's promise.
        [job] if panels_pay(context, &window, job) => unsafe {
            panels(context, &window, job, &outcome)?
        },
        // SAFETY: the caller's promise.
        _ => unsafe { blocks(context, &window, &form, &jobs, &outcome)? },
    }
    if !outcome.finite()? {
        return Ok(false);
    }
    if let Some(turned) = turned {
        // SAFETY: the caller's promise, and see `pays`.
        unsafe { turned.put(context) };
    }
    Ok(true)
}

/// What threads find while they work.
#[derive(Default)]
struct Outcome {
    infinite: AtomicBool,
    out_of_memory: AtomicBool,
}

impl Outcome {
    fn finite(self) -> Result<bool> {
        match self.out_of_memory.into_inner() {
            true => Err(crate::gemm::out_of_memory()),
            false => Ok(!self.infinite.into_inner()),
        }
    }

    /// Room for so many values, if there is memory.
    fn room(&self, count: usize) -> Option<Block> {
        let room = scratch::<f32>(count);
        self.out_of_memory.fetch_or(room.is_err(), Ordering::Relaxed);
        room.ok()
    }
}

/// A convolution of places that lie together.
struct Job {
    form: Form,
    elements: Pictures,
    /// Where in them the first patch starts.
    starts: [isize; 2],
    result: Pictures,
}

impl Job {
    fn patches(&self) -> Patches {
        Patches::new(self.result.count, self.result.size, self.form.step)
    }

    /// Transforms the elements of a patch, its points `stride` apart.
    ///
    /// # Safety
    ///
    /// The pictures can be read, and there is room; there are zeros for all features.
    unsafe fn transform(&self, patch: usize, zeros: *const f32, into: *mut f32, stride: usize) {
        let (picture, place) = self.patches().at(patch);
        let start = [0, 1].map(|dim| place[dim] as isize + self.starts[dim]);
        let Form { side, elements, .. } = self.form;
        let mut places = [std::ptr::null(); MOST_POINTS];
        let places = &mut places[..side * side];
        self.elements.patch((picture, start), side, zeros, |place| place.cast_const(), places);
        // SAFETY: the patch's places are inside the operand or the zeros; the rest is the caller's promise.
        unsafe { elements(places, self.elements.lanes, into, stride) };
    }

    /// Transforms the products of a patch back, for `count` outputs from `first` on; says whether all values are finite.
    ///
    /// # Safety
    ///
    /// The products can be read, `stride` apart; nobody else writes these outputs of the patch.
    unsafe fn put(
        &self,
        patch: usize,
        (first, count): (usize, usize),
        from: *const f32,
        stride: usize,
    ) -> bool {
        let (picture, place) = self.patches().at(patch);
        let start = place.map(|at| at as isize);
        let Form { step, places: back, .. } = self.form;
        let none = std::ptr::null_mut();
        let mut places = [none; MOST_POINTS];
        let places = &mut places[..step * step];
        self.result.patch((picture, start), step, none, |place| place.wrapping_add(first), places);
        // SAFETY: the caller's promise.
        unsafe { back(from, stride, count, places) }
    }
}

/// Whether patches are so few that they are worth keeping, and panels enough for all threads.
fn panels_pay(context: &Context, window: &Window, job: &Job) -> bool {
    let bytes =
        job.patches().len() * job.form.points() * row(job.elements.lanes) * size_of::<f32>();
    let panels = job.result.lanes.div_ceil(PANEL);
    window.groups == 1 && bytes <= MOST_KEPT && panels >= 2 * context.threads()
}

/// All patches, panel by panel.
///
/// # Safety
///
/// As for [`super::run`].
unsafe fn panels(context: &Context, window: &Window, job: &Job, outcome: &Outcome) -> Result<()> {
    let (features, count, points) = (window.features, job.patches().len(), job.form.points());
    let element_row = row(features);
    let kept = scratch::<f32>(count * points * element_row + features)?;
    let elements = Address(kept.as_ptr().cast::<f32>());
    let zeros = Address(elements.get().wrapping_add(count * points * element_row));
    // SAFETY: there is room for them.
    unsafe { zeros.get().write_bytes(0, features) };
    context.parallel_for(count, 1 + GRAIN / (points * element_row), |begin, end| {
        for patch in begin..end {
            let into = elements.get().wrapping_add(patch * element_row);
            // SAFETY: every patch has room of its own.
            unsafe { job.transform(patch, zeros.get(), into, count * element_row) };
        }
    });
    let size = window.panel_size();
    context.parallel_for(window.panels(), 1, |begin, end| {
        let Some(room) = outcome.room((9 + points) * size + points * count * PANEL) else { return };
        let packed = room.as_ptr().cast::<f32>();
        let transformed = packed.wrapping_add(9 * size);
        let products = transformed.wrapping_add(points * size);
        for panel in begin..end {
            let lanes = (panel * PANEL, PANEL.min(window.outputs - panel * PANEL));
            // SAFETY: the patches are transformed; there is room; panels are different parts of the result.
            let finite = unsafe {
                window.transform(&job.form, panel, packed, transformed, size);
                for point in 0..points {
                    let a = elements.get().wrapping_add(point * count * element_row);
                    let into = products.wrapping_add(point * count * PANEL);
                    let b = transformed.add(point * size);
                    let rows = [element_row, PANEL];
                    multiply([count, features, PANEL], a, b, into, rows, Sum::Begins);
                }
                (0..count).fold(true, |finite, patch| {
                    let from = products.wrapping_add(patch * PANEL);
                    job.put(patch, lanes, from, count * PANEL) && finite
                })
            };
            outcome.infinite.fetch_or(!finite, Ordering::Relaxed);
        }
    });
    Ok(())
}

/// All panels, block by block of patches.
///
/// # Safety
///
/// As for [`super::run`].
unsafe fn blocks(
    context: &Context,
    window: &Window,
    form: &Form,
    jobs: &[Job],
    outcome: &Outcome,
) -> Result<()> {
    let (panels, size, points) = (window.panels(), window.panel_size(), form.points());
    let room = scratch::<f32>(points * panels * size)?;
    let transformed = Address(room.as_ptr().cast::<f32>());
    context.parallel_for(panels, 1, |begin, end| {
        let Some(packed) = outcome.room(9 * size) else { return };
        for panel in begin..end {
            let into = transformed.get().wrapping_add(panel * size);
            // SAFETY: every panel has room of its own.
            unsafe { window.transform(form, panel, packed.as_ptr().cast(), into, panels * size) };
        }
    });
    if outcome.out_of_memory.load(Ordering::Relaxed) {
        return Ok(());
    }
    let [features, outputs] = [window.features, window.outputs].map(|size| size * window.groups);
    let values = points * (row(features) + row(outputs));
    let least = if window.groups == 1 { BLOCK[0] * 16 / points } else { LEAST_OF_GROUPS };
    for job in jobs {
        let patches = job.patches().len();
        let most =
            (system::second_cache() / 2 / (values * size_of::<f32>())).clamp(least, BLOCK[1]);
        // Whole tiles, and work for all threads.
        let rows = strided::for_f32().rows;
        let most = most.min(patches.div_ceil(context.threads())).max(1).next_multiple_of(rows);
        context.parallel_for(patches.div_ceil(most), 1, |begin, end| {
            let Some(room) = outcome.room(most * values + features) else { return };
            for block in begin..end {
                let (first, count) = (block * most, most.min(patches - block * most));
                let room = room.as_ptr().cast();
                // SAFETY: the window is transformed; there is room; blocks are different parts of the result.
                let finite =
                    unsafe { compute_block(window, transformed, job, (first, count), room) };
                outcome.infinite.fetch_or(!finite, Ordering::Relaxed);
            }
        });
    }
    Ok(())
}

/// Computes `count` patches from `first` on; says whether all values are finite.
///
/// # Safety
///
/// As for [`super::run`], and nobody else writes these patches; `room` is that of transformed elements and products
/// of so many patches, and of zeros for all features.
unsafe fn compute_block(
    window: &Window,
    transformed: Address<f32>,
    job: &Job,
    (first, count): (usize, usize),
    room: *mut f32,
) -> bool {
    let [features, outputs] = [window.features, window.outputs].map(|size| size * window.groups);
    let (element_row, product_row) = (row(features), row(outputs));
    let points = job.form.points();
    let products = room.wrapping_add(count * points * element_row);
    let zeros = products.wrapping_add(count * points * product_row);
    // SAFETY: the caller's promise: there is room for all of it.
    unsafe {
        zeros.write_bytes(0, features);
        for patch in 0..count {
            let into = room.wrapping_add(patch * element_row);
            job.transform(first + patch, zeros, into, count * element_row);
        }
        for point in 0..points {
            let a = room.wrapping_add(point * count * element_row);
            for panel in 0..window.panels() {
                let number = point * window.panels() + panel;
                let b = transformed.get().wrapping_add(number * window.panel_size());
                let into = products.wrapping_add(point * count * product_row);
                window.multiply(panel, count, a, b, into, [element_row, product_row]);
            }
        }
        (0..count).fold(true, |finite, patch| {
            let from = products.wrapping_add(patch * product_row);
            job.put(first + patch, (0, outputs), from, count * product_row) && finite
        })
    }
}
