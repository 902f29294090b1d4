//! `rxla_gees`: Schur's form of general matrices, by reflections to a Hessenberg matrix and implicit
//! QR steps ([`francis`], [`wilkinson`]).

use std::ops::Range;

use num_complex::Complex;
use rxla_base::{Error, Result};

use super::balance::Balance;
use super::number::{Number, Real};
use super::reflect::{largest, scaling};
use super::{copied, each, francis, hessenberg, wilkinson};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute};
use crate::own::Own;
use crate::status::{Status, guard};

/// Numbers of which general matrices have Schur forms.
pub(super) trait General: Number {
    /// What eigenvalues are.
    type Wide: Number<Part = Self::Part>;

    /// Brings the active rows of a Hessenberg matrix to Schur's form, see [`francis::triangularise`].
    fn triangularise(
        matrix: &mut [Self],
        size: usize,
        active: Range<usize>,
        basis: Option<&mut [Self]>,
        whole: bool,
    ) -> bool;
}

impl<P: Real> General for P
where
    Complex<P>: Number<Part = P>,
{
    type Wide = Complex<P>;

    #[inline(always)]
    fn triangularise(
        matrix: &mut [P],
        size: usize,
        active: Range<usize>,
        basis: Option<&mut [P]>,
        whole: bool,
    ) -> bool {
        francis::triangularise(matrix, size, active, basis, whole)
    }
}

impl<P: Real> General for Complex<P>
where
    Complex<P>: Number<Part = P>,
{
    type Wide = Complex<P>;

    #[inline(always)]
    fn triangularise(
        matrix: &mut [Complex<P>],
        size: usize,
        active: Range<usize>,
        basis: Option<&mut [Complex<P>]>,
        whole: bool,
    ) -> bool {
        wilkinson::triangularise(matrix, size, active, basis, whole)
    }
}

/// Dense row-major square real matrices whose Schur form is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schur {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    /// Whether the basis is wanted, too.
    pub vectors: bool,
}

impl Schur {
    /// The array for [`rxla_gees`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        match self.element {
            Element::F32 | Element::F64 => {}
            other => return Err(Error::unimplemented(format!("Schur's form of {other:?}"))),
        }
        let sizes = [self.batch, self.size].map(|size| size as i64);
        Ok(vec![self.element as i64, sizes[0], sizes[1], self.vectors.into()])
    }
}

/// What LAPACK calls `gees` of real matrices, with eigenvalues in no order: the form, in which a pair of complex
/// eigenvalues is a block of two rows on the diagonal, the basis, and the values' real and imaginary parts. `selected`
/// gets 0 for each matrix, since none is preferred, and `failures` 0, or 1 where the matrix is not finite or nothing
/// converges; then results are NaN. What is in `vectors` when none are wanted means nothing.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Schur`], and the buffers hold what it says;
/// nobody else uses the results, of which the first may be the operand.
pub unsafe extern "C" fn rxla_gees(
    context: *const Context,
    operand: *const u8,
    form: *mut u8,
    vectors: *mut u8,
    real: *mut u8,
    imaginary: *mut u8,
    selected: *mut i32,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let sizes = [code.size(), code.size()];
        let (wanted, numbers) = (code.next() != 0, [selected, failures]);
        let arrays = [form, vectors, real, imaginary];
        // SAFETY: the caller's promise.
        unsafe {
            match element {
                Element::F32 => run::<f32>(context, sizes, wanted, operand, arrays, numbers),
                Element::F64 => run::<f64>(context, sizes, wanted, operand, arrays, numbers),
                other => Err(Error::internal(format!("Schur's form of {other:?}"))),
            }
        }
    })
}

/// # Safety
///
/// The operand has so many matrices of that size, the arrays and the numbers are the results of [`rxla_gees`].
unsafe fn run<T: Real + General>(
    context: &Context,
    [batch, size]: [usize; 2],
    wanted: bool,
    operand: *const u8,
    [form, vectors, real, imaginary]: [*mut u8; 4],
    numbers: [*mut i32; 2],
) -> Result<()> {
    let count = size * size;
    let operand = Address(operand.cast::<T>().cast_mut());
    let (form, vectors) = (Address(form.cast::<T>()), Address(vectors.cast::<T>()));
    let values = [real, imaginary].map(Address);
    let [selected, failures] = numbers.map(Address);
    each(context, batch, 20 * count * size, |_, index| {
        // SAFETY: the caller's promise; each matrix is in one piece.
        unsafe {
            let matrix = copied(operand, form, index, count);
            let count = if wanted { count } else { 0 };
            let basis = vectors.get().add(index * count);
            let basis = std::slice::from_raw_parts_mut(basis, count);
            let converged = solve(matrix, size, basis);
            if !converged {
                matrix.fill(T::NAN);
                basis.fill(T::NAN);
            }
            for_each_value(matrix, size, |i, value| {
                put_value::<T>(values, index * size + i, value);
            });
            selected.get().add(index).write(0);
            failures.get().add(index).write(i32::from(!converged));
        }
        Ok(())
    })
}

