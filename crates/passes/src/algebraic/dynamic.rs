//! Slices whose place is a value, gathers and scatters.

use rxla_hlo::op::{DynamicUpdateSlice, Pad, PaddingDimension, Reshape, Slice, SliceDimension};
use rxla_hlo::{
    ArrayLiteral, BinaryKind, ComputationId, InstructionId, Literal, Module, Op, Shape,
};

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    DynamicSlice => [
        dynamic_slice_all,
        dynamic_slice_constant,
        dynamic_slice_of_splat,
        dynamic_slice_of_update,
    ],
    DynamicUpdateSlice => [
        update_all,
        update_nothing,
        update_with_own_slice,
        update_twice,
        update_of_splat,
    ],
    Gather => [gather_of_splat],
    Scatter => [scatter_nothing, scatter_constant],
};

/// What is sliced and the start indices, one scalar per dimension.
fn dynamic_slice(m: &Module, i: InstructionId) -> Option<(InstructionId, &[InstructionId])> {
    let Op::DynamicSlice(_) = &m[i].op else { return None };
    view::static_array(m, i)?;
    let (x, starts) = m[i].operands().split_first()?;
    scalars(m, *x, starts)?;
    Some((*x, starts))
}

/// What is updated, with what, and the start indices.
fn update(
    m: &Module,
    i: InstructionId,
) -> Option<(InstructionId, InstructionId, &[InstructionId])> {
    let Op::DynamicUpdateSlice(_) = &m[i].op else { return None };
    view::static_array(m, i)?;
    let [x, part, starts @ ..] = m[i].operands() else { return None };
    scalars(m, *x, starts)?;
    Some((*x, *part, starts))
}

/// The old form with one vector of indices is left alone.
fn scalars(m: &Module, x: InstructionId, starts: &[InstructionId]) -> Option<()> {
    (view::dims(m, x)?.len() == starts.len()).then_some(())
}

/// `dynamic-slice(x, …) => x` of everything: starts are clamped to 0
fn dynamic_slice_all(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, _) = dynamic_slice(m, i)?;
    view::same_shape(m, x, i).then_some(x)
}

/// `dynamic-slice(x, c, …) => slice(x)`, starts clamped
fn dynamic_slice_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, starts) = dynamic_slice(m, i)?;
    let slice = slice_at(&constant_starts(m, x, i, starts)?, view::dims(m, i)?);
    Some(view::add_same(m, i, Slice { slice }, &[x]))
}

/// The slice of these sizes that begins there.
fn slice_at(starts: &[i64], sizes: &[i64]) -> Vec<SliceDimension> {
    let dimension =
        |(&start, size): (&i64, &i64)| SliceDimension { start, limit: start + size, stride: 1 };
    starts.iter().zip(sizes).map(dimension).collect()
}

/// Where a part of an array begins, as numbers, moved so that the part lies inside.
fn constant_starts(
    m: &Module,
    array: InstructionId,
    part: InstructionId,
    starts: &[InstructionId],
) -> Option<Vec<i64>> {
    let sizes = view::dims(m, array)?.iter().zip(view::dims(m, part)?);
    let clamped = |(&start, (size, wanted)): (&InstructionId, (&i64, &i64))| {
        Some(constant_start(m, start)?.clamp(0, size - wanted))
    };
    starts.iter().zip(sizes).map(clamped).collect()
}

/// A start index as a number; a `u64` beyond `i64` is beyond every end.
fn constant_start(m: &Module, i: InstructionId) -> Option<i64> {
    let value = view::constant(m, i)?;
    Some(value.integer(0).unwrap_or(i64::MAX))
}

/// `dynamic-slice(broadcast(s), …) => broadcast(s)`
fn dynamic_slice_of_splat(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, _) = dynamic_slice(m, i)?;
    let scalar = view::broadcast_scalar(m, x)?;
    Some(view::add_same(m, i, Op::broadcast([]), &[scalar]))
}

/// `dynamic-slice(dynamic-update-slice(x, y, at), at) => y`, as large
fn dynamic_slice_of_update(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (updated, starts) = dynamic_slice(m, i)?;
    let (_, part, places) = update(m, updated)?;
    (starts == places && view::same_shape(m, part, i)).then_some(part)
}

/// `dynamic-update-slice(x, y, …) => y` where `y` is as large
fn update_all(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, part, _) = update(m, i)?;
    view::same_shape(m, x, part).then_some(part)
}

/// `dynamic-update-slice(x, nothing, …) => x`
fn update_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, part, _) = update(m, i)?;
    (view::static_array(m, part)?.element_count()? == 0).then_some(x)
}

/// `dynamic-update-slice(x, dynamic-slice(x, at), at) => x`
fn update_with_own_slice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, part, starts) = update(m, i)?;
    let (source, places) = dynamic_slice(m, part)?;
    (source == x && starts == places).then_some(x)
}

