//! Minimum, maximum and `clamp`.

use rxla_hlo::BinaryKind::{And, Maximum, Minimum, Or};
use rxla_hlo::{ArrayLiteral, BinaryKind, ElementType, InstructionId, Module, Op, TypeClass};

use super::integers::{integer, iota_length, splat_integer};
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Binary(Minimum | Maximum) => [
        extremum_self,
        extremum_of_truths,
        extremum_neutral,
        extremum_reached,
        extremum_repeated,
        extremum_absorbs,
        extremum_constants,
        extremum_of_bounded,
    ],
    Clamp => [
        clamp_unbounded,
        clamp_below_only,
        clamp_above_only,
        clamp_equal_bounds,
        clamp_twice,
        clamp_iota,
    ],
};

fn extremum(m: &Module, i: InstructionId) -> Option<(BinaryKind, [InstructionId; 2])> {
    let (kind @ (Minimum | Maximum), operands) = view::any_binary(m, i)? else { return None };
    Some((kind, operands))
}

fn opposite(kind: BinaryKind) -> BinaryKind {
    if kind == Minimum { Maximum } else { Minimum }
}

/// `max(x, x) => x`
fn extremum_self(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (_, [x, y]) = extremum(m, i)?;
    (x == y).then_some(x)
}

/// `max(p, q) => p | q`, `min(p, q) => p & q`, of truth values
fn extremum_of_truths(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [x, y]) = extremum(m, i)?;
    (view::element_type(m, i)? == ElementType::Pred).then_some(())?;
    let kind = if kind == Maximum { Or } else { And };
    Some(view::add_same(m, i, Op::binary(kind), &[x, y]))
}

/// The least and the greatest value of an integer type, as wrapped to 64 bits.
fn limits(element_type: ElementType) -> (i64, i64) {
    let unused = 64 - element_type.bit_width() as u32;
    match element_type.class() {
        TypeClass::Unsigned => (0, (u64::MAX >> unused) as i64),
        _ => (i64::MIN >> unused, i64::MAX >> unused),
    }
}

/// Whether `c` is the value beyond which nothing lies, upwards or downwards.
fn is_limit(m: &Module, c: InstructionId, upper: bool) -> bool {
    let Some(value) = view::splat(m, c) else { return false };
    let element_type = value.element_type();
    if element_type.is_float() {
        let infinity = if upper { f64::INFINITY } else { f64::NEG_INFINITY };
        return value.float(0) == Some(infinity);
    }
    if integer(m, c).is_none() {
        return false;
    }
    let (least, greatest) = limits(element_type);
    let limit = ArrayLiteral::scalar(if upper { greatest } else { least }).convert(element_type);
    limit.is_ok_and(|limit| limit.bytes() == value.bytes())
}

/// `max(x, least) => x`, `min(x, greatest) => x`; of floats the limits are infinities
fn extremum_neutral(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [x, c]) = extremum(m, i)?;
    if is_limit(m, c, kind == Minimum) {
        return Some(x);
    }
    is_limit(m, x, kind == Minimum).then_some(c)
}

/// `max(x, greatest) => greatest`, `min(x, least) => least`, of integers
fn extremum_reached(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [_, c]) = extremum(m, i)?;
    integer(m, i)?;
    is_limit(m, c, kind == Maximum).then_some(c)
}

/// `max(max(x, y), y) => max(x, y)`
fn extremum_repeated(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [a, b]) = extremum(m, i)?;
    let within = |pair, x| view::binary(m, pair, kind).is_some_and(|found| found.contains(&x));
    if within(a, b) { Some(a) } else { within(b, a).then_some(b) }
}

/// `min(max(x, y), y) => y`, of integers; of floats `x` may be NaN
fn extremum_absorbs(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [a, b]) = extremum(m, i)?;
    integer(m, i)?;
    let kind = opposite(kind);
    let within = |pair, x| view::binary(m, pair, kind).is_some_and(|found| found.contains(&x));
    if within(a, b) { Some(b) } else { within(b, a).then_some(a) }
}

