//! Ops that compute each element from the same elements of their operands.

use super::check::{
    Result, array, arrays, callee, dimensions, ensure, error, needed, same_size, same_sizes,
    scalar, with_sizes,
};
use crate::op::{Compare, ComparisonDirection, ComparisonType, Map, ReducePrecision};
use crate::{ArrayShape, BinaryKind, ElementType, Module, Shape, TypeClass, UnaryKind};

/// What [`unary`] says of a function: which types it takes.
enum Takes {
    Float,
    FloatOrComplex,
    /// Signed integers, floats and complex numbers.
    Signed,
    /// Numbers, that is all but `pred`.
    Number,
    Integer,
    PredOrInteger,
}

impl Takes {
    fn has(&self, element_type: ElementType) -> bool {
        match (self, element_type.class()) {
            (Takes::Float, class) => class == TypeClass::Float,
            (Takes::FloatOrComplex, class) => {
                matches!(class, TypeClass::Float | TypeClass::Complex)
            }
            (Takes::Signed, class) => !matches!(class, TypeClass::Pred | TypeClass::Unsigned),
            (Takes::Number, class) => class != TypeClass::Pred,
            (Takes::Integer, class) => matches!(class, TypeClass::Signed | TypeClass::Unsigned),
            (Takes::PredOrInteger, class) => {
                matches!(class, TypeClass::Pred | TypeClass::Signed | TypeClass::Unsigned)
            }
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Takes::Float => "floats",
            Takes::FloatOrComplex => "floats or complex numbers",
            Takes::Signed => "signed integers, floats or complex numbers",
            Takes::Number => "numbers",
            Takes::Integer => "integers",
            Takes::PredOrInteger => "`pred` or integers",
        }
    }

    fn check(&self, element_type: ElementType) -> Result<()> {
        ensure!(
            self.has(element_type),
            "operands have to be {}, but are `{element_type}`",
            self.words()
        );
        Ok(())
    }
}

pub(super) fn unary(kind: UnaryKind, operand: &Shape) -> Result<Shape> {
    use UnaryKind::*;
    let operand = array(operand, "the operand")?;
    let takes = match kind {
        Cbrt | Ceil | Erf | Floor | IsFinite | RoundNearestAfz | RoundNearestEven => Takes::Float,
        Acos | Acosh | Asin | Asinh | Atanh | Cos | Cosh | Exp | Expm1 | Imag | Log | Log1p
        | Logistic | Real | Rsqrt | Sin | Sinh | Sqrt | Tan | Tanh => Takes::FloatOrComplex,
        Abs | Sign => Takes::Signed,
        Negate => Takes::Number,
        CountLeadingZeros | PopulationCount => Takes::Integer,
        Not => Takes::PredOrInteger,
    };
    takes.check(operand.element_type)?;
    let element_type = match kind {
        Abs | Imag | Real => operand.element_type.real_part(),
        IsFinite => ElementType::Pred,
        Acos | Acosh | Asin | Asinh | Atanh | Cbrt | Ceil | Cos | Cosh | CountLeadingZeros
        | Erf | Exp | Expm1 | Floor | Log | Log1p | Logistic | Negate | Not | PopulationCount
        | RoundNearestAfz | RoundNearestEven | Rsqrt | Sign | Sin | Sinh | Sqrt | Tan | Tanh => {
            operand.element_type
        }
    };
    Ok(operand.with_element_type(element_type).without_layout().into())
}

/// Equal sizes of two operands; what is dynamic in one is dynamic in the result.
pub(super) fn join(lhs: &ArrayShape, rhs: &ArrayShape) -> Result<ArrayShape> {
    if !same_sizes(lhs, rhs) {
        return Err(error(format!("operands differ in size: `{lhs}` and `{rhs}`"))
            .hint("broadcasts are explicit: insert a `broadcast`"));
    }
    if lhs.is_static() && rhs.is_static() {
        return Ok(lhs.without_layout());
    }
    let sizes = (0..lhs.rank()).map(|d| {
        let size = if lhs.dims[d] == ArrayShape::UNBOUNDED { rhs.dims[d] } else { lhs.dims[d] };
        (size, lhs.is_dynamic_dimension(d) || rhs.is_dynamic_dimension(d))
    });
    Ok(with_sizes(lhs.element_type, sizes))
}

