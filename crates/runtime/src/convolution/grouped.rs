//! Convolutions of groups whose places lie side by side, as in NCHW: the lanes of vectors are places, and a tap is one
//! number for all of them.
//!
//! Lines of a group's features are copied into planes, with zeros where the window leaves the operand. Lines follow each
//! other without a break, so that what is summed for all places of several is one loop; what it makes of the zeros
//! between two lines is left where it is.

use std::ops::Range;

use rxla_base::Result;

use super::vector::{MOST_LANES, Vector, choose};
use super::{Convolution, Spatial};
use crate::context::Context;
use crate::element::Elements;
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, scratch};
use crate::own::Own;

/// A dimension of nothing but one element.
const ONE: Spatial = Spatial {
    input: 1,
    kernel: 1,
    output: 1,
    stride: 1,
    pad_low: 0,
    left_dilation: 1,
    right_dilation: 1,
    left_stride: 0,
    right_stride: 0,
    result_stride: 0,
};
/// Outputs of a group for which products of matrices are better.
const MANY: usize = 32;
/// Places of the result from which on it pays.
const LEAST: usize = if cfg!(test) { 6 } else { 32 };
/// Numbers of the operand's planes that stay in a cache, and lines that are made at once even if they do not.
const PLANES: usize = if cfg!(test) { 1 << 7 } else { 1 << 13 };
const FEW_LINES: usize = if cfg!(test) { 2 } else { 4 };
/// Numbers that the planes of an operand or a result may have, however long lines are and however far apart taps.
const MOST: usize = 1 << 20;
/// Multiplications that are worth a thread's attention, and taps that are packed.
const GRAIN: usize = 1 << 16;
const PACKED: usize = 1 << 12;

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
    let Some(grouped) = Grouped::new(c) else { return Ok(false) };
    // SAFETY: the caller's promise.
    unsafe { grouped.run(context, left.cast(), right.cast(), result.cast())? };
    Ok(true)
}

/// What such a convolution is, and how it is taken apart.
struct Grouped<'a> {
    c: &'a Convolution,
    /// Down and across.
    dims: [Spatial; 2],
    /// Features and outputs of a group.
    sizes: [usize; 2],
    /// Lines of the result that are made at once.
    lines: usize,
    /// From one line of a plane to the next.
    pitch: usize,
    /// From one plane of the operand to the next, and of the result.
    planes: [usize; 2],
    /// Elements of a line that are in the operand.
    inside: Range<usize>,
}

