//! Packing: pieces of an operand copied to where, and in the order in which, a micro-kernel reads them,
//! and converted to the type that is computed in on the way.

use super::sets::for_each_set;
use super::{Compute, Operand, transpose};
use crate::element::Load;

/// Places of an operand along k.
#[derive(Default)]
pub(crate) struct Steps {
    pub places: Vec<isize>,
    /// Whether all lie together.
    together: bool,
}

impl Steps {
    /// Has a look at the places after they have changed.
    pub(crate) fn find_runs(&mut self) {
        let Steps { places, .. } = self;
        self.together = !places.is_empty() && places.windows(2).all(|pair| pair[1] - pair[0] == 1);
    }

    /// Whether all lie together.
    pub(super) fn is_one_run(&self) -> bool {
        self.together
    }

    /// The lengths of the stretches in which places lie together, which cover them in order. They are not kept: where
    /// each is of one place, to write them down takes longer than to find them.
    fn runs(&self) -> impl Iterator<Item = usize> {
        let (one, many) = match self.together {
            true => (Some(self.places.len()), &[][..]),
            false => (None, self.places.as_slice()),
        };
        one.into_iter().chain(many.chunk_by(|a, b| b - a == 1).map(<[isize]>::len))
    }
}

/// Blocks for which an operand is asked for ahead.
const LATER: usize = 4;

/// Asks for the line of memory at an address, which may be any.
#[inline(always)]
pub(crate) fn prefetch<S>(place: *const S) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: what is asked for ahead may lie anywhere.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Whether so many rows fit into the first cache beside what is in use, so that they are worth asking for
/// while others are multiplied.
pub(super) fn is_near(element: usize, rows: usize, steps: &Steps) -> bool {
    const MOST_LINES: usize = 320;
    let lines: usize = steps.runs().map(|run| (run * element).div_ceil(64)).sum();
    lines.saturating_mul(rows) <= MOST_LINES
}

/// Asks for some of the rows that are going to be packed next. All at once would be more than the processor can keep
/// in flight.
pub(super) fn prefetch_rows<T>(matrix: Operand<T>, rows: &[isize], steps: &Steps) {
    for &row in rows {
        let mut p = 0;
        for run in steps.runs() {
            let place = (row + steps.places[p]) * matrix.width as isize;
            let start = matrix.data.wrapping_offset(place);
            for line in 0..(run * matrix.width).div_ceil(64) {
                prefetch(start.wrapping_add(line * 64));
            }
            p += run;
        }
    }
}

/// Elements in memory that `T`s are made of: each of one of them, or of several neighbouring steps.
pub(crate) trait Source<T>: Copy {
    const STEPS: usize;

    /// Values of steps that lie together.
    ///
    /// # Safety
    ///
    /// From the address on there are so many elements.
    unsafe fn values<const COUNT: usize>(from: *const Self) -> [T; COUNT];

    /// The value of these steps; those past [`Source::STEPS`] do not count.
    fn join(parts: [Self; 4]) -> T;

    /// The value of steps at these places; steps that are missing count as zeros.
    ///
    /// # Safety
    ///
    /// The places are there, one of them at least and not more than [`Source::STEPS`].
    unsafe fn gather(matrix: *const Self, steps: &[isize]) -> T;
}

impl<S: Load<T>, T: Compute> Source<T> for S {
    const STEPS: usize = 1;

    #[inline(always)]
    unsafe fn values<const COUNT: usize>(from: *const S) -> [T; COUNT] {
        // SAFETY: the caller's promise; arrays are aligned as their elements are.
        let values = unsafe { from.cast::<[S; COUNT]>().read() };
        values.map(S::load)
    }

    #[inline(always)]
    fn join(parts: [S; 4]) -> T {
        parts[0].load()
    }

    #[inline(always)]
    unsafe fn gather(matrix: *const S, steps: &[isize]) -> T {
        // SAFETY: the caller's promise.
        unsafe { matrix.offset(steps[0]).read() }.load()
    }
}

/// Copies element `(i, p)` of a matrix, which lies at `rows[i] + steps[p]`, to `into[p * width + i]`,
/// where `width` is at least the number of rows; what lies between is filled with zeros. Where a value
/// holds several steps, `p` counts values, and the last one is filled up with zeros, too. Rows past `width`
/// go to a next panel, `panel` values after the one before, and so on.
///
/// # Safety
///
/// All these places are inside the matrix and `into`.
pub(crate) type Pack<T> = unsafe fn(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    panel: usize,
    into: *mut T,
);

/// Panels of so many elements, of so many bytes each, that are best packed at once: those that two lines of memory,
/// which processors fetch together, have elements of.
pub(super) fn at_once(width: usize, element: usize) -> usize {
    (128 / (width * element)).max(1)
}

