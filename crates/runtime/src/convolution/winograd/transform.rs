//! The transforms: into the values at the points, and back.
//!
//! With `m` the products of what elements and taps are transformed into, the places of three taps are
//! `m0 + m1 + m2` and `m1 - m2 - m3` at the points 0, 1, -1 and infinity, and those of two taps `m0 + m1 + m2`,
//! `m1 - m2` and `m1 + m2 - m3`.
//!
//! At six points, 0, ±a, ±b and infinity with `a` the root of a half and `b` that of two, the place number `k` is
//! `a^k (m1 + (-1)^k m2) + b^k (m3 + (-1)^k m4)`, for the first one plus `m0` and for the last one plus `m5`. Taps are
//! the values of their polynomial at the points, divided by the product of a point's distances from the others; elements
//! are summed by the coefficients of the polynomial that is zero at all the others. Points whose product is 1 keep what
//! is added up of one size: of 16 to 256 features of random values, summed in order, the error is 1.3 to 2.3 times that of
//! plain sums, where with the usual points 1 and 2 it is 3 to 5 times that.

use super::LANES;
use crate::convolution::vector::{Vector, choose};
use crate::gemm::pack::prefetch;

/// Patches that take as long as what is done once.
const ONCE: usize = if cfg!(test) { 1 } else { 40 };

/// A way to share products in two dimensions.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// Places, or taps, from one patch to the next.
    pub(super) step: usize,
    /// Points, as many as elements that a patch sees.
    pub(super) side: usize,
    pub(super) elements: ToPoints,
    pub(super) taps: ToPoints,
    pub(super) places: FromPoints,
}

impl Form {
    /// Two by two places of three by three taps.
    pub(super) fn two_places() -> Form {
        let Transforms { elements_4: elements, three_taps_4: taps, two_places: places, .. } =
            *best();
        Form { step: 2, side: 4, elements, taps, places }
    }

    /// Four by four places of three by three taps.
    pub(super) fn four_places() -> Form {
        let Transforms { elements_6: elements, three_taps_6: taps, four_places: places, .. } =
            *best();
        Form { step: 4, side: 6, elements, taps, places }
    }

    /// Three by three places of two by two taps.
    pub(super) fn two_taps() -> Form {
        let Transforms { elements_4: elements, two_taps: taps, three_places_4: places, .. } =
            *best();
        Form { step: 2, side: 4, elements, taps, places }
    }

    /// Three by three places of four by four taps.
    pub(super) fn four_taps() -> Form {
        let Transforms { elements_6: elements, four_taps: taps, three_places_6: places, .. } =
            *best();
        Form { step: 4, side: 6, elements, taps, places }
    }

    /// The form for so many patches as it has by its step.
    pub(super) fn best_of(few: Form, many: Form, patches: impl Fn(usize) -> usize) -> Form {
        // The window, or the sums, are transformed once, however many patches there are.
        let work = |form: &Form| form.points() * (patches(form.step) + ONCE);
        // Large patches save less than multiplications: there is more that no cache holds.
        if work(&many) * 4 < work(&few) * 3 { many } else { few }
    }

    /// Points in both dimensions.
    pub(super) fn points(&self) -> usize {
        self.side * self.side
    }
}

/// A transform of so many lanes of each place of a patch, whose addresses come line by line, into points, which are so far
/// from each other and may be written up to a whole vector.
///
/// # Safety
///
/// They can be read and written.
pub(super) type ToPoints = unsafe fn(&[*const f32], usize, *mut f32, usize);

/// A transform of products, so far from each other, back to so many lanes of each place of a patch. Nothing is written to
/// places that are null. Says whether all values are finite.
///
/// # Safety
///
/// Products can be read up to a whole vector, and the places written.
pub(super) type FromPoints = unsafe fn(*const f32, usize, usize, &[*mut f32]) -> bool;

/// The transforms for one instruction set.
pub(super) struct Transforms {
    elements_4: ToPoints,
    elements_6: ToPoints,
    three_taps_4: ToPoints,
    three_taps_6: ToPoints,
    two_taps: ToPoints,
    four_taps: ToPoints,
    two_places: FromPoints,
    four_places: FromPoints,
    three_places_4: FromPoints,
    three_places_6: FromPoints,
}

