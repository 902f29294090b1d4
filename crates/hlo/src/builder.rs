//! Making instructions with inferred shapes: what importers, passes and tests build modules with.
//!
//! [`Module::add_instruction`] takes any shape; the functions here check operands and infer or
//! check the shape, so that what they make is right by itself.

use std::fmt::Write;

use rxla_base::Diagnostic;

use crate::op::{Broadcast, Convert, Iota, Reduce, Reshape, Slice, SliceDimension, Transpose};
use crate::{
    ArrayLiteral, ArrayShape, BinaryKind, ComputationId, Dims, ElementType, InstructionId, Literal,
    Module, Op, Shape, UnaryKind, infer,
};

type Result<T, E = Diagnostic> = std::result::Result<T, E>;

/// More parameters than any computation has: numbers beyond are refused, not filled up to.
const MAX_PARAMETERS: i64 = 1 << 20;

impl Module {
    /// A new instruction at the end of `computation`, with the shape that its operands give. Its
    /// name is the opcode's, made unique.
    pub fn add(
        &mut self,
        computation: ComputationId,
        op: impl Into<Op>,
        operands: &[InstructionId],
    ) -> Result<InstructionId> {
        self.add_checked(computation, None, op.into(), None, operands)
    }

    /// As [`Module::add`], for ops whose shape operands do not say, or to say it with a layout.
    pub fn add_with_shape(
        &mut self,
        computation: ComputationId,
        op: impl Into<Op>,
        shape: impl Into<Shape>,
        operands: &[InstructionId],
    ) -> Result<InstructionId> {
        let shape = shape.into();
        self.add_checked(computation, None, op.into(), Some(&shape), operands)
    }

    /// As [`Module::add_with_shape`], with a name of its own, which is made unique.
    pub fn add_named(
        &mut self,
        computation: ComputationId,
        name: &str,
        op: impl Into<Op>,
        shape: Option<&Shape>,
        operands: &[InstructionId],
    ) -> Result<InstructionId> {
        self.add_checked(computation, Some(name), op.into(), shape, operands)
    }

    fn add_checked(
        &mut self,
        computation: ComputationId,
        name: Option<&str>,
        op: Op,
        declared: Option<&Shape>,
        operands: &[InstructionId],
    ) -> Result<InstructionId> {
        let Some(parent) = self.get_computation(computation) else {
            return Err(Diagnostic::error(format!("`{}` has no computation to be in", op.name())));
        };
        if let Op::Parameter(parameter) = &op {
            let number = usize::try_from(parameter.number).ok();
            let taken = |number: usize| {
                parent.parameters().get(number).is_some_and(|&p| self.get_instruction(p).is_some())
            };
            if parameter.number >= MAX_PARAMETERS || number.is_none_or(taken) {
                return Err(Diagnostic::error(format!(
                    "parameter: `{}` cannot have a parameter {}",
                    parent.name(),
                    parameter.number
                )));
            }
        }
        let mut shapes = Vec::with_capacity(operands.len());
        for &operand in operands {
            match self.get_instruction(operand) {
                Some(operand) if operand.parent() == computation => shapes.push(&operand.shape),
                Some(operand) => {
                    return Err(Diagnostic::error(format!(
                        "{}: operand `{}` is not in `{}`",
                        op.name(),
                        operand.name(),
                        parent.name()
                    )));
                }
                None => {
                    return Err(Diagnostic::error(format!("{}: an operand is gone", op.name())));
                }
            }
        }
        let shape = infer(self, &op, &shapes, declared).map_err(|mut diagnostic| {
            let mut list = String::new();
            for (operand, shape) in operands.iter().zip(&shapes) {
                let separator = if list.is_empty() { "" } else { ", " };
                _ = write!(list, "{separator}{shape} {}", self[*operand].name());
            }
            diagnostic.notes.push(format!("in `{}({list})` of `{}`", op.name(), parent.name()));
            diagnostic
        })?;
        let name = name.unwrap_or(op.name()).to_owned();
        Ok(self.add_instruction(computation, &name, op, shape, operands))
    }

