//! Random numbers: `rng`, `rng-bit-generator` and `rng-get-and-update-state`.
//!
//! `rng-bit-generator` gives the same bits as XLA for the same state. What `rng` gives is left open
//! by its definition; here it follows from the seed of the run, the device and how many numbers
//! were drawn before.

mod philox;
mod threefry;

use rxla_base::{Error, Result};
use rxla_hlo::op::{RandomAlgorithm, RandomDistribution, Rng, RngBitGenerator};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};

use crate::context::Context;
use crate::dispatch::array_shape;
use crate::matmul::to_type;
use crate::movement::to_i64s;
use crate::options::DeviceId;

/// What `rng-get-and-update-state` finds first, as in XLA's CPU backend.
const INITIAL_STATE: u128 = 0x701_2395;

/// The random state that belongs to a device.
pub(crate) struct DeviceRandom {
    key: u64,
    counter: u128,
    /// What `rng-get-and-update-state` reads and moves on.
    state: u128,
}

impl DeviceRandom {
    pub(crate) fn new(seed: u64, device: DeviceId) -> DeviceRandom {
        let device = ((device.replica as u64) << 32) + device.partition as u64;
        let state = INITIAL_STATE + (u128::from(device) << 64);
        DeviceRandom { key: seed, counter: u128::from(device) << 64, state }
    }

    fn draw(&mut self, count: usize) -> Vec<u64> {
        let (bits, counter) = philox::words64(self.key, self.counter, count);
        self.counter = counter;
        bits
    }
}

/// Numbers of a distribution between or around two scalars.
pub(crate) fn rng(
    cx: &Context<'_>,
    op: &Rng,
    operands: &[ArrayLiteral],
    shape: &ArrayShape,
) -> Result<ArrayLiteral> {
    // StableHLO adds the shape as a third.
    let [a, b, ..] = operands else {
        return Err(Error::invalid_argument("`rng` needs two operands"));
    };
    let element_type = shape.element_type;
    let count = ArrayLiteral::zeros(&shape.without_layout())?.len();
    let mut random = cx.random.borrow_mut();
    if element_type.is_float() {
        let a = to_type(a.clone(), ElementType::F64)?.values::<f64>()[0];
        let b = to_type(b.clone(), ElementType::F64)?.values::<f64>()[0];
        let values: Vec<f64> = match op.distribution {
            RandomDistribution::Uniform => {
                random.draw(count).into_iter().map(|bits| a + unit(bits) * (b - a)).collect()
            }
            RandomDistribution::Normal => normal(&random.draw(count.next_multiple_of(2)))
                .take(count)
                .map(|normal| a + normal * b)
                .collect(),
        };
        // Rounding may reach the bound that is not to be reached.
        let values = ArrayLiteral::from_values(shape.dims.iter().copied(), &values);
        return to_type(values, element_type);
    }
    if op.distribution == RandomDistribution::Normal || element_type.is_complex() {
        return Err(Error::invalid_argument(format!(
            "`rng` with `{}` does not give `{element_type}`",
            op.distribution
        )));
    }
    let (low, high) = (to_i64s(a)?[0], to_i64s(b)?[0]);
    let range = (high as u64).wrapping_sub(low as u64);
    let values: Vec<i64> = random
        .draw(count)
        .into_iter()
        .map(|bits| match range {
            _ if element_type == ElementType::Pred => (bits >> 63) as i64,
            0 => low,
            range => low.wrapping_add((bits % range) as i64),
        })
        .collect();
    to_type(ArrayLiteral::from_values(shape.dims.iter().copied(), &values), element_type)
}

/// A number in [0, 1) from the upper 53 bits.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Standard normal numbers from pairs of uniform ones, by Box and Muller.
fn normal(bits: &[u64]) -> impl Iterator<Item = f64> {
    bits.chunks_exact(2).flat_map(|pair| {
        // In (0, 1], where the logarithm is finite.
        let radius = (-2.0 * (1.0 - unit(pair[0])).ln()).sqrt();
        let angle = std::f64::consts::TAU * unit(pair[1]);
        [radius * angle.cos(), radius * angle.sin()]
    })
}

