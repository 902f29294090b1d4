//! Winograd's convolutions: windows of three by three over neighbouring places share their products.
//!
//! Two places of three taps, or three places of two taps, see four elements of the operand. Seen as polynomials that
//! are multiplied at the points 0, 1, -1 and infinity, each pair of (places, taps) needs four products in a dimension
//! instead of six: sixteen instead of thirty-six in two (S. Winograd, Arithmetic Complexity of Computations, 1980;
//! A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2016). With features, each of the
//! sixteen is a product of matrices. [`forward`] has few taps and many places; [`gradient`], for the gradient of a
//! window, few places and many taps.
//!
//! Points this small add little to the rounding of a plain sum. What they do add is that an element counts, and
//! cancels, in places whose windows do not hold it: so whatever does not come out finite is computed the plain way,
//! and [`Method::Direct`] always is.

mod forward;
mod gradient;
mod transform;
mod vector;

use rxla_base::Result;

use super::{Convolution, Method};
use crate::allocator::Block;
use crate::context::Context;
use crate::element::{Element, Elements};
use crate::gemm::pack::{Steps, pack};
use crate::gemm::{Address, scratch};

/// Lanes of the widest vector.
const LANES: usize = 16;
/// Columns of a panel of products; every width of a micro-kernel divides it.
const PANEL: usize = 32;
/// Products of a patch of four by four.
const POINTS: usize = 16;
/// Features below which transforms cost more than they save.
const LEAST_FEATURES: usize = if cfg!(test) { 1 } else { 16 };

/// Runs the convolution if it is one of those, and worth it; says whether the result is there.
///
/// # Safety
///
/// The addresses are those of buffers that hold what `convolution` says; nobody else uses the result.
pub(super) unsafe fn run<E: Elements>(
    context: &Context,
    convolution: &Convolution,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Result<bool> {
    let elements = [convolution.left, convolution.right, convolution.result].map(E::known);
    let [y, x] = convolution.spatial[..] else { return Ok(false) };
    let plain =
        [y, x].iter().all(|dim| [dim.stride, dim.left_dilation, dim.right_dilation] == [1; 3]);
    if convolution.method == Method::Direct
        || elements != [Element::F32; 3]
        || !plain
        || [convolution.feature_groups, convolution.batch_groups] != [1; 2]
    {
        return Ok(false);
    }
    let (left, right, result) = (left.cast::<f32>(), right.cast::<f32>(), result.cast::<f32>());
    // SAFETY: the caller's promise.
    unsafe {
        if forward::pays(convolution, [y, x]) {
            forward::run(context, convolution, [y, x], left, right, result)
        } else if gradient::pays(convolution, [y, x]) {
            gradient::run(context, convolution, [y, x], left, right, result)
        } else {
            Ok(false)
        }
    }
}

/// Pictures in memory.
#[derive(Clone, Copy)]
struct Pictures {
    data: Address<f32>,
    count: usize,
    size: [usize; 2],
    /// From one picture to the next, and in each down and right.
    strides: [isize; 3],
    /// Values of a place, which lie one after the other unless they are said to be elsewhere.
    lanes: usize,
}

impl Pictures {
    /// The same pictures with the lanes of a place side by side, where now they are `stride` apart.
    ///
    /// # Safety
    ///
    /// The pictures can be read.
    unsafe fn lanes_together(
        self,
        context: &Context,
        stride: isize,
    ) -> Result<(Pictures, Option<Block>)> {
        if stride == 1 || self.lanes == 1 {
            return Ok((self, None));
        }
        let [height, width] = self.size;
        let places = height * width;
        let block = scratch::<f32>(self.count * places * self.lanes)?;
        let copy = Pictures {
            data: Address(block.as_ptr().cast()),
            strides: [places * self.lanes, width * self.lanes, self.lanes].map(|s| s as isize),
            ..self
        };
        let rows: Vec<isize> = (0..self.lanes as isize).map(|lane| lane * stride).collect();
        let pieces = places.div_ceil(PIECE);
        context.parallel_for(self.count * pieces, 1, |begin, end| {
            let mut steps = Steps::default();
            for task in begin..end {
                let (picture, first) = (task / pieces, task % pieces * PIECE);
                steps.places.clear();
                steps.places.extend((first..places.min(first + PIECE)).map(|place| {
                    (place / width) as isize * self.strides[1]
                        + (place % width) as isize * self.strides[2]
                }));
                steps.find_runs();
                let from = self.data.get().wrapping_offset(picture as isize * self.strides[0]);
                let into = copy.data.get().wrapping_add((picture * places + first) * self.lanes);
                // SAFETY: the caller's promise; the copy has room for every place.
                unsafe { pack::<f32, f32>(from.cast(), &rows, &steps, self.lanes, into) };
            }
        });
        Ok((copy, Some(block)))
    }

    /// The addresses of a patch; places outside the picture are at `outside`.
    fn patch<const SIDE: usize>(
        &self,
        picture: usize,
        start: [isize; 2],
        outside: *const f32,
    ) -> [[*const f32; SIDE]; SIDE] {
        let picture = self.data.get().wrapping_offset(picture as isize * self.strides[0]);
        let inside = |at: isize, dim: usize| (0..self.size[dim] as isize).contains(&at);
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let (y, x) = (start[0] + i as isize, start[1] + j as isize);
                if inside(y, 0) && inside(x, 1) {
                    picture.wrapping_offset(y * self.strides[1] + x * self.strides[2]).cast_const()
                } else {
                    outside
                }
            })
        })
    }
}

/// Places that are copied at once.
const PIECE: usize = 256;

/// The places of patches, in order: picture, from above and from the left.
#[derive(Clone, Copy)]
struct Patches {
    count: [usize; 3],
}

impl Patches {
    /// Patches every two places of so many pictures of that size.
    fn new(pictures: usize, size: [usize; 2]) -> Patches {
        Patches { count: [pictures, size[0].div_ceil(2), size[1].div_ceil(2)] }
    }

    fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// The picture of a patch, and where it starts.
    fn at(&self, index: usize) -> (usize, [usize; 2]) {
        let [_, high, wide] = self.count;
        (index / wide / high, [index / wide % high * 2, index % wide * 2])
    }
}

/// Lanes with room to whole vectors, and some more so that rows do not all begin in the same set of a cache.
fn row(lanes: usize) -> usize {
    lanes.next_multiple_of(PANEL) + LANES
}
