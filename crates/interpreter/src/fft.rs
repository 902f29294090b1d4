//! `fft`: discrete Fourier transforms along the last dimensions, computed in double precision.
//!
//! A power of two is halved again and again; any other length becomes a convolution of a power of
//! two (Bluestein).

use std::f64::consts::PI;

use num_complex::Complex;
use rxla_base::{Error, Result};
use rxla_hlo::op::{Fft, FftType};
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType};

use crate::matmul::to_type;

type C = Complex<f64>;

pub(crate) fn fft(operand: ArrayLiteral, op: &Fft, result: ElementType) -> Result<ArrayLiteral> {
    let rank = op.fft_length.len();
    if operand.dims().len() < rank || rank == 0 {
        return Err(Error::invalid_argument(format!(
            "`fft` over {rank} dimensions of `{}`",
            operand.shape()
        )));
    }
    let batch_dims: Dims = operand.dims()[..operand.dims().len() - rank].into();
    let batch: usize = batch_dims.iter().map(|&size| size as usize).product();
    let lengths: Vec<usize> = op.fft_length.iter().map(|&length| length as usize).collect();
    let last = lengths[rank - 1];
    let half = last / 2 + 1;
    let mut half_lengths = lengths.clone();
    half_lengths[rank - 1] = half;
    let (in_lengths, out_lengths) = match op.fft_type {
        FftType::Fft | FftType::Ifft => (&lengths, &lengths),
        FftType::Rfft => (&lengths, &half_lengths),
        FftType::Irfft => (&half_lengths, &lengths),
    };
    let given = operand.dims()[batch_dims.len()..].iter().map(|&size| size as usize);
    if !given.eq(in_lengths.iter().copied()) {
        return Err(Error::invalid_argument(format!(
            "`fft` with `fft_length={{{lengths:?}}}` of `{}`",
            operand.shape()
        )));
    }
    let mut out_dims = batch_dims;
    out_dims.extend(out_lengths.iter().map(|&length| length as i64));
    let shape = ArrayShape::new(ElementType::C128, out_dims.iter().copied());
    let mut out = ArrayLiteral::zeros(&shape)?;
    let operand = to_type(operand, ElementType::C128)?;
    if !out.is_empty() && !operand.is_empty() {
        let inverse = matches!(op.fft_type, FftType::Ifft | FftType::Irfft);
        let plans: Vec<Plan> = lengths.iter().map(|&length| Plan::new(length, inverse)).collect();
        let in_size: usize = in_lengths.iter().product();
        let out_size: usize = out_lengths.iter().product();
        let target = out.values_mut::<C>();
        for i in 0..batch {
            let mut block = operand.values::<C>()[i * in_size..][..in_size].to_vec();
            for axis in 0..rank - 1 {
                along(&mut block, in_lengths, axis, &plans[axis]);
            }
            let target = &mut target[i * out_size..][..out_size];
            last_axis(&block, target, op.fft_type, &plans[rank - 1]);
        }
    }
    if result.is_complex() { to_type(out, result) } else { real_part(&out, result) }
}

fn real_part(values: &ArrayLiteral, to: ElementType) -> Result<ArrayLiteral> {
    let real: Vec<f64> = values.values::<C>().iter().map(|value| value.re).collect();
    to_type(ArrayLiteral::from_values(values.dims().iter().copied(), &real), to)
}

/// Transforms every line along one axis of a block.
fn along(block: &mut [C], lengths: &[usize], axis: usize, plan: &Plan) {
    let length = lengths[axis];
    let stride: usize = lengths[axis + 1..].iter().product();
    let mut line = vec![C::default(); length];
    for outer in 0..block.len() / (length * stride) {
        for inner in 0..stride {
            let start = outer * length * stride + inner;
            (0..length).for_each(|i| line[i] = block[start + i * stride]);
            plan.run(&mut line);
            (0..length).for_each(|i| block[start + i * stride] = line[i]);
        }
    }
}

