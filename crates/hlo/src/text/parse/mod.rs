//! The parser's state and the small things all of its files use. The grammar is spread over the
//! files of this folder by subject, and over `attributes`, where each type of attribute is printed
//! and parsed side by side.
//!
//! A function that fails has recorded a diagnostic and returns [`Failed`]; who can go on after
//! that (the list of instructions) does, so one run reports several errors.

mod common;
mod computation;
mod header;
mod infer;
mod instruction;
mod layout;
mod literal;
mod metadata;
mod module;
mod operands;
mod shape;
mod sharding;
mod tables;
mod wrapped;

use rustc_hash::FxHashMap;
use rxla_base::{Diagnostic, SecondaryMap, Severity, Span};

use self::computation::Scope;
pub(super) use self::instruction::can_be_wrapped;
pub use self::module::parse;
use super::escape::unescape;
use super::lexer::{Token, TokenKind, json_end, lex};
use super::nearest::nearest;
use crate::{ComputationId, Instruction, Module};

/// What a shape without layout means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum MissingLayouts {
    /// No layout.
    #[default]
    Keep,
    /// Row-major, as XLA's own parser takes it.
    RowMajor,
}

/// How text is read.
#[derive(Clone, PartialEq, Debug)]
pub struct ParseOptions {
    pub missing_layouts: MissingLayouts,
    /// Keep shapes without layout in `entry_computation_layout`, where that means that the
    /// compiler chooses. Otherwise they become row-major.
    pub keep_auto_entry_layouts: bool,
    /// How deep shapes, operands and computations may nest.
    pub max_depth: u32,
    /// Bytes that all constants of a module may take together.
    pub max_literal_bytes: usize,
    /// Parsing stops after this many errors.
    pub max_errors: usize,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions {
            missing_layouts: MissingLayouts::Keep,
            keep_auto_entry_layouts: false,
            max_depth: 128,
            max_literal_bytes: 1 << 30,
            max_errors: 20,
        }
    }
}

/// A module read from text.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub module: Module,
    /// Where each instruction stands in the text.
    pub spans: SecondaryMap<Instruction, Span>,
    pub warnings: Vec<Diagnostic>,
}

/// A diagnostic was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Failed;

pub(super) type Parse<T> = Result<T, Failed>;

/// The parser: a place in the text and the module made so far. One token is looked at ahead.
pub struct Parser<'a> {
    pub(super) source: &'a str,
    pub(super) token: Token,
    /// Where the token before this one ended.
    last_end: usize,
    diagnostics: Vec<Diagnostic>,
    depth: u32,
    literal_bytes: usize,
    /// How many more parameters the length of the text can account for.
    parameters_left: usize,
    /// The first constant whose values were left out of the text.
    elided: Option<Span>,
    pub(super) options: ParseOptions,
    pub(super) module: Module,
    spans: SecondaryMap<Instruction, Span>,
    computations: FxHashMap<&'a str, NamedComputation>,
    /// The names of the computation being parsed, and of those round it.
    scopes: Vec<Scope<'a>>,
}

