//! Reductions, and contractions over nothing.

use rxla_hlo::BinaryKind::{Add, And, Maximum, Minimum, Multiply, Or, Xor};
use rxla_hlo::op::{Reduce, Reshape};
use rxla_hlo::{BinaryKind, ComputationId, Dims, ElementType, InstructionId, Module, Op};

use super::integers::integer;
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Reduce => [
        reduce_nothing,
        reduce_ones,
        reduce_twice,
        reduce_of_transpose,
        reduce_of_reverse,
        reduce_of_splat,
        reduce_of_reshape,
    ],
    Dot => [dot_of_nothing],
    Convolution => [convolution_of_nothing],
    Sort => [sort_of_one],
    SelectAndScatter => [select_and_scatter_nothing],
};

/// A reduction of one array: the array, the initial value.
fn reduce(m: &Module, i: InstructionId) -> Option<(&Reduce, InstructionId, InstructionId)> {
    let Op::Reduce(op) = &m[i].op else { return None };
    let [x, init] = *m[i].operands() else { return None };
    view::static_array(m, x)?;
    view::static_array(m, i)?;
    Some((op, x, init))
}

/// What a computation of two scalars does, if it is one operation.
pub(crate) fn reducer(m: &Module, computation: ComputationId) -> Option<BinaryKind> {
    let (kind, [a, b]) = view::any_binary(m, m[computation].root())?;
    let &[x, y] = m[computation].parameters() else { return None };
    ([a, b] == [x, y] || [a, b] == [y, x]).then_some(kind)
}

/// A reduction whose result does not depend on the order, and its kind.
fn exact(m: &Module, i: InstructionId) -> Option<BinaryKind> {
    let (op, _, _) = reduce(m, i)?;
    let kind = reducer(m, op.to_apply)?;
    let ordered = match kind {
        Add | Multiply => integer(m, i).is_none(),
        And | Or => false,
        // Which zero of a signed pair is kept must not depend on the order: max and min tell them
        // apart.
        Maximum | Minimum => view::element_type(m, i)?.is_complex(),
        _ => true,
    };
    (!ordered).then_some(kind)
}

/// `reduce(nothing, init) => broadcast(init)`
fn reduce_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, x, init) = reduce(m, i)?;
    let some = view::static_array(m, i)?.element_count()? > 0;
    (some && view::static_array(m, x)?.element_count()? == 0).then_some(())?;
    Some(view::add_same(m, i, Op::broadcast([]), &[init]))
}

/// Whether `f(x, init)` is `x` to the last bit.
fn is_neutral(m: &Module, kind: BinaryKind, init: InstructionId) -> bool {
    let Some(element_type) = view::element_type(m, init) else { return false };
    let limit = |infinity: f64| element_type.is_float() && view::is_number(m, init, infinity);
    match kind {
        Add => view::is_integer(m, init, 0) || view::is_negative_zero(m, init),
        Multiply => !element_type.is_complex() && view::is_number(m, init, 1.0),
        Or => view::is_integer(m, init, 0),
        And => view::is_true(m, init),
        Maximum => {
            limit(f64::NEG_INFINITY) || element_type == ElementType::Pred && view::is_false(m, init)
        }
        Minimum => {
            limit(f64::INFINITY) || element_type == ElementType::Pred && view::is_true(m, init)
        }
        _ => false,
    }
}

/// `reduce(x, init) => f(init, reshape(x))` along dimensions of size 1, which is `reshape(x)` where `init` is neutral
fn reduce_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (op, x, init) = reduce(m, i)?;
    let same =
        view::static_array(m, x)?.element_count()? == view::static_array(m, i)?.element_count()?;
    let kind = reducer(m, op.to_apply)?;
    let turns = matches!(kind, Add | And | Maximum | Minimum | Multiply | Or | Xor);
    (same && turns).then_some(())?;
    let neutral = is_neutral(m, kind, init);
    let value = view::add_same(m, i, Reshape::default(), &[x]);
    if neutral {
        return Some(value);
    }
    let init = view::add_same(m, i, Op::broadcast([]), &[init]);
    Some(view::add_same(m, i, Op::binary(kind), &[init, value]))
}

/// The dimensions of `x` that a reduction keeps, in order.
fn kept(rank: usize, reduced: &[i64]) -> Dims {
    (0..rank as i64).filter(|dimension| !reduced.contains(dimension)).collect()
}

/// `reduce(reduce(x, neutral), init) => reduce(x, init)`, where order does not matter
fn reduce_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let kind = exact(m, i)?;
    let (outer, inner, init) = reduce(m, i)?;
    (exact(m, inner)? == kind).then_some(())?;
    let (within, x, neutral) = reduce(m, inner)?;
    is_neutral(m, kind, neutral).then_some(())?;
    let left = kept(view::dims(m, x)?.len(), &within.dimensions);
    let mut dimensions = within.dimensions.clone();
    dimensions.extend(outer.dimensions.iter().map(|&dimension| left[dimension as usize]));
    dimensions.sort_unstable();
    let op = Reduce { dimensions, to_apply: outer.to_apply };
    Some(view::add_same(m, i, op, &[x, init]))
}

