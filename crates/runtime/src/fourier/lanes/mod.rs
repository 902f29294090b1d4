//! Transforms of as many lines at once as there are lanes in a vector, in place: element `i` of the lines is a vector
//! of real parts and one of imaginary parts, one after the other. What a line becomes depends on nothing but
//! the line, in whichever lane it is.

mod butterfly;
mod transform;
mod vector;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use num_complex::Complex;
use rxla_fourier::{FftDirection, Real, Steps};

use crate::element::Load;
use crate::gemm::Compute;
use crate::gemm::sets::{self, Set};
use crate::gemm::transpose::{self, Turn};
use transform::{join, put_together, split, take_apart, transform};
#[cfg(target_arch = "x86_64")]
use vector::Pair;
use vector::Vector;

/// Elements of lines that are still transformed so; longer ones leave the second cache.
const LONGEST: usize = 1 << 12;

/// What the processor has for lines side by side.
pub(super) struct Kernels<T> {
    pub lanes: usize,
    /// Turns squares of as many numbers as there are lanes.
    pub turn: Turn<T, T>,
    /// Transforms lines, whose elements are then where the steps say, times a scale if there is one.
    transform: unsafe fn(&Steps<T>, *mut T, FftDirection, Option<T>),
    /// Makes of lines transformed as half as many complex numbers the first half, and one more, of those of real
    /// ones, where the steps left them and at the end.
    pub take_apart: unsafe fn(&Steps<T>, &[Complex<T>], *mut T),
    /// The other way, of elements in order.
    pub put_together: unsafe fn(&[Complex<T>], *mut T),
    /// Parts of numbers that lie in turns: `lanes` numbers, to and from a vector of each part.
    pub split: unsafe fn(*const T, *mut T),
    pub join: unsafe fn(*const T, *mut T),
}

/// f32 and f64.
pub(super) trait Line: Real + Compute + Load<Self> {
    fn side_by_side() -> &'static Kernels<Self>;
}

/// The steps for lines of a length, if there are enough of them to fill the lanes.
pub(super) fn steps<T: Line>(lines: usize, length: usize) -> Option<std::sync::Arc<Steps<T>>> {
    let worth = lines >= T::side_by_side().lanes && length <= LONGEST;
    worth.then(|| T::steps(length)).flatten()
}

/// Lines side by side.
pub(super) struct Lines<T: 'static> {
    pub kernels: &'static Kernels<T>,
    room: Vec<T>,
    start: usize,
}

impl<T: Line> Lines<T> {
    pub(super) fn new(length: usize) -> Lines<T> {
        let kernels = T::side_by_side();
        let align = 64 / size_of::<T>();
        let room = vec![T::default(); 2 * kernels.lanes * length + align];
        let start = room.as_ptr().align_offset(64).min(align);
        Lines { kernels, room, start }
    }

    /// The real parts of the first elements; see the top.
    pub(super) fn data(&mut self) -> &mut [T] {
        &mut self.room[self.start..]
    }

    pub(super) fn transform(
        &mut self,
        steps: &Steps<T>,
        direction: FftDirection,
        scale: Option<T>,
    ) {
        let transform = self.kernels.transform;
        let data = self.data();
        assert!(data.len() >= 2 * T::side_by_side().lanes * steps.length);
        // SAFETY: the elements are there, and the function is one for this processor.
        unsafe { transform(steps, data.as_mut_ptr(), direction, scale) };
    }

    /// See [`Kernels`]; the lines are those of half as many complex numbers, and the factors those of real ones.
    pub(super) fn take_apart(&mut self, steps: &Steps<T>, factors: &[Complex<T>]) {
        let kernel = self.kernels.take_apart;
        let data = self.data();
        assert!(data.len() >= 2 * T::side_by_side().lanes * factors.len());
        assert_eq!(factors.len(), steps.length + 1);
        // SAFETY: as above.
        unsafe { kernel(steps, factors, data.as_mut_ptr()) };
    }

    /// See [`Lines::take_apart`].
    pub(super) fn put_together(&mut self, factors: &[Complex<T>]) {
        let kernel = self.kernels.put_together;
        let data = self.data();
        assert!(data.len() >= 2 * T::side_by_side().lanes * factors.len());
        // SAFETY: as above.
        unsafe { kernel(factors, data.as_mut_ptr()) };
    }

    /// Makes so many elements real.
    pub(super) fn clear_imaginary(&mut self, length: usize) {
        let lanes = self.kernels.lanes;
        for vectors in self.data().chunks_exact_mut(2 * lanes).take(length) {
            vectors[lanes..].fill(T::default());
        }
    }

