//! A stretch of places in a line, all features: some places and vectors of features at a time, in registers.

use crate::convolution::vector::Vector;
use crate::gemm::sets;

/// A tap and the element that it meets at the first place, counted in features.
#[derive(Clone, Copy)]
pub(super) struct Tap {
    pub(super) element: isize,
    /// Among all taps of the window.
    pub(super) number: usize,
}

/// What is computed from where, and where it goes.
pub(super) struct Segment<'a> {
    pub(super) places: usize,
    pub(super) features: usize,
    pub(super) taps: &'a [Tap],
    pub(super) elements: *const f32,
    /// From one place to the next in the operand.
    pub(super) step: isize,
    /// By tap, feature of a group where it has several, and output.
    pub(super) window: *const f32,
    pub(super) result: *mut f32,
    pub(super) result_step: isize,
}

impl Segment<'_> {
    /// Where a feature of a place is in the operand and in the result.
    #[inline(always)]
    pub(super) fn at(&self, place: usize, feature: usize) -> (*const f32, *mut f32) {
        let start = self.elements.wrapping_offset(place as isize * self.step);
        let into = self.result.wrapping_offset(place as isize * self.result_step);
        (start.wrapping_add(feature), into.wrapping_add(feature))
    }
}

/// # Safety
///
/// The addresses may be accessed as [`Segment`] says, the result by nobody else.
pub(super) unsafe fn compute(segment: &Segment) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m256, __m512};

        /// # Safety
        ///
        /// See [`body`].
        #[target_feature(enable = "avx512f")]
        unsafe fn avx512(segment: &Segment) {
            // SAFETY: the caller's promise.
            unsafe { body::<__m512, 4>(segment) }
        }
        /// # Safety
        ///
        /// See [`body`].
        #[target_feature(enable = "avx2,fma")]
        unsafe fn avx2(segment: &Segment) {
            // SAFETY: the caller's promise.
            unsafe { body::<__m256, 2>(segment) }
        }
        match sets::best() {
            // SAFETY: the caller's promise, and detected.
            sets::Set::Avx512 => return unsafe { avx512(segment) },
            // SAFETY: the caller's promise, and detected.
            sets::Set::Avx2 => return unsafe { avx2(segment) },
            sets::Set::Baseline => {}
        }
    }
    // SAFETY: the caller's promise.
    unsafe { body::<crate::convolution::vector::Plain, 2>(segment) }
}

/// Places of a tile.
const ROWS: usize = 4;

/// # Safety
///
/// See [`compute`]; the processor has the vectors.
#[inline(always)]
unsafe fn body<V: Vector, const VECTORS: usize>(segment: &Segment) {
    let mut place = 0;
    while place < segment.places {
        // SAFETY: the caller's promise.
        unsafe {
            match segment.places - place {
                1 => some_rows::<V, 1, VECTORS>(segment, place),
                2 => some_rows::<V, 2, VECTORS>(segment, place),
                3 => some_rows::<V, 3, VECTORS>(segment, place),
                _ => some_rows::<V, ROWS, VECTORS>(segment, place),
            }
        }
        place += ROWS;
    }
}

/// # Safety
///
/// As for [`body`], for so many places.
#[inline(always)]
unsafe fn some_rows<V: Vector, const ROWS: usize, const VECTORS: usize>(
    segment: &Segment,
    place: usize,
) {
    let mut feature = 0;
    // SAFETY: the caller's promise.
    unsafe {
        while feature + VECTORS * V::LANES <= segment.features {
            tile::<V, _, ROWS, VECTORS>(segment, Whole, [place, feature]);
            feature += VECTORS * V::LANES;
        }
        while feature + V::LANES <= segment.features {
            tile::<V, _, ROWS, 1>(segment, Whole, [place, feature]);
            feature += V::LANES;
        }
        if feature < segment.features {
            let rest = First(segment.features - feature);
            tile::<V, _, ROWS, 1>(segment, rest, [place, feature]);
        }
    }
}

/// What of a vector is read and written.
pub(super) trait Access: Copy {
    /// # Safety
    ///
    /// That can be read there; the processor has the vectors.
    unsafe fn load<V: Vector>(self, from: *const f32) -> V;

    /// # Safety
    ///
    /// That can be written there.
    unsafe fn store<V: Vector>(self, value: V, into: *mut f32);
}

#[derive(Clone, Copy)]
pub(super) struct Whole;

impl Access for Whole {
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const f32) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load(from) }
    }

    #[inline(always)]
    unsafe fn store<V: Vector>(self, value: V, into: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { value.store(into) }
    }
}

/// So many lanes, fewer than there are.
#[derive(Clone, Copy)]
pub(super) struct First(pub(super) usize);

impl Access for First {
    #[inline(always)]
    unsafe fn load<V: Vector>(self, from: *const f32) -> V {
        // SAFETY: the caller's promise.
        unsafe { V::load_first(from, self.0) }
    }

    #[inline(always)]
    unsafe fn store<V: Vector>(self, value: V, into: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { value.store_first(into, self.0) }
    }
}

/// # Safety
///
/// As for [`body`], for so many places and features from these on.
#[inline(always)]
unsafe fn tile<V: Vector, A: Access, const ROWS: usize, const VECTORS: usize>(
    segment: &Segment,
    access: A,
    [place, feature]: [usize; 2],
) {
    let (start, into) = segment.at(place, feature);
    let window = segment.window.wrapping_add(feature);
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::zero(); VECTORS]; ROWS];
        for tap in segment.taps {
            let window = window.wrapping_add(tap.number * segment.features);
            let mut values = [V::zero(); VECTORS];
            for j in 0..VECTORS {
                values[j] = access.load::<V>(window.wrapping_add(j * V::LANES));
            }
            let from = start.wrapping_offset(tap.element);
            for i in 0..ROWS {
                let from = from.wrapping_offset(i as isize * segment.step);
                for j in 0..VECTORS {
                    let x = access.load::<V>(from.wrapping_add(j * V::LANES));
                    sums[i][j] = sums[i][j].add_product(x, values[j]);
                }
            }
        }
        for i in 0..ROWS {
            let into = into.wrapping_offset(i as isize * segment.result_step);
            for j in 0..VECTORS {
                access.store(sums[i][j], into.wrapping_add(j * V::LANES));
            }
        }
    }
}
