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
    // What is left: rows below the squares, and columns beside them.
    // SAFETY: the caller's promise.
    unsafe {
        let below = (from.add(turned[0] * row), row);
        few(below, (into.add(turned[0]), column), [rows - turned[0], turned[1]]);
        few(
            (from.add(turned[1]), row),
            (into.add(turned[1] * column), column),
            [rows, columns - turned[1]],
        );
    }
}

for_each_set! {
    /// Copies where rows or columns are few.
    ///
    /// # Safety
    ///
    /// As for [`copy`].
    unsafe fn few[T: Number] =
        few_body(from: (*const T, usize), into: (*mut T, usize), sizes: [usize; 2]) -> ()
}

/// # Safety
///
/// See `few`.
#[inline(always)]
unsafe fn few_body<T: Number>(
    (from, row): (*const T, usize),
    (into, column): (*mut T, usize),
    [rows, columns]: [usize; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        // Where nothing lies between the few, how many there are is known to the compiler, which then takes
        // vectors of the many apart, or puts them together.
        if columns == row {
            match columns {
                2 => return apart::<T, 2>(from, (into, column), rows),
                3 => return apart::<T, 3>(from, (into, column), rows),
                4 => return apart::<T, 4>(from, (into, column), rows),
                5 => return apart::<T, 5>(from, (into, column), rows),
                6 => return apart::<T, 6>(from, (into, column), rows),
                7 => return apart::<T, 7>(from, (into, column), rows),
                8 => return apart::<T, 8>(from, (into, column), rows),
                _ => {}
            }
        }
        if rows == column {
            match rows {
                2 => return together::<T, 2>((from, row), into, columns),
                3 => return together::<T, 3>((from, row), into, columns),
                4 => return together::<T, 4>((from, row), into, columns),
                5 => return together::<T, 5>((from, row), into, columns),
                6 => return together::<T, 6>((from, row), into, columns),
                7 => return together::<T, 7>((from, row), into, columns),
                8 => return together::<T, 8>((from, row), into, columns),
                _ => {}
            }
        }
        if columns <= rows {
            for i in 0..rows {
                for j in 0..columns {
                    into.add(j * column + i).write(*from.add(i * row + j));
                }
            }
        } else {
            for j in 0..columns {
                for i in 0..rows {
                    into.add(j * column + i).write(*from.add(i * row + j));
                }
            }
        }
    }
}

/// Takes rows apart that lie side by side.
///
/// # Safety
///
/// As for [`copy`], with `FEW` columns that are the rows' length.
#[inline(always)]
unsafe fn apart<T: Number, const FEW: usize>(
    from: *const T,
    (into, column): (*mut T, usize),
    rows: usize,
) {
    for i in 0..rows {
        for j in 0..FEW {
            // SAFETY: the caller's promise.
            unsafe { into.add(j * column + i).write(*from.add(i * FEW + j)) };
        }
    }
}

/// Puts columns together that lie side by side.
///
/// # Safety
///
/// As for [`copy`], with `FEW` rows that are the columns' length.
#[inline(always)]
unsafe fn together<T: Number, const FEW: usize>(
    (from, row): (*const T, usize),
    into: *mut T,
    columns: usize,
) {
    for j in 0..columns {
        for i in 0..FEW {
            // SAFETY: the caller's promise.
            unsafe { into.add(j * FEW + i).write(*from.add(i * row + j)) };
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
        check_apart::<T>(rows, columns, 3, 2);
        check_apart::<T>(rows, columns, 0, 2);
        check_apart::<T>(rows, columns, 3, 0);
        check_apart::<T>(rows, columns, 0, 0);
    }

    fn check_apart<T: Kind>(rows: usize, columns: usize, beside: usize, below: usize) {
        let (row, column) = (columns + beside, rows + below);
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
            for (rows, columns) in [(1, 1), (4, 4), (3, 17), (16, 8), (33, 21), (40, 64)]
                .into_iter()
                .chain((2..=9).flat_map(|few| [(few, 35), (35, few)]))
            {
                check::<f32>(rows, columns);
                check::<f64>(rows, columns);
                check::<C>(rows, columns);
            }
        });
    }
}
