//! Random numbers.

use super::check::{Result, agree, array, ensure, error, needed, scalar};
use crate::op::{RandomAlgorithm, RandomDistribution, Rng, RngBitGenerator};
use crate::{ElementType, Shape};

pub(super) fn rng(op: &Rng, operands: &[&Shape], declared: Option<&Shape>) -> Result<Shape> {
    let result = array(needed(declared)?, "the result")?;
    ensure!(
        operands.len() >= 2,
        "two operands say the distribution, but there are {}",
        operands.len()
    );
    // Programs made from old StableHLO have the sizes as a third one, which says nothing new.
    for operand in &operands[..2] {
        let operand = scalar(operand, "each operand")?;
        ensure!(
            operand.element_type == result.element_type,
            "(C1) an operand is `{operand}`, but the result is `{result}`"
        );
    }
    let element_type = result.element_type;
    let fits = match op.distribution {
        RandomDistribution::Uniform => !element_type.is_complex(),
        RandomDistribution::Normal => element_type.is_float(),
    };
    ensure!(fits, "(C2) `{}` does not give `{element_type}`", op.distribution);
    Ok(Shape::Array(result.clone()))
}

pub(super) fn rng_bit_generator(
    op: &RngBitGenerator,
    state: &Shape,
    declared: Option<&Shape>,
) -> Result<Shape> {
    let result = needed(declared)?;
    let state_array = array(state, "the state")?;
    let words = match op.algorithm {
        RandomAlgorithm::Default => None,
        RandomAlgorithm::ThreeFry | RandomAlgorithm::Philox => Some(2),
    };
    // The spec counts 64-bit words and XLA leaves those beyond alone; `u32` states have twice as
    // many.
    if let (Some(words), [size]) = (words, &state_array.dims[..]) {
        let bits = size.saturating_mul(state_array.element_type.bit_width() as i64);
        ensure!(
            bits >= words * 64,
            "(C2) `{}` does not take a state of `{state_array}`",
            op.algorithm
        );
    }
    let values = match result {
        Shape::Tuple(parts) => {
            let [new_state, values] = &parts[..] else {
                return Err(error(format!(
                    "the result has to be a state and values, but is `{result}`"
                )));
            };
            ensure!(
                agree(new_state, state),
                "(C1) the state is `{state}`, but `{new_state}` in the result"
            );
            values
        }
        // Old programs give the values alone.
        Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => result,
    };
    let values = array(values, "what is generated")?;
    ensure!(
        !values.element_type.is_complex() && values.element_type != ElementType::Pred,
        "bits have to be integers or floats, but are `{values}`"
    );
    Ok(result.clone())
}
