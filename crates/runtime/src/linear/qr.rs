//! `rxla_geqrf` and `rxla_orgqr`: matrices as a product of reflections and an upper triangle, and the
//! product of reflections as a matrix, of as many columns as are asked for. Where there are many, a block of columns is
//! factored at a time, and its reflections are applied to the others at once ([`super::blocks`]).

use std::ops::Range;

use num_complex::Complex;
use rxla_base::{Error, Result};

use super::blocks::{Product, Reflections};
use super::columns::{Columns, HIGH};
use super::number::{Number, Real, Strided};
use super::reflect::{project, reflect, reflection};
use super::{check, copied, each, with_number};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute};
use crate::own::Own;
use crate::status::{Status, guard};

/// Dense row-major matrices to be factored, or the reflections of some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Qr {
    pub element: Element,
    pub batch: usize,
    pub rows: usize,
    pub columns: usize,
    pub reflections: usize,
}

impl Qr {
    /// The array for [`rxla_geqrf`], whose reflections are as many as rows or columns, and [`rxla_orgqr`],
    /// which has no more columns than rows, and no more reflections than columns.
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.rows, self.columns, self.reflections];
        Ok([&[self.element as i64], &sizes.map(|size| size as i64)[..]].concat())
    }
}

/// What LAPACK calls `geqrf`: the triangle on and above the diagonal, the reflections below it, and `tau` of
/// each.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Qr`], and the buffers hold what it says;
/// nobody else uses the results, of which the first may be the operand.
pub unsafe extern "C" fn rxla_geqrf(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    taus: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let [batch, rows, columns, reflections] = [(); 4].map(|()| code.size());
        if batch == 0 || reflections == 0 {
            return Ok(());
        }
        with_number!(element, T => {
            let operand = Address(operand.cast::<T>().cast_mut());
            let (result, taus) = (Address(result.cast::<T>()), Address(taus.cast::<T>()));
            let count = rows * columns;
            each(context, batch, count * reflections, |context, index| {
                // SAFETY: the caller's promise; each matrix is in one piece.
                let (matrix, taus) = unsafe {
                    let taus = taus.get().add(index * reflections);
                    let taus = std::slice::from_raw_parts_mut(taus, reflections);
                    (copied(operand, result, index, count), taus)
                };
                factor_matrix(context, matrix, columns, taus);
                Ok(())
            })
        })
    })
}

/// What LAPACK calls `orgqr`: the first columns of the product of reflections, which are below the diagonal
/// of the operand.
///
/// # Safety
///
/// As for [`rxla_geqrf`]; the result may be the operand.
pub unsafe extern "C" fn rxla_orgqr(
    context: *const Context,
    operand: *const u8,
    taus: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let [batch, rows, columns, reflections] = [(); 4].map(|()| code.size());
        if batch == 0 || rows == 0 || columns == 0 {
            return Ok(());
        }
        with_number!(element, T => {
            let operand = Address(operand.cast::<T>().cast_mut());
            let (taus, result) = (Address(taus.cast::<T>().cast_mut()), Address(result.cast::<T>()));
            let count = rows * columns;
            each(context, batch, count * reflections, |context, index| {
                // SAFETY: the caller's promise; each matrix is in one piece.
                let (matrix, taus) = unsafe {
                    let taus = taus.get().add(index * reflections).cast_const();
                    let taus = std::slice::from_raw_parts(taus, reflections);
                    (copied(operand, result, index, count), taus)
                };
                expand_matrix(context, matrix, columns, taus);
                Ok(())
            })
        })
    })
}

/// Reflections from which on they are applied several at a time.
const MANY: usize = 64;

/// Reflections that are applied at once.
fn block(reflections: usize) -> usize {
    if reflections < 1024 { 32 } else { 64 }
}

/// Factors a matrix in place.
pub(super) fn factor_matrix<T: Number>(
    context: &Context,
    matrix: &mut [T],
    columns: usize,
    taus: &mut [T],
) {
    if taus.len() < MANY && matrix.len() < HIGH * columns {
        // SAFETY: it asks for nothing but instructions, which it sees to.
        return unsafe { factor(matrix, columns, taus) };
    }
    let block = block(taus.len());
    for (index, taus) in taus.chunks_mut(block).enumerate() {
        let (first, last) = (index * block, index * block + taus.len());
        let below = &mut matrix[first * columns..];
        let mut tall = Columns::copied(below, columns, first..last);
        tall.factor(taus);
        tall.store(below, columns, first);
        if last < columns {
            let vectors = tall.vectors();
            let start = below.as_mut_ptr().wrapping_add(last);
            let rest = Strided { start, row: columns as isize, column: 1 };
            // SAFETY: the matrix is ours.
            unsafe {
                Reflections::new(&vectors, taus, Product::Adjoint).apply(
                    context,
                    rest,
                    columns - last,
                );
            }
        }
    }
}

