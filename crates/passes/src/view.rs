//! What rules read the graph with, and the few things they make often.
//!
//! A question that has no answer is `None`, so that `?` strings a pattern together:
//! `let [x, c] = binary(m, i, Multiply)?;`. Nothing here looks further than an operand or two.

use rxla_hlo::op::Convert;
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, Dims, ElementType, InstructionId, Literal, Module, Op,
    Shape, UnaryKind,
};

// ---- ops and operands

/// The operand of a unary op of this kind.
pub fn unary(m: &Module, i: InstructionId, kind: UnaryKind) -> Option<InstructionId> {
    let (found, operand) = any_unary(m, i)?;
    (found == kind).then_some(operand)
}

/// The operands of a binary op of this kind.
pub fn binary(m: &Module, i: InstructionId, kind: BinaryKind) -> Option<[InstructionId; 2]> {
    let (found, operands) = any_binary(m, i)?;
    (found == kind).then_some(operands)
}

/// Kind and operand of a unary op.
pub fn any_unary(m: &Module, i: InstructionId) -> Option<(UnaryKind, InstructionId)> {
    let Op::Unary(op) = &m[i].op else { return None };
    Some((op.kind, m[i].operands()[0]))
}

/// Kind and operands of a binary op.
pub fn any_binary(m: &Module, i: InstructionId) -> Option<(BinaryKind, [InstructionId; 2])> {
    let Op::Binary(op) = &m[i].op else { return None };
    Some((op.kind, [m[i].operands()[0], m[i].operands()[1]]))
}

pub fn operand(m: &Module, i: InstructionId, index: usize) -> InstructionId {
    m[i].operands()[index]
}

/// The only user, which may use it more than once. What a computation returns has another user.
pub fn only_user(m: &Module, i: InstructionId) -> Option<InstructionId> {
    let [user] = m[i].users() else { return None };
    (!is_root(m, i)).then_some(*user)
}

pub fn is_root(m: &Module, i: InstructionId) -> bool {
    m[m[i].parent()].try_root() == Some(i)
}

/// Whether control edges start or end here.
pub fn has_control_edges(m: &Module, i: InstructionId) -> bool {
    m[i].has_control_edges()
}

// ---- shapes

/// The shape, if it is an array whose sizes are all known.
pub fn static_array(m: &Module, i: InstructionId) -> Option<&ArrayShape> {
    m[i].shape.as_array().filter(|shape| shape.is_static())
}

/// The element type of an array.
pub fn element_type(m: &Module, i: InstructionId) -> Option<ElementType> {
    Some(m[i].shape.as_array()?.element_type)
}

/// The sizes of an array with all sizes known.
pub fn dims(m: &Module, i: InstructionId) -> Option<&Dims> {
    static_array(m, i).map(|shape| &shape.dims)
}

/// How many elements an array has; none if not all sizes are known.
pub fn elements(m: &Module, i: InstructionId) -> i64 {
    dims(m, i).map_or(0, |dims| dims.iter().product())
}

/// Whether both have the same type and sizes, layouts aside.
pub fn same_shape(m: &Module, a: InstructionId, b: InstructionId) -> bool {
    m[a].shape.compatible(&m[b].shape)
}

/// Whether the array has one element.
pub fn is_single(m: &Module, i: InstructionId) -> bool {
    static_array(m, i).is_some_and(|shape| shape.element_count() == Some(1))
}

// ---- values

/// The value of a constant array.
pub fn constant(m: &Module, i: InstructionId) -> Option<&ArrayLiteral> {
    let Op::Constant(op) = &m[i].op else { return None };
    op.literal.as_array()
}

/// The one value of an array that is the same everywhere: a constant of equal elements, or a
/// broadcast of one. A literal of one element.
pub fn splat(m: &Module, i: InstructionId) -> Option<ArrayLiteral> {
    let Op::Broadcast(_) = &m[i].op else { return splat_of(constant(m, i)?) };
    splat_of(constant(m, operand(m, i, 0))?)
}

/// The value that all elements of a literal have, compared as bits.
pub fn splat_of(literal: &ArrayLiteral) -> Option<ArrayLiteral> {
    let width = literal.element_type().byte_width();
    let bytes = literal.bytes();
    let first = bytes.get(..width)?;
    if !bytes.chunks_exact(width).all(|element| element == first) {
        return None;
    }
    let mut scalar = ArrayLiteral::zeros(&ArrayShape::scalar(literal.element_type())).ok()?;
    scalar.bytes_mut().copy_from_slice(first);
    Some(scalar)
}

/// The scalar, constant or not, that a broadcast puts everywhere in the array.
pub fn broadcast_scalar(m: &Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Broadcast(op) = &m[i].op else { return None };
    op.dimensions.is_empty().then(|| operand(m, i, 0))
}

