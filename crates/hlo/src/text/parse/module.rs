//! Whole modules: header, tables and computations, or the shorter forms that people paste.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use rxla_base::{Diagnostic, Span};

use super::{NamedComputation, Parse, ParseOptions, Parsed, Parser, Scope};
use crate::text::lexer::TokenKind;
use crate::text::nearest::nearest;
use crate::{ComputationId, ComputationLayout, Op};

/// Reads a module from HLO text.
///
/// The header may be missing, and so may everything round a list of instructions, which then are
/// the entry computation. Computations may stand in any order, instructions stand after their
/// operands.
pub fn parse(source: &str, options: &ParseOptions) -> Result<Parsed, Vec<Diagnostic>> {
    if u32::try_from(source.len()).is_err() {
        return Err(vec![Diagnostic::error("texts of 4 GiB and more are not read")]);
    }
    let mut parser = Parser::new(source, options);
    // Failure is also told by the diagnostics: the parser goes on after broken instructions.
    let _ = parser.whole_module();
    if parser.has_errors() {
        return Err(parser.diagnostics);
    }
    if let Some(span) = parser.elided {
        let warning = "values of constants were left out of the text; others are made up";
        parser.warn(Diagnostic::warning(warning).at(span));
    }
    Ok(Parsed { module: parser.module, spans: parser.spans, warnings: parser.diagnostics })
}

impl<'a> Parser<'a> {
    fn whole_module(&mut self) -> Parse<()> {
        if self.eat_word("HloModule") {
            self.module.name = self.name("the name of the module")?.to_owned();
            // XLA's lexer takes a name and a colon for a name.
            self.eat(TokenKind::Colon);
            self.header_attributes()?;
            self.module.stack_frames = self.stack_frame_tables()?;
            self.computations()?;
        } else if self.at_computation() {
            self.module.stack_frames = self.stack_frame_tables()?;
            self.computations()?;
            self.module.name = format!("module_{}", self.module[self.module.entry()].name());
        } else if self.at(TokenKind::End) {
            return Err(self.error(self.token.span(), "the text holds no module"));
        } else {
            self.bare_instructions()?;
        }
        self.finish()
    }

    /// Whether a computation starts here, rather than an instruction.
    fn at_computation(&self) -> bool {
        if ["ENTRY", "FileNames"].iter().any(|word| self.at_word(word)) {
            return true;
        }
        let next = self.peek().kind;
        match self.token.kind {
            TokenKind::Name => matches!(next, TokenKind::LeftBrace | TokenKind::LeftParen),
            TokenKind::Word => match next {
                TokenKind::LeftBrace => true,
                TokenKind::LeftParen => Op::from_name(self.text(self.token)).is_none(),
                _ => false,
            },
            _ => false,
        }
    }

    fn computations(&mut self) -> Parse<()> {
        let mut entry: Option<(ComputationId, Span)> = None;
        let last = loop {
            let span = self.token.span();
            let is_entry = self.at_word("ENTRY")
                && matches!(self.peek().kind, TokenKind::Name | TokenKind::Word);
            if is_entry {
                self.advance();
            }
            let computation = self.computation()?;
            if is_entry {
                if let Some((_, first)) = entry {
                    let error = Diagnostic::error("a module has one `ENTRY` computation");
                    return Err(self.report(error.at(span).label(first, "the first one")));
                }
                entry = Some((computation, span));
            }
            if self.at(TokenKind::End) {
                break computation;
            }
        };
        self.module.set_entry(entry.map_or(last, |(entry, _)| entry));
        Ok(())
    }

    /// `[ENTRY] %name (a: f32[2]) -> f32[2] { … }, execution_thread="…"`.
    fn computation(&mut self) -> Parse<ComputationId> {
        let span = self.token.span();
        let name = self.name("the name of a computation")?;
        let id = match self.computations.get_mut(name) {
            Some(known) if known.defined => {
                let first = known.span;
                let error = Diagnostic::error(format!("computation `{name}` is defined twice"));
                return Err(self.report(error.at(span).label(first, "the first time")));
            }
            Some(known) => {
                known.defined = true;
                known.span = span;
                known.id
            }
            None => {
                let id = self.module.add_computation(name);
                self.computations.insert(name, NamedComputation { id, span, defined: true });
                id
            }
        };
        let result = if self.at(TokenKind::LeftParen) { Some(self.signature()?) } else { None };
        self.instruction_list(id, Scope::new(id))?;
        if let (Some((shape, span)), Some(root)) = (result, self.module[id].try_root()) {
            let root = &self.module[root];
            if !super::operands::agrees(&root.shape, &shape) {
                let message = format!(
                    "`{name}` is declared to return `{shape}` but its root `{}` has the shape `{}`",
                    root.name(),
                    root.shape
                );
                self.error(span, message);
            }
        }
        while self.eat(TokenKind::Comma) {
            let (attribute, span) = self.attribute_name()?;
            if attribute != "execution_thread" {
                let known = ["execution_thread"];
                let what = "attribute of a computation";
                return Err(self.unknown_word(what, attribute, span, known));
            }
            let thread = self.string()?;
            self.module[id].execution_thread = (thread != "main").then_some(thread);
        }
        Ok(id)
    }

