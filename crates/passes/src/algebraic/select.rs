//! Choices: `select`.

use rxla_hlo::BinaryKind::{And, Maximum, Minimum, Or};
use rxla_hlo::UnaryKind::Not;
use rxla_hlo::op::ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
use rxla_hlo::op::Convert;
use rxla_hlo::{ElementType, InstructionId, Module, Op};

use super::integers::integer;
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Select => [
        select_same,
        select_constant,
        select_not,
        select_truth,
        select_and,
        select_or,
        select_and_not,
        select_or_not,
        select_one_or_zero,
        select_zero_or_one,
        select_select_on_true,
        select_select_on_false,
        select_equal,
        select_smaller,
        select_common_operation,
        select_of_broadcast_condition,
    ],
};

fn select(m: &Module, i: InstructionId) -> Option<[InstructionId; 3]> {
    let Op::Select(_) = m[i].op else { return None };
    m[i].operands().try_into().ok()
}

/// The operands where the condition has the result's shape, or both are scalars: what is chosen is
/// then chosen element by element.
fn elementwise(m: &Module, i: InstructionId) -> Option<[InstructionId; 3]> {
    let found = select(m, i)?;
    let (p, shape) = (m[found[0]].shape.as_array()?, m[i].shape.as_array()?);
    p.same_dims(shape).then_some(found)
}

fn truths(m: &Module, i: InstructionId) -> Option<[InstructionId; 3]> {
    let found = elementwise(m, i)?;
    (view::element_type(m, i)? == ElementType::Pred).then_some(found)
}

/// `select(p, x, x) => x`
fn select_same(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [_, x, y] = select(m, i)?;
    (x == y).then_some(x)
}

/// `select(true, x, y) => x`, `select(false, x, y) => y`
fn select_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = select(m, i)?;
    if view::is_true(m, p) { Some(x) } else { view::is_false(m, p).then_some(y) }
}

/// `select(~p, x, y) => select(p, y, x)`
fn select_not(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = select(m, i)?;
    let p = view::unary(m, p, Not)?;
    let op = m[i].op.clone();
    Some(view::add_same(m, i, op, &[p, y, x]))
}

/// `select(p, true, false) => p`, `select(p, false, true) => ~p`
fn select_truth(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = truths(m, i)?;
    if view::is_true(m, x) && view::is_false(m, y) {
        return Some(p);
    }
    let reversed = view::is_false(m, x) && view::is_true(m, y);
    reversed.then(|| view::add_same(m, i, Op::unary(Not), &[p]))
}

/// `select(p, x, false) => p & x`
fn select_and(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = truths(m, i)?;
    view::is_false(m, y).then(|| view::add_same(m, i, Op::binary(And), &[p, x]))
}

/// `select(p, true, y) => p | y`
fn select_or(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = truths(m, i)?;
    view::is_true(m, x).then(|| view::add_same(m, i, Op::binary(Or), &[p, y]))
}

/// `select(p, false, y) => ~p & y`
fn select_and_not(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = truths(m, i)?;
    view::is_false(m, x).then(|| {
        let not = view::add_same(m, i, Op::unary(Not), &[p]);
        view::add_same(m, i, Op::binary(And), &[not, y])
    })
}

/// `select(p, x, true) => ~p | x`
fn select_or_not(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = truths(m, i)?;
    view::is_true(m, y).then(|| {
        let not = view::add_same(m, i, Op::unary(Not), &[p]);
        view::add_same(m, i, Op::binary(Or), &[not, x])
    })
}

/// `select(p, 1, 0) => convert(p)`, of integers and floats
fn select_one_or_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = elementwise(m, i)?;
    number(m, i)?;
    let applies = view::is_number(m, x, 1.0) && view::is_positive_zero(m, y);
    applies.then(|| view::add_same(m, i, Convert {}, &[p]))
}

fn number(m: &Module, i: InstructionId) -> Option<ElementType> {
    view::element_type(m, i).filter(|t| !t.is_complex() && *t != ElementType::Pred)
}

/// `select(p, 0, 1) => convert(~p)`, of integers and floats
fn select_zero_or_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = elementwise(m, i)?;
    number(m, i)?;
    let applies = view::is_positive_zero(m, x) && view::is_number(m, y, 1.0);
    applies.then(|| {
        let not = view::add(m, i, Op::unary(Not), &[p]);
        view::add_same(m, i, Convert {}, &[not])
    })
}

/// `select(p, select(p, x, y), z) => select(p, x, z)`
fn select_select_on_true(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, inner, z] = select(m, i)?;
    let [q, x, _] = select(m, inner)?;
    let op = m[i].op.clone();
    (p == q).then(|| view::add_same(m, i, op, &[p, x, z]))
}

/// `select(p, x, select(p, y, z)) => select(p, x, z)`
fn select_select_on_false(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, inner] = select(m, i)?;
    let [q, _, z] = select(m, inner)?;
    let op = m[i].op.clone();
    (p == q).then(|| view::add_same(m, i, op, &[p, x, z]))
}

/// `select(x == y, x, y) => y`, `select(x != y, x, y) => x`, of integers, for which equal is same
fn select_equal(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = elementwise(m, i)?;
    let Op::Compare(compare) = &m[p].op else { return None };
    integer(m, i)?;
    let compared = m[p].operands();
    if compared != [x, y] && compared != [y, x] {
        return None;
    }
    match compare.direction {
        Eq => Some(y),
        Ne => Some(x),
        Lt | Le | Gt | Ge => None,
    }
}

/// `select(x < y, x, y) => min(x, y)`, and so on, of integers
fn select_smaller(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = elementwise(m, i)?;
    let Op::Compare(compare) = &m[p].op else { return None };
    integer(m, i)?;
    let straight = m[p].operands() == [x, y];
    if !straight && m[p].operands() != [y, x] {
        return None;
    }
    let smaller = match compare.direction {
        Lt | Le => straight,
        Gt | Ge => !straight,
        Eq | Ne => return None,
    };
    let kind = if smaller { Minimum } else { Maximum };
    Some(view::add_same(m, i, Op::binary(kind), &[x, y]))
}

/// `select(p, f(x), f(y)) => f(select(p, x, y))`, if nothing else needs the two
fn select_common_operation(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, a, b] = elementwise(m, i)?;
    let (Op::Unary(_) | Op::Convert(_), true) = (&m[a].op, m[a].op == m[b].op) else { return None };
    let (x, y) = (view::operand(m, a, 0), view::operand(m, b, 0));
    let alone = view::only_user(m, a).is_some() && view::only_user(m, b).is_some();
    (alone && view::same_shape(m, x, y)).then_some(())?;
    let op = m[i].op.clone();
    let chosen = view::add_same(m, x, op, &[p, x, y]);
    let outer = m[a].op.clone();
    Some(view::add_same(m, i, outer, &[chosen]))
}

/// `select(broadcast(p), x, y) => select(p, x, y)` for a scalar `p` and arrays of one element, so
/// that small programs stay scalar
fn select_of_broadcast_condition(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [p, x, y] = select(m, i)?;
    let Op::Broadcast(_) = m[p].op else { return None };
    let scalar = view::operand(m, p, 0);
    let rank = m[scalar].shape.as_array()?.rank();
    (rank == 0 && view::is_single(m, i) && m[i].shape.as_array()?.rank() > 0).then_some(())?;
    let op = m[i].op.clone();
    Some(view::add_same(m, i, op, &[scalar, x, y]))
}
