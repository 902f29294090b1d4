//! Products of a few vectors with a matrix of bytes or words, which is widened to words as it is read: two
//! products at once, where loops over numbers of 32 bits would not become vectors at all.

use super::Products;
use crate::gemm::units::Pair;

/// Elements that fit into 16 bits.
pub(crate) trait Word: Copy {
    /// 32 of them from an address on, of which those that the mask leaves out are zero and not read.
    ///
    /// # Safety
    ///
    /// The others are there, and the processor has the instructions.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load(from: *const Self, mask: u32) -> std::arch::x86_64::__m512i;
}

/// The function for [`super::Streams::block`].
pub(super) fn block<S: Word>()
-> Option<unsafe fn(&[Pair], *const u8, isize, isize) -> Products<Pair>> {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::gemm::sets::{Set, best};

        if best() == Set::Avx512 {
            return Some(x86::block::<S>);
        }
    }
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::BLOCK;
    use super::super::ahead::{AHEAD, are_short, ask_for};
    use super::{Pair, Products, Word};

    macro_rules! words {
        ($($type:ty: |$from:ident, $mask:ident| $load:expr;)*) => {$(
            impl Word for $type {
                #[inline]
                #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
                unsafe fn load($from: *const $type, $mask: u32) -> __m512i {
                    // SAFETY: the caller's promise.
                    unsafe { $load }
                }
            }
        )*};
    }

    words! {
        i8: |from, mask| _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, from));
        u8: |from, mask| _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, from.cast()));
        i16: |from, mask| _mm512_maskz_loadu_epi16(mask, from);
    }

    /// # Safety
    ///
    /// See [`super::super::Streams::block`]; lines have two elements for each value of a vector, and the
    /// processor has the instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) unsafe fn block<S: Word>(
        x: &[Pair],
        matrix: *const u8,
        offset: isize,
        step: isize,
    ) -> Products<Pair> {
        const LANES: usize = 16;
        let depth = x.len() / BLOCK;
        let start = matrix.cast::<S>().wrapping_offset(offset);
        let in_order = are_short(2 * depth, step, size_of::<S>());
        let mut sums = [[_mm512_setzero_si512(); BLOCK]; BLOCK];
        for place in (0..depth).step_by(LANES) {
            let count = LANES.min(depth - place);
            let mask = (1_u64 << (2 * count)) - 1;
            let mut lines = [_mm512_setzero_si512(); BLOCK];
            for line in 0..BLOCK {
                let from = start.wrapping_offset(line as isize * step).wrapping_add(2 * place);
                let next = match in_order {
                    true => start.wrapping_add(2 * BLOCK * (depth + place) + 2 * line * LANES),
                    false => from.wrapping_byte_add(AHEAD),
                };
                ask_for(next, 2 * LANES * size_of::<S>());
                // SAFETY: the caller's promise.
                lines[line] = unsafe { S::load(from, mask as u32) };
            }
            for row in 0..BLOCK {
                let from = x.as_ptr().wrapping_add(row * depth + place);
                // SAFETY: there are so many values of each row.
                let x =
                    unsafe { _mm512_maskz_loadu_epi32(((1_u32 << count) - 1) as u16, from.cast()) };
                for line in 0..BLOCK {
                    let products = _mm512_madd_epi16(x, lines[line]);
                    sums[line][row] = _mm512_add_epi32(sums[line][row], products);
                }
            }
        }
        let mut totals = [[Pair(0); BLOCK]; BLOCK];
        for line in 0..BLOCK {
            for row in 0..BLOCK {
                totals[line][row] = Pair(_mm512_reduce_add_epi32(sums[line][row]));
            }
        }
        totals
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod plain {
    use super::Word;

    impl Word for i8 {}
    impl Word for u8 {}
    impl Word for i16 {}
}