    /// Puts what the first half says in the place of the second, of an odd number of elements whose transform is real.
    pub(super) fn mirror(&mut self, length: usize) {
        let lanes = self.kernels.lanes;
        let (known, rest) = self.data().split_at_mut((length / 2 + 1) * 2 * lanes);
        known[lanes..2 * lanes].fill(T::default());
        let known = known.chunks_exact(2 * lanes).rev().take(length / 2);
        for (from, into) in known.zip(rest.chunks_exact_mut(2 * lanes)) {
            into[..lanes].copy_from_slice(&from[..lanes]);
            for (into, &from) in into[lanes..].iter_mut().zip(&from[lanes..]) {
                *into = -from;
            }
        }
    }
}

/// The kernels for vectors, compiled for a set of instructions.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled {
    ($name:ident, $part:ty, $vector:ty, $features:literal) => {
        fn $name() -> Kernels<$part> {
            /// # Safety
            ///
            /// That of the function called, and the processor has the vectors. So for those below.
            #[target_feature(enable = $features)]
            unsafe fn all(
                steps: &Steps<$part>,
                data: *mut $part,
                direction: FftDirection,
                scale: Option<$part>,
            ) {
                // SAFETY: the caller's promise.
                unsafe { transform::<$vector>(steps, data, direction, scale) }
            }
            /// # Safety
            ///
            /// See `all`.
            #[target_feature(enable = $features)]
            unsafe fn apart(steps: &Steps<$part>, factors: &[Complex<$part>], data: *mut $part) {
                // SAFETY: the caller's promise.
                unsafe { take_apart::<$vector>(steps, factors, data) }
            }
            /// # Safety
            ///
            /// See `all`.
            #[target_feature(enable = $features)]
            unsafe fn together(factors: &[Complex<$part>], data: *mut $part) {
                // SAFETY: the caller's promise.
                unsafe { put_together::<$vector>(factors, data) }
            }
            const LANES: usize = <$vector as Vector>::LANES;
            /// # Safety
            ///
            /// See `all`.
            #[target_feature(enable = $features)]
            unsafe fn split_here(from: *const $part, into: *mut $part) {
                // SAFETY: the caller's promise.
                unsafe { split::<$part, LANES>(from, into) }
            }
            /// # Safety
            ///
            /// See `all`.
            #[target_feature(enable = $features)]
            unsafe fn join_here(from: *const $part, into: *mut $part) {
                // SAFETY: the caller's promise.
                unsafe { join::<$part, LANES>(from, into) }
            }
            let (side, turn) = transpose::best();
            assert_eq!(side, LANES);
            Kernels {
                lanes: LANES,
                turn,
                transform: all,
                take_apart: apart,
                put_together: together,
                split: split_here,
                join: join_here,
            }
        }
    };
}

macro_rules! kernels {
    ($($part:ty: $plain:ty, $avx2:ident, $avx512:ident, $narrow:ty, $wide:ty;)*) => {$(
        impl Line for $part {
            fn side_by_side() -> &'static Kernels<$part> {
                static PLAIN: std::sync::OnceLock<Kernels<$part>> = std::sync::OnceLock::new();
                #[cfg(target_arch = "x86_64")]
                {
                    static AVX512: std::sync::OnceLock<Kernels<$part>> = std::sync::OnceLock::new();
                    static AVX2: std::sync::OnceLock<Kernels<$part>> = std::sync::OnceLock::new();
                    match sets::best() {
                        Set::Avx512 => return AVX512.get_or_init($avx512),
                        Set::Avx2 => return AVX2.get_or_init($avx2),
                        Set::Baseline => {}
                    }
                }
                PLAIN.get_or_init(|| Kernels {
                    lanes: 8,
                    turn: transpose::best().1,
                    transform: transform::<$plain>,
                    take_apart: take_apart::<$plain>,
                    put_together: put_together::<$plain>,
                    split: split::<$part, 8>,
                    join: join::<$part, 8>,
                })
            }
        }

        #[cfg(target_arch = "x86_64")]
        compiled!($avx2, $part, $narrow, "avx2,fma");
        #[cfg(target_arch = "x86_64")]
        compiled!($avx512, $part, $wide, "avx512f,avx512bw,avx512dq,avx512vl,fma");
    )*};
}

kernels! {
    f32: [f32; 8], avx2_f32, avx512_f32, __m256, __m512;
    f64: [f64; 8], avx2_f64, avx512_f64, Pair<__m256d>, __m512d;
}
