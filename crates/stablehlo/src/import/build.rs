//! Small building blocks for operations that become several instructions.

use rxla_hlo::op::{BinaryKind, Broadcast, ComparisonDirection, Convert, Select, UnaryKind};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, InstructionId, Op, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};

impl Importer<'_> {
    /// The array shape of an instruction; an error if it is no array.
    pub(super) fn array(&self, view: View<'_>, instruction: InstructionId) -> Result<ArrayShape> {
        match self.shape(instruction) {
            Shape::Array(array) => Ok(array.without_layout()),
            other => Err(view.error(format_args!("takes an array, not `{other}`"))),
        }
    }

    /// The array shape of an instruction we made, or that was checked to be an array.
    pub(super) fn dims_of(&self, instruction: InstructionId) -> ArrayShape {
        match self.shape(instruction) {
            Shape::Array(array) => array.without_layout(),
            other => unreachable!("`{other}` was checked to be an array"),
        }
    }

    pub(super) fn element_type(&self, instruction: InstructionId) -> ElementType {
        self.dims_of(instruction).element_type
    }

    pub(super) fn unary(&mut self, kind: UnaryKind, operand: InstructionId) -> InstructionId {
        let operand_shape = self.dims_of(operand);
        let shape = match kind {
            UnaryKind::IsFinite => operand_shape.with_element_type(ElementType::Pred),
            UnaryKind::Real | UnaryKind::Imag => {
                operand_shape.with_element_type(operand_shape.element_type.real_part())
            }
            UnaryKind::Abs if operand_shape.element_type.is_complex() => {
                operand_shape.with_element_type(operand_shape.element_type.real_part())
            }
            _ => operand_shape,
        };
        self.add(Op::unary(kind), shape.into(), &[operand])
    }

    /// Both operands have one shape, which is the result's (but for `complex`).
    pub(super) fn binary(
        &mut self,
        kind: BinaryKind,
        left: InstructionId,
        right: InstructionId,
    ) -> InstructionId {
        let mut shape = self.dims_of(left);
        if kind == BinaryKind::Complex
            && let Some(complex) = shape.element_type.complex_of()
        {
            shape = shape.with_element_type(complex);
        }
        self.add(Op::binary(kind), shape.into(), &[left, right])
    }

    pub(super) fn compare(
        &mut self,
        direction: ComparisonDirection,
        left: InstructionId,
        right: InstructionId,
    ) -> InstructionId {
        let shape = self.dims_of(left).with_element_type(ElementType::Pred);
        self.add(Op::compare(direction), shape.into(), &[left, right])
    }

    pub(super) fn select(
        &mut self,
        condition: InstructionId,
        then: InstructionId,
        otherwise: InstructionId,
    ) -> InstructionId {
        let shape = self.logical_shape(then);
        self.add(Select {}, shape, &[condition, then, otherwise])
    }

    pub(super) fn convert(&mut self, operand: InstructionId, to: ElementType) -> InstructionId {
        let shape = self.dims_of(operand);
        if shape.element_type == to {
            return operand;
        }
        self.add(Convert {}, shape.with_element_type(to).into(), &[operand])
    }

    /// A scalar constant; the value is rounded to the element type.
    pub(super) fn scalar(&mut self, element_type: ElementType, value: f64) -> InstructionId {
        let literal = ArrayLiteral::scalar(value).convert(element_type);
        let literal = literal.expect("a scalar converts to every element type");
        let shape = Shape::scalar(element_type);
        self.add(Op::constant(literal), shape, &[])
    }

    /// A scalar constant of an integer type.
    pub(super) fn integer(&mut self, element_type: ElementType, value: i64) -> InstructionId {
        let literal = ArrayLiteral::scalar(value).convert(element_type);
        let literal = literal.expect("a scalar converts to every element type");
        let shape = Shape::scalar(element_type);
        self.add(Op::constant(literal), shape, &[])
    }

    /// The value everywhere in an array of the shape and type of `like`.
    pub(super) fn full_like(&mut self, like: InstructionId, value: f64) -> InstructionId {
        let shape = self.dims_of(like);
        self.full(&shape, value)
    }

    pub(super) fn full(&mut self, shape: &ArrayShape, value: f64) -> InstructionId {
        let scalar = self.scalar(shape.element_type, value);
        self.splat(scalar, shape)
    }

    /// A scalar everywhere in an array of this shape (its element type is the scalar's).
    pub(super) fn splat(&mut self, scalar: InstructionId, shape: &ArrayShape) -> InstructionId {
        if shape.rank() == 0 {
            return scalar;
        }
        let shape = shape.with_element_type(self.element_type(scalar));
        self.add(Op::broadcast([]), shape.into(), &[scalar])
    }

    /// An array spread over `shape`, its dimension `i` lying along `dimensions[i]`. The result keeps
    /// the operand's element type.
    pub(super) fn broadcast(
        &mut self,
        operand: InstructionId,
        shape: &ArrayShape,
        dimensions: &[i64],
    ) -> InstructionId {
        let shape = shape.with_element_type(self.element_type(operand));
        let dimensions = dimensions.into();
        self.add(Broadcast { dimensions }, shape.into(), &[operand])
    }

    pub(super) fn reshape(
        &mut self,
        operand: InstructionId,
        dims: impl IntoIterator<Item = i64>,
    ) -> InstructionId {
        let shape = ArrayShape::new(self.element_type(operand), dims);
        if shape.same_dims(&self.dims_of(operand)) {
            return operand;
        }
        self.add(rxla_hlo::op::Reshape { inferred_dimension: None }, shape.into(), &[operand])
    }

    /// `a * b + c` in the usual three steps: there is no fused form in HLO.
    pub(super) fn multiply_add(
        &mut self,
        a: InstructionId,
        b: InstructionId,
        c: InstructionId,
    ) -> InstructionId {
        let product = self.binary(BinaryKind::Multiply, a, b);
        self.binary(BinaryKind::Add, product, c)
    }
}
