//! Bitwise logic and shifts, of integers and truth values.

use rxla_hlo::BinaryKind::{And, Or, ShiftLeft, ShiftRightArithmetic, ShiftRightLogical, Xor};
use rxla_hlo::UnaryKind::Not;
use rxla_hlo::op::ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
use rxla_hlo::{BinaryKind, ElementType, InstructionId, Module, Op};

use super::integers::{fold_constants, greatest_counted, integer, splat_integer};
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Unary(Not) => [double_not, not_of_compare],
    Binary(And) => [
        and_self,
        and_zero,
        and_ones,
        and_complement,
        and_absorbs,
        and_constants,
        and_of_nots,
    ],
    Binary(Or) => [or_self, or_zero, or_ones, or_complement, or_absorbs, or_constants, or_of_nots],
    Binary(Xor) => [xor_self, xor_zero, xor_ones, xor_of_nots, xor_undone, xor_constants],
    Binary(ShiftLeft | ShiftRightArithmetic | ShiftRightLogical) => [
        shift_by_zero,
        shift_of_zero,
        shift_too_far,
        shift_twice,
    ],
    Binary(ShiftLeft) => [shift_right_and_back],
    Binary(ShiftRightLogical) => [shift_left_and_back, shift_of_counted],
};

fn is_zero(m: &Module, i: InstructionId) -> bool {
    view::is_integer(m, i, 0)
}

/// All bits set, or `true`.
fn is_ones(m: &Module, i: InstructionId) -> bool {
    let Some(element_type) = view::element_type(m, i) else { return false };
    if element_type == ElementType::Pred {
        return view::is_true(m, i);
    }
    let ones = u64::MAX >> (64 - element_type.bit_width().min(64));
    element_type.is_integer()
        && view::splat(m, i).is_some_and(|value| {
            let mut bits = [0; 8];
            bits[..value.bytes().len()].copy_from_slice(value.bytes());
            u64::from_le_bytes(bits) & ones == ones
        })
}

/// `~~x => x`
fn double_not(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    view::unary(m, view::unary(m, i, Not)?, Not)
}

/// `~(x < y) => x >= y`, and so on; of floats only `==` and `!=` are each other's opposite
fn not_of_compare(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let compared = view::unary(m, i, Not)?;
    let Op::Compare(compare) = &m[compared].op else { return None };
    let [x, y] = [view::operand(m, compared, 0), view::operand(m, compared, 1)];
    let ordered = view::element_type(m, x)?.is_integer();
    let opposite = match compare.direction {
        Eq => Ne,
        Ne => Eq,
        Lt if ordered => Ge,
        Ge if ordered => Lt,
        Gt if ordered => Le,
        Le if ordered => Gt,
        Lt | Ge | Gt | Le => return None,
    };
    let mut op = compare.clone();
    op.direction = opposite;
    Some(view::add_same(m, i, op, &[x, y]))
}

/// `x & x => x`
fn and_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, And)?;
    (x == y).then_some(x)
}

/// `x & 0 => 0`
fn and_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [_, zero] = view::binary(m, i, And)?;
    is_zero(m, zero).then_some(zero)
}

/// `x & ~0 => x`
fn and_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, ones] = view::binary(m, i, And)?;
    is_ones(m, ones).then_some(x)
}

fn complements(m: &Module, x: InstructionId, y: InstructionId) -> bool {
    view::unary(m, x, Not) == Some(y) || view::unary(m, y, Not) == Some(x)
}

/// `x & ~x => 0`
fn and_complement(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, And)?;
    if complements(m, x, y) { splat_integer(m, i, 0) } else { None }
}

/// `x & (x | y) => x`
fn and_absorbs(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    absorbs(m, i, And, Or)
}

fn absorbs(
    m: &Module,
    i: InstructionId,
    outer: BinaryKind,
    inner: BinaryKind,
) -> Option<InstructionId> {
    let [a, b] = view::binary(m, i, outer)?;
    let absorbed = |x, other| view::binary(m, other, inner).is_some_and(|pair| pair.contains(&x));
    if absorbed(a, b) { Some(a) } else { absorbed(b, a).then_some(b) }
}

/// `(x & c) & d => x & (c & d)`
fn and_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    fold_constants(m, i, And, |c, d| c & d)
}

/// `~x & ~y => ~(x | y)`, if nothing else needs the complements
fn and_of_nots(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    of_nots(m, i, And, Or)
}

fn of_nots(
    m: &mut Module,
    i: InstructionId,
    outer: BinaryKind,
    inner: BinaryKind,
) -> Option<InstructionId> {
    let [a, b] = view::binary(m, i, outer)?;
    let (x, y) = (view::unary(m, a, Not)?, view::unary(m, b, Not)?);
    (view::only_user(m, a).is_some() && view::only_user(m, b).is_some()).then_some(())?;
    let joined = view::add_same(m, i, Op::binary(inner), &[x, y]);
    Some(view::add_same(m, i, Op::unary(Not), &[joined]))
}

/// `x | x => x`
fn or_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Or)?;
    (x == y).then_some(x)
}

/// `x | 0 => x`
fn or_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, zero] = view::binary(m, i, Or)?;
    is_zero(m, zero).then_some(x)
}

/// `x | ~0 => ~0`
fn or_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [_, ones] = view::binary(m, i, Or)?;
    is_ones(m, ones).then_some(ones)
}

