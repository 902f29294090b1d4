//! [`Exporter`]: values and functions that exist already, and how operations are added.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::Diagnostic;
use rxla_hlo::{ComputationId, Instruction, InstructionId, Module, Shape};

use super::attributes::{Declared, string_dictionary};
use super::{table, types};
use crate::mlir::{
    self, Attribute, AttributeKind, BlockId, Location, LocationKind, MAX_DEPTH, Operation,
    RegionId, Type, ValueId,
};

pub(super) type Result<T = ()> = std::result::Result<T, Box<Diagnostic>>;

/// More operations than any program has. Computations are written out where they are used, which
/// could multiply them without end.
const MAX_OPERATIONS: usize = 1 << 24;

pub(super) struct Exporter<'m> {
    pub source: &'m Module,
    pub out: mlir::Module,
    /// Functions made for computations that are called.
    functions: FxHashMap<ComputationId, String>,
    function_names: FxHashSet<String>,
    /// Called computations that still need their function.
    pub pending: Vec<(ComputationId, String)>,
    depth: usize,
}

/// What an instruction gives: a value, or a tuple in parts.
#[derive(Clone, Debug)]
pub(super) enum Exported {
    Value(ValueId),
    Tuple(Vec<Exported>),
}

/// The values of a computation that is being written into a block.
pub(super) struct Scope {
    pub block: BlockId,
    values: FxHashMap<InstructionId, Exported>,
}

/// An instruction with what is needed to say something about it.
#[derive(Clone, Copy)]
pub(super) struct View<'m> {
    pub instruction: &'m Instruction,
}

impl<'m> View<'m> {
    fn diagnostic(self, message: String) -> Box<Diagnostic> {
        let name = self.instruction.name();
        let opcode = self.instruction.op.name();
        let diagnostic = Diagnostic::error(message).note(format!("in `%{name} = {opcode}(…)`"));
        Box::new(match self.instruction.metadata() {
            Some(metadata) if !metadata.source_file.is_empty() => {
                diagnostic.note(format!("from {}:{}", metadata.source_file, metadata.source_line))
            }
            _ => diagnostic,
        })
    }

    pub(super) fn error(self, message: impl std::fmt::Display) -> Box<Diagnostic> {
        self.diagnostic(format!("`{}` {message}", self.instruction.op.name()))
    }

    /// StableHLO has no word for `what`, or rxla does not know it.
    pub(super) fn unimplemented(self, what: impl std::fmt::Display) -> Box<Diagnostic> {
        self.diagnostic(format!(
            "unimplemented: `{}` {what} as StableHLO",
            self.instruction.op.name()
        ))
    }

    pub(super) fn shape(self) -> &'m Shape {
        &self.instruction.shape
    }
}

impl<'m> Exporter<'m> {
    pub(super) fn new(source: &'m Module) -> Exporter<'m> {
        Exporter {
            source,
            out: mlir::Module::new(),
            functions: FxHashMap::default(),
            function_names: FxHashSet::default(),
            pending: Vec::new(),
            depth: 0,
        }
    }

    pub(super) fn view(&self, id: InstructionId) -> View<'m> {
        View { instruction: &self.source[id] }
    }

    /// The name of the function for a computation that is called.
    pub(super) fn function(&mut self, computation: ComputationId) -> String {
        if let Some(name) = self.functions.get(&computation) {
            return name.clone();
        }
        let name = self.unique_function_name(self.source[computation].name());
        self.functions.insert(computation, name.clone());
        self.pending.push((computation, name.clone()));
        name
    }

    pub(super) fn unique_function_name(&mut self, stem: &str) -> String {
        let mut name = stem.to_owned();
        let mut number = 0;
        while !self.function_names.insert(name.clone()) {
            name = format!("{stem}_{number}");
            number += 1;
        }
        name
    }