/// Packs one panel.
///
/// # Safety
///
/// See [`Pack`].
pub(crate) unsafe fn pack<S: Source<T>, T: Compute>(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    into: *mut T,
) {
    debug_assert!(rows.len() <= width);
    // SAFETY: the caller's promise.
    unsafe { pack_panels::<S, T>(matrix, rows, steps, width, 0, into) };
}

/// # Safety
///
/// See [`Pack`].
pub(crate) unsafe fn pack_panels<S: Source<T>, T: Compute>(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    panel: usize,
    into: *mut T,
) {
    if width == 0 {
        return;
    }
    let together = rows.windows(2).all(|pair| pair[1] - pair[0] == 1);
    if !together && rows.len() > width {
        for (number, rows) in rows.chunks(width).enumerate() {
            let into = into.wrapping_add(number * panel);
            // SAFETY: the caller's promise.
            unsafe { pack_panels::<S, T>(matrix, rows, steps, width, panel, into) };
        }
        return;
    }
    let matrix = matrix.cast::<S>();
    let (whole, rest) = (rows.len() / width, rows.len() % width);
    let last = into.wrapping_add(whole * panel);
    if rest > 0 {
        for p in 0..steps.places.len().div_ceil(S::STEPS) {
            for i in rest..width {
                // SAFETY: the caller's promise.
                unsafe { last.add(p * width + i).write(T::ZERO) };
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe {
        if !together {
            return turn_runs::<S, T>(matrix, rows, steps, width, into);
        }
        let from = matrix.wrapping_offset(rows.first().copied().unwrap_or(0));
        if whole > 0 {
            copy::<S, T>(from, whole, width, &steps.places, width, panel, into);
        }
        if rest > 0 {
            let from = from.wrapping_add(whole * width);
            copy::<S, T>(from, 1, rest, &steps.places, width, panel, last);
        }
    }
}

/// Packs rows by the runs of their steps.
///
/// # Safety
///
/// See [`Pack`].
unsafe fn turn_runs<S: Source<T>, T: Compute>(
    matrix: *const S,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    into: *mut T,
) {
    let (side, turn) = transpose::best::<S, T>();
    let (mut p, mut end) = (0, 0);
    for run in steps.runs() {
        end += run;
        while p + side * S::STEPS <= end {
            let from = matrix.wrapping_offset(steps.places[p]);
            let to = into.wrapping_add(p / S::STEPS * width);
            if p + LATER * side * S::STEPS < end {
                for &row in rows {
                    prefetch(from.wrapping_offset(row).wrapping_add(LATER * side * S::STEPS));
                }
            }
            for (group, rows) in rows.chunks(side).enumerate() {
                // SAFETY: the caller's promise, for all places of the run.
                unsafe { turn(from, rows, width, to.wrapping_add(group * side)) };
            }
            p += side * S::STEPS;
        }
        // What is left of the run, and of the next one what a value takes from it.
        while p < end {
            let steps = &steps.places[p..steps.places.len().min(p + S::STEPS)];
            let to = into.wrapping_add(p / S::STEPS * width);
            for (i, &row) in rows.iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { to.add(i).write(S::gather(matrix.wrapping_offset(row), steps)) };
            }
            p += S::STEPS;
        }
    }
}

for_each_set! {
    /// Packs so many panels of rows that lie together.
    ///
    /// # Safety
    ///
    /// See [`Pack`].
    unsafe fn copy[S: Source<T>, T: Compute] = copy_body(
        from: *const S, panels: usize, rows: usize, steps: &[isize], width: usize, panel: usize, into: *mut T
    ) -> ()
}

/// # Safety
///
/// See [`Pack`].
#[inline(always)]
unsafe fn copy_body<S: Source<T>, T: Compute>(
    from: *const S,
    panels: usize,
    rows: usize,
    steps: &[isize],
    width: usize,
    panel: usize,
    into: *mut T,
) {
    let whole = steps.len() / S::STEPS * S::STEPS;
    let (head, tail) = steps.split_at(whole);
    // SAFETY: the caller's promise. The usual heights and widths of tiles are worth code of their own; several panels are
    // as wide as two vectors.
    unsafe {
        match (panels, rows) {
            (_, 32) => copy_rows::<S, T, 32>(from, panels, head, width, panel, into),
            (_, 16) => copy_rows::<S, T, 16>(from, panels, head, width, panel, into),
            (1, 12) => copy_rows::<S, T, 12>(from, 1, head, width, panel, into),
            (_, 8) => copy_rows::<S, T, 8>(from, panels, head, width, panel, into),
            (1, 6) => copy_rows::<S, T, 6>(from, 1, head, width, panel, into),
            (_, 4) => copy_rows::<S, T, 4>(from, panels, head, width, panel, into),
            _ => {
                for (p, steps) in head.chunks_exact(S::STEPS).enumerate() {
                    for number in 0..panels {
                        let from = from.add(number * rows);
                        let into = into.add(number * panel + p * width);
                        for i in 0..rows {
                            into.add(i).write(S::gather(from.add(i), steps));
                        }
                    }
                }
            }
        }
        if !tail.is_empty() {
            for number in 0..panels {
                let from = from.add(number * rows);
                let into = into.add(number * panel + whole / S::STEPS * width);
                for i in 0..rows {
                    into.add(i).write(S::gather(from.add(i), tail));
                }
            }
        }
    }
}

/// # Safety
///
/// See [`Pack`]; steps are those of whole values.
#[inline(always)]
unsafe fn copy_rows<S: Source<T>, T: Compute, const ROWS: usize>(
    from: *const S,
    panels: usize,
    steps: &[isize],
    width: usize,
    panel: usize,
    into: *mut T,
) {
    for (p, now) in steps.chunks_exact(S::STEPS).enumerate() {
        if let Some(later) =
            steps.get((p + 2 * LATER) * S::STEPS..).and_then(|later| later.get(..S::STEPS))
        {
            for &step in later {
                let row = from.wrapping_offset(step);
                for line in (0..panels * size_of::<[S; ROWS]>()).step_by(64) {
                    prefetch(row.wrapping_byte_add(line));
                }
            }
        }
        for number in 0..panels {
            let from = from.wrapping_add(number * ROWS);
            // SAFETY: the caller's promise; arrays are aligned as their elements are.
            unsafe {
                // Loops, since functions in functions are not compiled for the set.
                let mut parts = [from.offset(now[0]).cast::<[S; ROWS]>().read(); 4];
                for part in 1..S::STEPS {
                    parts[part] = from.offset(now[part]).cast::<[S; ROWS]>().read();
                }
                let mut values = [T::ZERO; ROWS];
                for i in 0..ROWS {
                    values[i] = S::join([parts[0][i], parts[1][i], parts[2][i], parts[3][i]]);
                }
                into.add(number * panel + p * width).cast::<[T; ROWS]>().write(values);
            }
        }
    }
}

/// Packs the right operand of a product of complex numbers so that the product of real matrices with
/// twice the columns and steps is what it should be: `(re, im) · ((re, im), (-im, re))`. Every row
/// and step comes twice, once for each part, with the same place; the first of each is even.
///
/// # Safety
///
/// See [`Pack`].
pub(crate) unsafe fn pack_complex<T: Compute>(
    matrix: *const u8,
    rows: &[isize],
    steps: &Steps,
    width: usize,
    panel: usize,
    into: *mut T,
) {
    if rows.len() > width {
        for (number, rows) in rows.chunks(width).enumerate() {
            // SAFETY: the caller's promise.
            unsafe { pack_complex(matrix, rows, steps, width, panel, into.add(number * panel)) };
        }
        return;
    }
    let matrix = matrix.cast::<T>();
    let rest = rows.len()..width.next_multiple_of(2);
    for (p, steps) in steps.places.chunks(2).enumerate() {
        let into = into.wrapping_add(2 * p * width);
        for (i, rows) in rows.chunks(2).enumerate() {
            // SAFETY: the caller's promise: both parts are there.
            unsafe {
                let place = matrix.offset(rows[0] + steps[0]);
                let (real, imaginary) = (place.read(), place.add(1).read());
                let to = into.add(2 * i);
                to.cast::<[T; 2]>().write([real, imaginary]);
                to.add(width).cast::<[T; 2]>().write([imaginary.negate(), real]);
            }
        }
        for i in rest.clone() {
            // SAFETY: the caller's promise.
            unsafe {
                into.add(i).write(T::ZERO);
                into.add(width + i).write(T::ZERO);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_cover_places_in_order() {
        for (places, runs) in [
            (&[][..], &[][..]),
            (&[7], &[1]),
            (&[0, 1, 2, 3], &[4]),
            (&[0, 1, 2, 5, 6, 4], &[3, 2, 1]),
            (&[0, 8, 16], &[1, 1, 1]),
        ] {
            let mut steps = Steps { places: places.to_vec(), ..Steps::default() };
            steps.find_runs();
            assert_eq!(steps.runs().collect::<Vec<_>>(), runs);
            assert_eq!(steps.is_one_run(), runs.len() == 1);
        }
    }
}