/// `x | ~x => ~0`
fn or_complement(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Or)?;
    if complements(m, x, y) { splat_integer(m, i, -1) } else { None }
}

/// `x | (x & y) => x`
fn or_absorbs(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    absorbs(m, i, Or, And)
}

/// `(x | c) | d => x | (c | d)`
fn or_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    fold_constants(m, i, Or, |c, d| c | d)
}

/// `~x | ~y => ~(x & y)`, if nothing else needs the complements
fn or_of_nots(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    of_nots(m, i, Or, And)
}

/// `x ^ x => 0`
fn xor_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Xor)?;
    if x == y { splat_integer(m, i, 0) } else { None }
}

/// `x ^ 0 => x`
fn xor_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, zero] = view::binary(m, i, Xor)?;
    is_zero(m, zero).then_some(x)
}

/// `x ^ ~0 => ~x`
fn xor_ones(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, ones] = view::binary(m, i, Xor)?;
    is_ones(m, ones).then(|| view::add_same(m, i, Op::unary(Not), &[x]))
}

/// `~x ^ ~y => x ^ y`
fn xor_of_nots(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [a, b] = view::binary(m, i, Xor)?;
    let (x, y) = (view::unary(m, a, Not)?, view::unary(m, b, Not)?);
    Some(view::add_same(m, i, Op::binary(Xor), &[x, y]))
}

/// `(x ^ y) ^ y => x`
fn xor_undone(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [a, b] = view::binary(m, i, Xor)?;
    let rest = |pair: InstructionId, known: InstructionId| {
        let [x, y] = view::binary(m, pair, Xor)?;
        if y == known { Some(x) } else { (x == known).then_some(y) }
    };
    rest(a, b).or_else(|| rest(b, a))
}

/// `(x ^ c) ^ d => x ^ (c ^ d)`
fn xor_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    fold_constants(m, i, Xor, |c, d| c ^ d)
}

fn shift(m: &Module, i: InstructionId) -> Option<(BinaryKind, [InstructionId; 2])> {
    let (kind, operands) = view::any_binary(m, i)?;
    let shifts = matches!(kind, ShiftLeft | ShiftRightArithmetic | ShiftRightLogical);
    (shifts && integer(m, i).is_some()).then_some((kind, operands))
}

/// `x << 0 => x`, and to the right
fn shift_by_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, [x, bits]) = shift(m, i)?;
    is_zero(m, bits).then_some(x)
}

/// `0 << x => 0`, and to the right
fn shift_of_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, [zero, _]) = shift(m, i)?;
    is_zero(m, zero).then_some(zero)
}

/// The bits by which a constant shifts, if fewer than the type has.
fn constant_shift(m: &Module, i: InstructionId, bits: InstructionId) -> Option<i64> {
    let width = i64::try_from(integer(m, i)?.bit_width()).ok()?;
    view::splat(m, bits)?.integer(0).filter(|bits| (0..width).contains(bits))
}

/// `x << n => 0` where `n` is at least the width (or negative, which counts as huge), and to the
/// right without sign
fn shift_too_far(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [_, bits]) = shift(m, i)?;
    view::splat(m, bits)?.integer(0)?;
    if kind == ShiftRightArithmetic || constant_shift(m, i, bits).is_some() {
        return None;
    }
    splat_integer(m, i, 0)
}

/// `(x << a) << b => x << (a + b)`, to the right likewise, within the width
fn shift_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [inner, b]) = shift(m, i)?;
    let [x, a] = view::binary(m, inner, kind)?;
    let sum = constant_shift(m, i, a)? + constant_shift(m, i, b)?;
    let width = i64::try_from(integer(m, i)?.bit_width()).ok()?;
    let sum = match kind {
        ShiftRightArithmetic => sum.min(width - 1),
        _ => Some(sum).filter(|sum| *sum < width)?,
    };
    let sum = splat_integer(m, i, sum)?;
    Some(view::add_same(m, i, Op::binary(kind), &[x, sum]))
}

/// `(x >> n) << n => x & (~0 << n)`
fn shift_right_and_back(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [inner, b] = view::binary(m, i, ShiftLeft)?;
    let (ShiftRightLogical | ShiftRightArithmetic, [x, a]) = shift(m, inner)? else { return None };
    let bits = constant_shift(m, i, b)?;
    (constant_shift(m, i, a)? == bits).then_some(())?;
    let mask = splat_integer(m, i, -1i64 << bits)?;
    Some(view::add_same(m, i, Op::binary(And), &[x, mask]))
}

/// `(x << n) >> n => x & (~0 >> n)`, without sign
fn shift_left_and_back(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [inner, b] = view::binary(m, i, ShiftRightLogical)?;
    let [x, a] = view::binary(m, inner, ShiftLeft)?;
    let bits = constant_shift(m, i, b)?;
    (constant_shift(m, i, a)? == bits).then_some(())?;
    let width = i64::try_from(integer(m, i)?.bit_width()).ok()?;
    let ones = (u64::MAX >> (64 - width)) >> bits;
    let mask = splat_integer(m, i, ones as i64)?;
    Some(view::add_same(m, i, Op::binary(And), &[x, mask]))
}

/// `x >> n => 0` of places, counted from zero on, that need no more than `n` bits
fn shift_of_counted(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, bits] = view::binary(m, i, ShiftRightLogical)?;
    let bits = constant_shift(m, i, bits)?;
    if greatest_counted(m, x)? >> bits != 0 {
        return None;
    }
    splat_integer(m, i, 0)
}
