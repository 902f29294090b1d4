//! Square blocks turned in registers: rows of a matrix become what lies together, as packing wants it.

use super::Compute;
use super::pack::Source;
#[cfg(target_arch = "x86_64")]
use super::sets::{self, Set};

/// Turns blocks of `SIDE` values: `into[p * width + i]` becomes value `p` of row `i`, for as many rows as
/// there are places, at most `SIDE`.
///
/// # Safety
///
/// From `matrix` moved by any of `rows` on there are the elements of `SIDE` values; `into` has room for all that is
/// written; the processor has the instructions for which the function is named.
pub(crate) type Turn<S, T> =
    unsafe fn(matrix: *const S, rows: &[isize], width: usize, into: *mut T);

/// The best function of this processor, and the side of its blocks.
pub(crate) fn best<S: Source<T>, T: Compute>() -> (usize, Turn<S, T>) {
    #[cfg(target_arch = "x86_64")]
    {
        let words = const { size_of::<T>() == 4 };
        match (sets::best(), words) {
            (Set::Avx512, true) => return (16, x86::avx512_32::<S, T>),
            (Set::Avx512, false) => return (8, x86::avx512_64::<S, T>),
            (Set::Avx2, true) => return (8, x86::avx2_32::<S, T>),
            (Set::Avx2, false) | (Set::Baseline, _) => {}
        }
    }
    (8, plain::<S, T, 8>)
}

