//! Stretches of places where a few features make as many outputs: a vector has whole groups, and one feature of each
//! goes to all lanes of its group before it is multiplied.
//!
//! Taps that meet neighbouring places see the same elements one place later, so these are put in order once for all of
//! them.

use std::ops::Range;

use super::segment::{Access, First, Segment, Tap, Whole};
use crate::convolution::vector::{Vector, choose};
use crate::gemm::sets::{self, Set};

/// The widest groups there is code for.
const WIDEST: usize = 8;
/// Bytes of a window that the first cache keeps.
const WINDOW: usize = 20 << 10;

/// Whether there is code for groups of so many features.
pub(super) fn suit(width: usize) -> bool {
    sets::best() != Set::Baseline && matches!(width, 2 | 4 | WIDEST)
}

/// Code for groups of two, four and eight.
pub(super) struct Table {
    two: unsafe fn(&Segment),
    four: unsafe fn(&Segment),
    eight: unsafe fn(&Segment),
}

choose!(Table {
    two: body::<2>(segment: &Segment),
    four: body::<4>(segment: &Segment),
    eight: body::<8>(segment: &Segment),
});

/// # Safety
///
/// The addresses may be accessed as [`Segment`] says, the result by nobody else, and the width suits.
pub(super) unsafe fn compute(segment: &Segment, width: usize) {
    let table = best();
    let function = match width {
        2 => table.two,
        4 => table.four,
        _ => table.eight,
    };
    // SAFETY: the caller's promise.
    unsafe { function(segment) };
}

/// The orders of lanes, by feature of a group.
type Orders<V> = [<V as Vector>::Order; WIDEST];

/// # Safety
///
/// See [`compute`]; the processor has the vectors, and groups are no wider.
#[inline(always)]
unsafe fn body<const WIDTH: usize, V: Vector>(segment: &Segment) {
    // SAFETY: the processor has such vectors.
    let mut orders: Orders<V> = [unsafe { V::order(WIDTH.min(V::LANES), 0) }; WIDEST];
    for which in 1..WIDTH.min(V::LANES) {
        // SAFETY: as above.
        orders[which] = unsafe { V::order(WIDTH, which) };
    }
    // So many features at a time that what the window has for them stays in the first cache while places go by.
    let of_vector = (segment.taps.len() * WIDTH * V::LANES * size_of::<f32>()).max(1);
    let most = (WINDOW / of_vector).max(1) * V::LANES;
    for first in (0..segment.features).step_by(most) {
        let features = first..segment.features.min(first + most);
        let mut place = 0;
        while place < segment.places {
            // SAFETY: the caller's promise. As many sums as there are registers for, so that none waits for another.
            unsafe {
                place += match (segment.places - place, V::LANES) {
                    (8.., 16) => some_rows::<WIDTH, 8, 2, 3, V>(segment, &orders, place, &features),
                    (4.., 16) => some_rows::<WIDTH, 4, 4, 3, V>(segment, &orders, place, &features),
                    (2.., 16) => some_rows::<WIDTH, 2, 4, 3, V>(segment, &orders, place, &features),
                    (_, 16) => some_rows::<WIDTH, 1, 4, 1, V>(segment, &orders, place, &features),
                    (8.., _) => some_rows::<WIDTH, 8, 1, 3, V>(segment, &orders, place, &features),
                    (4.., _) => some_rows::<WIDTH, 4, 2, 3, V>(segment, &orders, place, &features),
                    (2.., _) => some_rows::<WIDTH, 2, 4, 1, V>(segment, &orders, place, &features),
                    _ => some_rows::<WIDTH, 1, 8, 1, V>(segment, &orders, place, &features),
                }
            }
        }
    }
}

/// Says how many places it computes.
///
/// # Safety
///
/// As for [`body`], for so many places and these features.
#[inline(always)]
unsafe fn some_rows<
    const WIDTH: usize,
    const ROWS: usize,
    const VECTORS: usize,
    const TOGETHER: usize,
    V: Vector,
