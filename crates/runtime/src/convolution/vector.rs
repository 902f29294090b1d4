//! Vectors of each instruction set, so that code for all of them is written once.

/// Lanes of the widest vector.
pub(super) const MOST_LANES: usize = 16;

/// Some f32, in a register. Whoever makes the first one of a type sees to it that the processor has such.
pub(super) trait Vector: Copy {
    const LANES: usize;

    /// # Safety
    ///
    /// The processor has such vectors.
    unsafe fn zero() -> Self;

    /// # Safety
    ///
    /// A vector can be read there, and the processor has such.
    unsafe fn load(from: *const f32) -> Self;

    /// # Safety
    ///
    /// A vector can be written there.
    unsafe fn store(self, into: *mut f32);

    /// # Safety
    ///
    /// The processor has such vectors.
    unsafe fn splat(value: f32) -> Self;

    /// Which lane each lane is taken from.
    type Order: Copy;

    /// In lanes that are groups of `group`, which divides their number: that one of the own group.
    ///
    /// # Safety
    ///
    /// The processor has such vectors.
    unsafe fn order(group: usize, which: usize) -> Self::Order;

    fn ordered(self, order: Self::Order) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn half(self) -> Self;
    /// This plus `x` times `y`, rounded once where the processor can.
    fn add_product(self, x: Self, y: Self) -> Self;

    /// As [`Vector::load`], for the first `count` lanes; the others are zero.
    ///
    /// # Safety
    ///
    /// So many values, fewer than lanes, can be read there, and the processor has such vectors.
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut room = [0.0; MOST_LANES];
        // SAFETY: the caller's promise; there is room for every vector.
        unsafe {
            room.as_mut_ptr().copy_from_nonoverlapping(from, count);
            Self::load(room.as_ptr())
        }
    }

    /// As [`Vector::store`], of the first `count` lanes.
    ///
    /// # Safety
    ///
    /// So many values, fewer than lanes, can be written there.
    #[inline(always)]
    unsafe fn store_first(self, into: *mut f32, count: usize) {
        let mut room = [0.0; MOST_LANES];
        // SAFETY: the caller's promise; there is room for every vector.
        unsafe {
            self.store(room.as_mut_ptr());
            into.copy_from_nonoverlapping(room.as_ptr(), count);
        }
    }
}

use crate::gemm::Compute;

/// What every processor has.
pub(super) type Plain = [f32; 4];

/// The order of [`Vector::order`], as numbers.
#[inline(always)]
fn order<const LANES: usize>(group: usize, which: usize) -> [i32; LANES] {
    std::array::from_fn(|lane| (lane / group * group + which) as i32)
}

impl Vector for Plain {
    const LANES: usize = 4;
    type Order = [i32; 4];

    #[inline(always)]
    unsafe fn order(group: usize, which: usize) -> [i32; 4] {
        order(group, which)
    }

    #[inline(always)]
    fn ordered(self, order: [i32; 4]) -> Plain {
        order.map(|lane| self[lane as usize])
    }

