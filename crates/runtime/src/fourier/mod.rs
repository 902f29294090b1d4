//! `rxla_fft`: discrete Fourier transforms along the last dimensions.
//!
//! Each dimension is transformed in its turn, the lines of one dimension in parallel. Where there are enough lines, and
//! their length has small factors, they are transformed side by side in the lanes of vectors ([`lanes`], where [`rows`]
//! brings those that lie in order); else one by one by rustfft and realfft, read where they are and written where they go
//! ([`real`] has those of real numbers), or gathered some at a time ([`columns`]). Which way is taken follows from the
//! shape alone, and what becomes of a line from the line and the way. The division by the number of elements is
//! done on the way.

mod columns;
mod lanes;
mod real;
mod rows;

use num_complex::Complex;
use rxla_base::{Error, Result};
use rxla_fourier::FftDirection;

use crate::allocator::Allocator;
use crate::context::Context;
use crate::dot::Decoder;
use crate::gemm::Address;
use crate::status::{Status, guard};
use lanes::Line;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Kind {
    /// Complex to complex.
    Forward = 0,
    /// Complex to complex, divided by the number of elements.
    Inverse = 1,
    /// Real to the first half (and one) of the complex result along the last dimension.
    RealForward = 2,
    /// Back from there.
    RealInverse = 3,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Precision {
    F32 = 0,
    F64 = 1,
}

/// Transforms of dense row-major operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transform {
    pub kind: Kind,
    pub precision: Precision,
    /// The product of the dimensions before those transformed.
    pub batch: usize,
    /// The lengths of the dimensions transformed, those of the real side where there is one.
    pub lengths: Vec<usize>,
}

impl Transform {
    /// The array for [`rxla_fft`].
    pub fn encode(&self) -> Result<Vec<i64>> {
        if self.lengths.is_empty() {
            return Err(Error::invalid_argument("a Fourier transform over no dimension"));
        }
        let mut code = vec![self.kind as i64, self.precision as i64, self.batch as i64];
        code.push(self.lengths.len() as i64);
        code.extend(self.lengths.iter().map(|&length| length as i64));
        Ok(code)
    }
}

/// The transform that the array describes.
///
/// # Safety
///
/// The context is null or a [`Context`], `code` the array of a [`Transform`], and the buffers hold what
/// it says; nobody else uses the result, which is not the operand.
pub unsafe extern "C" fn rxla_fft(
    context: *const Context,
    operand: *const u8,
    result: *mut u8,
    code: *const i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let (context, mut code) = unsafe { (Context::from_ptr(context), Decoder::new(code)) };
        let kind = match code.next() {
            0 => Kind::Forward,
            1 => Kind::Inverse,
            2 => Kind::RealForward,
            _ => Kind::RealInverse,
        };
        let wide = code.next() != 0;
        let (batch, rank) = (code.size(), code.size());
        let lengths: Vec<usize> = (0..rank).map(|_| code.size()).collect();
        if batch == 0 || lengths.contains(&0) {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe {
            match wide {
                false => run::<f32>(context, kind, batch, &lengths, operand, result),
                true => run::<f64>(context, kind, batch, &lengths, operand, result),
            }
        }
    })
}

/// # Safety
///
/// As for [`rxla_fft`].
unsafe fn run<T: Line>(
    context: &Context,
    kind: Kind,
    batch: usize,
    lengths: &[usize],
    operand: *const u8,
    result: *mut u8,
) -> Result<()> {
    let (&last, outer) = lengths.split_last().expect("checked when encoded");
    let half = last / 2 + 1;
    let rows = batch * outer.iter().product::<usize>();
    let scale = T::one_over(lengths.iter().product());
    let shape = |width: usize| Shape { batch, outer, width };
    match kind {
        Kind::Forward | Kind::Inverse => {
            let direction =
                if kind == Kind::Forward { FftDirection::Forward } else { FftDirection::Inverse };
            let scale = (kind == Kind::Inverse).then_some(scale);
            let result = Address(result.cast::<Complex<T>>());
            let operand = Address(operand.cast_mut().cast::<Complex<T>>());
            // The last to pass over the elements divides them.
            let row_scale = scale.filter(|_| outer.is_empty());
            // SAFETY: the caller's promise.
            unsafe {
                rows::transform_all(context, operand, result, rows, last, direction, row_scale);
            }
            // SAFETY: the caller's promise.
            unsafe { columns::transform(context, result, result, shape(last), direction, scale) };
        }
        Kind::RealForward => {
            let result = Address(result.cast::<Complex<T>>());
            // SAFETY: the caller's promise.
            unsafe {
                real::forward(context, operand.cast::<T>(), result.get(), rows, last);
                let direction = FftDirection::Forward;
                columns::transform(context, result, result, shape(half), direction, None);
            }
        }
        Kind::RealInverse => {
            let operand = Address(operand.cast_mut().cast::<Complex<T>>());
            let result = result.cast::<T>();
            if outer.is_empty() {
                // SAFETY: the caller's promise.
                unsafe { real::inverse(context, operand.get(), result, rows, last, scale) };
                return Ok(());
            }
            // The outer dimensions are transformed into memory of their own.
            let bytes = (rows * half).saturating_mul(size_of::<Complex<T>>());
            let copy = Allocator::shared().allocate(bytes)?;
            let middle = Address(copy.as_ptr().cast::<Complex<T>>());
            // SAFETY: the copy is as long as the operand, which is the caller's promise.
            unsafe {
                let direction = FftDirection::Inverse;
                columns::transform(context, operand, middle, shape(half), direction, None);
                real::inverse(context, middle.get(), result, rows, last, scale);
            }
        }
    }
    Ok(())
}

