//! `rxla_geev` and `rxla_geev_real`: eigenvalues and eigenvectors of general matrices, from Schur's form ([`schur`]).

use num_complex::Complex;
use rxla_base::{Error, Result};

use super::balance::Balance;
use super::number::{Number, Real};
use super::reflect::{largest, norm};
use super::schur::{General, for_each_value, form, pair, put_value, scale};
use super::{check, each, with_number};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute};
use crate::own::Own;
use crate::status::{Status, guard};

/// Dense row-major square matrices whose eigenvalues are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GeneralEigen {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    /// Whether vectors are wanted that matrices are multiplied with from the left and from the right.
    pub left: bool,
    pub right: bool,
}

impl GeneralEigen {
    /// The array for [`rxla_geev`] or, if the matrices are real, [`rxla_geev_real`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch, self.size].map(|size| size as i64);
        Ok(vec![self.element as i64, sizes[0], sizes[1], self.left.into(), self.right.into()])
    }
}

/// What LAPACK calls `geev` of complex matrices: eigenvalues in no order and, in columns of length one whose largest
/// element is real, the vectors: `A r = r w`, `lᴴ A = w lᴴ`. `failures` gets 0 for each matrix, or 1 where it is not
/// finite or nothing converges; then results are NaN. What is in arrays of vectors that are not wanted means nothing.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`GeneralEigen`], and the buffers hold what it says;
/// nobody else uses the results.
pub unsafe extern "C" fn rxla_geev(
    context: *const Context,
    operand: *const u8,
    values: *mut u8,
    left: *mut u8,
    right: *mut u8,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { run(context, operand, [values; 2], [left, right], failures, code) }
}

/// The same of real matrices, whose eigenvalues' real and imaginary parts are arrays of their own. Vectors are complex,
/// those of real values have no imaginary parts.
///
/// # Safety
///
/// As for [`rxla_geev`].
pub unsafe extern "C" fn rxla_geev_real(
    context: *const Context,
    operand: *const u8,
    real: *mut u8,
    imaginary: *mut u8,
    left: *mut u8,
    right: *mut u8,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { run(context, operand, [real, imaginary], [left, right], failures, code) }
}

/// # Safety
///
/// As for [`rxla_geev`]. Complex values go to the first of the arrays.
unsafe fn run(
    context: *const Context,
    operand: *const u8,
    values: [*mut u8; 2],
    vectors: [*mut u8; 2],
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size) = (code.size(), code.size());
        let wanted = [code.next() != 0, code.next() != 0];
        let count = size * size;
        with_number!(element, T => {
            let operand = Address(operand.cast::<T>().cast_mut());
            let (values, vectors, failures) =
                (values.map(Address), vectors.map(Address), Address(failures));
            each(context, batch, 25 * count * size, |_, index| {
                // SAFETY: the caller's promise; each matrix is in one piece.
                unsafe {
                    let from = operand.get().add(index * count).cast_const();
                    let mut matrix = Own::copied(std::slice::from_raw_parts(from, count));
                    let places = [0, 1].map(|side| {
                        let start = vectors[side].get().cast::<<T as General>::Wide>();
                        let count = if wanted[side] { count } else { 0 };
                        std::slice::from_raw_parts_mut(start.add(index * count), count)
                    });
                    let mut found = Own::filled([<T as Number>::Part::ZERO; 2], size);
                    let converged = solve(&mut matrix, &mut found, places);
                    for (i, &value) in found.iter().enumerate() {
                        put_value::<T>(values, index * size + i, value);
                    }
                    failures.get().add(index).write(i32::from(!converged));
                }
                Ok(())
            })
        })
    })
}

for_each_set! {
    /// Finds the eigenvalues' parts, and left and right vectors where there are places for them; says whether it could.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn solve[General] = solve_body(
        matrix: &mut [T], values: &mut [[T::Part; 2]], vectors: [&mut [T::Wide]; 2]
    ) -> bool
}

