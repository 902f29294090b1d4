//! Tiles of rows that are read where they are, in lines, and written so: with few columns, to find
//! the places of each tile costs as much as a tenth of the product.

use std::ops::Range;

use super::micro::{Kernels, Tile};
use super::pack::{Steps, prefetch};
use super::{Compute, Job, Rows, are_short};

/// What the tiles of a block of k share.
pub(super) struct Lines<'a, T: 'static> {
    kernels: &'static Kernels<T>,
    /// The first row of the left operand, and how far the next one is.
    a: *const T,
    a_row: usize,
    /// The same of the result.
    c: *mut T,
    c_row: isize,
    /// Where columns are in the result.
    places: &'a [isize],
    lanes: usize,
}

/// Columns of the right operand, packed or where they are.
pub(super) struct Panels<T> {
    pub b: *const T,
    /// From one panel to the next.
    pub size: usize,
    /// From one step of k to the next.
    pub step: usize,
    /// Steps of k.
    pub values: usize,
    /// Whether the product is added to what is there.
    pub add: bool,
}

impl<'a, T: Compute> Lines<'a, T> {
    /// For columns at these places of the result, all together if `dense`, if rows lie in lines and
    /// are read where they are.
    pub(super) fn of(
        job: &Job<'_, T>,
        steps: &Steps,
        places: &'a [isize],
        dense: bool,
    ) -> Option<Lines<'a, T>> {
        let (m, lanes) = (job.product.m, job.kernels.lanes);
        if job.direct || !dense || !places.len().is_multiple_of(lanes) {
            return None;
        }
        let (Some(_), Some(c_row), Some(kernels)) = (m.stride(0), m.stride(1), job.strided) else {
            return None;
        };
        let ends = [0, 1].map(|row| m.offset(0, row));
        let (a, Rows::Apart(a_row)) = job.in_place(&ends, steps)? else { return None };
        let c = job.product.c.wrapping_offset(m.offset(1, 0));
        Some(Lines { kernels, a, a_row, c, c_row, places, lanes })
    }

    /// Multiplies tiles, each of the rows between two edges, with panels.
    ///
    /// # Safety
    ///
    /// As for [`super::multiply`]; the panels are there.
    pub(super) unsafe fn multiply(
        &self,
        edge: impl Fn(usize) -> usize,
        tiles: Range<usize>,
        panels: Range<usize>,
        b: &Panels<T>,
    ) {
        let width = 2 * self.lanes;
        let bytes = b.values * size_of::<T>();
        let lines = if are_short(bytes) { 0 } else { bytes.div_ceil(64) };
        for tile in tiles.clone() {
            let (row, height) = (edge(tile), edge(tile + 1) - edge(tile));
            // Of the rows of the next tile, each panel asks for some.
            let next = if tile + 1 < tiles.end { height * lines } else { 0 };
            let mut asked = 0..next;
            for panel in panels.clone() {
                for number in asked.by_ref().take(next.div_ceil(panels.len())) {
                    let row = self.a.wrapping_add((row + height + number / lines) * self.a_row);
                    prefetch(row.cast::<u8>().wrapping_add(number % lines * 64));
                }
                let first = panel * width;
                let vectors = (self.places.len() - first).min(width) / self.lanes;
                let c = self.c.wrapping_offset(row as isize * self.c_row);
                let left = (self.a.wrapping_add(row * self.a_row), 1);
                let right = (b.b.wrapping_add(panel * b.size), b.step as isize);
                let into = (c.wrapping_offset(self.places[first]), self.c_row);
                let task = Tile::new(b.values, left, right, into);
                let task = Tile { a_row: self.a_row, add: b.add, ..task };
                // SAFETY: the caller's promise; vectors are whole.
                unsafe { self.kernels.run(vectors, height, &task) };
            }
        }
    }
}
