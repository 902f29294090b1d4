//! A block of columns, as high as what is left of a matrix, factored in a copy in which each column lies in order.
//!
//! The block is halved until few columns are left ("recursive LU", Toledo 1997): what the left half means for the right
//! one is subtracted by the micro-kernels of products, for which a piece of a column is a row. Few columns are factored
//! one after the other, each after all that those before it mean for it was subtracted.

use std::ops::Range;

use super::number::{Number, Strided};
use super::panel::{Conjugation, kernels, pack_rows};
use super::transposed;
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::micro::Tile;
use crate::gemm::sets::for_each_set;

/// Columns that are not halved. Halves begin at multiples of it, which all kernels' vectors divide.
const NARROW: usize = 16;

/// Columns begin at multiples of so many elements.
const ALIGNED: usize = 64;

/// The columns, and zeros below them.
pub(super) struct Tall<'a, T> {
    values: &'a mut [T],
    rows: usize,
    stride: usize,
}

impl<'a, T: Number> Tall<'a, T> {
    /// Numbers that so many columns take.
    pub(super) fn room([rows, columns]: [usize; 2]) -> usize {
        columns * rows.next_multiple_of(ALIGNED)
    }

    /// Copies columns of a matrix.
    ///
    /// # Safety
    ///
    /// The matrix is as large as the sizes say, its rows each in one piece; there is room at the address, and nobody
    /// else uses it.
    pub(super) unsafe fn copied(
        context: &Context,
        matrix: Strided<T>,
        [rows, columns]: [usize; 2],
        room: *mut T,
    ) -> Tall<'a, T> {
        let stride = rows.next_multiple_of(ALIGNED);
        let copy = Address(room);
        // SAFETY: the caller's promise; all is written before it is read.
        let values = unsafe {
            for j in 0..columns {
                room.add(j * stride + rows).write_bytes(0, stride - rows);
            }
            pieces(context, [rows, columns], &|begin, end| {
                let from = (matrix.at(begin, 0).cast_const(), matrix.row as usize);
                let into = (copy.get().wrapping_add(begin), stride);
                transposed::copy(from, into, [end - begin, columns]);
            });
            std::slice::from_raw_parts_mut(room, columns * stride)
        };
        Tall { values, rows, stride }
    }

    /// Puts the columns back to where they were copied from.
    ///
    /// # Safety
    ///
    /// As for [`Tall::copied`]; nobody else uses the matrix.
    pub(super) unsafe fn put_back(&mut self, context: &Context, matrix: Strided<T>) {
        let (rows, columns, stride) = (self.rows, self.values.len() / self.stride, self.stride);
        let values = Address(self.values.as_mut_ptr());
        pieces(context, [rows, columns], &|begin, end| {
            let from = (values.get().wrapping_add(begin).cast_const(), stride);
            let into = (matrix.at(begin, 0), matrix.row as usize);
            // SAFETY: the caller's promise; pieces do not overlap.
            unsafe { transposed::copy(from, into, [columns, end - begin]) };
        });
    }

    /// Factors some columns from the row of the first on, which begin at a multiple of [`NARROW`] unless numbers are
    /// complex, and gives the first whose pivot is zero. `pivots` gets, for each of the columns, the number, from 1
    /// on, of the row exchanged with that on the diagonal.
    pub(super) fn factor(&mut self, which: Range<usize>, pivots: &mut [i32]) -> Option<usize> {
        assert!(which.len() == pivots.len() && which.end <= self.rows);
        assert!(which.end * self.stride <= self.values.len());
        // The kernels know real numbers only.
        if which.len() <= NARROW || T::PARTS > 1 {
            // SAFETY: it asks for nothing but instructions, which it sees to.
            return unsafe { factor(self.values, [self.stride, self.rows], which.start, pivots) };
        }
        let left = (which.len() / 2).next_multiple_of(NARROW);
        let middle = which.start + left;
        let (first, second) = pivots.split_at_mut(left);
        let failure = self.factor(which.start..middle, first);
        self.exchange(which.start, first, middle..which.end);
        self.divide(which.start..middle, middle..which.end);
        self.subtract(which.start..middle, middle..which.end);
        let later = self.factor(middle..which.end, second);
        self.exchange(middle, second, which.start..middle);
        failure.or(later)
    }

    /// Exchanges elements of some columns as pivots from a row on ask for.
    fn exchange(&mut self, first: usize, pivots: &[i32], which: Range<usize>) {
        for column in self.values.chunks_exact_mut(self.stride).take(which.end).skip(which.start) {
            for (i, &pivot) in pivots.iter().enumerate() {
                column.swap(first + i, pivot as usize - 1);
            }
        }
    }

    /// Divides columns to the right of others by their triangle.
    fn divide(&mut self, known: Range<usize>, which: Range<usize>) {
        let (left, right) = self.values.split_at_mut(which.start * self.stride);
        let right = &mut right[..which.len() * self.stride];
        // SAFETY: it asks for nothing but instructions, which it sees to.
        unsafe { divide(left, right, self.stride, known) };
    }

    /// Subtracts from columns, below the rows that others are known for, the product with these.
    fn subtract(&mut self, known: Range<usize>, which: Range<usize>) {
        let kernels = kernels::<T>();
        assert!(NARROW.is_multiple_of(kernels.lanes) && T::PARTS == 1);
        let (begin, stride, depth) = (known.end, self.stride, known.len());
        let values = self.values.as_mut_ptr();
        let mut packed = vec![T::default(); kernels.rows * depth];
        for first in which.clone().step_by(kernels.rows) {
            let height = kernels.rows.min(which.end - first);
            let start = values.wrapping_add(first * stride + known.start);
            let matrix = Strided { start, row: stride as isize, column: 1 };
            // SAFETY: these rows of the columns are there, and there is room for them.
            unsafe { pack_rows(matrix, height, depth, Conjugation::None, packed.as_mut_ptr()) };
            let mut row = begin;
            while row < self.rows {
                let vectors = if row + 2 * kernels.lanes <= stride { 2 } else { 1 };
                let a = packed.as_ptr().cast::<T::Part>();
                let [b, c] = [known.start, first]
                    .map(|column| values.wrapping_add(column * stride + row).cast::<T::Part>());
                let step = stride as isize;
                let tile = Tile::new(depth, (a, height), (b.cast_const(), step), (c, step));
                let tile = Tile { add: true, ..tile };
                // SAFETY: packed so; the last vector ends with its column, or before.
                unsafe { kernels.run(vectors, height, &tile) };
                row += vectors * kernels.lanes;
            }
        }
    }
}

