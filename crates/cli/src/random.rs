//! Values made up from a seed: floats in [-1, 1), integers from 0 to 7, as far as the type has
//! them.

use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType};
use rxla_interpreter::elementwise::convert;

/// A stream of random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
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
            let mut line = || -> Result<ArrayLiteral> {
                let values: Vec<f64> = (0..count)
                    .map(|_| (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
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
}