/// Transforms the lines along the last axis into `target`, which may have another length.
fn last_axis(block: &[C], target: &mut [C], fft_type: FftType, plan: &Plan) {
    let length = plan.length;
    let half = length / 2 + 1;
    let (from, to) = match fft_type {
        FftType::Fft | FftType::Ifft => (length, length),
        FftType::Rfft => (length, half),
        FftType::Irfft => (half, length),
    };
    let mut line = vec![C::default(); length];
    for (source, target) in block.chunks_exact(from).zip(target.chunks_exact_mut(to)) {
        line[..from.min(length)].copy_from_slice(&source[..from.min(length)]);
        if fft_type == FftType::Irfft {
            // The other half is the conjugate; what must be real is taken as real.
            line[0].im = 0.0;
            if length.is_multiple_of(2) {
                line[length / 2].im = 0.0;
            }
            (half..length).for_each(|k| line[k] = source[length - k].conj());
        }
        plan.run(&mut line);
        target.copy_from_slice(&line[..to]);
    }
}

/// A transform of one length and direction.
struct Plan {
    length: usize,
    inverse: bool,
    /// e^(∓2πik/n) for the power of two that is run.
    roots: Vec<C>,
    bluestein: Option<Bluestein>,
}

struct Bluestein {
    /// e^(∓πik²/n).
    chirp: Vec<C>,
    /// The transformed conjugate chirp, in a power of two at least 2n - 1 long.
    kernel: Vec<C>,
}

impl Plan {
    fn new(length: usize, inverse: bool) -> Plan {
        let sign = if inverse { 1.0 } else { -1.0 };
        if length.is_power_of_two() || length == 0 {
            return Plan { length, inverse, roots: roots(length, sign), bluestein: None };
        }
        let size = (2 * length - 1).next_power_of_two();
        let chirp: Vec<C> = (0..length)
            .map(|k| {
                // k² modulo 2n keeps the angle small and exact.
                let square = (k as u128 * k as u128 % (2 * length as u128)) as f64;
                C::from_polar(1.0, sign * PI * square / length as f64)
            })
            .collect();
        let roots = roots(size, -1.0);
        let mut kernel = vec![C::default(); size];
        for (k, chirp) in chirp.iter().enumerate() {
            kernel[k] = chirp.conj();
            kernel[(size - k) % size] = chirp.conj();
        }
        power_of_two(&mut kernel, &roots);
        Plan { length, inverse, roots, bluestein: Some(Bluestein { chirp, kernel }) }
    }

    fn run(&self, line: &mut [C]) {
        match &self.bluestein {
            None => power_of_two(line, &self.roots),
            Some(bluestein) => bluestein.run(line, &self.roots),
        }
        if self.inverse {
            let scale = 1.0 / self.length as f64;
            line.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

impl Bluestein {
    fn run(&self, line: &mut [C], roots: &[C]) {
        let size = self.kernel.len();
        let mut work = vec![C::default(); size];
        for ((work, &value), chirp) in work.iter_mut().zip(&*line).zip(&self.chirp) {
            *work = value * chirp;
        }
        power_of_two(&mut work, roots);
        // The inverse transform is the conjugate of the transform of the conjugate.
        work.iter_mut()
            .zip(&self.kernel)
            .for_each(|(work, kernel)| *work = (*work * kernel).conj());
        power_of_two(&mut work, roots);
        let scale = 1.0 / size as f64;
        for ((value, work), chirp) in line.iter_mut().zip(&work).zip(&self.chirp) {
            *value = work.conj() * scale * chirp;
        }
    }
}

/// The first half of the roots of unity.
fn roots(size: usize, sign: f64) -> Vec<C> {
    (0..size / 2).map(|k| C::from_polar(1.0, sign * 2.0 * PI * k as f64 / size as f64)).collect()
}

fn power_of_two(line: &mut [C], roots: &[C]) {
    let size = line.len();
    if size < 2 {
        return;
    }
    let shift = usize::BITS - size.trailing_zeros();
    for i in 0..size {
        let j = i.reverse_bits() >> shift;
        if i < j {
            line.swap(i, j);
        }
    }
    let mut width = 2;
    while width <= size {
        let stride = size / width;
        for block in line.chunks_exact_mut(width) {
            let (low, high) = block.split_at_mut(width / 2);
            for (k, (low, high)) in low.iter_mut().zip(high).enumerate() {
                let turned = *high * roots[k * stride];
                (*low, *high) = (*low + turned, *low - turned);
            }
        }
        width *= 2;
    }
}
