//! Operands: names, with or without their shapes, or whole instructions on the spot.

use rxla_base::{Diagnostic, Span};
use smallvec::SmallVec;

use super::{Failed, Parse, Parser};
use crate::text::lexer::TokenKind;
use crate::text::nearest::nearest;
use crate::{InstructionId, Op, Shape};

pub(super) type Operands = SmallVec<[InstructionId; 2]>;

impl<'a> Parser<'a> {
    pub(super) fn operands(&mut self) -> Parse<Operands> {
        let mut operands = Operands::new();
        self.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            operands.push(parser.operand()?);
            Ok(())
        })?;
        Ok(operands)
    }

    fn operand(&mut self) -> Parse<InstructionId> {
        let start = self.token.start;
        let shape = if self.at_shape() { Some(self.shape()?) } else { None };
        let token = self.token;
        let ends = |kind| matches!(kind, TokenKind::Comma | TokenKind::RightParen);
        match token.kind {
            TokenKind::Word if self.peek().kind == TokenKind::LeftParen => {
                self.nested(|parser| parser.nested_instruction(shape, start))
            }
            TokenKind::Word | TokenKind::Name => {
                let name = self.name("an operand")?;
                self.named_operand(name, shape, token.span())
            }
            kind if ends(kind) && self.scope().invents_parameters => match shape {
                Some(shape) => Ok(self.invent_parameter(None, shape)),
                None => Err(self.unexpected("an operand")),
            },
            _ => Err(self.unexpected("an operand")),
        }
    }

    fn named_operand(
        &mut self,
        name: &'a str,
        shape: Option<Shape>,
        span: Span,
    ) -> Parse<InstructionId> {
        let known = self.scope().names.get(name).copied();
        match known {
            Some(Some(operand)) => {
                let actual = &self.module[operand].shape;
                if let Some(shape) = shape
                    && !agrees(actual, &shape)
                {
                    let message = format!(
                        "operand `{name}` is written with the shape `{shape}` but has `{actual}`"
                    );
                    let defined = self.spans[operand];
                    let error = Diagnostic::error(message).at(span).label(defined, "defined here");
                    return Err(self.report(error));
                }
                Ok(operand)
            }
            // Its own failure was told.
            Some(None) => Err(Failed),
            None => match shape {
                Some(shape) if self.scope().invents_parameters => {
                    Ok(self.invent_parameter(Some(name), shape))
                }
                _ => Err(self.undefined_operand(name, span)),
            },
        }
    }

    fn undefined_operand(&mut self, name: &str, span: Span) -> Failed {
        let computation = self.scope().computation;
        let message = format!(
            "no instruction before this one in computation `{}` is named `{name}`",
            self.module[computation].name()
        );
        let mut names: Vec<&str> = self.scope().names.keys().copied().collect();
        names.sort_unstable();
        let hint = match nearest(name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.scope().invents_parameters => {
                "write its shape, and it becomes a parameter".to_owned()
            }
            None => "operands stand before their users".to_owned(),
        };
        self.report(Diagnostic::error(message).at(span).hint(hint))
    }

    fn invent_parameter(&mut self, name: Option<&'a str>, shape: Shape) -> InstructionId {
        let computation = self.scope().computation;
        let number = self.module[computation].parameters().len();
        let written = name.map_or_else(|| format!("_{number}"), str::to_owned);
        let op = Op::parameter(number as i64);
        let id = self.module.add_instruction(computation, &written, op, shape, &[]);
        if let Some(name) = name {
            self.scope().names.insert(name, Some(id));
        }
        id
    }
}

/// Compatible, which sizes are dynamic aside: XLA does not compare that here.
pub(super) fn agrees(a: &Shape, b: &Shape) -> bool {
    match (a, b) {
        (Shape::Array(a), Shape::Array(b)) => a.element_type == b.element_type && a.dims == b.dims,
        (Shape::Tuple(a), Shape::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| agrees(a, b))
        }
        _ => a.compatible(b),
    }
}
