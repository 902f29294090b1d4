//! Reflections applied several at a time: their product is `1 - V T Vᴴ`, with the vectors in the columns of `V` and a
//! triangle `T`, so that nearly all the work is done by the micro-kernels of products.

use super::number::{Number, Strided};
use super::panel::{Conjugation, Panel, kernels, pack_rows, panel_columns};
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::micro::Tile;
use crate::gemm::sets::for_each_set;
use crate::own::Own;

/// Which product of reflections is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    Plain,
    Adjoint,
}

/// Reflections packed for the micro-kernels.
pub(super) struct Reflections<T> {
    high: usize,
    width: usize,
    /// `-V`, by blocks of as many rows as kernels take.
    vectors: Own<T>,
    /// `-Vᴴ`, by blocks of [`DEPTH`] columns, each by blocks of rows.
    adjoint: Own<T>,
    /// `-T` or `-Tᴴ`.
    triangle: Own<T>,
}

/// Rows of what is reflected that are multiplied at once, so that as many of `V` stay in the first cache.
const DEPTH: usize = 256;

impl<T: Number> Reflections<T> {
    /// The reflections whose vectors are the columns of a matrix, as many as `taus`, with zeros and ones in place.
    pub(super) fn new(vectors: &[T], taus: &[T], product: Product) -> Reflections<T> {
        let width = taus.len();
        let high = vectors.len() / width;
        let rows = kernels::<T>().rows;
        let matrix = Strided { start: vectors.as_ptr().cast_mut(), row: width as isize, column: 1 };
        let turned = Strided { row: 1, column: width as isize, ..matrix };
        let mut packed = Reflections {
            high,
            width,
            vectors: Own::filled(T::default(), high * width),
            adjoint: Own::filled(T::default(), high * width),
            triangle: Own::filled(T::default(), width * width),
        };
        for first in (0..high).step_by(rows) {
            let into = &mut packed.vectors[first * width..];
            let height = rows.min(high - first);
            // SAFETY: the matrix has these rows, and what is left of the room begins with theirs.
            unsafe {
                let from = matrix.from(first, 0);
                pack_rows(from, height, width, Conjugation::None, into.as_mut_ptr());
            }
        }
        for from in (0..high).step_by(DEPTH) {
            let depth = DEPTH.min(high - from);
            for first in (0..width).step_by(rows) {
                let into = &mut packed.adjoint[from * width + first * depth..];
                let height = rows.min(width - first);
                // SAFETY: as above.
                unsafe {
                    let from = turned.from(first, from);
                    pack_rows(from, height, depth, Conjugation::Conjugate, into.as_mut_ptr());
                }
            }
        }
        packed.fill_triangle(matrix, taus, product);
        packed
    }

    fn fill_triangle(&mut self, vectors: Strided<T>, taus: &[T], product: Product) {
        let width = self.width;
        // `-Vᴴ V`, row by row.
        let mut products = Own::filled(T::default(), width * width);
        let across = panel_columns::<T>();
        let mut room = Room::new(self.high, width);
        for first in (0..width).step_by(across) {
            let count = across.min(width - first);
            let [panel, sums, _] = room.panels(count);
            let into = Strided {
                start: products.as_mut_ptr().wrapping_add(first),
                row: width as isize,
                column: 1,
            };
            // SAFETY: the panels are our own and large enough.
            unsafe {
                panel.load(vectors.from(0, first), self.high, count, Conjugation::None);
                panel.turn(0, self.high);
                self.project(&panel, &sums);
                sums.store(into, 0..width, count, Conjugation::None);
            }
        }
        let mut triangle = Own::filled(T::default(), width * width);
        // SAFETY: it asks for nothing but instructions, which it sees to.
        unsafe { join(&mut triangle, &products, taus) };
        let plain = Strided { start: triangle.as_mut_ptr(), row: width as isize, column: 1 };
        let (matrix, conjugation) = match product {
            Product::Plain => (plain, Conjugation::None),
            Product::Adjoint => {
                (Strided { row: 1, column: width as isize, ..plain }, Conjugation::Conjugate)
            }
        };
        let rows = kernels::<T>().rows;
        for first in (0..width).step_by(rows) {
            let into = &mut self.triangle[first * width..];
            // SAFETY: the matrix has these rows, and what is left of the room begins with theirs.
            unsafe {
                let from = matrix.from(first, 0);
                let height = rows.min(width - first);
                pack_rows(from, height, width, conjugation, into.as_mut_ptr());
            }
        }
    }