choose!(Transforms {
    elements_4: into_points::<4, 4, 2, Elements>(patch: &[*const f32], lanes: usize, into: *mut f32, stride: usize),
    elements_6: into_points::<6, 6, 4, ElementsOfSix>(patch: &[*const f32], lanes: usize, into: *mut f32, stride: usize),
    three_taps_4: into_points::<3, 4, 0, ThreeTaps>(patch: &[*const f32], lanes: usize, into: *mut f32, stride: usize),
    three_taps_6: into_points::<3, 6, 0, ThreeTaps>(patch: &[*const f32], lanes: usize, into: *mut f32, stride: usize),
    two_taps: into_points::<2, 4, 2, TwoTaps>(patch: &[*const f32], lanes: usize, into: *mut f32, stride: usize),
    four_taps: into_points::<4, 6, 4, FourTaps>(patch: &[*const f32], lanes: usize, into: *mut f32, stride: usize),
    two_places: from_points::<4, 2, TwoPlaces>(
        from: *const f32, stride: usize, lanes: usize, into: &[*mut f32]
    ) -> bool,
    four_places: from_points::<6, 4, FourPlaces>(
        from: *const f32, stride: usize, lanes: usize, into: &[*mut f32]
    ) -> bool,
    three_places_4: from_points::<4, 3, ThreePlaces>(
        from: *const f32, stride: usize, lanes: usize, into: &[*mut f32]
    ) -> bool,
    three_places_6: from_points::<6, 3, ThreePlaces>(
        from: *const f32, stride: usize, lanes: usize, into: &[*mut f32]
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

/// The root of a half, whose square times that of two is one.
const ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;
const ROOT_OF_TWO: f32 = std::f32::consts::SQRT_2;

/// This plus a number times `x`.
#[inline(always)]
fn plus<V: Vector>(this: V, number: f32, x: V) -> V {
    // SAFETY: there is a vector, so the processor has such.
    this.add_product(unsafe { V::splat(number) }, x)
}

struct ElementsOfSix;

impl Along<6, 6> for ElementsOfSix {
    #[inline(always)]
    fn along<V: Vector>(d: [V; 6]) -> [V; 6] {
        // What is even and what is odd in the coefficients at a point and its negative.
        let even = [plus(d[4], -2.0, d[2]), plus(d[4], -0.5, d[2])];
        let odd = [plus(d[3], -2.0, d[1]), plus(d[3], -0.5, d[1])];
        [
            plus(d[0].add(d[4]), -2.5, d[2]),
            plus(even[0], ROOT, odd[0]),
            plus(even[0], -ROOT, odd[0]),
            plus(even[1], ROOT_OF_TWO, odd[1]),
            plus(even[1], -ROOT_OF_TWO, odd[1]),
            plus(d[1].add(d[5]), -2.5, d[3]),
        ]
    }
}

/// Taps at the six points, of which the even and the odd ones are summed at those that are not 0 or infinity.
#[inline(always)]
fn at_six<V: Vector>(first: V, [even, odd]: [[V; 2]; 2], last: V) -> [V; 6] {
    // Over the products of distances.
    let (near, far) = (times(-2.0 / 3.0, even[0]), times(1.0 / 6.0, even[1]));
    [
        first,
        plus(near, -2.0 / 3.0 * ROOT, odd[0]),
        plus(near, 2.0 / 3.0 * ROOT, odd[0]),
        plus(far, ROOT_OF_TWO / 6.0, odd[1]),
        plus(far, -ROOT_OF_TWO / 6.0, odd[1]),
        last,
    ]
}

impl Along<3, 6> for ThreeTaps {
    #[inline(always)]
    fn along<V: Vector>(g: [V; 3]) -> [V; 6] {
        let even = [plus(g[0], 0.5, g[2]), plus(g[0], 2.0, g[2])];
        at_six(g[0], [even, [g[1]; 2]], g[2])
    }
}

struct FourTaps;

impl Along<4, 6> for FourTaps {
    #[inline(always)]
    fn along<V: Vector>(g: [V; 4]) -> [V; 6] {
        let even = [plus(g[0], 0.5, g[2]), plus(g[0], 2.0, g[2])];
        let odd = [plus(g[1], 0.5, g[3]), plus(g[1], 2.0, g[3])];
        at_six(g[0], [even, odd], g[3])
    }
}

struct FourPlaces;

impl Along<6, 4> for FourPlaces {
    #[inline(always)]
    fn along<V: Vector>(m: [V; 6]) -> [V; 4] {
        let (sums, differences) = pairs(m);
        [
            m[0].add(sums[0].add(sums[1])),
            plus(times(ROOT, differences[0]), ROOT_OF_TWO, differences[1]),
            plus(sums[0].half(), 2.0, sums[1]),
            plus(plus(m[5], ROOT / 2.0, differences[0]), 2.0 * ROOT_OF_TWO, differences[1]),
        ]
    }
}

impl Along<6, 3> for ThreePlaces {
    #[inline(always)]
    fn along<V: Vector>(m: [V; 6]) -> [V; 3] {
        let (sums, differences) = pairs(m);
        [
            m[0].add(sums[0].add(sums[1])),
            plus(times(ROOT, differences[0]), ROOT_OF_TWO, differences[1]),
            m[5].add(plus(sums[0].half(), 2.0, sums[1])),
        ]
    }
}

/// The sums of products at a point and its negative, and their differences.
#[inline(always)]
fn pairs<V: Vector>(m: [V; 6]) -> ([V; 2], [V; 2]) {
    ([m[1].add(m[2]), m[3].add(m[4])], [m[1].sub(m[2]), m[3].sub(m[4])])
}

/// A number times `x`.
#[inline(always)]
fn times<V: Vector>(number: f32, x: V) -> V {
    // SAFETY: there is a vector, so the processor has such.
    let zero = unsafe { V::zero() };
    plus(zero, number, x)
}

/// Transforms columns, then lines, which go where `put` says: as few values as can be are in registers at a
/// time, and none are copied.
#[inline(always)]
fn both<V: Vector, const FROM: usize, const INTO: usize, A: Along<FROM, INTO>>(
    value: impl Fn(usize, usize) -> V,
    mut put: impl FnMut(usize, [V; INTO]),
) {
    // SAFETY: whoever gives values has such vectors.
    let mut half = [[unsafe { V::zero() }; FROM]; INTO];
    for j in 0..FROM {
        let column = A::along(std::array::from_fn(|i| value(i, j)));
        for i in 0..INTO {
            half[i][j] = column[i];
        }
    }
    for i in 0..INTO {
        put(i, A::along(half[i]));
    }
}

/// Patches come from the left to the right, `STEP` places at a time, if not 0.
///
/// # Safety
///
/// As for [`ToPoints`], and the processor has the vectors.
#[inline(always)]
unsafe fn into_points<
    const SIDE: usize,
    const INTO: usize,
    const STEP: usize,
    A: Along<SIDE, INTO>,
    V: Vector,
>(
    patch: &[*const f32],
    lanes: usize,
    into: *mut f32,
    stride: usize,
) {
    assert_eq!(patch.len(), SIDE * SIDE);
    let point = |i: usize, j: usize| into.wrapping_add((INTO * i + j) * stride);
    let whole = lanes / V::LANES * V::LANES;
    for lane in (0..whole).step_by(V::LANES) {
        // What is new in the patch after the next is fetched meanwhile. Where a place is outside, so is what is fetched,
        // and nothing is lost.
        if STEP > 0 {
            for row in patch.chunks_exact(SIDE) {
                let [before, last] = [row[SIDE - 2], row[SIDE - 1]];
                let place = (last as isize).wrapping_sub(before as isize);
                for &new in &row[SIDE - STEP..] {
                    let later = place.wrapping_mul(2 * STEP as isize);
                    prefetch(new.wrapping_add(lane).wrapping_byte_offset(later));
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            let value = |i: usize, j: usize| V::load(patch[SIDE * i + j].add(lane));
            both::<V, SIDE, INTO, A>(value, |i, values| {
                (0..INTO).for_each(|j| values[j].store(point(i, j).add(lane)));
            });
        }
    }
    if whole < lanes {
        // SAFETY: the caller's promise; less than a vector is left.
        unsafe {
            let value =
                |i: usize, j: usize| V::load_first(patch[SIDE * i + j].add(whole), lanes - whole);
            both::<V, SIDE, INTO, A>(value, |i, values| {
                (0..INTO).for_each(|j| values[j].store(point(i, j).add(whole)));
            });
        }
    }
}

/// # Safety
///
/// As for [`FromPoints`], and the processor has the vectors.
#[inline(always)]
unsafe fn from_points<const FROM: usize, const SIDE: usize, A: Along<FROM, SIDE>, V: Vector>(
    from: *const f32,
    stride: usize,
    lanes: usize,
    into: &[*mut f32],
) -> bool {
    assert_eq!(into.len(), SIDE * SIDE);
    // SAFETY: the caller's promise.
    unsafe {
        let mut fault = V::zero();
        for lane in (0..lanes).step_by(V::LANES) {
            let point = |i: usize, j: usize| V::load(from.add((FROM * i + j) * stride + lane));
            both::<V, FROM, SIDE, A>(point, |i, values| {
                for j in 0..SIDE {
                    // Zero, or NaN.
                    fault = fault.add(values[j].sub(values[j]));
                    let place = into[SIDE * i + j];
                    if place.is_null() {
                        continue;
                    }
                    let place = place.add(lane);
                    if lane + V::LANES <= lanes {
                        values[j].store(place);
                    } else {
                        values[j].store_first(place, lanes - lane);
                    }
                }
            });
        }
        let mut room = [0.0; LANES];
        fault.store(room.as_mut_ptr());
        room[..V::LANES].iter().all(|value| *value == 0.0)
    }
}
