//! Where the randomness comes from: the same for a seed everywhere and always.

use crate::evaluate::float::from_f64;
use crate::types::Scalar;

pub(super) struct Source(u64);

impl Source {
    pub(super) fn new(seed: u64) -> Source {
        Source(seed)
    }

    /// SplitMix64.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Less than `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// A value of a type: borders, small numbers and anything.
    pub(super) fn value(&mut self, scalar: Scalar) -> u64 {
        let mask = crate::evaluate::scalar::mask(scalar);
        if !scalar.is_float() {
            let sign = 1u64 << (scalar.bits() - 1);
            return match self.below(4) {
                0 => self.pick(&[0, 1, mask, sign, sign.wrapping_sub(1), 2, 31, 64]) & mask,
                1 => self.bits() & mask,
                _ => (self.below(40) as u64).wrapping_sub(20) & mask,
            };
        }
        let special =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5, 1e-45];
        let value = match self.below(8) {
            0 => self.pick(&special),
            1 => self.below(1 << 20) as f64 * 1e6 - 5e11,
            2 => self.below(1 << 20) as f64 * 1e-12,
            3 => (self.below(64) as f64) - 32.0,
            _ => self.below(1 << 30) as f64 / (1 << 26) as f64 - 8.0,
        };
        from_f64(scalar, value)
    }
}