/// # Safety
///
/// See `solve`.
#[inline(always)]
unsafe fn solve_body<T: General>(
    matrix: &mut [T],
    values: &mut [[T::Part; 2]],
    vectors: [&mut [T::Wide]; 2],
) -> bool {
    let size = values.len();
    let [left, right] = vectors;
    let wanted = !left.is_empty() || !right.is_empty();
    let mut basis = Own::filled(T::default(), if wanted { size * size } else { 0 });
    let mut fail = || {
        values.fill([T::Part::NAN; 2]);
        left.fill(T::Wide::NAN);
        right.fill(T::Wide::NAN);
        false
    };
    let Some(factor) = scale(matrix) else { return fail() };
    let mut balance = Balance::exchange(matrix, size);
    balance.scale(matrix, size);
    let place = wanted.then_some(&mut basis[..]);
    if !form(matrix, size, balance.active.clone(), place, wanted) {
        return fail();
    }
    for_each_value(matrix, size, |i, value| values[i] = value.map(|part| part / factor));
    if !right.is_empty() {
        let side = Side { form: matrix, basis: &basis, size, balance: &balance, left: false };
        side.find(right);
    }
    if !left.is_empty() {
        // Seen from the other end, these are vectors of the transpose.
        let from = |place: usize| (size - 1 - place % size) * size + size - 1 - place / size;
        let turned = Own::new(size * size, |place| matrix[from(place)]);
        basis.chunks_mut(size).for_each(<[T]>::reverse);
        let side = Side { form: &turned, basis: &basis, size, balance: &balance, left: true };
        side.find(left);
    }
    true
}

/// Vectors of one kind, of a triangle and then of the matrix.
struct Side<'a, T: General> {
    /// In Schur's form.
    form: &'a [T],
    basis: &'a [T],
    size: usize,
    balance: &'a Balance<T::Part>,
    /// Whether they are for products from the left: then the form is transposed and begins at its end, the basis'
    /// columns and the vectors are in that order, too, and the form's vectors are to be conjugated.
    left: bool,
}

impl<T: General> Side<'_, T> {
    #[inline(always)]
    fn find(&self, vectors: &mut [T::Wide]) {
        let (size, one) = (self.size, T::of(T::Part::ONE, T::Part::ZERO));
        let mut real = Own::filled(T::default(), size);
        let mut wide = Own::filled(T::Wide::default(), if T::PARTS == 1 { size } else { 0 });
        let least = largest(self.form) * T::Part::SMALL;
        // Of no use to a matrix of zeros, but then nothing is divided but zeros.
        let least = if least > T::Part::ZERO { least } else { T::Part::ONE };
        let mut i = 0;
        while i < size {
            let on = self.form[i * size + i];
            let Some(imaginary) = pair(self.form, size, i) else {
                real[i] = one;
                let x = &mut real[..=i];
                self.substitute(on, x, 1, least, |a| a, |a, x| a.times(x));
                let vector = self.whole(x, |a, x| a.times(x));
                let wide = |value: T| T::Wide::of(value.real(), value.imaginary());
                self.put(vectors, i, &vector, wide);
                i += 1;
                continue;
            };
            let [above, below] = [self.form[i * size + i + 1], self.form[(i + 1) * size + i]];
            let one = T::Wide::of(T::Part::ONE, T::Part::ZERO);
            let part = |divisor: T| T::Wide::of(T::Part::ZERO, imaginary / divisor.real());
            [wide[i], wide[i + 1]] = match above.magnitude() >= below.magnitude() {
                true => [one, part(above)],
                false => [part(below), one],
            };
            let value = T::Wide::of(on.real(), imaginary);
            let lift = |a: T| T::Wide::of(a.real(), T::Part::ZERO);
            let times = |a: T, x: T::Wide| x.scaled(a.real());
            let x = &mut wide[..i + 2];
            self.substitute(value, x, 2, least, lift, times);
            let vector = self.whole(x, times);
            // The value above zero comes first, also where places are from the last to the first.
            let places = if self.left { [i + 1, i] } else { [i, i + 1] };
            self.put(vectors, places[0], &vector, |value| value);
            self.put(vectors, places[1], &vector, T::Wide::conjugate);
            i += 2;
        }
    }

    /// Completes a vector of the form for an eigenvalue, of which the last elements, so many, are given. Divisors that
    /// are nothing to speak of are made so large that what is found is still finite.
    #[inline(always)]
    fn substitute<V: Number<Part = T::Part>>(
        &self,
        value: V,
        x: &mut [V],
        given: usize,
        least: T::Part,
        lift: impl Fn(T) -> V,
        times: impl Fn(T, V) -> V,
    ) {
        let (form, size, one) = (self.form, self.size, T::Part::ONE);
        let accuracy = T::Part::EPSILON * value.magnitude();
        let least = if accuracy > least { accuracy } else { least };
        let mut j = x.len() - given;
        while j > 0 {
            let end = j;
            let shifted = |i: usize| lift(form[i * size + i]).plus(value.negative());
            if j > 1 && pair(form, size, j - 2).is_some() {
                j -= 2;
                let block = [shifted(j), lift(form[j * size + j + 1])];
                let below = [lift(form[(j + 1) * size + j]), shifted(j + 1)];
                let mut right = [V::default(); 2];
                for (i, right) in right.iter_mut().enumerate() {
                    let row = &form[(j + i) * size + end..];
                    *right = sum(row, &x[end..], &times).negative();
                }
                [x[j], x[j + 1]] = solve_two([block, below], right, least);
            } else {
                j -= 1;
                let known = sum(&form[j * size + end..], &x[end..], &times).negative();
                x[j] = quotient(known, shifted(j), least);
            }
            let largest = largest(&x[j..end]);
            if largest > one / T::Part::EPSILON {
                x[j..].iter_mut().for_each(|value| *value = value.scaled(one / largest));
            }
        }
        if self.left {
            x.iter_mut().for_each(|value| *value = value.conjugate());
        }
    }

    /// A vector of the matrix, of length one, from one of its form.
    #[inline(always)]
    fn whole<V: Number<Part = T::Part>>(&self, x: &[V], times: impl Fn(T, V) -> V) -> Own<V> {
        let mut vector = Own::filled(V::default(), self.size);
        for (value, row) in vector.iter_mut().zip(self.basis.chunks(self.size)) {
            *value = sum(row, x, &times);
        }
        self.balance.undo_scale(&mut vector, self.left);
        for (a, b) in self.balance.exchanges() {
            vector.swap(a, b);
        }
        let mut factor = V::of(T::Part::ONE / norm(&vector), T::Part::ZERO);
        let mut top = 0;
        if V::PARTS == 2 {
            // So that the largest element is real.
            let length =
                |value: V| value.real() * value.real() + value.imaginary() * value.imaginary();
            for (i, &value) in vector.iter().enumerate() {
                if length(value) > length(vector[top]) {
                    top = i;
                }
            }
            let turn = vector[top].conjugate();
            let length = turn.real().hypotenuse(turn.imaginary());
            factor = turn.scaled(T::Part::ONE / length).times(factor);
        }
        vector.iter_mut().for_each(|value| *value = value.times(factor));
        vector[top] = V::of(vector[top].real(), T::Part::ZERO);
        vector
    }

    /// Writes a vector into a column.
    #[inline(always)]
    fn put<V: Number<Part = T::Part>>(
        &self,
        vectors: &mut [T::Wide],
        column: usize,
        vector: &[V],
        wide: impl Fn(V) -> T::Wide,
    ) {
        let column = if self.left { self.size - 1 - column } else { column };
        for (row, &value) in vectors.chunks_mut(self.size).zip(vector) {
            row[column] = wide(value);
        }
    }
}