    /// The next parameter of `computation`.
    pub fn add_parameter(
        &mut self,
        computation: ComputationId,
        name: &str,
        shape: impl Into<Shape>,
    ) -> InstructionId {
        let number = self[computation].parameters().len() as i64;
        self.add_instruction(computation, name, Op::parameter(number), shape.into(), &[])
    }

    pub fn add_constant(
        &mut self,
        computation: ComputationId,
        literal: impl Into<Literal>,
    ) -> InstructionId {
        let literal = literal.into();
        let shape = literal.shape();
        self.add_instruction(computation, "constant", Op::constant(literal), shape, &[])
    }

    /// A scalar constant, rounded to `element_type` as a conversion would.
    pub fn add_scalar(
        &mut self,
        computation: ComputationId,
        element_type: ElementType,
        value: f64,
    ) -> InstructionId {
        let literal = ArrayLiteral::scalar(value)
            .convert(element_type)
            .expect("a scalar takes little memory");
        self.add_constant(computation, Literal::Array(literal))
    }

    /// `value`, a scalar, at every place of `shape`; itself if that is a scalar too.
    pub fn add_splat(
        &mut self,
        computation: ComputationId,
        value: InstructionId,
        shape: &ArrayShape,
    ) -> Result<InstructionId> {
        if shape.rank() == 0 {
            return Ok(value);
        }
        let shape = Shape::Array(shape.clone());
        self.add_with_shape(computation, Broadcast::default(), shape, &[value])
    }

    /// A constant number at every place of `shape`.
    pub fn add_splat_number(
        &mut self,
        computation: ComputationId,
        value: f64,
        shape: &ArrayShape,
    ) -> Result<InstructionId> {
        let scalar = self.add_scalar(computation, shape.element_type, value);
        self.add_splat(computation, scalar, shape)
    }

    pub fn add_unary(
        &mut self,
        computation: ComputationId,
        kind: UnaryKind,
        operand: InstructionId,
    ) -> Result<InstructionId> {
        self.add(computation, Op::unary(kind), &[operand])
    }

    pub fn add_binary(
        &mut self,
        computation: ComputationId,
        kind: BinaryKind,
        lhs: InstructionId,
        rhs: InstructionId,
    ) -> Result<InstructionId> {
        self.add(computation, Op::binary(kind), &[lhs, rhs])
    }

    pub fn add_tuple(
        &mut self,
        computation: ComputationId,
        elements: &[InstructionId],
    ) -> Result<InstructionId> {
        self.add(computation, Op::tuple(), elements)
    }

    pub fn add_get_tuple_element(
        &mut self,
        computation: ComputationId,
        tuple: InstructionId,
        index: i64,
    ) -> Result<InstructionId> {
        self.add(computation, Op::get_tuple_element(index), &[tuple])
    }

    /// The operand with other sizes; itself if they are the same.
    pub fn add_reshape(
        &mut self,
        computation: ComputationId,
        operand: InstructionId,
        dims: impl IntoIterator<Item = i64>,
    ) -> Result<InstructionId> {
        let dims: Dims = dims.into_iter().collect();
        let from = self.array_shape(operand)?;
        if from.dims == dims {
            return Ok(operand);
        }
        let shape = Shape::array(from.element_type, dims);
        self.add_with_shape(computation, Reshape::default(), shape, &[operand])
    }

    /// Result dimension `i` is the operand's `dimensions[i]`.
    pub fn add_transpose(
        &mut self,
        computation: ComputationId,
        operand: InstructionId,
        dimensions: impl IntoIterator<Item = i64>,
    ) -> Result<InstructionId> {
        let op = Transpose { dimensions: dimensions.into_iter().collect() };
        self.add(computation, op, &[operand])
    }

