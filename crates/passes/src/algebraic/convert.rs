//! Conversions between element types, and roundings.

use rxla_hlo::BinaryKind::{Add, Multiply};
use rxla_hlo::UnaryKind::{Ceil, Floor, Imag, IsFinite, Real, RoundNearestAfz, RoundNearestEven};
use rxla_hlo::op::{Convert, Iota};
use rxla_hlo::{ElementType, InstructionId, Module, Op, TypeClass};

use super::integers::{greatest_counted, integer, splat_pred};
use crate::rewrite::NamedRule;
use crate::{rules, view};

pub(super) const RULES: &[NamedRule] = rules! {
    Convert => [
        convert_to_same,
        convert_twice,
        convert_iota,
        convert_of_broadcast,
        convert_of_counted,
    ],
    BitcastConvert => [bitcast_convert_to_same, bitcast_convert_twice],
    Unary(Floor | Ceil | RoundNearestAfz | RoundNearestEven) => [
        rounding_of_rounded,
        rounding_of_integer,
    ],
    Unary(IsFinite) => [is_finite_of_integer, is_finite_of_real_number],
    Unary(Real | Imag) => [real_of_real],
    ReducePrecision => [reduce_precision_to_own, reduce_precision_twice],
};

fn converted(m: &Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Convert(_) = m[i].op else { return None };
    Some(view::operand(m, i, 0))
}

/// `convert(x) => x` to the type it has
fn convert_to_same(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let x = converted(m, i)?;
    view::same_shape(m, x, i).then_some(x)
}

/// Digits and exponent of a float type that the common four are made of.
fn precision(element_type: ElementType) -> Option<(u32, u32)> {
    match element_type {
        ElementType::F16 => Some((11, 5)),
        ElementType::Bf16 => Some((8, 8)),
        ElementType::F32 => Some((24, 8)),
        ElementType::F64 => Some((53, 11)),
        _ => None,
    }
}

/// Whether every value of `from` is one of `to`.
fn widens(from: ElementType, to: ElementType) -> bool {
    let bits = |t: ElementType| t.bit_width() as u32;
    if from == to {
        return true;
    }
    match (from.class(), to.class()) {
        (TypeClass::Pred, TypeClass::Signed | TypeClass::Unsigned) => bits(to) > 1,
        (TypeClass::Pred, TypeClass::Float) => precision(to).is_some(),
        (TypeClass::Signed, TypeClass::Signed) | (TypeClass::Unsigned, TypeClass::Unsigned) => {
            bits(from) <= bits(to)
        }
        (TypeClass::Unsigned, TypeClass::Signed) => bits(from) < bits(to),
        (TypeClass::Signed | TypeClass::Unsigned, TypeClass::Float) => {
            let digits = bits(from) - u32::from(from.class() == TypeClass::Signed);
            precision(to)
                .is_some_and(|(most, exponent)| digits <= most && digits < 1 << (exponent - 1))
        }
        (TypeClass::Float, TypeClass::Float) => match (precision(from), precision(to)) {
            (Some(from), Some(to)) => from.0 <= to.0 && from.1 <= to.1,
            _ => false,
        },
        _ => false,
    }
}

/// `convert(convert(x)) => convert(x)` where the first loses nothing, or both cut integers
fn convert_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = converted(m, i)?;
    let x = converted(m, inner)?;
    let [from, middle, to] =
        [view::element_type(m, x)?, view::element_type(m, inner)?, view::element_type(m, i)?];
    let cuts = from.is_integer()
        && middle.is_integer()
        && to.is_integer()
        && to.bit_width() <= middle.bit_width()
        && middle.bit_width() <= from.bit_width();
    // A value that the middle type holds exactly converts on as it would have at once, but a
    // negative integer goes to an unsigned type by its bits, which a float has not.
    let detour = from.is_integer() && middle.is_float() && to.is_integer() && !widens(from, to);
    ((widens(from, middle) && !detour) || cuts).then_some(())?;
    if from == to {
        return Some(x);
    }
    Some(view::add_same(m, i, Convert {}, &[x]))
}

/// `convert(iota) => iota` of the other type, where both count that far
fn convert_iota(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let iota = converted(m, i)?;
    let Op::Iota(op) = &m[iota].op else { return None };
    let length = view::dims(m, iota)?[usize::try_from(op.iota_dimension).ok()?];
    let counts = |t: ElementType| match t.class() {
        TypeClass::Signed => length <= 1 << (t.bit_width() - 1).min(62),
        TypeClass::Unsigned => length <= 1 << t.bit_width().min(62),
        TypeClass::Float => {
            precision(t).is_some_and(|(digits, _)| length <= 1 << digits && length <= 1 << 15)
        }
        TypeClass::Pred | TypeClass::Complex => false,
    };
    let iota_dimension = op.iota_dimension;
    let both = counts(view::element_type(m, iota)?) && counts(view::element_type(m, i)?);
    both.then(|| view::add_same(m, i, Iota { iota_dimension }, &[]))
}

