//! Convolutions of each feature on its own, or of a few that make as many, with features side by side, as in NHWC: they
//! are the lanes of vectors.
//!
//! The operand is read where it is: each line of places is cut into segments whose windows have the same taps inside
//! the operand, and taps outside of it are left out.

mod groups;
mod segment;

use rxla_base::Result;

use super::line::{Line, OUTSIDE};
use super::parts::Plan;
use super::{Convolution, plan};
use crate::context::Context;
use crate::element::Elements;
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, scratch};
use segment::{Segment, Tap};

/// Features from which on it pays.
const LEAST_FEATURES: usize = if cfg!(test) { 2 } else { 8 };
/// Multiplications that are worth a thread's attention.
const GRAIN: usize = 1 << 16;

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
    let Some(width) = width(c) else { return Ok(false) };
    if !c.is_f32::<E>() {
        return Ok(false);
    }
    let (left, right, result) = (left.cast::<f32>(), right.cast::<f32>(), result.cast::<f32>());
    let plans: Vec<Plan> = c.spatial.iter().map(plan).collect();
    for lines in Line::of_parts(c, &plans) {
        // SAFETY: the caller's promise.
        unsafe { run_part(context, c, width, &lines, [left, right], result)? };
    }
    Ok(true)
}

/// Features of each group, and outputs, of what is computed here.
pub(super) fn width(c: &Convolution) -> Option<usize> {
    let groups = c.feature_groups.max(1);
    let width = c.features / groups;
    let few = width == 1 || groups::suit(width);
    // Without space there are no places side by side.
    let pays = c.batch_groups == 1
        && !c.spatial.is_empty()
        && c.features >= LEAST_FEATURES
        && few
        && [c.features, c.outputs] == [groups * width; 2]
        && [c.left_feature_stride, c.output_strides[1]] == [1; 2];
    pays.then_some(width)
}

/// # Safety
///
/// As for [`super::run`].
unsafe fn run_part(
    context: &Context,
    c: &Convolution,
    width: usize,
    lines: &[Line],
    [left, right]: [*const f32; 2],
    result: *mut f32,
) -> Result<()> {
    let Some((inner, outer)) = lines.split_last() else { return Ok(()) };
    let taps: usize = lines.iter().map(|line| line.taps.len()).product();
    // By tap and feature of a group, what goes with the outputs side by side, as these are.
    let packed = scratch::<f32>(taps * width * c.outputs)?;
    let mut steps = Steps::default();
    let of_group =
        |tap: isize| (0..width).map(move |feature| tap + feature as isize * c.right_feature_stride);
    steps.places = Line::all_taps(lines).into_iter().flat_map(of_group).collect();
    steps.find_runs();
    let outputs: Vec<isize> =
        (0..c.outputs).map(|output| output as isize * c.output_strides[0]).collect();
    // SAFETY: there is room for the window, which is the caller's promise.
    unsafe {
        let from = right.wrapping_offset(c.right_start).cast();
        pack::<f32, f32>(from, &outputs, &steps, c.outputs, packed.as_ptr().cast());
    }
    let segments = Stretch::of(inner);
    let (left, result) = (Address(left.cast_mut()), Address(result));
    let window = Address(packed.as_ptr().cast::<f32>());
    let sizes: Vec<usize> =
        std::iter::once(c.images).chain(outer.iter().map(|line| line.places)).collect();
    let work = inner.places * taps.max(1) * width * c.features;
    context.parallel_for(sizes.iter().product(), 1 + GRAIN / work.max(1), |begin, end| {
        let [mut now, mut next, mut both] = [const { Vec::new() }; 3];
        let mut at = vec![0; sizes.len()];
        for row in begin..end {
            let mut rest = row;
            for (at, size) in at.iter_mut().zip(&sizes).rev() {
                (*at, rest) = (rest % size, rest / size);
            }
            let image = at[0] as isize;
            let mut into = image * c.image_strides[1];
            now.clear();
            now.push(Tap { element: image * c.image_strides[0], number: 0 });
            for (line, &at) in outer.iter().zip(&at[1..]) {
                into += line.target(at);
                let taps: Vec<Tap> = present(line.elements(at)).collect();
                extend(&now, &taps, line.taps.len(), &mut next);
                std::mem::swap(&mut now, &mut next);
            }
            for stretch in &segments {
                extend(&now, &stretch.taps, inner.taps.len(), &mut both);
                let into = into + inner.target(stretch.first);
                let segment = Segment {
                    places: stretch.places,
                    features: c.features,
                    taps: &both,
                    elements: left.get().cast_const(),
                    step: stretch.step,
                    window: window.get().cast_const(),
                    result: result.get().wrapping_offset(into),
                    result_step: inner.result[1],
                };
                // SAFETY: the taps are those inside the operand; rows are different parts of the result.
                unsafe {
                    match width {
                        1 => segment::compute(&segment),
                        _ => groups::compute(&segment, width),
                    }
                }
            }
        }
    });
    Ok(())
}

/// Places of a line that have the same taps inside the operand, as far from each other there.
struct Stretch {
    first: usize,
    places: usize,
    /// Of the first place.
    taps: Vec<Tap>,
    /// From one place to the next in the operand.
    step: isize,
}

impl Stretch {
    fn of(line: &Line) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = Vec::new();
        for place in 0..line.places {
            let taps: Vec<Tap> = present(line.elements(place)).collect();
            if let Some(last) = all.last_mut()
                && last.takes(&taps)
            {
                last.places += 1;
                continue;
            }
            all.push(Stretch { first: place, places: 1, taps, step: 0 });
        }
        all
    }

    /// Whether the next place may have these taps; the second one says how far places are from each other.
    fn takes(&mut self, taps: &[Tap]) -> bool {
        let numbers = |taps: &[Tap]| taps.iter().map(|tap| tap.number).collect::<Vec<_>>();
        if numbers(taps) != numbers(&self.taps) {
            return false;
        }
        let mut moved = self.taps.iter().zip(taps).map(|(first, now)| now.element - first.element);
        let Some(first) = moved.next() else { return true };
        if self.places == 1 {
            self.step = first;
        }
        first == self.step * self.places as isize && moved.all(|other| other == first)
    }
}

/// Which taps meet elements.
fn present(elements: &[isize]) -> impl Iterator<Item = Tap> {
    let tap = |(number, &element): (usize, &isize)| Tap { element, number };
    elements.iter().enumerate().map(tap).filter(|tap| tap.element != OUTSIDE)
}

/// The taps of some dimensions and of one more, which has so many.
fn extend(outer: &[Tap], inner: &[Tap], count: usize, into: &mut Vec<Tap>) {
    into.clear();
    for tap in outer {
        into.extend(inner.iter().map(|other| Tap {
            element: tap.element + other.element,
            number: tap.number * count + other.number,
        }));
    }
}