    /// The operand with its dimension `i` at `dimensions[i]` of the result.
    pub fn add_broadcast(
        &mut self,
        computation: ComputationId,
        operand: InstructionId,
        dims: impl IntoIterator<Item = i64>,
        dimensions: impl IntoIterator<Item = i64>,
    ) -> Result<InstructionId> {
        let element_type = self.array_shape(operand)?.element_type;
        let op = Op::broadcast(dimensions);
        self.add_with_shape(computation, op, Shape::array(element_type, dims), &[operand])
    }

    /// The operand's values in another type; itself if it has it.
    pub fn add_convert(
        &mut self,
        computation: ComputationId,
        operand: InstructionId,
        element_type: ElementType,
    ) -> Result<InstructionId> {
        let from = self.array_shape(operand)?;
        if from.element_type == element_type {
            return Ok(operand);
        }
        let shape = from.with_element_type(element_type);
        self.add_with_shape(computation, Convert {}, shape, &[operand])
    }

    pub fn add_iota(
        &mut self,
        computation: ComputationId,
        shape: impl Into<Shape>,
        dimension: i64,
    ) -> Result<InstructionId> {
        self.add_with_shape(computation, Iota { iota_dimension: dimension }, shape, &[])
    }

    /// The part of the operand from `starts` to `limits`, every element of it.
    pub fn add_slice(
        &mut self,
        computation: ComputationId,
        operand: InstructionId,
        starts: &[i64],
        limits: &[i64],
    ) -> Result<InstructionId> {
        let slice = starts
            .iter()
            .zip(limits)
            .map(|(&start, &limit)| SliceDimension { start, limit, stride: 1 })
            .collect();
        self.add(computation, Slice { slice }, &[operand])
    }

    pub fn add_reduce(
        &mut self,
        computation: ComputationId,
        operand: InstructionId,
        init: InstructionId,
        dimensions: impl IntoIterator<Item = i64>,
        to_apply: ComputationId,
    ) -> Result<InstructionId> {
        let op = Reduce { dimensions: dimensions.into_iter().collect(), to_apply };
        self.add(computation, op, &[operand, init])
    }

    /// A computation that applies a binary function to two scalars, such as the sum that a
    /// reduction needs. An equal one that was made so before is used again.
    pub fn add_scalar_computation(
        &mut self,
        kind: BinaryKind,
        element_type: ElementType,
    ) -> Result<ComputationId> {
        let stem = format!("{}_{element_type}", kind.name().replace('-', "_"));
        let found = self.computations().iter().copied().find(|&id| {
            let found = &self[id];
            found.name() == stem && self.applies(id, kind, element_type)
        });
        if let Some(found) = found {
            return Ok(found);
        }
        let computation = self.add_computation(&stem);
        let scalar = Shape::scalar(element_type);
        let lhs = self.add_parameter(computation, "lhs", scalar.clone());
        let rhs = self.add_parameter(computation, "rhs", scalar);
        match self.add_binary(computation, kind, lhs, rhs) {
            Ok(root) => {
                self.set_root(root);
                Ok(computation)
            }
            Err(error) => {
                self.remove_computation(computation);
                Err(error)
            }
        }
    }

    /// Whether a computation is nothing but `kind` of its two scalar parameters, in order.
    fn applies(
        &self,
        computation: ComputationId,
        kind: BinaryKind,
        element_type: ElementType,
    ) -> bool {
        let found = &self[computation];
        let Some(root) = found.try_root() else { return false };
        self[root].op == Op::binary(kind)
            && found.instructions().len() == 3
            && self[root].operands() == found.parameters()
            && self[root].shape == Shape::scalar(element_type)
    }

    fn array_shape(&self, instruction: InstructionId) -> Result<&ArrayShape> {
        let Some(found) = self.get_instruction(instruction) else {
            return Err(Diagnostic::error("an operand is gone"));
        };
        found.shape.as_array().ok_or_else(|| {
            Diagnostic::error(format!(
                "`{}` has to be an array, but is `{}`",
                found.name(),
                found.shape
            ))
        })
    }
}