    /// `(a: f32[2], b: s32[]) -> f32[2]`; the parameters are told again by instructions.
    fn signature(&mut self) -> Parse<(crate::Shape, Span)> {
        self.list(TokenKind::LeftParen, TokenKind::RightParen, |parser| {
            parser.name("the name of a parameter")?;
            parser.expect(TokenKind::Colon)?;
            parser.shape()?;
            Ok(())
        })?;
        self.expect(TokenKind::Arrow)?;
        let start = self.token.start;
        let shape = self.shape()?;
        Ok((shape, self.span_from(start)))
    }

    /// Instructions without a computation round them. Operands that are not defined but have a
    /// shape become parameters.
    fn bare_instructions(&mut self) -> Parse<()> {
        self.module.name = "_".to_owned();
        self.module.config.is_scheduled = true;
        let id = self.module.add_computation("_");
        self.module.set_entry(id);
        self.bare_instruction_list(Scope { invents_parameters: true, ..Scope::new(id) })
    }

    /// What can be said only when everything was read.
    fn finish(&mut self) -> Parse<()> {
        let mut undefined: Vec<(&str, Span)> = self
            .computations
            .iter()
            .filter(|(_, computation)| !computation.defined)
            .map(|(&name, computation)| (name, computation.span))
            .collect();
        undefined.sort_by_key(|(_, span)| span.start);
        for (name, span) in undefined {
            let known = self.computations.iter().filter(|(_, c)| c.defined);
            // The map's order is not the text's: of equally near names take the least.
            let mut known: Vec<&str> = known.map(|(&name, _)| name).collect();
            known.sort_unstable();
            let mut error = Diagnostic::error(format!("no computation is named `{name}`")).at(span);
            if let Some(near) = nearest(name, known) {
                error = error.hint(format!("did you mean `{near}`?"));
            }
            self.report(error);
        }
        if self.has_errors() {
            return Err(super::Failed);
        }
        self.order_computations()?;
        let entry = self.module.entry();
        if self.module.config.entry_computation_layout.is_none() {
            let shapes = self.module.program_shape(entry);
            let parameters = shapes.parameters.iter().map(|(_, s)| s.with_default_layout());
            self.module.config.entry_computation_layout = Some(ComputationLayout {
                parameters: parameters.collect(),
                result: shapes.result.with_default_layout(),
            });
        }
        Ok(())
    }

    /// Puts callees before callers, as all other code expects, and refuses recursion.
    fn order_computations(&mut self) -> Parse<()> {
        let mut order = Vec::new();
        let mut done = FxHashSet::default();
        let mut open = FxHashSet::default();
        let callees = |parser: &Self, computation: ComputationId| -> Vec<ComputationId> {
            let instructions = parser.module[computation].instructions();
            instructions.iter().flat_map(|&i| parser.module[i].op.called_computations()).collect()
        };
        for &start in self.module.computations() {
            if done.contains(&start) {
                continue;
            }
            open.insert(start);
            let mut stack = vec![(start, callees(self, start).into_iter())];
            while let Some((computation, rest)) = stack.last_mut() {
                let computation = *computation;
                let Some(callee) = rest.next() else {
                    open.remove(&computation);
                    done.insert(computation);
                    order.push(computation);
                    stack.pop();
                    continue;
                };
                if open.contains(&callee) {
                    let name: Arc<str> = self.module[callee].name().into();
                    let span = self.computations.get(&*name).map_or(Span::default(), |c| c.span);
                    return Err(self.error(span, format!("computation `{name}` calls itself")));
                }
                if !done.contains(&callee) {
                    open.insert(callee);
                    stack.push((callee, callees(self, callee).into_iter()));
                }
            }
        }
        self.module.set_computation_order(order);
        Ok(())
    }
}