/// Without instructions of any set.
///
/// # Safety
///
/// See [`Turn`].
unsafe fn plain<S: Source<T>, T: Compute, const SIDE: usize>(
    matrix: *const S,
    rows: &[isize],
    width: usize,
    into: *mut T,
) {
    for (i, &row) in rows.iter().enumerate() {
        // SAFETY: the caller's promise.
        let values: [T; SIDE] = unsafe { S::values(matrix.wrapping_offset(row)) };
        for (p, value) in values.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { into.add(p * width + i).write(value) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Compute, Source};

    /// # Safety
    ///
    /// See [`super::Turn`]; values have 32 bits.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
    pub(super) unsafe fn avx512_32<S: Source<T>, T: Compute>(
        matrix: *const S,
        rows: &[isize],
        width: usize,
        into: *mut T,
    ) {
        assert_eq!(size_of::<T>(), 4);
        let mut x = [_mm512_setzero_ps(); 16];
        for (i, &row) in rows.iter().enumerate().take(16) {
            // SAFETY: the caller's promise; sixteen values of 32 bits are a vector.
            x[i] = unsafe {
                let values: [T; 16] = S::values(matrix.wrapping_offset(row));
                std::mem::transmute_copy(&values)
            };
        }
        // Pairs of rows, then of pairs; what is left to be turned are blocks of four by four.
        let mut y = x;
        for i in 0..8 {
            y[2 * i] = _mm512_unpacklo_ps(x[2 * i], x[2 * i + 1]);
            y[2 * i + 1] = _mm512_unpackhi_ps(x[2 * i], x[2 * i + 1]);
        }
        for i in 0..4 {
            for h in 0..2 {
                let (a, b) = (_mm512_castps_pd(y[4 * i + h]), _mm512_castps_pd(y[4 * i + 2 + h]));
                x[4 * i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
                x[4 * i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
            }
        }
        for q in 0..4 {
            let low = _mm512_shuffle_f32x4::<0x88>(x[q], x[4 + q]);
            let high = _mm512_shuffle_f32x4::<0xdd>(x[q], x[4 + q]);
            let low_next = _mm512_shuffle_f32x4::<0x88>(x[8 + q], x[12 + q]);
            let high_next = _mm512_shuffle_f32x4::<0xdd>(x[8 + q], x[12 + q]);
            y[q] = _mm512_shuffle_f32x4::<0x88>(low, low_next);
            y[4 + q] = _mm512_shuffle_f32x4::<0x88>(high, high_next);
            y[8 + q] = _mm512_shuffle_f32x4::<0xdd>(low, low_next);
            y[12 + q] = _mm512_shuffle_f32x4::<0xdd>(high, high_next);
        }
        let into = into.cast::<f32>();
        if rows.len() == 16 {
            for (p, &values) in y.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { _mm512_storeu_ps(into.add(p * width), values) };
            }
        } else {
            let mask = (1_u16 << rows.len()) - 1;
            for (p, &values) in y.iter().enumerate() {
                // SAFETY: the caller's promise, for the lanes of the mask.
                unsafe { _mm512_mask_storeu_ps(into.add(p * width), mask, values) };
            }
        }
    }

    /// # Safety
    ///
    /// See [`super::Turn`]; values have 64 bits.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
    pub(super) unsafe fn avx512_64<S: Source<T>, T: Compute>(
        matrix: *const S,
        rows: &[isize],
        width: usize,
        into: *mut T,
    ) {
        assert_eq!(size_of::<T>(), 8);
        let mut x = [_mm512_setzero_pd(); 8];
        for (i, &row) in rows.iter().enumerate().take(8) {
            // SAFETY: the caller's promise; eight values of 64 bits are a vector.
            x[i] = unsafe {
                let values: [T; 8] = S::values(matrix.wrapping_offset(row));
                std::mem::transmute_copy(&values)
            };
        }
        let mut y = x;
        for i in 0..4 {
            y[2 * i] = _mm512_unpacklo_pd(x[2 * i], x[2 * i + 1]);
            y[2 * i + 1] = _mm512_unpackhi_pd(x[2 * i], x[2 * i + 1]);
        }
        for h in 0..2 {
            let low = _mm512_shuffle_f64x2::<0x88>(y[h], y[2 + h]);
            let high = _mm512_shuffle_f64x2::<0xdd>(y[h], y[2 + h]);
            let low_next = _mm512_shuffle_f64x2::<0x88>(y[4 + h], y[6 + h]);
            let high_next = _mm512_shuffle_f64x2::<0xdd>(y[4 + h], y[6 + h]);
            x[h] = _mm512_shuffle_f64x2::<0x88>(low, low_next);
            x[2 + h] = _mm512_shuffle_f64x2::<0x88>(high, high_next);
            x[4 + h] = _mm512_shuffle_f64x2::<0xdd>(low, low_next);
            x[6 + h] = _mm512_shuffle_f64x2::<0xdd>(high, high_next);
        }
        let into = into.cast::<f64>();
        if rows.len() == 8 {
            for (p, &values) in x.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { _mm512_storeu_pd(into.add(p * width), values) };
            }
        } else {
            let mask = (1_u8 << rows.len()) - 1;
            for (p, &values) in x.iter().enumerate() {
                // SAFETY: the caller's promise, for the lanes of the mask.
                unsafe { _mm512_mask_storeu_pd(into.add(p * width), mask, values) };
            }
        }
    }

    /// # Safety
    ///
    /// See [`super::Turn`]; values have 32 bits.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2_32<S: Source<T>, T: Compute>(
        matrix: *const S,
        rows: &[isize],
        width: usize,
        into: *mut T,
    ) {
        assert_eq!(size_of::<T>(), 4);
        let Some(last) = rows.len().checked_sub(1) else { return };
        let mut x = [_mm256_setzero_ps(); 8];
        // The last row stands for those that are missing: a loop that is always as long stays in registers.
        for i in 0..8 {
            // SAFETY: the caller's promise; eight values of 32 bits are a vector.
            x[i] = unsafe {
                let values: [T; 8] = S::values(matrix.wrapping_offset(rows[i.min(last)]));
                std::mem::transmute_copy(&values)
            };
        }
        let mut y = x;
        for i in 0..4 {
            y[2 * i] = _mm256_unpacklo_ps(x[2 * i], x[2 * i + 1]);
            y[2 * i + 1] = _mm256_unpackhi_ps(x[2 * i], x[2 * i + 1]);
        }
        for i in 0..2 {
            for h in 0..2 {
                let (a, b) = (_mm256_castps_pd(y[4 * i + h]), _mm256_castps_pd(y[4 * i + 2 + h]));
                x[4 * i + 2 * h] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
                x[4 * i + 2 * h + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
            }
        }
        for q in 0..4 {
            y[q] = _mm256_permute2f128_ps::<0x20>(x[q], x[4 + q]);
            y[4 + q] = _mm256_permute2f128_ps::<0x31>(x[q], x[4 + q]);
        }
        let into = into.cast::<f32>();
        for (p, &values) in y.iter().enumerate() {
            let into = into.wrapping_add(p * width);
            // SAFETY: the caller's promise, for so many lanes.
            unsafe {
                match rows.len() {
                    8 => _mm256_storeu_ps(into, values),
                    // The tallest tiles have six rows, which is worth code of its own.
                    6 => store_some(into, values, 6),
                    count => store_some(into, values, count),
                }
            }
        }
    }

    /// Writes the first `count` lanes, at most seven, in pieces: on processors with these sets alone, stores with a mask
    /// take so long that they were most of the time of packing.
    ///
    /// # Safety
    ///
    /// There is room for so many values.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn store_some(into: *mut f32, values: __m256, count: usize) {
        let (mut into, mut rest) = (into, _mm256_castps256_ps128(values));
        // SAFETY: the caller's promise.
        unsafe {
            if count & 4 != 0 {
                _mm_storeu_ps(into, rest);
                (into, rest) = (into.add(4), _mm256_extractf128_ps::<1>(values));
            }
            if count & 2 != 0 {
                _mm_storel_pd(into.cast(), _mm_castps_pd(rest));
                (into, rest) = (into.add(2), _mm_movehl_ps(rest, rest));
            }
            if count & 1 != 0 {
                _mm_store_ss(into, rest);
            }
        }
    }
}