fn same_types(lhs: &ArrayShape, rhs: &ArrayShape) -> Result<()> {
    ensure!(
        lhs.element_type == rhs.element_type,
        "operands differ in element type: `{lhs}` and `{rhs}`"
    );
    Ok(())
}

pub(super) fn binary(kind: BinaryKind, lhs: &Shape, rhs: &Shape) -> Result<Shape> {
    use BinaryKind::*;
    let (lhs, rhs) = (array(lhs, "operand 0")?, array(rhs, "operand 1")?);
    same_types(lhs, rhs)?;
    let joined = join(lhs, rhs)?;
    let element_type = lhs.element_type;
    match kind {
        Add | Maximum | Minimum | Multiply => {}
        Divide | Power | Remainder | Subtract => Takes::Number.check(element_type)?,
        Mulhi | ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => {
            Takes::Integer.check(element_type)?;
        }
        And | Or | Xor => Takes::PredOrInteger.check(element_type)?,
        Atan2 => Takes::FloatOrComplex.check(element_type)?,
        Complex => {
            let Some(complex) = element_type.complex_of() else {
                return Err(error(format!(
                    "parts have to be `f32` or `f64`, but are `{element_type}`"
                )));
            };
            return Ok(joined.with_element_type(complex).into());
        }
    }
    Ok(joined.into())
}

pub(super) fn compare(op: &Compare, lhs: &Shape, rhs: &Shape) -> Result<Shape> {
    let (lhs, rhs) = (array(lhs, "operand 0")?, array(rhs, "operand 1")?);
    ensure!(
        lhs.element_type == rhs.element_type,
        "(C1) operands differ in element type: `{lhs}` and `{rhs}`"
    );
    let joined = join(lhs, rhs)?;
    let class = lhs.element_type.class();
    if let Some(kind) = op.comparison_type {
        let fits = match kind {
            ComparisonType::Signed => class == TypeClass::Signed,
            ComparisonType::Unsigned => matches!(class, TypeClass::Unsigned | TypeClass::Pred),
            ComparisonType::Float => matches!(class, TypeClass::Float | TypeClass::Complex),
            ComparisonType::TotalOrder => class == TypeClass::Float,
        };
        ensure!(fits, "(C3) comparison type {kind} does not fit `{}`", lhs.element_type);
    }
    if class == TypeClass::Complex {
        ensure!(
            matches!(op.direction, ComparisonDirection::Eq | ComparisonDirection::Ne),
            "complex numbers have no order, so {} cannot compare `{}`",
            op.direction,
            lhs.element_type
        );
    }
    Ok(joined.with_element_type(ElementType::Pred).into())
}

pub(super) fn clamp(min: &Shape, operand: &Shape, max: &Shape) -> Result<Shape> {
    let bounds = [("(C1) the minimum", min), ("(C2) the maximum", max)];
    let operand = array(operand, "operand 1")?;
    for (what, bound) in bounds {
        let bound = array(bound, what)?;
        ensure!(
            bound.element_type == operand.element_type,
            "(C3) operands differ in element type: `{bound}` and `{operand}`"
        );
        ensure!(
            bound.rank() == 0 || same_sizes(bound, operand),
            "{what} has to be a scalar or sized like the operand `{operand}`, but is `{bound}`"
        );
    }
    Takes::Number.check(operand.element_type).or_else(|error| {
        // XLA clamps `pred` too; only complex numbers have no order.
        if operand.element_type == ElementType::Pred { Ok(()) } else { Err(error) }
    })?;
    ensure!(!operand.element_type.is_complex(), "complex numbers have no order");
    Ok(operand.without_layout().into())
}

pub(super) fn select(pred: &Shape, on_true: &Shape, on_false: &Shape) -> Result<Shape> {
    let pred = array(pred, "operand 0")?;
    ensure!(pred.element_type == ElementType::Pred, "operand 0 has to be `pred`, but is `{pred}`");
    let (on_true, on_false) = (array(on_true, "operand 1")?, array(on_false, "operand 2")?);
    ensure!(
        on_true.element_type == on_false.element_type && same_sizes(on_true, on_false),
        "(C2) the values to choose from differ: `{on_true}` and `{on_false}`"
    );
    ensure!(
        pred.rank() == 0 || same_sizes(pred, on_true),
        "(C1) operand 0 has to be a scalar or sized like the values `{on_true}`, but is `{pred}`"
    );
    join(on_true, on_false).map(Shape::Array)
}

