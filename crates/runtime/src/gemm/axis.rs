//! Axes of matrices: several dimensions of tensors seen as one, each with a stride in two operands.

/// One dimension: its size and its stride in each of two operands, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dim {
    pub size: usize,
    pub strides: [isize; 2],
}

/// Dimensions, outermost first; an index of the axis counts through all of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Axis {
    pub dims: Vec<Dim>,
}

impl Axis {
    /// Dimensions of size one are left out, and neighbours merged that lie one in the other in both
    /// operands.
    pub(crate) fn new(dims: impl IntoIterator<Item = Dim>) -> Axis {
        let mut merged: Vec<Dim> = Vec::new();
        for dim in dims.into_iter().filter(|dim| dim.size != 1) {
            match merged.last_mut() {
                Some(outer)
                    if (0..2).all(|o| outer.strides[o] == dim.strides[o] * dim.size as isize) =>
                {
                    *outer = Dim { size: outer.size * dim.size, strides: dim.strides };
                }
                _ => merged.push(dim),
            }
        }
        Axis { dims: merged }
    }

    pub(crate) fn len(&self) -> usize {
        self.dims.iter().map(|dim| dim.size).product()
    }

    /// The stride in an operand, if it is the same all along.
    pub(crate) fn stride(&self, operand: usize) -> Option<isize> {
        match self.dims[..] {
            [] => Some(1),
            [dim] => Some(dim.strides[operand]),
            _ => None,
        }
    }

    /// The offset of an index in an operand.
    pub(crate) fn offset(&self, operand: usize, mut index: usize) -> isize {
        let mut offset = 0;
        for dim in self.dims.iter().rev() {
            offset += (index % dim.size) as isize * dim.strides[operand];
            index /= dim.size;
        }
        offset
    }

    /// The offsets of `count` indices from `start` on replace what `into` holds.
    pub(crate) fn offsets(
        &self,
        operand: usize,
        start: usize,
        count: usize,
        into: &mut Vec<isize>,
    ) {
        into.clear();
        if count == 0 {
            return;
        }
        let Some((inner, outer)) = self.dims.split_last() else {
            into.resize(count, 0);
            return;
        };
        let stride = inner.strides[operand];
        if outer.is_empty() {
            into.extend((start..start + count).map(|index| index as isize * stride));
            return;
        }
        let (mut row, mut column) = (start / inner.size, start % inner.size);
        while into.len() < count {
            let mut rest = row;
            let mut base = 0;
            for dim in outer.iter().rev() {
                base += (rest % dim.size) as isize * dim.strides[operand];
                rest /= dim.size;
            }
            let end = inner.size.min(column + count - into.len());
            into.extend((column..end).map(|index| base + index as isize * stride));
            (row, column) = (row + 1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(size: usize, a: isize, b: isize) -> Dim {
        Dim { size, strides: [a, b] }
    }

    #[test]
    fn neighbours_merge_where_both_operands_allow_it() {
        let axis = Axis::new([dim(2, 12, 12), dim(3, 4, 4), dim(1, 9, 9), dim(4, 1, 1)]);
        assert_eq!(axis.dims, [dim(24, 1, 1)]);
        let axis = Axis::new([dim(2, 12, 100), dim(3, 4, 4), dim(4, 1, 1)]);
        assert_eq!(axis.dims, [dim(2, 12, 100), dim(12, 1, 1)]);
        assert_eq!((axis.len(), axis.stride(0), Axis::default().len()), (24, None, 1));
    }

    #[test]
    fn offsets_count_through_dimensions() {
        let axis = Axis::new([dim(2, 100, 0), dim(3, 10, 1), dim(4, 1, 7)]);
        for operand in 0..2 {
            let all: Vec<isize> = (0..24).map(|index| axis.offset(operand, index)).collect();
            for (start, count) in [(0, 24), (3, 5), (11, 13), (23, 1), (5, 0)] {
                let mut some = vec![1];
                axis.offsets(operand, start, count, &mut some);
                assert_eq!(some, all[start..start + count]);
            }
        }
        let mut none = Vec::new();
        Axis::default().offsets(0, 0, 1, &mut none);
        assert_eq!(none, [0]);
    }
}
