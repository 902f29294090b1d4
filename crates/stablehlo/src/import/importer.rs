//! [`Importer`]: the state of one translation, and the few functions through which operations are
//! lowered: look up operands, add instructions, say what the results are.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use rxla_base::Diagnostic;
use rxla_hlo::{self as hlo, ComputationId, InstructionId, Literal, Op, Shape};

use super::Options;
use super::attributes::View;
use super::locations::FrameTable;
use super::{quantized, types};
use crate::mlir::{self, OpId, ValueDef, ValueId};

pub(super) type Result<T = (), E = Diagnostic> = std::result::Result<T, E>;

/// A function that lowers one kind of operation.
pub(super) type Lower = for<'a> fn(&mut Importer<'a>, View<'a>) -> Result;

/// How deep regions of operations may nest: each level takes a few frames of our own stack.
pub(super) const MAX_REGION_DEPTH: usize = 96;

pub(super) struct Importer<'a> {
    pub(super) source: &'a mlir::Module,
    pub(super) options: &'a Options,
    pub(super) module: hlo::Module,
    pub(super) symbols: FxHashMap<&'a [u8], OpId>,
    /// The computations of functions already lowered.
    pub(super) functions: FxHashMap<OpId, ComputationId>,
    pub(super) frames: FrameTable,
    scopes: Vec<Scope>,
    literals: FxHashMap<OpId, Arc<Literal>>,
    /// What instructions made now carry besides their op.
    pub(super) info: hlo::Info,
    /// The first instruction of the operation at hand whose operands do not fit it.
    misfit: Option<Diagnostic>,
    /// Mesh axes along which the program at hand computes with parts.
    pub(super) manual_axes: Vec<mlir::ByteString>,
    /// Of functions for which that was asked, whether they hold manual regions.
    pub(super) regional: FxHashMap<OpId, bool>,
    /// Regions being lowered into the computation round them.
    pub(super) inline_depth: usize,
    /// Regions round the place at hand that compute with single elements.
    pub(super) scalar_depth: usize,
    /// Bodies of functions copied so far.
    pub(super) inlined: usize,
    /// Values whose layout the program says.
    pub(super) layouts: FxHashMap<InstructionId, hlo::Layout>,
}

/// A computation under construction and the values known in it.
struct Scope {
    computation: ComputationId,
    values: FxHashMap<ValueId, InstructionId>,
}

