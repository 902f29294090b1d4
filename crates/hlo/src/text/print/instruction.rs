//! Instructions: name, shape, opcode, operands, attributes.

use std::fmt::Write;

use super::computation::is_single_op;
use super::{PrintOptions, Printer, Subcomputations};
use crate::metadata::Info;
use crate::native::C128;
use crate::op::{Attribute, AttributeVisitor, Constant, Presence};
use crate::text::AttributeText;
use crate::{ElementType, Instruction, InstructionId, Literal, Metadata, Module, Op, Shape};

/// The text of one instruction, without indentation and line end.
pub fn print_instruction(
    module: &Module,
    instruction: InstructionId,
    options: &PrintOptions,
) -> String {
    let mut printer = Printer::new(Some(module), options);
    printer.instruction(instruction);
    printer.finish()
}

impl<'m> Printer<'m> {
    pub(super) fn instruction(&mut self, id: InstructionId) {
        let module = self.module();
        let instruction = &module[id];
        // A canonical name means something only beside those of its computation.
        if !self.options.canonical_names || self.is_nested {
            self.instruction_name(id);
            self.push(" = ");
        }
        if self.options.result_shape {
            self.shape(&instruction.shape);
            self.push(" ");
        }
        let wrapped = if self.options.async_sugar { wrapped_op(module, id) } else { None };
        match wrapped {
            Some(wrapped) => {
                self.push(module[wrapped].op.name());
                self.push(match instruction.op {
                    Op::AsyncStart(_) => "-start",
                    Op::AsyncUpdate(_) => "-update",
                    _ => "-done",
                });
            }
            None => self.push(instruction.op.name()),
        }
        self.push("(");
        self.operands(instruction);
        self.push(")");
        self.attributes(instruction, wrapped);
        if let Some(info) = instruction.info() {
            self.notes(info);
        }
    }

    fn operands(&mut self, instruction: &Instruction) {
        match &instruction.op {
            Op::Constant(constant) => self.constant(constant, &instruction.shape),
            Op::Parameter(parameter) => {
                if self.options.parameter_number {
                    self.integer(parameter.number);
                }
            }
            _ => {
                const MOST_IF_COMPACT: usize = 4;
                let operands = instruction.operands();
                let shown = if self.options.compact_operands {
                    operands.len().min(MOST_IF_COMPACT)
                } else {
                    operands.len()
                };
                let interval = self.options.operand_index_annotation_interval;
                for (index, &operand) in operands[..shown].iter().enumerate() {
                    if index > 0 {
                        self.push(", ");
                        if interval != 0 && index % interval == 0 {
                            let _ = write!(self.out, "/*index={index}*/");
                        }
                    }
                    self.operand(operand);
                }
                if shown < operands.len() {
                    let _ = write!(self.out, ", ...(+{})", operands.len() - shown);
                }
            }
        }
    }

    fn operand(&mut self, operand: InstructionId) {
        let module = self.module();
        if self.options.operand_shapes {
            self.shape(&module[operand].shape);
        }
        let has_name =
            if self.options.canonical_names { self.is_nested } else { self.options.operand_names };
        if !has_name {
            return;
        }
        if self.options.operand_shapes {
            self.push(" ");
        }
        if !self.options.compact_tuple_elements {
            self.instruction_name(operand);
            return;
        }
        let mut source = operand;
        let mut path = Vec::new();
        while let Op::GetTupleElement(element) = &module[source].op
            && let [tuple] = module[source].operands()
        {
            path.push(element.index);
            source = *tuple;
        }
        self.instruction_name(source);
        for index in path.iter().rev() {
            let _ = write!(self.out, "#{index}");
        }
    }

    fn constant(&mut self, constant: &Constant, shape: &Shape) {
        const SMALL: usize = 10;
        const LONGEST_ESSENTIAL: usize = 500_000;
        let literal = &*constant.literal;
        let count = literal.as_array().map(|array| array.len());
        if self.options.only_essential_constants {
            if let Some(word) = uniform(literal) {
                self.push(word);
            } else if is_integral(shape) && count.is_none_or(|count| count <= LONGEST_ESSENTIAL) {
                self.literal(literal);
            } else {
                self.push("{...}");
            }
        } else if self.options.large_constants || count.is_some_and(|count| count <= SMALL) {
            self.literal(literal);
        } else {
            self.push("{...}");
        }
    }