impl<'a> Grouped<'a> {
    fn new(c: &'a Convolution) -> Option<Grouped<'a>> {
        let groups = c.feature_groups;
        let dims = match c.spatial[..] {
            [x] => [ONE, x],
            [y, x] => [y, x],
            _ => return None,
        };
        let [y, x] = dims;
        let sizes = [c.features, c.outputs].map(|count| count / groups.max(1));
        let suits = groups > 1
            && c.batch_groups == 1
            && (1..MANY).contains(&sizes[1])
            && sizes[0] > 0
            && [x.left_stride, x.result_stride] == [1; 2]
            && dims.iter().all(|dim| dim.stride == 1 && dim.left_dilation == 1)
            && dims.iter().all(|dim| dim.input.min(dim.kernel) > 0)
            && y.output * x.output >= LEAST;
        if !suits {
            return None;
        }
        // The zeros at a line's end are those before the next line, too.
        let reach = x.output + (x.kernel - 1) * x.right_dilation;
        let before = x.pad_low.clamp(0, reach as isize) as usize;
        let end = (x.input as isize + x.pad_low).clamp(before as isize, reach as isize) as usize;
        let pitch = reach - before.min(reach - end);
        let halo = (y.kernel - 1) * y.right_dilation;
        let between = halo.saturating_mul(pitch).saturating_mul(sizes[0]);
        if pitch > 2 * x.output || between > MOST {
            return None;
        }
        let most = (PLANES / (sizes[0] * pitch)).saturating_sub(halo).max(FEW_LINES);
        let lines = y.output.div_ceil(y.output.div_ceil(most));
        // Vectors end where the lines do, or later.
        let made = ((lines - 1) * pitch + x.output).next_multiple_of(MOST_LANES);
        let read = made + halo * pitch + reach - x.output;
        let filled = (lines + halo - 1) * pitch + reach;
        let planes = [read.max(filled).next_multiple_of(MOST_LANES), made];
        if [0, 1].iter().any(|&i| planes[i].saturating_mul(sizes[i]) > MOST) {
            return None;
        }
        Some(Grouped { c, dims, sizes, lines, pitch, planes, inside: before..end })
    }

    /// # Safety
    ///
    /// As for [`super::run`].
    unsafe fn run(
        &self,
        context: &Context,
        left: *const f32,
        right: *const f32,
        result: *mut f32,
    ) -> Result<()> {
        let (c, [y, x], [features, outputs]) = (self.c, self.dims, self.sizes);
        let taps: Vec<[usize; 2]> =
            (0..y.kernel).flat_map(|i| (0..x.kernel).map(move |j| [i, j])).collect();
        let of_group = taps.len() * features * outputs;
        let window = scratch::<f32>(of_group * c.feature_groups)?;
        // SAFETY: there is room for the window, which is the caller's promise.
        unsafe { self.pack(context, &taps, right, window.as_ptr().cast()) };
        let offsets: Vec<usize> = taps
            .iter()
            .map(|[i, j]| i * y.right_dilation * self.pitch + j * x.right_dilation)
            .collect();
        let (left, result) = (Address(left.cast_mut()), Address(result));
        let window = Address(window.as_ptr().cast::<f32>());
        let blocks = y.output.div_ceil(self.lines);
        let work = self.lines * x.output * of_group;
        let tasks = c.images * c.feature_groups * blocks;
        let compute = best().compute;
        context.parallel_for(tasks, 1 + GRAIN / work, |begin, end| {
            let mut planes = [0, 1].map(|i| Own::filled(0.0_f32, self.planes[i] * self.sizes[i]));
            for task in begin..end {
                let (block, group) = (task % blocks, task / blocks % c.feature_groups);
                let image = (task / blocks / c.feature_groups) as isize;
                let at = |strides: [isize; 2], feature: usize| {
                    image * strides[0] + feature as isize * strides[1]
                };
                let from = at([c.image_strides[0], c.left_feature_stride], group * features);
                let into = at([c.image_strides[1], c.output_strides[1]], group * outputs);
                let window = window.get().cast_const().wrapping_add(group * of_group);
                // SAFETY: the caller's promise; tasks make different parts of the result.
                unsafe {
                    compute(&mut Task {
                        of: self,
                        lines: block * self.lines..y.output.min((block + 1) * self.lines),
                        from: left.get().cast_const().wrapping_offset(from),
                        taps: &offsets,
                        window,
                        into: result.get().wrapping_offset(into),
                        planes: planes.each_mut().map(|planes| &mut planes[..]),
                    });
                }
            }
        });
        Ok(())
    }

    /// Packs the window: by group, tap, feature of the group, and output.
    ///
    /// # Safety
    ///
    /// The window can be read, and there is room for it.
    unsafe fn pack(
        &self,
        context: &Context,
        taps: &[[usize; 2]],
        right: *const f32,
        into: *mut f32,
    ) {
        let (c, [y, x], [features, outputs]) = (self.c, self.dims, self.sizes);
        let mut steps = Steps::default();
        for &[i, j] in taps {
            let tap = i as isize * y.right_stride + j as isize * x.right_stride;
            let of_feature = |feature| tap + feature as isize * c.right_feature_stride;
            steps.places.extend((0..features).map(of_feature));
        }
        steps.find_runs();
        let of_group = steps.places.len() * outputs;
        let rows: Vec<isize> =
            (0..outputs).map(|output| output as isize * c.output_strides[0]).collect();
        let (right, into) = (Address(right.cast_mut()), Address(into));
        context.parallel_for(c.feature_groups, 1 + PACKED / of_group, |begin, end| {
            for group in begin..end {
                let first = c.right_start + (group * outputs) as isize * c.output_strides[0];
                let from = right.get().cast_const().wrapping_offset(first).cast();
                let into = into.get().wrapping_add(group * of_group);
                // SAFETY: the caller's promise; groups are in different places.
                unsafe { pack::<f32, f32>(from, &rows, &steps, outputs, into) };
            }
        });
    }
}

/// Some lines of the result of one group.
pub(super) struct Task<'a> {
    of: &'a Grouped<'a>,
    lines: Range<usize>,
    /// The group's features of an image.
    from: *const f32,
    /// How far from a place of a plane the element is that a tap meets.
    taps: &'a [usize],
    /// By tap, feature and output.
    window: *const f32,
    /// The group's outputs of an image.
    into: *mut f32,
    /// Of the operand, with zeros where there never is anything, and of the result.
    planes: [&'a mut [f32]; 2],
}

pub(super) struct Table {
    compute: unsafe fn(&mut Task),
}

choose!(Table { compute: body(task: &mut Task) });

/// # Safety
///
/// What the task names can be read and written; the processor has the vectors.
#[inline(always)]
unsafe fn body<V: Vector>(task: &mut Task) {
    // SAFETY: the caller's promise.
    unsafe {
        fill::<V>(task);
        let outputs = task.of.sizes[1];
        let mut first = 0;
        while first < outputs {
            // As many sums as there are registers for, beside as many elements as vectors, and a tap.
            first += match (outputs - first, V::LANES) {
                (8.., MOST_LANES) => some::<8, 3, V>(task, first),
                (4.., MOST_LANES) => some::<4, 6, V>(task, first),
                (4.., _) => some::<4, 3, V>(task, first),
                (2.., MOST_LANES) => some::<2, 8, V>(task, first),
                (2.., _) => some::<2, 4, V>(task, first),
                _ => some::<1, 8, V>(task, first),
            };
        }
        put::<V>(task);
    }
}

/// Copies what the lines of the result are made of into planes.
///
/// # Safety
///
/// See [`body`].
#[inline(always)]
unsafe fn fill<V: Vector>(task: &mut Task) {
    let Grouped { c, dims: [y, x], sizes, pitch, planes, ref inside, .. } = *task.of;
    let lines = task.lines.len() + (y.kernel - 1) * y.right_dilation;
    for feature in 0..sizes[0] {
        let from = feature as isize * c.left_feature_stride + inside.start as isize - x.pad_low;
        let from = task.from.wrapping_offset(from);
        let plane = &mut task.planes[0][feature * planes[0]..][..planes[0]];
        for i in 0..lines {
            let into = &mut plane[i * pitch..][inside.clone()];
            let line = (task.lines.start + i) as isize - y.pad_low;
            if (0..y.input as isize).contains(&line) {
                let from = from.wrapping_offset(line * y.left_stride);
                // SAFETY: the caller's promise.
                unsafe { copy::<V>(from, into.as_mut_ptr(), into.len()) };
            } else {
                into.fill(0.0);
            }
        }
    }
}

/// Copies the lines of the result to where they belong.
///
/// # Safety
///
/// See [`body`].
#[inline(always)]
unsafe fn put<V: Vector>(task: &mut Task) {
    let Grouped { c, dims: [y, x], sizes, pitch, planes, .. } = *task.of;
    for output in 0..sizes[1] {
        let into = task.into.wrapping_offset(output as isize * c.output_strides[1]);
        let plane = &task.planes[1][output * planes[1]..][..planes[1]];
        for (i, line) in task.lines.clone().enumerate() {
            let from = &plane[i * pitch..][..x.output];
            let into = into.wrapping_offset(line as isize * y.result_stride);
            // SAFETY: the caller's promise.
            unsafe { copy::<V>(from.as_ptr(), into, x.output) };
        }
    }
}

/// # Safety
///
/// So many numbers can be read and written; the processor has the vectors.
#[inline(always)]
unsafe fn copy<V: Vector>(from: *const f32, into: *mut f32, count: usize) {
    let whole = count / V::LANES * V::LANES;
    // SAFETY: the caller's promise.
    unsafe {
        for place in (0..whole).step_by(V::LANES) {
            V::load(from.add(place)).store(into.add(place));
        }
        if whole < count {
            V::load_first(from.add(whole), count - whole)
                .store_first(into.add(whole), count - whole);
        }
    }
}

/// Makes some outputs of all places, and says how many.
///
/// # Safety
///
/// See [`body`].
#[inline(always)]
unsafe fn some<const OUTPUTS: usize, const VECTORS: usize, V: Vector>(
    task: &mut Task,
    first: usize,
) -> usize {
    let places = (task.lines.len() - 1) * task.of.pitch + task.of.dims[1].output;
    let mut place = 0;
    while place < places {
        // SAFETY: the caller's promise.
        let vectors = unsafe {
            match (places - place).div_ceil(V::LANES) {
                1 => tile::<OUTPUTS, 1, V>(task, first, place),
                rest if rest < VECTORS => tile::<OUTPUTS, 2, V>(task, first, place),
                _ => tile::<OUTPUTS, VECTORS, V>(task, first, place),
            }
        };
        place += vectors * V::LANES;
    }
    OUTPUTS
}

/// Makes some outputs of so many vectors of places, and says how many those are.
///
/// # Safety
///
/// See [`body`]; the planes have these vectors, whatever tap is added.
#[inline(always)]
unsafe fn tile<const OUTPUTS: usize, const VECTORS: usize, V: Vector>(
    task: &mut Task,
    first: usize,
    place: usize,
) -> usize {
    let Grouped { sizes, planes, .. } = *task.of;
    let operand = task.planes[0].as_ptr();
    // SAFETY: the caller's promise.
    unsafe {
        let mut made = [[V::zero(); VECTORS]; OUTPUTS];
        let mut window = task.window.wrapping_add(first);
        for &tap in task.taps {
            let mut from = operand.wrapping_add(place + tap);
            for _ in 0..sizes[0] {
                let mut x = [V::zero(); VECTORS];
                for vector in 0..VECTORS {
                    x[vector] = V::load(from.add(vector * V::LANES));
                }
                for output in 0..OUTPUTS {
                    let factor = V::splat(*window.add(output));
                    for vector in 0..VECTORS {
                        let sum = &mut made[output][vector];
                        *sum = sum.add_product(x[vector], factor);
                    }
                }
                window = window.wrapping_add(sizes[1]);
                from = from.wrapping_add(planes[0]);
            }
        }
        let into = task.planes[1].as_mut_ptr();
        for output in 0..OUTPUTS {
            let into = into.wrapping_add((first + output) * planes[1] + place);
            for vector in 0..VECTORS {
                made[output][vector].store(into.add(vector * V::LANES));
            }
        }
    }
    VECTORS
}
