//! Constants: dense elements and resources as literals.

use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, ArrayShape, InstructionId, Literal, Op, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use crate::mlir::{Attribute, DenseElements, ResourceValue};

/// `stablehlo.constant`.
pub(super) fn constant<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let shape = view.result_shape(0)?;
    let value = view.require("value")?;
    let instruction = constant_of(cx, view, value, &shape)?;
    cx.finish(view, instruction)
}

/// The constant that a dense attribute says, with the element type of `shape`. Equal elements are
/// one scalar and a broadcast, however many they are.
pub(super) fn constant_of<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    value: &'a Attribute,
    shape: &Shape,
) -> Result<InstructionId> {
    let Shape::Array(array) = shape else {
        return Err(view.error(format_args!("a constant of shape `{shape}` is not possible")));
    };
    match value {
        Attribute::DenseElements(elements) => {
            check_dims(view, elements.ty().shaped().map(|(dims, _)| dims), array)?;
            if elements.is_splat() && array.rank() > 0 {
                let scalar = ArrayShape::scalar(array.element_type);
                let literal =
                    cx.cached_literal(view.id, || dense_literal(view, elements, &scalar))?;
                let scalar = cx.add(rxla_hlo::op::Constant { literal }, Shape::Array(scalar), &[]);
                return Ok(cx.add(Op::broadcast([]), shape.clone(), &[scalar]));
            }
            let literal = cx.cached_literal(view.id, || dense_literal(view, elements, array))?;
            Ok(cx.add(rxla_hlo::op::Constant { literal }, shape.clone(), &[]))
        }
        Attribute::DenseResource(resource) => {
            check_dims(view, resource.ty.shaped().map(|(dims, _)| dims), array)?;
            let source = cx.source;
            let literal = cx.cached_literal(view.id, || {
                let entry = source.resources.iter().find(|entry| entry.key == resource.key);
                let Some(ResourceValue::Blob { bytes, .. }) = entry.map(|entry| &entry.value)
                else {
                    return Err(view
                        .error(format_args!("resource `{}` is not in the module", resource.key)));
                };
                literal_from_storage(view, bytes, array)
            })?;
            Ok(cx.add(rxla_hlo::op::Constant { literal }, shape.clone(), &[]))
        }
        _ => Err(view.wrong("value", "a dense constant")),
    }
}

fn check_dims(view: View<'_>, found: Option<&[i64]>, array: &ArrayShape) -> Result {
    if found == Some(&array.dims[..]) && array.is_static() {
        return Ok(());
    }
    Err(view.error(format_args!(
        "the constant's dimensions {:?} are not those of its type `{array}`",
        found.unwrap_or(&[])
    )))
}

/// The literal of dense elements, or of one of them if they are a splat and `shape` is a scalar.
fn dense_literal(view: View<'_>, elements: &DenseElements, shape: &ArrayShape) -> Result<Literal> {
    literal_from_storage(view, elements.bytes(), shape)
}

/// The literal over MLIR's bytes, which differ from ours only below eight bits: MLIR leaves the
/// bits above an element zero, ours extend the sign.
fn literal_from_storage(view: View<'_>, bytes: &[u8], shape: &ArrayShape) -> Result<Literal> {
    if shape.byte_size() != Some(bytes.len()) {
        return Err(view.error(format_args!(
            "{} bytes are given for a constant of type `{shape}`",
            bytes.len()
        )));
    }
    let mut storage = Bytes::copy_of(bytes).map_err(|error| view.error(error.message))?;
    rxla_hlo::literal::canonicalize(shape.element_type, storage.make_mut());
    let literal = ArrayLiteral::from_bytes(shape, storage);
    Ok(Literal::Array(literal.map_err(|error| view.error(error.message))?))
}

/// Dense elements as an array of these sizes, converted to another element type.
pub(super) fn converted(
    view: View<'_>,
    elements: &DenseElements,
    dims: &[i64],
    to: rxla_hlo::ElementType,
) -> Result<ArrayLiteral> {
    let ty = elements.ty().element().ok_or_else(|| view.error("has a constant without type"))?;
    let from = super::types::element_type(ty).map_err(|reason| view.error(reason))?;
    let whole = ArrayShape::new(from, dims.iter().copied());
    let stored = if elements.is_splat() { ArrayShape::scalar(from) } else { whole.clone() };
    let Literal::Array(literal) = literal_from_storage(view, elements.bytes(), &stored)? else {
        return Err(view.error("has a constant that is no array"));
    };
    let literal = match whole.element_count() {
        Some(count) if elements.is_splat() && count <= 1 << 24 => {
            let bytes = literal.bytes().repeat(count);
            let Literal::Array(literal) = literal_from_storage(view, &bytes, &whole)? else {
                return Err(view.error("has a constant that is no array"));
            };
            literal
        }
        _ => literal,
    };
    literal.convert(to).map_err(|error| view.error(error.message))
}
