//! A matrix changed by two products of a column and a row, and multiplied with a vector while it is at hand: what
//! reductions to two or three diagonals spend their time with. Rows are changed in parallel, and what becomes
//! of a row does not depend on who changes it.

use super::number::Number;
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;
use crate::own::Own;

/// `- a x - b y` for columns `a` and `b` and rows `x` and `y`.
#[derive(Clone, Copy)]
pub(super) struct Change<'a, T> {
    /// The first column that is changed.
    pub begin: usize,
    pub columns: [&'a [T]; 2],
    pub rows: [&'a [T]; 2],
}

/// Sums that are computed side by side.
const LANES: usize = 32;
/// As many of what is left.
const FEW: usize = 8;

/// Numbers that are worth a thread's while.
const GRAIN: usize = 1 << 14;

impl<T: Number> Change<'_, T> {
    /// Changes the part of a Hermitian matrix that is right of its diagonal and on it, the rows of which are `stride`
    /// numbers apart, and puts the products of all of it with a column into `sums`. Each row counts as a column, too.
    pub(super) fn upper_half(
        &self,
        context: &Context,
        matrix: &mut [T],
        stride: usize,
        column: &[T],
        sums: &mut [T],
    ) {
        /// Rows that are summed one after the other.
        const ROWS: usize = 64;
        let size = column.len();
        assert!(matrix.len() >= size * stride && self.begin + size <= stride);
        assert!(
            sums.len() == size
                && self.columns.iter().chain(&self.rows).all(|part| part.len() == size)
        );
        let pieces = size.div_ceil(ROWS);
        let mut partial = Own::filled(T::default(), pieces * size);
        let (matrix, parts) = (Address(matrix.as_mut_ptr()), Address(partial.as_mut_ptr()));
        context.parallel_for(pieces, 1 + GRAIN / (ROWS * size), |begin, end| {
            for piece in begin..end {
                let first = piece * ROWS;
                let rows = ROWS.min(size - first);
                // SAFETY: pieces do not overlap, and end where there are no more rows.
                unsafe {
                    let start = matrix.get().add(first * stride);
                    let rows = std::slice::from_raw_parts_mut(start, rows * stride);
                    let start = parts.get().add(piece * size);
                    let sums = std::slice::from_raw_parts_mut(start, size);
                    change_half(*self, rows, stride, first, column, sums);
                }
            }
        });
        sums.copy_from_slice(&partial[..size]);
        for (piece, part) in partial.chunks(size).enumerate().skip(1) {
            for (sum, &value) in sums.iter_mut().zip(part).skip(piece * ROWS) {
                *sum = sum.plus(value);
            }
        }
    }

    /// Changes rows that are `stride` numbers apart, and puts the adjoint of a column times them into `sums`.
    pub(super) fn all_columns(
        &self,
        context: &Context,
        matrix: &mut [T],
        stride: usize,
        column: &[T],
        sums: &mut [T],
    ) {
        /// Rows that are summed one after the other.
        const ROWS: usize = 64;
        let (rows, width) = (column.len(), sums.len());
        assert!(matrix.len() >= rows * stride && self.begin + width <= stride);
        let pieces = rows.div_ceil(ROWS);
        if pieces == 1 {
            // SAFETY: it asks for nothing but instructions, which it sees to.
            return unsafe { change_columns(*self, matrix, stride, 0, column, sums) };
        }
        let mut partial = Own::filled(T::default(), pieces * width);
        let (matrix, parts) = (Address(matrix.as_mut_ptr()), Address(partial.as_mut_ptr()));
        context.parallel_for(pieces, 1 + GRAIN / (ROWS * width), |begin, end| {
            for piece in begin..end {
                let first = piece * ROWS;
                let column = &column[first..rows.min(first + ROWS)];
                // SAFETY: as above; pieces do not overlap.
                unsafe {
                    let start = matrix.get().add(first * stride);
                    let rows = std::slice::from_raw_parts_mut(start, column.len() * stride);
                    let start = parts.get().add(piece * width);
                    let sums = std::slice::from_raw_parts_mut(start, width);
                    change_columns(*self, rows, stride, first, column, sums);
                }
            }
        });
        sums.fill(T::default());
        for part in partial.chunks(width) {
            for (sum, &value) in sums.iter_mut().zip(part) {
                *sum = sum.plus(value);
            }
        }
    }
}