impl<'a> Importer<'a> {
    pub(super) fn new(source: &'a mlir::Module, options: &'a Options) -> Importer<'a> {
        Importer {
            source,
            options,
            module: hlo::Module::new(""),
            symbols: FxHashMap::default(),
            functions: FxHashMap::default(),
            frames: FrameTable::default(),
            scopes: Vec::new(),
            literals: FxHashMap::default(),
            info: hlo::Info::default(),
            misfit: None,
            manual_axes: Vec::new(),
            regional: FxHashMap::default(),
            inline_depth: 0,
            scalar_depth: 0,
            layouts: FxHashMap::default(),
            inlined: 0,
        }
    }

    /// The first finding about instructions added since the last call.
    pub(super) fn take_misfit(&mut self) -> Option<Diagnostic> {
        self.misfit.take()
    }

    pub(super) fn view(&self, op: OpId) -> View<'a> {
        View::new(self.source, op)
    }

    /// Starts a computation; instructions go there until [`Importer::end_computation`].
    pub(super) fn begin_computation(&mut self, name: &str) -> ComputationId {
        let computation = self.module.add_computation(name);
        self.scopes.push(Scope { computation, values: FxHashMap::default() });
        computation
    }

    pub(super) fn end_computation(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn region_depth(&self) -> usize {
        self.scopes.len() + self.inline_depth
    }

    pub(super) fn computation(&self) -> ComputationId {
        self.scope().computation
    }

    fn scope(&self) -> &Scope {
        self.scopes.last().expect("instructions are added only within a computation")
    }

    /// Says which instruction computes a value.
    pub(super) fn bind(&mut self, value: ValueId, instruction: InstructionId) {
        let scope = self.scopes.last_mut().expect("values are bound only within a computation");
        scope.values.insert(value, instruction);
    }

    /// The instruction that computes a value in this computation. A constant from outside the
    /// region, or what is computed from constants alone, is computed again here.
    /// Where quantised values are seen as floats, it is the float.
    pub(super) fn value(&mut self, user: View<'a>, value: ValueId) -> Result<InstructionId> {
        let stored = self.stored_value(user, value)?;
        match types::quantization(&self.source.values[value].ty) {
            Some(quantization) if user.expressed => {
                quantized::dequantize(self, user, stored, quantization)
            }
            _ => Ok(stored),
        }
    }

    fn stored_value(&mut self, user: View<'a>, value: ValueId) -> Result<InstructionId> {
        if let Some(&instruction) = self.scope().values.get(&value) {
            return Ok(instruction);
        }
        if let ValueDef::Result { op, .. } = self.source.values[value].def
            && super::block::can_be_repeated(self.source, value)
        {
            let info = self.info.clone();
            self.lower_operation(op)?;
            self.info = info;
            if let Some(&instruction) = self.scope().values.get(&value) {
                return Ok(instruction);
            }
        }
        Err(user
            .error("uses a value computed outside its region, which HLO cannot pass in here")
            .hint("pass the value as an operand, or compute it inside the region"))
    }

    pub(super) fn operand(&mut self, view: View<'a>, index: usize) -> Result<InstructionId> {
        let value = view.operand_id(index)?;
        self.value(view, value)
    }

    pub(super) fn operands(&mut self, view: View<'a>) -> Result<Vec<InstructionId>> {
        view.op.operands.iter().map(|&value| self.value(view, value)).collect()
    }

    /// All operands, of which there must be `N`.
    pub(super) fn exactly<const N: usize>(&mut self, view: View<'a>) -> Result<[InstructionId; N]> {
        view.expect_operands(N)?;
        let operands = self.operands(view)?;
        Ok(operands.try_into().expect("the number was checked"))
    }

    pub(super) fn shape(&self, instruction: InstructionId) -> &Shape {
        &self.module[instruction].shape
    }

    /// The shape without the layout that a custom call may have fixed: no other op cares.
    pub(super) fn logical_shape(&self, instruction: InstructionId) -> Shape {
        self.shape(instruction).without_layout()
    }

    /// Adds an instruction to the computation at hand. Whether operands and shape fit the op is
    /// checked; what does not is reported when the operation is done.
    pub(super) fn add(
        &mut self,
        op: impl Into<Op>,
        shape: Shape,
        operands: &[InstructionId],
    ) -> InstructionId {
        let op = op.into();
        let name = op.name();
        self.add_named(name, op, shape, operands)
    }

    pub(super) fn add_named(
        &mut self,
        name: &str,
        op: Op,
        shape: Shape,
        operands: &[InstructionId],
    ) -> InstructionId {
        let computation = self.computation();
        if self.misfit.is_none() {
            let shapes: Vec<&Shape> =
                operands.iter().map(|&operand| &self.module[operand].shape).collect();
            self.misfit = hlo::infer(&self.module, &op, &shapes, Some(&shape)).err();
        }
        let instruction = self.module.add_instruction(computation, name, op, shape, operands);
        if self.info != hlo::Info::default() {
            *self.module[instruction].info_mut() = self.info.clone();
        }
        instruction
    }

    /// The only result of the operation is what the instruction computes.
    pub(super) fn finish(&mut self, view: View<'a>, instruction: InstructionId) -> Result {
        view.expect_results(1)?;
        self.mark_sharding(view, instruction)?;
        self.bind_result(view, view.op.results[0], instruction)
    }

    /// The instruction computes all results: itself if there is one, otherwise as a tuple.
    pub(super) fn finish_tuple(&mut self, view: View<'a>, instruction: InstructionId) -> Result {
        self.mark_sharding(view, instruction)?;
        if let &[result] = &view.op.results[..] {
            return self.bind_result(view, result, instruction);
        }
        for (index, &result) in view.op.results.iter().enumerate() {
            let part = self.get_tuple_element(instruction, index);
            self.bind_result(view, result, part)?;
        }
        Ok(())
    }

    /// The results of the operation are what these instructions compute.
    pub(super) fn finish_all(&mut self, view: View<'a>, parts: &[InstructionId]) -> Result {
        view.expect_results(parts.len())?;
        for (&result, &part) in view.op.results.iter().zip(parts) {
            self.bind_result(view, result, part)?;
        }
        Ok(())
    }

    /// Binds a result; where quantised values are seen as floats, it is quantised first.
    fn bind_result(
        &mut self,
        view: View<'a>,
        result: ValueId,
        mut instruction: InstructionId,
    ) -> Result {
        if view.expressed
            && let Some(quantization) = types::quantization(&self.source.values[result].ty)
        {
            instruction = quantized::quantize(self, view, instruction, quantization)?;
        }
        self.bind(result, instruction);
        Ok(())
    }

    /// A part of a tuple that [`Importer::finish_tuple`] or a region's parameter holds.
    pub(super) fn get_tuple_element(
        &mut self,
        tuple: InstructionId,
        index: usize,
    ) -> InstructionId {
        let shape = match self.shape(tuple) {
            Shape::Tuple(elements) => elements[index].clone(),
            other => unreachable!("`get-tuple-element` of `{other}`"),
        };
        self.add(Op::get_tuple_element(index as i64), shape, &[tuple])
    }

    pub(super) fn tuple(&mut self, parts: &[InstructionId]) -> InstructionId {
        let shape = Shape::tuple(parts.iter().map(|&part| self.logical_shape(part)));
        self.add(Op::tuple(), shape, parts)
    }

    /// One value as it is, none or several as a tuple.
    pub(super) fn one_or_tuple(&mut self, parts: &[InstructionId]) -> InstructionId {
        match parts {
            &[part] => part,
            parts => self.tuple(parts),
        }
    }

    /// The literal of a constant, made once however often it is used.
    pub(super) fn cached_literal(
        &mut self,
        op: OpId,
        make: impl FnOnce() -> Result<Literal>,
    ) -> Result<Arc<Literal>> {
        if let Some(literal) = self.literals.get(&op) {
            return Ok(literal.clone());
        }
        let literal = Arc::new(make()?);
        self.literals.insert(op, literal.clone());
        Ok(literal)
    }
}

