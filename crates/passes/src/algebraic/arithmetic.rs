//! Sums, products, quotients and signs.

use rxla_hlo::BinaryKind::{Add, Divide, Multiply, Remainder, ShiftRightLogical, Subtract};
use rxla_hlo::UnaryKind::{Abs, Negate, Sign};
use rxla_hlo::{BinaryKind, InstructionId, Module, Op, TypeClass};

use super::integers::{fold_constants, integer, splat_integer};
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Binary(_) => [constant_to_the_right],
    Binary(Add) => [add_zero, add_negated, add_constants, add_subtracted],
    Binary(Subtract) => [
        subtract_zero,
        subtract_self,
        subtract_negated,
        subtract_constant,
        subtract_added,
        zero_minus,
    ],
    Unary(Negate) => [negate_difference, double_negate],
    Binary(Multiply) => [
        multiply_zero,
        multiply_one,
        multiply_minus_one,
        multiply_negated,
        multiply_constants,
        multiply_negated_by_constant,
    ],
    Binary(Add | Subtract) => [factor_out],
    Binary(Divide) => [
        divide_one,
        divide_minus_one,
        divide_negated,
        divide_power_of_two,
        divide_unsigned_power_of_two,
    ],
    Binary(Remainder) => [
        remainder_one,
        remainder_self,
        remainder_of_zero,
        remainder_of_remainder,
        remainder_unsigned_power_of_two,
    ],
    Unary(Abs) => [abs_of_abs, abs_of_negated, abs_of_square],
    Unary(Sign) => [sign_of_sign],
};

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

fn is_real(m: &Module, i: InstructionId) -> bool {
    view::element_type(m, i).is_some_and(|t| !t.is_complex())
}

fn is_float(m: &Module, i: InstructionId) -> bool {
    view::element_type(m, i).is_some_and(|t| t.is_float())
}

fn is_unsigned(m: &Module, i: InstructionId) -> bool {
    view::element_type(m, i).is_some_and(|t| t.class() == TypeClass::Unsigned)
}

/// `x + 0 => x`; of floats only `x + -0 => x`, since `-0 + +0` is `+0`
fn add_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, zero] = view::binary(m, i, Add)?;
    let neutral = view::is_integer(m, zero, 0) || view::is_negative_zero(m, zero);
    (neutral && view::same_shape(m, x, i)).then_some(x)
}

/// `x + -y => x - y`, `-x + y => y - x`
fn add_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Add)?;
    if let Some(negated) = view::unary(m, y, Negate) {
        return Some(view::add_same(m, i, Op::binary(Subtract), &[x, negated]));
    }
    let negated = view::unary(m, x, Negate)?;
    Some(view::add_same(m, i, Op::binary(Subtract), &[y, negated]))
}

/// `(x + c) + d => x + (c + d)`, of integers
fn add_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    fold_constants(m, i, Add, i64::wrapping_add)
}

/// `(x - y) + y => x`, `y + (x - y) => x`, of integers
fn add_subtracted(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [a, b] = view::binary(m, i, Add)?;
    integer(m, i)?;
    let undone = |m: &Module, difference, y| {
        let [x, subtracted] = view::binary(m, difference, Subtract)?;
        (subtracted == y).then_some(x)
    };
    undone(m, a, b).or_else(|| undone(m, b, a))
}

/// `x - 0 => x`; of floats `x - +0 => x`, since `-0 - +0` is `-0`
fn subtract_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, zero] = view::binary(m, i, Subtract)?;
    let kept = is_real(m, i) && view::is_positive_zero(m, zero) && view::same_shape(m, x, i);
    kept.then_some(x)
}

/// `x - x => 0`, of integers; of floats it is NaN where `x` is infinite
fn subtract_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Subtract)?;
    integer(m, i)?;
    if x != y {
        return None;
    }
    splat_integer(m, i, 0)
}

/// `x - -y => x + y`
fn subtract_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Subtract)?;
    let y = view::unary(m, y, Negate)?;
    Some(view::add_same(m, i, Op::binary(Add), &[x, y]))
}

/// `x - c => x + -c`, of integers
fn subtract_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, c] = view::binary(m, i, Subtract)?;
    integer(m, i)?;
    if is_constant(m, x) {
        return None;
    }
    let c = view::splat(m, c)?.integer(0)?;
    let negative = splat_integer(m, i, c.wrapping_neg())?;
    Some(view::add_same(m, i, Op::binary(Add), &[x, negative]))
}

