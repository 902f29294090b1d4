//! Pictures: the two dimensions of space of an operand, with the values of each place in lanes.
//!
//! Products are fastest where the lanes of a place lie side by side. Where they do not, as in NCHW, pictures are
//! copied into that order, and results out of it.

use std::ops::Range;

use rxla_base::Result;

use super::{Convolution, Spatial};
use crate::allocator::Block;
use crate::context::Context;
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, scratch};

/// Places that are copied at once, or a line of them.
const PIECE: usize = 256;
/// Lanes that are copied at once: as many as square blocks have.
const LANES: usize = 16;

/// Pictures in memory, with elements of the width of f32.
#[derive(Clone, Copy)]
pub(super) struct Pictures {
    pub(super) data: Address<f32>,
    pub(super) count: usize,
    pub(super) size: [usize; 2],
    /// From one picture to the next, and in each down and right.
    pub(super) strides: [isize; 3],
    /// Values of a place, which lie one after the other unless they are said to be elsewhere.
    pub(super) lanes: usize,
}

/// What of the left operand the lanes of a place are; the other counts pictures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lanes {
    Features,
    Images,
}

impl Pictures {
    /// The left operand, and how far its lanes are apart.
    pub(super) fn of_left(
        c: &Convolution,
        [y, x]: [Spatial; 2],
        left: *const f32,
        lanes: Lanes,
    ) -> (Pictures, isize) {
        let images = (c.images, c.image_strides[0]);
        let features = (c.features, c.left_feature_stride);
        let (inner, outer) = match lanes {
            Lanes::Features => (features, images),
            Lanes::Images => (images, features),
        };
        let pictures = Pictures {
            data: Address(left.cast_mut()),
            count: outer.0,
            size: [y.input, x.input],
            strides: [outer.1, y.left_stride, x.left_stride],
            lanes: inner.0,
        };
        (pictures, inner.1)
    }

    /// The result, whose lanes are outputs.
    pub(super) fn of_result(c: &Convolution, [y, x]: [Spatial; 2], result: *mut f32) -> Pictures {
        Pictures {
            data: Address(result),
            count: c.images,
            size: [y.output, x.output],
            strides: [c.image_strides[1], y.result_stride, x.result_stride],
            lanes: c.outputs,
        }
    }

    /// The same pictures with the lanes of a place side by side, where now they are `stride` apart.
    ///
    /// # Safety
    ///
    /// The pictures can be read.
    pub(super) unsafe fn lanes_together(
        self,
        context: &Context,
        stride: isize,
    ) -> Result<(Pictures, Option<Block>)> {
        if stride == 1 || self.lanes == 1 {
            return Ok((self, None));
        }
        let whole = self.size.map(|size| 0..size as isize);
        // SAFETY: the caller's promise.
        let (copy, block) = unsafe { self.copy(context, stride, whole)? };
        Ok((copy, Some(block)))
    }

    /// A copy of such ranges of the pictures, with the lanes of a place side by side, which in these are `stride` apart.
    /// Ranges may reach beyond the pictures: there are zeros.
    ///
    /// # Safety
    ///
    /// The pictures can be read.
    pub(super) unsafe fn copy(
        self,
        context: &Context,
        stride: isize,
        ranges: [Range<isize>; 2],
    ) -> Result<(Pictures, Block)> {
        let size = [0, 1].map(|dim| (ranges[dim].end - ranges[dim].start).max(0) as usize);
        let [height, width] = size;
        let bytes =
            [self.count, height, width, self.lanes].into_iter().fold(4, usize::saturating_mul);
        if bytes > crate::system::memory_limit() / 2 {
            let message =
                format!("out of memory copying the operand of a convolution: {bytes} bytes");
            return Err(rxla_base::Error::new(rxla_base::Code::ResourceExhausted, message));
        }
        let block = scratch::<f32>(bytes / 4)?;
        let lanes = self.lanes as isize;
        let copy = Pictures {
            data: Address(block.as_ptr().cast()),
            size,
            strides: [(height * width) as isize * lanes, width as isize * lanes, lanes],
            ..self
        };
        let rows: Vec<isize> = (0..lanes).map(|lane| lane * stride).collect();
        // Where in a line of the copy the picture's places are.
        let inside = |dim: usize| {
            let start = ranges[dim].start;
            let end = (self.size[dim] as isize - start).clamp(0, size[dim] as isize);
            (-start).clamp(0, end)..end
        };
        let (lines, places) = (inside(0), inside(1));
        let present = places.len();
        let group = (PIECE / width.max(1)).clamp(1, height.max(1));
        let groups = height.div_ceil(group);
        context.parallel_for(self.count * groups, 1, |begin, end| {
            let mut steps = Steps::default();
            let mut turned = Vec::new();
            for task in begin..end {
                let (picture, first) = (task / groups, task % groups * group);
                let last = height.min(first + group);
                let line = |y: usize| {
                    copy.data.get().wrapping_add((picture * height + y) * width * self.lanes)
                };
                let within = (first as isize).clamp(lines.start, lines.end)
                    ..(last as isize).clamp(lines.start, lines.end);
                steps.places.clear();
                for y in within.clone() {
                    let y = (y + ranges[0].start) * self.strides[1];
                    steps.places.extend(
                        places.clone().map(|x| y + (x + ranges[1].start) * self.strides[2]),
                    );
                }
                steps.find_runs();
                let from = self.data.get().wrapping_offset(picture as isize * self.strides[0]);
                let from = from.cast_const().cast();
                if within.len() == last - first && present == width {
                    // SAFETY: the caller's promise; the copy has room for every place.
                    unsafe { pack::<f32, f32>(from, &rows, &steps, self.lanes, line(first)) };
                    continue;
                }
                turned.resize(steps.places.len() * self.lanes, 0.0);
                // SAFETY: as above.
                unsafe { pack::<f32, f32>(from, &rows, &steps, self.lanes, turned.as_mut_ptr()) };
                for y in first..last {
                    // SAFETY: every line of the copy is in one task, and has this length.
                    let line =
                        unsafe { std::slice::from_raw_parts_mut(line(y), width * self.lanes) };
                    if !within.contains(&(y as isize)) {
                        line.fill(0.0);
                        continue;
                    }
                    let (before, rest) = line.split_at_mut(places.start as usize * self.lanes);
                    let (middle, after) = rest.split_at_mut(present * self.lanes);
                    let source = (y - within.start as usize) * middle.len();
                    before.fill(0.0);
                    middle.copy_from_slice(&turned[source..source + middle.len()]);
                    after.fill(0.0);
                }
            }
        });
        Ok((copy, block))
    }

