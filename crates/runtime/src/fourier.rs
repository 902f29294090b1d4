//! `rxla_fft`: discrete Fourier transforms along the last dimensions, by rustfft and realfft.
//!
//! Each dimension is transformed in its turn, the lines of one dimension in parallel.

use num_complex::Complex;
use rxla_base::{Error, Result};
use rxla_fourier::{FftDirection, Real};

use crate::allocator::Allocator;
use crate::context::Context;
use crate::dot::Decoder;
use crate::gemm::Address;
use crate::status::{Status, guard};

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
unsafe fn run<T: Real>(
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
    match kind {
        Kind::Forward | Kind::Inverse => {
            let direction =
                if kind == Kind::Forward { FftDirection::Forward } else { FftDirection::Inverse };
            let result = Address(result.cast::<Complex<T>>());
            let operand = Address(operand.cast_mut().cast::<Complex<T>>());
            let plan = T::plan(last, direction);
            context.parallel_for(rows, grain(last), |begin, end| {
                let count = (end - begin) * last;
                // SAFETY: the caller's promise; each row is in one piece.
                let line = unsafe {
                    let from = operand.get().add(begin * last);
                    let into = result.get().add(begin * last);
                    std::ptr::copy_nonoverlapping(from, into, count);
                    std::slice::from_raw_parts_mut(into, count)
                };
                let mut room = vec![Complex::default(); plan.get_inplace_scratch_len()];
                plan.process_with_scratch(line, &mut room);
                if kind == Kind::Inverse && outer.is_empty() {
                    line.iter_mut().for_each(|value| *value = *value * scale);
                }
            });
            // SAFETY: the caller's promise.
            unsafe { columns(context, result, batch, outer, last, direction) };
            if kind == Kind::Inverse && !outer.is_empty() {
                context.parallel_for(rows, grain(last), |begin, end| {
                    // SAFETY: the caller's promise; each row is in one piece.
                    let line = unsafe {
                        let start = result.get().add(begin * last);
                        std::slice::from_raw_parts_mut(start, (end - begin) * last)
                    };
                    line.iter_mut().for_each(|value| *value = *value * scale);
                });
            }
        }
        Kind::RealForward => {
            let result = Address(result.cast::<Complex<T>>());
            let operand = Address(operand.cast_mut().cast::<T>());
            let plan = T::plan_real(last);
            context.parallel_for(rows, grain(last), |begin, end| {
                let mut line = plan.make_input_vec();
                let mut room = plan.make_scratch_vec();
                for row in begin..end {
                    // SAFETY: the caller's promise; each row is in one piece.
                    let into = unsafe {
                        let from = operand.get().add(row * last).cast_const();
                        line.copy_from_slice(std::slice::from_raw_parts(from, last));
                        std::slice::from_raw_parts_mut(result.get().add(row * half), half)
                    };
                    plan.process_with_scratch(&mut line, into, &mut room)
                        .expect("buffers have the plan's lengths");
                }
            });
            // SAFETY: the caller's promise.
            unsafe { columns(context, result, batch, outer, half, FftDirection::Forward) };
        }
        Kind::RealInverse => {
            // The outer dimensions are transformed in a copy of the operand.
            let bytes = (rows * half).saturating_mul(size_of::<Complex<T>>());
            let copy = Allocator::shared().allocate(bytes)?;
            let middle = Address(copy.as_ptr().cast::<Complex<T>>());
            // SAFETY: the copy is as long; the operand is the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(operand, copy.as_ptr(), bytes) };
            // SAFETY: as above.
            unsafe { columns(context, middle, batch, outer, half, FftDirection::Inverse) };
            let plan = T::plan_real_back(last);
            let result = Address(result.cast::<T>());
            context.parallel_for(rows, grain(last), |begin, end| {
                let mut room = plan.make_scratch_vec();
                for row in begin..end {
                    // SAFETY: the caller's promise; each row is in one piece.
                    let (line, into) = unsafe {
                        (
                            std::slice::from_raw_parts_mut(middle.get().add(row * half), half),
                            std::slice::from_raw_parts_mut(result.get().add(row * last), last),
                        )
                    };
                    // What would make the result complex is taken as zero.
                    line[0].im = T::default();
                    if last.is_multiple_of(2) {
                        line[half - 1].im = T::default();
                    }
                    plan.process_with_scratch(line, into, &mut room)
                        .expect("buffers have the plan's lengths");
                    into.iter_mut().for_each(|value| *value = *value * scale);
                }
            });
        }
    }
    Ok(())
}

/// Transforms all dimensions but the last, whose length is `width`, in place.
///
/// # Safety
///
/// `data` holds `batch` blocks of these dimensions, and nobody else uses it.
unsafe fn columns<T: Real>(
    context: &Context,
    data: Address<Complex<T>>,
    batch: usize,
    outer: &[usize],
    width: usize,
    direction: FftDirection,
) {
    // Columns that lie side by side are gathered together, so that memory is read in order.
    const TOGETHER: usize = 16;
    for (axis, &length) in outer.iter().enumerate() {
        let plan = T::plan(length, direction);
        let inner = outer[axis + 1..].iter().product::<usize>() * width;
        let groups = inner.div_ceil(TOGETHER);
        let blocks = batch * outer[..axis].iter().product::<usize>();
        context.parallel_for(blocks * groups, 1 + grain(length) / TOGETHER, |begin, end| {
            let mut lines = vec![Complex::default(); length * TOGETHER];
            let mut room = vec![Complex::default(); plan.get_inplace_scratch_len()];
            for task in begin..end {
                let (block, group) = (task / groups, task % groups);
                let first = group * TOGETHER;
                let count = TOGETHER.min(inner - first);
                let start = data.get().wrapping_add(block * length * inner + first);
                for i in 0..length {
                    for column in 0..count {
                        // SAFETY: inside the block.
                        lines[column * length + i] = unsafe { *start.add(i * inner + column) };
                    }
                }
                plan.process_with_scratch(&mut lines[..count * length], &mut room);
                for i in 0..length {
                    for column in 0..count {
                        // SAFETY: as above; each column is in one task.
                        unsafe { start.add(i * inner + column).write(lines[column * length + i]) };
                    }
                }
            }
        });
    }
}

/// Lines that are worth a thread's while.
fn grain(length: usize) -> usize {
    1 + (1 << 13) / length
}

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

    fn numbers(count: usize) -> Vec<C> {
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

    const SHAPES: [&[usize]; 9] =
        [&[1], &[2], &[7], &[16], &[30], &[3, 4], &[5, 1], &[2, 3, 5], &[20, 6]];

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