/// `(x + y) - y => x`, `(y + x) - y => x`, `y - (y - x) => x`, of integers
fn subtract_added(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [sum, y] = view::binary(m, i, Subtract)?;
    integer(m, i)?;
    if let Some([a, x]) = view::binary(m, y, Subtract) {
        return (a == sum).then_some(x);
    }
    let [a, b] = view::binary(m, sum, Add)?;
    if b == y { Some(a) } else { (a == y).then_some(b) }
}

/// `0 - x => -x`, of integers; of floats `-0 - x => -x`
fn zero_minus(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [zero, x] = view::binary(m, i, Subtract)?;
    let zero = view::is_integer(m, zero, 0) || view::is_negative_zero(m, zero);
    zero.then(|| view::add_same(m, i, Op::unary(Negate), &[x]))
}

/// `-(x - y) => y - x`, of integers; of floats `-(x - x)` is `-0`
fn negate_difference(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let difference = view::unary(m, i, Negate)?;
    let [x, y] = view::binary(m, difference, Subtract)?;
    integer(m, i)?;
    Some(view::add_same(m, i, Op::binary(Subtract), &[y, x]))
}

/// `-(-x) => x`
fn double_negate(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    view::unary(m, view::unary(m, i, Negate)?, Negate)
}

/// `x * 0 => 0`, of integers
fn multiply_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [_, zero] = view::binary(m, i, Multiply)?;
    view::is_integer(m, zero, 0).then_some(zero)
}

/// `x * 1 => x`
fn multiply_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, one] = view::binary(m, i, Multiply)?;
    (is_real(m, i) && view::is_number(m, one, 1.0) && view::same_shape(m, x, i)).then_some(x)
}

/// `x * -1 => -x`
fn multiply_minus_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, minus_one] = view::binary(m, i, Multiply)?;
    let applies = is_real(m, i) && view::is_number(m, minus_one, -1.0);
    applies.then(|| view::add_same(m, i, Op::unary(Negate), &[x]))
}

/// `-x * -y => x * y`
fn multiply_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    both_negated(m, i, Multiply)
}

fn both_negated(m: &mut Module, i: InstructionId, kind: BinaryKind) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, kind)?;
    let (x, y) = (view::unary(m, x, Negate)?, view::unary(m, y, Negate)?);
    is_real(m, i).then(|| view::add_same(m, i, Op::binary(kind), &[x, y]))
}

/// `(x * c) * d => x * (c * d)`, of integers
fn multiply_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    fold_constants(m, i, Multiply, i64::wrapping_mul)
}

/// `-x * c => x * -c`, of integers and floats
fn multiply_negated_by_constant(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, c] = view::binary(m, i, Multiply)?;
    let x = view::unary(m, x, Negate)?;
    let value = view::splat(m, c)?;
    let c = if is_float(m, i) {
        let number = value.float(0).filter(|number| !number.is_nan())?;
        view::splat_number(m, i, -number)?
    } else {
        integer(m, i)?;
        splat_integer(m, i, value.integer(0)?.wrapping_neg())?
    };
    Some(view::add_same(m, i, Op::binary(Multiply), &[x, c]))
}

/// `x * z + y * z => (x + y) * z`, of integers, if nothing else needs the products
fn factor_out(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind @ (Add | Subtract), [left, right]) = view::any_binary(m, i)? else { return None };
    integer(m, i)?;
    if left == right || view::only_user(m, left).is_none() || view::only_user(m, right).is_none() {
        return None;
    }
    let ([a, b], [c, d]) = (view::binary(m, left, Multiply)?, view::binary(m, right, Multiply)?);
    let (x, y, common) = if b == d {
        (a, c, b)
    } else if a == c {
        (b, d, a)
    } else if b == c {
        (a, d, b)
    } else if a == d {
        (b, c, a)
    } else {
        return None;
    };
    let sum = view::add_same(m, i, Op::binary(kind), &[x, y]);
    Some(view::add_same(m, i, Op::binary(Multiply), &[sum, common]))
}

/// `x / 1 => x`
fn divide_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, one] = view::binary(m, i, Divide)?;
    (is_real(m, i) && view::is_number(m, one, 1.0)).then_some(x)
}

