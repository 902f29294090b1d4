//! Triangular systems for one right-hand side, by sums over the rows of the triangle or over its columns,
//! whichever lie in order. Each element of the triangle is read once, where it is.

use super::Diagonal;
use super::number::Number;
use super::panel::Conjugation;
use super::triangular::System;
use crate::gemm::sets::for_each_set;

/// So many lines are better solved one by one than by packing the triangle.
pub(super) const FEW: usize = 3;

/// Sums that are computed side by side.
const LANES: usize = 32;

/// Which unknown is found first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    FirstToLast,
    LastToFirst,
}

/// A triangle in memory and how it is read.
#[derive(Clone, Copy)]
struct Matrix<T> {
    start: *const T,
    /// From a row to the next, or from a column to the next, whichever is not one.
    step: usize,
    order: Order,
    conjugation: Conjugation,
    diagonal: Diagonal,
}

/// Solves for a line in place.
///
/// # Safety
///
/// The matrices are where the system says, and nobody else uses the line.
pub(super) unsafe fn solve<T: Number>(system: &System<T>, line: usize, room: &mut Vec<T>) {
    let (size, triangle) = (system.size, system.triangle);
    // Everything in the order of memory: where the triangle is read from its end, so are the lines.
    let order = if triangle.row < 0 { Order::LastToFirst } else { Order::FirstToLast };
    let place = |i: usize| if order == Order::LastToFirst { size - 1 - i } else { i };
    let matrix = Matrix {
        start: triangle.at(place(0), place(0)),
        step: triangle.row.unsigned_abs().max(triangle.column.unsigned_abs()),
        order,
        conjugation: system.conjugation,
        diagonal: system.diagonal,
    };
    room.clear();
    // SAFETY: the caller's promise.
    unsafe {
        room.extend((0..size).map(|i| *system.unknowns.at(place(i), line)));
        match triangle.column.unsigned_abs() {
            1 => by_rows(matrix, room),
            _ => by_columns(matrix, room),
        }
        for (i, &value) in room.iter().enumerate() {
            system.unknowns.at(place(i), line).write(value);
        }
    }
}

for_each_set! {
    /// Subtracts what is known from each unknown in its turn.
    ///
    /// # Safety
    ///
    /// The matrix, whose rows lie in order, is as large as the line is long.
    unsafe fn by_rows[Number] = by_rows_body(matrix: Matrix<T>, line: &mut [T]) -> ()
}

for_each_set! {
    /// Subtracts each unknown, when it is known, from those to come.
    ///
    /// # Safety
    ///
    /// The matrix, whose columns lie in order, is as large as the line is long.
    unsafe fn by_columns[Number] = by_columns_body(matrix: Matrix<T>, line: &mut [T]) -> ()
}

/// # Safety
///
/// See `by_rows`.
#[inline(always)]
unsafe fn by_rows_body<T: Number>(matrix: Matrix<T>, line: &mut [T]) {
    let size = line.len();
    for turn in 0..size {
        let (place, known) = match matrix.order {
            Order::FirstToLast => (turn, 0..turn),
            Order::LastToFirst => (size - 1 - turn, size - turn..size),
        };
        // SAFETY: the caller's promise.
        let row =
            unsafe { std::slice::from_raw_parts(matrix.start.add(place * matrix.step), size) };
        let (factors, tail) = row[known.clone()].as_chunks::<LANES>();
        let (values, value_tail) = line[known].as_chunks::<LANES>();
        let mut sums = [T::default(); LANES];
        // Copies become registers; places behind references do not.
        for (&x, &y) in factors.iter().zip(values) {
            for lane in 0..LANES {
                sums[lane] = sums[lane].minus_product(matrix.conjugation.of(x[lane]), y[lane]);
            }
        }
        for lane in 0..tail.len() {
            let factor = matrix.conjugation.of(tail[lane]);
            sums[lane] = sums[lane].minus_product(factor, value_tail[lane]);
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] = sums[lane].plus(sums[lane + width]);
            }
            width /= 2;
        }
        let value = line[place].plus(sums[0]);
        line[place] = match matrix.diagonal {
            Diagonal::Stored => value.over(matrix.conjugation.of(row[place])),
            Diagonal::Unit => value,
        };
    }
}

/// # Safety
///
/// See `by_columns`.
#[inline(always)]
unsafe fn by_columns_body<T: Number>(matrix: Matrix<T>, line: &mut [T]) {
    let size = line.len();
    for turn in 0..size {
        let (place, unknown) = match matrix.order {
            Order::FirstToLast => (turn, turn + 1..size),
            Order::LastToFirst => (size - 1 - turn, 0..size - 1 - turn),
        };
        // SAFETY: the caller's promise.
        let column =
            unsafe { std::slice::from_raw_parts(matrix.start.add(place * matrix.step), size) };
        if matrix.diagonal == Diagonal::Stored {
            line[place] = line[place].over(matrix.conjugation.of(column[place]));
        }
        let value = line[place];
        for (sum, &factor) in line[unknown.clone()].iter_mut().zip(&column[unknown]) {
            *sum = sum.minus_product(matrix.conjugation.of(factor), value);
        }
    }
}