pub(super) fn convert(operand: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let result = array(needed(declared)?, "the result")?;
    ensure!(
        same_sizes(operand, result),
        "(C1) the result `{result}` has to be sized like the operand `{operand}`"
    );
    Ok(Shape::Array(result.clone()))
}

pub(super) fn stochastic_convert(
    operand: &Shape,
    random: &Shape,
    declared: Option<&Shape>,
) -> Result<Shape> {
    let (operand, random) = (array(operand, "operand 0")?, array(random, "operand 1")?);
    Takes::Float.check(operand.element_type)?;
    ensure!(
        random.element_type.is_unsigned(),
        "random numbers have to be unsigned, but are `{random}`"
    );
    ensure!(
        random.element_type.bit_width() == operand.element_type.bit_width()
            && same_sizes(random, operand),
        "random numbers `{random}` do not have the bits and sizes of the operand `{operand}`"
    );
    convert(&Shape::Array(operand.clone()), declared)
}

pub(super) fn bitcast_convert(operand: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let result = array(needed(declared)?, "the result")?;
    let (from, to) = (operand.element_type, result.element_type);
    ensure!(
        from.is_complex() == to.is_complex(),
        "(C2) cannot go between complex and other types: `{operand}` to `{result}`"
    );
    // `pred` is stored as a byte.
    let bits = |t: ElementType| if t == ElementType::Pred { 8 } else { t.bit_width() };
    let (narrow, wide) = if bits(to) <= bits(from) { (result, operand) } else { (operand, result) };
    let ratio = bits(wide.element_type) / bits(narrow.element_type).max(1);
    let whole = bits(wide.element_type).is_multiple_of(bits(narrow.element_type));
    let fits = if ratio == 1 {
        same_sizes(operand, result)
    } else {
        narrow.rank() == wide.rank() + 1
            && wide.dims.iter().zip(&narrow.dims).all(|(&a, &b)| same_size(a, b))
            && narrow.dims.last().is_some_and(|&last| same_size(last, ratio as i64))
    };
    ensure!(
        whole && fits,
        "(C1) `{result}` does not have the bits of `{operand}`, {} and {} an element",
        bits(to),
        bits(from)
    );
    Ok(Shape::Array(result.clone()))
}

pub(super) fn reduce_precision(op: &ReducePrecision, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    Takes::Float.check(operand.element_type)?;
    ensure!(op.exponent_bits >= 1, "(C2) exponent bits are {}, below 1", op.exponent_bits);
    ensure!(op.mantissa_bits >= 0, "(C3) mantissa bits are {}, below 0", op.mantissa_bits);
    Ok(operand.without_layout().into())
}

pub(super) fn map(module: &Module, op: &Map, operands: &[&Shape]) -> Result<Shape> {
    let operands = arrays(operands, "operand")?;
    let first = operands[0];
    let mut joined = first.clone();
    for operand in &operands[1..] {
        ensure!(
            same_sizes(first, operand),
            "(C1) operands differ in size: `{first}` and `{operand}`"
        );
        joined = join(&joined, operand)?;
    }
    let numbers = dimensions(&op.dimensions, first.rank(), "`dimensions`")?;
    ensure!(
        numbers.iter().copied().eq(0..first.rank())
            // Old dumps leave the list out.
            || numbers.is_empty(),
        "(C3) `dimensions` has to list all dimensions in order"
    );
    let callee = callee(module, op.to_apply, "`to_apply`")?;
    callee.expect_parameters(operands.len())?;
    for (number, operand) in operands.iter().enumerate() {
        let parameter = scalar(callee.parameters[number], &format!("(C4) parameter {number}"))?;
        ensure!(
            super::check::promote(parameter.element_type, operand.element_type).is_some(),
            "(C4) parameter {number} of `{}` is `{parameter}`, but operand {number} is `{operand}`",
            callee.name
        );
    }
    let result = scalar(callee.result, "(C4) the computation's result")?;
    Ok(joined.with_element_type(result.element_type).without_layout().into())
}
