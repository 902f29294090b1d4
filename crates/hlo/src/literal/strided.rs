//! Copying a strided array into a dense one: the core of every change of layout.

use rxla_base::{Error, Result};
use smallvec::SmallVec;

/// One dimension of a copy.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: usize,
    /// Bytes between neighbours in the source; may be negative or zero.
    stride: isize,
    /// Bytes between neighbours in the dense target.
    step: usize,
}

/// Copies elements of `width` bytes into `target`, which is dense with the last dimension fastest.
/// Element 0 is at `start` in `source`, neighbours along dimension d are `strides[d]` bytes apart.
/// Fails if that reaches outside `source` or `target` has another size.
pub fn gather(
    width: usize,
    dims: &[usize],
    source: &[u8],
    start: usize,
    strides: &[isize],
    target: &mut [u8],
) -> Result<()> {
    let axes = axes(width, dims, strides, target.len())?;
    if target.is_empty() {
        return Ok(());
    }
    check_reach(width, &axes, source.len(), start)?;
    let axes = merge(axes);
    match width {
        1 => run::<1>(&axes, source, start, target),
        2 => run::<2>(&axes, source, start, target),
        4 => run::<4>(&axes, source, start, target),
        8 => run::<8>(&axes, source, start, target),
        16 => run::<16>(&axes, source, start, target),
        _ => return Err(Error::internal(format!("no element has {width} bytes"))),
    }
    Ok(())
}

type Axes = SmallVec<[Axis; 6]>;

fn axes(width: usize, dims: &[usize], strides: &[isize], target: usize) -> Result<Axes> {
    let mut step = width;
    let mut axes = Axes::new();
    for (&size, &stride) in dims.iter().zip(strides).rev() {
        axes.push(Axis { size, stride, step });
        step = step.checked_mul(size).ok_or_else(|| Error::invalid_argument("sizes overflow"))?;
    }
    axes.reverse();
    if dims.len() != strides.len() || step != target {
        return Err(Error::internal(format!(
            "a strided copy of {dims:?} elements of {width} bytes with {} strides into {target} \
             bytes",
            strides.len()
        )));
    }
    Ok(axes)
}

fn check_reach(width: usize, axes: &[Axis], len: usize, start: usize) -> Result<()> {
    let (mut low, mut high) = (start as i128, start as i128 + width as i128);
    for axis in axes {
        let reach = (axis.size as i128 - 1) * axis.stride as i128;
        low += reach.min(0);
        high += reach.max(0);
    }
    if low < 0 || high > len as i128 {
        return Err(Error::invalid_argument(format!(
            "strides reach bytes {low}..{high} of a buffer of {len} bytes"
        )));
    }
    Ok(())
}

/// Drops dimensions of size one and joins neighbours that the source steps through evenly.
fn merge(axes: Axes) -> Axes {
    let mut merged = Axes::new();
    for axis in axes.into_iter().filter(|axis| axis.size != 1) {
        match merged.last_mut() {
            Some(outer) if outer.stride == axis.stride * axis.size as isize => {
                *outer = Axis { size: outer.size * axis.size, ..axis };
            }
            _ => merged.push(axis),
        }
    }
    merged
}

/// Side of the square blocks in which two dimensions are exchanged, to use whole cache lines on
/// both sides.
const BLOCK: usize = 16;

fn run<const WIDTH: usize>(axes: &[Axis], source: &[u8], start: usize, target: &mut [u8]) {
    let Some((&inner, outer)) = axes.split_last() else {
        target.copy_from_slice(&source[start..start + WIDTH]);
        return;
    };
    if inner.stride == WIDTH as isize {
        let len = inner.size * WIDTH;
        return for_each(outer, start, &mut |from, to| {
            target[to..to + len].copy_from_slice(&source[from..from + len]);
        });
    }
    let Some(fast) = outer.iter().position(|axis| axis.stride == WIDTH as isize) else {
        return for_each(outer, start, &mut |from, to| {
            copy_block::<WIDTH>(&[inner], source, from, target, to);
        });
    };
    let mut rest = Axes::from_slice(outer);
    let fast = rest.remove(fast);
    for_each(&rest, start, &mut |from, to| {
        for i in (0..fast.size).step_by(BLOCK) {
            for j in (0..inner.size).step_by(BLOCK) {
                let rows = Axis { size: BLOCK.min(fast.size - i), ..fast };
                let columns = Axis { size: BLOCK.min(inner.size - j), ..inner };
                let from = from + i * WIDTH;
                let from = from.wrapping_add_signed(j as isize * inner.stride);
                let to = to + i * fast.step + j * WIDTH;
                copy_block::<WIDTH>(&[rows, columns], source, from, target, to);
            }
        }
    });
}

