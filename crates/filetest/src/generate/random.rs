//! Numbers made up from a seed, the same on every machine.

use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};

/// A stream of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from `low` up to, but not, `high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low < high, "an empty range");
        low + (self.bits() % high.abs_diff(low)) as i64
    }

    /// An index below `len`.
    pub fn below(&mut self, len: usize) -> usize {
        self.between(0, len as i64) as usize
    }

    /// Whether something happens that does so once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.bits().is_multiple_of(n)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn permutation(&mut self, len: usize) -> Vec<i64> {
        let mut order: Vec<i64> = (0..len as i64).collect();
        for last in (1..len).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// A value of a shape: small numbers for the most part, with the edges of the type between.
    pub fn value(&mut self, shape: &Shape) -> Result<Literal> {
        match shape {
            Shape::Array(array) => Ok(Literal::Array(self.array(array)?)),
            Shape::Buffer(array) => Ok(Literal::Array(self.array(array)?)),
            Shape::Tuple(elements) => {
                Ok(Literal::Tuple(elements.iter().map(|e| self.value(e)).collect::<Result<_>>()?))
            }
            Shape::Token => Ok(Literal::Token),
            Shape::Opaque => Literal::zeros(shape),
        }
    }

    fn array(&mut self, shape: &ArrayShape) -> Result<ArrayLiteral> {
        let count = ArrayLiteral::zeros(&shape.without_layout())?.len();
        let dims = shape.dims.iter().copied();
        let element_type = shape.element_type;
        if element_type.is_complex() {
            let mut part = || -> Vec<f64> { (0..count).map(|_| self.float()).collect() };
            let (re, im) = (part(), part());
            let values: Vec<_> = re
                .into_iter()
                .zip(im)
                .map(|(re, im)| rxla_hlo::native::C128::new(re, im))
                .collect();
            return ArrayLiteral::from_values(dims, &values).convert(element_type);
        }
        if element_type.is_float() {
            let values: Vec<f64> = (0..count).map(|_| self.float()).collect();
            return ArrayLiteral::from_values(dims, &values).convert(element_type);
        }
        let values: Vec<i64> = (0..count).map(|_| self.integer(element_type)).collect();
        ArrayLiteral::from_values(dims, &values).convert(element_type)
    }

    fn float(&mut self) -> f64 {
        match self.bits() % 40 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3..=5 => -0.0,
            6..=8 => 0.0,
            9..=11 => 1.0,
            12..=25 => self.between(-8, 9) as f64,
            _ => (self.bits() >> 11) as f64 / (1u64 << 51) as f64 - 2.0,
        }
    }

    fn integer(&mut self, element_type: ElementType) -> i64 {
        if element_type == ElementType::Pred {
            return (self.bits() & 1) as i64;
        }
        match self.bits() % 20 {
            0 => i64::MAX,
            1 => i64::MIN,
            2 => -1,
            3 => 0,
            _ => {
                let low = if element_type.is_signed() { -8 } else { 0 };
                self.between(low, 9)
            }
        }
    }
}
