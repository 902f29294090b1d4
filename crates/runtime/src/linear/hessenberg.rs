//! `rxla_gehrd`: general matrices reduced to an upper triangle and the diagonal below it, by reflections on both sides.

use std::ops::Range;

use num_complex::Complex;
use rxla_base::{Error, Result};

use super::number::{Number, Real};
use super::reflect::{project, reflect, reflection, subtract, transposed_inner};
use super::{check, copied, each, with_number};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute};
use crate::own::Own;
use crate::status::{Status, guard};

/// Dense row-major square matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hessenberg {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    /// The first and the last row, from 0 on, that are not triangular yet.
    pub rows: [usize; 2],
}

impl Hessenberg {
    /// The array for [`rxla_gehrd`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.size, self.rows[0], self.rows[1]];
        Ok([&[self.element as i64], &sizes.map(|size| size as i64)[..]].concat())
    }
}

/// What LAPACK calls `gehrd`: the result in the upper triangle and the diagonal below it, and below that the
/// reflections, but for their first elements; `tau` of each. `failures` gets 0 for each matrix.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Hessenberg`], and the buffers hold what it says;
/// nobody else uses the results, of which the first may be the operand.
pub unsafe extern "C" fn rxla_gehrd(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    taus: *mut u8,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let [batch, size, first, last] = [(); 4].map(|()| code.size());
        let count = size.saturating_sub(1);
        with_number!(element, T => {
            let operand = Address(operand.cast::<T>().cast_mut());
            let (result, taus) = (Address(result.cast::<T>()), Address(taus.cast::<T>()));
            let failures = Address(failures);
            each(context, batch, 4 * size * size * size, |_, index| {
                // SAFETY: the caller's promise; each matrix is in one piece.
                unsafe {
                    let matrix = copied(operand, result, index, size * size);
                    let taus = std::slice::from_raw_parts_mut(taus.get().add(index * count), count);
                    taus.fill(T::default());
                    reduce_matrix(matrix, size, first..(last + 1).min(size), taus);
                    failures.get().add(index).write(0);
                }
                Ok(())
            })
        })
    })
}

for_each_set! {
    /// See `reduce`.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn reduce_matrix[Number] = reduce_matrix_body(
        matrix: &mut [T], size: usize, active: Range<usize>, taus: &mut [T]
    ) -> ()
}

/// # Safety
///
/// See `reduce_matrix`.
#[inline(always)]
unsafe fn reduce_matrix_body<T: Number>(
    matrix: &mut [T],
    size: usize,
    active: Range<usize>,
    taus: &mut [T],
) {
    reduce(matrix, size, active, taus);
}

/// Makes zero what is more than one below the diagonal in the active columns; reflections are left there.
#[inline(always)]
pub(super) fn reduce<T: Number>(
    matrix: &mut [T],
    size: usize,
    active: Range<usize>,
    taus: &mut [T],
) {
    // A reflection's vector, its conjugate, and sums, each at the place of its row or column.
    let mut room = Own::filled(T::default(), 3 * size);
    let (vector, room) = room.split_at_mut(size);
    let (conjugate, sums) = room.split_at_mut(size);
    for k in reflections(&active) {
        let rows = k + 1..active.end;
        for i in rows.clone() {
            vector[i] = matrix[i * size + k];
        }
        let (first, rest) = vector[rows.clone()].split_at_mut(1);
        let (multiple, tau) = reflection(first[0], rest);
        vector[k..=k + 1].copy_from_slice(&[T::default(), T::of(T::Part::ONE, T::Part::ZERO)]);
        taus[k] = tau;
        for (conjugate, &value) in conjugate[k..].iter_mut().zip(&vector[k..active.end]) {
            *conjugate = value.conjugate();
        }
        // From the right, in all rows.
        let columns = whole_pieces(rows.clone());
        for row in matrix[..active.end * size].chunks_mut(size) {
            let row = &mut row[columns.clone()];
            let factor = transposed_inner(row, &vector[columns.clone()]).times(tau);
            subtract(row, factor, &conjugate[columns.clone()]);
        }
        // From the left, in the columns that follow.
        let begin = whole_pieces(rows.start..size).start;
        let (v, sums) = (&vector[rows.clone()], &mut sums[begin..]);
        let below = &mut matrix[rows.start * size..];
        project(v, below, size, begin, sums);
        sums[..rows.start - begin].fill(T::default());
        reflect(tau.conjugate(), v, sums, below, size, begin);
        vector[k + 1] = T::of(multiple, T::Part::ZERO);
        for i in rows {
            matrix[i * size + k] = vector[i];
        }
    }
}

/// The columns that are reflected. Of the last there is one number below the diagonal, which becomes real.
#[inline(always)]
fn reflections(active: &Range<usize>) -> Range<usize> {
    active.start..active.end.saturating_sub(1)
}

/// A range that begins earlier, where it can, so that it consists of whole vectors: what is before it is multiplied with
/// zeros, which takes less time than to go through the rest one by one.
#[inline(always)]
fn whole_pieces(range: Range<usize>) -> Range<usize> {
    const LANES: usize = 16;
    range.end.checked_sub(range.len().next_multiple_of(LANES)).unwrap_or(range.start)..range.end
}

/// The reflections multiplied, and zeros in the place of where they were.
#[inline(always)]
pub(super) fn expand<T: Number>(
    matrix: &mut [T],
    size: usize,
    active: Range<usize>,
    taus: &[T],
    basis: Option<&mut [T]>,
) {
    let mut room = Own::filled(T::default(), 2 * size);
    let (vector, sums) = room.split_at_mut(size);
    let one = T::of(T::Part::ONE, T::Part::ZERO);
    let Some(basis) = basis else {
        for k in reflections(&active) {
            (k + 2..active.end).for_each(|i| matrix[i * size + k] = T::default());
        }
        return;
    };
    basis.fill(T::default());
    (0..size).for_each(|i| basis[i * size + i] = one);
    for k in reflections(&active).rev() {
        let rows = k + 1..active.end;
        let v = &mut vector[..rows.len()];
        v[0] = one;
        for (value, i) in v.iter_mut().zip(rows.clone()).skip(1) {
            *value = std::mem::take(&mut matrix[i * size + k]);
        }
        // These rows have nothing in the columns before.
        let columns = whole_pieces(rows.clone());
        let sums = &mut sums[columns.clone()];
        let below = &mut basis[rows.start * size..];
        project(v, below, size, columns.start, sums);
        reflect(taus[k], v, sums, below, size, columns.start);
    }
}
