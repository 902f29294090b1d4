//! CHLO operations of several results or with regions, and small ones without a family.

use rxla_hlo::op::{
    BinaryKind, ComparisonDirection, DotAlgorithm, Largest, Precision, RaggedDot, Scan, TopK,
    UnaryKind,
};
use rxla_hlo::{ArrayShape, Dims, ElementType, InstructionId, Shape};

use super::super::attributes::{View, integers_of};
use super::super::importer::{Importer, Result};
use super::super::literals::constant_of;
use super::super::shapes::check_dimension;
use crate::mlir::{Attribute, EnumValue, Float, Precision as MlirPrecision};

/// `chlo.constant`.
pub(in super::super) fn constant<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    super::super::literals::constant(cx, view)
}

/// `chlo.constant_like`: one number with the shape of the operand.
pub(in super::super) fn constant_like<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let shape = match view.result_shape(0)? {
        Shape::Array(result) => array.with_element_type(result.element_type),
        other => return Err(view.error(format_args!("has the type `{other}`"))),
    };
    let scalar_type = shape.element_type;
    let scalar = match view.require("value")? {
        Attribute::Float { ty: Float::F32, .. } | Attribute::Float { ty: Float::F64, .. } => {
            cx.scalar(scalar_type, view.float("value")?)
        }
        Attribute::Integer { value, .. } => cx.integer(scalar_type, *value),
        Attribute::Bool(value) => cx.integer(scalar_type, i64::from(*value)),
        dense @ Attribute::DenseElements(_) => {
            constant_of(cx, view, dense, &Shape::scalar(scalar_type))?
        }
        Attribute::Float { ty, bits } if ty.bits() <= 16 => {
            // The bits as a literal of their own type, in as many bytes as it takes.
            let own = super::super::types::element_type(&crate::mlir::Type::Float(*ty))
                .map_err(|reason| view.error(reason))?;
            let shape = ArrayShape::scalar(own);
            let bytes = &bits.to_le_bytes()[..own.byte_width()];
            let literal = rxla_hlo::literal::Bytes::copy_of(bytes)
                .and_then(|bytes| rxla_hlo::ArrayLiteral::from_bytes(&shape, bytes))
                .and_then(|literal| literal.convert(scalar_type))
                .map_err(|error| view.error(error.message))?;
            cx.add(rxla_hlo::Op::constant(literal), Shape::scalar(scalar_type), &[])
        }
        _ => return Err(view.wrong("value", "a number")),
    };
    let instruction = cx.splat(scalar, &shape);
    cx.finish(view, instruction)
}

/// `chlo.conj`.
pub(in super::super) fn conj<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    if !cx.array(view, operand)?.element_type.is_complex() {
        return cx.finish(view, operand);
    }
    let real = cx.unary(UnaryKind::Real, operand);
    let imag = cx.unary(UnaryKind::Imag, operand);
    let negative = cx.unary(UnaryKind::Negate, imag);
    let instruction = cx.binary(BinaryKind::Complex, real, negative);
    cx.finish(view, instruction)
}

/// `chlo.square`. Of a complex number (x + iy)² = (x - y)(x + y) + 2xyi, whose real part is zero
/// where |x| = |y| rather than what infinities would give.
pub(in super::super) fn square<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    if !cx.array(view, operand)?.element_type.is_complex() {
        let instruction = cx.binary(BinaryKind::Multiply, operand, operand);
        return cx.finish(view, instruction);
    }
    let x = cx.unary(UnaryKind::Real, operand);
    let y = cx.unary(UnaryKind::Imag, operand);
    let (x_size, y_size) = (cx.unary(UnaryKind::Abs, x), cx.unary(UnaryKind::Abs, y));
    let same = cx.compare(ComparisonDirection::Eq, x_size, y_size);
    let finite = cx.unary(UnaryKind::IsFinite, x);
    let is_zero = cx.binary(BinaryKind::And, finite, same);
    let difference = cx.binary(BinaryKind::Subtract, x, y);
    let sum = cx.binary(BinaryKind::Add, x, y);
    let product = cx.binary(BinaryKind::Multiply, difference, sum);
    let zero = cx.full_like(x, 0.0);
    let real = cx.select(is_zero, zero, product);
    let two = cx.full_like(x, 2.0);
    let product = cx.binary(BinaryKind::Multiply, x, y);
    let imag = cx.binary(BinaryKind::Multiply, two, product);
    let instruction = cx.binary(BinaryKind::Complex, real, imag);
    cx.finish(view, instruction)
}

