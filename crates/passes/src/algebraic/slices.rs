//! Slices with constant bounds.

use rxla_hlo::op::{Broadcast, Pad, Reverse, Slice, SliceDimension, Transpose};
use rxla_hlo::{ArrayShape, InstructionId, Module, Op};

use super::reorder::at;
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Slice => [
        slice_all,
        slice_twice,
        slice_of_broadcast,
        slice_of_iota,
        slice_of_concatenate,
        slice_inside_pad,
        slice_of_padding,
        slice_of_transpose,
        slice_of_reverse,
        slice_one_of_stride,
    ],
};

fn slice(m: &Module, i: InstructionId) -> Option<(&[SliceDimension], InstructionId)> {
    let Op::Slice(op) = &m[i].op else { return None };
    view::static_array(m, i)?;
    Some((&op.slice, view::operand(m, i, 0)))
}

fn is_whole(dimension: &SliceDimension, size: i64) -> bool {
    *dimension == SliceDimension { start: 0, limit: size, stride: 1 }
}

/// `slice(x) => x` of everything
fn slice_all(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, x) = slice(m, i)?;
    view::same_shape(m, x, i).then_some(x)
}

/// `slice(slice(x)) => slice(x)`
fn slice_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (outer, inner) = slice(m, i)?;
    let (within, x) = slice(m, inner)?;
    let composed = outer
        .iter()
        .zip(within)
        .map(|(outer, within)| {
            let place = |index: i64| within.start.checked_add(index.checked_mul(within.stride)?);
            let count = (outer.limit - outer.start + outer.stride - 1) / outer.stride;
            let stride = outer.stride.checked_mul(within.stride)?;
            let start = place(outer.start)?;
            let limit = if count == 0 { start } else { start + (count - 1) * stride + 1 };
            Some(SliceDimension { start, limit, stride })
        })
        .collect::<Option<Vec<_>>>()?;
    // A start beyond the end is no slice, even of nothing.
    let sizes = view::dims(m, x)?;
    composed.iter().zip(sizes).all(|(d, size)| d.limit <= *size).then_some(())?;
    Some(view::add_same(m, i, Slice { slice: composed }, &[x]))
}

/// `slice(broadcast(x)) => broadcast(slice(x))`, and of `x` itself where that is left whole
fn slice_of_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (cut, inner) = slice(m, i)?;
    let Op::Broadcast(Broadcast { dimensions }) = &m[inner].op else { return None };
    let x = view::operand(m, inner, 0);
    let own: Vec<SliceDimension> = dimensions.iter().map(|&d| cut[d as usize]).collect();
    let (shape, sizes) = (view::static_array(m, x)?, view::dims(m, i)?);
    let whole = own.iter().zip(&shape.dims).all(|(d, size)| is_whole(d, *size));
    let shape = ArrayShape::new(shape.element_type, dimensions.iter().map(|&d| at(sizes, d)));
    let op = Broadcast { dimensions: dimensions.clone() };
    let x = if whole { x } else { view::add_with_shape(m, i, Slice { slice: own }, shape, &[x]) };
    Some(view::add_same(m, i, op, &[x]))
}

/// `slice(iota) => iota` where it leaves what is counted whole, or takes its first part
fn slice_of_iota(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (cut, inner) = slice(m, i)?;
    let Op::Iota(iota) = &m[inner].op else { return None };
    let counted = cut[iota.iota_dimension as usize];
    let op = iota.clone();
    (counted.start == 0 && counted.stride == 1).then(|| view::add_same(m, i, op, &[]))
}

/// `slice(concatenate(…, x, …)) => slice(x)` inside of one operand
fn slice_of_concatenate(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (cut, inner) = slice(m, i)?;
    let Op::Concatenate(op) = &m[inner].op else { return None };
    let along = *op.dimensions.first()? as usize;
    let mut begin = 0;
    for &x in m[inner].operands() {
        let end = begin + view::dims(m, x)?[along];
        if cut[along].start >= begin && cut[along].limit <= end && begin < end {
            let mut own = cut.to_vec();
            own[along].start -= begin;
            own[along].limit -= begin;
            return Some(view::add_same(m, i, Slice { slice: own }, &[x]));
        }
        begin = end;
    }
    None
}

