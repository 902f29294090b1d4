//! Plans of Fourier transforms, made once for each length and kept.
//!
//! A crate of its own, since rustfft is generic: whoever makes a plan compiles all its algorithms. Here
//! they are compiled once, and nothing that is generic leaves but what plans do by dynamic dispatch.

mod steps;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use realfft::RealFftPlanner;
use rustfft::FftPlanner;

pub use realfft::{ComplexToReal, RealToComplex};
pub use rustfft::num_complex::Complex;
pub use rustfft::{Fft, FftDirection, FftNum};
pub use steps::{LARGEST_RADIX, Step, Steps};

/// f32 and f64, with the plans made so far.
pub trait Real: FftNum + Default {
    fn one_over(count: usize) -> Self;
    fn rounded(value: f64) -> Self;
    /// A transform of several lines at once, if the length has small factors only.
    fn steps(length: usize) -> Option<Arc<Steps<Self>>>;
    /// A transform of complex numbers.
    fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
    /// What joins the halves of a transform of so many real numbers, an even number, that was done as one of
    /// half as many complex ones: `-i/2 exp(-2πi k/length)` for each `k` up to the half.
    fn twiddles(length: usize) -> Arc<[Complex<Self>]>;
    /// From real numbers to the first half, and one more, of the complex ones.
    fn plan_real(length: usize) -> Arc<dyn RealToComplex<Self>>;
    /// Back from there.
    fn plan_real_back(length: usize) -> Arc<dyn ComplexToReal<Self>>;
}

type Plans<K, P> = LazyLock<Mutex<HashMap<K, P>>>;

/// What is kept for a key, or what is made and kept now.
fn kept<K: Eq + Hash, P: Clone>(plans: &Plans<K, P>, key: K, make: impl FnOnce() -> P) -> P {
    /// Plans hold tables as long as the transform.
    const MOST: usize = 64;
    let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
    if plans.len() >= MOST && !plans.contains_key(&key) {
        plans.clear();
    }
    plans.entry(key).or_insert_with(make).clone()
}

macro_rules! real {
    ($($type:ty)*) => {$(
        impl Real for $type {
            fn one_over(count: usize) -> $type {
                (1.0 / count as f64) as $type
            }

            fn rounded(value: f64) -> $type {
                value as $type
            }

            fn steps(length: usize) -> Option<Arc<Steps<$type>>> {
                static STEPS: Plans<usize, Option<Arc<Steps<$type>>>> = LazyLock::new(Mutex::default);
                kept(&STEPS, length, || Steps::new(length).map(Arc::new))
            }

            fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<$type>> {
                static PLANS: Plans<(usize, bool), Arc<dyn Fft<$type>>> = LazyLock::new(Mutex::default);
                let key = (length, direction == FftDirection::Forward);
                kept(&PLANS, key, || FftPlanner::new().plan_fft(length, direction))
            }

            fn twiddles(length: usize) -> Arc<[Complex<$type>]> {
                static TABLES: Plans<usize, Arc<[Complex<$type>]>> = LazyLock::new(Mutex::default);
                kept(&TABLES, length, || {
                    let turn = -std::f64::consts::TAU / length as f64;
                    let factor = |k: usize| {
                        let (sin, cos) = (turn * k as f64).sin_cos();
                        Complex::new((0.5 * sin) as $type, (-0.5 * cos) as $type)
                    };
                    (0..=length / 2).map(factor).collect()
                })
            }

            fn plan_real(length: usize) -> Arc<dyn RealToComplex<$type>> {
                static PLANS: Plans<usize, Arc<dyn RealToComplex<$type>>> = LazyLock::new(Mutex::default);
                kept(&PLANS, length, || RealFftPlanner::new().plan_fft_forward(length))
            }

            fn plan_real_back(length: usize) -> Arc<dyn ComplexToReal<$type>> {
                static PLANS: Plans<usize, Arc<dyn ComplexToReal<$type>>> = LazyLock::new(Mutex::default);
                kept(&PLANS, length, || RealFftPlanner::new().plan_fft_inverse(length))
            }
        }
    )*};
}

real!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_kept() {
        let first = <f64 as Real>::plan(12, FftDirection::Forward);
        assert!(Arc::ptr_eq(&first, &<f64 as Real>::plan(12, FftDirection::Forward)));
        assert!(!Arc::ptr_eq(&first, &<f64 as Real>::plan(12, FftDirection::Inverse)));
        for length in 1..200 {
            assert_eq!(<f32 as Real>::plan_real(length).len(), length);
        }
    }
}
