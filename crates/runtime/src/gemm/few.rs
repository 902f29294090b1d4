//! Products of a few rows with a few columns, long sums: of a matrix with itself, or of amplitudes that a gate of a
//! quantum circuit mixes. Both sides are read where they are; tiles would be filled up with zeros.

use super::Compute;
use super::axis::Axis;
use super::sets::for_each_set;
use crate::dot::{Dim, Dot};

/// Rows, and columns.
const MOST: usize = 4;
const LEAST_STEPS: usize = 16;
/// Beyond so many products threads share them.
const MOST_PRODUCTS: usize = 1 << 18;

/// Does the product if it is of this kind; false if not.
///
/// # Safety
///
/// As for [`super::multiply`], for elements that are `T`s or complex numbers made of them.
pub(crate) unsafe fn multiply<T: Compute>(
    dot: &Dot,
    left: *const T,
    right: *const T,
    result: *mut T,
) -> bool {
    let axis = |dims: &[Dim]| Axis::new(dims.iter().copied());
    let [rows, columns, summed] = [&dot.rows, &dot.columns, &dot.summed].map(|dims| axis(dims));
    let (m, n, k) = (rows.len(), columns.len(), summed.len());
    let few = (1..=MOST).contains(&m) && (1..=MOST).contains(&n) && m + n > 2;
    let (Some(left_step), Some(right_step)) = (summed.stride(0), summed.stride(1)) else {
        return false;
    };
    let suits = few && k >= LEAST_STEPS && m * n * k <= MOST_PRODUCTS;
    if !suits || dot.batch.iter().any(|dim| dim.size != 1) {
        return false;
    }
    let complex = dot.result.is_complex();
    let parts = if complex { 2 } else { 1 };
    let of = |axis: &Axis, operand: usize, index: usize| axis.offset(operand, index) * parts;
    let lines = Lines {
        left: std::array::from_fn(|row| left.wrapping_offset(of(&rows, 0, row.min(m - 1)))),
        right: std::array::from_fn(|at| right.wrapping_offset(of(&columns, 0, at.min(n - 1)))),
        steps: [left_step * parts, right_step * parts],
        count: k,
    };
    let mut sums = [[[T::ZERO; 2]; MOST]; MOST];
    // SAFETY: the caller's promise.
    unsafe { add(&lines, [m, n], complex, &mut sums) };
    for (row, sums) in sums[..m].iter().enumerate() {
        for (column, sum) in sums[..n].iter().enumerate() {
            let place = of(&rows, 1, row) + of(&columns, 1, column);
            for (part, &sum) in sum[..parts as usize].iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { result.offset(place + part as isize).write(sum) };
            }
        }
    }
    true
}

/// Where rows and columns begin, and how far their elements are apart.
struct Lines<T> {
    left: [*const T; MOST],
    right: [*const T; MOST],
    steps: [isize; 2],
    count: usize,
}

/// Real and imaginary parts, by row and column.
type Sums<T> = [[[T; 2]; MOST]; MOST];

for_each_set! {
    /// Sums the products of so many rows and columns.
    ///
    /// # Safety
    ///
    /// All elements are there.
    unsafe fn add[T: Compute] =
        add_body(lines: &Lines<T>, sizes: [usize; 2], complex: bool, sums: &mut Sums<T>) -> ()
}

/// # Safety
///
/// See [`add`].
#[inline(always)]
unsafe fn add_body<T: Compute>(
    lines: &Lines<T>,
    [rows, columns]: [usize; 2],
    complex: bool,
    sums: &mut Sums<T>,
) {
    macro_rules! tiles {
        ($(($rows:literal, $columns:literal))*) => {
            match (rows.next_power_of_two(), columns.next_power_of_two()) {
                $(($rows, $columns) => match complex {
                    true => add_complex::<T, $rows, $columns>(lines, sums),
                    false => add_real::<T, $rows, $columns>(lines, sums),
                },)*
                _ => unreachable!("rows and columns are few"),
            }
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        tiles!((1, 2)(1, 4)(2, 1)(2, 2)(2, 4)(4, 1)(4, 2)(4, 4));
    }
}

/// # Safety
///
/// See [`add`].
#[inline(always)]
unsafe fn add_real<T: Compute, const ROWS: usize, const COLUMNS: usize>(
    lines: &Lines<T>,
    sums: &mut Sums<T>,
) {
    let mut own = [[T::ZERO; COLUMNS]; ROWS];
    for p in 0..lines.count as isize {
        // SAFETY: the caller's promise.
        let right: [T; COLUMNS] =
            std::array::from_fn(|at| unsafe { *lines.right[at].offset(p * lines.steps[1]) });
        for row in 0..ROWS {
            // SAFETY: the caller's promise.
            let left = unsafe { *lines.left[row].offset(p * lines.steps[0]) };
            for column in 0..COLUMNS {
                own[row][column] = left.multiply_add(right[column], own[row][column]);
            }
        }
    }
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            sums[row][column][0] = own[row][column];
        }
    }
}

/// # Safety
///
/// See [`add`].
#[inline(always)]
unsafe fn add_complex<T: Compute, const ROWS: usize, const COLUMNS: usize>(
    lines: &Lines<T>,
    sums: &mut Sums<T>,
) {
    let mut own = [[[T::ZERO; 2]; COLUMNS]; ROWS];
    for p in 0..lines.count as isize {
        // SAFETY: the caller's promise: both parts of each are there.
        let right: [[T; 2]; COLUMNS] = std::array::from_fn(|at| unsafe {
            let place = lines.right[at].offset(p * lines.steps[1]);
            [*place, *place.add(1)]
        });
        for row in 0..ROWS {
            // SAFETY: as above.
            let [real, imaginary] = unsafe {
                let place = lines.left[row].offset(p * lines.steps[0]);
                [*place, *place.add(1)]
            };
            let turned = imaginary.negate();
            for column in 0..COLUMNS {
                let [re, im] = own[row][column];
                own[row][column] = [
                    turned.multiply_add(right[column][1], real.multiply_add(right[column][0], re)),
                    imaginary
                        .multiply_add(right[column][0], real.multiply_add(right[column][1], im)),
                ];
            }
        }
    }
    for row in 0..ROWS {
        sums[row][..COLUMNS].copy_from_slice(&own[row]);
    }
}
