//! Winograd's convolutions: windows of three by three over neighbouring places share their products.
//!
//! Two places of three taps, or three places of two taps, see four elements of the operand. Seen as polynomials that
//! are multiplied at the points 0, 1, -1 and infinity, each pair of (places, taps) needs four products in a dimension
//! instead of six: sixteen instead of thirty-six in two (S. Winograd, Arithmetic Complexity of Computations, 1980;
//! A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2016). Where there are many places, it is
//! four of them, or four taps, at six points: thirty-six products instead of a hundred and forty-four. With features, each
//! point is a product of matrices. [`forward`] has few taps and many places; [`gradient`], for the gradient of a
//! window, few places and many taps; [`line`] goes along one dimension, for windows of other sizes and ranks. Groups
//! are products of their own, for which there are kernels of few outputs ([`narrow`]).
//!
//! Points this small add little to the rounding of a plain sum ([`transform`] has how much). What they do add is that an
//! element counts, and cancels, in places whose windows do not hold it: so whatever does not come out finite is computed
//! the plain way, and [`Method::Direct`] always is.

mod forward;
mod gradient;
mod line;
mod narrow;
mod transform;
mod window;

use rxla_base::Result;

use super::{Convolution, Method};
use crate::context::Context;
use crate::element::Elements;
use crate::gemm::micro::{Tile, strided};

const LANES: usize = super::vector::MOST_LANES;
/// Points of the largest patch.
const MOST_POINTS: usize = 36;
/// Columns of a panel of products; every width of a micro-kernel divides it.
const PANEL: usize = 32;
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
    if convolution.method == Method::Direct
        || !convolution.is_f32::<E>()
        || convolution.batch_groups != 1
    {
        return Ok(false);
    }
    let (left, right, result) = (left.cast::<f32>(), right.cast::<f32>(), result.cast::<f32>());
    // SAFETY: the caller's promise.
    unsafe {
        if let [y, x] = convolution.spatial[..]
            && [y, x].iter().all(|dim| dim.stride == 1 && dim.left_dilation == 1)
        {
            if forward::pays(convolution, [y, x]) {
                return forward::run(context, convolution, [y, x], left, right, result);
            }
            if convolution.feature_groups == 1 && gradient::pays(convolution, [y, x]) {
                return gradient::run(context, convolution, [y, x], left, right, result);
            }
        }
        match line::dimension(convolution) {
            Some(dim) if convolution.feature_groups == 1 => {
                line::run(context, convolution, dim, left, right, result)
            }
            _ => Ok(false),
        }
    }
}

/// The places of patches, in order: picture, from above and from the left.
#[derive(Clone, Copy)]
struct Patches {
    count: [usize; 3],
    /// Places from one to the next.
    step: usize,
}

impl Patches {
    /// Patches every so many places of so many pictures of that size.
    fn new(pictures: usize, size: [usize; 2], step: usize) -> Patches {
        Patches { count: [pictures, size[0].div_ceil(step), size[1].div_ceil(step)], step }
    }

    fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// The picture of a patch, and where it starts.
    fn at(&self, index: usize) -> (usize, [usize; 2]) {
        let [_, high, wide] = self.count;
        (index / wide / high, [index / wide % high, index % wide].map(|at| at * self.step))
    }
}

/// Whether products are all there is, or more of a sum that has begun.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    Begins,
    GoesOn,
}

/// The products of `count` rows of `k` values with a panel of `width` outputs, whole vectors of them; rows of the left operand and of the result are so far from
/// each other.
///
/// # Safety
///
/// They can be read, and there is room for as many rows of products.
unsafe fn multiply(
    [count, k, width]: [usize; 3],
    a: *const f32,
    b: *const f32,
    c: *mut f32,
    [a_row, c_row]: [usize; 2],
    sum: Sum,
) {
    let kernels = strided::for_f32();
    // Tiles of nearly the same height.
    let tiles = count.div_ceil(kernels.rows);
    let edge = |tile: usize| tile * count / tiles;
    for tile in 0..tiles {
        let (first, rows) = (edge(tile), edge(tile + 1) - edge(tile));
        for column in (0..width).step_by(2 * kernels.lanes) {
            let vectors = ((width - column) / kernels.lanes).min(2);
            let left = (a.wrapping_add(first * a_row), 1);
            let right = (b.wrapping_add(column), width as isize);
            let into = (c.wrapping_add(first * c_row + column), c_row as isize);
            let tile = Tile::new(k, left, right, into);
            let tile = Tile { a_row, add: sum == Sum::GoesOn, ..tile };
            // SAFETY: the caller's promise.
            unsafe { kernels.run(vectors, rows, &tile) };
        }
    }
}

/// Lanes with room to whole vectors, and some more so that rows do not all begin in the same set of a cache.
fn row(lanes: usize) -> usize {
    lanes.next_multiple_of(PANEL) + LANES
}