/// `chlo.atan`: atan2 with 1, of a complex number through atanh(iz).
pub(in super::super) fn atan<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    if !cx.array(view, operand)?.element_type.is_complex() {
        let one = cx.full_like(operand, 1.0);
        let instruction = cx.binary(BinaryKind::Atan2, operand, one);
        return cx.finish(view, instruction);
    }
    let real = cx.unary(UnaryKind::Real, operand);
    let imag = cx.unary(UnaryKind::Imag, operand);
    let negative = cx.unary(UnaryKind::Negate, imag);
    let rotated = cx.binary(BinaryKind::Complex, negative, real);
    let atanh = cx.unary(UnaryKind::Atanh, rotated);
    let real = cx.unary(UnaryKind::Imag, atanh);
    let imag = cx.unary(UnaryKind::Real, atanh);
    let imag = cx.unary(UnaryKind::Negate, imag);
    let instruction = cx.binary(BinaryKind::Complex, real, imag);
    cx.finish(view, instruction)
}

fn equals(
    cx: &mut Importer<'_>,
    view: View<'_>,
    operand: InstructionId,
    value: f64,
) -> Result<InstructionId> {
    let element_type = cx.array(view, operand)?.element_type;
    if !element_type.is_float() {
        return Err(view.error(format_args!("takes floats, not `{element_type}`")));
    }
    let value = cx.full_like(operand, value);
    Ok(cx.compare(ComparisonDirection::Eq, operand, value))
}

/// `chlo.is_inf`.
pub(in super::super) fn is_inf<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    cx.array(view, operand)?;
    let magnitude = cx.unary(UnaryKind::Abs, operand);
    let instruction = equals(cx, view, magnitude, f64::INFINITY)?;
    cx.finish(view, instruction)
}

/// `chlo.is_pos_inf`.
pub(in super::super) fn is_pos_inf<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let instruction = equals(cx, view, operand, f64::INFINITY)?;
    cx.finish(view, instruction)
}

/// `chlo.is_neg_inf`.
pub(in super::super) fn is_neg_inf<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let instruction = equals(cx, view, operand, f64::NEG_INFINITY)?;
    cx.finish(view, instruction)
}

/// `chlo.top_k`: values and indices of the largest along the last dimension.
pub(in super::super) fn top_k<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    view.expect_results(2)?;
    let array = cx.array(view, operand)?;
    let k = view.integer("k")?;
    let Some(&last) = array.dims.last() else {
        return Err(view.error("takes an array of rank 1 at least"));
    };
    if k < 0 || k > last {
        return Err(view.error(format_args!("takes {k} elements of {last}")));
    }
    let mut values = array.clone();
    values.dims[array.rank() - 1] = k;
    let indices = values.with_element_type(ElementType::S32);
    let is_stable = view.bool_or("is_stable", true)?;
    let op = TopK { k, largest: Largest(true), is_stable };
    let shape = Shape::tuple([values.into(), indices.into()]);
    let instruction = cx.add(op, shape, &[operand]);
    cx.finish_tuple(view, instruction)
}

/// The six lists of a ragged dot, typed or as a composite holds them.
fn ragged_numbers(view: View<'_>) -> Result<[Dims; 6]> {
    const NAME: &str = "ragged_dot_dimension_numbers";
    match view.require(NAME)? {
        Attribute::RaggedDotDimensionNumbers(numbers) => Ok([
            &numbers.lhs_batching_dimensions,
            &numbers.rhs_batching_dimensions,
            &numbers.lhs_contracting_dimensions,
            &numbers.rhs_contracting_dimensions,
            &numbers.lhs_ragged_dimensions,
            &numbers.rhs_group_dimensions,
        ]
        .map(|list| Dims::from_slice(list))),
        Attribute::Array(items) => {
            let lists: Option<Vec<Dims>> = items.iter().map(integers_of).collect();
            lists
                .and_then(|lists| lists.try_into().ok())
                .ok_or_else(|| view.wrong(NAME, "six lists of dimensions"))
        }
        _ => Err(view.wrong(NAME, "a ragged dot's dimension numbers")),
    }
}

