//! Comparisons.

use rxla_hlo::BinaryKind::{Add, Subtract, Xor};
use rxla_hlo::UnaryKind::{Abs, Negate, Not};
use rxla_hlo::op::ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
use rxla_hlo::op::{Compare, ComparisonDirection, ComparisonType};
use rxla_hlo::{ElementType, InstructionId, Module, Op, TypeClass};

use super::integers::{integer, iota_length, splat_integer, splat_pred};
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Compare => [
        compare_constant_to_the_right,
        compare_self,
        compare_unsigned_with_zero,
        compare_unsigned_below_one,
        compare_integer_with_limits,
        compare_truth_with_constant,
        compare_negated,
        compare_sums,
        compare_difference_with_zero,
        compare_xor_with_zero,
        compare_converted_truth,
        compare_select_of_constants,
        compare_iota_with_bound,
        compare_abs_below_zero,
        compare_nots,
        compare_repeated,
    ],
};

struct Comparison {
    direction: ComparisonDirection,
    kind: ComparisonType,
    x: InstructionId,
    y: InstructionId,
    /// Of the operands.
    element_type: ElementType,
}

fn comparison(m: &Module, i: InstructionId) -> Option<Comparison> {
    let Op::Compare(compare) = &m[i].op else { return None };
    let [x, y] = [view::operand(m, i, 0), view::operand(m, i, 1)];
    let element_type = view::element_type(m, x)?;
    let kind = compare.comparison_type.unwrap_or(ComparisonType::of(element_type));
    Some(Comparison { direction: compare.direction, kind, x, y, element_type })
}

impl Comparison {
    fn of_integers(&self) -> bool {
        self.element_type.is_integer() && self.kind == ComparisonType::of(self.element_type)
    }

    fn of_unsigned(&self) -> bool {
        self.of_integers() && self.element_type.class() == TypeClass::Unsigned
    }
}

/// The direction with the sides exchanged.
fn swapped(direction: ComparisonDirection) -> ComparisonDirection {
    match direction {
        Eq | Ne => direction,
        Lt => Gt,
        Gt => Lt,
        Le => Ge,
        Ge => Le,
    }
}

/// The comparison `i` with another direction and other operands.
fn compare(
    m: &mut Module,
    i: InstructionId,
    direction: ComparisonDirection,
    operands: [InstructionId; 2],
) -> Option<InstructionId> {
    let Op::Compare(old) = &m[i].op else { return None };
    let op = Compare { direction, ..old.clone() };
    Some(view::add_same(m, i, op, &operands))
}

/// `c < x => x > c`, and so on
fn compare_constant_to_the_right(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    (view::splat(m, found.x).is_some() && view::splat(m, found.y).is_none()).then_some(())?;
    compare(m, i, swapped(found.direction), [found.y, found.x])
}

/// `x == x => true`, `x < x => false`, and so on; of floats `x < x` and `x > x`, and `NaN != NaN`
/// keeps the others
fn compare_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    if found.x != found.y {
        return None;
    }
    let value = matches!(found.direction, Eq | Le | Ge);
    let unordered = found.kind == ComparisonType::Float;
    if unordered && !matches!(found.direction, Lt | Gt) {
        return None;
    }
    splat_pred(m, i, value)
}

/// `x < 0 => false`, `x >= 0 => true`, `x > 0 => x != 0`, `x <= 0 => x == 0`, of unsigned integers
fn compare_unsigned_with_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    (found.of_unsigned() && view::is_integer(m, found.y, 0)).then_some(())?;
    match found.direction {
        Lt => splat_pred(m, i, false),
        Ge => splat_pred(m, i, true),
        Gt => compare(m, i, Ne, [found.x, found.y]),
        Le => compare(m, i, Eq, [found.x, found.y]),
        Eq | Ne => None,
    }
}

/// `x < 1 => x == 0`, `x >= 1 => x != 0`, of unsigned integers
fn compare_unsigned_below_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    (found.of_unsigned() && view::is_integer(m, found.y, 1)).then_some(())?;
    let direction = match found.direction {
        Lt => Eq,
        Ge => Ne,
        Gt | Le | Eq | Ne => return None,
    };
    let zero = splat_integer(m, found.x, 0)?;
    compare(m, i, direction, [found.x, zero])
}

