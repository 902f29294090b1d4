//! Concatenation and padding.

use rxla_hlo::op::{Concatenate, Pad, PaddingDimension, Slice, SliceDimension};
use rxla_hlo::{InstructionId, Module, Op};
use smallvec::SmallVec;

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Concatenate => [
        concatenate_one,
        concatenate_nothing,
        concatenate_nested,
        concatenate_adjacent_slices,
        concatenate_splats,
        concatenate_with_splat,
    ],
    Pad => [pad_nothing, pad_only_cuts, pad_of_empty, pad_splat_with_itself, pad_twice],
};

type Operands = SmallVec<[InstructionId; 4]>;

fn concatenate(m: &Module, i: InstructionId) -> Option<(usize, Operands)> {
    let Op::Concatenate(op) = &m[i].op else { return None };
    view::static_array(m, i)?;
    Some((usize::try_from(*op.dimensions.first()?).ok()?, m[i].operands().into()))
}

fn joined(
    m: &mut Module,
    i: InstructionId,
    along: usize,
    parts: &[InstructionId],
) -> InstructionId {
    view::add_same(m, i, Concatenate { dimensions: [along as i64].into_iter().collect() }, parts)
}

/// `concatenate(x) => x`
fn concatenate_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, operands) = concatenate(m, i)?;
    let [x] = operands[..] else { return None };
    Some(x)
}

/// `concatenate(x, nothing, y) => concatenate(x, y)`
fn concatenate_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (along, operands) = concatenate(m, i)?;
    let mut kept = Operands::new();
    for &x in &operands {
        if view::dims(m, x)?[along] != 0 {
            kept.push(x);
        }
    }
    if kept.is_empty() {
        return Some(operands[0]).filter(|_| operands.len() > 1);
    }
    (kept.len() < operands.len()).then(|| joined(m, i, along, &kept))
}

/// `concatenate(concatenate(x, y), z) => concatenate(x, y, z)`, if nothing else needs the inner one
fn concatenate_nested(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (along, operands) = concatenate(m, i)?;
    let mut flat = Operands::new();
    for &x in &operands {
        match concatenate(m, x) {
            Some((inner, parts)) if inner == along && view::only_user(m, x).is_some() => {
                flat.extend(parts);
            }
            _ => flat.push(x),
        }
    }
    (flat != operands).then(|| joined(m, i, along, &flat))
}

/// `concatenate(x[a:b], x[b:c]) => x[a:c]`
fn concatenate_adjacent_slices(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (along, operands) = concatenate(m, i)?;
    let cut = |m: &Module, x: InstructionId| {
        let Op::Slice(op) = &m[x].op else { return None };
        Some((op.slice.clone(), view::operand(m, x, 0)))
    };
    let adjacent = |a: &[SliceDimension], b: &[SliceDimension]| {
        a.iter().zip(b).enumerate().all(|(d, (a, b))| {
            if d == along { a.stride == 1 && b.stride == 1 && a.limit == b.start } else { a == b }
        })
    };
    let place = operands.windows(2).position(|pair| {
        let (Some((a, x)), Some((b, y))) = (cut(m, pair[0]), cut(m, pair[1])) else { return false };
        x == y && adjacent(&a, &b)
    })?;
    let ((mut first, x), (second, _)) = (cut(m, operands[place])?, cut(m, operands[place + 1])?);
    first[along].limit = second[along].limit;
    let mut shape = view::static_array(m, operands[place])?.without_layout();
    shape.dims[along] = first[along].limit - first[along].start;
    let both = view::add_with_shape(m, i, Slice { slice: first }, shape, &[x]);
    let mut parts = operands;
    parts[place] = both;
    parts.remove(place + 1);
    Some(joined(m, i, along, &parts))
}

