//! Two neighbouring places along one dimension at once, for windows of any size and rank.
//!
//! The taps along the dimension are threes and twos: each three takes four products instead of six, each two three
//! instead of four. The other dimensions' taps are more values to sum, as features are. Threads take blocks of pairs of
//! places: each is transformed, multiplied and transformed back while it is in a cache.

mod transform;

use std::sync::atomic::{AtomicBool, Ordering};

use rxla_base::Result;

use super::{LEAST_FEATURES, PANEL, Sum, multiply, row};
use crate::context::Context;
use crate::convolution::line::{Line, OUTSIDE};
use crate::convolution::parts::Plan;
use crate::convolution::{Convolution, plan};
use crate::gemm::micro::strided;
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, out_of_memory, scratch};
use crate::system;

/// Outputs that make transforms of elements worth it.
const LEAST_OUTPUTS: usize = if cfg!(test) { 1 } else { 32 };
/// Pairs for which transforming the window pays.
const LEAST_PAIRS: usize = if cfg!(test) { 1 } else { 96 };
/// Taps beyond which too little is known about the rounding of the sums.
const MOST_TAPS: usize = 16;
/// Pairs of a block.
const BLOCK: [usize; 2] = [48, 96];

/// The dimension to go along, if there is one for which it pays.
pub(super) fn dimension(c: &Convolution) -> Option<usize> {
    let suits = |dim: &usize| {
        let dim = &c.spatial[*dim];
        dim.stride == 1 && dim.right_dilation == 1 && (3..=MOST_TAPS).contains(&dim.kernel)
    };
    let places: usize = c.spatial.iter().map(|dim| dim.output).product();
    let suited = [c.left_feature_stride, c.output_strides[1]] == [1; 2]
        && c.spatial.iter().all(|dim| dim.left_dilation == 1)
        && c.features >= LEAST_FEATURES
        && c.outputs >= LEAST_OUTPUTS
        && c.images * places >= 2 * LEAST_PAIRS;
    // Where a place of two has no neighbour, half of the work is for nothing.
    let dims = (0..c.spatial.len()).rev().filter(suits);
    let waste = |dim: usize| {
        c.spatial[dim].output.next_multiple_of(2) as f64 / c.spatial[dim].output as f64
    };
    let best = dims.min_by(|&a, &b| waste(a).total_cmp(&waste(b)))?;
    (suited && (cfg!(test) || waste(best) < 1.2)).then_some(best)
}

/// # Safety
///
/// As for [`super::run`].
pub(super) unsafe fn run(
    context: &Context,
    c: &Convolution,
    dim: usize,
    left: *const f32,
    right: *const f32,
    result: *mut f32,
) -> Result<bool> {
    let plans: Vec<Plan> = c.spatial.iter().map(plan).collect();
    let Some(mut outer) = Line::of_parts(c, &plans).pop() else { return Ok(false) };
    outer.remove(dim);
    let inner = c.spatial[dim];
    let chunks = match inner.kernel % 3 {
        0 => [inner.kernel / 3, 0],
        1 => [(inner.kernel - 4) / 3, 2],
        _ => [inner.kernel / 3, 1],
    };
    let work = Work {
        points: 4 * chunks[0] + 3 * chunks[1],
        chunks,
        taps: outer.iter().map(|line| line.taps.len()).product(),
        pairs: inner.output.div_ceil(2),
        c,
        dim,
        outer,
        left,
        right,
        result: Address(result),
    };
    // SAFETY: the caller's promise.
    unsafe { work.run(context) }
}

/// What threads share.
struct Work<'a> {
    c: &'a Convolution,
    dim: usize,
    /// The other dimensions.
    outer: Vec<Line>,
    /// How many taps these have.
    taps: usize,
    /// Threes and twos of taps, and the products that they take.
    chunks: [usize; 2],
    points: usize,
    /// Of each line.
    pairs: usize,
    left: *const f32,
    right: *const f32,
    result: Address<f32>,
}

// SAFETY: threads write different places of the result.
unsafe impl Sync for Work<'_> {}

/// How much is done at once.
#[derive(Clone, Copy)]
struct Sizes {
    /// Pairs of a block.
    pairs: usize,
    /// Taps of the other dimensions, with all their features.
    taps: usize,
    element_row: usize,
    product_row: usize,
}

