//! Reshapes, broadcasts, transposes, reversals and iotas.

use rxla_hlo::op::{Broadcast, Dot, Iota, Reshape, Reverse, Transpose};
use rxla_hlo::{Dims, InstructionId, Literal, Module, Op};

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Reshape => [
        reshape_to_same,
        reshape_twice,
        reshape_constant,
        reshape_of_scalar_broadcast,
        reshape_of_broadcast,
    ],
    Broadcast => [broadcast_to_same, broadcast_twice, broadcast_adds_ones, broadcast_of_reshape],
    Transpose => [
        transpose_nothing,
        transpose_twice,
        transpose_of_broadcast,
        transpose_of_iota,
        transpose_of_new_ones,
        transpose_of_ones,
        transpose_of_reverse,
        transpose_of_product,
    ],
    Reverse => [reverse_nothing, reverse_ones, reverse_twice, reverse_of_broadcast],
    Iota => [iota_of_one, iota_along_many],
};

/// Dimension numbers are checked by the verifier to be within the rank.
pub(super) fn at(dims: &[i64], index: i64) -> i64 {
    dims[index as usize]
}

fn reshaped(m: &Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Reshape(_) = m[i].op else { return None };
    view::static_array(m, i)?;
    let x = view::operand(m, i, 0);
    view::static_array(m, x)?;
    Some(x)
}

fn broadcast(m: &Module, i: InstructionId) -> Option<(&Dims, InstructionId)> {
    let Op::Broadcast(op) = &m[i].op else { return None };
    view::static_array(m, i)?;
    Some((&op.dimensions, view::operand(m, i, 0)))
}

fn transposed(m: &Module, i: InstructionId) -> Option<(&Dims, InstructionId)> {
    let Op::Transpose(op) = &m[i].op else { return None };
    Some((&op.dimensions, view::operand(m, i, 0)))
}

fn reversed(m: &Module, i: InstructionId) -> Option<(&Dims, InstructionId)> {
    let Op::Reverse(op) = &m[i].op else { return None };
    Some((&op.dimensions, view::operand(m, i, 0)))
}

/// `reshape(x) => x` to the shape it has
fn reshape_to_same(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let x = reshaped(m, i)?;
    view::same_shape(m, x, i).then_some(x)
}

/// `reshape(reshape(x)) => reshape(x)`
fn reshape_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let x = reshaped(m, reshaped(m, i)?)?;
    Some(view::add_same(m, i, Reshape::default(), &[x]))
}

/// `reshape(constant) => constant`, of the same bytes
fn reshape_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let literal = view::constant(m, reshaped(m, i)?)?.clone();
    let shape = view::static_array(m, i)?.without_layout();
    let literal = literal.with_shape(&shape).ok()?;
    let parent = m[i].parent();
    Some(m.add_constant(parent, Literal::Array(literal)))
}

/// `reshape(broadcast(scalar)) => broadcast(scalar)`
fn reshape_of_scalar_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, scalar) = broadcast(m, reshaped(m, i)?)?;
    dimensions.is_empty().then_some(())?;
    Some(view::add_same(m, i, Op::broadcast([]), &[scalar]))
}

/// Where each dimension of `from` goes if `to` differs only in dimensions of size 1, which stand
/// somewhere else. `None` for a dimension of size 1.
fn matching(from: &[i64], to: &[i64]) -> Option<Vec<Option<i64>>> {
    let mut places = (0..).zip(to).filter(|(_, size)| **size != 1);
    let mut found = Vec::with_capacity(from.len());
    for &size in from {
        if size == 1 {
            found.push(None);
            continue;
        }
        let (place, &other) = places.next()?;
        (other == size).then_some(())?;
        found.push(Some(place));
    }
    places.next().is_none().then_some(found)
}

/// `reshape(broadcast(x)) => broadcast(x)` where the reshape only puts in or takes out ones that
/// `x` does not have
fn reshape_of_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = reshaped(m, i)?;
    let (dimensions, x) = broadcast(m, inner)?;
    let places = matching(view::dims(m, inner)?, view::dims(m, i)?)?;
    let dimensions: Option<Dims> =
        dimensions.iter().map(|&dimension| places[dimension as usize]).collect();
    Some(view::add_same(m, i, Broadcast { dimensions: dimensions? }, &[x]))
}