/// `max(max(x, c), d) => max(x, max(c, d))`, not of NaN and zeros of two signs
fn extremum_constants(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [inner, d]) = extremum(m, i)?;
    let [x, c] = view::binary(m, inner, kind)?;
    let (left, right) = (view::splat(m, c)?, view::splat(m, d)?);
    let less = match (left.integer(0), right.integer(0)) {
        (Some(left), Some(right)) => left < right,
        _ => {
            let (left, right) = (left.float(0)?, right.float(0)?);
            if left.is_nan() || right.is_nan() || left == right {
                return None;
            }
            left < right
        }
    };
    let kept = if less == (kind == Minimum) { c } else { d };
    Some(view::add_same(m, i, Op::binary(kind), &[x, kept]))
}

/// `max(min(x, c), d) => d` where `c <= d`, and the other way round, of integers
fn extremum_of_bounded(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind, [inner, d]) = extremum(m, i)?;
    let [_, c] = view::binary(m, inner, opposite(kind))?;
    integer(m, i)?;
    let (c, bound) = (view::splat(m, c)?.integer(0)?, view::splat(m, d)?.integer(0)?);
    let reached = if kind == Maximum { c <= bound } else { c >= bound };
    reached.then_some(d)
}

fn clamp(m: &Module, i: InstructionId) -> Option<[InstructionId; 3]> {
    let Op::Clamp(_) = m[i].op else { return None };
    m[i].operands().try_into().ok()
}

/// `clamp(least, x, greatest) => x`
fn clamp_unbounded(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [low, x, high] = clamp(m, i)?;
    (is_limit(m, low, false) && is_limit(m, high, true)).then_some(x)
}

/// A bound of `clamp`, which may be a scalar, in the shape of the result.
fn spread(m: &mut Module, i: InstructionId, bound: InstructionId) -> InstructionId {
    if view::same_shape(m, i, bound) {
        bound
    } else {
        view::add_same(m, i, Op::broadcast([]), &[bound])
    }
}

/// `clamp(low, x, greatest) => max(x, low)`
fn clamp_below_only(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [low, x, high] = clamp(m, i)?;
    (is_limit(m, high, true) && integer(m, i).is_some()).then_some(())?;
    let low = spread(m, i, low);
    Some(view::add_same(m, i, Op::binary(Maximum), &[x, low]))
}

/// `clamp(least, x, high) => min(x, high)`
fn clamp_above_only(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [low, x, high] = clamp(m, i)?;
    (is_limit(m, low, false) && integer(m, i).is_some()).then_some(())?;
    let high = spread(m, i, high);
    Some(view::add_same(m, i, Op::binary(Minimum), &[x, high]))
}

/// `clamp(c, x, c) => c`, of integers; of floats `x` may be NaN
fn clamp_equal_bounds(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [low, _, high] = clamp(m, i)?;
    integer(m, i)?;
    let value = view::splat(m, low)?;
    (value.bytes() == view::splat(m, high)?.bytes()).then_some(())?;
    let number = value.integer(0)?;
    splat_integer(m, i, number)
}

/// `clamp(low, clamp(low, x, high), high) => clamp(low, x, high)`
fn clamp_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [low, inner, high] = clamp(m, i)?;
    let [inner_low, _, inner_high] = clamp(m, inner)?;
    (low == inner_low && high == inner_high).then_some(inner)
}

/// `clamp(low, iota, high) => iota` where all of it lies between
fn clamp_iota(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [low, iota, high] = clamp(m, i)?;
    let length = iota_length(m, iota)?;
    integer(m, i)?;
    let (low, high) = (view::splat(m, low)?.integer(0)?, view::splat(m, high)?.integer(0)?);
    let (_, greatest) = limits(view::element_type(m, i)?);
    let fits = greatest < 0 || length - 1 <= greatest;
    (low <= 0 && high >= length - 1 && fits).then_some(iota)
}
