//! Products of an operand that ends in zeros: what a mask hides of the probabilities of attention, and of their
//! gradients, is zero from some step or line on, and what comes after that is not gone through.
//!
//! A zero times what is finite adds nothing, so that is looked at too. In the last place it can matter how
//! many steps are summed at once, which goes by how many are left: by values, never by threads.

use std::ops::Range;

use super::{Dim, Dot};
use crate::element::Element;
use crate::gemm::sets::for_each_set;

/// Steps or lines that are looked at together.
const BLOCK: usize = 64;
/// With fewer of the others, looking is no small part of the work.
const FEWEST: usize = 16;

/// The product of what is not known to be zero, if that is less. Other lines of the result are set to zero.
///
/// # Safety
///
/// The addresses are those of buffers that hold what `dot` says; nobody else uses the result.
pub(super) unsafe fn without_zeros(
    dot: &Dot,
    left: *const u8,
    right: *const u8,
    result: *mut u8,
) -> Option<Dot> {
    let ([rows], [columns], [summed]) = (&dot.rows[..], &dot.columns[..], &dot.summed[..]) else {
        return None;
    };
    let batches: usize = dot.batch.iter().map(|dim| dim.size).product();
    let lines = [*rows, *columns];
    let data = [left, right];
    let elements = [dot.left, dot.right];
    let matrix = |side: usize| Matrix {
        data: data[side],
        element: elements[side],
        lines: (lines[side].size, lines[side].strides[0]),
        steps: (summed.size, summed.strides[side]),
    };
    if batches != 1 || lines.iter().any(|dim| dim.size < FEWEST) || summed.size < FEWEST {
        return None;
    }
    for side in [0, 1] {
        let (own, other) = (matrix(side), matrix(1 - side));
        // SAFETY: the caller's promise.
        unsafe {
            let used = own.zeros_from();
            if used < summed.size && other.is_finite(used..summed.size) {
                let mut dot = dot.clone();
                dot.summed[0].size = used;
                return Some(dot);
            }
            let used = own.turned().zeros_from();
            if used < lines[side].size && other.is_finite(0..summed.size) {
                clear(dot.result.byte_width(), result, lines[side], used, lines[1 - side]);
                let mut dot = dot.clone();
                let dims = if side == 0 { &mut dot.rows } else { &mut dot.columns };
                dims[0].size = used;
                return Some(dot);
            }
        }
    }
    None
}

/// Sets the lines of a result from one on to zero.
///
/// # Safety
///
/// They are there, as the dimensions say, and nobody else's.
pub(super) unsafe fn clear(width: usize, result: *mut u8, lines: Dim, from: usize, others: Dim) {
    let lines = (from..lines.size, lines.strides[1] * width as isize);
    let others = (0..others.size, others.strides[1] * width as isize);
    // The inner loop is that of which elements lie closer together.
    let (outer, inner) = match lines.1.unsigned_abs() < others.1.unsigned_abs() {
        true => (others, lines),
        false => (lines, others),
    };
    for line in outer.0 {
        let start = result.wrapping_offset(line as isize * outer.1);
        if inner.1 == width as isize {
            let bytes = inner.0.len() * width;
            // SAFETY: the caller's promise; these lie one after the other.
            unsafe { start.wrapping_add(inner.0.start * width).write_bytes(0, bytes) };
            continue;
        }
        for place in inner.0.clone() {
            // SAFETY: the caller's promise.
            unsafe { start.wrapping_offset(place as isize * inner.1).write_bytes(0, width) };
        }
    }
}

/// An operand: lines and steps, how many of them there are and how far apart they lie.
struct Matrix {
    data: *const u8,
    element: Element,
    lines: (usize, isize),
    steps: (usize, isize),
}

/// The bits of a float.
trait Bits: Copy + Ord + Default + std::ops::BitOr<Output = Self> {
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
    /// Lines for steps, steps for lines.
    fn turned(&self) -> Matrix {
        Matrix { lines: self.steps, steps: self.lines, ..*self }
    }