    /// The pictures of every such place, from `start` on.
    pub(super) fn every(self, start: [usize; 2], step: [usize; 2]) -> Pictures {
        let size = [0, 1].map(|dim| self.size[dim].saturating_sub(start[dim]).div_ceil(step[dim]));
        let [picture, down, right] = self.strides;
        let offset = start[0] as isize * down + start[1] as isize * right;
        Pictures {
            data: Address(self.data.get().wrapping_offset(offset)),
            size,
            strides: [picture, step[0] as isize * down, step[1] as isize * right],
            ..self
        }
    }

    /// The addresses of a patch, line by line, and what is made of them; for places outside the picture, `outside`.
    ///
    /// What is written here in words and read at once in vectors would wait for all writes before it.
    #[inline(always)]
    pub(super) fn patch<T: Copy>(
        &self,
        (picture, start): (usize, [isize; 2]),
        side: usize,
        outside: T,
        make: impl Fn(*mut f32) -> T,
        places: &mut [T],
    ) {
        let picture = self.data.get().wrapping_offset(picture as isize * self.strides[0]);
        let inside = |dim: usize, at: isize| (0..self.size[dim] as isize).contains(&at);
        for (y, line) in (start[0]..).zip(places.chunks_exact_mut(side)) {
            let from = picture.wrapping_offset(y.wrapping_mul(self.strides[1]));
            for (x, place) in (start[1]..).zip(line) {
                *place = match inside(0, y) && inside(1, x) {
                    true => make(from.wrapping_offset(x * self.strides[2])),
                    false => outside,
                };
            }
        }
    }
}

/// Pictures of a result being made with the lanes of a place side by side, and where they go in the end.
pub(super) struct Turned {
    pub(super) made: Pictures,
    target: Pictures,
    block: Block,
}

impl Turned {
    /// Whether the result can be made so: outputs come before places, which lie one after the other.
    pub(super) fn suits(c: &Convolution, [y, x]: [Spatial; 2]) -> bool {
        x.result_stride == 1
            && y.result_stride == x.output as isize
            && c.output_strides[1] == (y.output * x.output) as isize
    }

    /// Room for pictures that go to `target`, whose lanes come first.
    pub(super) fn new(target: Pictures) -> Result<Turned> {
        let [height, width] = target.size;
        let block = scratch::<f32>(target.count * height * width * target.lanes)?;
        let strides = [height * width * target.lanes, width * target.lanes, target.lanes];
        let made = Pictures {
            data: Address(block.as_ptr().cast()),
            strides: strides.map(|stride| stride as isize),
            ..target
        };
        Ok(Turned { made, target, block })
    }

    /// Writes them to where they go.
    ///
    /// # Safety
    ///
    /// They are made, and their target can be written, which [`Turned::suits`].
    pub(super) unsafe fn put(self, context: &Context) {
        let Turned { made, target, block: _block } = self;
        let places = made.size[0] * made.size[1];
        let rows: Vec<isize> = (0..places).map(|place| (place * made.lanes) as isize).collect();
        let pieces = made.lanes.div_ceil(LANES);
        context.parallel_for(made.count * pieces, 1, |begin, end| {
            let mut steps = Steps::default();
            for task in begin..end {
                let (picture, first) = (task / pieces, task % pieces * LANES);
                let lanes = first..made.lanes.min(first + LANES);
                steps.places.clear();
                steps.places.extend(lanes.map(|lane| lane as isize));
                steps.find_runs();
                let from = made.data.get().wrapping_add(picture * places * made.lanes);
                let into = target.data.get().wrapping_offset(picture as isize * target.strides[0]);
                let into = into.wrapping_add(first * places);
                // SAFETY: the caller's promise.
                unsafe { pack::<f32, f32>(from.cast_const().cast(), &rows, &steps, places, into) };
            }
        });
    }
}
