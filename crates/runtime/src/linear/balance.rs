//! What is done to a general matrix before its eigenvalues are looked for: those that can be read off are put to the
//! ends, and rows and columns are made about equally long by powers of two, which rounds nothing.

use std::ops::Range;

use super::number::{Number, Real};
use super::reflect::norm;
use crate::own::Own;

/// A matrix that is similar to the one that was given.
pub(super) struct Balance<P> {
    /// Rows and columns whose eigenvalues are still to be found; below the diagonal all others are zero.
    pub active: Range<usize>,
    /// For each row that is not active, the one that it was exchanged with.
    exchanged: Own<usize>,
    /// What each row was divided by and each column multiplied with, if with anything.
    factors: Own<P>,
}

impl<P: Real> Balance<P> {
    /// Exchanges rows, and columns with them, until no more eigenvalues can be read off.
    #[inline(always)]
    pub(super) fn exchange<T: Number<Part = P>>(matrix: &mut [T], size: usize) -> Balance<P> {
        let mut exchanged = Own::filled(0, size);
        let mut active = 0..size;
        let is_zero = |value: T| value.magnitude() == P::ZERO;
        // A row with nothing but its diagonal goes to the end.
        'rows: while !active.is_empty() {
            for i in active.clone().rev() {
                let row = &matrix[i * size..][..size];
                if active.clone().all(|j| j == i || is_zero(row[j])) {
                    active.end -= 1;
                    exchanged[active.end] = i;
                    swap(matrix, size, i, active.end);
                    continue 'rows;
                }
            }
            break;
        }
        // A column of that kind goes to the beginning.
        'columns: while !active.is_empty() {
            for j in active.clone() {
                if active.clone().all(|i| i == j || is_zero(matrix[i * size + j])) {
                    exchanged[active.start] = j;
                    swap(matrix, size, j, active.start);
                    active.start += 1;
                    continue 'columns;
                }
            }
            break;
        }
        Balance { active, exchanged, factors: Own::filled(P::ONE, 0) }
    }

    /// Makes the active rows about as long as their columns, after James, Langou and Lowery, "On matrix balancing and
    /// eigenvector computation" (2014): by the Euclidean norm, the diagonal included.
    #[inline(always)]
    pub(super) fn scale<T: Number<Part = P>>(&mut self, matrix: &mut [T], size: usize) {
        let two = P::ONE + P::ONE;
        let four = two + two;
        // A step has to make both together shorter by one twentieth.
        let enough = P::ONE - P::ONE / (four * (four + P::ONE));
        self.factors = Own::filled(P::ONE, size);
        let mut column = Own::filled(T::default(), self.active.len());
        let mut changed = true;
        while changed {
            changed = false;
            for i in self.active.clone() {
                let row = norm(&matrix[i * size..][self.active.clone()]);
                for (value, k) in column.iter_mut().zip(self.active.clone()) {
                    *value = matrix[k * size + i];
                }
                let before = norm(&column);
                if row <= P::SMALL || before <= P::SMALL {
                    continue;
                }
                let (mut factor, mut square) = (P::ONE, P::ONE);
                while before * square < row / two {
                    (factor, square) = (factor * two, square * four);
                }
                while before * square >= row * two {
                    (factor, square) = (factor / two, square / four);
                }
                if (before * square + row) / factor >= enough * (before + row) {
                    continue;
                }
                let product = self.factors[i] * factor;
                if product < P::SMALL || product > P::ONE / P::SMALL {
                    // Vectors are multiplied with it in the end, and are to stay in range.
                    continue;
                }
                changed = true;
                self.factors[i] = product;
                let inverse = P::ONE / factor;
                let row = &mut matrix[i * size..][..size];
                row.iter_mut().for_each(|value| *value = value.scaled(inverse));
                for k in 0..size {
                    let value = &mut matrix[k * size + i];
                    *value = value.scaled(factor);
                }
            }
        }
    }

    /// The same for vectors: what the matrix as it is now has in a row becomes what the given one has.
    ///
    /// `left`: of vectors that the matrix is multiplied with from the left.
    #[inline(always)]
    pub(super) fn undo_scale<V: Number<Part = P>>(&self, vector: &mut [V], left: bool) {
        for (value, &factor) in vector.iter_mut().zip(self.factors.iter()) {
            *value = value.scaled(if left { P::ONE / factor } else { factor });
        }
    }

    /// The pairs of rows to exchange, in their order, in vectors of the matrix as it is now.
    pub(super) fn exchanges(&self) -> impl Iterator<Item = (usize, usize)> {
        let inactive = (0..self.active.start).rev().chain(self.active.end..self.exchanged.len());
        inactive.map(|row| (row, self.exchanged[row]))
    }
}

/// Exchanges two rows, and the columns of the same numbers.
#[inline(always)]
fn swap<T: Number>(matrix: &mut [T], size: usize, a: usize, b: usize) {
    if a == b {
        return;
    }
    for k in 0..size {
        matrix.swap(k * size + a, k * size + b);
    }
    for k in 0..size {
        matrix.swap(a * size + k, b * size + k);
    }
}
