//! What the rules about integers share. Integers wrap, so equations of rings hold exactly.

use rxla_hlo::{ArrayLiteral, BinaryKind, ElementType, InstructionId, Module, Op};

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