    /// Writes the instructions of a computation into the block and gives the root's value.
    pub(super) fn inline(
        &mut self,
        block: BlockId,
        computation: ComputationId,
        parameters: Vec<Exported>,
    ) -> Result<Exported> {
        let source = self.source;
        let root = source[computation].root();
        if self.depth >= MAX_DEPTH / 2 {
            let message = format!("computations are nested more than {} deep", MAX_DEPTH / 2);
            return Err(self.view(root).error(message));
        }
        self.depth += 1;
        let mut scope = Scope { block, values: FxHashMap::default() };
        for (&parameter, value) in source[computation].parameters().iter().zip(parameters) {
            scope.values.insert(parameter, value);
        }
        for id in source.post_order(computation) {
            if scope.values.contains_key(&id) {
                continue;
            }
            let view = self.view(id);
            let value = table::export(self, &mut scope, view)?;
            scope.values.insert(id, value);
        }
        self.depth -= 1;
        let value = scope.values.remove(&root);
        value.ok_or_else(|| self.view(root).error("is not reached"))
    }

    /// What an operand gives.
    pub(super) fn operand(&self, scope: &Scope, view: View<'m>, index: usize) -> Result<Exported> {
        let operand = view.instruction.operands().get(index);
        let value = operand.and_then(|operand| scope.values.get(operand));
        value.cloned().ok_or_else(|| view.error(format_args!("has no operand {index}")))
    }

    /// The value of an operand; a tuple becomes a value of tuple type.
    pub(super) fn value(&mut self, scope: &Scope, view: View<'m>, index: usize) -> Result<ValueId> {
        let operand = self.operand(scope, view, index)?;
        Ok(self.pack(scope.block, &operand, view))
    }

    /// The values of all operands.
    pub(super) fn values(&mut self, scope: &Scope, view: View<'m>) -> Result<Vec<ValueId>> {
        (0..view.instruction.operands().len()).map(|index| self.value(scope, view, index)).collect()
    }