/// Rows, `stride` numbers apart, of which the last numbers are multiplied with a column: one sum for each.
pub(super) fn multiply_rows<T: Number>(
    context: &Context,
    matrix: &[T],
    stride: usize,
    column: &[T],
    sums: &mut [T],
) {
    let rows = sums.len();
    assert!(matrix.len() >= rows * stride && column.len() <= stride);
    let sums = Address(sums.as_mut_ptr());
    context.parallel_for(rows, 1 + GRAIN / column.len(), |begin, end| {
        // SAFETY: pieces do not overlap, and end where there are no more rows.
        unsafe {
            let sums = std::slice::from_raw_parts_mut(sums.get().add(begin), end - begin);
            multiply_some(&matrix[begin * stride..end * stride], stride, column, sums);
        }
    });
}

for_each_set! {
    /// See [`multiply_rows`].
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn multiply_some[Number] = multiply_some_body(
        rows: &[T], stride: usize, column: &[T], sums: &mut [T]
    ) -> ()
}

/// # Safety
///
/// See `multiply_some`.
#[inline(always)]
unsafe fn multiply_some_body<T: Number>(rows: &[T], stride: usize, column: &[T], sums: &mut [T]) {
    let from = stride - column.len();
    let mut i = 0;
    while i + 4 <= sums.len() {
        let row = |r: usize| &rows[(i + r) * stride + from..][..column.len()];
        let found = products([row(0), row(1), row(2), row(3)], column);
        sums[i..i + 4].copy_from_slice(&found);
        i += 4;
    }
    while i < sums.len() {
        sums[i] = products([&rows[i * stride + from..][..column.len()]], column)[0];
        i += 1;
    }
}

/// Some rows times a column.
#[inline(always)]
pub(super) fn products<T: Number, const ROWS: usize>(
    rows: [&[T]; ROWS],
    column: &[T],
) -> [T; ROWS] {
    let mut sums = [[T::default(); LANES]; ROWS];
    let (factors, tail) = column.as_chunks::<LANES>();
    for (k, &factor) in factors.iter().enumerate() {
        for r in 0..ROWS {
            let values = rows[r].as_chunks::<LANES>().0[k];
            let mut sum = sums[r];
            for lane in 0..LANES {
                sum[lane] = sum[lane].plus_product(values[lane], factor[lane]);
            }
            sums[r] = sum;
        }
    }
    let mut result = [T::default(); ROWS];
    for r in 0..ROWS {
        let rest = rows[r].as_chunks::<LANES>().1;
        let ((values, last), (factors, last_factors)) =
            (rest.as_chunks::<FEW>(), tail.as_chunks::<FEW>());
        let few = &mut sums[r].as_chunks_mut::<FEW>().0[0];
        for (&values, &factors) in values.iter().zip(factors) {
            let mut now = *few;
            for lane in 0..FEW {
                now[lane] = now[lane].plus_product(values[lane], factors[lane]);
            }
            *few = now;
        }
        let mut sum = total(&sums[r]);
        for (&value, &factor) in last.iter().zip(last_factors) {
            sum = sum.plus_product(value, factor);
        }
        result[r] = sum;
    }
    result
}

#[inline(always)]
fn total<T: Number>(sums: &[T; LANES]) -> T {
    let (mut half, mut quarter) = ([T::default(); LANES / 2], [T::default(); LANES / 4]);
    for lane in 0..LANES / 2 {
        half[lane] = sums[lane].plus(sums[lane + LANES / 2]);
    }
    for lane in 0..LANES / 4 {
        quarter[lane] = half[lane].plus(half[lane + LANES / 4]);
    }
    let [a, b, c, d, e, f, g, h] = quarter;
    a.plus(b).plus(c.plus(d)).plus(e.plus(f).plus(g.plus(h)))
}

