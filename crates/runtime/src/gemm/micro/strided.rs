//! The micro-kernels for a left operand that is read where it is, with any strides.
//!
//! Sums are those of the kernels in [`super`]: one chain of fused multiply-adds over k in ascending order.

#[cfg(target_arch = "x86_64")]
use super::x86::apart;
use super::{Kernels, Tile, plain};
use crate::gemm::sets::{self, Set};

macro_rules! best {
    ($function:ident, $scalar:ty, $lanes:literal, $avx512:ident, $avx2:ident) => {
        /// The best kernels that this processor can run.
        pub(crate) fn $function() -> &'static Kernels<$scalar> {
            /// # Safety
            ///
            /// See [`super::Kernel`].
            unsafe fn baseline<const ROWS: usize, const VECTORS: usize>(tile: &Tile<$scalar>) {
                // SAFETY: the caller's promise.
                unsafe { plain::<$scalar, $lanes, ROWS, VECTORS>(tile) };
            }
            static BASELINE: Kernels<$scalar> = Kernels {
                lanes: $lanes,
                rows: 4,
        table: table!(baseline, four rows),
                blocks: false,
            };
            match sets::best() {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => &apart::$avx512,
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => &apart::$avx2,
                _ => &BASELINE,
            }
        }
    };
}

best!(for_f32, f32, 4, F32_AVX512, F32_AVX2);
best!(for_f64, f64, 2, F64_AVX512, F64_AVX2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::{Compute, micro};

    /// Every tile of a set against sums one by one.
    fn check<T: Compute + std::fmt::Debug>(
        kernels: &Kernels<T>,
        packed: &Kernels<T>,
        number: impl Fn(usize) -> T,
    ) {
        assert_eq!((kernels.lanes, kernels.rows), (packed.lanes, packed.rows));
        let k = 5;
        for vectors in 1..=2 {
            let width = vectors * kernels.lanes;
            for rows in 1..=kernels.rows {
                // Rows far from each other and steps together, and the other way round.
                for (a_row, a_step) in [(9, 1), (1, rows + 3)] {
                    for add in [false, true] {
                        let a: Vec<T> = (0..rows.max(k) * 20).map(&number).collect();
                        let b: Vec<T> = (0..k * (width + 2)).map(|i| number(3 * i + 1)).collect();
                        let mut c: Vec<T> = (0..rows * (width + 1)).map(&number).collect();
                        let before = c.clone();
                        let (from, step) = (b.as_ptr(), width as isize + 2);
                        let into = (c.as_mut_ptr(), width as isize + 1);
                        let tile = Tile::new(k, (a.as_ptr(), a_step), (from, step), into);
                        let tile = Tile { a_row, add, ..tile };
                        // SAFETY: all is as large as the tile.
                        unsafe { kernels.run(vectors, rows, &tile) };
                        for (place, &value) in c.iter().enumerate() {
                            let (i, j) = (place / (width + 1), place % (width + 1));
                            if j == width {
                                assert_eq!(value, before[place], "past the row");
                                continue;
                            }
                            let sum = (0..k).fold(T::ZERO, |sum, p| {
                                a[i * a_row + p * a_step].multiply_add(b[p * (width + 2) + j], sum)
                            });
                            let wanted = if add { before[place].add(sum) } else { sum };
                            assert_eq!(value, wanted, "{rows} rows, {vectors} vectors");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_of_every_set() {
        let small = |i: usize| (i * 7 % 11) as i16 - 5;
        sets::forced::each(|| {
            check(for_f32(), micro::for_f32(), |i| f32::from(small(i)));
            check(for_f64(), micro::for_f64(), |i| f64::from(small(i)));
        });
    }
}