/// Writes an eigenvalue to its place in an array of complex numbers, or in those of real and of imaginary parts.
///
/// # Safety
///
/// The place is one of the arrays', for complex numbers of the first's, and nobody else uses it.
pub(super) unsafe fn put_value<T: Number>(
    arrays: [Address<u8>; 2],
    place: usize,
    [real, imaginary]: [T::Part; 2],
) {
    // SAFETY: the caller's promise.
    unsafe {
        if T::PARTS == 2 {
            arrays[0].get().cast::<T>().add(place).write(T::of(real, imaginary));
            return;
        }
        arrays[0].get().cast::<T::Part>().add(place).write(real);
        arrays[1].get().cast::<T::Part>().add(place).write(imaginary);
    }
}

/// The eigenvalues of a matrix in Schur's form: `put(number, [real, imaginary])`.
#[inline(always)]
pub(super) fn for_each_value<T: Number>(
    form: &[T],
    size: usize,
    mut put: impl FnMut(usize, [T::Part; 2]),
) {
    let mut i = 0;
    while i < size {
        let value = form[i * size + i];
        match pair(form, size, i) {
            Some(imaginary) => {
                put(i, [value.real(), imaginary]);
                put(i + 1, [value.real(), -imaginary]);
                i += 2;
            }
            None => {
                put(i, [value.real(), value.imaginary()]);
                i += 1;
            }
        }
    }
}

/// The imaginary part of the first of two eigenvalues, if a pair begins there in a real matrix in Schur's form.
#[inline(always)]
pub(super) fn pair<T: Number>(form: &[T], size: usize, i: usize) -> Option<T::Part> {
    if T::PARTS > 1 || i + 1 >= size {
        return None;
    }
    let below = form[(i + 1) * size + i].magnitude();
    let above = form[i * size + i + 1].magnitude();
    (below != T::Part::ZERO).then(|| below.square_root() * above.square_root())
}

for_each_set! {
    /// Puts Schur's form in a matrix's place, and the basis into its own, unless that is empty; says whether it could.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn solve[General] = solve_body(matrix: &mut [T], size: usize, basis: &mut [T]) -> bool
}

/// # Safety
///
/// See `solve`.
#[inline(always)]
unsafe fn solve_body<T: General>(matrix: &mut [T], size: usize, basis: &mut [T]) -> bool {
    let Some(factor) = scale(matrix) else { return false };
    let balance = Balance::exchange(matrix, size);
    let wanted = (!basis.is_empty()).then_some(&mut *basis);
    if !form(matrix, size, balance.active.clone(), wanted, true) {
        return false;
    }
    let columns = if basis.is_empty() { 0 } else { size };
    for (a, b) in balance.exchanges() {
        for column in 0..columns {
            basis.swap(a * size + column, b * size + column);
        }
    }
    if factor != T::Part::ONE {
        let back = |value: T| T::of(value.real() / factor, value.imaginary() / factor);
        matrix.iter_mut().for_each(|value| *value = back(*value));
    }
    true
}

/// Multiplies a matrix so that what is computed of it stays in range, and says with what; nothing if it is not finite.
#[inline(always)]
pub(super) fn scale<T: Number>(matrix: &mut [T]) -> Option<T::Part> {
    let largest = largest(matrix);
    if !largest.finite() {
        return None;
    }
    let Some(factor) = scaling(largest) else { return Some(T::Part::ONE) };
    matrix.iter_mut().for_each(|value| *value = value.scaled(factor));
    Some(factor)
}

/// Brings a matrix to Schur's form, and makes the basis for that, if it is wanted; all rows that are not active are
/// triangular already. Says whether it could.
#[inline(always)]
pub(super) fn form<T: General>(
    matrix: &mut [T],
    size: usize,
    active: Range<usize>,
    mut basis: Option<&mut [T]>,
    whole: bool,
) -> bool {
    let mut taus = Own::filled(T::default(), size);
    hessenberg::reduce(matrix, size, active.clone(), &mut taus);
    hessenberg::expand(matrix, size, active.clone(), &taus, basis.as_deref_mut());
    T::triangularise(matrix, size, active, basis, whole)
}