    /// The step from which on all is zero, or where the block that it is in ends.
    ///
    /// # Safety
    ///
    /// The elements are there.
    unsafe fn zeros_from(&self) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            match self.element {
                Element::F16 | Element::BF16 => self.used::<u16>(),
                Element::F32 => self.used::<u32>(),
                Element::F64 => self.used::<u64>(),
                _ => self.steps.0,
            }
        }
    }

    /// # Safety
    ///
    /// As for [`Matrix::zeros_from`]; the elements have such bits.
    unsafe fn used<B: Bits>(&self) -> usize {
        let (count, stride) = self.steps;
        if stride == 1 {
            // SAFETY: the caller's promise.
            return unsafe { used_of_lines::<B>(self.data.cast(), self.lines, count) };
        }
        let mut used = count;
        while used > 0 {
            let begin = (used - 1) / BLOCK * BLOCK;
            // SAFETY: the caller's promise.
            if unsafe { self.largest(begin..used, B::default()) } != B::default() {
                break;
            }
            used = begin;
        }
        used
    }

    /// # Safety
    ///
    /// As for [`Matrix::zeros_from`].
    unsafe fn is_finite(&self, steps: Range<usize>) -> bool {
        fn is_below<B: Ord>(largest: B, infinity: B) -> bool {
            largest < infinity
        }
        // SAFETY: the caller's promise.
        unsafe {
            match self.element {
                Element::F16 => is_below(self.largest(steps, 0x7bff), 0x7c00u16),
                Element::BF16 => is_below(self.largest(steps, 0x7f7f), 0x7f80u16),
                Element::F32 => is_below(self.largest(steps, 0x7f7f_ffff), 0x7f80_0000u32),
                Element::F64 => {
                    let infinity = f64::INFINITY.to_bits();
                    is_below(self.largest(steps, infinity - 1), infinity)
                }
                _ => false,
            }
        }
    }

    /// The largest magnitude in some steps, or one above `enough` if there is such.
    ///
    /// # Safety
    ///
    /// As for [`Matrix::zeros_from`]; the elements have such bits.
    unsafe fn largest<B: Bits>(&self, steps: Range<usize>, enough: B) -> B {
        // The inner loop is that of which elements lie closer together.
        let lines = 0..self.lines.0;
        let (outer, inner) = match self.steps.1.unsigned_abs() <= self.lines.1.unsigned_abs() {
            true => ((lines, self.lines.1), (steps, self.steps.1)),
            false => ((steps, self.steps.1), (lines, self.lines.1)),
        };
        // SAFETY: the caller's promise.
        unsafe { largest_of(self.data.cast(), outer, inner, enough) }
    }
}

/// Places and how far one is from the next.
type Places = (Range<usize>, isize);

for_each_set! {
    /// The largest magnitude, or one above `enough` if there is such.
    ///
    /// # Safety
    ///
    /// The elements are there.
    unsafe fn largest_of[B: Bits] =
        largest_of_body(data: *const B, outer: Places, inner: Places, enough: B) -> B
}

/// # Safety
///
/// See [`largest_of`].
#[inline(always)]
unsafe fn largest_of_body<B: Bits>(data: *const B, outer: Places, inner: Places, enough: B) -> B {
    let mut largest = B::default();
    for line in outer.0 {
        let start = data.wrapping_offset(line as isize * outer.1);
        if inner.1 == 1 {
            // SAFETY: the caller's promise; these lie one after the other.
            let bits = unsafe { slice(start, inner.0.clone()) };
            for bits in bits {
                largest = largest.max(bits.magnitude());
            }
        } else {
            for place in inner.0.clone() {
                // SAFETY: the caller's promise.
                let bits = unsafe { *start.wrapping_offset(place as isize * inner.1) };
                largest = largest.max(bits.magnitude());
            }
        }
        if largest > enough {
            break;
        }
    }
    largest
}

for_each_set! {
    /// Of so many steps that lie together in each line, that from which on all is zero, or where its block ends.
    ///
    /// # Safety
    ///
    /// The elements are there.
    unsafe fn used_of_lines[B: Bits] =
        used_of_lines_body(data: *const B, lines: (usize, isize), steps: usize) -> usize
}

/// # Safety
///
/// See [`used_of_lines`].
#[inline(always)]
unsafe fn used_of_lines_body<B: Bits>(
    data: *const B,
    lines: (usize, isize),
    steps: usize,
) -> usize {
    let mut used = 0;
    // A mask shows most in the last line.
    for line in (0..lines.0).rev() {
        let start = data.wrapping_offset(line as isize * lines.1);
        let mut end = steps;
        while end > used {
            let begin = (end - 1) / BLOCK * BLOCK;
            let mut all = B::default();
            // SAFETY: the caller's promise.
            for bits in unsafe { slice(start, begin..end) } {
                all = all | bits.magnitude();
            }
            if all != B::default() {
                break;
            }
            end = begin;
        }
        used = used.max(end);
        if used == steps {
            break;
        }
    }
    used
}

/// # Safety
///
/// The elements are there.
#[inline(always)]
unsafe fn slice<'a, B>(start: *const B, places: Range<usize>) -> &'a [B] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(start.wrapping_add(places.start), places.len()) }
}
