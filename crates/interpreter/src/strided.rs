//! Copies between arrays seen through strides. All data movement (broadcast, transpose, slice,
//! pad, concatenate, …) is one such copy, whatever the element type: only its width matters.

use rxla_hlo::ArrayLiteral;
use smallvec::SmallVec;

/// Sizes or strides in elements.
pub(crate) type Extents = SmallVec<[isize; 6]>;

/// Runs a block with `$T` bound to a plain type of the given width in bytes.
macro_rules! with_width {
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            16 => {
                type $T = [u64; 2];
                $body
            }
            width => unreachable!("no element is {width} bytes wide"),
        }
    };
}
pub(crate) use with_width;

/// The elements of a literal as words of their width.
pub(crate) fn words<T: bytemuck::Pod>(literal: &ArrayLiteral) -> &[T] {
    bytemuck::cast_slice(literal.bytes())
}

pub(crate) fn words_mut<T: bytemuck::Pod>(literal: &mut ArrayLiteral) -> &mut [T] {
    bytemuck::cast_slice_mut(literal.bytes_mut())
}

/// Row-major strides.
pub(crate) fn row_major(dims: &[i64]) -> Extents {
    let mut strides: Extents = SmallVec::from_elem(1, dims.len());
    for dimension in (1..dims.len()).rev() {
        strides[dimension - 1] = strides[dimension] * (dims[dimension] as isize).max(1);
    }
    strides
}

/// One side of a copy: where it starts and how far apart its elements lie per dimension.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) start: isize,
    pub(crate) strides: Extents,
}

impl View {
    /// All of a row-major array.
    pub(crate) fn dense(dims: &[i64]) -> View {
        View { start: 0, strides: row_major(dims) }
    }
}

/// Copies one element per index below `dims` from `source` to `target`.
pub(crate) fn copy(
    dims: &[i64],
    source: &ArrayLiteral,
    from: &View,
    target: &mut ArrayLiteral,
    to: &View,
) {
    let width = source.element_type().byte_width();
    with_width!(width, T => copy_words::<T>(dims, words(source), from, words_mut(target), to));
}

/// [`copy`] of elements of one width.
pub(crate) fn copy_words<T: Copy>(
    dims: &[i64],
    source: &[T],
    from: &View,
    target: &mut [T],
    to: &View,
) {
    CopyPlan::new(dims, &from.strides, &to.strides).run(source, from.start, target, to.start);
}

/// A copy of a fixed form that is run from several places to several places.
pub(crate) struct CopyPlan {
    outer: Axes,
    /// The axis that runs fastest in the target, unless one element is all there is.
    inner: Option<Axis>,
    /// The axis that runs fastest in the source, where going over the inner axis in the target's
    /// order would read far apart.
    fast: Option<Axis>,
    empty: bool,
}

impl CopyPlan {
    pub(crate) fn new(dims: &[i64], from: &[isize], to: &[isize]) -> CopyPlan {
        let mut outer = merged_axes(dims, from, to);
        let inner = outer.pop();
        let mut fast = None;
        if let Some(inner) = inner
            && inner.from != 1
            && inner.from != 0
            && inner.size >= 8
            && let Some(position) = outer.iter().rposition(|axis| axis.from == 1 && axis.size >= 8)
        {
            fast = Some(outer.remove(position));
        }
        CopyPlan { outer, inner, fast, empty: dims.contains(&0) }
    }

    pub(crate) fn run<T: Copy>(&self, source: &[T], from: isize, target: &mut [T], to: isize) {
        if self.empty {
            return;
        }
        let Some(inner) = self.inner else {
            target[to as usize] = source[from as usize];
            return;
        };
        if let Some(fast) = self.fast {
            for_each_offset(&self.outer, from, to, |from, to| {
                transpose_blocks(source, from, target, to, fast, inner);
            });
        } else {
            for_each_offset(&self.outer, from, to, |from, to| {
                copy_run(source, from, target, to, inner);
            });
        }
    }
}

fn copy_run<T: Copy>(source: &[T], mut from: isize, target: &mut [T], mut to: isize, axis: Axis) {
    let size = axis.size as usize;
    match (axis.from, axis.to) {
        (1, 1) => target[to as usize..][..size].copy_from_slice(&source[from as usize..][..size]),
        (0, 1) => target[to as usize..][..size].fill(source[from as usize]),
        (step, 1) => {
            for element in &mut target[to as usize..][..size] {
                *element = source[from as usize];
                from += step;
            }
        }
        (from_step, to_step) => {
            for _ in 0..size {
                target[to as usize] = source[from as usize];
                from += from_step;
                to += to_step;
            }
        }
    }
}

/// Calls `f` with both offsets and the innermost axis, for every run along that axis.
pub(crate) fn for_each_run(
    dims: &[i64],
    from: &[isize],
    to: &[isize],
    mut f: impl FnMut(isize, isize, Axis),
) {
    if dims.contains(&0) {
        return;
    }
    let mut outer = merged_axes(dims, from, to);
    let inner = outer.pop().unwrap_or(Axis { size: 1, from: 1, to: 1 });
    for_each_offset(&outer, 0, 0, |from, to| f(from, to, inner));
}

