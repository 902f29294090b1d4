//! The micro-kernels for a left operand that is read where it is, with any strides.
//!
//! Sums are those of the kernels in [`super`]: one chain of fused multiply-adds over k in ascending order.

use crate::gemm::Compute;
use crate::gemm::sets::{self, Set};

/// As [`super::Tile`], but for the left operand: the value of row `i` at step `p` is `a[i * a_row + p * a_step]`.
pub(crate) struct Strided<T> {
    pub k: usize,
    pub a: *const T,
    pub a_row: usize,
    pub a_step: usize,
    pub b: *const T,
    pub b_step: usize,
    pub c: *mut T,
    pub c_row: isize,
    pub add: bool,
}

/// # Safety
///
/// The addresses may be accessed as [`Strided`] says, `c` by nobody else, and the processor has the instruction set
/// for which the kernel was chosen.
type Kernel<T> = unsafe fn(&Strided<T>);

/// The kernels of one instruction set; see [`super::Kernels`], which have tiles of the same sizes.
pub(crate) struct Kernels<T: 'static> {
    pub lanes: usize,
    pub rows: usize,
    table: [&'static [Kernel<T>]; 2],
}

impl<T: 'static> Kernels<T> {
    /// Computes a tile of so many vectors and rows, at most as many as the kernels have.
    ///
    /// # Safety
    ///
    /// The addresses may be accessed as [`Strided`] says, `c` by nobody else.
    pub(crate) unsafe fn run(&self, vectors: usize, rows: usize, tile: &Strided<T>) {
        // SAFETY: the caller's promise; the kernels are those of this processor.
        unsafe { self.table[vectors - 1][rows - 1](tile) };
    }
}

macro_rules! best {
    ($function:ident, $scalar:ty, $lanes:literal, $avx512:ident, $avx2:ident) => {
        /// The best kernels that this processor can run.
        pub(crate) fn $function() -> &'static Kernels<$scalar> {
            /// # Safety
            ///
            /// See [`Kernel`].
            unsafe fn baseline<const ROWS: usize, const VECTORS: usize>(tile: &Strided<$scalar>) {
                // SAFETY: the caller's promise.
                unsafe { plain::<$scalar, $lanes, ROWS, VECTORS>(tile) };
            }
            static BASELINE: Kernels<$scalar> =
        Kernels { lanes: $lanes, rows: 4, table: table!(baseline, four rows) };
            match sets::best() {
                #[cfg(target_arch = "x86_64")]
                Set::Avx512 => &x86::$avx512,
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => &x86::$avx2,
                _ => &BASELINE,
            }
        }
    };
}

best!(for_f32, f32, 4, F32_AVX512, F32_AVX2);
best!(for_f64, f64, 2, F64_AVX512, F64_AVX2);

/// # Safety
///
/// See [`Kernel`].
#[inline(always)]
unsafe fn plain<T: Compute, const LANES: usize, const ROWS: usize, const VECTORS: usize>(
    tile: &Strided<T>,
) {
    let mut sums = [[[T::ZERO; LANES]; VECTORS]; ROWS];
    for p in 0..tile.k {
        // SAFETY: the tile's promise: so many values at each step.
        let row = unsafe { &*tile.b.add(p * tile.b_step).cast::<[[T; LANES]; VECTORS]>() };
        for (i, sums) in sums.iter_mut().enumerate() {
            // SAFETY: as above.
            let x = unsafe { *tile.a.add(i * tile.a_row + p * tile.a_step) };
            for (sum, &y) in sums.as_flattened_mut().iter_mut().zip(row.as_flattened()) {
                *sum = x.multiply_add(y, *sum);
            }
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        // SAFETY: as above, for `c`, which is ours alone.
        let row =
            unsafe { &mut *tile.c.offset(i as isize * tile.c_row).cast::<[[T; LANES]; VECTORS]>() };
        for (target, &sum) in row.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *target = if tile.add { target.add(sum) } else { sum };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Kernels, Strided};

    macro_rules! kernel {
        ($name:ident, $features:literal, $scalar:ty, $lanes:literal, $vector:ty,
         $zero:path, $load:path, $store:path, $splat:path, $fma:path, $add:path) => {
            /// # Safety
            ///
            /// See [`super::Kernel`].
            #[target_feature(enable = $features)]
            unsafe fn $name<const ROWS: usize, const VECTORS: usize>(tile: &Strided<$scalar>) {
                let mut sums: [[$vector; VECTORS]; ROWS] = [[$zero(); VECTORS]; ROWS];
                // Every third row has an address of its own: the two after it are reached by what an instruction
                // can add to an address, so that all fit into registers.
                let mut a: [*const $scalar; 4] =
                    std::array::from_fn(|third| tile.a.wrapping_add(3 * third * tile.a_row));
                let mut b = tile.b;
                for _ in 0..tile.k {
                    let mut row: [$vector; VECTORS] = [$zero(); VECTORS];
                    for j in 0..VECTORS {
                        // SAFETY: the tile's promise: so many values at each step.
                        row[j] = unsafe { $load(b.add(j * $lanes)) };
                    }
                    for i in 0..ROWS {
                        // SAFETY: as above.
                        let x = $splat(unsafe { *a[i / 3].add(i % 3 * tile.a_row) });
                        for j in 0..VECTORS {
                            sums[i][j] = $fma(x, row[j], sums[i][j]);
                        }
                    }
                    a = a.map(|a| a.wrapping_add(tile.a_step));
                    b = b.wrapping_add(tile.b_step);
                }
                for i in 0..ROWS {
                    for j in 0..VECTORS {
                        // SAFETY: as above, for `c`, which is ours alone.
                        unsafe {
                            let c = tile.c.offset(i as isize * tile.c_row).add(j * $lanes);
                            let sum =
                                if tile.add { $add($load(c), sums[i][j]) } else { sums[i][j] };
                            $store(c, sum);
                        }
                    }
                }
            }
        };
    }

    floats!(kernel);

    pub(super) static F32_AVX512: Kernels<f32> =
        Kernels { lanes: 16, rows: 12, table: table!(f32_avx512, twelve rows) };
    pub(super) static F64_AVX512: Kernels<f64> =
        Kernels { lanes: 8, rows: 12, table: table!(f64_avx512, twelve rows) };
    pub(super) static F32_AVX2: Kernels<f32> =
        Kernels { lanes: 8, rows: 6, table: table!(f32_avx2, six rows) };
    pub(super) static F64_AVX2: Kernels<f64> =
        Kernels { lanes: 4, rows: 6, table: table!(f64_avx2, six rows) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::micro;

    /// Every tile of a set against sums one by one.
    fn check<T: Compute + std::fmt::Debug>(
        kernels: &Kernels<T>,
        packed: &micro::Kernels<T>,
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
                        let tile = Strided {
                            k,
                            a: a.as_ptr(),
                            a_row,
                            a_step,
                            b: b.as_ptr(),
                            b_step: width + 2,
                            c: c.as_mut_ptr(),
                            c_row: width as isize + 1,
                            add,
                        };
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
