//! Transforms of real numbers and back. Lines of even length are transformed as half as many complex numbers,
//! whose transform is then taken apart; odd ones as complex numbers, or by realfft where they are not done side
//! by side.

use num_complex::Complex;
use rxla_fourier::{FftDirection, Real};

use super::lanes::{self, Line};
use super::{grain, rows};
use crate::context::Context;
use crate::gemm::Address;
use crate::gemm::sets::for_each_set;

/// Transforms rows of real numbers to the first half, and one more, of the complex ones.
///
/// # Safety
///
/// Both places hold so many rows, and nobody else uses the second.
pub(super) unsafe fn forward<T: Line>(
    context: &Context,
    operand: *const T,
    result: *mut Complex<T>,
    rows: usize,
    length: usize,
) {
    let half = length / 2 + 1;
    let (operand, result) = (Address(operand.cast_mut()), Address(result));
    let even = length.is_multiple_of(2);
    if let Some(steps) = lanes::steps::<T>(rows, if even { length / 2 } else { length }) {
        let into = (Address(result.get().cast::<T>()), 2 * half);
        let factors = T::twiddles(length);
        rows::each_group(
            context,
            rows,
            steps.length,
            (operand, length),
            into,
            |from, into, side| {
                // SAFETY: the caller's promise; each line is in one group.
                unsafe {
                    if even {
                        rows::read(from, length, 1, side);
                        side.transform(&steps, FftDirection::Forward, None);
                        side.take_apart(&steps, &factors);
                    } else {
                        rows::read(from, length, 2, side);
                        side.clear_imaginary(length);
                        side.transform(&steps, FftDirection::Forward, None);
                    }
                    let place = |k: usize| steps.places.get(k).map_or(k, |&place| place as usize);
                    rows::write(into, 2 * half, side, |i| 2 * place(i / 2) + i % 2);
                }
            },
        );
        return;
    }
    // SAFETY: the caller's promise; each row is in one piece.
    let row_of = |row| unsafe { a_row(row, (&operand, length), (&result, half)) };
    if !length.is_multiple_of(2) {
        let plan = T::plan_real(length);
        context.parallel_for(rows, grain(length), |begin, end| {
            let mut line = plan.make_input_vec();
            let mut room = plan.make_scratch_vec();
            for row in begin..end {
                let (from, into) = row_of(row);
                line.copy_from_slice(from);
                plan.process_with_scratch(&mut line, into, &mut room)
                    .expect("buffers have the plan's lengths");
            }
        });
        return;
    }
    let (plan, twiddles) = (T::plan(length / 2, FftDirection::Forward), T::twiddles(length));
    context.parallel_for(rows, grain(length), |begin, end| {
        let mut line = vec![Complex::default(); length / 2];
        let mut room = vec![Complex::default(); plan.get_immutable_scratch_len()];
        for row in begin..end {
            let (from, into) = row_of(row);
            // SAFETY: a complex number is two real ones, and aligned as they are.
            let pairs = unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), length / 2) };
            plan.process_immutable_with_scratch(pairs, &mut line, &mut room);
            // SAFETY: it asks for nothing but instructions, which it sees to.
            unsafe { take_apart(&line, &twiddles, into) };
        }
    });
}

/// A row of the operand and its row of the result, each with its length.
///
/// # Safety
///
/// Both rows are there, and nobody else uses the second.
unsafe fn a_row<'a, A, B>(
    row: usize,
    (operand, read): (&Address<A>, usize),
    (result, written): (&Address<B>, usize),
) -> (&'a [A], &'a mut [B]) {
    // SAFETY: the caller's promise.
    unsafe {
        let from = operand.get().add(row * read).cast_const();
        let into = result.get().add(row * written);
        (std::slice::from_raw_parts(from, read), std::slice::from_raw_parts_mut(into, written))
    }
}

