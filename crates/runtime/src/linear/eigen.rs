//! `rxla_syevd` and `rxla_eigh`: eigenvalues and eigenvectors of Hermitian matrices, by reflections to three diagonals and
//! implicit QL steps; the diagonals of large ones whose vectors are wanted are divided ([`divide`]).

use num_complex::Complex;
use rxla_base::{Error, Result};

use super::change::Change;
use super::number::{Number, Real, Strided};
use super::qr::{expand_matrix, reflect_columns};
use super::reflect::{accumulate, inner, largest, reflection, scaling};
use super::turns::{Turn, Vectors, turn};
use super::{Triangle, check, copied, divide, each, with_number};
use crate::context::Context;
use crate::dot::Decoder;
use crate::element::Element;
use crate::gemm::sets::for_each_set;
use crate::gemm::{Address, Compute};
use crate::own::Own;
use crate::status::{Status, guard};

/// What is wanted of eigenvectors or singular vectors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Wanted {
    Nothing = 0,
    /// As many as there are values.
    Some = 1,
    /// As many as make a basis.
    All = 2,
}

/// Dense row-major Hermitian matrices, of which one triangle is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Eigen {
    pub element: Element,
    pub batch: usize,
    pub size: usize,
    pub triangle: Triangle,
    pub vectors: Wanted,
}

impl Eigen {
    /// The array for [`rxla_syevd`] and [`rxla_eigh`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        check(self.element)?;
        let sizes = [self.batch as i64, self.size as i64];
        Ok([&[self.element as i64], &sizes[..], &[self.triangle as i64, self.vectors as i64]]
            .concat())
    }
}

/// What LAPACK calls `syevd` and `heevd`: eigenvalues in ascending order and, in columns, the vectors.
/// `failures` gets 0 for each matrix, or a number above, where the matrix is not finite or nothing converges;
/// then results are NaN. It may be null.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of an [`Eigen`], and the buffers hold what it says;
/// nobody else uses the results, of which the first may be the operand.
pub unsafe extern "C" fn rxla_syevd(
    context: *const Context,
    operand: *const u8,
    vectors: *mut u8,
    values: *mut u8,
    failures: *mut i32,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let element = code.element()?;
        let (batch, size) = (code.size(), code.size());
        let half = if code.next() == 0 { Triangle::Lower } else { Triangle::Upper };
        let wanted = code.next() != 0;
        if batch == 0 || size == 0 {
            if batch > 0 && !failures.is_null() {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::write_bytes(failures, 0, batch) };
            }
            return Ok(());
        }
        with_number!(element, T => {
            type P = <T as Number>::Part;
            let operand = Address(operand.cast::<T>().cast_mut());
            let (vectors, values) = (Address(vectors.cast::<T>()), Address(values.cast::<P>()));
            let failures = Address(failures);
            let count = size * size;
            each(context, batch, 4 * count * size, |context, index| {
                // SAFETY: the caller's promise; each matrix is in one piece.
                unsafe {
                    let matrix = copied(operand, vectors, index, count);
                    let values = values.get().add(index * size);
                    let values = std::slice::from_raw_parts_mut(values, size);
                    let converged = solve(context, matrix, half, values, wanted);
                    if !converged {
                        matrix.fill(T::NAN);
                        values.fill(P::NAN);
                    }
                    if !failures.get().is_null() {
                        failures.get().add(index).write(i32::from(!converged));
                    }
                }
                Ok(())
            })
        })
    })
}

/// What XLA calls `Eigh`: as [`rxla_syevd`], but that only NaN tells of a failure.
///
/// # Safety
///
/// As for [`rxla_syevd`].
pub unsafe extern "C" fn rxla_eigh(
    context: *const Context,
    operand: *const u8,
    vectors: *mut u8,
    values: *mut u8,
    code: *const i64,
) -> Status {
    // SAFETY: the caller's promise; nothing is written where there are no failures.
    unsafe { rxla_syevd(context, operand, vectors, values, std::ptr::null_mut(), code) }
}

for_each_set! {
    /// Puts the eigenvectors into a matrix's place; says whether it could.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn solve[Number] = solve_body(
        context: &Context, matrix: &mut [T], half: Triangle, values: &mut [T::Part], wanted: bool
    ) -> bool
}

