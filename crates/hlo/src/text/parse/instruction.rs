//! What stands right of `=`: shape, opcode, operands, attributes.

use rxla_base::{Diagnostic, Span};

use super::operands::Operands;
use super::{Failed, Parse, Parser};
use crate::metadata::Info;
use crate::op::{
    Arity, AsyncStart, Attribute, AttributeFiller, AttributeVisitor, Outfeed, Parameter, Presence,
};
use crate::text::lexer::TokenKind;
use crate::text::nearest::nearest;
use crate::{ComputationId, InstructionId, Op, Shape};

/// An instruction while it is read.
pub(super) struct Draft<'a> {
    pub(super) op: Op,
    /// What `…-start`, `…-update` or `…-done` wraps, for ops that have no such opcode.
    pub(super) wrapped: Option<Op>,
    pub(super) shape: Option<Shape>,
    pub(super) operands: Operands,
    pub(super) info: Option<Box<Info>>,
    pub(super) control_predecessors: Vec<InstructionId>,
    /// The attributes given so far.
    given: Vec<&'a str>,
    /// The two branches of a conditional on a `pred`.
    branches: [Option<ComputationId>; 2],
    pub(super) span: Span,
}

impl Draft<'_> {
    pub(super) fn info(&mut self) -> &mut Info {
        self.info.get_or_insert_default()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.given.contains(&name)
    }
}

impl<'a> Parser<'a> {
    /// `f32[2] add(a, b), metadata={…}`.
    pub(super) fn right_hand_side(&mut self, name: &str, span: Span) -> Parse<InstructionId> {
        let shape = if self.at_shape() { Some(self.shape()?) } else { None };
        let mut draft = self.opcode_and_operands(shape, span)?;
        while self.eat(TokenKind::Comma) {
            self.attribute(&mut draft)?;
        }
        self.finish_instruction(draft, name)
    }

    /// An operand written as an instruction. It has no attributes: the comma after it ends it.
    pub(super) fn nested_instruction(
        &mut self,
        shape: Option<Shape>,
        start: usize,
    ) -> Parse<InstructionId> {
        let draft = self.opcode_and_operands(shape, self.token.span())?;
        let name = format!("{}.anon", draft.op.name());
        let id = self.finish_instruction(draft, &name)?;
        let span = self.span_from(start);
        self.spans[id] = span;
        Ok(id)
    }