/// Transforms the first halves of rows back to real numbers, and multiplies these with `scale`.
///
/// # Safety
///
/// Both places hold so many rows, and nobody else uses the second.
pub(super) unsafe fn inverse<T: Line>(
    context: &Context,
    operand: *mut Complex<T>,
    result: *mut T,
    rows: usize,
    length: usize,
    scale: T,
) {
    let half = length / 2 + 1;
    let (operand, result) = (Address(operand), Address(result));
    let even = length.is_multiple_of(2);
    if let Some(steps) = lanes::steps::<T>(rows, if even { length / 2 } else { length }) {
        let (from, into) = ((Address(operand.get().cast::<T>()), 2 * half), (result, length));
        let factors = T::twiddles(length);
        rows::each_group(context, rows, steps.length, from, into, |from, into, side| {
            // SAFETY: the caller's promise; each line is in one group.
            unsafe {
                rows::read(from, 2 * half, 1, side);
                if even {
                    side.put_together(&factors);
                } else {
                    side.mirror(length);
                }
                side.transform(&steps, FftDirection::Inverse, Some(scale));
                match even {
                    true => rows::write(into, length, side, |i| {
                        2 * steps.places[i / 2] as usize + i % 2
                    }),
                    false => rows::write(into, length, side, |i| 2 * steps.places[i] as usize),
                }
            }
        });
        return;
    }
    // SAFETY: the caller's promise; each row is in one piece.
    let row_of = |row| unsafe { a_row(row, (&operand, half), (&result, length)) };
    if !length.is_multiple_of(2) {
        let plan = T::plan_real_back(length);
        context.parallel_for(rows, grain(length), |begin, end| {
            let mut line = plan.make_input_vec();
            let mut room = plan.make_scratch_vec();
            for row in begin..end {
                let (from, into) = row_of(row);
                line.copy_from_slice(from);
                // What would make the result complex is taken as zero.
                line[0].im = T::default();
                plan.process_with_scratch(&mut line, into, &mut room)
                    .expect("buffers have the plan's lengths");
                into.iter_mut().for_each(|value| *value = *value * scale);
            }
        });
        return;
    }
    let (plan, twiddles) = (T::plan(length / 2, FftDirection::Inverse), T::twiddles(length));
    context.parallel_for(rows, grain(length), |begin, end| {
        let mut line = vec![Complex::default(); length / 2];
        let mut room = vec![Complex::default(); plan.get_immutable_scratch_len()];
        for row in begin..end {
            let (from, into) = row_of(row);
            // SAFETY: it asks for nothing but instructions, which it sees to; a complex number is two
            // real ones, and aligned as they are.
            let pairs = unsafe {
                put_together(from, &twiddles, scale, &mut line);
                std::slice::from_raw_parts_mut(into.as_mut_ptr().cast(), length / 2)
            };
            plan.process_immutable_with_scratch(&line, pairs, &mut room);
        }
    });
}

for_each_set! {
    /// The transform of real numbers from that of half as many complex ones.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn take_apart[Real] = take_apart_body(
        line: &[Complex<T>], twiddles: &[Complex<T>], into: &mut [Complex<T>]
    ) -> ()
}

/// # Safety
///
/// See `take_apart`.
#[inline(always)]
unsafe fn take_apart_body<T: Real>(
    line: &[Complex<T>],
    twiddles: &[Complex<T>],
    into: &mut [Complex<T>],
) {
    let (half, one_half) = (line.len(), T::one_over(2));
    let first = line[0];
    into[0] = Complex::new(first.re + first.im, T::default());
    into[half] = Complex::new(first.re - first.im, T::default());
    let ends = line[1..].iter().zip(line[1..].iter().rev());
    for ((value, &t), (a, b)) in into[1..half].iter_mut().zip(&twiddles[1..half]).zip(ends) {
        let (sum, difference) =
            (Complex::new(a.re + b.re, a.im + b.im), (a.re - b.re, a.im - b.im));
        *value = Complex::new(
            sum.re * one_half + t.re * difference.0 - t.im * sum.im,
            difference.1 * one_half + t.re * sum.im + t.im * difference.0,
        );
    }
}

for_each_set! {
    /// What half as many complex numbers have to be, to be transformed back to real ones.
    ///
    /// # Safety
    ///
    /// None but that of the instruction set, which is seen to.
    unsafe fn put_together[Real] = put_together_body(
        from: &[Complex<T>], twiddles: &[Complex<T>], scale: T, line: &mut [Complex<T>]
    ) -> ()
}

/// # Safety
///
/// See `put_together`.
#[inline(always)]
unsafe fn put_together_body<T: Real>(
    from: &[Complex<T>],
    twiddles: &[Complex<T>],
    scale: T,
    line: &mut [Complex<T>],
) {
    let half = line.len();
    // The imaginary parts of the first and the last would make the result complex; they do not count.
    let (first, last) = (from[0].re, from[half].re);
    line[0] = Complex::new((first + last) * scale, (first - last) * scale);
    let ends = from[1..half].iter().zip(from[1..half].iter().rev());
    let twice = scale + scale;
    for ((value, t), (a, b)) in line[1..].iter_mut().zip(&twiddles[1..half]).zip(ends) {
        let (sum, difference) =
            (Complex::new(a.re + b.re, a.im + b.im), (a.re - b.re, a.im - b.im));
        *value = Complex::new(
            sum.re * scale + (t.re * difference.0 + t.im * sum.im) * twice,
            difference.1 * scale + (t.re * sum.im - t.im * difference.0) * twice,
        );
    }
}