/// `broadcast(x) => x` to the shape it has, in order
fn broadcast_to_same(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, x) = broadcast(m, i)?;
    (view::same_shape(m, x, i) && dimensions.is_sorted()).then_some(x)
}

/// `broadcast(broadcast(x)) => broadcast(x)`
fn broadcast_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (outer, inner) = broadcast(m, i)?;
    let (dimensions, x) = broadcast(m, inner)?;
    let dimensions: Dims = dimensions.iter().map(|&dimension| at(outer, dimension)).collect();
    Some(view::add_same(m, i, Broadcast { dimensions }, &[x]))
}

/// `broadcast(x) => reshape(x)` where it adds only dimensions of size 1
fn broadcast_adds_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, x) = broadcast(m, i)?;
    let same =
        view::static_array(m, x)?.element_count()? == view::static_array(m, i)?.element_count()?;
    let nothing = view::static_array(m, i)?.element_count()? == 0;
    (same && !nothing && dimensions.is_sorted()).then_some(())?;
    Some(view::add_same(m, i, Reshape::default(), &[x]))
}

/// `broadcast(reshape(x)) => broadcast(x)` where the reshape only puts in ones
fn broadcast_of_reshape(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (outer, inner) = broadcast(m, i)?;
    let x = reshaped(m, inner)?;
    let places = matching(view::dims(m, x)?, view::dims(m, inner)?)?;
    let dimensions: Option<Dims> =
        places.iter().map(|place| place.map(|place| at(outer, place))).collect();
    Some(view::add_same(m, i, Broadcast { dimensions: dimensions? }, &[x]))
}

/// `transpose(x) => x` where it leaves the order
fn transpose_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, x) = transposed(m, i)?;
    dimensions.is_sorted().then_some(x)
}

/// `transpose(transpose(x)) => transpose(x)`
fn transpose_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (outer, inner) = transposed(m, i)?;
    let (dimensions, x) = transposed(m, inner)?;
    let dimensions: Dims = outer.iter().map(|&dimension| at(dimensions, dimension)).collect();
    Some(view::add_same(m, i, Transpose { dimensions }, &[x]))
}

/// `transpose(broadcast(x)) => broadcast(x)`
fn transpose_of_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (order, inner) = transposed(m, i)?;
    let (dimensions, x) = broadcast(m, inner)?;
    let dimensions: Option<Dims> = dimensions
        .iter()
        .map(|&dimension| order.iter().position(|&from| from == dimension).map(|to| to as i64))
        .collect();
    Some(view::add_same(m, i, Broadcast { dimensions: dimensions? }, &[x]))
}

/// `transpose(iota) => iota`
fn transpose_of_iota(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (order, inner) = transposed(m, i)?;
    let Op::Iota(iota) = &m[inner].op else { return None };
    let iota_dimension = order.iter().position(|&from| from == iota.iota_dimension)? as i64;
    Some(view::add_same(m, i, Iota { iota_dimension }, &[]))
}

/// `transpose(reshape(x)) => reshape(transpose(x))` where the reshape only puts in or takes out ones
fn transpose_of_new_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, inner) = transposed(m, i)?;
    view::static_array(m, i)?;
    let x = reshaped(m, inner)?;
    let from = view::dims(m, x)?;
    let places = matching(from, view::dims(m, inner)?)?;
    let at = |&place: &i64| (0..).zip(&places).find(|(_, own)| **own == Some(place));
    let ones = (0..).zip(from).filter(|(_, size)| **size == 1).map(|(dimension, _)| dimension);
    let others = dimensions.iter().filter_map(|place| at(place).map(|(dimension, _)| dimension));
    let dimensions: Dims = ones.chain(others).collect();
    let moved = view::add(m, i, Transpose { dimensions }, &[x]);
    Some(view::add_same(m, i, Reshape::default(), &[moved]))
}

/// `transpose(x) => reshape(x)` where it only moves dimensions of size 1
fn transpose_of_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (order, x) = transposed(m, i)?;
    let dims = view::dims(m, x)?;
    order.iter().filter(|&&dimension| at(dims, dimension) != 1).is_sorted().then_some(())?;
    Some(view::add_same(m, i, Reshape::default(), &[x]))
}

