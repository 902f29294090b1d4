//! Blocks and regions: operations in order, regions as computations, and what regions take from
//! their surroundings.

use rustc_hash::FxHashSet;
use rxla_hlo::{ComputationId, FrontendAttributes, Info, InstructionId, Op, Shape};

use super::attributes::View;
use super::importer::{Importer, MAX_REGION_DEPTH, Result};
use super::locations;
use super::quantized;
use super::sharding;
use super::table;
use crate::mlir::{Attribute, BlockId, Module, OpId, ValueDef, ValueId};

/// How long a chain of operations may be that is computed again inside a region.
const MAX_REPEATED_CHAIN: usize = 16;

impl<'a> Importer<'a> {
    /// Lowers one operation into the computation at hand.
    pub(super) fn lower_operation(&mut self, op: OpId) -> Result {
        let mut view = self.view(op);
        view.expressed = quantized::computes_expressed(self.source, view.op);
        let Some(lower) = table::lookup(&view.op.name) else {
            return Err(view
                .unimplemented("no translation of this operation to HLO is known")
                .hint("only operations of StableHLO, CHLO, Shardy and `func` can be compiled"));
        };
        self.info = Info {
            metadata: locations::metadata(&mut self.frames, &view.op.location),
            frontend_attributes: frontend_attributes(view)?,
            ..Info::default()
        };
        lower(self, view)?;
        match self.take_misfit() {
            None => Ok(()),
            Some(misfit) => {
                let mut diagnostic = view.error(misfit.message);
                diagnostic.notes.extend(misfit.notes);
                diagnostic.hint = misfit.hint;
                Err(diagnostic)
            }
        }
    }