/// `x <= greatest => true`, `x > greatest => false`, `x >= least => true`, `x < least => false`, of
/// integers
fn compare_integer_with_limits(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    found.of_integers().then_some(())?;
    let bits = found.element_type.bit_width() as u32;
    let limit = view::splat(m, found.y)?;
    // Sign-extended or zero-extended to 64 bits; u64 beyond i64 is compared as bits below.
    let (least, greatest) = if found.of_unsigned() {
        (0, (u64::MAX >> (64 - bits)) as i64)
    } else {
        (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))
    };
    let value = match limit.integer(0) {
        Some(value) => value,
        // A u64 that i64 does not hold.
        None => i64::from_le_bytes(limit.bytes().try_into().ok()?),
    };
    match found.direction {
        Le if value == greatest => splat_pred(m, i, true),
        Gt if value == greatest => splat_pred(m, i, false),
        Ge if value == least => splat_pred(m, i, true),
        Lt if value == least => splat_pred(m, i, false),
        Le | Gt | Ge | Lt | Eq | Ne => None,
    }
}

/// `x == true => x`, `x == false => ~x`, and `!=` the other way
fn compare_truth_with_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    if found.element_type != ElementType::Pred || !matches!(found.direction, Eq | Ne) {
        return None;
    }
    let value = if view::is_true(m, found.y) {
        true
    } else if view::is_false(m, found.y) {
        false
    } else {
        return None;
    };
    if value == (found.direction == Eq) {
        return Some(found.x);
    }
    Some(view::add_same(m, i, Op::unary(Not), &[found.x]))
}

/// `-x < -y => y < x`, and so on, of floats; of integers `==` and `!=`
fn compare_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let (x, y) = (view::unary(m, found.x, Negate)?, view::unary(m, found.y, Negate)?);
    let exact = matches!(found.direction, Eq | Ne) && found.of_integers()
        || found.kind == ComparisonType::Float && found.element_type.is_float();
    exact.then_some(())?;
    compare(m, i, found.direction, [y, x])
}

/// `x + z == y + z => x == y`, of integers, and `!=`
fn compare_sums(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    (matches!(found.direction, Eq | Ne) && found.of_integers()).then_some(())?;
    let ([a, b], [c, d]) = (view::binary(m, found.x, Add)?, view::binary(m, found.y, Add)?);
    let rest = if b == d {
        [a, c]
    } else if a == c {
        [b, d]
    } else if a == d {
        [b, c]
    } else if b == c {
        [a, d]
    } else {
        return None;
    };
    compare(m, i, found.direction, rest)
}

/// `x - y == 0 => x == y`, of integers, and `!=`
fn compare_difference_with_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let [x, y] = view::binary(m, found.x, Subtract)?;
    let exact = matches!(found.direction, Eq | Ne) && found.of_integers();
    (exact && view::is_integer(m, found.y, 0)).then_some(())?;
    compare(m, i, found.direction, [x, y])
}

/// `x ^ y == 0 => x == y`, of integers, and `!=`
fn compare_xor_with_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let [x, y] = view::binary(m, found.x, Xor)?;
    let exact = matches!(found.direction, Eq | Ne) && found.of_integers();
    (exact && view::is_integer(m, found.y, 0)).then_some(())?;
    compare(m, i, found.direction, [x, y])
}

/// `convert(p) != 0 => p`, `convert(p) < 1 => ~p`, and so on, of truth values
fn compare_converted_truth(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let Op::Convert(_) = m[found.x].op else { return None };
    let p = view::operand(m, found.x, 0);
    let real = !found.element_type.is_complex() && found.element_type != ElementType::Pred;
    if !real || view::element_type(m, p)? != ElementType::Pred {
        return None;
    }
    let zero = view::is_number(m, found.y, 0.0);
    let one = view::is_number(m, found.y, 1.0);
    match found.direction {
        Ne | Gt if zero => Some(p),
        Eq | Ge if one => Some(p),
        Eq | Le if zero => Some(view::add_same(m, i, Op::unary(Not), &[p])),
        Ne | Lt if one => Some(view::add_same(m, i, Op::unary(Not), &[p])),
        Eq | Ne | Lt | Le | Gt | Ge => None,
    }
}

