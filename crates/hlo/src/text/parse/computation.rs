//! The instructions of a computation, and the names they go by.

use rustc_hash::FxHashMap;
use rxla_base::{Diagnostic, Severity, Span};

use super::{Failed, NamedComputation, Parse, Parser};
use crate::text::lexer::{TokenKind, lex};
use crate::{ComputationId, InstructionId};

/// The names of one computation.
pub(in crate::text) struct Scope<'a> {
    pub(super) computation: ComputationId,
    /// `None` for an instruction that failed: its users fail silently.
    pub(super) names: FxHashMap<&'a str, Option<InstructionId>>,
    pub(super) root: Option<Span>,
    pub(super) last: Option<InstructionId>,
    /// Undefined operands with a shape become parameters.
    pub(super) invents_parameters: bool,
}

impl Scope<'_> {
    pub(super) fn new(computation: ComputationId) -> Self {
        Scope {
            computation,
            names: FxHashMap::default(),
            root: None,
            last: None,
            invents_parameters: false,
        }
    }
}

impl<'a> Parser<'a> {
    pub(super) fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("instructions are parsed inside of a scope")
    }

    /// `{ instructions }`.
    pub(super) fn instruction_list(
        &mut self,
        computation: ComputationId,
        scope: Scope<'a>,
    ) -> Parse<()> {
        let open = self.token.span();
        self.expect(TokenKind::LeftBrace)?;
        self.in_scope(scope, |parser| {
            loop {
                if parser.eat(TokenKind::RightBrace) {
                    return parser.finish_computation(computation, open);
                }
                if parser.at(TokenKind::End) {
                    let name = parser.module[computation].name();
                    let error = Diagnostic::error(format!("computation `{name}` does not end"));
                    let error = error.at(parser.token.span()).label(open, "it starts here");
                    return Err(parser.report(error));
                }
                if parser.instruction().is_err() {
                    parser.recover()?;
                }
            }
        })
    }

    /// Instructions up to the end of the text.
    pub(super) fn bare_instruction_list(&mut self, scope: Scope<'a>) -> Parse<()> {
        let computation = scope.computation;
        let open = self.token.span();
        self.in_scope(scope, |parser| {
            while !parser.at(TokenKind::End) {
                parser.instruction()?;
            }
            parser.finish_computation(computation, open)
        })
    }

    fn in_scope(
        &mut self,
        scope: Scope<'a>,
        parse: impl FnOnce(&mut Self) -> Parse<()>,
    ) -> Parse<()> {
        self.scopes.push(scope);
        let result = self.nested(parse);
        self.scopes.pop();
        result
    }

    fn finish_computation(&mut self, computation: ComputationId, span: Span) -> Parse<()> {
        let gap = self.module[computation]
            .parameters()
            .iter()
            .position(|&parameter| parameter == InstructionId::default());
        let has_root_mark = self.scope().root.is_some();
        let last = self.scope().last;
        let name = self.module[computation].name();
        let has_failures =
            self.scopes.last().is_some_and(|s| s.names.values().any(Option::is_none));
        if has_failures {
            return Ok(());
        }
        if let Some(number) = gap {
            let message = format!("parameter {number} of computation `{name}` is missing");
            let hint = "parameters are numbered from 0 without a gap";
            return Err(self.report(Diagnostic::error(message).at(span).hint(hint)));
        }
        match last {
            None => {
                let message = format!("computation `{name}` has no instructions");
                Err(self.error(span, message))
            }
            Some(last) => {
                if !has_root_mark {
                    self.module.set_root(last);
                }
                Ok(())
            }
        }
    }

    /// `[ROOT] %name = f32[2] add(…), …`, also without name and root mark.
    fn instruction(&mut self) -> Parse<()> {
        let start = self.token.start;
        let root_span = self.token.span();
        let mut is_root = false;
        if self.at_word("ROOT") && self.peek().kind != TokenKind::Equal {
            self.advance();
            is_root = true;
        }
        let is_unnamed = self.scope().invents_parameters
            && (self.at_shape() || self.peek().kind == TokenKind::LeftParen);
        let name_span = self.token.span();
        let name = if is_unnamed { "_" } else { self.name("the name of an instruction or `}`")? };
        if !is_unnamed {
            self.expect(TokenKind::Equal)?;
        }
        if is_root {
            if let Some(first) = self.scope().root {
                let error = Diagnostic::error("a computation has one `ROOT`");
                let error = error.at(root_span).label(first, "the first one");
                self.scope().names.insert(name, None);
                return Err(self.report(error));
            }
            self.scope().root = Some(root_span);
        }
        let instruction = match self.right_hand_side(name, name_span) {
            Ok(instruction) => instruction,
            Err(failed) => {
                self.scope().names.insert(name, None);
                return Err(failed);
            }
        };
        let span = self.span_from(start);
        self.spans[instruction] = span;
        if is_root {
            self.module.set_root(instruction);
        }
        self.scope().last = Some(instruction);
        if let Some(first) = self.scope().names.insert(name, Some(instruction)) {
            let mut error = Diagnostic::error(format!("instruction `{name}` is defined twice"));
            error = error.at(name_span);
            if let Some(first) = first {
                error = error.label(self.spans[first], "the first time");
            }
            return Err(self.report(error));
        }
        Ok(())
    }

    /// Goes to where the next instruction seems to start: a line that begins with `name =`, `ROOT`
    /// or `}`. Gives up after too many errors.
    fn recover(&mut self) -> Parse<()> {
        let errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error);
        if errors.count() >= self.options.max_errors {
            return Err(Failed);
        }
        let bytes = self.source.as_bytes();
        let mut at = self.last_end;
        while let Some(length) = bytes[at..].iter().position(|&byte| byte == b'\n') {
            at += length + 1;
            let first = lex(bytes, at);
            let second = lex(bytes, first.end);
            let starts = match first.kind {
                TokenKind::RightBrace => true,
                TokenKind::Name => second.kind == TokenKind::Equal,
                TokenKind::Word => {
                    self.text(first) == "ROOT"
                        || (second.kind == TokenKind::Equal && second.start > first.end)
                }
                _ => false,
            };
            if starts {
                self.move_to(at);
                return Ok(());
            }
        }
        self.move_to(bytes.len());
        Err(Failed)
    }

    /// The name of a computation, or a computation in braces on the spot.
    pub(in crate::text) fn computation_reference(&mut self) -> Parse<ComputationId> {
        if self.at(TokenKind::LeftBrace) {
            let id = self.module.add_computation("_");
            self.instruction_list(id, Scope::new(id))?;
            return Ok(id);
        }
        let span = self.token.span();
        let name = self.name("the name of a computation")?;
        if let Some(known) = self.computations.get(name) {
            return Ok(known.id);
        }
        let id = self.module.add_computation(name);
        self.computations.insert(name, NamedComputation { id, span, defined: false });
        Ok(id)
    }
}