for_each_set! {
    /// Changes rows from one on, and puts the adjoint of a column times them into `sums`.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn change_columns[Number] = change_columns_body(
        change: Change<'_, T>, rows: &mut [T], stride: usize, first: usize, column: &[T],
        sums: &mut [T]
    ) -> ()
}

/// # Safety
///
/// See `change_columns`.
#[inline(always)]
unsafe fn change_columns_body<T: Number>(
    change: Change<'_, T>,
    rows: &mut [T],
    stride: usize,
    first: usize,
    column: &[T],
    sums: &mut [T],
) {
    let range = change.begin..change.begin + sums.len();
    let [a, b] = change.columns;
    sums.fill(T::default());
    let mut i = 0;
    while i + 4 <= column.len() {
        let (one, rest) = rows[i * stride..].split_at_mut(stride);
        let (two, rest) = rest.split_at_mut(stride);
        let (three, four) = rest.split_at_mut(stride);
        let some = [one, two, three, four].map(|row| &mut row[range.clone()]);
        add_together(
            some,
            [0, 1, 2, 3].map(|r| {
                let row = first + i + r;
                [a[row], b[row], column[i + r].conjugate()]
            }),
            change.rows,
            sums,
        );
        i += 4;
    }
    while i < column.len() {
        let row = &mut rows[i * stride..][range.clone()];
        let factors = [a[first + i], b[first + i], column[i].conjugate()];
        add_together([row], [factors], change.rows, sums);
        i += 1;
    }
}

/// Changes some rows and adds them, times a factor, to sums.
#[inline(always)]
fn add_together<T: Number, const ROWS: usize>(
    rows: [&mut [T]; ROWS],
    factors: [[T; 3]; ROWS],
    [x, y]: [&[T]; 2],
    sums: &mut [T],
) {
    let width = sums.len();
    let (x, y) = (&x[..width], &y[..width]);
    assert!(rows.iter().all(|row| row.len() == width));
    for c in 0..width {
        let mut sum = sums[c];
        for r in 0..ROWS {
            let [a, b, factor] = factors[r];
            let value = rows[r][c].minus_product(a, x[c]).minus_product(b, y[c]);
            rows[r][c] = value;
            sum = sum.plus_product(factor, value);
        }
        sums[c] = sum;
    }
}

for_each_set! {
    /// Changes rows from one on, each from the diagonal on, and adds to `sums` what they mean for products of the
    /// whole matrix.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn change_half[Number] = change_half_body(
        change: Change<'_, T>, rows: &mut [T], stride: usize, first: usize, column: &[T],
        sums: &mut [T]
    ) -> ()
}

/// # Safety
///
/// See `change_half`.
#[inline(always)]
unsafe fn change_half_body<T: Number>(
    change: Change<'_, T>,
    rows: &mut [T],
    stride: usize,
    first: usize,
    column: &[T],
    sums: &mut [T],
) {
    // As many numbers at once as a line of the cache holds.
    match size_of::<T>() {
        4 => change_half_lanes::<T, 16>(change, rows, stride, first, column, sums),
        8 => change_half_lanes::<T, 8>(change, rows, stride, first, column, sums),
        _ => change_half_lanes::<T, 4>(change, rows, stride, first, column, sums),
    }
}