/// `transpose(dot(x, y)) => dot(y, x)`, as of gradients of weights
fn transpose_of_product(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (order, inner) = transposed(m, i)?;
    let Op::Dot(op) = &m[inner].op else { return None };
    if view::only_user(m, inner) != Some(i) || view::is_root(m, inner) {
        return None;
    }
    let [x, y] = [view::operand(m, inner, 0), view::operand(m, inner, 1)];
    let batch = op.lhs_batch_dims.len();
    let end = view::dims(m, x)?.len() - op.lhs_contracting_dims.len();
    let turned = (0..batch).chain(end..order.len()).chain(batch..end);
    if !turned.eq(order.iter().map(|&dimension| dimension as usize)) {
        return None;
    }
    let mut operand_precision = op.operand_precision.clone();
    operand_precision.reverse();
    let op = Dot {
        lhs_batch_dims: op.rhs_batch_dims.clone(),
        lhs_contracting_dims: op.rhs_contracting_dims.clone(),
        rhs_batch_dims: op.lhs_batch_dims.clone(),
        rhs_contracting_dims: op.lhs_contracting_dims.clone(),
        operand_precision,
        ..(**op).clone()
    };
    let (op, shape) = (Op::Dot(Box::new(op)), m[i].shape.clone());
    Some(m.add_like(inner, op, shape, &[y, x]))
}

/// `transpose(reverse(x)) => reverse(transpose(x))`, so that transposes meet
fn transpose_of_reverse(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (order, inner) = transposed(m, i)?;
    let (dimensions, x) = reversed(m, inner)?;
    view::only_user(m, inner)?;
    let mut dimensions = dimensions
        .iter()
        .map(|&dimension| order.iter().position(|&from| from == dimension).map(|to| to as i64))
        .collect::<Option<Dims>>()?;
    dimensions.sort_unstable();
    let op = m[i].op.clone();
    let turned = view::add_same(m, i, op, &[x]);
    Some(view::add_same(m, i, Reverse { dimensions }, &[turned]))
}

/// `reverse(x) => x` along no dimension
fn reverse_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, x) = reversed(m, i)?;
    dimensions.is_empty().then_some(x)
}

/// `reverse(x)` not along dimensions of size 1
fn reverse_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (dimensions, x) = reversed(m, i)?;
    let sizes = view::dims(m, x)?;
    let kept: Dims = dimensions.iter().copied().filter(|&d| at(sizes, d) != 1).collect();
    (kept.len() < dimensions.len()).then_some(())?;
    Some(view::add_same(m, i, Reverse { dimensions: kept }, &[x]))
}

/// `reverse(reverse(x)) => reverse(x)` along the dimensions that only one reverses
fn reverse_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (outer, inner) = reversed(m, i)?;
    let (dimensions, x) = reversed(m, inner)?;
    let only = |a: &Dims, b: &Dims| a.iter().copied().filter(|d| !b.contains(d)).collect::<Dims>();
    let mut kept = only(outer, dimensions);
    kept.extend(only(dimensions, outer));
    kept.sort_unstable();
    if kept.is_empty() {
        return Some(x);
    }
    Some(view::add_same(m, i, Reverse { dimensions: kept }, &[x]))
}

/// `reverse(broadcast(x)) => broadcast(x)` along dimensions that `x` does not have
fn reverse_of_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (reversed, inner) = reversed(m, i)?;
    let (dimensions, _) = broadcast(m, inner)?;
    let kept: Dims = reversed.iter().copied().filter(|d| dimensions.contains(d)).collect();
    if kept.is_empty() {
        return Some(inner);
    }
    (kept.len() < reversed.len()).then_some(())?;
    Some(view::add_same(m, i, Reverse { dimensions: kept }, &[inner]))
}

/// `iota => 0` along a dimension of size 1
fn iota_of_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Iota(iota) = &m[i].op else { return None };
    (at(view::dims(m, i)?, iota.iota_dimension) == 1).then_some(())?;
    view::splat_number(m, i, 0.0)
}

/// `iota` of several dimensions `=> broadcast(iota)` of one
fn iota_along_many(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Iota(iota) = &m[i].op else { return None };
    let shape = view::static_array(m, i)?;
    (shape.rank() > 1).then_some(())?;
    let dimension = iota.iota_dimension;
    let line = rxla_hlo::ArrayShape::new(shape.element_type, [at(&shape.dims, dimension)]);
    let line = view::add_with_shape(m, i, Iota { iota_dimension: 0 }, line, &[]);
    Some(view::add_same(m, i, Op::broadcast([dimension]), &[line]))
}