    #[inline(always)]
    unsafe fn zero() -> Plain {
        [0.0; 4]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Plain {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<Plain>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, into: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { into.cast::<Plain>().write(self) };
    }

    #[inline(always)]
    unsafe fn splat(value: f32) -> Plain {
        [value; 4]
    }

    #[inline(always)]
    fn add_product(self, x: Plain, y: Plain) -> Plain {
        std::array::from_fn(|i| x[i].multiply_add(y[i], self[i]))
    }

    #[inline(always)]
    fn add(self, other: Plain) -> Plain {
        std::array::from_fn(|i| self[i] + other[i])
    }

    #[inline(always)]
    fn sub(self, other: Plain) -> Plain {
        std::array::from_fn(|i| self[i] - other[i])
    }

    #[inline(always)]
    fn half(self) -> Plain {
        self.map(|x| 0.5 * x)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Vector, order};

    macro_rules! vector {
        ($vector:ty, $lanes:literal, $order:ty, $load_order:path, $ordered:expr, $zero:path, $load:path, $store:path, $splat:path, $add:path, $sub:path, $mul:path, $fma:path
         $(, $load_first:path, $store_first:path)?) => {
            impl Vector for $vector {
                const LANES: usize = $lanes;
                type Order = $order;

                #[inline(always)]
                unsafe fn order(group: usize, which: usize) -> $order {
                    let lanes: [i32; $lanes] = order(group, which);
                    // SAFETY: the caller's promise; there are as many numbers as lanes.
                    unsafe { $load_order(lanes.as_ptr().cast()) }
                }

                #[inline(always)]
                fn ordered(self, order: $order) -> $vector {
                    // SAFETY: where there is a vector, the processor has such.
                    unsafe { $ordered(self, order) }
                }

                #[inline(always)]
                unsafe fn zero() -> $vector {
                    // SAFETY: the caller's promise.
                    unsafe { $zero() }
                }

                #[inline(always)]
                unsafe fn load(from: *const f32) -> $vector {
                    // SAFETY: the caller's promise.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, into: *mut f32) {
                    // SAFETY: the caller's promise; where there is a vector, the processor has such.
                    unsafe { $store(into, self) };
                }

                #[inline(always)]
                unsafe fn splat(value: f32) -> $vector {
                    // SAFETY: the caller's promise.
                    unsafe { $splat(value) }
                }

                #[inline(always)]
                fn add_product(self, x: $vector, y: $vector) -> $vector {
                    // SAFETY: where there is a vector, the processor has such.
                    unsafe { $fma(x, y, self) }
                }

                $(
                    #[inline(always)]
                    unsafe fn load_first(from: *const f32, count: usize) -> $vector {
                        // SAFETY: the caller's promise.
                        unsafe { $load_first((1 << count) - 1, from) }
                    }

                    #[inline(always)]
                    unsafe fn store_first(self, into: *mut f32, count: usize) {
                        // SAFETY: the caller's promise.
                        unsafe { $store_first(into, (1 << count) - 1, self) }
                    }
                )?

                #[inline(always)]
                fn add(self, other: $vector) -> $vector {
                    // SAFETY: where there is a vector, the processor has such.
                    unsafe { $add(self, other) }
                }

                #[inline(always)]
                fn sub(self, other: $vector) -> $vector {
                    // SAFETY: as above.
                    unsafe { $sub(self, other) }
                }

                #[inline(always)]
                fn half(self) -> $vector {
                    // SAFETY: as above.
                    unsafe { $mul(self, $splat(0.5)) }
                }
            }
        };
    }

    vector!(
        __m512,
        16,
        __m512i,
        _mm512_loadu_si512,
        |lanes, order| _mm512_permutexvar_ps(order, lanes),
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_maskz_loadu_ps,
        _mm512_mask_storeu_ps
    );
    vector!(
        __m256,
        8,
        __m256i,
        _mm256_loadu_si256,
        _mm256_permutevar8x32_ps,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_fmadd_ps
    );
    vector!(
        __m128,
        4,
        __m128i,
        _mm_loadu_si128,
        _mm_permutevar_ps,
        _mm_setzero_ps,
        _mm_loadu_ps,
        _mm_storeu_ps,
        _mm_set1_ps,
        _mm_add_ps,
        _mm_sub_ps,
        _mm_mul_ps,
        _mm_fmadd_ps
    );
}

/// Makes `best()`, the table of functions for the vectors of this processor: each calls the body given for it, whose
/// last type is that of the vectors.
macro_rules! choose {
    ($table:ident { $(
        $name:ident: $body:ident $(::<$($generic:tt),+>)? ($($argument:ident: $type:ty),*) $(-> $result:ty)?
    ),* $(,)? }) => {
        /// The functions for the best instruction set of this processor.
        pub(super) fn best() -> &'static $table {
            $crate::convolution::vector::choose!(@set plain, BASELINE, $crate::convolution::vector::Plain, #[inline],
                $table { $($name: $body $(::<$($generic),+>)? ($($argument: $type),*) $(-> $result)?),* });
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{__m256, __m512};

                use $crate::gemm::sets::{Set, best};

                $crate::convolution::vector::choose!(@set avx512, AVX512, __m512, #[target_feature(enable = "avx512f")],
                    $table { $($name: $body $(::<$($generic),+>)? ($($argument: $type),*) $(-> $result)?),* });
                $crate::convolution::vector::choose!(@set avx2, AVX2, __m256, #[target_feature(enable = "avx2,fma")],
                    $table { $($name: $body $(::<$($generic),+>)? ($($argument: $type),*) $(-> $result)?),* });
                match best() {
                    Set::Avx512 => return &AVX512,
                    Set::Avx2 => return &AVX2,
                    Set::Baseline => {}
                }
            }
            &BASELINE
        }
    };
    (@set $module:ident, $static:ident, $vector:ty, #[$features:meta], $table:ident { $(
        $name:ident: $body:ident $(::<$($generic:tt),+>)? ($($argument:ident: $type:ty),*) $(-> $result:ty)?
    ),* }) => {
        static $static: $table = $table { $(
            $name: {
                /// # Safety
                ///
                /// That of the body, and the processor has the vectors.
                #[$features]
                unsafe fn function($($argument: $type),*) $(-> $result)? {
                    // SAFETY: the caller's promise.
                    unsafe { $body::<$($($generic,)+)? $vector>($($argument),*) }
                }
                function
            }
        ),* };
    };
}
pub(super) use choose;
