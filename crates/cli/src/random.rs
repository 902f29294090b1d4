//! Values made up from a seed: floats in [-1, 1) or as weights begin, integers from 0 to 7, as far as the type has
//! them.

use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType, Literal};
use rxla_interpreter::elementwise::convert;

#[derive(Clone, Copy)]
enum Floats {
    Signed,
    /// As a model's weights begin: vectors in [0.5, 1.5), matrices and more in ±sqrt(3 / inputs), which is of
    /// variance 1 / inputs (LeCun).
    Weights,
}

impl Floats {
    /// Where the floats of an array lie: the least, and how far up they go.
    fn range(self, dims: &[i64]) -> (f64, f64) {
        match (self, dims) {
            (Floats::Signed, _) => (-1.0, 2.0),
            (Floats::Weights, [] | [_]) => (0.5, 1.0),
            (Floats::Weights, [inputs @ .., _]) => {
                let inputs: f64 = inputs.iter().map(|&size| size.max(1) as f64).product();
                let most = (3.0 / inputs).sqrt();
                (-most, 2.0 * most)
            }
        }
    }
}

/// A stream of random numbers (SplitMix64).
pub(crate) struct Random {
    state: u64,
    floats: Floats,
}

impl Random {
    /// Floats in [-1, 1).
    pub(crate) fn signed(seed: u64) -> Random {
        Random { state: seed, floats: Floats::Signed }
    }

    /// Floats such that values neither grow from layer to layer nor are roots of negative numbers.
    pub(crate) fn weights(seed: u64) -> Random {
        Random { state: seed, floats: Floats::Weights }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// An array of a shape.
    pub(crate) fn array(&mut self, shape: &ArrayShape) -> Result<ArrayLiteral> {
        let element_type = shape.element_type;
        // Refuses sizes that memory could not hold.
        let count = ArrayLiteral::zeros(&shape.without_layout())?.len();
        let dims: Dims = shape.dims.clone();
        let real = element_type.real_part();
        if real.is_float() {
            let (least, span) = self.floats.range(&dims);
            let mut line = || -> Result<ArrayLiteral> {
                let values: Vec<f64> = (0..count)
                    .map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64 * span + least)
                    .collect();
                convert(ArrayLiteral::from_values(dims.iter().copied(), &values), real)
            };
            if !element_type.is_complex() {
                return line();
            }
            let (re, im) = (line()?, line()?);
            return rxla_interpreter::elementwise::binary(rxla_hlo::BinaryKind::Complex, re, im);
        }
        let limit = match element_type {
            ElementType::Pred | ElementType::U1 | ElementType::S1 => 2,
            ElementType::S2 => 2,
            ElementType::U2 => 4,
            _ => 8,
        };
        let values: Vec<i64> = (0..count).map(|_| (self.next() % limit) as i64).collect();
        convert(ArrayLiteral::from_values(dims, &values), element_type)
    }

    /// A value whose real numbers differ from another's by some of their last bits.
    pub(crate) fn nearby(&mut self, value: &Literal) -> Result<Literal> {
        let array = match value {
            Literal::Array(array) => array,
            Literal::Tuple(elements) => {
                let elements: Result<Vec<Literal>> =
                    elements.iter().map(|element| self.nearby(element)).collect();
                return Ok(Literal::Tuple(elements?));
            }
            Literal::Token => return Ok(Literal::Token),
        };
        let element_type = array.element_type();
        // What sums of some hundred numbers lose; of short types that is less than the last bit.
        let part = match element_type {
            ElementType::F64 => 1e-15,
            ElementType::F32 => 1e-6,
            ElementType::F16 => 1e-3,
            ElementType::Bf16 => 8e-3,
            _ => return Ok(value.clone()),
        };
        let values: Option<Vec<f64>> = (0..array.len())
            .map(|index| {
                let sign = if self.next().is_multiple_of(2) { part } else { -part };
                Some(array.float(index)? * (1.0 + sign))
            })
            .collect();
        let Some(values) = values else { return Ok(value.clone()) };
        let dims = array.shape().dims.iter().copied();
        let made = convert(ArrayLiteral::from_values(dims, &values), element_type)?;
        Ok(Literal::Array(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearby_values_differ_in_the_last_bits() {
        let values = [1.0f32, -3.0, 0.0, 1e-30];
        let given = Literal::Array(ArrayLiteral::from_values([4], &values));
        let near = Random::signed(1).nearby(&given).expect("made");
        let near = near.as_array().expect("an array");
        for (index, value) in values.iter().enumerate() {
            let found = near.float(index).expect("a number");
            let part = (found / f64::from(*value) - 1.0).abs();
            assert!(found == 0.0 || (1e-7..1e-5).contains(&part), "{value} {found}");
        }
        let integers = Literal::Array(ArrayLiteral::from_values([2], &[1i32, 2]));
        assert_eq!(Random::signed(1).nearby(&integers).expect("made"), integers);
    }
}