fn ragged_precisions(view: View<'_>) -> Result<Vec<Precision>> {
    let wrong = || view.wrong("precision_config", "a list of precisions");
    let Some(list) = view.get("precision_config") else { return Ok(Vec::new()) };
    let mut precisions = Vec::new();
    for item in list.as_array().ok_or_else(wrong)? {
        let precision = match item {
            Attribute::Enum(attribute) => match attribute.value {
                EnumValue::Precision(precision) => Some(precision),
                _ => None,
            },
            Attribute::String(text) => text.as_str().and_then(MlirPrecision::from_name),
            _ => None,
        };
        precisions.push(match precision.ok_or_else(wrong)? {
            MlirPrecision::Default => Precision::Default,
            MlirPrecision::High => Precision::High,
            MlirPrecision::Highest => Precision::Highest,
        });
    }
    if precisions.iter().all(|&precision| precision == Precision::Default) {
        precisions.clear();
    }
    Ok(precisions)
}

/// `chlo.ragged_dot`.
pub(in super::super) fn ragged_dot<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.exactly::<3>(view)?;
    let [lhs_batch, rhs_batch, lhs_contracting, rhs_contracting, ragged, group] =
        ragged_numbers(view)?;
    let shape = cx.declared(view, 0, |_| None)?;
    let op = RaggedDot {
        lhs_batch_dims: lhs_batch,
        lhs_contracting_dims: lhs_contracting,
        rhs_batch_dims: rhs_batch,
        rhs_contracting_dims: rhs_contracting,
        lhs_ragged_dims: ragged,
        rhs_group_dims: group,
        operand_precision: ragged_precisions(view)?,
        algorithm: None::<DotAlgorithm>,
    };
    let instruction = cx.add(Box::new(op), shape, &operands);
    cx.finish(view, instruction)
}

/// `chlo.scan`: inputs and initial carries, whose numbers the segment sizes say.
pub(in super::super) fn scan<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let sizes = match view.get("operandSegmentSizes").or_else(|| view.get("operand_segment_sizes"))
    {
        Some(sizes) => integers_of(sizes),
        None => None,
    };
    let inputs = match sizes.as_deref() {
        Some(&[inputs, carries])
            if inputs >= 0
                && carries >= 0
                && inputs.checked_add(carries) == Some(operands.len() as i64) =>
        {
            inputs as usize
        }
        _ => return Err(view.wrong("operandSegmentSizes", "the numbers of inputs and carries")),
    };
    let dimension = view.integer("dimension")?;
    let shapes = view.result_shapes()?;
    let first = match inputs {
        0 => shapes.first().cloned(),
        _ => Some(cx.logical_shape(operands[0])),
    };
    let rank = first.as_ref().and_then(Shape::as_array).map_or(0, ArrayShape::rank);
    check_dimension(view, "dimension", dimension, rank)?;
    let to_apply = cx.tuple_region(view, 0)?;
    let op = Scan {
        dimensions: Dims::from_slice(&[dimension]),
        is_reverse: view.bool_or("is_reverse", false)?,
        is_associative: match view.get("is_associative") {
            Some(_) => Some(view.bool("is_associative")?),
            None => None,
        },
        num_carries: (operands.len() - inputs) as i64,
        to_apply,
    };
    let instruction = cx.add(op, Shape::tuple(shapes), &operands);
    cx.mark_sharding(view, instruction)?;
    for (index, &result) in view.op.results.iter().enumerate() {
        let part = cx.get_tuple_element(instruction, index);
        cx.bind(result, part);
    }
    Ok(())
}
