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
        // Where nothing lies between the few, several of the many are vectors side by side. What is left is one by one.
        let (mut first_row, mut first_column) = (0, 0);
        if columns == row {
            first_row = match columns {
                2 => apart::<T, 2>(from, (into, column), rows),
                3 => apart::<T, 3>(from, (into, column), rows),
                4 => apart::<T, 4>(from, (into, column), rows),
                5 => apart::<T, 5>(from, (into, column), rows),
                6 => apart::<T, 6>(from, (into, column), rows),
                7 => apart::<T, 7>(from, (into, column), rows),
                8 => apart::<T, 8>(from, (into, column), rows),
                _ => 0,
            };
        }
        if rows == column && first_row == 0 {
            first_column = match rows {
                2 => together::<T, 2>((from, row), into, columns),
                3 => together::<T, 3>((from, row), into, columns),
                4 => together::<T, 4>((from, row), into, columns),
                5 => together::<T, 5>((from, row), into, columns),
                6 => together::<T, 6>((from, row), into, columns),
                7 => together::<T, 7>((from, row), into, columns),
                8 => together::<T, 8>((from, row), into, columns),
                _ => 0,
            };
        }
        if columns <= rows {
            for i in first_row..rows {
                for j in first_column..columns {
                    into.add(j * column + i).write(*from.add(i * row + j));
                }
            }
        } else {
            for j in first_column..columns {
                for i in first_row..rows {
                    into.add(j * column + i).write(*from.add(i * row + j));
                }
            }
        }
    }
}

/// Elements of a column, or of a row, that are copied at once.
const MANY: usize = 16;

/// Takes rows apart that lie side by side, as many as are whole blocks: so many.
///
/// # Safety
///
/// As for [`copy`], with `FEW` columns that are the rows' length.
#[inline(always)]
unsafe fn apart<T: Number, const FEW: usize>(
    from: *const T,
    (into, column): (*mut T, usize),
    rows: usize,
) -> usize {
    let whole = rows / MANY * MANY;
    for begin in (0..whole).step_by(MANY) {
        // SAFETY: the caller's promise.
        unsafe {
            let block = from.add(begin * FEW).cast::<[[T; FEW]; MANY]>().read();
            for j in 0..FEW {
                let mut values = [T::default(); MANY];
                for i in 0..MANY {
                    values[i] = block[i][j];
                }
                into.add(j * column + begin).cast::<[T; MANY]>().write(values);
            }
        }
    }
    whole
}

/// Puts columns together that lie side by side, as many as are whole blocks: so many.
///
/// # Safety
///
/// As for [`copy`], with `FEW` rows that are the columns' length.
#[inline(always)]
unsafe fn together<T: Number, const FEW: usize>(
    (from, row): (*const T, usize),
    into: *mut T,
    columns: usize,
) -> usize {
    let whole = columns / MANY * MANY;
    for begin in (0..whole).step_by(MANY) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut block = [[T::default(); FEW]; MANY];
            for i in 0..FEW {
                let values = from.add(i * row + begin).cast::<[T; MANY]>().read();
                for j in 0..MANY {
                    block[j][i] = values[j];
                }
            }
            into.add(begin * FEW).cast::<[[T; FEW]; MANY]>().write(block);
        }
    }
    whole
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
