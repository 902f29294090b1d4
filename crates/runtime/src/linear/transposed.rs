//! Matrices copied transposed, by squares that are turned in registers.

use super::number::{Number, Real};
use crate::gemm::sets::{self, Set, for_each_set};
use crate::gemm::transpose;

/// Copies `rows` times `columns` elements so that columns lie in order: both matrices are an address and a step, from a
/// row to the next in the first, from a column to the next in the second.
///
/// # Safety
///
/// The matrices are so large, do not overlap, and nobody else uses the second.
pub(super) unsafe fn copy<T: Number>(
    (from, row): (*const T, usize),
    (into, column): (*mut T, usize),
    [rows, columns]: [usize; 2],
) {
    let (side, turn) = best::<T::Part>();
    let mut turned = [0; 2];
    if T::PARTS == 1 {
        turned = [rows, columns].map(|size| size / side * side);
        let places: [isize; 16] = std::array::from_fn(|i| (i * row) as isize);
        for i in (0..turned[0]).step_by(side) {
            for j in (0..turned[1]).step_by(side) {
                // SAFETY: the caller's promise; the square is in both matrices.
                unsafe {
                    let from = from.add(i * row + j).cast::<T::Part>();
                    let into = into.add(j * column + i).cast::<T::Part>();
                    turn(from, &places[..side], column, into);
                }
            }
        }
    }
    for j in 0..columns {
        let first = if j < turned[1] { turned[0] } else { 0 };
        for i in first..rows {
            // SAFETY: the caller's promise.
            unsafe { into.add(j * column + i).write(*from.add(i * row + j)) };
        }
    }
}

/// Copies a square as its adjoint.
///
/// # Safety
///
/// As for [`copy`].
pub(super) unsafe fn copy_adjoint<T: Number>(
    from: (*const T, usize),
    (into, column): (*mut T, usize),
    size: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        copy(from, (into, column), [size; 2]);
        for place in (0..size * size * (T::PARTS - 1)).map(|k| k / size * column + k % size) {
            into.add(place).write((*into.add(place)).conjugate());
        }
    }
}

/// The side of squares, and what turns them.
fn best<P: Real>() -> (usize, transpose::Turn<P, P>) {
    match sets::best() {
        Set::Avx2 if size_of::<P>() == 8 => (4, four::<P>),
        _ => transpose::best::<P, P>(),
    }
}

for_each_set! {
    /// Turns four by four numbers, two of which are half of a vector.
    ///
    /// # Safety
    ///
    /// See [`transpose::Turn`].
    unsafe fn four[P: Real] =
        four_body(matrix: *const P, rows: &[isize], width: usize, into: *mut P) -> ()
}

/// # Safety
///
/// See `four`.
#[inline(always)]
unsafe fn four_body<P: Real>(matrix: *const P, rows: &[isize], width: usize, into: *mut P) {
    // SAFETY: the caller's promise.
    let row = |i: usize| unsafe { *matrix.wrapping_offset(rows[i]).cast::<[P; 4]>() };
    let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
    for p in 0..4 {
        // SAFETY: as above.
        unsafe { into.add(p * width).cast::<[P; 4]>().write([a[p], b[p], c[p], d[p]]) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{C, Kind, narrow, numbers};
    use super::*;
    use crate::gemm::sets::forced;

    fn check<T: Kind>(rows: usize, columns: usize) {
        let (row, column) = (columns + 3, rows + 2);
        let matrix = narrow::<T>(&numbers::<T>(rows * row));
        let mut result = vec![T::NAN; columns * column];
        // SAFETY: both are as large as that.
        unsafe { copy((matrix.as_ptr(), row), (result.as_mut_ptr(), column), [rows, columns]) };
        for (place, value) in result.iter().enumerate() {
            let (j, i) = (place / column, place % column);
            // Nothing is written beside the result.
            let wanted = (i < rows).then(|| matrix[i * row + j].widen());
            assert!(wanted.map_or(!value.widen().is_finite(), |wanted| wanted == value.widen()));
        }
    }

    #[test]
    fn elements_are_where_they_belong() {
        forced::each(|| {
            for (rows, columns) in [(1, 1), (4, 4), (3, 17), (16, 8), (33, 21), (40, 64)] {
                check::<f32>(rows, columns);
                check::<f64>(rows, columns);
                check::<C>(rows, columns);
            }
        });
    }
}