/// One shape as it is, none or several as a tuple.
pub(super) fn one_or_tuple_shape(shapes: Vec<Shape>) -> Shape {
    match <[Shape; 1]>::try_from(shapes) {
        Ok([shape]) => shape,
        Err(shapes) => Shape::tuple(shapes),
    }
}

impl<'a> Importer<'a> {
    /// The shape of a result: as declared, or as `known` says where the declaration leaves sizes
    /// open. Sizes that stay open are allowed only in bounded dimensions.
    pub(super) fn declared(
        &self,
        view: View<'a>,
        index: usize,
        known: impl FnOnce(&hlo::ArrayShape) -> Option<hlo::Dims>,
    ) -> Result<Shape> {
        let declared = view.result_shape(index)?;
        let Shape::Array(array) = &declared else { return Ok(declared) };
        if !types::is_unbounded(&declared) {
            return Ok(declared);
        }
        let Some(dims) = known(array) else {
            return Err(view
                .unimplemented(format_args!("a result of unknown size, `{declared}`"))
                .hint("give the program static shapes, for instance by refining it first"));
        };
        let fits = dims.len() == array.rank()
            && dims
                .iter()
                .zip(&array.dims)
                .all(|(&size, &said)| said == hlo::ArrayShape::UNBOUNDED || said == size);
        if !fits {
            return Err(view.error(format_args!(
                "has the type `{declared}` where the operands give the sizes {:?}",
                &dims[..]
            )));
        }
        Ok(Shape::array(array.element_type, dims))
    }
}