/// Calls `body` with the source and target offsets of every index of `axes`, last one fastest.
fn for_each(axes: &[Axis], start: usize, body: &mut dyn FnMut(usize, usize)) {
    match axes {
        [] => body(start, 0),
        [axis] => {
            for i in 0..axis.size {
                body(start.wrapping_add_signed(i as isize * axis.stride), i * axis.step);
            }
        }
        [axis, rest @ ..] => {
            for i in 0..axis.size {
                let from = start.wrapping_add_signed(i as isize * axis.stride);
                for_each(rest, from, &mut |from, to| body(from, to + i * axis.step));
            }
        }
    }
}

fn copy_block<const WIDTH: usize>(
    axes: &[Axis],
    source: &[u8],
    from: usize,
    target: &mut [u8],
    to: usize,
) {
    let [axis, rest @ ..] = axes else {
        target[to..to + WIDTH].copy_from_slice(&source[from..from + WIDTH]);
        return;
    };
    if rest.is_empty() {
        let mut from = from;
        for out in target[to..to + axis.size * WIDTH].chunks_exact_mut(WIDTH) {
            out.copy_from_slice(&source[from..from + WIDTH]);
            from = from.wrapping_add_signed(axis.stride);
        }
        return;
    }
    for i in 0..axis.size {
        let from = from.wrapping_add_signed(i as isize * axis.stride);
        copy_block::<WIDTH>(rest, source, from, target, to + i * axis.step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(dims: &[usize], source: &[u8], start: usize, strides: &[isize]) -> Vec<u8> {
        match (dims, strides) {
            ([size, dims @ ..], [stride, strides @ ..]) => (0..*size)
                .flat_map(|i| {
                    naive(dims, source, (start as isize + i as isize * stride) as usize, strides)
                })
                .collect(),
            _ => source[start..start + 2].to_vec(),
        }
    }

    #[test]
    fn agrees_with_the_definition() {
        let source: Vec<u8> = (0..40_000u32).map(|i| (i * 7 / 3) as u8).collect();
        for (dims, start, strides) in [
            (vec![], 6, vec![]),
            (vec![5], 0, vec![2]),
            (vec![5], 8, vec![-2]),
            (vec![3, 4], 0, vec![8, 2]),
            (vec![40, 33], 0, vec![2, 80]),
            (vec![3, 40, 33], 0, vec![2 * 40 * 33, 2, 80]),
            (vec![7, 3, 40], 4, vec![2, 560, 14]),
            (vec![4, 5, 6], 0, vec![0, 6, 30]),
            (vec![4, 1, 6], 1000, vec![-12, 999, -2]),
            (vec![2, 0, 3], 0, vec![6, 6, 2]),
        ] {
            let expected = naive(&dims, &source, start, &strides);
            let mut target = vec![0; expected.len()];
            gather(2, &dims, &source, start, &strides, &mut target).unwrap();
            assert_eq!(target, expected, "{dims:?} by {strides:?}");
        }
    }

    #[test]
    fn reaching_outside_is_an_error() {
        let mut target = [0; 8];
        let error = gather(2, &[4], &[0; 9], 0, &[4], &mut target).unwrap_err();
        assert_eq!(error.message, "strides reach bytes 0..14 of a buffer of 9 bytes");
        assert!(gather(2, &[4], &[0; 9], 5, &[-2], &mut target).is_err());
        assert!(gather(2, &[4], &[0; 9], 0, &[isize::MAX], &mut target).is_err());
        assert!(gather(2, &[3], &[0; 9], 0, &[2], &mut target).is_err());
    }
}
