//! Reflections found and expanded in a block of columns that are copied one after the other, so that all loops are as
//! long as the matrix is high, however few the columns are.

use std::ops::Range;

use super::change::products;
use super::number::{Number, Real};
use super::reflect::{reflection, subtract};
use crate::gemm::Compute;
use crate::gemm::sets::for_each_set;

/// Rows from which on a block is better done by columns.
pub(super) const HIGH: usize = 48;

/// Some columns of a row-major matrix.
pub(super) struct Columns<T> {
    values: Vec<T>,
    /// From a column to the next.
    stride: usize,
    high: usize,
}

impl<T: Number> Columns<T> {
    pub(super) fn copied(matrix: &[T], columns: usize, which: Range<usize>) -> Columns<T> {
        let high = matrix.len() / columns;
        // Columns that are a power of two apart would be in each other's way in the cache.
        let stride = high.next_multiple_of(16) + 16;
        let mut values = vec![T::default(); stride * which.len()];
        for (i, row) in matrix.chunks(columns).enumerate() {
            for (column, &value) in values.chunks_mut(stride).zip(&row[which.clone()]) {
                column[i] = value;
            }
        }
        Columns { values, stride, high }
    }

    /// Puts them in a matrix, from a column on.
    pub(super) fn store(&self, matrix: &mut [T], columns: usize, first: usize) {
        let count = self.values.len() / self.stride;
        for (i, row) in matrix.chunks_mut(columns).enumerate() {
            for (value, column) in row[first..first + count].iter_mut().zip(self.each()) {
                *value = column[i];
            }
        }
    }

    /// The vectors of reflections, row by row, with what is not stored of them.
    pub(super) fn vectors(&self) -> Vec<T> {
        let count = self.values.len() / self.stride;
        let mut vectors = vec![T::default(); self.high * count];
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

    /// Makes of reflections the first columns of their product.
    pub(super) fn expand(&mut self, taus: &[T]) {
        assert!(taus.len() <= self.high && taus.len() * self.stride <= self.values.len());
        // SAFETY: it asks for nothing but instructions, which it sees to.
        unsafe { expand(&mut self.values, [self.stride, self.high], taus) };
    }

    fn each(&self) -> impl Iterator<Item = &[T]> {
        self.values.chunks(self.stride)
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
    let mut room = Vec::new();
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
    let mut room = Vec::new();
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

/// Takes `tau v vᴴ` times columns, which are `stride` apart, from them, from a row on.
#[inline(always)]
fn reflect<T: Number>(
    tau: T,
    v: &[T],
    columns: &mut [T],
    stride: usize,
    row: usize,
    room: &mut Vec<T>,
) {
    /// Columns that are multiplied at once.
    const TOGETHER: usize = 4;
    // Numbers that are real are their own conjugates.
    let conjugate = if T::PARTS > 1 {
        room.clear();
        room.extend(v.iter().map(|value| value.conjugate()));
        &room[..]
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