    /// Lowers the operations of a block and gives the operands of its terminator, with a view of it.
    pub(super) fn lower_block(&mut self, owner: View<'a>, block: BlockId) -> Result<View<'a>> {
        if self.region_depth() > MAX_REGION_DEPTH {
            return Err(owner.unimplemented(format_args!(
                "regions nested deeper than {MAX_REGION_DEPTH} levels"
            )));
        }
        let source = self.source;
        let Some((&last, rest)) = source.blocks[block].operations.split_last() else {
            return Err(owner.error("a region has an empty block"));
        };
        for &op in rest {
            let view = self.view(op);
            if is_terminator(view) {
                return Err(view.error("stands before the end of its block"));
            }
            self.lower_operation(op)?;
        }
        let terminator = self.view(last);
        if !is_terminator(terminator) {
            return Err(terminator.error("ends a block, where a `return` is needed"));
        }
        Ok(terminator)
    }

    /// The operands of a terminator as instructions.
    pub(super) fn returned(&mut self, terminator: View<'a>) -> Result<Vec<InstructionId>> {
        self.operands(terminator)
    }

    /// A region whose arguments become one parameter each, as reductions and sorts call it.
    pub(super) fn region(&mut self, view: View<'a>, region: usize) -> Result<ComputationId> {
        self.region_with_root(view, region, Importer::one_or_tuple)
    }

    /// As [`Importer::region`], but a single result is a tuple too.
    pub(super) fn tuple_region(&mut self, view: View<'a>, region: usize) -> Result<ComputationId> {
        self.region_with_root(view, region, Importer::tuple)
    }

    fn region_with_root(
        &mut self,
        view: View<'a>,
        region: usize,
        root_of: fn(&mut Importer<'a>, &[InstructionId]) -> InstructionId,
    ) -> Result<ComputationId> {
        let block = view.block(region)?;
        let info = std::mem::take(&mut self.info);
        let name = format!("region_{}", self.module.computations().len());
        let computation = self.begin_computation(&name);
        self.scalar_depth += 1;
        let result = (|| {
            for (number, &argument) in view.source.blocks[block].arguments.iter().enumerate() {
                let shape = view.shape_of(&view.source.values[argument].ty)?;
                let parameter = self.add_named("Arg", Op::parameter(number as i64), shape, &[]);
                self.bind(argument, parameter);
            }
            let terminator = self.lower_block(view, block)?;
            let results = self.returned(terminator)?;
            let root = root_of(self, &results);
            self.module.set_root(root);
            Ok(())
        })();
        self.scalar_depth -= 1;
        self.end_computation();
        self.info = info;
        result.map(|()| computation)
    }

    /// A region of `while` or of a branch: one parameter that holds the block's arguments and then
    /// the captured values (as a tuple unless it is just one). With `pass_captures`, the results
    /// are followed by the captured values, as a loop body hands them on.
    pub(super) fn packed_region(
        &mut self,
        view: View<'a>,
        block: BlockId,
        captures: &[ValueId],
        shapes: &[Shape],
        pass_captures: PassCaptures,
    ) -> Result<ComputationId> {
        let info = std::mem::take(&mut self.info);
        let name = format!("region_{}", self.module.computations().len());
        let computation = self.begin_computation(&name);
        let result = (|| {
            let arguments = &view.source.blocks[block].arguments;
            if arguments.len() + captures.len() != shapes.len() {
                return Err(view.error(format_args!(
                    "a region has {} arguments where {} are needed",
                    arguments.len(),
                    shapes.len() - captures.len()
                )));
            }
            let shape = super::importer::one_or_tuple_shape(shapes.to_vec());
            let parameter = self.add_named("arg_tuple", Op::parameter(0), shape, &[]);
            for (index, &value) in arguments.iter().chain(captures).enumerate() {
                let part = match shapes.len() {
                    1 => parameter,
                    _ => self.get_tuple_element(parameter, index),
                };
                self.bind(value, part);
            }
            let terminator = self.lower_block(view, block)?;
            let mut results = self.returned(terminator)?;
            let root = match pass_captures {
                PassCaptures::Yes => {
                    for &capture in captures {
                        results.push(self.value(view, capture)?);
                    }
                    self.one_or_tuple(&results)
                }
                PassCaptures::No => self.one_or_tuple(&results),
            };
            self.module.set_root(root);
            Ok(())
        })();
        self.end_computation();
        self.info = info;
        result.map(|()| computation)
    }

    /// Puts the `mhlo.sharding` or `sdy.sharding` of an operation on the instruction.
    pub(super) fn mark_sharding(&mut self, view: View<'a>, instruction: InstructionId) -> Result {
        if let Some(sharding) = sharding::of_operation(self, view)? {
            self.module[instruction].info_mut().sharding = Some(sharding);
        }
        Ok(())
    }
}

/// Whether a region's results are followed by the values it took from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PassCaptures {
    Yes,
    No,
}

/// The operations that end blocks.
pub(super) fn is_terminator(view: View<'_>) -> bool {
    matches!(
        &*view.op.name,
        "stablehlo.return" | "func.return" | "sdy.return" | "mhlo.return" | "chlo.return"
    )
}

/// `mhlo.frontend_attributes` of an operation: a dictionary of strings.
fn frontend_attributes(view: View<'_>) -> Result<FrontendAttributes> {
    match view.get("mhlo.frontend_attributes") {
        Some(dictionary) => string_dictionary(view, "mhlo.frontend_attributes", dictionary),
        None => Ok(FrontendAttributes::new()),
    }
}

pub(super) fn string_dictionary(
    view: View<'_>,
    name: &str,
    dictionary: &Attribute,
) -> Result<FrontendAttributes> {
    let wrong = || view.wrong(name, "a dictionary of strings");
    let entries = dictionary.as_dictionary().ok_or_else(wrong)?;
    entries
        .iter()
        .map(|entry| {
            let value = match &entry.value {
                Attribute::String(text) => text.to_string(),
                Attribute::Bool(value) => value.to_string(),
                Attribute::Integer { value, .. } => value.to_string(),
                _ => return Err(wrong()),
            };
            Ok((entry.name.to_string(), value))
        })
        .collect()
}

/// The values that regions use but do not define, in order of first use; values that
/// [`can_be_repeated`] are left out.
pub(super) fn captured_values(source: &Module, op: OpId) -> Vec<ValueId> {
    fn walk(
        source: &Module,
        op: OpId,
        defined: &mut FxHashSet<ValueId>,
        seen: &mut FxHashSet<ValueId>,
        captured: &mut Vec<ValueId>,
    ) {
        for &region in &source.operations[op].regions {
            for &block in &source.regions[region].blocks {
                let block = &source.blocks[block];
                defined.extend(&block.arguments);
                for &inner in &block.operations {
                    let operation = &source.operations[inner];
                    for &operand in &operation.operands {
                        if !defined.contains(&operand)
                            && seen.insert(operand)
                            && !can_be_repeated(source, operand)
                        {
                            captured.push(operand);
                        }
                    }
                    walk(source, inner, defined, seen, captured);
                    defined.extend(&operation.results);
                }
            }
        }
    }
    let mut captured = Vec::new();
    walk(source, op, &mut FxHashSet::default(), &mut FxHashSet::default(), &mut captured);
    captured
}

/// Whether a value is a constant or cheaply computed from constants alone, so that a region that
/// uses it can compute it again for itself.
pub(super) fn can_be_repeated(source: &Module, value: ValueId) -> bool {
    fn check(source: &Module, value: ValueId, budget: &mut usize) -> bool {
        let ValueDef::Result { op, .. } = source.values[value].def else { return false };
        let operation = &source.operations[op];
        if *budget == 0 || !operation.regions.is_empty() {
            return false;
        }
        *budget -= 1;
        match &*operation.name {
            "stablehlo.constant" | "chlo.constant" | "stablehlo.iota" => true,
            "stablehlo.broadcast_in_dim"
            | "stablehlo.convert"
            | "stablehlo.reshape"
            | "stablehlo.negate"
            | "stablehlo.broadcast"
            | "builtin.unrealized_conversion_cast" => {
                operation.operands.iter().all(|&operand| check(source, operand, budget))
            }
            _ => false,
        }
    }
    check(source, value, &mut MAX_REPEATED_CHAIN.clone())
}