#[inline(always)]
fn change_half_lanes<T: Number, const LANES: usize>(
    change: Change<'_, T>,
    rows: &mut [T],
    stride: usize,
    first: usize,
    column: &[T],
    sums: &mut [T],
) {
    let ([a, b], [x, y]) = (change.columns, change.rows);
    let changed =
        |value: T, i: usize, c: usize| value.minus_product(a[i], x[c]).minus_product(b[i], y[c]);
    for (pair, rows) in rows.chunks_mut(2 * stride).enumerate() {
        let i = first + 2 * pair;
        let (one, two) = rows.split_at_mut(stride);
        let one = &mut one[change.begin..];
        one[i] = changed(one[i], i, i);
        sums[i] = sums[i].plus_product(one[i], column[i]);
        if two.is_empty() {
            // The last row, since pieces are of even numbers; nothing is right of it.
            continue;
        }
        let (two, next) = (&mut two[change.begin..], i + 1);
        one[next] = changed(one[next], i, next);
        two[next] = changed(two[next], next, next);
        sums[i] = sums[i].plus_product(one[next], column[next]);
        sums[next] = sums[next].plus_product(one[next].conjugate(), column[i]);
        sums[next] = sums[next].plus_product(two[next], column[next]);
        let range = i + 2..column.len();
        let found = pair_half::<T, LANES>(
            [&mut one[range.clone()], &mut two[range.clone()]],
            [[a[i], a[next]], [b[i], b[next]], [column[i], column[next]]],
            [x, y, column].map(|part| &part[range.clone()]),
            &mut sums[range],
        );
        sums[i] = sums[i].plus(found[0]);
        sums[next] = sums[next].plus(found[1]);
    }
}

/// Two rows, right of both diagonals: their products with a column are the result, those of their adjoints are added
/// to `sums`.
#[inline(always)]
fn pair_half<T: Number, const LANES: usize>(
    [one, two]: [&mut [T]; 2],
    [a, b, factors]: [[T; 2]; 3],
    [x, y, column]: [&[T]; 3],
    sums: &mut [T],
) -> [T; 2] {
    let mut found = [[T::default(); LANES]; 2];
    let (one, one_tail) = one.as_chunks_mut::<LANES>();
    let (two, two_tail) = two.as_chunks_mut::<LANES>();
    let (sums, sums_tail) = sums.as_chunks_mut::<LANES>();
    let [(x, x_tail), (y, y_tail), (column, tail)] = [x, y, column].map(|part| part.as_chunks());
    for ((((one, two), sums), (x, y)), column) in
        one.iter_mut().zip(two).zip(sums).zip(x.iter().zip(y)).zip(column)
    {
        // Copies become registers; places behind references do not.
        let (x, y, column): ([T; LANES], [T; LANES], [T; LANES]) = (*x, *y, *column);
        let (mut first, mut second, mut sum) = (*one, *two, *sums);
        for lane in 0..LANES {
            let value = first[lane].minus_product(a[0], x[lane]).minus_product(b[0], y[lane]);
            let other = second[lane].minus_product(a[1], x[lane]).minus_product(b[1], y[lane]);
            (first[lane], second[lane]) = (value, other);
            found[0][lane] = found[0][lane].plus_product(value, column[lane]);
            found[1][lane] = found[1][lane].plus_product(other, column[lane]);
            sum[lane] = sum[lane].plus_product(value.conjugate(), factors[0]);
            sum[lane] = sum[lane].plus_product(other.conjugate(), factors[1]);
        }
        (*one, *two, *sums) = (first, second, sum);
    }
    for lane in 0..tail.len() {
        let value =
            one_tail[lane].minus_product(a[0], x_tail[lane]).minus_product(b[0], y_tail[lane]);
        let other =
            two_tail[lane].minus_product(a[1], x_tail[lane]).minus_product(b[1], y_tail[lane]);
        (one_tail[lane], two_tail[lane]) = (value, other);
        found[0][lane] = found[0][lane].plus_product(value, tail[lane]);
        found[1][lane] = found[1][lane].plus_product(other, tail[lane]);
        let sum = sums_tail[lane].plus_product(value.conjugate(), factors[0]);
        sums_tail[lane] = sum.plus_product(other.conjugate(), factors[1]);
    }
    found.map(|found| found.into_iter().fold(T::default(), T::plus))
}