/// # Safety
///
/// See `solve`.
#[inline(always)]
unsafe fn solve_body<T: Number>(
    context: &Context,
    matrix: &mut [T],
    half: Triangle,
    values: &mut [T::Part],
    wanted: bool,
) -> bool {
    let size = values.len();
    let zero = T::Part::ZERO;
    // What is stored of the diagonal's imaginary parts does not count.
    for i in 0..size {
        matrix[i * size + i] = T::of(matrix[i * size + i].real(), zero);
    }
    mirror(matrix, size, half);
    let scale = largest(matrix);
    if !scale.finite() {
        return false;
    }
    let factor = scaling(scale);
    if let Some(factor) = factor {
        matrix.iter_mut().for_each(|value| *value = value.scaled(factor));
    }
    let mut beside = Own::filled(zero, size);
    let mut taus = Own::filled(T::default(), size);
    tridiagonalise(context, matrix, size, values, &mut beside, &mut taus);
    if !wanted {
        if !iterate(context, values, &mut beside, None) {
            return false;
        }
        put_in_order(values, &mut beside, factor);
        return true;
    }
    // The reflections act on all but the first row and column.
    let less = size - 1;
    let mut basis = Own::filled(T::default(), less * less);
    for (j, row) in matrix.chunks(size).enumerate() {
        for (i, &value) in row.iter().enumerate().skip(j + 2) {
            basis[(i - 1) * less + j] = value;
        }
    }
    if size > DIVIDED {
        let Some(vectors) = divide::solve(context, values, &beside) else { return false };
        let order = put_in_order(values, &mut beside, factor);
        for (place, &vector) in order.iter().enumerate() {
            for (element, &value) in vectors[vector * size..][..size].iter().enumerate() {
                matrix[element * size + place] = T::of(value, zero);
            }
        }
        let start = matrix[size..].as_mut_ptr();
        let rest = Strided { start, row: size as isize, column: 1 };
        // SAFETY: the matrix is ours.
        unsafe { reflect_columns(context, &basis, less, &taus[..less], rest, size) };
        return true;
    }
    if less > 0 {
        expand_matrix(context, &mut basis, less, &taus[..less]);
    }
    let start = |vector: usize, element: usize| match (vector, element) {
        (0, 0) => T::of(T::Part::ONE, zero),
        (0, _) | (_, 0) => T::default(),
        _ => basis[(element - 1) * less + vector - 1],
    };
    let mut vectors = Vectors::new(size, size, start);
    if !iterate(context, values, &mut beside, Some(&mut vectors)) {
        return false;
    }
    let order = put_in_order(values, &mut beside, factor);
    for (element, row) in matrix.chunks_mut(size).enumerate() {
        for (value, &vector) in row.iter_mut().zip(order.iter()) {
            *value = vectors.get(vector, element);
        }
    }
    true
}

/// Puts the adjoint of one triangle in the place of the other, by tiles that fit a cache.
#[inline(always)]
fn mirror<T: Number>(matrix: &mut [T], size: usize, half: Triangle) {
    const TILE: usize = 16;
    for top in (0..size).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..size.min(top + TILE) {
                for j in left..i.min(left + TILE) {
                    let (lower, upper) = (i * size + j, j * size + i);
                    match half {
                        Triangle::Lower => matrix[upper] = matrix[lower].conjugate(),
                        Triangle::Upper => matrix[lower] = matrix[upper].conjugate(),
                    }
                }
            }
        }
    }
}

/// Values of the largest matrix whose three diagonals are not divided.
const DIVIDED: usize = 48;

/// Puts values in order, and says where each was; they were multiplied with a factor.
fn put_in_order<P: Real>(values: &mut [P], room: &mut [P], factor: Option<P>) -> Own<usize> {
    let mut order = Own::new(values.len(), |i| i);
    order.sort_by(|&a, &b| values[a].partial_cmp(&values[b]).unwrap_or(std::cmp::Ordering::Equal));
    room.copy_from_slice(values);
    for (value, &from) in values.iter_mut().zip(order.iter()) {
        *value = factor.map_or(room[from], |factor| room[from] / factor);
    }
    order
}