/// A computation that was defined, or only named so far.
#[derive(Clone, Copy, Debug)]
struct NamedComputation {
    id: ComputationId,
    span: Span,
    defined: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a str, options: &ParseOptions) -> Parser<'a> {
        Parser {
            source,
            token: lex(source.as_bytes(), 0),
            last_end: 0,
            diagnostics: Vec::new(),
            depth: 0,
            literal_bytes: 0,
            parameters_left: source.len(),
            elided: None,
            options: options.clone(),
            module: Module::new(""),
            spans: SecondaryMap::default(),
            computations: FxHashMap::default(),
            scopes: Vec::new(),
        }
    }

    /// Runs a parser of one thing over the whole text.
    pub(super) fn whole<T>(
        mut self,
        parse: impl FnOnce(&mut Self) -> Parse<T>,
    ) -> Result<T, Vec<Diagnostic>> {
        let result = parse(&mut self).and_then(|value| {
            if self.at(TokenKind::End) { Ok(value) } else { Err(self.unexpected("the end")) }
        });
        match result {
            Ok(value) if !self.has_errors() => Ok(value),
            _ => Err(self.diagnostics),
        }
    }

    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.diagnostics.push(diagnostic);
        Failed
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) -> Failed {
        self.report(Diagnostic::error(message).at(span))
    }

    /// The current token is not what was expected.
    pub(super) fn unexpected(&mut self, wanted: &str) -> Failed {
        let token = self.token;
        let found = match token.kind {
            TokenKind::End | TokenKind::Unterminated | TokenKind::Unknown => {
                token.kind.describe().to_owned()
            }
            TokenKind::String => "a string".to_owned(),
            _ => format!("`{}`", self.text(token)),
        };
        self.error(token.span(), format!("expected {wanted}, found {found}"))
    }

    /// A word that should have been one of `known`.
    pub(super) fn unknown_word<'n>(
        &mut self,
        what: &str,
        word: &str,
        span: Span,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Failed {
        let mut diagnostic = Diagnostic::error(format!("unknown {what} `{word}`")).at(span);
        if let Some(near) = nearest(word, known) {
            diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }

    pub(super) fn text(&self, token: Token) -> &'a str {
        &self.source[token.start..token.end]
    }

    pub(super) fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    pub(super) fn advance(&mut self) {
        self.last_end = self.token.end;
        self.token = lex(self.source.as_bytes(), self.token.end);
    }

    /// The token after the current one.
    pub(super) fn peek(&self) -> Token {
        lex(self.source.as_bytes(), self.token.end)
    }

    /// From the start of an earlier token to the end of what was last taken.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.last_end.max(start))
    }

    pub(super) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, kind: TokenKind) -> Parse<()> {
        if self.eat(kind) { Ok(()) } else { Err(self.unexpected(kind.describe())) }
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Word) && self.text(self.token) == word
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// A word or number as written.
    pub(super) fn take(&mut self) -> &'a str {
        let text = self.text(self.token);
        self.advance();
        text
    }

    pub(super) fn word(&mut self, wanted: &str) -> Parse<&'a str> {
        if self.at(TokenKind::Word) { Ok(self.take()) } else { Err(self.unexpected(wanted)) }
    }

    /// A name of an instruction, computation or module, without `%`.
    pub(super) fn name(&mut self, wanted: &str) -> Parse<&'a str> {
        match self.token.kind {
            // `-inf` is a word, but no name.
            TokenKind::Word if !self.text(self.token).starts_with('-') => Ok(self.take()),
            TokenKind::Name => Ok(&self.take()[1..]),
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// `name=`, both taken.
    pub(super) fn attribute_name(&mut self) -> Parse<(&'a str, Span)> {
        let span = self.token.span();
        let wanted = "the name of an attribute";
        if self.at(TokenKind::Name) {
            return Err(self.unexpected(wanted));
        }
        let name = self.name(wanted)?;
        self.expect(TokenKind::Equal)?;
        Ok((name, span))
    }

    pub(super) fn integer(&mut self) -> Parse<i64> {
        if !self.at(TokenKind::Integer) {
            return Err(self.unexpected("an integer"));
        }
        let token = self.token;
        match self.text(token).parse() {
            Ok(value) => {
                self.advance();
                Ok(value)
            }
            Err(_) => {
                let message = format!("`{}` does not fit 64 bits", self.text(token));
                Err(self.error(token.span(), message))
            }
        }
    }

    pub(super) fn small_integer(&mut self) -> Parse<i32> {
        let token = self.token;
        let value = self.integer()?;
        i32::try_from(value)
            .map_err(|_| self.error(token.span(), format!("`{value}` does not fit 32 bits")))
    }

    /// A number as `f64`; integers, `inf` and `nan` included.
    pub(super) fn number(&mut self) -> Parse<f64> {
        let text = self.text(self.token);
        let value = match (self.token.kind, text) {
            (TokenKind::Integer | TokenKind::Decimal, _) => text.parse().ok(),
            (TokenKind::Word, "inf") => Some(f64::INFINITY),
            (TokenKind::Word, "-inf") => Some(f64::NEG_INFINITY),
            (TokenKind::Word, "nan") => Some(f64::NAN),
            (TokenKind::Word, "-nan") => Some(-f64::NAN),
            _ => None,
        };
        let Some(value) = value else { return Err(self.unexpected("a number")) };
        self.advance();
        Ok(value)
    }

    pub(super) fn boolean(&mut self) -> Parse<bool> {
        if self.eat_word("true") {
            Ok(true)
        } else if self.eat_word("false") {
            Ok(false)
        } else {
            Err(self.unexpected("`true` or `false`"))
        }
    }

    /// A quoted string's bytes.
    pub(super) fn bytes(&mut self) -> Parse<Vec<u8>> {
        if !self.at(TokenKind::String) {
            return Err(self.unexpected("a string in quotes"));
        }
        let token = self.token;
        let inside = &self.source.as_bytes()[token.start + 1..token.end - 1];
        match unescape(inside, token.start + 1) {
            Ok(bytes) => {
                self.advance();
                Ok(bytes)
            }
            Err((span, message)) => Err(self.error(span, message)),
        }
    }

    /// A quoted string. Bytes that are no text are replaced, with a warning.
    pub(super) fn string(&mut self) -> Parse<String> {
        let span = self.token.span();
        let bytes = self.bytes()?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
            let warning = Diagnostic::warning("the string is not UTF-8; other bytes are replaced");
            self.diagnostics.push(warning.at(span));
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }))
    }

    /// A quoted string, or a dictionary in braces taken as it stands.
    pub(super) fn string_or_dictionary(&mut self) -> Parse<String> {
        if !self.at(TokenKind::LeftBrace) {
            return self.string();
        }
        let start = self.token.start;
        let Some(end) = json_end(self.source.as_bytes(), start) else {
            return Err(self.error(self.token.span(), "the dictionary does not end"));
        };
        self.move_to(end);
        Ok(self.source[start..end].to_owned())
    }

    /// The run of bytes from the current token on that `accept` takes: a pattern such as `2x2`,
    /// which is no token.
    pub(super) fn raw(&mut self, accept: impl Fn(u8) -> bool) -> (&'a str, Span) {
        let start = self.token.start;
        let rest = &self.source.as_bytes()[start..];
        let length = rest.iter().position(|&byte| !accept(byte)).unwrap_or(rest.len());
        self.move_to(start + length);
        (&self.source[start..start + length], Span::new(start, start + length))
    }

    /// Goes on at byte `at`.
    pub(super) fn move_to(&mut self, at: usize) {
        self.last_end = at;
        self.token = lex(self.source.as_bytes(), at);
    }

    /// `open item, item close`, possibly empty.
    pub(super) fn list(
        &mut self,
        open: TokenKind,
        close: TokenKind,
        mut item: impl FnMut(&mut Self) -> Parse<()>,
    ) -> Parse<()> {
        let start = self.token.span();
        self.expect(open)?;
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if self.eat(close) {
            return Ok(());
        }
        let failed = self.unexpected(&format!("`,` or {}", close.describe()));
        if let Some(diagnostic) = self.diagnostics.last_mut() {
            diagnostic.labels.push((start, "the list starts here".to_owned()));
        }
        Err(failed)
    }

    pub(super) fn braced(&mut self, item: impl FnMut(&mut Self) -> Parse<()>) -> Parse<()> {
        self.list(TokenKind::LeftBrace, TokenKind::RightBrace, item)
    }

    /// `{1,2,3}`.
    pub(super) fn integers<L: Default + Extend<i64>>(&mut self) -> Parse<L> {
        let mut list = L::default();
        self.braced(|parser| {
            list.extend([parser.integer()?]);
            Ok(())
        })?;
        Ok(list)
    }

    /// Runs `parse` one level deeper, unless that is too deep.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= self.options.max_depth {
            let message = format!("nested deeper than {} levels", self.options.max_depth);
            return Err(self.error(self.token.span(), message));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    pub(super) fn warn(&mut self, warning: Diagnostic) {
        self.diagnostics.push(warning);
    }
}
