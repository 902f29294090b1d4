//! Vectors of each instruction set, of f32 and f64, so that butterflies are written once.

/// Some numbers, in a register or two. Whoever loads the first one of a type sees to it that the processor has such.
pub(super) trait Vector: Copy {
    type Part: Copy;
    const LANES: usize;

    /// # Safety
    ///
    /// A vector can be read there, and the processor has such.
    unsafe fn load(from: *const Self::Part) -> Self;

    /// # Safety
    ///
    /// A vector can be written there.
    unsafe fn store(self, into: *mut Self::Part);

    /// # Safety
    ///
    /// The processor has such vectors.
    unsafe fn splat(value: Self::Part) -> Self;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// `self + a b`.
    fn plus(self, a: Self, b: Self) -> Self;
    /// `self - a b`.
    fn minus(self, a: Self, b: Self) -> Self;
}

macro_rules! plain {
    ($($part:ty)*) => {$(
        /// What every processor has.
        impl Vector for [$part; 8] {
            type Part = $part;
            const LANES: usize = 8;

            #[inline(always)]
            unsafe fn load(from: *const $part) -> Self {
                // SAFETY: the caller's promise.
                unsafe { from.cast::<Self>().read() }
            }

            #[inline(always)]
            unsafe fn store(self, into: *mut $part) {
                // SAFETY: the caller's promise.
                unsafe { into.cast::<Self>().write(self) };
            }

            #[inline(always)]
            unsafe fn splat(value: $part) -> Self {
                [value; 8]
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] + other[i])
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] - other[i])
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] * other[i])
            }

            #[inline(always)]
            fn plus(self, a: Self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] + a[i] * b[i])
            }

            #[inline(always)]
            fn minus(self, a: Self, b: Self) -> Self {
                std::array::from_fn(|i| self[i] - a[i] * b[i])
            }
        }
    )*};
}

plain!(f32 f64);

#[cfg(target_arch = "x86_64")]
pub(super) use x86::Pair;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::Vector;

    macro_rules! vector {
        ($vector:ty, $part:ty, $lanes:literal, $load:path, $store:path, $splat:path, $add:path, $sub:path, $mul:path,
            $plus:path, $minus:path) => {
            impl Vector for $vector {
                type Part = $part;
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn load(from: *const $part) -> $vector {
                    // SAFETY: the caller's promise.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, into: *mut $part) {
                    // SAFETY: the caller's promise; where there is a vector, the processor has such.
                    unsafe { $store(into, self) };
                }

                #[inline(always)]
                unsafe fn splat(value: $part) -> $vector {
                    // SAFETY: the caller's promise.
                    unsafe { $splat(value) }
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
                fn mul(self, other: $vector) -> $vector {
                    // SAFETY: as above.
                    unsafe { $mul(self, other) }
                }

                #[inline(always)]
                fn plus(self, a: $vector, b: $vector) -> $vector {
                    // SAFETY: as above.
                    unsafe { $plus(a, b, self) }
                }

                #[inline(always)]
                fn minus(self, a: $vector, b: $vector) -> $vector {
                    // SAFETY: as above.
                    unsafe { $minus(a, b, self) }
                }
            }
        };
    }

    vector!(
        __m512,
        f32,
        16,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_set1_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_fmadd_ps,
        _mm512_fnmadd_ps
    );
    vector!(
        __m512d,
        f64,
        8,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_set1_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_fmadd_pd,
        _mm512_fnmadd_pd
    );
    vector!(
        __m256,
        f32,
        8,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_set1_ps,
        _mm256_add_ps,
        _mm256_sub_ps,
        _mm256_mul_ps,
        _mm256_fmadd_ps,
        _mm256_fnmadd_ps
    );
    vector!(
        __m256d,
        f64,
        4,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_set1_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_fmadd_pd,
        _mm256_fnmadd_pd
    );

    /// Two registers where one is too short.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Pair<V>(V, V);

    impl<V: Vector> Vector for Pair<V> {
        type Part = V::Part;
        const LANES: usize = 2 * V::LANES;

        #[inline(always)]
        unsafe fn load(from: *const V::Part) -> Self {
            // SAFETY: the caller's promise.
            unsafe { Pair(V::load(from), V::load(from.add(V::LANES))) }
        }

        #[inline(always)]
        unsafe fn store(self, into: *mut V::Part) {
            // SAFETY: the caller's promise.
            unsafe {
                self.0.store(into);
                self.1.store(into.add(V::LANES));
            }
        }

        #[inline(always)]
        unsafe fn splat(value: V::Part) -> Self {
            // SAFETY: the caller's promise.
            unsafe { Pair(V::splat(value), V::splat(value)) }
        }

        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Pair(self.0.add(other.0), self.1.add(other.1))
        }

        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Pair(self.0.sub(other.0), self.1.sub(other.1))
        }

        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Pair(self.0.mul(other.0), self.1.mul(other.1))
        }

        #[inline(always)]
        fn plus(self, a: Self, b: Self) -> Self {
            Pair(self.0.plus(a.0, b.0), self.1.plus(a.1, b.1))
        }

        #[inline(always)]
        fn minus(self, a: Self, b: Self) -> Self {
            Pair(self.0.minus(a.0, b.0), self.1.minus(a.1, b.1))
        }
    }
}