/// `concatenate(broadcast(s), broadcast(s)) => broadcast(s)`
fn concatenate_splats(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, operands) = concatenate(m, i)?;
    let scalar = view::broadcast_scalar(m, operands[0])?;
    operands.iter().all(|&x| view::broadcast_scalar(m, x) == Some(scalar)).then_some(())?;
    Some(view::add_same(m, i, Op::broadcast([]), &[scalar]))
}

/// `concatenate(x, broadcast(s)) => pad(x, s)`, and in front
fn concatenate_with_splat(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (along, operands) = concatenate(m, i)?;
    let [a, b] = operands[..] else { return None };
    let (x, scalar, before) = match (view::broadcast_scalar(m, a), view::broadcast_scalar(m, b)) {
        (None, Some(scalar)) => (a, scalar, false),
        (Some(scalar), None) => (b, scalar, true),
        _ => return None,
    };
    let size = view::dims(m, if before { a } else { b })?[along];
    let mut padding = vec![PaddingDimension::default(); view::dims(m, i)?.len()];
    if before {
        padding[along].low = size;
    } else {
        padding[along].high = size;
    }
    Some(view::add_same(m, i, Pad { padding }, &[x, scalar]))
}

fn pad(
    m: &Module,
    i: InstructionId,
) -> Option<(&[PaddingDimension], InstructionId, InstructionId)> {
    let Op::Pad(op) = &m[i].op else { return None };
    view::static_array(m, i)?;
    Some((&op.padding, view::operand(m, i, 0), view::operand(m, i, 1)))
}

/// `pad(x, v) => x` by nothing
fn pad_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (padding, x, _) = pad(m, i)?;
    let sizes = view::dims(m, x)?;
    let nothing = |(p, size): (&PaddingDimension, &i64)| {
        p.low == 0 && p.high == 0 && (p.interior == 0 || *size <= 1)
    };
    padding.iter().zip(sizes).all(nothing).then_some(x)
}

/// `pad(x, v) => slice(x)` where it only takes away
fn pad_only_cuts(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (padding, x, _) = pad(m, i)?;
    let cuts = |p: &PaddingDimension| p.low <= 0 && p.high <= 0 && p.interior == 0;
    padding.iter().all(cuts).then_some(())?;
    let sizes = view::dims(m, x)?;
    let slice: Vec<SliceDimension> = padding
        .iter()
        .zip(sizes)
        .map(|(p, size)| SliceDimension { start: -p.low, limit: size + p.high, stride: 1 })
        .collect();
    slice.iter().all(|d| d.start <= d.limit).then_some(())?;
    Some(view::add_same(m, i, Slice { slice }, &[x]))
}

/// `pad(nothing, v) => broadcast(v)`
fn pad_of_empty(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, x, value) = pad(m, i)?;
    (view::static_array(m, x)?.element_count()? == 0).then_some(())?;
    Some(view::add_same(m, i, Op::broadcast([]), &[value]))
}

/// `pad(broadcast(v), v) => broadcast(v)`
fn pad_splat_with_itself(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, x, value) = pad(m, i)?;
    let same = view::broadcast_scalar(m, x) == Some(value) || {
        let (x, value) = (view::splat(m, x)?, view::splat(m, value)?);
        x.bytes() == value.bytes()
    };
    same.then(|| view::add_same(m, i, Op::broadcast([]), &[value]))
}

/// `pad(pad(x, v), v) => pad(x, v)`, where neither takes away nor spreads
fn pad_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (outer, inner, value) = pad(m, i)?;
    let (padding, x, other) = pad(m, inner)?;
    let adds = |p: &PaddingDimension| p.low >= 0 && p.high >= 0 && p.interior == 0;
    (value == other && outer.iter().chain(padding).all(adds)).then_some(())?;
    let padding = outer
        .iter()
        .zip(padding)
        .map(|(a, b)| {
            let (low, high) = (a.low.checked_add(b.low)?, a.high.checked_add(b.high)?);
            Some(PaddingDimension { low, high, interior: 0 })
        })
        .collect::<Option<_>>()?;
    Some(view::add_same(m, i, Pad { padding }, &[x, value]))
}
