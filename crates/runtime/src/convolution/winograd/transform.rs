//! The transforms: into the values at the four points, and back.
//!
//! With `d` four elements, `g` the taps and `m` the products of their transforms, the places of three taps are
//! `m0 + m1 + m2` and `m1 - m2 - m3`, and those of two taps `m0 + m1 + m2`, `m1 - m2` and `m1 + m2 - m3`.

use super::LANES;
use crate::convolution::vector::{Vector, choose};
use crate::gemm::pack::prefetch;

/// Addresses of the places of a patch.
pub(super) type Patch<T, const SIDE: usize> = [[T; SIDE]; SIDE];

/// The transforms for one instruction set. All are of so many lanes of each place of a patch; those of the sixteen
/// points are `stride` apart, and there they may be read and written up to a whole vector.
pub(super) struct Transforms {
    /// Of elements.
    pub(super) elements: unsafe fn(&Patch<*const f32, 4>, usize, *mut f32, usize),
    /// Of three by three taps.
    pub(super) three_taps: unsafe fn(&Patch<*const f32, 3>, usize, *mut f32, usize),
    /// Of two by two taps.
    pub(super) two_taps: unsafe fn(&Patch<*const f32, 2>, usize, *mut f32, usize),
    /// Back to two by two places, of products with three taps. Nothing is written to places that are null. Says whether
    /// all values are finite.
    pub(super) two_places: unsafe fn(*const f32, usize, usize, &Patch<*mut f32, 2>) -> bool,
    /// Back to three by three places, of products with two taps.
    pub(super) three_places: unsafe fn(*const f32, usize, usize, &Patch<*mut f32, 3>) -> bool,
}

choose!(Transforms {
    elements: into_points::<4, Elements>(patch: &Patch<*const f32, 4>, lanes: usize, into: *mut f32, stride: usize),
    three_taps: into_points::<3, ThreeTaps>(patch: &Patch<*const f32, 3>, lanes: usize, into: *mut f32, stride: usize),
    two_taps: into_points::<2, TwoTaps>(patch: &Patch<*const f32, 2>, lanes: usize, into: *mut f32, stride: usize),
    two_places: from_points::<2, TwoPlaces>(
        from: *const f32, stride: usize, lanes: usize, into: &Patch<*mut f32, 2>
    ) -> bool,
    three_places: from_points::<3, ThreePlaces>(
        from: *const f32, stride: usize, lanes: usize, into: &Patch<*mut f32, 3>
    ) -> bool,
});

/// What is done along each of the two dimensions.
pub(super) trait Along<const FROM: usize, const INTO: usize> {
    fn along<V: Vector>(x: [V; FROM]) -> [V; INTO];
}

pub(super) struct Elements;

impl Along<4, 4> for Elements {
    #[inline(always)]
    fn along<V: Vector>(d: [V; 4]) -> [V; 4] {
        [d[0].sub(d[2]), d[1].add(d[2]), d[2].sub(d[1]), d[1].sub(d[3])]
    }
}

pub(super) struct ThreeTaps;

impl Along<3, 4> for ThreeTaps {
    #[inline(always)]
    fn along<V: Vector>(g: [V; 3]) -> [V; 4] {
        let (sides, middle) = (g[0].add(g[2]).half(), g[1].half());
        [g[0], sides.add(middle), sides.sub(middle), g[2]]
    }
}

struct TwoTaps;

impl Along<2, 4> for TwoTaps {
    #[inline(always)]
    fn along<V: Vector>(g: [V; 2]) -> [V; 4] {
        let (first, second) = (g[0].half(), g[1].half());
        [g[0], first.add(second), first.sub(second), g[1]]
    }
}

pub(super) struct TwoPlaces;

impl Along<4, 2> for TwoPlaces {
    #[inline(always)]
    fn along<V: Vector>(m: [V; 4]) -> [V; 2] {
        [m[0].add(m[1].add(m[2])), m[1].sub(m[2]).sub(m[3])]
    }
}

struct ThreePlaces;

impl Along<4, 3> for ThreePlaces {
    #[inline(always)]
    fn along<V: Vector>(m: [V; 4]) -> [V; 3] {
        let sum = m[1].add(m[2]);
        [m[0].add(sum), m[1].sub(m[2]), sum.sub(m[3])]
    }
}

