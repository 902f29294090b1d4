//! The transforms along one dimension: those of three taps, see [`super::super::transform`], and those of two.
//!
//! With `d` three elements, `g` two taps and `m` the products of their transforms at the points 0, 1 and infinity, the
//! two places are `m0 + m1` and `m1 - m2`.

use crate::convolution::vector::{Vector, choose};
use crate::convolution::winograd::LANES;
use crate::convolution::winograd::transform::{Along, Elements, ThreeTaps, TwoPlaces};

/// Addresses of neighbouring places or taps.
type Places<T, const COUNT: usize> = [T; COUNT];

/// The transforms for one instruction set, of so many lanes. Those of the points are so far from each other, and there
/// they may be read and written up to a whole vector.
pub(super) struct Transforms {
    /// Of elements under three taps and under two.
    pub(super) four_elements: unsafe fn(&Places<*const f32, 4>, usize, *mut f32, usize),
    pub(super) three_elements: unsafe fn(&Places<*const f32, 3>, usize, *mut f32, usize),
    pub(super) three_taps: unsafe fn(&Places<*const f32, 3>, usize, *mut f32, usize),
    pub(super) two_taps: unsafe fn(&Places<*const f32, 2>, usize, *mut f32, usize),
    /// Back to two places, of the products of so many threes and twos of taps. Nothing is written to a place that is
    /// null. Says whether all values are finite.
    pub(super) two_places:
        unsafe fn(*const f32, usize, usize, [usize; 2], &Places<*mut f32, 2>) -> bool,
}

choose!(Transforms {
    four_elements: into_points::<4, 4, Elements>(places: &Places<*const f32, 4>, lanes: usize, into: *mut f32, stride: usize),
    three_elements: into_points::<3, 3, ElementsOfTwo>(places: &Places<*const f32, 3>, lanes: usize, into: *mut f32, stride: usize),
    three_taps: into_points::<3, 4, ThreeTaps>(places: &Places<*const f32, 3>, lanes: usize, into: *mut f32, stride: usize),
    two_taps: into_points::<2, 3, TwoTaps>(places: &Places<*const f32, 2>, lanes: usize, into: *mut f32, stride: usize),
    two_places: from_points::<TwoPlaces>(
        from: *const f32, stride: usize, lanes: usize, chunks: [usize; 2], into: &Places<*mut f32, 2>
    ) -> bool,
});

struct ElementsOfTwo;

impl Along<3, 3> for ElementsOfTwo {
    #[inline(always)]
    fn along<V: Vector>(d: [V; 3]) -> [V; 3] {
        [d[0].sub(d[1]), d[1], d[1].sub(d[2])]
    }
}

struct TwoTaps;

impl Along<2, 3> for TwoTaps {
    #[inline(always)]
    fn along<V: Vector>(g: [V; 2]) -> [V; 3] {
        [g[0], g[0].add(g[1]), g[1]]
    }
}

/// # Safety
///
/// The lanes of each place can be read, and whole vectors of the points written; the processor has the vectors.
#[inline(always)]
unsafe fn into_points<const FROM: usize, const INTO: usize, A: Along<FROM, INTO>, V: Vector>(
    places: &Places<*const f32, FROM>,
    lanes: usize,
    into: *mut f32,
    stride: usize,
) {
    let whole = lanes / V::LANES * V::LANES;
    // SAFETY: the caller's promise; less than a vector is left at the end.
    unsafe {
        for lane in (0..whole).step_by(V::LANES) {
            let mut values = [V::zero(); FROM];
            for i in 0..FROM {
                values[i] = V::load(places[i].add(lane));
            }
            let points = A::along(values);
            for i in 0..INTO {
                points[i].store(into.add(i * stride + lane));
            }
        }
        if whole < lanes {
            let mut values = [V::zero(); FROM];
            for i in 0..FROM {
                values[i] = V::load_first(places[i].add(whole), lanes - whole);
            }
            let points = A::along(values);
            for i in 0..INTO {
                points[i].store(into.add(i * stride + whole));
            }
        }
    }
}

/// # Safety
///
/// Whole vectors of the points can be read, and the lanes of each place that is not null written; the processor has the
/// vectors.
#[inline(always)]
unsafe fn from_points<A: Along<4, 2>, V: Vector>(
    from: *const f32,
    stride: usize,
    lanes: usize,
    [threes, twos]: [usize; 2],
    into: &Places<*mut f32, 2>,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let mut fault = V::zero();
        for lane in (0..lanes).step_by(V::LANES) {
            let mut point = from.add(lane);
            let mut sums = [V::zero(); 2];
            for _ in 0..threes {
                let m = [
                    V::load(point),
                    V::load(point.add(stride)),
                    V::load(point.add(2 * stride)),
                    V::load(point.add(3 * stride)),
                ];
                let [first, second] = A::along(m);
                sums = [sums[0].add(first), sums[1].add(second)];
                point = point.wrapping_add(4 * stride);
            }
            for _ in 0..twos {
                let m =
                    [V::load(point), V::load(point.add(stride)), V::load(point.add(2 * stride))];
                sums = [sums[0].add(m[0].add(m[1])), sums[1].add(m[1].sub(m[2]))];
                point = point.wrapping_add(3 * stride);
            }
            for i in 0..2 {
                // Zero, or NaN.
                fault = fault.add(sums[i].sub(sums[i]));
                if into[i].is_null() {
                    continue;
                }
                let place = into[i].add(lane);
                if lane + V::LANES <= lanes {
                    sums[i].store(place);
                } else {
                    sums[i].store_first(place, lanes - lane);
                }
            }
        }
        let mut room = [0.0; LANES];
        fault.store(room.as_mut_ptr());
        room[..V::LANES].iter().all(|value| *value == 0.0)
    }
}