/// A dimension of a copy: its size and both strides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) size: isize,
    pub(crate) from: isize,
    pub(crate) to: isize,
}

type Axes = SmallVec<[Axis; 6]>;

/// The axes of a copy, without those of size 1 and with neighbours joined where both sides run
/// through.
fn merged_axes(dims: &[i64], from: &[isize], to: &[isize]) -> Axes {
    let mut axes = Axes::new();
    for ((&size, &from), &to) in dims.iter().zip(from).zip(to) {
        let size = size as isize;
        if size == 1 {
            continue;
        }
        match axes.last_mut() {
            Some(last) if last.from == from * size && last.to == to * size => {
                *last = Axis { size: last.size * size, from, to };
            }
            _ => axes.push(Axis { size, from, to }),
        }
    }
    axes
}

/// Calls `f` with both offsets for every index over `axes`, the last one fastest.
fn for_each_offset(axes: &[Axis], from: isize, to: isize, mut f: impl FnMut(isize, isize)) {
    let mut index: Extents = SmallVec::from_elem(0, axes.len());
    let (mut from, mut to) = (from, to);
    'all: loop {
        f(from, to);
        for (dimension, axis) in axes.iter().enumerate().rev() {
            index[dimension] += 1;
            from += axis.from;
            to += axis.to;
            if index[dimension] < axis.size {
                continue 'all;
            }
            index[dimension] = 0;
            from -= axis.from * axis.size;
            to -= axis.to * axis.size;
        }
        return;
    }
}

fn transpose_blocks<T: Copy>(
    source: &[T],
    from: isize,
    target: &mut [T],
    to: isize,
    fast: Axis,
    inner: Axis,
) {
    const BLOCK: isize = 32;
    let mut i = 0;
    while i < fast.size {
        let i_end = (i + BLOCK).min(fast.size);
        let mut j = 0;
        while j < inner.size {
            let j_end = (j + BLOCK).min(inner.size);
            for i in i..i_end {
                let mut read = from + i * fast.from + j * inner.from;
                let mut write = to + i * fast.to + j * inner.to;
                for _ in j..j_end {
                    target[write as usize] = source[read as usize];
                    read += inner.from;
                    write += inner.to;
                }
            }
            j = j_end;
        }
        i = i_end;
    }
}

/// Steps through all indices below `dims` in row-major order, keeping any number of linear
/// offsets up to date.
pub(crate) struct Odometer<const N: usize> {
    dims: SmallVec<[i64; 6]>,
    strides: [Extents; N],
    index: SmallVec<[i64; 6]>,
    offsets: [isize; N],
    done: bool,
}

impl<const N: usize> Odometer<N> {
    pub(crate) fn new(dims: &[i64], strides: [&[isize]; N], starts: [isize; N]) -> Odometer<N> {
        Odometer {
            dims: dims.into(),
            strides: strides.map(Extents::from_slice),
            index: SmallVec::from_elem(0, dims.len()),
            offsets: starts,
            done: dims.contains(&0),
        }
    }

    /// The offsets of the next index, the last dimension fastest.
    pub(crate) fn next(&mut self) -> Option<[isize; N]> {
        if self.done {
            return None;
        }
        let current = self.offsets;
        self.done = true;
        for dimension in (0..self.dims.len()).rev() {
            self.index[dimension] += 1;
            let wrapped = self.index[dimension] == self.dims[dimension];
            for (offset, strides) in self.offsets.iter_mut().zip(&self.strides) {
                *offset += strides[dimension];
                if wrapped {
                    *offset -= strides[dimension] * self.dims[dimension] as isize;
                }
            }
            if wrapped {
                self.index[dimension] = 0;
            } else {
                self.done = false;
                break;
            }
        }
        Some(current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposes_in_blocks() {
        let (rows, columns) = (37, 41);
        let source: Vec<i32> = (0..rows * columns).collect();
        let mut target = vec![0; source.len()];
        let dims = [i64::from(columns), i64::from(rows)];
        let from = View { start: 0, strides: [1, columns as isize].as_slice().into() };
        copy_words(&dims, &source, &from, &mut target, &View::dense(&dims));
        for row in 0..rows {
            for column in 0..columns {
                assert_eq!(target[(column * rows + row) as usize], row * columns + column);
            }
        }
    }

    #[test]
    fn odometer_visits_every_index_once() {
        let mut odometer = Odometer::new(&[2, 1, 3], [&[3, 3, 1], &[0, 0, 5]], [0, 7]);
        let mut seen = Vec::new();
        while let Some(offsets) = odometer.next() {
            seen.push(offsets);
        }
        assert_eq!(seen, [[0, 7], [1, 12], [2, 17], [3, 7], [4, 12], [5, 17]]);
        assert!(Odometer::new(&[0], [&[1]], [0]).next().is_none());
        assert!(Odometer::new(&[], [&[]], [3]).next().is_some());
    }
}