/// `dynamic-update-slice(dynamic-update-slice(x, y, at), z, at) => dynamic-update-slice(x, z, at)`,
/// as large
fn update_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (inner, part, starts) = update(m, i)?;
    let (x, replaced, places) = update(m, inner)?;
    (starts == places && view::same_shape(m, part, replaced)).then_some(())?;
    let mut operands = vec![x, part];
    operands.extend_from_slice(starts);
    Some(view::add_same(m, i, DynamicUpdateSlice {}, &operands))
}

/// `dynamic-update-slice(broadcast(s), y, c, …) => pad(y, s)`, starts clamped
fn update_of_splat(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (x, part, starts) = update(m, i)?;
    let scalar = view::broadcast_scalar(m, x)?;
    let sizes = view::dims(m, x)?.iter().zip(view::dims(m, part)?);
    let padding = constant_starts(m, x, part, starts)?
        .into_iter()
        .zip(sizes)
        .map(|(low, (size, own))| PaddingDimension { low, high: size - own - low, interior: 0 })
        .collect();
    Some(view::add_same(m, i, Pad { padding }, &[part, scalar]))
}

/// `gather(broadcast(s), …) => broadcast(s)`: indices are clamped
fn gather_of_splat(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Gather(_) = &m[i].op else { return None };
    let x = view::operand(m, i, 0);
    let scalar = view::broadcast_scalar(m, x)?;
    (view::static_array(m, x)?.element_count()? > 0).then_some(())?;
    view::static_array(m, i)?;
    Some(view::add_same(m, i, Op::broadcast([]), &[scalar]))
}

/// `scatter(x, indices, nothing) => x`
fn scatter_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Scatter(_) = &m[i].op else { return None };
    let [x, _, updates] = *m[i].operands() else { return None };
    (view::static_array(m, updates)?.element_count()? == 0).then_some(x)
}

/// `scatter(x, c, y) => dynamic-update-slice(x, y, c, …)` of a single window, which is combined with what is there:
/// `=> x` if it does not lie inside
fn scatter_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Scatter(op) = &m[i].op else { return None };
    let &[x, indices, updates] = m[i].operands() else { return None };
    let sizes = view::static_array(m, i)?.dims.clone();
    let ty = view::static_array(m, updates)?.element_type;
    if view::element_type(m, x) != Some(ty) {
        return None;
    }
    let window = view::scatter_window(m, i)?;
    let count = |sizes: &[i64]| sizes.iter().product::<i64>();
    if !op.input_batching_dims.is_empty() || count(&window) != count(view::dims(m, updates)?) {
        return None;
    }
    let mut starts = vec![0; sizes.len()];
    let place = match view::splat(m, indices) {
        Some(all) => {
            vec![all.integer(0).unwrap_or(i64::MAX); op.scatter_dims_to_operand_dims.len()]
        }
        None => {
            let place = view::constant(m, indices)?;
            (0..place.len()).map(|at| place.integer(at).unwrap_or(i64::MAX)).collect()
        }
    };
    for (&dimension, start) in op.scatter_dims_to_operand_dims.iter().zip(place) {
        starts[dimension as usize] = start;
    }
    let combine = combiner(m, op.to_apply)?;
    let mut fits = starts.iter().zip(sizes.iter().zip(&window));
    if !fits.all(|(&start, (size, wanted))| (0..=size - wanted).contains(&start)) {
        return Some(x);
    }
    let shape = Shape::array(ty, window.clone());
    let mut part = updates;
    if view::dims(m, updates) != Some(&window) {
        part = view::add_with_shape(m, i, Reshape::default(), shape.clone(), &[updates]);
    }
    if let Some((kind, turned)) = combine {
        let slice = slice_at(&starts, &window);
        let there = view::add_with_shape(m, i, Slice { slice }, shape.clone(), &[x]);
        let operands = if turned { [part, there] } else { [there, part] };
        part = view::add_with_shape(m, i, Op::binary(kind), shape, &operands);
    }
    let parent = m[i].parent();
    let mut operands = vec![x, part];
    for start in starts {
        let start = Literal::Array(ArrayLiteral::scalar(start));
        operands.push(m.add_constant(parent, start));
    }
    Some(view::add_same(m, i, DynamicUpdateSlice {}, &operands))
}

/// How a scatter combines what is there and what comes: `Some(None)` if the latter replaces it, else an operation, and
/// whether what comes stands before what is there.
pub(super) fn combiner(m: &Module, region: ComputationId) -> Option<Option<(BinaryKind, bool)>> {
    let root = m[region].root();
    let number = |id: InstructionId| match &m[id].op {
        Op::Parameter(parameter) => Some(parameter.number),
        _ => None,
    };
    if let Some((kind, [a, b])) = view::any_binary(m, root) {
        return match (number(a)?, number(b)?) {
            (0, 1) => Some(Some((kind, false))),
            (1, 0) => Some(Some((kind, true))),
            _ => None,
        };
    }
    (number(root)? == 1).then_some(None)
}