    fn opcode_and_operands(&mut self, shape: Option<Shape>, name: Span) -> Parse<Draft<'a>> {
        let span = self.token.span();
        let word = self.word("an opcode")?;
        let (op, wrapped) = match Op::from_name(word) {
            Some(op) => (op, None),
            None => match wrapped_opcode(word) {
                Some((op, wrapped)) => (op, Some(wrapped)),
                None => {
                    return Err(self.unknown_word("opcode", word, span, Op::all_names()));
                }
            },
        };
        let mut draft = Draft {
            op,
            wrapped,
            shape,
            operands: Operands::new(),
            info: None,
            control_predecessors: Vec::new(),
            given: Vec::new(),
            branches: [None; 2],
            span: name.to(span),
        };
        match &mut draft.op {
            Op::Parameter(parameter) => self.parameter_number(parameter)?,
            Op::Constant(constant) => {
                let Some(shape) = &draft.shape else {
                    return Err(self.error(span, "a constant says its shape"));
                };
                self.expect(TokenKind::LeftParen)?;
                constant.literal = std::sync::Arc::new(self.literal(shape)?);
                self.expect(TokenKind::RightParen)?;
            }
            _ => draft.operands = self.operands()?,
        }
        Ok(draft)
    }

    fn parameter_number(&mut self, parameter: &mut Parameter) -> Parse<()> {
        self.expect(TokenKind::LeftParen)?;
        let span = self.token.span();
        let number = self.integer()?;
        self.expect(TokenKind::RightParen)?;
        let computation = self.scope().computation;
        let parameters = self.module[computation].parameters();
        let Ok(index) = usize::try_from(number) else {
            return Err(self.error(span, format!("the parameter number `{number}` is negative")));
        };
        if parameters.get(index).is_some_and(|&p| p != InstructionId::default()) {
            let message = format!("parameter {number} is defined twice");
            return Err(self.error(span, message));
        }
        // A gap takes memory until it is filled, so all of them together are held within the
        // length of the text, which needs more to fill them.
        let gap = (index + 1).saturating_sub(parameters.len());
        if gap > self.parameters_left {
            let message = format!("the text is too short for parameters up to number {number}");
            return Err(self.error(span, message));
        }
        self.parameters_left -= gap;
        parameter.number = number;
        Ok(())
    }

    fn attribute(&mut self, draft: &mut Draft<'a>) -> Parse<()> {
        let (name, span) = self.attribute_name()?;
        if draft.has(name) {
            return Err(self.error(span, format!("attribute `{name}` is given twice")));
        }
        draft.given.push(name);
        if let Some(wrapped) = &mut draft.wrapped
            && self.op_attribute(wrapped, name)?
        {
            return Ok(());
        }
        if self.op_attribute(&mut draft.op, name)? || self.common_attribute(draft, name)? {
            return Ok(());
        }
        match (&draft.op, name) {
            (Op::Conditional(_), "true_computation") => {
                draft.branches[0] = Some(self.computation_reference()?);
            }
            (Op::Conditional(_), "false_computation") => {
                draft.branches[1] = Some(self.computation_reference()?);
            }
            // Older texts repeat these, which the start of the chain says.
            (Op::AsyncUpdate(_) | Op::AsyncDone(_), "calls") => {
                self.computation_reference()?;
            }
            (Op::AsyncUpdate(_) | Op::AsyncDone(_), "async_execution_thread") => {
                self.string()?;
            }
            _ => {
                let known = attribute_names(draft).into_iter().chain(super::common::NAMES);
                let message = format!("unknown attribute `{name}` of `{}`", draft.op.name());
                let mut warning = Diagnostic::warning(message).at(span);
                if let Some(near) = nearest(name, known) {
                    warning = warning.hint(format!("did you mean `{near}`?"));
                }
                self.warn(warning);
                let value = self.unknown_value()?;
                draft.info().unknown_attributes.push((name.to_owned(), value));
            }
        }
        Ok(())
    }

    /// Parses the attribute if the op has it.
    fn op_attribute(&mut self, op: &mut Op, name: &str) -> Parse<bool> {
        struct One<'p, 'a, 'n> {
            parser: &'p mut Parser<'a>,
            name: &'n str,
            found: bool,
        }
        impl AttributeFiller for One<'_, '_, '_> {
            type Error = Failed;
            fn attribute<T: Attribute>(
                &mut self,
                name: &'static str,
                presence: Presence,
                value: &mut T,
            ) -> Parse<()> {
                if name == self.name && presence != Presence::NotInText {
                    self.found = true;
                    *value = T::parse(self.parser)?;
                }
                Ok(())
            }
        }
        let mut one = One { parser: self, name, found: false };
        op.fill(&mut one)?;
        Ok(one.found)
    }

    fn finish_instruction(&mut self, mut draft: Draft<'a>, name: &str) -> Parse<InstructionId> {
        self.take_branches(&mut draft)?;
        self.check_required(&draft)?;
        self.check_arity(&draft)?;
        self.complete_attributes(&mut draft);
        self.finish_wrapped(&mut draft)?;
        let shape = match draft.shape.take() {
            // As XLA's reader does: what the transfer says is what arrives.
            Some(_) if matches!(draft.op, Op::RecvDone(_)) => self.inferred_shape(&draft)?,
            Some(shape) => shape,
            None => self.inferred_shape(&draft)?,
        };
        let computation = self.scope().computation;
        let id = self.module.add_instruction(computation, name, draft.op, shape, &draft.operands);
        if let Some(info) = draft.info {
            *self.module[id].info_mut() = *info;
        }
        for predecessor in draft.control_predecessors {
            self.module.add_control_edge(predecessor, id);
        }
        Ok(id)
    }

    fn take_branches(&mut self, draft: &mut Draft<'a>) -> Parse<()> {
        if let Op::Conditional(conditional) = &mut draft.op {
            match draft.branches {
                [None, None] => {}
                [Some(on_true), Some(on_false)] if conditional.branch_computations.is_empty() => {
                    conditional.branch_computations = vec![on_true, on_false];
                    draft.given.push("branch_computations");
                }
                _ => {
                    let message = "a conditional has either `branch_computations` or both \
                                   `true_computation` and `false_computation`";
                    return Err(self.error(draft.span, message));
                }
            }
        }
        Ok(())
    }

    fn check_required(&mut self, draft: &Draft<'a>) -> Parse<()> {
        struct Missing<'n, 'a>(&'n [&'a str], Vec<&'static str>);
        impl AttributeVisitor for Missing<'_, '_> {
            fn attribute<T: Attribute>(&mut self, name: &'static str, presence: Presence, _: &T) {
                if presence == Presence::Required && !self.0.contains(&name) {
                    self.1.push(name);
                }
            }
        }
        let mut missing = Missing(&draft.given, Vec::new());
        draft.op.visit(&mut missing);
        if let Some(wrapped) = &draft.wrapped {
            missing.1.clear();
            if matches!(draft.op, Op::AsyncStart(_)) {
                wrapped.visit(&mut missing);
            }
        }
        let mut missing = missing.1;
        if let (Op::Broadcast(_), [operand]) = (&draft.op, &draft.operands[..])
            && self.module[*operand].shape.as_array().is_some_and(|shape| shape.rank() == 0)
        {
            // A scalar has no dimensions to place.
            missing.clear();
        }
        if missing.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("`{}` needs {}", draft.op.name(), list.join(" and "));
        Err(self.error(draft.span, message))
    }

    fn check_arity(&mut self, draft: &Draft<'a>) -> Parse<()> {
        let op = match (&draft.wrapped, &draft.op) {
            (Some(wrapped), Op::AsyncStart(_)) => wrapped,
            (_, op) => op,
        };
        let given = draft.operands.len();
        let wanted = match op.arity() {
            Arity::Exactly(count) if given != count => count.to_string(),
            Arity::AtLeast(count) if given < count => format!("at least {count}"),
            Arity::Exactly(_) | Arity::AtLeast(_) => return Ok(()),
        };
        let message = format!("`{}` takes {wanted} operands, {given} are given", op.name());
        Err(self.error(draft.span, message))
    }

    /// What XLA derives from the operands when it is not written, or drops when it is the default.
    fn complete_attributes(&mut self, draft: &mut Draft<'a>) {
        let first = draft.operands.first().map(|&operand| &self.module[operand].shape);
        match &mut draft.op {
            Op::Map(map) if map.dimensions.is_empty() => {
                let rank = first.and_then(Shape::as_array).map_or(0, |shape| shape.rank());
                map.dimensions = (0..rank as i64).collect();
            }
            Op::Compare(compare) => {
                let element_type = first.and_then(Shape::as_array).map(|shape| shape.element_type);
                if element_type.is_some_and(|element_type| {
                    compare.comparison_type == Some(crate::op::ComparisonType::of(element_type))
                }) {
                    compare.comparison_type = None;
                }
            }
            Op::Outfeed(Outfeed { outfeed_shape: shape @ None, .. }) => *shape = first.cloned(),
            Op::CustomCall(call) => {
                if let Some(computation) = call.to_apply.take() {
                    call.called_computations.insert(0, computation);
                }
            }
            _ => {}
        }
    }
}