/// Blocks of dimensions that are to be transformed, and of one whose lines lie in order.
#[derive(Clone, Copy)]
struct Shape<'a> {
    batch: usize,
    outer: &'a [usize],
    width: usize,
}

/// Lines that are worth a thread's while.
fn grain(length: usize) -> usize {
    1 + (1 << 13) / length
}

#[cfg(test)]
mod lanes_test;

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::pool::Pool;

    type C = Complex<f64>;

    /// The definition, along every dimension at once.
    fn plain(values: &[C], lengths: &[usize], sign: f64) -> Vec<C> {
        let total: usize = lengths.iter().product();
        let unravel = |mut index: usize| -> Vec<usize> {
            let mut at: Vec<usize> = lengths
                .iter()
                .rev()
                .map(|&length| {
                    let digit = index % length;
                    index /= length;
                    digit
                })
                .collect();
            at.reverse();
            at
        };
        let term = |k: &[usize], x: usize| -> C {
            let turns: f64 = (unravel(x).iter().zip(k).zip(lengths))
                .map(|((&x, &k), &length)| (x * k % length) as f64 / length as f64)
                .sum();
            values[x] * C::from_polar(1.0, sign * TAU * turns)
        };
        (0..total).map(|k| (0..total).map(|x| term(&unravel(k), x)).sum()).collect()
    }

    pub(super) fn numbers(count: usize) -> Vec<C> {
        (0..count).map(|i| C::new((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos())).collect()
    }

    fn transform<A, B: Clone>(
        kind: Kind,
        batch: usize,
        lengths: &[usize],
        operand: &[A],
        mut result: Vec<B>,
    ) -> Vec<B> {
        let lengths = lengths.to_vec();
        let precision = if [size_of::<A>(), size_of::<B>()].contains(&16) {
            Precision::F64
        } else {
            Precision::F32
        };
        let code = Transform { kind, precision, batch, lengths }.encode().unwrap();
        let context = Context::new(Some(Pool::with_threads(2)));
        // SAFETY: the tests pass buffers as large as the description says.
        let status = unsafe {
            rxla_fft(
                context.as_ptr(),
                operand.as_ptr().cast(),
                result.as_mut_ptr().cast(),
                code.as_ptr(),
            )
        };
        assert_eq!(status, 0);
        result
    }

    fn near(result: &[C], wanted: &[C]) -> bool {
        result.len() == wanted.len()
            && result.iter().zip(wanted).all(|(a, b)| (a - b).norm() < 1e-9)
    }

    const SHAPES: [&[usize]; 10] =
        [&[1], &[2], &[7], &[16], &[30], &[3, 4], &[5, 1], &[2, 3, 5], &[20, 6], &[9, 50]];

    #[test]
    fn all_kinds_and_ranks() {
        for lengths in SHAPES {
            let total: usize = lengths.iter().product();
            let last = *lengths.last().unwrap();
            let (half, rows) = (last / 2 + 1, total / last);
            let values = numbers(2 * total);
            let zeros = |count: usize| vec![C::default(); count];
            let forward = transform(Kind::Forward, 2, lengths, &values, zeros(2 * total));
            let wanted =
                [plain(&values[..total], lengths, -1.0), plain(&values[total..], lengths, -1.0)]
                    .concat();
            assert!(near(&forward, &wanted), "{lengths:?}");
            let back = transform(Kind::Inverse, 2, lengths, &forward, zeros(2 * total));
            assert!(near(&back, &values), "{lengths:?}");
            let real: Vec<f64> = values[..total].iter().map(|value| value.re).collect();
            let complex: Vec<C> = real.iter().map(|&value| C::from(value)).collect();
            let whole = plain(&complex, lengths, -1.0);
            let first: Vec<C> = whole.chunks(last).flat_map(|row| row[..half].to_vec()).collect();
            let result = transform(Kind::RealForward, 1, lengths, &real, zeros(rows * half));
            assert!(near(&result, &first), "{lengths:?}");
            let back = transform(Kind::RealInverse, 1, lengths, &result, vec![0.0_f64; total]);
            assert!(back.iter().zip(&real).all(|(a, b)| (a - b).abs() < 1e-9), "{lengths:?}");
        }
    }

    #[test]
    fn single_precision_and_parts_that_are_left_out() {
        let values: Vec<Complex<f32>> = numbers(24)
            .iter()
            .map(|value| Complex::new(value.re as f32, value.im as f32))
            .collect();
        let forward =
            transform(Kind::Forward, 1, &[24], &values, vec![Complex::<f32>::default(); 24]);
        let wanted = plain(&numbers(24), &[24], -1.0);
        assert!(
            forward
                .iter()
                .zip(&wanted)
                .all(|(a, b)| (C::new(a.re.into(), a.im.into()) - b).norm() < 1e-4)
        );
        // Imaginary parts of the first and the middle element do not count.
        let plain_half = [C::new(1.0, 0.0), C::new(2.0, 3.0), C::new(4.0, 0.0)];
        let odd_half = [C::new(1.0, 9.0), C::new(2.0, 3.0), C::new(4.0, -9.0)];
        let back = |half: &[C]| transform(Kind::RealInverse, 1, &[4], half, vec![0.0_f64; 4]);
        assert_eq!(back(&plain_half), back(&odd_half));
    }
}