/// Random bits from a state, and the state after them.
pub(crate) fn rng_bit_generator(
    op: &RngBitGenerator,
    state: &ArrayLiteral,
    shape: &Shape,
) -> Result<Literal> {
    let values_shape = match shape {
        Shape::Tuple(parts) if parts.len() == 2 => array_shape(&parts[1])?,
        single => array_shape(single)?,
    };
    let mut words: Vec<u64> = match state.element_type() {
        ElementType::U64 => state.values::<u64>().to_vec(),
        ElementType::U32 => state
            .values::<u32>()
            .chunks(2)
            .map(|pair| u64::from(pair[0]) | pair.get(1).map_or(0, |&high| u64::from(high) << 32))
            .collect(),
        other => {
            return Err(Error::unimplemented(format!("`rng-bit-generator` with `{other}` state")));
        }
    };
    if words.len() < 2 {
        return Err(Error::invalid_argument(format!(
            "`rng-bit-generator` with a state of {} words of 64 bits where 2 are due",
            words.len()
        )));
    }
    let dims = &values_shape.dims;
    // Refuses sizes that memory could not hold.
    let mut values = ArrayLiteral::zeros(&values_shape.without_layout())?;
    let count = values.len();
    let width = values_shape.element_type.bit_width();
    let (bits32, bits64) = match (op.algorithm, width) {
        (_, 65..) => {
            return Err(Error::unimplemented(format!(
                "`rng-bit-generator` of `{}`",
                values_shape.element_type
            )));
        }
        (RandomAlgorithm::ThreeFry, ..=32) => {
            let (bits, counter) = threefry::words32(words[0], words[1], dims, count);
            words[1] = counter;
            (bits, Vec::new())
        }
        (RandomAlgorithm::ThreeFry, _) => {
            let (bits, counter) = threefry::words64(words[0], words[1], count);
            words[1] = counter;
            (Vec::new(), bits)
        }
        // XLA's CPU and GPU take Philox where the choice is left to them.
        (RandomAlgorithm::Philox | RandomAlgorithm::Default, _) => {
            let (low, high) =
                if words.len() >= 3 { (words[1], words[2]) } else { (words[1], words[0]) };
            let counter = u128::from(low) | u128::from(high) << 64;
            let (bits32, bits64, counter) = if width <= 32 {
                let (bits, counter) = philox::words32(words[0], counter, count);
                (bits, Vec::new(), counter)
            } else {
                let (bits, counter) = philox::words64(words[0], counter, count);
                (Vec::new(), bits, counter)
            };
            words[1] = counter as u64;
            if words.len() >= 3 {
                words[2] = (counter >> 64) as u64;
            }
            (bits32, bits64)
        }
    };
    let bytes = values.bytes_mut();
    match width {
        64 => bytes.copy_from_slice(bytemuck::cast_slice(&bits64)),
        32 => bytes.copy_from_slice(bytemuck::cast_slice(&bits32)),
        16 => {
            for (bytes, bits) in bytes.chunks_exact_mut(2).zip(bits32) {
                bytes.copy_from_slice(&(bits as u16).to_ne_bytes());
            }
        }
        width => {
            let is_signed = values_shape.element_type.is_signed();
            for (byte, bits) in bytes.iter_mut().zip(bits32) {
                let unused = 8 - width as u32;
                let bits = (bits as u8) << unused;
                *byte = if is_signed { (bits as i8 >> unused) as u8 } else { bits >> unused };
            }
        }
    }
    let mut new_state = ArrayLiteral::zeros(state.shape())?;
    let size = new_state.bytes().len();
    new_state.bytes_mut().copy_from_slice(&bytemuck::cast_slice(&words)[..size]);
    Ok(match shape {
        Shape::Tuple(_) => Literal::Tuple(vec![new_state.into(), values.into()]),
        _ => values.into(),
    })
}

/// The device's 128 bits of state, lower half first, which then move on by `delta`.
pub(crate) fn rng_get_and_update_state(
    cx: &Context<'_>,
    delta: i64,
    shape: &ArrayShape,
) -> Result<ArrayLiteral> {
    let mut random = cx.random.borrow_mut();
    let state = random.state;
    random.state = state.wrapping_add(delta as u128);
    ArrayLiteral::from_values([2], &[state as u64, (state >> 64) as u64])
        .with_shape(&shape.without_layout())
}