    /// The shape of an operand.
    pub(super) fn operand_shape(&self, view: View<'m>, index: usize) -> Result<&'m Shape> {
        match view.instruction.operands().get(index) {
            Some(&operand) => Ok(&self.source[operand].shape),
            None => Err(view.error(format_args!("has no operand {index}"))),
        }
    }

    pub(super) fn ty(&self, view: View<'m>, shape: &Shape) -> Result<Type> {
        types::ty(shape).ok_or_else(|| view.unimplemented(format_args!("of shape `{shape}`")))
    }

    /// Adds an operation and gives its results.
    pub(super) fn add(
        &mut self,
        block: BlockId,
        view: View<'m>,
        name: &str,
        operands: &[ValueId],
        types: Vec<Type>,
        attributes: Declared,
    ) -> Result<Vec<ValueId>> {
        let (op, results) = self.add_operation(block, view, name, operands, types, attributes)?;
        debug_assert!(self.out.operations[op].regions.is_empty());
        Ok(results)
    }

    pub(super) fn add_operation(
        &mut self,
        block: BlockId,
        view: View<'m>,
        name: &str,
        operands: &[ValueId],
        types: Vec<Type>,
        attributes: Declared,
    ) -> Result<(mlir::OpId, Vec<ValueId>)> {
        if self.out.operations.len() >= MAX_OPERATIONS {
            return Err(view.error(format_args!(
                "is one of more than {MAX_OPERATIONS} once computations stand where they are used"
            )));
        }
        let mut operation = Operation::new(name, location(view));
        operation.operands = operands.to_vec();
        operation.attributes = attributes.0;
        mlir::drop_defaults(name, &mut operation.attributes);
        let op = self.out.add_operation(block, operation, types);
        let results = self.out.operations[op].results.clone();
        Ok((op, results))
    }

    /// An operation whose operands are the instruction's and whose result is of its shape; one
    /// result per part if that is a tuple.
    pub(super) fn add_alike(
        &mut self,
        scope: &Scope,
        view: View<'m>,
        name: &str,
        attributes: Declared,
    ) -> Result<Exported> {
        let operands = self.values(scope, view)?;
        self.add_with(scope, view, name, &operands, attributes)
    }

    pub(super) fn add_with(
        &mut self,
        scope: &Scope,
        view: View<'m>,
        name: &str,
        operands: &[ValueId],
        attributes: Declared,
    ) -> Result<Exported> {
        let types = self.result_types(view, view.shape())?;
        let (op, results) =
            self.add_operation(scope.block, view, name, operands, types, attributes)?;
        self.annotate(op, view);
        Ok(self.unpacked_results(view.shape(), &results))
    }

    /// Sharding and notes of the frontend.
    pub(super) fn annotate(&mut self, op: mlir::OpId, view: View<'m>) {
        let Some(info) = view.instruction.info() else { return };
        let attributes = &mut self.out.operations[op].attributes;
        if let Some(sharding) = &info.sharding {
            let text = rxla_hlo::text::print_sharding(sharding);
            attributes.set(AttributeKind::Discardable, "mhlo.sharding", Attribute::string(text));
        }
        if !info.frontend_attributes.is_empty() {
            let pairs = string_dictionary(&info.frontend_attributes);
            attributes.set(AttributeKind::Discardable, "mhlo.frontend_attributes", pairs);
        }
    }

    /// One type per result: of the parts of a tuple, or of the shape itself.
    pub(super) fn result_types(&self, view: View<'m>, shape: &Shape) -> Result<Vec<Type>> {
        match shape {
            Shape::Tuple(parts) => parts.iter().map(|part| self.ty(view, part)).collect(),
            shape => Ok(vec![self.ty(view, shape)?]),
        }
    }

    /// Results made for [`Exporter::result_types`].
    pub(super) fn unpacked_results(&self, shape: &Shape, results: &[ValueId]) -> Exported {
        match (shape, results) {
            (Shape::Tuple(_), results) => {
                Exported::Tuple(results.iter().map(|&value| Exported::Value(value)).collect())
            }
            (_, &[value]) => Exported::Value(value),
            (_, results) => {
                Exported::Tuple(results.iter().map(|&value| Exported::Value(value)).collect())
            }
        }
    }

    /// One value: the value itself, or a tuple made of the parts.
    pub(super) fn pack(&mut self, block: BlockId, value: &Exported, view: View<'m>) -> ValueId {
        match value {
            Exported::Value(value) => *value,
            Exported::Tuple(parts) => {
                let parts: Vec<ValueId> =
                    parts.iter().map(|part| self.pack(block, part, view)).collect();
                let types: Vec<Type> =
                    parts.iter().map(|&part| self.out.values[part].ty.clone()).collect();
                let mut operation = Operation::new("stablehlo.tuple", location(view));
                operation.operands = parts;
                let op = self.out.add_operation(block, operation, [Type::Tuple(types.into())]);
                self.out.operations[op].results[0]
            }
        }
    }

    /// The parts of a value of tuple type.
    pub(super) fn parts(
        &mut self,
        block: BlockId,
        value: &Exported,
        view: View<'m>,
    ) -> Result<Vec<Exported>> {
        let value = match value {
            Exported::Tuple(parts) => return Ok(parts.clone()),
            Exported::Value(value) => *value,
        };
        let Type::Tuple(types) = self.out.values[value].ty.clone() else {
            return Err(view.error("takes a tuple"));
        };
        let mut parts = Vec::with_capacity(types.len());
        for (index, ty) in types.iter().enumerate() {
            let index = Attribute::Integer { ty: Type::I32, value: index as i64 };
            let attributes = Declared::new().with("index", index);
            let name = "stablehlo.get_tuple_element";
            let result = self.add(block, view, name, &[value], vec![ty.clone()], attributes)?;
            parts.push(Exported::Value(result[0]));
        }
        Ok(parts)
    }

    /// Everything but tuples, in order.
    pub(super) fn leaves(
        &mut self,
        block: BlockId,
        value: &Exported,
        view: View<'m>,
    ) -> Result<Vec<ValueId>> {
        let mut leaves = Vec::new();
        let mut stack = vec![value.clone()];
        while let Some(value) = stack.pop() {
            match &value {
                Exported::Value(leaf) if !matches!(self.out.values[*leaf].ty, Type::Tuple(_)) => {
                    leaves.push(*leaf);
                }
                _ => {
                    let parts = self.parts(block, &value, view)?;
                    stack.extend(parts.into_iter().rev());
                }
            }
        }
        Ok(leaves)
    }

    /// A new region of the operation with one block, whose arguments have these types.
    pub(super) fn region(
        &mut self,
        op: mlir::OpId,
        types: impl IntoIterator<Item = Type>,
    ) -> (RegionId, BlockId, Vec<ValueId>) {
        let region = self.out.add_region(op);
        let block = self.out.add_block(region);
        let location = self.out.operations[op].location.clone();
        let arguments = types
            .into_iter()
            .map(|ty| self.out.add_argument(block, ty, location.clone()))
            .collect();
        (region, block, arguments)
    }

    /// Ends a block with `stablehlo.return`.
    pub(super) fn end(&mut self, block: BlockId, values: Vec<ValueId>) {
        let mut operation = Operation::new("stablehlo.return", Location::UNKNOWN);
        operation.operands = values;
        self.out.add_operation(block, operation, []);
    }

    /// A region that computes what the computation does, one argument per parameter.
    pub(super) fn computation_region(
        &mut self,
        op: mlir::OpId,
        view: View<'m>,
        computation: ComputationId,
    ) -> Result {
        let source = self.source;
        let types = source[computation]
            .parameters()
            .iter()
            .map(|&parameter| self.ty(view, &source[parameter].shape))
            .collect::<Result<Vec<_>>>()?;
        let (_, block, arguments) = self.region(op, types);
        let parameters = arguments.into_iter().map(Exported::Value).collect();
        let root = self.inline(block, computation, parameters)?;
        let values = self.leaves(block, &root, view)?;
        self.end(block, values);
        Ok(())
    }

    /// An operation with one region for each computation.
    pub(super) fn add_with_regions(
        &mut self,
        scope: &Scope,
        view: View<'m>,
        name: &str,
        operands: &[ValueId],
        attributes: Declared,
        computations: &[ComputationId],
    ) -> Result<Exported> {
        let types = self.result_types(view, view.shape())?;
        let (op, results) =
            self.add_operation(scope.block, view, name, operands, types, attributes)?;
        self.annotate(op, view);
        for &computation in computations {
            self.computation_region(op, view, computation)?;
        }
        Ok(self.unpacked_results(view.shape(), &results))
    }
}

/// Puts leaves into the form of a shape.
pub(super) fn tree(shape: &Shape, leaves: &mut impl Iterator<Item = ValueId>) -> Option<Exported> {
    Some(match shape {
        Shape::Tuple(parts) => {
            Exported::Tuple(parts.iter().map(|part| tree(part, leaves)).collect::<Option<_>>()?)
        }
        _ => Exported::Value(leaves.next()?),
    })
}

/// Where the user's program said what the instruction does.
pub(super) fn location(view: View<'_>) -> Location {
    let Some(metadata) = view.instruction.metadata() else { return Location::UNKNOWN };
    let number = |value: i32| u32::try_from(value).unwrap_or(0);
    let mut location = Location::UNKNOWN;
    if !metadata.source_file.is_empty() {
        let (line, column) = (number(metadata.source_line), number(metadata.source_column));
        let (end_line, end_column) =
            (number(metadata.source_end_line), number(metadata.source_end_column));
        let file = metadata.source_file.as_str();
        location = if end_line == 0 || (line, column) == (end_line, end_column) {
            Location::file_line_col(file, line, column)
        } else {
            let file = file.into();
            Location::new(LocationKind::FileRange { file, line, column, end_line, end_column })
        };
    }
    if !metadata.op_name.is_empty() {
        location = Location::name(metadata.op_name.as_str(), location);
    }
    location
}
