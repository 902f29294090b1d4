//! Ops that compute each element of the result from the same element of their operands.
//!
//! Every function works on arrays of any rank; operands have the same dimensions unless said
//! otherwise, which callers have checked. Operands come by value so that one whose storage nobody
//! else holds may be overwritten by the result.

use rxla_base::{Error, Result};
use rxla_hlo::op::{BinaryKind, ComparisonDirection, ComparisonType, UnaryKind};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType};

/// `abs`, `cosine`, ….
pub fn unary(kind: UnaryKind, operand: ArrayLiteral) -> Result<ArrayLiteral> {
    Err(missing(kind.name(), operand.element_type()))
}

/// `add`, `power`, `complex`, ….
pub fn binary(kind: BinaryKind, lhs: ArrayLiteral, rhs: ArrayLiteral) -> Result<ArrayLiteral> {
    let mut lhs = lhs;
    match (kind, lhs.element_type()) {
        (BinaryKind::Add, ElementType::F32) => {
            let rhs = rhs.values::<f32>();
            lhs.values_mut::<f32>().iter_mut().zip(rhs).for_each(|(a, b)| *a += b);
            Ok(lhs)
        }
        (BinaryKind::Add, ElementType::S32) => {
            let rhs = rhs.values::<i32>();
            lhs.values_mut::<i32>().iter_mut().zip(rhs).for_each(|(a, b)| *a = a.wrapping_add(*b));
            Ok(lhs)
        }
        (kind, element_type) => Err(missing(kind.name(), element_type)),
    }
}

/// A `pred` array. `comparison_type` is the element type's own when it is `None`.
pub fn compare(
    direction: ComparisonDirection,
    comparison_type: Option<ComparisonType>,
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    match (direction, comparison_type, lhs.element_type()) {
        (ComparisonDirection::Lt, None, ElementType::S32) => {
            let mut out = ArrayLiteral::zeros(&lhs.shape().with_element_type(ElementType::Pred))?;
            let pairs = lhs.values::<i32>().iter().zip(rhs.values::<i32>());
            for (out, (a, b)) in out.bytes_mut().iter_mut().zip(pairs) {
                *out = u8::from(a < b);
            }
            Ok(out)
        }
        (_, _, element_type) => Err(missing("compare", element_type)),
    }
}

/// `predicate` has the dimensions of the others or is a scalar.
pub fn select(
    predicate: &ArrayLiteral,
    on_true: ArrayLiteral,
    on_false: ArrayLiteral,
) -> Result<ArrayLiteral> {
    let _ = (predicate, on_false);
    Err(missing("select", on_true.element_type()))
}

/// `min` and `max` have the dimensions of `operand` or are scalars.
pub fn clamp(
    min: &ArrayLiteral,
    operand: ArrayLiteral,
    max: &ArrayLiteral,
) -> Result<ArrayLiteral> {
    let _ = (min, max);
    Err(missing("clamp", operand.element_type()))
}

/// Each element as the nearest value of another type.
pub fn convert(operand: ArrayLiteral, to: ElementType) -> Result<ArrayLiteral> {
    if operand.element_type() == to { Ok(operand) } else { Err(missing("convert", to)) }
}

/// The same bits seen as `shape`, whose last dimension makes up for a different width.
pub fn bitcast_convert(operand: ArrayLiteral, shape: &ArrayShape) -> Result<ArrayLiteral> {
    if operand.element_type() == shape.element_type {
        operand.with_shape(shape)
    } else {
        Err(missing("bitcast-convert", shape.element_type))
    }
}

/// Each element rounded as if its type had that many exponent and mantissa bits.
pub fn reduce_precision(
    operand: ArrayLiteral,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Result<ArrayLiteral> {
    let _ = (exponent_bits, mantissa_bits);
    Err(missing("reduce-precision", operand.element_type()))
}

/// Conversion that rounds away from zero with a probability given by `random` bits.
pub fn stochastic_convert(
    operand: ArrayLiteral,
    random: &ArrayLiteral,
    to: ElementType,
) -> Result<ArrayLiteral> {
    let _ = (operand, random);
    Err(missing("stochastic-convert", to))
}

fn missing(op: &str, element_type: ElementType) -> Error {
    Error::unimplemented(format!("`{op}` of `{element_type}` in the interpreter"))
}
