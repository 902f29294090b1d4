//! Reflections found and expanded in a block of columns that are copied one after the other, so that all loops are as
//! long as the matrix is high, however few the columns are.

use std::ops::Range;

use super::change::products;
use super::number::{Number, Real};
use super::reflect::{reflection, subtract};
use super::transposed;
use crate::gemm::Compute;
use crate::gemm::sets::for_each_set;
use crate::own::Own;

/// Rows from which on a block is better done by columns.
pub(super) const HIGH: usize = 48;

/// Some columns of a row-major matrix.
pub(super) struct Columns<T> {
    values: Own<T>,
    /// From a column to the next.
    stride: usize,
    high: usize,
}

impl<T: Number> Columns<T> {
    pub(super) fn copied(matrix: &[T], columns: usize, which: Range<usize>) -> Columns<T> {
        let high = matrix.len() / columns;
        // Columns that are a power of two apart would be in each other's way in the cache.
        let stride = high.next_multiple_of(16) + 16;
        let mut values = Own::filled(T::default(), stride * which.len());
        assert!(which.start <= which.end && which.end <= columns);
        let from = matrix.as_ptr().wrapping_add(which.start);
        let sizes = [high, which.len()];
        // SAFETY: the columns are in the matrix, and there is room for them.
        unsafe { transposed::copy((from, columns), (values.as_mut_ptr(), stride), sizes) };
        Columns { values, stride, high }
    }

    /// Puts them in a matrix, from a column on.
    pub(super) fn store(&self, matrix: &mut [T], columns: usize, first: usize) {
        let count = self.values.len() / self.stride;
        assert!(first + count <= columns && matrix.len() / columns == self.high);
        let into = matrix.as_mut_ptr().wrapping_add(first);
        let from = (self.values.as_ptr(), self.stride);
        // SAFETY: the columns are in the matrix, and all of them are here.
        unsafe { transposed::copy(from, (into, columns), [count, self.high]) };
    }

    /// The vectors of reflections, row by row, with what is not stored of them.
    pub(super) fn vectors(&self) -> Own<T> {
        let count = self.values.len() / self.stride;
        let mut vectors = Own::filled(T::default(), self.high * count);
        self.store(&mut vectors, count, 0);
        for (i, row) in vectors.chunks_mut(count).enumerate().take(count) {
            row[i] = T::of(T::Part::ONE, T::Part::ZERO);
            row[i + 1..].fill(T::default());
        }
        vectors
    }

    /// Finds reflections, at most as many as columns and rows, that make the columns a triangle.
    pub(super) fn factor(&mut self, taus: &mut [T]) {
        assert!(taus.len() <= self.high && taus.len() * self.stride <= self.values.len());
        // SAFETY: it asks for nothing but instructions, which it sees to.
        unsafe { factor(&mut self.values, [self.stride, self.high], taus) };
    }

    /// What is on and above the diagonal, as a matrix.
    pub(super) fn triangle(&self) -> Own<T> {
        let wide = self.values.len() / self.stride;
        let mut triangle = Own::filled(T::default(), wide * wide);
        for (j, column) in self.values.chunks(self.stride).enumerate() {
            (0..=j).for_each(|i| triangle[i * wide + j] = column[i]);
        }
        triangle
    }

    /// Multiplies the columns by a square, whose elements are told by row and column.
    pub(super) fn multiply(&mut self, square: impl Fn(usize, usize) -> T) {
        let wide = self.values.len() / self.stride;
        let square = Own::new(wide * wide, |k| square(k / wide, k % wide));
        // SAFETY: it asks for nothing but instructions, which it sees to.
        unsafe { multiply(&mut self.values, self.stride, &square) };
    }

    /// Makes of reflections the first columns of their product.
    pub(super) fn expand(&mut self, taus: &[T]) {
        assert!(taus.len() <= self.high && taus.len() * self.stride <= self.values.len());
        // SAFETY: it asks for nothing but instructions, which it sees to.
        unsafe { expand(&mut self.values, [self.stride, self.high], taus) };
    }
}

for_each_set! {
    /// See [`Columns::factor`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor[Number] = factor_body(
        values: &mut [T], sizes: [usize; 2], taus: &mut [T]
    ) -> ()
}