/// `select(p, c, d) == c => p`, `select(p, c, d) == d => ~p` where `c` is not `d`, of integers
fn compare_select_of_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let Op::Select(_) = m[found.x].op else { return None };
    (matches!(found.direction, Eq | Ne) && found.of_integers()).then_some(())?;
    let &[p, c, d] = m[found.x].operands() else { return None };
    (view::same_shape(m, p, i)).then_some(())?;
    let (c, d) = (view::splat(m, c)?, view::splat(m, d)?);
    let with = view::splat(m, found.y)?;
    if c.bytes() == d.bytes() {
        return None;
    }
    let holds_with_p = if with.bytes() == c.bytes() {
        true
    } else if with.bytes() == d.bytes() {
        false
    } else {
        return None;
    };
    if holds_with_p == (found.direction == Eq) {
        return Some(p);
    }
    Some(view::add_same(m, i, Op::unary(Not), &[p]))
}

/// `iota < n => true` for `n` not below its length, `iota >= n => false`; `iota >= 0 => true`,
/// `iota < 0 => false`
fn compare_iota_with_bound(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let length = iota_length(m, found.x)?;
    found.of_integers().then_some(())?;
    // An iota that wraps around is no iota.
    let bits = found.element_type.bit_width() as u32 - u32::from(!found.of_unsigned());
    if bits < 63 && length > 1 << bits {
        return None;
    }
    let bound = view::splat(m, found.y)?.integer(0)?;
    match found.direction {
        Lt if bound >= length => splat_pred(m, i, true),
        Ge if bound >= length => splat_pred(m, i, false),
        Le if bound >= length - 1 => splat_pred(m, i, true),
        Gt if bound >= length - 1 => splat_pred(m, i, false),
        Ge if bound <= 0 => splat_pred(m, i, true),
        Lt if bound <= 0 => splat_pred(m, i, false),
        Gt if bound < 0 => splat_pred(m, i, true),
        Le if bound < 0 => splat_pred(m, i, false),
        Eq if bound < 0 || bound >= length => splat_pred(m, i, false),
        Ne if bound < 0 || bound >= length => splat_pred(m, i, true),
        Lt | Le | Gt | Ge | Eq | Ne => None,
    }
}

/// `abs(x) < 0 => false`, of floats
fn compare_abs_below_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    view::unary(m, found.x, Abs)?;
    let below = found.direction == Lt && found.kind == ComparisonType::Float;
    (below && found.element_type.is_float() && view::is_number(m, found.y, 0.0)).then_some(())?;
    splat_pred(m, i, false)
}

/// `~x == ~y => x == y`, of integers and truth values; `~x < ~y => y < x`
fn compare_nots(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let (x, y) = (view::unary(m, found.x, Not)?, view::unary(m, found.y, Not)?);
    (integer(m, x).is_some() || found.element_type == ElementType::Pred).then_some(())?;
    compare(m, i, found.direction, [y, x])
}

/// `broadcast(x) < broadcast(y) => broadcast(x < y)`, or a constant that is the same everywhere
fn compare_repeated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let found = comparison(m, i)?;
    let Op::Broadcast(repeat) = m[found.x].op.clone() else { return None };
    let x = view::operand(m, found.x, 0);
    (view::elements(m, x) < view::elements(m, i)).then_some(())?;
    let y = match (&m[found.y].op, view::splat(m, found.y)) {
        (_, Some(number)) => view::splat_value(m, x, number),
        (Op::Broadcast(other), None) if *other == repeat => view::operand(m, found.y, 0),
        _ => return None,
    };
    view::same_shape(m, x, y).then_some(())?;
    let op = m[i].op.clone();
    let compared = view::add(m, x, op, &[x, y]);
    Some(view::add_same(m, i, repeat, &[compared]))
}