/// The sum of products of a row with what of a vector there is.
#[inline(always)]
fn sum<T: Number, V: Number<Part = T::Part>>(row: &[T], x: &[V], times: &impl Fn(T, V) -> V) -> V {
    const LANES: usize = 8;
    let mut sums = [V::default(); LANES];
    let (x_pieces, x_tail) = x.as_chunks::<LANES>();
    let (row_pieces, row_tail) = row[..x.len()].as_chunks::<LANES>();
    for (row, x) in row_pieces.iter().zip(x_pieces) {
        for lane in 0..LANES {
            sums[lane] = sums[lane].plus(times(row[lane], x[lane]));
        }
    }
    let mut tail = V::default();
    for (&a, &x) in row_tail.iter().zip(x_tail) {
        tail = tail.plus(times(a, x));
    }
    sums.into_iter().fold(tail, V::plus)
}

/// A quotient whose divisor is `least` if it is less.
#[inline(always)]
fn quotient<V: Number>(value: V, divisor: V, least: V::Part) -> V {
    let size = divisor.magnitude();
    if size < least {
        return value.scaled(V::Part::ONE / least);
    }
    // The square of the divisor might be out of range.
    let inverse = V::Part::ONE / size;
    value.scaled(inverse).over(divisor.scaled(inverse))
}

/// Two unknowns of two equations.
#[inline(always)]
fn solve_two<V: Number>(
    [mut first, mut second]: [[V; 2]; 2],
    right: [V; 2],
    least: V::Part,
) -> [V; 2] {
    let [mut known, mut other] = right;
    if second[0].magnitude() > first[0].magnitude() {
        std::mem::swap(&mut first, &mut second);
        std::mem::swap(&mut known, &mut other);
    }
    let factor = quotient(second[0], first[0], least);
    let divisor = second[1].minus_product(factor, first[1]);
    let y = quotient(other.minus_product(factor, known), divisor, least);
    [quotient(known.minus_product(first[1], y), first[0], least), y]
}