/// Makes a matrix of reflections in place, of which there are at most as many as columns.
pub(super) fn expand_matrix<T: Number>(
    context: &Context,
    matrix: &mut [T],
    columns: usize,
    taus: &[T],
) {
    if taus.len() < MANY && matrix.len() < HIGH * columns {
        // SAFETY: it asks for nothing but instructions, which it sees to.
        return unsafe { expand(matrix, columns, taus) };
    }
    if taus.len() < columns {
        for (i, row) in matrix.chunks_mut(columns).enumerate().skip(taus.len()) {
            row[taus.len()..].fill(T::default());
            if i < columns {
                row[i] = T::of(T::Part::ONE, T::Part::ZERO);
            }
        }
    }
    let block = block(taus.len());
    for (index, taus) in taus.chunks(block).enumerate().rev() {
        let (first, last) = (index * block, index * block + taus.len());
        let below = &mut matrix[first * columns..];
        let mut tall = Columns::copied(below, columns, first..last);
        if last < columns {
            for row in below.chunks_mut(columns).take(taus.len()) {
                row[last..].fill(T::default());
            }
            let vectors = tall.vectors();
            let start = below.as_mut_ptr().wrapping_add(last);
            let rest = Strided { start, row: columns as isize, column: 1 };
            // SAFETY: the matrix is ours.
            unsafe {
                Reflections::new(&vectors, taus, Product::Plain).apply(
                    context,
                    rest,
                    columns - last,
                );
            }
        }
        tall.expand(taus);
        tall.store(below, columns, first);
    }
}

/// Reflects so many columns, as high as the matrix that has the vectors below its diagonal.
///
/// # Safety
///
/// Nobody else uses what is reflected.
pub(super) unsafe fn reflect_columns<T: Number>(
    context: &Context,
    matrix: &[T],
    columns: usize,
    taus: &[T],
    reflected: Strided<T>,
    count: usize,
) {
    let block = block(taus.len());
    for (index, taus) in taus.chunks(block).enumerate().rev() {
        let first = index * block;
        let below = &matrix[first * columns..];
        let mut vectors = columns_of(below, columns, first..first + taus.len());
        make_unit(&mut vectors, taus.len());
        let reflections = Reflections::new(&vectors, taus, Product::Plain);
        // SAFETY: the caller's promise.
        unsafe { reflections.apply(context, reflected.from(first, 0), count) };
    }
}

/// A copy of some columns.
fn columns_of<T: Number>(matrix: &[T], columns: usize, which: Range<usize>) -> Own<T> {
    let count = which.len();
    let mut copy = Own::filled(T::default(), matrix.len() / columns * count);
    for (into, row) in copy.chunks_mut(count).zip(matrix.chunks(columns)) {
        into.copy_from_slice(&row[which.clone()]);
    }
    copy
}

/// Leaves of a factored block of columns the vectors, with what is not stored of them.
fn make_unit<T: Number>(tall: &mut [T], width: usize) {
    for (i, row) in tall.chunks_mut(width).enumerate().take(width) {
        row[i] = T::of(T::Part::ONE, T::Part::ZERO);
        row[i + 1..].fill(T::default());
    }
}

for_each_set! {
    /// Factors a matrix in place.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn factor[Number] = factor_body(matrix: &mut [T], columns: usize, taus: &mut [T]) -> ()
}

/// # Safety
///
/// See `factor`.
#[inline(always)]
unsafe fn factor_body<T: Number>(matrix: &mut [T], columns: usize, taus: &mut [T]) {
    let rows = matrix.len() / columns;
    let mut room = Own::filled(T::default(), rows + columns);
    let (v, w) = room.split_at_mut(rows);
    for (j, tau) in taus.iter_mut().enumerate() {
        let v = &mut v[j..];
        for (value, row) in v.iter_mut().zip(matrix[j * columns..].chunks(columns)) {
            *value = row[j];
        }
        let first = v[0];
        let (multiple, turn) = reflection(first, &mut v[1..]);
        *tau = turn;
        v[0] = T::of(T::Part::ONE, T::Part::ZERO);
        let below = &mut matrix[j * columns..];
        let w = &mut w[j + 1..];
        project(v, below, columns, j + 1, w);
        reflect(turn.conjugate(), v, w, below, columns, j + 1);
        v[0] = T::of(multiple, T::Part::ZERO);
        for (&value, row) in v.iter().zip(below.chunks_mut(columns)) {
            row[j] = value;
        }
    }
}

for_each_set! {
    /// Makes a matrix of reflections in place.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn expand[Number] = expand_body(matrix: &mut [T], columns: usize, taus: &[T]) -> ()
}

/// # Safety
///
/// See `expand`.
#[inline(always)]
unsafe fn expand_body<T: Number>(matrix: &mut [T], columns: usize, taus: &[T]) {
    let rows = matrix.len() / columns;
    let one = T::of(T::Part::ONE, T::Part::ZERO);
    for (i, row) in matrix.chunks_mut(columns).enumerate() {
        row[taus.len()..].fill(T::default());
        if (taus.len()..columns).contains(&i) {
            row[i] = one;
        }
    }
    let mut room = Own::filled(T::default(), rows + columns);
    let (v, w) = room.split_at_mut(rows);
    for (j, &tau) in taus.iter().enumerate().rev() {
        let below = &mut matrix[j * columns..];
        let v = &mut v[j..];
        v[0] = one;
        for (value, row) in v.iter_mut().zip(below.chunks_mut(columns)).skip(1) {
            *value = std::mem::take(&mut row[j]);
        }
        // What is right of the diagonal belongs to the other factor.
        below[j..columns].fill(T::default());
        below[j] = one;
        let w = &mut w[j..];
        project(v, below, columns, j, w);
        reflect(tau, v, w, below, columns, j);
    }
}
