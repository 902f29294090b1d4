//! Sums, products and signs.

use rxla_hlo::{InstructionId, Module, Op, TypeClass};

use rxla_hlo::BinaryKind::{Add, Multiply, Subtract};
use rxla_hlo::UnaryKind::Negate;

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] =
    rules![constant_to_the_right, add_zero, multiply_one, subtract_zero, double_negate];

/// `c + x => x + c`, for each commutative op
///
/// Exchanging the operands of min and max would exchange zeros of different sign where an
/// implementation tells them apart, and complex numbers in which a part is NaN, so floats and complex
/// numbers only move under `+` and `*`.
fn constant_to_the_right(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [a, b]) = view::any_binary(m, i)?;
    let exact = match view::element_type(m, i)?.class() {
        TypeClass::Pred | TypeClass::Signed | TypeClass::Unsigned => true,
        TypeClass::Float | TypeClass::Complex => matches!(kind, Add | Multiply),
    };
    if !(m[i].op.is_commutative() && exact && is_constant(m, a) && !is_constant(m, b)) {
        return None;
    }
    let op = m[i].op.clone();
    Some(view::add_same(m, i, op, &[b, a]))
}

fn is_constant(m: &Module, i: InstructionId) -> bool {
    let value = if let Op::Broadcast(_) = m[i].op { view::operand(m, i, 0) } else { i };
    matches!(m[value].op, Op::Constant(_))
}

/// `x + 0 => x`; of floats only `x + -0 => x`, since `-0 + +0` is `+0`
fn add_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, zero] = view::binary(m, i, Add)?;
    let neutral = view::is_integer(m, zero, 0) || view::is_negative_zero(m, zero);
    (neutral && view::same_shape(m, x, i)).then_some(x)
}

/// `x * 1 => x`
fn multiply_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, one] = view::binary(m, i, Multiply)?;
    let real = !view::element_type(m, i)?.is_complex();
    (real && view::is_number(m, one, 1.0) && view::same_shape(m, x, i)).then_some(x)
}

/// `x - 0 => x`; of floats `x - +0 => x`, since `-0 - +0` is `-0`
fn subtract_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, zero] = view::binary(m, i, Subtract)?;
    let real = !view::element_type(m, i)?.is_complex();
    (real && view::is_positive_zero(m, zero) && view::same_shape(m, x, i)).then_some(x)
}

/// `-(-x) => x`
fn double_negate(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    view::unary(m, view::unary(m, i, Negate)?, Negate)
}