    fn attributes(&mut self, instruction: &Instruction, wrapped: Option<InstructionId>) {
        let info = instruction.info();
        if self.options.extra_attributes {
            self.own_attributes(instruction);
            if let (Some(wrapped), Op::AsyncStart(_)) = (wrapped, &instruction.op) {
                let wrapped = &self.module()[wrapped];
                let has_own = info.is_some_and(|info| !info.frontend_attributes.is_empty());
                self.wrapped_attributes(wrapped, has_own);
            }
            if let Op::AsyncStart(start) = &instruction.op
                && !start.output_to_operand_aliasing.is_empty()
            {
                self.attribute("output_to_operand_aliasing", &start.output_to_operand_aliasing);
            }
            if let Some(info) = info
                && !info.parameter_replication.is_empty()
                && self.options.ids
            {
                self.push(", parameter_replication=");
                self.braced(&info.parameter_replication, ",", |printer, &replicated| {
                    printer.push(if replicated { "true" } else { "false" });
                });
            }
        }
        let hides_calls = wrapped.is_some() && self.options.subcomputations_are_names();
        if !hides_calls {
            self.call_attributes(instruction);
        }
        self.common_attributes(instruction);
        if let Op::Unary(unary) = &instruction.op
            && let Some(accuracy) = &unary.result_accuracy
            && !accuracy.is_implied()
        {
            self.push(", result_accuracy=");
            accuracy.print(self);
        }
    }

    /// Attributes of the op, but for those that call computations.
    fn own_attributes(&mut self, instruction: &Instruction) {
        let operand_type = instruction.operands().first().and_then(|&operand| {
            let shape = self.module()[operand].shape.as_array()?;
            Some(shape.element_type)
        });
        let mut own = OwnAttributes { printer: self, op: &instruction.op, operand_type };
        instruction.op.visit(&mut own);
    }

    fn wrapped_attributes(&mut self, wrapped: &Instruction, start_has_frontend_attributes: bool) {
        self.own_attributes(wrapped);
        self.call_attributes(wrapped);
        if let Some(info) = wrapped.info()
            && self.options.frontend_attributes
            && !start_has_frontend_attributes
            && !info.frontend_attributes.is_empty()
        {
            self.push(", frontend_attributes=");
            self.frontend_attributes(&info.frontend_attributes);
        }
    }

    fn call_attributes(&mut self, instruction: &Instruction) {
        let is_sequential =
            matches!(instruction.op, Op::Call(_) | Op::Conditional(_) | Op::While(_));
        match self.options.subcomputations {
            Subcomputations::Off => return,
            Subcomputations::NonSequentialBodies if is_sequential => return,
            Subcomputations::NameOnly
            | Subcomputations::FullBodies
            | Subcomputations::NonSequentialBodies => {}
        }
        if let Op::Conditional(conditional) = &instruction.op
            && let [on_true, on_false] = conditional.branch_computations[..]
            && let Some(&index) = instruction.operands().first()
            && self.module()[index].shape.as_array().map(|shape| shape.element_type)
                == Some(ElementType::Pred)
        {
            self.attribute("true_computation", &on_true);
            self.attribute("false_computation", &on_false);
            return;
        }
        instruction.op.visit(&mut CallAttributes { printer: self, op: &instruction.op });
        if let Op::Call(call) = &instruction.op
            && call.is_composite
        {
            self.push(", is_composite=true");
        }
    }

    fn attribute<T: AttributeText>(&mut self, name: &str, value: &T) {
        self.push(", ");
        self.push(name);
        self.push("=");
        value.print(self);
    }

    fn common_attributes(&mut self, instruction: &Instruction) {
        let none = Info::default();
        let info = instruction.info().unwrap_or(&none);
        if let Some(sharding) = &info.sharding {
            self.push(", sharding=");
            self.sharding(sharding);
        }
        if self.options.frontend_attributes && !info.frontend_attributes.is_empty() {
            self.push(", frontend_attributes=");
            self.frontend_attributes(&info.frontend_attributes);
        }
        let predecessors = instruction.control_predecessors();
        if self.options.control_dependencies && !predecessors.is_empty() {
            self.push(", control-predecessors=");
            let module = self.module();
            self.braced(predecessors, ", ", |printer, &predecessor| {
                printer.named(module[predecessor].name());
            });
        }
        if let Some(statistics) = &info.statistics
            && !statistics.values.is_empty()
        {
            self.push(", statistics=");
            self.statistics(statistics);
        }
    }

    /// What does not change the meaning: origin, metadata, configuration, what we do not know.
    fn notes(&mut self, info: &Info) {
        if self.options.original_value
            && let Some(original) = &info.original_value
        {
            self.push(", origin=");
            self.original_value(original);
        }
        if self.options.metadata && is_worth_printing(&info.metadata) {
            self.push(", metadata={");
            match self.inlined(&info.metadata) {
                Some(metadata) => self.metadata_fields(&metadata),
                None => self.metadata_fields(&info.metadata),
            }
            self.push("}");
        }
        if self.options.backend_config && !info.backend_config.is_empty() {
            self.push(", backend_config=");
            self.string_or_dictionary(&info.backend_config);
        }
        for (name, value) in &info.unknown_attributes {
            let _ = write!(self.out, ", {name}={value}");
        }
    }

