//! Tiles of places and outputs, in registers: each place reads its elements where an address per tap says.
//!
//! Each value is one chain of fused multiply-adds over taps and features in order, whatever the tile.

use crate::convolution::vector::{MOST_LANES, Vector};
use crate::gemm::sets;

/// What a tile is computed from and where it goes.
pub(super) struct Tile {
    pub(super) taps: usize,
    /// Features at each tap.
    pub(super) features: usize,
    /// By tap and row, where the elements of the operand's first feature are.
    pub(super) elements: *const *const f32,
    /// How far the tile's first feature is from it.
    pub(super) first: usize,
    /// By tap and feature, as many values as the tile has lanes.
    pub(super) window: *const f32,
    /// By row, where its first output is.
    pub(super) result: *const *mut f32,
    /// How far the tile's first output is from it.
    pub(super) output: usize,
    /// Outputs; lanes past them are not written.
    pub(super) outputs: usize,
    /// Whether to add to what is there.
    pub(super) add: bool,
}

/// # Safety
///
/// The addresses may be accessed as [`Tile`] says, the result by nobody else, and the processor has the vectors for
/// which the kernel was chosen.
type Kernel = unsafe fn(&Tile);

/// The kernels of one width of vectors.
pub(super) struct Kernels {
    /// Lanes of a tile.
    pub(super) lanes: usize,
    pub(super) rows: usize,
    table: &'static [Kernel],
}

impl Kernels {
    /// Computes a tile of so many rows, at most as many as the kernels have.
    ///
    /// # Safety
    ///
    /// The addresses may be accessed as [`Tile`] says, the result by nobody else.
    pub(super) unsafe fn run(&self, rows: usize, tile: &Tile) {
        // SAFETY: the caller's promise; the kernels are those of this processor.
        unsafe { self.table[rows - 1](tile) };
    }
}

macro_rules! kernels {
    ($name:ident, $vector:ty, $vectors:literal, $lanes:literal, $rows:literal: $($row:literal)*, $(#[$features:meta])?) => {
        static $name: Kernels = {
            /// # Safety
            ///
            /// See [`Kernel`].
            $(#[$features])?
            unsafe fn kernel<const ROWS: usize>(tile: &Tile) {
                // SAFETY: the caller's promise.
                unsafe { body::<$vector, ROWS, $vectors>(tile) };
            }
            Kernels { lanes: $lanes, rows: $rows, table: &[$(kernel::<$row>),*] }
        };
    };
}

kernels!(PLAIN, crate::convolution::vector::Plain, 1, 4, 4: 1 2 3 4,);
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128, __m256, __m512};

    use super::*;

    kernels!(AVX2_4, __m128, 1, 4, 12: 1 2 3 4 5 6 7 8 9 10 11 12, #[target_feature(enable = "avx2,fma")]);
    kernels!(AVX2_8, __m256, 1, 8, 12: 1 2 3 4 5 6 7 8 9 10 11 12, #[target_feature(enable = "avx2,fma")]);
    kernels!(AVX2_16, __m256, 2, 16, 6: 1 2 3 4 5 6, #[target_feature(enable = "avx2,fma")]);
    kernels!(AVX512_16, __m512, 1, 16, 12: 1 2 3 4 5 6 7 8 9 10 11 12, #[target_feature(enable = "avx512f")]);
    kernels!(AVX512_32, __m512, 2, 32, 12: 1 2 3 4 5 6 7 8 9 10 11 12, #[target_feature(enable = "avx512f")]);

    pub(super) static AVX2: [&Kernels; 3] = [&AVX2_4, &AVX2_8, &AVX2_16];
    pub(super) static AVX512: [&Kernels; 4] = [&AVX2_4, &AVX2_8, &AVX512_16, &AVX512_32];
}

/// The kernels for so many outputs: the narrowest that hold them, or the widest there are.
pub(super) fn for_outputs(outputs: usize) -> &'static Kernels {
    static BASELINE: [&Kernels; 1] = [&PLAIN];
    let all: &[&Kernels] = match sets::best() {
        #[cfg(target_arch = "x86_64")]
        sets::Set::Avx512 => &x86::AVX512,
        #[cfg(target_arch = "x86_64")]
        sets::Set::Avx2 => &x86::AVX2,
        _ => &BASELINE,
    };
    all.iter().find(|kernels| kernels.lanes >= outputs).unwrap_or(&all[all.len() - 1])
}

/// # Safety
///
/// See [`Kernel`].
#[inline(always)]
unsafe fn body<V: Vector, const ROWS: usize, const VECTORS: usize>(tile: &Tile) {
    // SAFETY: the caller's promise.
    let mut sums = [[unsafe { V::zero() }; VECTORS]; ROWS];
    let mut window = tile.window;
    let mut elements = tile.elements.cast::<[*const f32; ROWS]>();
    for _ in 0..tile.taps {
        // SAFETY: as above.
        let rows = unsafe { *elements };
        for feature in tile.first..tile.first + tile.features {
            // SAFETY: as above.
            let mut values = [unsafe { V::zero() }; VECTORS];
            for j in 0..VECTORS {
                // SAFETY: as above.
                values[j] = unsafe { V::load(window.add(j * V::LANES)) };
            }
            for i in 0..ROWS {
                // SAFETY: as above.
                let x = unsafe { V::splat(*rows[i].add(feature)) };
                for j in 0..VECTORS {
                    sums[i][j] = sums[i][j].add_product(x, values[j]);
                }
            }
            window = window.wrapping_add(VECTORS * V::LANES);
        }
        elements = elements.wrapping_add(1);
    }
    if tile.outputs == VECTORS * V::LANES {
        for i in 0..ROWS {
            // SAFETY: as above.
            let row = unsafe { (*tile.result.add(i)).add(tile.output) };
            for j in 0..VECTORS {
                // SAFETY: as above.
                unsafe {
                    let place = row.add(j * V::LANES);
                    let sum = if tile.add { V::load(place).add(sums[i][j]) } else { sums[i][j] };
                    sum.store(place);
                }
            }
        }
        return;
    }
    // By way of memory: sums that more than one loop looks at are not kept in registers.
    let mut room = [[[0.0; MOST_LANES]; VECTORS]; ROWS];
    for i in 0..ROWS {
        for j in 0..VECTORS {
            // SAFETY: there is room for the longest vector in each place.
            unsafe { sums[i][j].store(room[i].as_mut_ptr().cast::<f32>().add(j * V::LANES)) };
        }
    }
    for (i, sums) in room.iter().enumerate() {
        // SAFETY: as above.
        let row = unsafe {
            std::slice::from_raw_parts_mut((*tile.result.add(i)).add(tile.output), tile.outputs)
        };
        for (place, sum) in row.iter_mut().zip(sums.as_flattened()) {
            *place = if tile.add { *place + sum } else { *sum };
        }
    }
}