/// Per dimension the slice of the padded array, and what pads it.
fn slice_of_pad(
    m: &Module,
    i: InstructionId,
) -> Option<(Vec<(SliceDimension, i64, i64)>, InstructionId)> {
    let (cut, inner) = slice(m, i)?;
    let Op::Pad(Pad { padding }) = &m[inner].op else { return None };
    padding.iter().all(|p| p.interior == 0).then_some(())?;
    let sizes = view::dims(m, view::operand(m, inner, 0))?;
    let found =
        cut.iter().zip(padding).zip(sizes).map(|((cut, p), size)| (*cut, p.low, *size)).collect();
    Some((found, inner))
}

/// `slice(pad(x)) => slice(x)` where no padding is left
fn slice_inside_pad(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (found, pad) = slice_of_pad(m, i)?;
    let own = found
        .iter()
        .map(|(cut, low, size)| {
            let (start, limit) = (cut.start - low, cut.limit - low);
            (start >= 0 && limit <= *size).then_some(SliceDimension {
                start,
                limit,
                stride: cut.stride,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    let x = view::operand(m, pad, 0);
    Some(view::add_same(m, i, Slice { slice: own }, &[x]))
}

/// `slice(pad(x, v)) => broadcast(v)` where only padding is left
fn slice_of_padding(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (found, pad) = slice_of_pad(m, i)?;
    let outside = |(cut, low, size): &(SliceDimension, i64, i64)| {
        cut.limit <= *low || cut.start >= low + size
    };
    found.iter().any(outside).then_some(())?;
    let value = view::operand(m, pad, 1);
    Some(view::add_same(m, i, Op::broadcast([]), &[value]))
}

/// `slice(transpose(x)) => transpose(slice(x))`, fewer elements to move
fn slice_of_transpose(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (cut, inner) = slice(m, i)?;
    let Op::Transpose(Transpose { dimensions }) = &m[inner].op else { return None };
    let x = view::operand(m, inner, 0);
    let (sizes, shape) = (view::dims(m, i)?, view::static_array(m, x)?);
    let mut own = cut.to_vec();
    let mut dims = shape.dims.clone();
    for (to, &from) in dimensions.iter().enumerate() {
        own[from as usize] = cut[to];
        dims[from as usize] = sizes[to];
    }
    let shape = ArrayShape::new(shape.element_type, dims);
    let op = Transpose { dimensions: dimensions.clone() };
    let part = view::add_with_shape(m, i, Slice { slice: own }, shape, &[x]);
    Some(view::add_same(m, i, op, &[part]))
}

/// `slice(reverse(x)) => reverse(slice(x))`, fewer elements to move
fn slice_of_reverse(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (cut, inner) = slice(m, i)?;
    let Op::Reverse(Reverse { dimensions }) = &m[inner].op else { return None };
    let x = view::operand(m, inner, 0);
    let sizes = view::dims(m, x)?;
    let mut own = cut.to_vec();
    for &dimension in dimensions {
        let (cut, size) = (&mut own[dimension as usize], at(sizes, dimension));
        let count = (cut.limit - cut.start + cut.stride - 1) / cut.stride;
        // The last element taken becomes the first one.
        let last = if count == 0 { cut.start } else { cut.start + (count - 1) * cut.stride };
        (count > 0).then_some(())?;
        *cut =
            SliceDimension { start: size - 1 - last, limit: size - cut.start, stride: cut.stride };
    }
    let op = Reverse { dimensions: dimensions.clone() };
    let part = view::add_same(m, i, Slice { slice: own }, &[x]);
    Some(view::add_same(m, i, op, &[part]))
}

/// A stride that takes one element `=> 1`
fn slice_one_of_stride(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (cut, x) = slice(m, i)?;
    let single =
        |d: &SliceDimension| d.stride > 1 && d.limit > d.start && d.limit - d.start <= d.stride;
    cut.iter().any(single).then_some(())?;
    let plain = |d: &SliceDimension| {
        if single(d) {
            SliceDimension { start: d.start, limit: d.start + 1, stride: 1 }
        } else {
            *d
        }
    };
    let own = cut.iter().map(plain).collect();
    Some(view::add_same(m, i, Slice { slice: own }, &[x]))
}
