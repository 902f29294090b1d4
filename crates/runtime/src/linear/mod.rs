//! Factors of matrices, triangular systems, eigenvalues and singular values, for batches of matrices of any size.
//!
//! Nearly all the work of large ones is done by the micro-kernels of products ([`cholesky`], [`triangular`], [`lu`],
//! [`blocks`] of reflections), but for reductions to two or three diagonals ([`change`]); many small ones are done side by side in the lanes of vectors ([`lanes`]). Which way is
//! taken, and in what order sums are computed, follows from the sizes alone.

mod balance;
mod bisect;
mod blocks;
mod change;
mod cholesky;
mod columns;
mod divide;
mod eigen;
mod francis;
mod general;
mod hessenberg;
mod lanes;
mod line;
mod lu;
mod number;
mod panel;
mod qr;
mod reflect;
mod schur;
mod secular;
mod singular;
mod steps;
mod tall;
mod transposed;
mod triangular;
mod turns;
mod update;
mod wilkinson;

use std::sync::{Mutex, PoisonError};

use num_complex::Complex;
use rxla_base::{Error, Result};

use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::Address;
use crate::status::{Status, guard};
use number::{Number, Strided};
use panel::Conjugation;
use triangular::System;

pub use eigen::{Eigen, Wanted, rxla_eigh, rxla_syevd};
pub use general::{GeneralEigen, rxla_geev, rxla_geev_real};
pub use hessenberg::{Hessenberg, rxla_gehrd};
pub use qr::{Qr, rxla_geqrf, rxla_orgqr};
pub use schur::{Schur, rxla_gees};
pub use singular::{Singular, rxla_gesdd};

/// Runs `$body` with `T` standing for the type of numbers.
macro_rules! with_number {
    ($element:expr, $T:ident => $body:expr) => {
        match $element {
            Element::F32 => {
                type $T = f32;
                $body
            }
            Element::F64 => {
                type $T = f64;
                $body
            }
            Element::C64 => {
                type $T = Complex<f32>;
                $body
            }
            Element::C128 => {
                type $T = Complex<f64>;
                $body
            }
            other => Err(Error::internal(format!("linear algebra of {other:?}"))),
        }
    };
}
use with_number;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Triangle {
    Lower = 0,
    Upper = 1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Side {
    /// `op(A) X = B`.
    Left = 0,
    /// `X op(A) = B`.
    Right = 1,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Form {
    Plain = 0,
    Transpose = 1,
    Adjoint = 2,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Diagonal {
    Stored = 0,
    /// All ones; what is stored does not count.
    Unit = 1,
}

/// The factors of dense row-major matrices, of which one triangle is read. The other triangle of the
/// result is zero; a matrix that is not positive definite gives NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cholesky {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    pub triangle: Triangle,
}

/// Dense row-major matrices to be factored into triangles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lu {
    pub element: Element,
    pub batch: usize,
    pub rows: usize,
    pub columns: usize,
}

/// Triangular systems with dense row-major matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriangularSolve {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    /// Columns of X on the right of A, rows on its left.
    pub lines: usize,
    pub side: Side,
    pub triangle: Triangle,
    pub form: Form,
    pub diagonal: Diagonal,
}

fn check(element: Element) -> Result<()> {
    match element {
        Element::F32 | Element::F64 | Element::C64 | Element::C128 => Ok(()),
        other => Err(Error::unimplemented(format!("linear algebra of {other:?}"))),
    }
}

impl Cholesky {
    /// The array for [`rxla_cholesky`] and [`rxla_potrf`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.size].map(|size| size as i64);
        Ok(vec![self.element as i64, sizes[0], sizes[1], self.triangle as i64])
    }
}

impl Lu {
    /// The array for [`rxla_getrf`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.rows, self.columns].map(|size| size as i64);
        Ok(vec![self.element as i64, sizes[0], sizes[1], sizes[2]])
    }
}

impl TriangularSolve {
    /// The array for [`rxla_triangular_solve`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let mut code = vec![self.element as i64];
        code.extend([self.batch, self.size, self.lines].map(|size| size as i64));
        code.extend([self.side as i64, self.triangle as i64]);
        code.extend([self.form as i64, self.diagonal as i64]);
        Ok(code)
    }
}

/// Factors the matrices that the array describes.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Cholesky`], and the buffers hold what it
/// says; nobody else uses the result, which may be the operand.
pub unsafe extern "C" fn rxla_cholesky(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size) = (code.size(), code.size());
        let half = if code.next() == 0 { Triangle::Lower } else { Triangle::Upper };
        if batch == 0 || size == 0 {
            return Ok(());
        }
        with_number!(element, T => {
            let batch = cholesky::Batch {
                count: batch,
                size,
                half,
                other: cholesky::Other::Zero,
                operand: Address(operand.cast::<T>().cast_mut()),
                result: Address(result.cast::<T>()),
                failures: Address(std::ptr::null_mut()),
            };
            // SAFETY: the caller's promise.
            unsafe { cholesky::factor_all(context, &batch) }
        })
    })
}

/// What LAPACK calls `potrf`: factors the matrices that the array describes. The other triangle of a result is
/// that of the operand. `failures` gets 0 for each matrix, or the number, from 1 on, of the first column in
/// which it is not positive definite; then it is filled with NaN.
///
/// # Safety
///
/// As for [`rxla_cholesky`], but the result is not the operand; there is room for a number for each matrix.
pub unsafe extern "C" fn rxla_potrf(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size) = (code.size(), code.size());
        let half = if code.next() == 0 { Triangle::Lower } else { Triangle::Upper };
        if batch == 0 {
            return Ok(());
        }
        if size == 0 {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::write_bytes(failures, 0, batch) };
            return Ok(());
        }
        with_number!(element, T => {
            let batch = cholesky::Batch {
                count: batch,
                size,
                half,
                other: cholesky::Other::Operand,
                operand: Address(operand.cast::<T>().cast_mut()),
                result: Address(result.cast::<T>()),
                failures: Address(failures),
            };
            // SAFETY: the caller's promise.
            unsafe { cholesky::factor_all(context, &batch) }
        })
    })
}

