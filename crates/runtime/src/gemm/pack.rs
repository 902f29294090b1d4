//! Packing: pieces of an operand copied to where, and in the order in which, a micro-kernel reads them,
//! and converted to the type that is computed in on the way.

use super::{Compute, Pair};
use crate::element::Load;

/// Copies element `(i, p)` of a matrix, which lies at `rows[i] + steps[p]`, to `into[p * width + i]`,
/// where `width` is at least the number of rows; what lies between is filled with zeros.
///
/// # Safety
///
/// All these places are inside the matrix and `into`.
pub(crate) type Pack<T> =
    unsafe fn(matrix: *const u8, rows: &[isize], steps: &[isize], width: usize, into: *mut T);

/// # Safety
///
/// See [`Pack`].
pub(crate) unsafe fn pack<S, T>(
    matrix: *const u8,
    rows: &[isize],
    steps: &[isize],
    width: usize,
    into: *mut T,
) where
    S: Load<T>,
    T: Compute,
{
    let matrix = matrix.cast::<S>();
    if rows.len() < width {
        for p in 0..steps.len() {
            for i in rows.len()..width {
                // SAFETY: the caller's promise.
                unsafe { into.add(p * width + i).write(T::ZERO) };
            }
        }
    }
    if rows.windows(2).all(|pair| pair[1] - pair[0] == 1) {
        for (p, &step) in steps.iter().enumerate() {
            // SAFETY: the caller's promise.
            let (from, to) = unsafe { (matrix.offset(rows[0] + step), into.add(p * width)) };
            for i in 0..rows.len() {
                // SAFETY: the caller's promise.
                unsafe { to.add(i).write((*from.add(i)).load()) };
            }
        }
        return;
    }
    const RUN: usize = 8;
    let mut p = 0;
    while p < steps.len() {
        let to = into.wrapping_add(p * width);
        let run = steps.get(p..p + RUN);
        if run.is_some_and(|run| run[RUN - 1] - run[0] == RUN as isize - 1 && is_run(run)) {
            for (i, &row) in rows.iter().enumerate() {
                let from = matrix.wrapping_offset(row + steps[p]);
                // SAFETY: the caller's promise, for all places of the run.
                let values = unsafe { *from.cast::<[S; RUN]>() };
                for q in 0..RUN {
                    // SAFETY: the caller's promise.
                    unsafe { to.add(q * width + i).write(values[q].load()) };
                }
            }
            p += RUN;
        } else {
            for (i, &row) in rows.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { to.add(i).write((*matrix.offset(row + steps[p])).load()) };
            }
            p += 1;
        }
    }
}

fn is_run(steps: &[isize]) -> bool {
    steps.windows(2).all(|pair| pair[1] - pair[0] == 1)
}

/// Packs two steps into each value; a last step that is alone gets a zero.
///
/// # Safety
///
/// See [`Pack`].
pub(crate) unsafe fn pack_pairs<S: Load<i32>>(
    matrix: *const u8,
    rows: &[isize],
    steps: &[isize],
    width: usize,
    into: *mut Pair,
) {
    let matrix = matrix.cast::<S>();
    let value = |row: isize, step: isize| {
        // SAFETY: the caller's promise.
        let element = unsafe { *matrix.offset(row + step) };
        element.load() as i16
    };
    for (p, steps) in steps.chunks(2).enumerate() {
        let into = into.wrapping_add(p * width);
        for (i, &row) in rows.iter().enumerate() {
            let second = steps.get(1).map_or(0, |&step| value(row, step));
            // SAFETY: the caller's promise.
            unsafe { into.add(i).write(Pair::new(value(row, steps[0]), second)) };
        }
        for i in rows.len()..width {
            // SAFETY: the caller's promise.
            unsafe { into.add(i).write(Pair::ZERO) };
        }
    }
}

/// Converts a run of elements.
///
/// # Safety
///
/// See [`super::Widen`].
pub(crate) unsafe fn widen<S: Load<T>, T>(
    matrix: *const u8,
    offset: isize,
    count: usize,
    into: *mut T,
) {
    let from = matrix.cast::<S>().wrapping_offset(offset);
    for i in 0..count {
        // SAFETY: the caller's promise.
        unsafe { into.add(i).write((*from.add(i)).load()) };
    }
}

/// Packs the right operand of a product of complex numbers so that the product of real matrices with
/// twice the columns and steps is what it should be: `(re, im) · ((re, im), (-im, re))`. Every row
/// and step comes twice, once for each part, with the same place; the first of each is even.
///
/// # Safety
///
/// See [`Pack`].
pub(crate) unsafe fn pack_complex<T: Compute>(
    matrix: *const u8,
    rows: &[isize],
    steps: &[isize],
    width: usize,
    into: *mut T,
) {
    let matrix = matrix.cast::<T>();
    for (p, &step) in steps.iter().enumerate() {
        for i in 0..width {
            let value = match rows.get(i) {
                None => T::ZERO,
                Some(&row) => {
                    let part = usize::from(p % 2 != i % 2);
                    // SAFETY: the caller's promise: both parts are there.
                    let value = unsafe { *matrix.offset(row + step).add(part) };
                    if p % 2 == 1 && i % 2 == 0 { value.negate() } else { value }
                }
            };
            // SAFETY: the caller's promise.
            unsafe { into.add(p * width + i).write(value) };
        }
    }
}
