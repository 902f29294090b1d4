//! Shapes as kernels take them: static arrays, and tuples seen as their leaves.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayShape, InstructionId, Shape};

pub(crate) fn array(shape: &Shape) -> Result<&ArrayShape> {
    let array =
        shape.as_array().ok_or_else(|| Error::unimplemented(format!("a `{shape}` in a kernel")))?;
    if array.is_static() {
        Ok(array)
    } else {
        Err(Error::unimplemented(format!("the dynamic shape `{array}` in a kernel")))
    }
}

pub(crate) fn check_plain(shape: &ArrayShape) -> Result<()> {
    match &shape.layout {
        Some(layout) if !layout.is_row_major() => Err(unimplemented("bitcast", "between layouts")),
        _ => Ok(()),
    }
}

pub(crate) fn unimplemented(op: &str, what: &str) -> Error {
    Error::unimplemented(format!("`{op}` {what} in a kernel"))
}

pub(crate) fn leaf_shape(shape: &Shape, leaf: usize) -> Result<&ArrayShape> {
    let leaves = shape.leaves();
    let (_, shape) =
        leaves.get(leaf).ok_or_else(|| Error::internal(format!("`{shape}` has no leaf {leaf}")))?;
    array(shape)
}

pub(crate) fn leaf_count(shape: &Shape) -> usize {
    match shape {
        Shape::Tuple(elements) => elements.iter().map(leaf_count).sum(),
        Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => 1,
    }
}

/// How many leaves stand before element `element` of a tuple.
pub(crate) fn leaves_before(tuple: &Shape, element: usize) -> Result<usize> {
    let elements = tuple
        .as_tuple()
        .ok_or_else(|| Error::invalid_argument(format!("`{tuple}` is no tuple")))?;
    Ok(elements.iter().take(element).map(leaf_count).sum())
}

/// Which operand of a `tuple` a leaf of it belongs to, and the leaf of that operand.
pub(crate) fn operand_of_leaf(
    module: &rxla_hlo::Module,
    id: InstructionId,
    leaf: usize,
) -> Result<(usize, usize)> {
    let mut rest = leaf;
    for number in 0..module[id].operands().len() {
        let count = leaf_count(module.operand_shape(id, number));
        if rest < count {
            return Ok((number, rest));
        }
        rest -= count;
    }
    Err(Error::internal(format!("`{}` has no leaf {leaf}", module[id].name())))
}