/// `reduce(transpose(x)) => reduce(x)` where order does not matter and what is kept stays in order
fn reduce_of_transpose(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    exact(m, i)?;
    let (op, inner, init) = reduce(m, i)?;
    let Op::Transpose(transpose) = &m[inner].op else { return None };
    let from = |dimension: &i64| transpose.dimensions[*dimension as usize];
    let left = kept(transpose.dimensions.len(), &op.dimensions);
    left.iter().map(from).is_sorted().then_some(())?;
    let mut dimensions: Dims = op.dimensions.iter().map(from).collect();
    dimensions.sort_unstable();
    let op = Reduce { dimensions, to_apply: op.to_apply };
    let x = view::operand(m, inner, 0);
    Some(view::add_same(m, i, op, &[x, init]))
}

/// `reduce(reverse(x)) => reduce(x)` where order does not matter and only reduced dimensions are
/// reversed
fn reduce_of_reverse(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    exact(m, i)?;
    let (op, inner, init) = reduce(m, i)?;
    let Op::Reverse(reverse) = &m[inner].op else { return None };
    reverse.dimensions.iter().all(|d| op.dimensions.contains(d)).then_some(())?;
    let op = op.clone();
    let x = view::operand(m, inner, 0);
    Some(view::add_same(m, i, op, &[x, init]))
}

/// `max-reduce(broadcast(s), init) => broadcast(max(s, init))`, and min, and, or: repeating changes
/// nothing
fn reduce_of_splat(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let kind @ (Maximum | Minimum | And | Or) = exact(m, i)? else { return None };
    let (_, x, init) = reduce(m, i)?;
    let Op::Broadcast(broadcast) = &m[x].op else { return None };
    let nothing = view::static_array(m, x)?.element_count()? == 0;
    (broadcast.dimensions.is_empty() && !nothing).then_some(())?;
    let scalar = view::operand(m, x, 0);
    let both = view::add_same(m, scalar, Op::binary(kind), &[scalar, init]);
    if view::dims(m, i)?.is_empty() {
        return Some(both);
    }
    Some(view::add_same(m, i, Op::broadcast([]), &[both]))
}

/// `reduce(reshape(x)) => reduce(x)` of everything, where order does not matter
fn reduce_of_reshape(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    exact(m, i)?;
    let (op, inner, init) = reduce(m, i)?;
    let Op::Reshape(_) = m[inner].op else { return None };
    let x = view::operand(m, inner, 0);
    let rank = view::dims(m, x)?.len();
    (view::dims(m, i)?.is_empty() && rank > 0).then_some(())?;
    let op = Reduce { dimensions: (0..rank as i64).collect(), to_apply: op.to_apply };
    Some(view::add_same(m, i, op, &[x, init]))
}

/// `dot` over nothing, or of nothing `=> 0`
fn dot_of_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(_) = m[i].op else { return None };
    of_nothing(m, i)
}

/// `convolution` of no images or features, or with no taps `=> 0`; what has no elements but has padding is zeros, and their
/// products with taps that are not finite are not zero
fn convolution_of_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Convolution(op) = &m[i].op else { return None };
    let labels = &op.dim_labels;
    let image = view::dims(m, view::operand(m, i, 0))?;
    let has_elements = |at: &i64| image[*at as usize] > 0;
    let window = view::static_array(m, view::operand(m, i, 1))?.element_count()?;
    let all_padding = view::static_array(m, i)?.element_count()? * window > 0
        && [labels.input_batch, labels.input_feature].iter().all(has_elements)
        && !labels.input_spatial.iter().all(has_elements);
    if all_padding {
        return None;
    }
    of_nothing(m, i)
}

fn of_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let empty = |x: &InstructionId| Some(view::static_array(m, *x)?.element_count()? == 0);
    m[i].operands().iter().filter_map(empty).any(|empty| empty).then_some(())?;
    view::splat_number(m, i, 0.0)
}

/// `sort(x) => x` along a dimension of size 1
fn sort_of_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Sort(op) = &m[i].op else { return None };
    let [x] = *m[i].operands() else { return None };
    let along = usize::try_from(*op.dimensions.first()?).ok()?;
    (view::dims(m, x)?[along] <= 1).then_some(x)
}

/// `select-and-scatter(x, nothing, init) => broadcast(init)`
fn select_and_scatter_nothing(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::SelectAndScatter(_) = m[i].op else { return None };
    let [_, source, init] = *m[i].operands() else { return None };
    view::static_array(m, i)?;
    (view::static_array(m, source)?.element_count()? == 0).then_some(())?;
    Some(view::add_same(m, i, Op::broadcast([]), &[init]))
}