/// `x / -1 => -x`
fn divide_minus_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, minus_one] = view::binary(m, i, Divide)?;
    let applies = is_real(m, i) && view::is_number(m, minus_one, -1.0);
    applies.then(|| view::add_same(m, i, Op::unary(Negate), &[x]))
}

/// `-x / -y => x / y`, of floats; of integers the least value is its own negative
fn divide_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    is_float(m, i).then_some(())?;
    both_negated(m, i, Divide)
}

/// `x / 2^n => x * 2^-n`, of floats: exact while `2^-n` is a normal number of the type
fn divide_power_of_two(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, c] = view::binary(m, i, Divide)?;
    is_float(m, i).then_some(())?;
    let value = view::splat(m, c)?;
    let number = value.float(0)?;
    const MANTISSA: u64 = (1 << 52) - 1;
    // Exponents that f16, the narrowest type with subnormals and infinities among the common ones,
    // has on both sides. Divisors beyond do not occur.
    let exact = number.to_bits() & MANTISSA == 0
        && (2f64.powi(-14)..=2f64.powi(14)).contains(&number.abs());
    let wide = matches!(value.element_type().name(), "f16" | "bf16" | "f32" | "f64");
    if !(exact && wide) || number.abs() == 1.0 {
        return None;
    }
    let inverse = view::splat_number(m, i, 1.0 / number)?;
    Some(view::add_same(m, i, Op::binary(Multiply), &[x, inverse]))
}

fn unsigned_log2(m: &Module, i: InstructionId, c: InstructionId) -> Option<i64> {
    let value = view::splat(m, c)?.integer(0)?;
    let power = is_unsigned(m, i) && value > 0 && value & (value - 1) == 0;
    power.then(|| i64::from(value.trailing_zeros()))
}

/// `x / 2^n => x >> n`, of unsigned integers
fn divide_unsigned_power_of_two(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, c] = view::binary(m, i, Divide)?;
    let bits = unsigned_log2(m, i, c)?;
    let bits = splat_integer(m, i, bits)?;
    Some(view::add_same(m, i, Op::binary(ShiftRightLogical), &[x, bits]))
}

/// `x % 1 => 0`, of integers
fn remainder_one(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [_, one] = view::binary(m, i, Remainder)?;
    let applies = view::is_integer(m, one, 1) || view::is_integer(m, one, -1);
    if applies && integer(m, i).is_some() { splat_integer(m, i, 0) } else { None }
}

/// `x % x => 0`, of integers: `0 % 0` is the dividend
fn remainder_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, Remainder)?;
    integer(m, i)?;
    if x == y { splat_integer(m, i, 0) } else { None }
}

/// `0 % x => 0`, of integers
fn remainder_of_zero(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [zero, _] = view::binary(m, i, Remainder)?;
    view::is_integer(m, zero, 0).then_some(zero)
}

/// `(x % y) % y => x % y`
fn remainder_of_remainder(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [inner, y] = view::binary(m, i, Remainder)?;
    let [_, divisor] = view::binary(m, inner, Remainder)?;
    (y == divisor && is_real(m, i)).then_some(inner)
}

/// `x % 2^n => x & (2^n - 1)`, of unsigned integers
fn remainder_unsigned_power_of_two(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, c] = view::binary(m, i, Remainder)?;
    let bits = unsigned_log2(m, i, c)?;
    let mask = splat_integer(m, i, (1 << bits) - 1)?;
    Some(view::add_same(m, i, Op::binary(BinaryKind::And), &[x, mask]))
}

/// `abs(abs(x)) => abs(x)`
fn abs_of_abs(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = view::unary(m, i, Abs)?;
    view::unary(m, inner, Abs)?;
    view::same_shape(m, inner, i).then_some(inner)
}

/// `abs(-x) => abs(x)`
fn abs_of_negated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let x = view::unary(m, view::unary(m, i, Abs)?, Negate)?;
    Some(view::add_same(m, i, Op::unary(Abs), &[x]))
}

/// `abs(x * x) => x * x`, of floats; of integers the product may wrap
fn abs_of_square(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let square = view::unary(m, i, Abs)?;
    let [x, y] = view::binary(m, square, Multiply)?;
    (x == y && is_float(m, i) && is_float(m, x)).then_some(square)
}

/// `sign(sign(x)) => sign(x)`
fn sign_of_sign(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = view::unary(m, i, Sign)?;
    view::unary(m, inner, Sign)?;
    is_real(m, i).then_some(inner)
}