/// Whether every element is this number, exactly. Zeros of both signs are equal here; ask
/// [`is_positive_zero`] or [`is_negative_zero`] where the sign matters. Complex numbers have no
/// imaginary part then.
pub fn is_number(m: &Module, i: InstructionId, number: f64) -> bool {
    let Some(value) = splat(m, i) else { return false };
    let as_complex = value.complex(0);
    match as_complex {
        Some(value) => value.re == number && value.im == 0.0,
        None => false,
    }
}

/// Whether every element is an integer of this value, whatever its width.
pub fn is_integer(m: &Module, i: InstructionId, number: i64) -> bool {
    let integral = element_type(m, i).is_some_and(|t| t.is_integer() || t == ElementType::Pred);
    integral && splat(m, i).and_then(|value| value.integer(0)) == Some(number)
}

/// Whether every element is +0 (of an integer type: 0).
pub fn is_positive_zero(m: &Module, i: InstructionId) -> bool {
    splat(m, i).is_some_and(|value| value.bytes().iter().all(|byte| *byte == 0))
}

/// Whether every element is the float -0.
pub fn is_negative_zero(m: &Module, i: InstructionId) -> bool {
    let float = element_type(m, i).is_some_and(ElementType::is_float);
    float
        && splat(m, i)
            .and_then(|value| value.float(0))
            .is_some_and(|value| value == 0.0 && value.is_sign_negative())
}

/// Whether every element is `true`.
pub fn is_true(m: &Module, i: InstructionId) -> bool {
    element_type(m, i) == Some(ElementType::Pred) && is_integer(m, i, 1)
}

/// Whether every element is `false`.
pub fn is_false(m: &Module, i: InstructionId) -> bool {
    element_type(m, i) == Some(ElementType::Pred) && is_integer(m, i, 0)
}

/// The sizes of what one update of a scatter covers in the array that it updates.
pub fn scatter_window(m: &Module, i: InstructionId) -> Option<Dims> {
    let Op::Scatter(op) = &m[i].op else { return None };
    let updates = dims(m, *m[i].operands().last()?)?;
    let mut sizes = op.update_window_dims.iter().map(|&dimension| updates[dimension as usize]);
    let single = |dimension: &i64| {
        op.inserted_window_dims.contains(dimension) || op.input_batching_dims.contains(dimension)
    };
    let rank = dims(m, operand(m, i, 0))?.len() as i64;
    (0..rank).map(|dimension| if single(&dimension) { Some(1) } else { sizes.next() }).collect()
}

// ---- making

/// A new instruction beside `i`, with the shape that its operands give. Panics where they give
/// none: a rule has looked before.
pub fn add(
    m: &mut Module,
    i: InstructionId,
    op: impl Into<Op>,
    operands: &[InstructionId],
) -> InstructionId {
    let parent = m[i].parent();
    match m.add(parent, op, operands) {
        Ok(made) => made,
        Err(error) => panic!("a rule at `{}` makes {error:?}", m[i].name()),
    }
}

/// A new instruction beside `i` with a shape of its own.
pub fn add_with_shape(
    m: &mut Module,
    i: InstructionId,
    op: impl Into<Op>,
    shape: impl Into<Shape>,
    operands: &[InstructionId],
) -> InstructionId {
    let parent = m[i].parent();
    match m.add_with_shape(parent, op, shape, operands) {
        Ok(made) => made,
        Err(error) => panic!("a rule at `{}` makes {error:?}", m[i].name()),
    }
}

/// A new instruction of the shape of `i`.
pub fn add_same(
    m: &mut Module,
    i: InstructionId,
    op: impl Into<Op>,
    operands: &[InstructionId],
) -> InstructionId {
    let shape = m[i].shape.clone();
    add_with_shape(m, i, op, shape, operands)
}

/// The value in the element type of a shape of the same sizes.
pub fn convert(
    m: &mut Module,
    i: InstructionId,
    value: InstructionId,
    shape: &Shape,
) -> InstructionId {
    if m[value].shape.compatible(shape) {
        return value;
    }
    add_with_shape(m, i, Convert {}, shape.clone(), &[value])
}

/// A number at every place of the shape of `i`, as a scalar constant and a broadcast.
pub fn splat_number(m: &mut Module, i: InstructionId, number: f64) -> Option<InstructionId> {
    let shape = static_array(m, i)?.clone();
    let scalar = ArrayLiteral::scalar(number).convert(shape.element_type).ok()?;
    Some(splat_value(m, i, scalar))
}

/// A literal of one element at every place of the shape of `i`, which is an array.
pub fn splat_value(m: &mut Module, i: InstructionId, value: ArrayLiteral) -> InstructionId {
    let parent = m[i].parent();
    let scalar = m.add_constant(parent, Literal::Array(value));
    if m[i].shape.as_array().is_some_and(|shape| shape.rank() == 0) {
        return scalar;
    }
    add_same(m, i, Op::broadcast([]), &[scalar])
}