/// Reduces a Hermitian matrix to its diagonal and what is beside it. The reflections end up right of what was
/// beside the diagonal, in rows.
#[inline(always)]
fn tridiagonalise<T: Number>(
    context: &Context,
    matrix: &mut [T],
    size: usize,
    diagonal: &mut [T::Part],
    beside: &mut [T::Part],
    taus: &mut [T],
) {
    let one = T::of(T::Part::ONE, T::Part::ZERO);
    // The last two: what the matrix is still to be changed by, `- v wᴴ - w vᴴ`.
    let mut room = Own::filled(T::default(), 6 * size);
    let (next, room) = room.split_at_mut(size);
    let (sums, room) = room.split_at_mut(size);
    let (v, room) = room.split_at_mut(size);
    let (w, room) = room.split_at_mut(size);
    let (v_adjoint, w_adjoint) = room.split_at_mut(size);
    for j in 0..size {
        // The column, which is the row's adjoint, as it is after the change.
        let row = &mut matrix[j * size..][..size];
        let (v_j, w_j) = (v[j].conjugate(), w[j].conjugate());
        for i in j..size {
            let change = v[i].times(w_j).plus(w[i].times(v_j));
            next[i] = row[i].conjugate().plus(change.negative());
        }
        diagonal[j] = next[j].real();
        if j + 1 == size {
            break;
        }
        let first = next[j + 1];
        let (multiple, tau) = reflection(first, &mut next[j + 2..]);
        beside[j] = multiple;
        taus[j] = tau;
        next[j + 1] = one;
        let begin = j + 1;
        row[begin..].copy_from_slice(&next[begin..]);
        for i in begin..size {
            (v_adjoint[i], w_adjoint[i]) = (v[i].conjugate(), w[i].conjugate());
        }
        // Change the rest, and multiply it with the new vector on the way.
        let rest = &mut matrix[begin * size..];
        let change = Change {
            begin,
            columns: [&v[begin..], &w[begin..]],
            rows: [&w_adjoint[begin..], &v_adjoint[begin..]],
        };
        change.upper_half(context, rest, size, &next[begin..], &mut sums[begin..]);
        sums[begin..].iter_mut().for_each(|sum| *sum = sum.times(tau));
        let overlap = inner(&next[begin..], &sums[begin..]).conjugate();
        let half = tau.conjugate().times(overlap).scaled(half());
        v[begin..].copy_from_slice(&next[begin..]);
        w[begin..].copy_from_slice(&sums[begin..]);
        accumulate(&mut w[begin..], half.negative(), &v[begin..]);
    }
}

#[inline(always)]
pub(super) fn half<P: Real>() -> P {
    P::ONE / (P::ONE + P::ONE)
}

/// Steps for each value that are more than enough.
const STEPS: usize = 60;

/// Finds the eigenvalues of three diagonals; vectors are turned along. Says whether it could.
#[inline(always)]
pub(super) fn iterate<P: Real>(
    context: &Context,
    diagonal: &mut [P],
    beside: &mut [P],
    mut vectors: Option<&mut Vectors<P>>,
) -> bool {
    let size = diagonal.len();
    let (scale, other) = (largest(diagonal), largest(&beside[..size - 1]));
    let scale = if other > scale { other } else { scale };
    let nothing = scale * P::EPSILON * P::EPSILON;
    for low in 0..size {
        let mut steps = 0;
        loop {
            let negligible = |i: usize| {
                let beside = beside[i].size();
                beside <= P::EPSILON * (diagonal[i].size() + diagonal[i + 1].size())
                    || beside <= nothing
            };
            let high = (low..size - 1).find(|&i| negligible(i)).unwrap_or(size - 1);
            if high == low {
                break;
            }
            steps += 1;
            if steps > STEPS {
                return false;
            }
            let slope = (diagonal[low + 1] - diagonal[low]) / (beside[low] + beside[low]);
            let root = slope.hypotenuse(P::ONE).with_sign_of(slope);
            let mut g = diagonal[high] - diagonal[low] + beside[low] / (slope + root);
            let (mut cosine, mut sine, mut moved) = (P::ONE, P::ONE, P::ZERO);
            let mut split = false;
            for i in (low..high).rev() {
                let (f, b) = (sine * beside[i], cosine * beside[i]);
                let (c, s, r) = turn(g, f);
                beside[i + 1] = r;
                if r == P::ZERO {
                    diagonal[i + 1] = diagonal[i + 1] - moved;
                    beside[high] = P::ZERO;
                    split = true;
                    break;
                }
                (cosine, sine) = (c, s);
                g = diagonal[i + 1] - moved;
                let t = (diagonal[i] - g) * sine + (cosine * b + cosine * b);
                moved = sine * t;
                diagonal[i + 1] = g + moved;
                g = cosine * t - b;
                if let Some(vectors) = vectors.as_deref_mut() {
                    vectors.push(context, Turn { first: i + 1, second: i, cosine, sine });
                }
            }
            if split {
                continue;
            }
            diagonal[low] = diagonal[low] - moved;
            beside[low] = g;
            beside[high] = P::ZERO;
        }
    }
    if let Some(vectors) = vectors {
        vectors.finish(context);
    }
    true
}