/// Calls `run(begin, end)` for pieces of rows that fill lines of the cache.
fn pieces(context: &Context, [rows, columns]: [usize; 2], run: &(dyn Fn(usize, usize) + Sync)) {
    const TOGETHER: usize = 16;
    let grain = 1 + (1 << 15) / (TOGETHER * columns);
    context.parallel_for(rows.div_ceil(TOGETHER), grain, |begin, end| {
        run(begin * TOGETHER, rows.min(end * TOGETHER));
    });
}

for_each_set! {
    /// Divides columns by the lower triangle, with ones on its diagonal, of those before them.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn divide[Number] = divide_body(
        left: &[T], right: &mut [T], stride: usize, known: Range<usize>
    ) -> ()
}

/// # Safety
///
/// See `divide`.
#[inline(always)]
unsafe fn divide_body<T: Number>(left: &[T], right: &mut [T], stride: usize, known: Range<usize>) {
    for column in right.chunks_exact_mut(stride) {
        for k in known.clone() {
            let factor = column[k];
            let other = &left[k * stride..][k + 1..known.end];
            for (value, &other) in column[k + 1..known.end].iter_mut().zip(other) {
                *value = value.minus_product(other, factor);
            }
        }
    }
}

for_each_set! {
    /// Factors columns in place, from one on, as many as pivots, and gives the first whose pivot is zero.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor[Number] = factor_body(
        columns: &mut [T], sizes: [usize; 2], first: usize, pivots: &mut [i32]
    ) -> Option<usize>
}

/// # Safety
///
/// See `factor`.
#[inline(always)]
unsafe fn factor_body<T: Number>(
    columns: &mut [T],
    sizes: [usize; 2],
    first: usize,
    pivots: &mut [i32],
) -> Option<usize> {
    // As many elements at once as eight vectors of the middle set hold.
    match size_of::<T>() {
        4 => factor_lanes::<T, 64>(columns, sizes, first, pivots),
        8 => factor_lanes::<T, 32>(columns, sizes, first, pivots),
        _ => factor_lanes::<T, 16>(columns, sizes, first, pivots),
    }
}

