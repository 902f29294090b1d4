//! What ops compute for one element, with the semantics of HLO.
//!
//! Narrow floats are computed in `f32` and rounded after each op; integers below a byte are
//! brought back to their range.

mod complex;
mod convert;
mod integer;
mod real;
mod rounding;
mod small_float;

use rxla_base::{Error, Result};
use rxla_hlo::op::{BinaryKind, Compare, ComparisonDirection, ComparisonType, UnaryKind};
use rxla_hlo::{ElementType, TypeClass};
use rxla_kernel::{BinaryOp, Builder, ComparePredicate, Convert, Scalar, UnaryOp, Value};

use crate::Element;
use crate::scalar::{number, scalar_of};

pub(crate) use convert::{bitcast_bits, convert, to_index, widened};
pub(crate) use rounding::reduce_precision;

pub(crate) fn unary(
    b: &mut Builder,
    kind: UnaryKind,
    element_type: ElementType,
    x: Element,
) -> Result<Element> {
    let undefined = || undefined(kind.name(), element_type);
    match element_type.class() {
        TypeClass::Pred => match kind {
            UnaryKind::Not => Ok(Element::One(b.unary(UnaryOp::Not, x.one()?))),
            _ => Err(undefined()),
        },
        TypeClass::Signed | TypeClass::Unsigned => {
            let value = integer::unary(b, kind, element_type, x.one()?).ok_or_else(undefined)?;
            Ok(Element::One(value))
        }
        TypeClass::Float => {
            let (wide, value) = widened(b, element_type, x.one()?)?;
            if kind == UnaryKind::IsFinite {
                return Ok(Element::One(real::is_finite(b, value)));
            }
            let result = real::unary(b, kind, value).ok_or_else(undefined)?;
            Ok(convert(b, wide, element_type, Element::One(result))?)
        }
        TypeClass::Complex => complex::unary(b, kind, x)?.ok_or_else(undefined),
    }
}

pub(crate) fn binary(
    b: &mut Builder,
    kind: BinaryKind,
    element_type: ElementType,
    x: Element,
    y: Element,
) -> Result<Element> {
    let undefined = || undefined(kind.name(), element_type);
    if kind == BinaryKind::Complex {
        return Ok(Element::Complex(x.one()?, y.one()?));
    }
    match element_type.class() {
        TypeClass::Pred => {
            let op = match kind {
                BinaryKind::Add | BinaryKind::Maximum | BinaryKind::Or => BinaryOp::Or,
                BinaryKind::Multiply | BinaryKind::Minimum | BinaryKind::And => BinaryOp::And,
                BinaryKind::Xor => BinaryOp::Xor,
                _ => return Err(undefined()),
            };
            Ok(Element::One(b.binary(op, x.one()?, y.one()?)))
        }
        TypeClass::Signed | TypeClass::Unsigned => {
            let (x, y) = (x.one()?, y.one()?);
            let value = integer::binary(b, kind, element_type, x, y).ok_or_else(undefined)?;
            Ok(Element::One(value))
        }
        TypeClass::Float => {
            let (wide, x) = widened(b, element_type, x.one()?)?;
            let (_, y) = widened(b, element_type, y.one()?)?;
            let result = real::binary(b, kind, x, y).ok_or_else(undefined)?;
            convert(b, wide, element_type, Element::One(result))
        }
        TypeClass::Complex => complex::binary(b, kind, x, y)?.ok_or_else(undefined),
    }
}

pub(crate) fn compare(
    b: &mut Builder,
    op: &Compare,
    element_type: ElementType,
    x: Element,
    y: Element,
) -> Result<Element> {
    use ComparisonDirection::*;
    if element_type.is_complex() {
        let ((a, c), (d, e)) = (x.parts()?, y.parts()?);
        let equal_re = b.compare(ComparePredicate::FEq, a, d);
        let equal_im = b.compare(ComparePredicate::FEq, c, e);
        let equal = b.binary(BinaryOp::And, equal_re, equal_im);
        return match op.direction {
            Eq => Ok(Element::One(equal)),
            Ne => Ok(Element::One(b.unary(UnaryOp::Not, equal))),
            Ge | Gt | Le | Lt => Err(undefined("compare", element_type)),
        };
    }
    let (mut x, mut y) = (x.one()?, y.one()?);
    let signed = [
        ComparePredicate::Eq,
        ComparePredicate::Ne,
        ComparePredicate::Sge,
        ComparePredicate::Sgt,
        ComparePredicate::Sle,
        ComparePredicate::Slt,
    ];
    let unsigned = [
        ComparePredicate::Eq,
        ComparePredicate::Ne,
        ComparePredicate::Uge,
        ComparePredicate::Ugt,
        ComparePredicate::Ule,
        ComparePredicate::Ult,
    ];
    let float = [
        ComparePredicate::FEq,
        ComparePredicate::FNe,
        ComparePredicate::FGe,
        ComparePredicate::FGt,
        ComparePredicate::FLe,
        ComparePredicate::FLt,
    ];
    let predicates = match element_type.class() {
        TypeClass::Pred | TypeClass::Unsigned => unsigned,
        TypeClass::Signed => signed,
        TypeClass::Float if op.comparison_type == Some(ComparisonType::TotalOrder) => {
            x = small_float::total_order_key(b, element_type, x)?;
            y = small_float::total_order_key(b, element_type, y)?;
            signed
        }
        TypeClass::Float => {
            x = widened(b, element_type, x)?.1;
            y = widened(b, element_type, y)?.1;
            float
        }
        TypeClass::Complex => unreachable!("handled above"),
    };
    let predicate = predicates[match op.direction {
        Eq => 0,
        Ne => 1,
        Ge => 2,
        Gt => 3,
        Le => 4,
        Lt => 5,
    }];
    Ok(Element::One(b.compare(predicate, x, y)))
}

pub(crate) fn select(b: &mut Builder, condition: Value, x: Element, y: Element) -> Result<Element> {
    match (x, y) {
        (Element::One(x), Element::One(y)) => Ok(Element::One(b.select(condition, x, y))),
        (Element::Complex(xr, xi), Element::Complex(yr, yi)) => {
            let re = b.select(condition, xr, yr);
            Ok(Element::Complex(re, b.select(condition, xi, yi)))
        }
        _ => Err(Error::internal("`select` of a complex and a real number")),
    }
}

/// `min(max(x, low), high)`.
pub(crate) fn clamp(
    b: &mut Builder,
    element_type: ElementType,
    [low, x, high]: [Element; 3],
) -> Result<Element> {
    if element_type.is_complex() {
        return Err(undefined("clamp", element_type));
    }
    let raised = binary(b, BinaryKind::Maximum, element_type, x, low)?;
    binary(b, BinaryKind::Minimum, element_type, raised, high)
}

/// The op's name in an error that says what it does not take.
pub(crate) fn undefined(op: &str, element_type: ElementType) -> Error {
    Error::invalid_argument(format!("`{op}` is not defined for element type `{element_type}`"))
}

/// Whether all bits of `x` named by a mask are zero, and the like: constants of `x`'s type.
fn like(b: &mut Builder, x: Value, value: f64) -> Value {
    let scalar = b.ty(x).scalar;
    number(b, scalar, value)
}

/// Wide integers for index arithmetic keep their sign.
fn extend(b: &mut Builder, element_type: ElementType, x: Value, to: Scalar) -> Value {
    let convert = if element_type.is_signed() { Convert::SignExtend } else { Convert::ZeroExtend };
    debug_assert!(scalar_of(element_type).bits() <= to.bits());
    b.convert(convert, x, to)
}