impl Work<'_> {
    fn panels(&self) -> usize {
        self.c.outputs.div_ceil(PANEL)
    }

    /// Values of a panel at each point.
    fn panel_size(&self) -> usize {
        self.taps * self.c.features * PANEL
    }

    /// # Safety
    ///
    /// As for [`super::run`].
    unsafe fn run(&self, context: &Context) -> Result<bool> {
        let lines: usize = self.outer.iter().map(|line| line.places).product();
        let pairs = self.c.images * lines * self.pairs;
        let (panels, size) = (self.panels(), self.panel_size());
        let room = scratch::<f32>(self.points * panels * size)?;
        let window = Address(room.as_ptr().cast::<f32>());
        let [infinite, failed] = [const { AtomicBool::new(false) }; 2];
        let steps = self.steps();
        context.parallel_for(panels, 1, |begin, end| {
            let Ok(packed) = scratch::<f32>(self.c.spatial[self.dim].kernel * size) else {
                failed.store(true, Ordering::Relaxed);
                return;
            };
            for panel in begin..end {
                // SAFETY: every panel has room of its own.
                unsafe { self.transform_window(panel, &steps, packed.as_ptr().cast(), window) };
            }
        });
        let sizes = self.sizes(context, pairs);
        let values = self.points * (sizes.element_row + sizes.product_row);
        let failed = &failed;
        context.parallel_for(pairs.div_ceil(sizes.pairs), 1, |begin, end| {
            let Ok(room) = scratch::<f32>(sizes.pairs * values + self.c.features) else {
                failed.store(true, Ordering::Relaxed);
                return;
            };
            let mut line = Found::default();
            for block in begin..end {
                let first = block * sizes.pairs;
                let count = sizes.pairs.min(pairs - first);
                let room = room.as_ptr().cast();
                // SAFETY: the window is transformed; there is room; blocks are different parts of the result.
                let finite =
                    unsafe { self.compute([first, count], sizes, window.get(), room, &mut line) };
                infinite.fetch_or(!finite, Ordering::Relaxed);
            }
        });
        match failed.load(Ordering::Relaxed) {
            true => Err(out_of_memory()),
            false => Ok(!infinite.into_inner()),
        }
    }

    fn sizes(&self, context: &Context, pairs: usize) -> Sizes {
        let near = system::second_cache() / 2 / size_of::<f32>();
        // Half of that for elements, of a block of the usual size.
        let taps = near / 2 / (self.points * 64 * self.c.features);
        // By parts of nearly the same size.
        let parts = self.taps.max(1).div_ceil(taps.max(1));
        let taps = self.taps.div_ceil(parts);
        let (element_row, product_row) = (row(taps * self.c.features), row(self.c.outputs));
        let most = near / (self.points * (element_row + product_row));
        let most = most.clamp(BLOCK[0], BLOCK[1]).min(pairs.div_ceil(context.threads())).max(1);
        let pairs = most.next_multiple_of(strided::for_f32().rows);
        Sizes { pairs, taps, element_row, product_row }
    }

    /// Where the values of an output are in the window: by tap of the other dimensions, of this one, and feature.
    fn steps(&self) -> Steps {
        let mut steps = Steps::default();
        let inner = self.c.spatial[self.dim];
        for at in Line::all_taps(&self.outer) {
            for tap in 0..inner.kernel {
                let at = at + tap as isize * inner.right_stride;
                let feature = |feature: usize| at + feature as isize * self.c.right_feature_stride;
                steps.places.extend((0..self.c.features).map(feature));
            }
        }
        steps.find_runs();
        steps
    }

    /// The first tap of each three and two.
    fn starts(&self) -> [impl Iterator<Item = usize>; 2] {
        let [threes, twos] = self.chunks;
        [(0, 3, threes), (3 * threes, 2, twos)]
            .map(|(first, size, count)| (0..count).map(move |chunk| first + chunk * size))
    }

    /// # Safety
    ///
    /// The window can be read, and there is room for it packed and transformed.
    unsafe fn transform_window(
        &self,
        panel: usize,
        steps: &Steps,
        packed: *mut f32,
        into: Address<f32>,
    ) {
        let transforms = transform::best();
        let first = panel * PANEL;
        let stride = self.c.output_strides[0];
        let lanes: Vec<isize> = (first..self.c.outputs.min(first + PANEL))
            .map(|output| output as isize * stride)
            .collect();
        let from = self.right.wrapping_offset(self.c.right_start).cast();
        // SAFETY: the caller's promise.
        unsafe { pack::<f32, f32>(from, &lanes, steps, PANEL, packed) };
        let (tap_size, kernel) = (self.c.features * PANEL, self.c.spatial[self.dim].kernel);
        let stride = self.panels() * self.panel_size();
        for outer in 0..self.taps {
            let tap =
                |tap: usize| packed.wrapping_add((outer * kernel + tap) * tap_size).cast_const();
            let into = into.get().wrapping_add(panel * self.panel_size() + outer * tap_size);
            let mut point = 0;
            let [threes, twos] = self.starts();
            // SAFETY: packed above; the room is the caller's promise.
            unsafe {
                for start in threes {
                    let taps = std::array::from_fn(|i| tap(start + i));
                    let into = into.wrapping_add(point * stride);
                    (transforms.three_taps)(&taps, tap_size, into, stride);
                    point += 4;
                }
                for start in twos {
                    let taps = std::array::from_fn(|i| tap(start + i));
                    let into = into.wrapping_add(point * stride);
                    (transforms.two_taps)(&taps, tap_size, into, stride);
                    point += 3;
                }
            }
        }
    }

    /// Computes `count` pairs from `first` on; says whether all values are finite.
    ///
    /// # Safety
    ///
    /// As for [`super::run`], and nobody else writes these pairs; there is room for elements, products and zeros.
    unsafe fn compute(
        &self,
        [first, count]: [usize; 2],
        sizes: Sizes,
        window: *const f32,
        room: *mut f32,
        line: &mut Found,
    ) -> bool {
        let Sizes { element_row, product_row, .. } = sizes;
        let products = room.wrapping_add(sizes.pairs * self.points * element_row);
        let zeros = products.wrapping_add(sizes.pairs * self.points * product_row);
        // SAFETY: the caller's promise: there is room for all of it.
        unsafe {
            zeros.write_bytes(0, self.c.features);
            let mut begin = 0;
            loop {
                let present = begin..self.taps.min(begin + sizes.taps);
                for pair in 0..count {
                    let place = self.place(first + pair, line);
                    for (number, &tap) in line.taps[present.clone()].iter().enumerate() {
                        let into = room.add(pair * element_row + number * self.c.features);
                        self.transform(tap, place.start, zeros, into, count * element_row);
                    }
                }
                let sum = if begin == 0 { Sum::Begins } else { Sum::GoesOn };
                for point in 0..self.points {
                    let a = room.add(point * count * element_row);
                    for panel in 0..self.panels() {
                        let number = point * self.panels() + panel;
                        let b = window
                            .add(number * self.panel_size() + begin * self.c.features * PANEL);
                        let into = products.add(point * count * product_row + panel * PANEL);
                        let k = present.len() * self.c.features;
                        multiply([count, k, PANEL], a, b, into, [element_row, product_row], sum);
                    }
                }
                begin = present.end;
                if begin >= self.taps {
                    break;
                }
            }
            (0..count).fold(true, |finite, pair| {
                let from = products.add(pair * product_row);
                let stride = count * product_row;
                let into = self.place(first + pair, line).result;
                let put = transform::best().two_places;
                put(from, stride, self.c.outputs, self.chunks, &into) && finite
            })
        }
    }

    /// Where a pair is; `line` is found again if it is another one.
    fn place(&self, number: usize, line: &mut Found) -> Place {
        let inner = self.c.spatial[self.dim];
        let (number, pair) = (number / self.pairs, number % self.pairs);
        if line.number != Some(number) {
            self.find(number, line);
        }
        let into = line.result + (2 * pair) as isize * inner.result_stride;
        let first = self.result.get().wrapping_offset(into);
        let second = match 2 * pair + 1 < inner.output {
            true => first.wrapping_offset(inner.result_stride),
            false => std::ptr::null_mut(),
        };
        Place { start: (2 * pair) as isize - inner.pad_low, result: [first, second] }
    }

    fn find(&self, number: usize, line: &mut Found) {
        let Found { number: found, taps, result } = line;
        *found = Some(number);
        let mut rest = number;
        *result = 0;
        // The last dimension first; taps are those of the dimensions from there on.
        taps.clear();
        taps.push(0);
        for line in self.outer.iter().rev() {
            let at = rest % line.places;
            rest /= line.places;
            *result += line.target(at);
            let below = taps.len();
            let elements = line.elements(at);
            taps.resize(below * elements.len(), 0);
            for (i, &element) in elements.iter().enumerate().rev() {
                for j in 0..below {
                    taps[i * below + j] = match element == OUTSIDE || taps[j] == OUTSIDE {
                        true => OUTSIDE,
                        false => element + taps[j],
                    };
                }
            }
        }
        let image = rest as isize;
        for tap in taps.iter_mut().filter(|tap| **tap != OUTSIDE) {
            *tap += image * self.c.image_strides[0];
        }
        *result += image * self.c.image_strides[1];
    }

    /// Transforms the elements of a pair in one line, its points `stride` apart.
    ///
    /// # Safety
    ///
    /// The operand can be read, and there is room; there are zeros for all features.
    unsafe fn transform(
        &self,
        line: isize,
        start: isize,
        zeros: *const f32,
        into: *mut f32,
        stride: usize,
    ) {
        let (inner, features) = (self.c.spatial[self.dim], self.c.features);
        let element = |at: usize| {
            let at = start + at as isize;
            match line != OUTSIDE && (0..inner.input as isize).contains(&at) {
                true => self.left.wrapping_offset(line + at * inner.left_stride),
                false => zeros,
            }
        };
        let transforms = transform::best();
        let mut point = 0;
        let [threes, twos] = self.starts();
        // SAFETY: the places are inside the operand or the zeros; the rest is the caller's promise.
        unsafe {
            for first in threes {
                let places = std::array::from_fn(|i| element(first + i));
                (transforms.four_elements)(&places, features, into.add(point * stride), stride);
                point += 4;
            }
            for first in twos {
                let places = std::array::from_fn(|i| element(first + i));
                (transforms.three_elements)(&places, features, into.add(point * stride), stride);
                point += 3;
            }
        }
    }
}

/// A line of places.
#[derive(Default)]
struct Found {
    number: Option<usize>,
    /// By tap of the other dimensions, where its line is in the operand.
    taps: Vec<isize>,
    /// Where the line is in the result.
    result: isize,
}

/// A pair of places.
struct Place {
    /// Where its first element is in the dimension.
    start: isize,
    result: [*mut f32; 2],
}