#[inline(always)]
fn both<V: Vector, const FROM: usize, const INTO: usize, A: Along<FROM, INTO>>(
    x: [[V; FROM]; FROM],
) -> [[V; INTO]; INTO] {
    let mut half = [[x[0][0]; FROM]; INTO];
    for j in 0..FROM {
        let mut column = [x[0][0]; FROM];
        for i in 0..FROM {
            column[i] = x[i][j];
        }
        let column = A::along(column);
        for i in 0..INTO {
            half[i][j] = column[i];
        }
    }
    let mut result = [[x[0][0]; INTO]; INTO];
    for i in 0..INTO {
        result[i] = A::along(half[i]);
    }
    result
}

/// # Safety
///
/// The lanes of each place of the patch can be read, and whole vectors of the points written; the processor has the
/// vectors.
#[inline(always)]
unsafe fn into_points<const SIDE: usize, A: Along<SIDE, 4>, V: Vector>(
    patch: &Patch<*const f32, SIDE>,
    lanes: usize,
    into: *mut f32,
    stride: usize,
) {
    let whole = lanes / V::LANES * V::LANES;
    for lane in (0..whole).step_by(V::LANES) {
        // The patches of elements come from the left to the right, two places at a time: what is new in the one after the
        // next is fetched meanwhile. Where a place is outside, so is what is fetched, and nothing is lost.
        if SIDE != 3 {
            for row in patch {
                let [before, last] = [row[SIDE - 2], row[SIDE - 1]];
                let right = (last as isize).wrapping_sub(before as isize).wrapping_mul(4);
                prefetch(before.wrapping_add(lane).wrapping_byte_offset(right));
                prefetch(last.wrapping_add(lane).wrapping_byte_offset(right));
            }
        }
        // SAFETY: the caller's promise.
        unsafe { step_into::<V, SIDE, A>(patch, lane, into.add(lane), stride) };
    }
    if whole < lanes {
        let mut room = [[[0.0; LANES]; SIDE]; SIDE];
        let mut rest = *patch;
        for i in 0..SIDE {
            for j in 0..SIDE {
                // SAFETY: the caller's promise; less than a vector is left.
                unsafe {
                    let from = patch[i][j].add(whole);
                    from.copy_to_nonoverlapping(room[i][j].as_mut_ptr(), lanes - whole);
                }
                rest[i][j] = room[i][j].as_ptr();
            }
        }
        // SAFETY: as above.
        unsafe { step_into::<V, SIDE, A>(&rest, 0, into.add(whole), stride) };
    }
}

/// # Safety
///
/// As for [`into_points`], for the vector of each place at `lane`.
#[inline(always)]
unsafe fn step_into<V: Vector, const SIDE: usize, A: Along<SIDE, 4>>(
    patch: &Patch<*const f32, SIDE>,
    lane: usize,
    into: *mut f32,
    stride: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut values = [[V::load(patch[0][0].add(lane)); SIDE]; SIDE];
        for i in 0..SIDE {
            for j in 0..SIDE {
                values[i][j] = V::load(patch[i][j].add(lane));
            }
        }
        let points = both::<V, SIDE, 4, A>(values);
        for i in 0..4 {
            for j in 0..4 {
                points[i][j].store(into.add((4 * i + j) * stride));
            }
        }
    }
}

/// # Safety
///
/// Whole vectors of the points can be read, and the lanes of each place that is not null written; the processor has
/// the vectors.
#[inline(always)]
unsafe fn from_points<const SIDE: usize, A: Along<4, SIDE>, V: Vector>(
    from: *const f32,
    stride: usize,
    lanes: usize,
    into: &Patch<*mut f32, SIDE>,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mut fault = V::zero();
        for lane in (0..lanes).step_by(V::LANES) {
            let mut points = [[fault; 4]; 4];
            for i in 0..4 {
                for j in 0..4 {
                    points[i][j] = V::load(from.add((4 * i + j) * stride + lane));
                }
            }
            let values = both::<V, 4, SIDE, A>(points);
            for i in 0..SIDE {
                for j in 0..SIDE {
                    // Zero, or NaN.
                    fault = fault.add(values[i][j].sub(values[i][j]));
                    if into[i][j].is_null() {
                        continue;
                    }
                    let place = into[i][j].add(lane);
                    if lane + V::LANES <= lanes {
                        values[i][j].store(place);
                    } else {
                        let mut room = [0.0; LANES];
                        values[i][j].store(room.as_mut_ptr());
                        place.copy_from_nonoverlapping(room.as_ptr(), lanes - lane);
                    }
                }
            }
        }
        let mut room = [0.0; LANES];
        fault.store(room.as_mut_ptr());
        room[..V::LANES].iter().all(|value| *value == 0.0)
    }
}