>(
    segment: &Segment,
    orders: &Orders<V>,
    place: usize,
    features: &Range<usize>,
) -> usize {
    let mut feature = features.start;
    // SAFETY: the caller's promise.
    unsafe {
        while feature + VECTORS * V::LANES <= features.end {
            let at = [place, feature];
            tile::<WIDTH, ROWS, VECTORS, TOGETHER, V, _>(segment, orders, Whole, at);
            feature += VECTORS * V::LANES;
        }
        while feature + V::LANES <= features.end {
            let at = [place, feature];
            tile::<WIDTH, ROWS, 1, TOGETHER, V, _>(segment, orders, Whole, at);
            feature += V::LANES;
        }
        if feature < features.end {
            let rest = First(features.end - feature);
            tile::<WIDTH, ROWS, 1, TOGETHER, V, _>(segment, orders, rest, [place, feature]);
        }
    }
    ROWS
}

/// # Safety
///
/// As for [`body`], for so many places and outputs from these on.
#[inline(always)]
unsafe fn tile<
    const WIDTH: usize,
    const ROWS: usize,
    const VECTORS: usize,
    const TOGETHER: usize,
    V: Vector,
    A: Access,
>(
    segment: &Segment,
    orders: &Orders<V>,
    access: A,
    [place, feature]: [usize; 2],
) {
    let (start, into) = segment.at(place, feature);
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::zero(); VECTORS]; ROWS];
        let mut taps = segment.taps;
        while let [tap, ..] = taps {
            let count = neighbours(taps, segment.step, TOGETHER);
            let from = start.wrapping_offset(tap.element);
            let window = segment.window.wrapping_add(tap.number * WIDTH * segment.features);
            let window = window.wrapping_add(feature);
            match count {
                1 => add::<WIDTH, ROWS, VECTORS, 1, V, A>(
                    segment, orders, access, from, window, &mut sums,
                ),
                2 if TOGETHER > 1 => add::<WIDTH, ROWS, VECTORS, 2, V, A>(
                    segment, orders, access, from, window, &mut sums,
                ),
                _ => add::<WIDTH, ROWS, VECTORS, TOGETHER, V, A>(
                    segment, orders, access, from, window, &mut sums,
                ),
            }
            taps = &taps[count..];
        }
        for i in 0..ROWS {
            let into = into.wrapping_offset(i as isize * segment.result_step);
            for j in 0..VECTORS {
                access.store(sums[i][j], into.wrapping_add(j * V::LANES));
            }
        }
    }
}

/// How many of the first taps meet elements that are as far from each other as those of places.
#[inline(always)]
fn neighbours(taps: &[Tap], step: isize, most: usize) -> usize {
    let is_next = |count: &usize| {
        let pair = &taps[count - 1..=*count];
        pair[1].element - pair[0].element == step && pair[1].number == pair[0].number + 1
    };
    1 + (1..taps.len().min(most)).take_while(is_next).count()
}

/// Adds the products of some neighbouring taps.
///
/// # Safety
///
/// As for [`tile`].
#[inline(always)]
unsafe fn add<
    const WIDTH: usize,
    const ROWS: usize,
    const VECTORS: usize,
    const TAPS: usize,
    V: Vector,
    A: Access,
>(
    segment: &Segment,
    orders: &Orders<V>,
    access: A,
    from: *const f32,
    window: *const f32,
    sums: &mut [[V; VECTORS]; ROWS],
) {
    for which in 0..WIDTH {
        // SAFETY: the caller's promise.
        unsafe {
            let mut factors = [[V::zero(); VECTORS]; TAPS];
            for tap in 0..TAPS {
                let row = window.wrapping_add((tap * WIDTH + which) * segment.features);
                for j in 0..VECTORS {
                    factors[tap][j] = access.load::<V>(row.wrapping_add(j * V::LANES));
                }
            }
            for element in 0..ROWS + TAPS - 1 {
                let from = from.wrapping_offset(element as isize * segment.step);
                for j in 0..VECTORS {
                    let from = from.wrapping_add(j * V::LANES);
                    let x = match WIDTH == V::LANES {
                        true => V::splat(*from.add(which)),
                        false => access.load::<V>(from).ordered(orders[which]),
                    };
                    for tap in 0..TAPS {
                        if element >= tap && element - tap < ROWS {
                            let sum = &mut sums[element - tap][j];
                            *sum = sum.add_product(x, factors[tap][j]);
                        }
                    }
                }
            }
        }
    }
}