    /// The metadata with the source location of its stack frame, if the options ask for that.
    fn inlined(&self, metadata: &Metadata) -> Option<Metadata> {
        if !self.options.inline_stack_frames {
            return None;
        }
        metadata.inlined(&self.module().stack_frames)
    }
}

impl PrintOptions {
    fn subcomputations_are_names(&self) -> bool {
        match self.subcomputations {
            Subcomputations::Off | Subcomputations::NameOnly => true,
            Subcomputations::FullBodies | Subcomputations::NonSequentialBodies => false,
        }
    }
}

struct OwnAttributes<'p, 'm, 'o> {
    printer: &'p mut Printer<'m>,
    op: &'o Op,
    operand_type: Option<ElementType>,
}

impl AttributeVisitor for OwnAttributes<'_, '_, '_> {
    fn attribute<T: Attribute>(&mut self, name: &'static str, presence: Presence, value: &T) {
        match presence {
            Presence::NotInText => return,
            Presence::Optional if value.is_default() || value.is_implied() => return,
            Presence::Optional | Presence::Required | Presence::Printed => {}
        }
        let mut calls = false;
        value.each_computation(&mut |_| calls = true);
        let options = &self.printer.options;
        // Some have places or conditions of their own.
        let elsewhere = match (self.op, name) {
            (_, "result_accuracy")
            | (Op::Call(_), "is_composite")
            | (Op::AsyncStart(_), "output_to_operand_aliasing") => true,
            (Op::AsyncStart(start), "async_execution_thread") => {
                start.async_execution_thread == "main"
            }
            (Op::Compare(compare), "type") => self
                .operand_type
                .is_some_and(|t| compare.comparison_type == Some(crate::op::ComparisonType::of(t))),
            (_, "infeed_config" | "outfeed_config") => !options.infeed_outfeed_config,
            _ => calls,
        };
        if elsewhere {
            return;
        }
        if name == "channel_id" && !options.channel_id {
            self.printer.push(", channel_id=_");
            return;
        }
        self.printer.attribute(name, value);
    }
}

struct CallAttributes<'p, 'm, 'o> {
    printer: &'p mut Printer<'m>,
    op: &'o Op,
}

impl AttributeVisitor for CallAttributes<'_, '_, '_> {
    fn attribute<T: Attribute>(&mut self, name: &'static str, _: Presence, value: &T) {
        let mut calls = false;
        value.each_computation(&mut |_| calls = true);
        if !calls {
            return;
        }
        // XLA prints whole bodies of these two under another name.
        let prints_names = self.printer.options.subcomputations_are_names();
        let name = match self.op {
            Op::ReduceScatter(_) | Op::Scan(_) if !prints_names => "calls",
            _ => name,
        };
        self.printer.attribute(name, value);
    }
}

/// The op that an asynchronous instruction wraps, if it is the only one there.
fn wrapped_op(module: &Module, mut id: InstructionId) -> Option<InstructionId> {
    loop {
        match &module[id].op {
            Op::AsyncStart(start) => {
                let is_single = is_single_op(module, start.calls);
                return module[start.calls].try_root().filter(|_| is_single);
            }
            Op::AsyncUpdate(_) | Op::AsyncDone(_) => id = *module[id].operands().first()?,
            _ => return None,
        }
    }
}

/// XLA prints metadata only if one of these is there.
fn is_worth_printing(metadata: &Metadata) -> bool {
    !metadata.op_type.is_empty()
        || !metadata.op_name.is_empty()
        || !metadata.source_file.is_empty()
        || !metadata.scheduling_name.is_empty()
        || metadata.stack_frame_id != 0
        || metadata.payload.is_some()
}

/// `0` or `1` if all elements are that.
fn uniform(literal: &Literal) -> Option<&'static str> {
    fn all(literal: &Literal, value: i64) -> bool {
        match literal {
            Literal::Array(array) => (0..array.len()).all(|index| {
                array.integer(index) == Some(value)
                    || array.float(index) == Some(value as f64)
                    || array.complex(index) == Some(C128::new(value as f64, 0.0))
            }),
            Literal::Tuple(elements) => elements.iter().all(|element| all(element, value)),
            Literal::Token => false,
        }
    }
    [(0, "0"), (1, "1")].into_iter().find(|&(value, _)| all(literal, value)).map(|(_, text)| text)
}

fn is_integral(shape: &Shape) -> bool {
    match shape {
        Shape::Array(array) => array.element_type.is_integer(),
        Shape::Tuple(elements) => elements.iter().all(is_integral),
        Shape::Buffer(_) | Shape::Token | Shape::Opaque => false,
    }
}