/// `convert(broadcast(x)) => broadcast(convert(x))`, fewer elements to convert
fn convert_of_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let broadcast = converted(m, i)?;
    let Op::Broadcast(_) = &m[broadcast].op else { return None };
    let x = view::operand(m, broadcast, 0);
    let fewer =
        view::static_array(m, x)?.element_count()? < view::static_array(m, i)?.element_count()?;
    fewer.then_some(())?;
    let shape = view::static_array(m, x)?.with_element_type(view::element_type(m, i)?);
    let converted = view::add_with_shape(m, i, Convert {}, shape, &[x]);
    let op = m[broadcast].op.clone();
    Some(view::add_same(m, i, op, &[converted]))
}

/// `convert(x + y) => convert(x) + convert(y)` to a narrower integer, and `*`, of places counted from zero on: there
/// are more of those in a vector
fn convert_of_counted(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let sum = converted(m, i)?;
    let (kind @ (Add | Multiply), operands) = view::any_binary(m, sum)? else { return None };
    let to = integer(m, i)?;
    if to.bit_width() >= integer(m, sum)?.bit_width() {
        return None;
    }
    greatest_counted(m, sum)?;
    let narrow = operands.map(|x| view::add_same(m, i, Convert {}, &[x]));
    Some(view::add_same(m, i, Op::binary(kind), &narrow))
}

/// `bitcast-convert(x) => x` to the type it has
fn bitcast_convert_to_same(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::BitcastConvert(_) = m[i].op else { return None };
    let x = view::operand(m, i, 0);
    view::same_shape(m, x, i).then_some(x)
}

/// `bitcast-convert(bitcast-convert(x)) => bitcast-convert(x)`, all as wide
fn bitcast_convert_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (Op::BitcastConvert(_), inner) = (&m[i].op, *m[i].operands().first()?) else { return None };
    let Op::BitcastConvert(_) = m[inner].op else { return None };
    let x = view::operand(m, inner, 0);
    let width = |i| Some(view::element_type(m, i)?.bit_width());
    (width(x)? == width(inner)? && width(inner)? == width(i)?).then_some(())?;
    if view::same_shape(m, x, i) {
        return Some(x);
    }
    let op = m[i].op.clone();
    Some(view::add_same(m, i, op, &[x]))
}

fn rounding(m: &Module, i: InstructionId) -> Option<InstructionId> {
    match view::any_unary(m, i)? {
        (Floor | Ceil | RoundNearestAfz | RoundNearestEven, x) => Some(x),
        _ => None,
    }
}

/// `floor(ceil(x)) => ceil(x)`, and all other pairs of roundings
fn rounding_of_rounded(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = rounding(m, i)?;
    rounding(m, inner)?;
    Some(inner)
}

/// `floor(convert(n)) => convert(n)` of an integer `n`, and all other roundings
fn rounding_of_integer(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = rounding(m, i)?;
    let n = converted(m, inner)?;
    let from = view::element_type(m, n)?;
    (from.is_integer() || from == ElementType::Pred).then_some(inner)
}

/// `is-finite(convert(n)) => true` of an integer `n` that the float type reaches
fn is_finite_of_integer(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let float = view::unary(m, i, IsFinite)?;
    let n = converted(m, float)?;
    let (from, to) = (view::element_type(m, n)?, view::element_type(m, float)?);
    let reached = matches!(to, ElementType::F32 | ElementType::F64 | ElementType::Bf16);
    (reached && (from.is_integer() || from == ElementType::Pred)).then_some(())?;
    splat_pred(m, i, true)
}

/// `is-finite(-x) => is-finite(x)`, `is-finite(abs(x)) => is-finite(x)`
fn is_finite_of_real_number(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let inner = view::unary(m, i, IsFinite)?;
    let (rxla_hlo::UnaryKind::Negate | rxla_hlo::UnaryKind::Abs, x) = view::any_unary(m, inner)?
    else {
        return None;
    };
    view::same_shape(m, x, inner).then(|| view::add_same(m, i, Op::unary(IsFinite), &[x]))
}

/// `real(x) => x`, `imag(x) => 0`, of real numbers
fn real_of_real(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (kind @ (Real | Imag), x) = view::any_unary(m, i)? else { return None };
    (!view::element_type(m, x)?.is_complex()).then_some(())?;
    if kind == Real { Some(x) } else { view::splat_number(m, i, 0.0) }
}

fn reduced(m: &Module, i: InstructionId) -> Option<(i64, i64, InstructionId)> {
    let Op::ReducePrecision(op) = &m[i].op else { return None };
    Some((op.exponent_bits, op.mantissa_bits, view::operand(m, i, 0)))
}

/// `reduce-precision(x) => x` to what the type has
fn reduce_precision_to_own(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (exponent, mantissa, x) = reduced(m, i)?;
    let (digits, own) = precision(view::element_type(m, i)?)?;
    (exponent == i64::from(own) && mantissa == i64::from(digits) - 1).then_some(x)
}

/// `reduce-precision(reduce-precision(x)) => reduce-precision(x)`, both to the same
fn reduce_precision_twice(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let (exponent, mantissa, inner) = reduced(m, i)?;
    let (inner_exponent, inner_mantissa, _) = reduced(m, inner)?;
    ((exponent, mantissa) == (inner_exponent, inner_mantissa)).then_some(inner)
}