#[inline(always)]
fn factor_lanes<T: Number, const LANES: usize>(
    columns: &mut [T],
    [stride, rows]: [usize; 2],
    first: usize,
    pivots: &mut [i32],
) -> Option<usize> {
    let mut failure = None;
    let count = pivots.len();
    let columns = &mut columns[first * stride..][..count * stride];
    let mut factors = vec![T::default(); count];
    for j in 0..count {
        let (known, rest) = columns.split_at_mut(j * stride);
        let column = &mut rest[..stride];
        let diagonal = first + j;
        // The part above the diagonal, one element after the other.
        for k in 0..j {
            let factor = column[first + k];
            let other = &known[k * stride + first..][..j];
            for (value, &other) in column[first + k + 1..diagonal].iter_mut().zip(&other[k + 1..]) {
                *value = value.minus_product(other, factor);
            }
        }
        let factors = &mut factors[..j];
        factors.copy_from_slice(&column[first..diagonal]);
        // The rest, all at once. What is above and in the same chunk is put back.
        let from = diagonal / LANES * LANES;
        let mut top = [T::default(); LANES];
        let above = diagonal - from;
        top[..above].copy_from_slice(&column[from..diagonal]);
        for begin in (from..stride).step_by(LANES) {
            let (chunks, _) = column[begin..].as_chunks_mut::<LANES>();
            let mut sums = chunks[0];
            for (k, &factor) in factors.iter().enumerate() {
                let (other, _) = known[k * stride + begin..][..LANES].as_chunks::<LANES>();
                // A copy becomes registers; a place behind a reference does not.
                let other = other[0];
                for lane in 0..LANES {
                    sums[lane] = sums[lane].minus_product(other[lane], factor);
                }
            }
            chunks[0] = sums;
        }
        column[from..diagonal].copy_from_slice(&top[..above]);
        let largest = diagonal + first_largest::<T, LANES>(&column[diagonal..rows]);
        pivots[j] = largest as i32 + 1;
        if largest != diagonal {
            for column in columns.chunks_exact_mut(stride) {
                column.swap(diagonal, largest);
            }
        }
        let column = &mut columns[j * stride..][..rows];
        let pivot = column[diagonal];
        if pivot.magnitude() == T::default().magnitude() {
            failure = failure.or(Some(diagonal));
            continue;
        }
        column[diagonal + 1..].iter_mut().for_each(|value| *value = value.over(pivot));
    }
    failure
}

/// The place of the first number of the largest magnitude; the first if none is above zero.
#[inline(always)]
fn first_largest<T: Number, const LANES: usize>(numbers: &[T]) -> usize {
    let zero = T::default().magnitude();
    let mut largest = [zero; LANES];
    let (chunks, tail) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let magnitude = chunk[lane].magnitude();
            largest[lane] = if magnitude > largest[lane] { magnitude } else { largest[lane] };
        }
    }
    let all = largest.into_iter().chain(tail.iter().map(|value| value.magnitude()));
    let largest = all.fold(zero, |a, b| if b > a { b } else { a });
    if largest == zero {
        return 0;
    }
    numbers.iter().position(|value| value.magnitude() == largest).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{C, Kind, narrow, numbers};
    use super::*;
    use crate::gemm::sets::forced;

    fn check<T: Kind>(rows: usize, columns: usize) {
        let matrix = numbers::<T>(rows * columns);
        let mut result = narrow::<T>(&matrix);
        let mut room = vec![T::NAN; Tall::<T>::room([rows, columns])];
        let mut pivots = vec![0; columns];
        let place = Strided { start: result.as_mut_ptr(), row: columns as isize, column: 1 };
        let context = Context::default();
        // SAFETY: the matrix and the room are as large as the sizes say.
        unsafe {
            let mut tall = Tall::copied(&context, place, [rows, columns], room.as_mut_ptr());
            assert_eq!(tall.factor(0..columns, &mut pivots), None);
            tall.put_back(&context, place);
        }
        let mut exchanged = matrix;
        for (i, &pivot) in pivots.iter().enumerate() {
            (0..columns).for_each(|j| {
                exchanged.swap(i * columns + j, (pivot as usize - 1) * columns + j);
            });
        }
        let factor = |i: usize, j: usize| result[i * columns + j].widen();
        for i in 0..rows {
            for j in 0..columns {
                let lower = |k: usize| if k == i { C::from(1.0) } else { factor(i, k) };
                let sum: C = (0..=i.min(j)).map(|k| lower(k) * factor(k, j)).sum();
                let error = (sum - exchanged[i * columns + j]).norm();
                assert!(error < T::NEAR * columns as f64, "{rows} {columns}: {error}");
                assert!(i <= j || factor(i, j).norm() < 1.5);
            }
        }
    }

    #[test]
    fn triangles_multiply_to_the_columns() {
        forced::each(|| {
            for (rows, columns) in [(1, 1), (16, 16), (40, 17), (65, 48), (130, 64), (101, 101)] {
                check::<f32>(rows, columns);
                check::<f64>(rows, columns);
                check::<C>(rows, columns);
            }
        });
    }

    /// A column of zeros is told by its number, and those after it are factored all the same.
    #[test]
    fn columns_without_pivots_are_told() {
        let (rows, columns) = (40, 40);
        for zero in [0, 15, 16, 31, 39] {
            let mut matrix = vec![0.0_f32; rows * columns];
            (0..columns).filter(|&i| i != zero).for_each(|i| matrix[i * columns + i] = 2.0);
            let mut room = vec![0.0; Tall::<f32>::room([rows, columns])];
            let mut pivots = vec![0; columns];
            let place = Strided { start: matrix.as_mut_ptr(), row: columns as isize, column: 1 };
            // SAFETY: as above.
            unsafe {
                let context = Context::default();
                let mut tall = Tall::copied(&context, place, [rows, columns], room.as_mut_ptr());
                assert_eq!(tall.factor(0..columns, &mut pivots), Some(zero));
            }
            assert!(pivots.iter().enumerate().all(|(i, &pivot)| pivot == i as i32 + 1));
        }
    }
}