/// What LAPACK calls `getrf`: factors the matrices that the array describes into a lower triangle with ones
/// on the diagonal and an upper one, with rows exchanged. `pivots` gets, for each column in its turn, the
/// number, from 1 on, of the row exchanged with that on the diagonal; `failures` gets 0 for each matrix, or
/// the number, from 1 on, of the first column whose pivot is zero.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of an [`Lu`], and the buffers hold what it says;
/// nobody else uses the results, and the first of them is not the operand.
pub unsafe extern "C" fn rxla_getrf(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    pivots: *mut i32,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, rows, columns) = (code.size(), code.size(), code.size());
        if batch == 0 {
            return Ok(());
        }
        if rows == 0 || columns == 0 {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::write_bytes(failures, 0, batch) };
            return Ok(());
        }
        with_number!(element, T => {
            let batch = lu::Batch {
                count: batch,
                rows,
                columns,
                operand: Address(operand.cast::<T>().cast_mut()),
                result: Address(result.cast::<T>()),
                pivots: Address(pivots),
                failures: Address(failures),
            };
            // SAFETY: the caller's promise.
            unsafe { lu::factor_all(context, &batch) }
        })
    })
}

/// Solves the systems that the array describes: `coefficients` is A, `known` is B.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`TriangularSolve`], and the buffers hold
/// what it says; nobody else uses the result, which may be B.
pub unsafe extern "C" fn rxla_triangular_solve(
    context: *const Context,
    coefficients: *const u8,
    known: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size, lines) = (code.size(), code.size(), code.size());
        let (left, upper) = (code.next() == 0, code.next() != 0);
        let (form, unit) = (code.next(), code.next() != 0);
        if batch == 0 || size == 0 || lines == 0 {
            return Ok(());
        }
        let transposed = form != Form::Plain as i64;
        // Where X is on the left of A, both are solved transposed.
        let across = transposed == left;
        with_number!(element, T => {
            let known = known.cast::<T>();
            let count = batch * size * lines;
            if !std::ptr::eq(known, result.cast()) {
                copy(context, known, result.cast(), count);
            }
            let steps = |row: usize, column: usize| [row as isize, column as isize];
            let [row, column] = if across { steps(1, size) } else { steps(size, 1) };
            let start = coefficients.cast::<T>().cast_mut();
            let mut triangle = Strided { start, row, column };
            let [row, column] = if left { steps(lines, 1) } else { steps(1, size) };
            let mut unknowns = Strided { start: result.cast::<T>(), row, column };
            if upper != across {
                // An upper triangle, read from its end, is a lower one.
                let (from, to) = (triangle.at(size - 1, size - 1), unknowns.at(size - 1, 0));
                triangle = Strided { start: from, row: -triangle.row, column: -triangle.column };
                unknowns = Strided { start: to, row: -unknowns.row, ..unknowns };
            }
            let conjugation = match form == Form::Adjoint as i64 {
                true => Conjugation::Conjugate,
                false => Conjugation::None,
            };
            let diagonal = if unit { Diagonal::Unit } else { Diagonal::Stored };
            let system = System { size, lines, triangle, unknowns, conjugation, diagonal };
            // SAFETY: the caller's promise.
            unsafe { triangular::solve_all(context, batch, &system) }
        })
    })
}

/// Copies what does not overlap.
fn copy<T: Number>(context: &Context, from: *const T, into: *mut T, count: usize) {
    let (from, into) = (Address(from.cast_mut()), Address(into));
    context.parallel_for(count, 1 << 16, |begin, end| {
        // SAFETY: the promise of the caller of this module; pieces do not overlap.
        unsafe {
            let from = from.get().add(begin).cast_const();
            std::ptr::copy_nonoverlapping(from, into.get().add(begin), end - begin);
        }
    });
}

/// A matrix's place among results, with the operand's matrix of `count` numbers copied to it.
///
/// # Safety
///
/// Both arrays have more than `index` matrices, which are each in one piece, and nobody else uses that of the
/// results; the arrays may be one.
unsafe fn copied<'a, T: Number>(
    operand: Address<T>,
    results: Address<T>,
    index: usize,
    count: usize,
) -> &'a mut [T] {
    // SAFETY: the caller's promise.
    unsafe {
        let from = operand.get().add(index * count).cast_const();
        let into = results.get().add(index * count);
        std::ptr::copy(from, into, count);
        std::slice::from_raw_parts_mut(into, count)
    }
}

/// Runs `run(context, index)` for all of a batch, `work` operations each: small ones in parallel, large ones
/// one after the other.
fn each(
    context: &Context,
    batch: usize,
    work: usize,
    run: impl Fn(&Context, usize) -> Result<()> + Sync,
) -> Result<()> {
    const LARGE: usize = 1 << 24;
    if batch < context.threads() || (work >= LARGE && batch < 4 * context.threads()) {
        return (0..batch).try_for_each(|index| run(context, index));
    }
    let alone = Context::default();
    let failure = Mutex::new(None);
    context.parallel_for(batch, 1 + (1 << 16) / (work + 1), |begin, end| {
        for index in begin..end {
            if let Err(error) = run(&alone, index) {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
#[path = "test.rs"]
mod tests;

#[cfg(test)]
mod factors_test;
#[cfg(test)]
mod general_test;
