//! Asking memory for what is read next.

use super::super::pack::prefetch;

/// Bytes of a page of memory.
const PAGE: usize = 4096;
/// Bytes for which the matrix is asked for ahead, lines that are read side by side.
pub(super) const AHEAD: usize = 512;
/// The same for rows that are added up: where rows are short the processor itself asks for too little.
const ROW_AHEAD: usize = 2048;

/// Whether lines, or rows, of so many elements of `width` bytes that are `step` apart lie together and end before the
/// processor reads ahead. Then those of the next block are asked for in the order of memory as this one's are read side by side.
#[inline(always)]
pub(super) fn are_short(length: usize, step: isize, width: usize) -> bool {
    step == length as isize && length * width < PAGE
}

/// Where elements are that are read [`ROW_AHEAD`] bytes after one, which is in this place of `count` that lie
/// together and are followed by those that are `step` from them.
#[inline(always)]
pub(super) fn following<S>(element: *const S, place: usize, count: usize, step: isize) -> *const S {
    let ahead = ROW_AHEAD / size_of::<S>();
    let jump = if place + ahead < count { 0 } else { step - count as isize };
    element.wrapping_add(ahead).wrapping_offset(jump)
}

/// Asks for so many bytes.
#[inline(always)]
pub(super) fn ask_for<S>(start: *const S, bytes: usize) {
    for line in (0..bytes).step_by(64) {
        prefetch(start.wrapping_byte_add(line));
    }
}
