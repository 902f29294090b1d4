//! Products whose left operand ends in zeros: what a mask hides of the probabilities of attention is zero from
//! some step on, and what comes after that is not gone through.
//!
//! A zero times what is finite adds nothing, so that is looked at too. In the last place it can matter how
//! many steps are summed at once, which goes by how many are left: by values, never by threads.

use super::Dot;
use crate::element::Element;

/// Steps that are looked at together.
const BLOCK: usize = 64;
/// With fewer rows, looking is no small part of the work.
const FEWEST_ROWS: usize = 16;

/// A matrix of floats of one type: rows and steps, how many of them there are and how far apart they lie.
struct Matrix {
    data: *const u8,
    rows: (usize, isize),
    steps: isize,
}

/// How many steps have to be gone through, if it is not all of them.
///
/// # Safety
///
/// The addresses are those of buffers that hold what `dot` says.
pub(super) unsafe fn steps_before_zeros(
    dot: &Dot,
    left: *const u8,
    right: *const u8,
) -> Option<usize> {
    let ([rows], [columns], [summed]) = (&dot.rows[..], &dot.columns[..], &dot.summed[..]) else {
        return None;
    };
    let batches: usize = dot.batch.iter().map(|dim| dim.size).product();
    if batches != 1 || rows.size < FEWEST_ROWS || summed.size < 2 * BLOCK {
        return None;
    }
    let matrix = |data, dim: &super::Dim, side| Matrix {
        data,
        rows: (dim.size, dim.strides[0]),
        steps: summed.strides[side],
    };
    // SAFETY: the caller's promise.
    unsafe {
        let left = matrix(left, rows, 0);
        let used = match dot.left {
            Element::F16 => left.zeros_from::<u16>(summed.size),
            Element::BF16 => left.zeros_from::<u16>(summed.size),
            Element::F32 => left.zeros_from::<u32>(summed.size),
            Element::F64 => left.zeros_from::<u64>(summed.size),
            _ => return None,
        };
        let right = matrix(right, columns, 1);
        let rest = used..summed.size;
        let finite = rest.is_empty()
            || match dot.right {
                Element::F16 => right.is_below(rest, 0x7c00u16),
                Element::BF16 => right.is_below(rest, 0x7f80u16),
                Element::F32 => right.is_below(rest, 0x7f80_0000u32),
                Element::F64 => right.is_below(rest, 0x7ff0_0000_0000_0000u64),
                _ => false,
            };
        (finite && used < summed.size).then_some(used)
    }
}

/// The bits of a float.
trait Bits: Copy + Ord + Default {
    /// Without the sign.
    fn magnitude(self) -> Self;
}

macro_rules! bits {
    ($($type:ty)*) => {$(
        impl Bits for $type {
            #[inline(always)]
            fn magnitude(self) -> $type {
                self & (<$type>::MAX >> 1)
            }
        }
    )*};
}

bits!(u16 u32 u64);

impl Matrix {
    /// The first of the steps from which on all is zero, of the blocks that begin there.
    ///
    /// # Safety
    ///
    /// There are so many steps of floats with such bits.
    unsafe fn zeros_from<B: Bits>(&self, steps: usize) -> usize {
        let mut used = steps;
        while used > 0 {
            let begin = (used - 1) / BLOCK * BLOCK;
            // SAFETY: the caller's promise.
            if unsafe { self.largest::<B>(begin..used, B::default()) } > B::default() {
                break;
            }
            used = begin;
        }
        used
    }

    /// Whether the magnitudes of some steps have bits below these.
    ///
    /// # Safety
    ///
    /// As for [`Matrix::zeros_from`].
    unsafe fn is_below<B: Bits>(&self, steps: std::ops::Range<usize>, bits: B) -> bool {
        let limit = bits;
        // SAFETY: the caller's promise.
        unsafe { self.largest::<B>(steps, limit) < limit }
    }

    /// The largest magnitude in some steps, or one above `enough` if there is such.
    ///
    /// # Safety
    ///
    /// As for [`Matrix::zeros_from`].
    unsafe fn largest<B: Bits>(&self, steps: std::ops::Range<usize>, enough: B) -> B {
        let (rows, apart) = self.rows;
        let data = self.data.cast::<B>();
        let mut largest = B::default();
        // The inner loop is that of which elements lie closer together.
        let by_rows = self.steps.unsigned_abs() <= apart.unsigned_abs();
        let lines = if by_rows { 0..rows } else { steps.clone() };
        let along = if by_rows { steps } else { 0..rows };
        let (outer, inner) = if by_rows { (apart, self.steps) } else { (self.steps, apart) };
        for line in lines {
            let start = data.wrapping_offset(line as isize * outer);
            for place in along.clone() {
                // SAFETY: the caller's promise.
                let bits = unsafe { *start.wrapping_offset(place as isize * inner) };
                largest = largest.max(bits.magnitude());
            }
            if largest > enough {
                break;
            }
        }
        largest
    }
}
