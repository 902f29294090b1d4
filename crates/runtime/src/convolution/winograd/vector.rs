//! Vectors of each instruction set, so that code for all of them is written once.

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

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn half(self) -> Self;
}

/// What every processor has.
pub(super) type Plain = [f32; 4];

impl Vector for Plain {
    const LANES: usize = 4;

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

    use super::Vector;

    macro_rules! vector {
        ($vector:ty, $lanes:literal, $zero:path, $load:path, $store:path, $splat:path, $add:path, $sub:path, $mul:path) => {
            impl Vector for $vector {
                const LANES: usize = $lanes;

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
        _mm512_setzero_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps
    );
    vector!(
        __m256,
        8,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps
    );
}

/// Makes `best()`, the table of functions for the vectors of this processor: each calls the body given for it, whose
/// last type is that of the vectors.
macro_rules! choose {
    ($table:ident { $(
        $name:ident: $body:ident::<$side:literal, $along:ty>($($argument:ident: $type:ty),*) $(-> $result:ty)?
    ),* $(,)? }) => {
        /// The functions for the best instruction set of this processor.
        pub(super) fn best() -> &'static $table {
            $crate::convolution::winograd::vector::choose!(@set plain, BASELINE, $crate::convolution::winograd::vector::Plain, #[inline],
                $table { $($name: $body::<$side, $along>($($argument: $type),*) $(-> $result)?),* });
            #[cfg(target_arch = "x86_64")]
            {
                use std::arch::x86_64::{__m256, __m512};

                use $crate::gemm::sets::{Set, best};

                $crate::convolution::winograd::vector::choose!(@set avx512, AVX512, __m512, #[target_feature(enable = "avx512f")],
                    $table { $($name: $body::<$side, $along>($($argument: $type),*) $(-> $result)?),* });
                $crate::convolution::winograd::vector::choose!(@set avx2, AVX2, __m256, #[target_feature(enable = "avx2,fma")],
                    $table { $($name: $body::<$side, $along>($($argument: $type),*) $(-> $result)?),* });
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
        $name:ident: $body:ident::<$side:literal, $along:ty>($($argument:ident: $type:ty),*) $(-> $result:ty)?
    ),* }) => {
        static $static: $table = $table { $(
            $name: {
                /// # Safety
                ///
                /// That of the body, and the processor has the vectors.
                #[$features]
                unsafe fn function($($argument: $type),*) $(-> $result)? {
                    // SAFETY: the caller's promise.
                    unsafe { $body::<$side, $along, $vector>($($argument),*) }
                }
                function
            }
        ),* };
    };
}
pub(super) use choose;