/// `add-start` is an `async-start` of an `add`. Six ops are asynchronous in their own right.
fn wrapped_opcode(word: &str) -> Option<(Op, Op)> {
    let (stem, op) = if let Some(stem) = word.strip_suffix("-start") {
        (stem, Op::AsyncStart(AsyncStart::default()))
    } else if let Some(stem) = word.strip_suffix("-update") {
        (stem, Op::AsyncUpdate(crate::op::AsyncUpdate::default()))
    } else {
        (word.strip_suffix("-done")?, Op::AsyncDone(crate::op::AsyncDone::default()))
    };
    let wrapped = Op::from_name(stem)?;
    can_be_wrapped(&wrapped).then_some((op, wrapped))
}

/// Whether `…-start` of the op means an asynchronous computation of it.
pub(in crate::text) fn can_be_wrapped(op: &Op) -> bool {
    !matches!(
        op,
        Op::AllGather(_)
            | Op::AllReduce(_)
            | Op::CollectivePermute(_)
            | Op::Copy(_)
            | Op::Recv(_)
            | Op::Send(_)
            | Op::Parameter(_)
            | Op::Constant(_)
    )
}

/// The attributes that the op can have, to suggest from.
fn attribute_names(draft: &Draft<'_>) -> Vec<&'static str> {
    struct Names(Vec<&'static str>);
    impl AttributeVisitor for Names {
        fn attribute<T: Attribute>(&mut self, name: &'static str, presence: Presence, _: &T) {
            if presence != Presence::NotInText {
                self.0.push(name);
            }
        }
    }
    let mut names = Names(Vec::new());
    draft.op.visit(&mut names);
    if let Some(wrapped) = &draft.wrapped {
        wrapped.visit(&mut names);
    }
    names.0
}