/// # Safety
///
/// See `factor`.
#[inline(always)]
unsafe fn factor_body<T: Number>(values: &mut [T], [stride, high]: [usize; 2], taus: &mut [T]) {
    let mut room = conjugates(high);
    for (j, tau) in taus.iter_mut().enumerate() {
        let (before, after) = values.split_at_mut((j + 1) * stride);
        let column = &mut before[j * stride + j..][..high - j];
        let first = column[0];
        let (multiple, turn) = reflection(first, &mut column[1..]);
        *tau = turn;
        column[0] = T::of(T::Part::ONE, T::Part::ZERO);
        reflect(turn.conjugate(), column, after, stride, j, &mut room);
        column[0] = T::of(multiple, T::Part::ZERO);
    }
}

for_each_set! {
    /// See [`Columns::expand`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn expand[Number] = expand_body(values: &mut [T], sizes: [usize; 2], taus: &[T]) -> ()
}

/// # Safety
///
/// See `expand`.
#[inline(always)]
unsafe fn expand_body<T: Number>(values: &mut [T], [stride, high]: [usize; 2], taus: &[T]) {
    let one = T::of(T::Part::ONE, T::Part::ZERO);
    for (j, column) in values.chunks_mut(stride).enumerate().skip(taus.len()) {
        column[..high].fill(T::default());
        if j < high {
            column[j] = one;
        }
    }
    let mut room = conjugates(high);
    for (j, &tau) in taus.iter().enumerate().rev() {
        let (before, after) = values.split_at_mut((j + 1) * stride);
        // What is above the diagonal belongs to the other factor.
        let (above, column) = before[j * stride..][..high].split_at_mut(j);
        above.fill(T::default());
        column[0] = one;
        reflect(tau, column, after, stride, j, &mut room);
        let factor = tau.negative();
        column.iter_mut().for_each(|value| *value = value.times(factor));
        column[0] = one.plus(factor);
    }
}

for_each_set! {
    /// See [`Columns::multiply`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn multiply[Number] = multiply_body(values: &mut [T], stride: usize, square: &[T]) -> ()
}

/// # Safety
///
/// See `multiply`.
#[inline(always)]
unsafe fn multiply_body<T: Number>(values: &mut [T], stride: usize, square: &[T]) {
    /// Rows at once, of which there is a copy.
    const ROWS: usize = 256;
    let wide = values.len() / stride;
    let mut rows = Own::filled(T::default(), wide * ROWS);
    for begin in (0..stride).step_by(ROWS) {
        let count = ROWS.min(stride - begin);
        for (copy, column) in rows.chunks_mut(ROWS).zip(values.chunks(stride)) {
            copy[..count].copy_from_slice(&column[begin..][..count]);
        }
        for (place, column) in values.chunks_mut(stride).enumerate() {
            let column = &mut column[begin..][..count];
            column.fill(T::default());
            for (element, copy) in rows.chunks(ROWS).enumerate() {
                let factor = square[element * wide + place];
                for (sum, &value) in column.iter_mut().zip(copy) {
                    *sum = sum.plus_product(factor, value);
                }
            }
        }
    }
}

/// Room for a column's conjugates, which real numbers do without.
fn conjugates<T: Number>(high: usize) -> Own<T> {
    Own::filled(T::default(), if T::PARTS > 1 { high } else { 0 })
}

/// Takes `tau v vᴴ` times columns, which are `stride` apart, from them, from a row on.
#[inline(always)]
fn reflect<T: Number>(
    tau: T,
    v: &[T],
    columns: &mut [T],
    stride: usize,
    row: usize,
    room: &mut [T],
) {
    /// Columns that are multiplied at once.
    const TOGETHER: usize = 4;
    // Numbers that are real are their own conjugates.
    let conjugate = if T::PARTS > 1 {
        let room = &mut room[..v.len()];
        for (place, value) in room.iter_mut().zip(v) {
            *place = value.conjugate();
        }
        room
    } else {
        v
    };
    for columns in columns.chunks_mut(TOGETHER * stride) {
        let column = |which: usize| &columns[which * stride + row..][..v.len()];
        let mut sums = [T::default(); TOGETHER];
        let count = columns.len() / stride;
        if count == TOGETHER {
            sums = products([0, 1, 2, 3].map(column), conjugate);
        } else {
            for (which, sum) in sums[..count].iter_mut().enumerate() {
                *sum = products([column(which)], conjugate)[0];
            }
        }
        for (column, sum) in columns.chunks_mut(stride).zip(sums) {
            subtract(&mut column[row..][..v.len()], tau.times(sum), v);
        }
    }
}
