//! What the rules about integers share. Integers wrap, so equations of rings hold exactly.

use rxla_hlo::BinaryKind::{Add, Multiply};
use rxla_hlo::{ArrayLiteral, BinaryKind, ElementType, InstructionId, Module, Op, TypeClass};

use crate::view;

/// The element type, if it is an integer (not `pred`).
pub(super) fn integer(m: &Module, i: InstructionId) -> Option<ElementType> {
    view::element_type(m, i).filter(|t| t.is_integer() && *t != ElementType::Pred)
}

/// An integer, wrapped to the element type of `i`, at every place of its shape.
pub(super) fn splat_integer(m: &mut Module, i: InstructionId, value: i64) -> Option<InstructionId> {
    let element_type = view::static_array(m, i)?.element_type;
    let scalar = ArrayLiteral::scalar(value).convert(element_type).ok()?;
    Some(view::splat_value(m, i, scalar))
}

/// A truth value at every place of the shape of `i`.
pub(super) fn splat_pred(m: &mut Module, i: InstructionId, value: bool) -> Option<InstructionId> {
    view::static_array(m, i).filter(|shape| shape.element_type == ElementType::Pred)?;
    splat_integer(m, i, i64::from(value))
}

/// `(x op c) op d => x op (c op d)`
pub(super) fn fold_constants(
    m: &mut Module,
    i: InstructionId,
    kind: BinaryKind,
    combine: fn(i64, i64) -> i64,
) -> Option<InstructionId> {
    let [inner, d] = view::binary(m, i, kind)?;
    let [x, c] = view::binary(m, inner, kind)?;
    if view::element_type(m, i)? != ElementType::Pred {
        integer(m, i)?;
    }
    let (c, d) = (view::splat(m, c)?.integer(0)?, view::splat(m, d)?.integer(0)?);
    let both = splat_integer(m, i, combine(c, d))?;
    Some(view::add_same(m, i, Op::binary(kind), &[x, both]))
}

/// How far an iota counts, also one spread over more dimensions.
pub(super) fn iota_length(m: &Module, i: InstructionId) -> Option<i64> {
    let found = if let Op::Broadcast(_) = m[i].op { view::operand(m, i, 0) } else { i };
    let Op::Iota(iota) = &m[found].op else { return None };
    view::dims(m, found)?.get(usize::try_from(iota.iota_dimension).ok()?).copied()
}

/// The greatest of integers that are counted from zero on: an iota, and what sums and products with
/// constants make of it, as long as nothing wraps around.
pub(super) fn greatest_counted(m: &Module, i: InstructionId) -> Option<i64> {
    greatest(m, i, 6)
}

fn greatest(m: &Module, i: InstructionId, depth: usize) -> Option<i64> {
    let depth = depth.checked_sub(1)?;
    let element_type = integer(m, i)?;
    let of = |number: usize| greatest(m, view::operand(m, i, number), depth);
    let found = match &m[i].op {
        Op::Constant(_) => view::splat(m, i)?.integer(0)?,
        Op::Iota(_) => iota_length(m, i)? - 1,
        Op::Broadcast(_) | Op::Reshape(_) | Op::Convert(_) => of(0)?,
        Op::Binary(op) if op.kind == Add => of(0)?.checked_add(of(1)?)?,
        Op::Binary(op) if op.kind == Multiply => of(0)?.checked_mul(of(1)?)?,
        _ => return None,
    };
    let signed = usize::from(element_type.class() == TypeClass::Signed);
    let most = u64::MAX >> (64 - (element_type.bit_width() - signed).min(63));
    (0..=most).contains(&u64::try_from(found).ok()?).then_some(found)
}