    /// Reflects so many columns, as high as the vectors.
    ///
    /// # Safety
    ///
    /// Nobody else uses the columns.
    pub(super) unsafe fn apply(&self, context: &Context, matrix: Strided<T>, columns: usize) {
        let across = panel_columns::<T>();
        let grain = 1 + (1 << 17) / (self.high * self.width * across);
        context.parallel_for(columns.div_ceil(across), grain, |begin, end| {
            let mut room = Room::new(self.high, self.width);
            for first in (begin..end).map(|task| task * across) {
                let count = across.min(columns - first);
                let [panel, sums, turned] = room.panels(count);
                let matrix = matrix.from(0, first);
                // SAFETY: the caller's promise; the panels are our own and large enough.
                unsafe {
                    panel.load(matrix, self.high, count, Conjugation::None);
                    panel.turn(0, self.high);
                    self.project(&panel, &sums);
                    sums.turn(0, self.width);
                    self.multiply(&self.triangle, &sums, &turned, self.width, Into::Empty);
                    turned.turn(0, self.width);
                    self.multiply(&self.vectors, &turned, &panel, self.high, Into::Sums);
                    panel.store(matrix, 0..self.high, count, Conjugation::None);
                }
            }
        });
    }

    /// `-Vᴴ` times a panel.
    ///
    /// # Safety
    ///
    /// The panels are as high as the vectors, and as they are many; nobody else uses them.
    unsafe fn project(&self, panel: &Panel<T>, into: &Panel<T>) {
        for from in (0..self.high).step_by(DEPTH) {
            let depth = DEPTH.min(self.high - from);
            let left = &self.adjoint[from * self.width..];
            let into_what = if from == 0 { Into::Empty } else { Into::Sums };
            // SAFETY: the caller's promise.
            unsafe { product(left, depth, panel, from, into, self.width, into_what) };
        }
    }

    /// A packed matrix, as wide as there are vectors, times a panel.
    ///
    /// # Safety
    ///
    /// The matrix has so many rows; the panels are large enough, and nobody else uses them.
    unsafe fn multiply(
        &self,
        left: &[T],
        right: &Panel<T>,
        into: &Panel<T>,
        rows: usize,
        what: Into,
    ) {
        // SAFETY: the caller's promise.
        unsafe { product(left, self.width, right, 0, into, rows, what) };
    }
}

for_each_set! {
    /// The triangle, from products of the vectors with the sign turned: each reflection changes what those before it
    /// make of its vector.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn join[Number] = join_body(triangle: &mut [T], products: &[T], taus: &[T]) -> ()
}

/// # Safety
///
/// See `join`.
#[inline(always)]
unsafe fn join_body<T: Number>(triangle: &mut [T], products: &[T], taus: &[T]) {
    let width = taus.len();
    for row in 0..width {
        let into = &mut triangle[row * width..][..width];
        into[row] = taus[row];
        // Each element is known before those right of it need it.
        for k in row..width {
            let factor = if k == row { into[k] } else { into[k].times(taus[k]) };
            into[k] = factor;
            for (sum, &product) in into[k + 1..].iter_mut().zip(&products[k * width + k + 1..]) {
                *sum = sum.plus_product(factor, product);
            }
        }
    }
}

/// What is in the place of a product before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Into {
    Empty,
    Sums,
}

/// A packed matrix of so many rows and columns (`depth`) times rows of a panel, from one on.
///
/// # Safety
///
/// They are so large, and nobody else uses the result.
pub(super) unsafe fn product<T: Number>(
    left: &[T],
    depth: usize,
    right: &Panel<T>,
    from: usize,
    into: &Panel<T>,
    rows: usize,
    what: Into,
) {
    let kernels = kernels::<T>();
    assert!(left.len() >= rows * depth);
    for first in (0..rows).step_by(kernels.rows) {
        let height = kernels.rows.min(rows - first);
        let a = left[first * depth..].as_ptr().cast::<T::Part>();
        let b = right.row(from).cast::<T::Part>().cast_const();
        let c = (into.row(first).cast::<T::Part>(), (into.width * T::PARTS) as isize);
        let tile = Tile::new(depth * T::PARTS, (a, height), (b, right.width as isize), c);
        let tile = Tile { add: what == Into::Sums, ..tile };
        // SAFETY: packed so; the panels have these rows.
        unsafe { kernels.run(right.width / kernels.lanes, height, &tile) };
    }
}

/// Room for a panel that is reflected, and for its products with the vectors and the triangle.
struct Room<T> {
    values: Own<T>,
    ends: [usize; 2],
}

impl<T: Number> Room<T> {
    fn new(high: usize, width: usize) -> Room<T> {
        let (panel, small) = (Panel::<T>::room(high), Panel::<T>::room(width));
        Room { values: Own::filled(T::default(), panel + 2 * small), ends: [panel, panel + small] }
    }

    fn panels(&mut self, columns: usize) -> [Panel<T>; 3] {
        let starts = [0, self.ends[0], self.ends[1]];
        let first = self.values.as_mut_ptr();
        starts.map(|start| Panel::new(Address(first.wrapping_add(start)), columns))
    }
}
