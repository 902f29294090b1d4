//! [`Parser`]: what is known while reading a text, aliases first of all.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use rxla_base::{Diagnostic, Span};

use super::cursor::{Cursor, Result};
use super::scope::Scopes;
use crate::mlir::{Attribute, MAX_DEPTH, Module, Type};

pub(super) struct Parser<'a> {
    cursor: Cursor<'a>,
    /// By name with its sigil: `#map`, `!alias`.
    aliases: FxHashMap<&'a str, Alias>,
    depth: usize,
    /// Bytes that the aliases met so far stand for when written out.
    expanded: usize,
    /// Aliases of locations not read yet, in order of the text.
    location_aliases: Vec<&'a str>,
    pub(super) module: Module,
    pub(super) scopes: Scopes<'a>,
    names: FxHashMap<&'a str, Arc<str>>,
}

/// A definition such as `#loc3 = loc("x"(#loc1))`. Definitions are found before anything is read,
/// so that they may stand behind their uses, as MLIR prints those of locations; each is read when
/// it is needed first.
struct Alias {
    definition: Span,
    /// Where the text behind the `=` starts.
    body: usize,
    value: AliasValue,
    /// Bytes of the definition with all aliases in it written out.
    weight: usize,
}

/// How much text one alias may stand for. Few aliases that mention others twice would stand for
/// more than any memory holds.
const MAX_ALIAS_WEIGHT: usize = 1 << 22;

/// How much text all uses of aliases may stand for. Locations do not count here nor there: they are
/// printed once however often they are used, and searched with a bound.
const MAX_EXPANDED: usize = 1 << 28;

#[derive(Clone)]
enum AliasValue {
    Unread,
    /// To refuse an alias that mentions itself.
    BeingRead,
    Attribute(Attribute),
    Type(Type),
}

/// Cursor methods read as the parser's own.
impl<'a> Deref for Parser<'a> {
    type Target = Cursor<'a>;
    fn deref(&self) -> &Cursor<'a> {
        &self.cursor
    }
}
impl DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Parser<'a>> {
        let mut parser = Parser {
            cursor: Cursor::new(text),
            aliases: FxHashMap::default(),
            depth: 0,
            expanded: 0,
            location_aliases: Vec::new(),
            module: Module::new(),
            scopes: Scopes::new(),
            names: FxHashMap::default(),
        };
        parser.find_aliases()?;
        Ok(parser)
    }

    /// Refuses anything after what was read.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected("the end of the text")) }
    }

    /// Reads something that may hold its like, refusing to go too deep.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            self.skip_space();
            let at = self.offset();
            return Err(self.error(
                Span::new(at, at + 1),
                format!("nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads `item`s with commas between until `close`, whose opening is already passed.
    pub(super) fn list_until<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// `open item, item close`.
    pub(super) fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect(open)?;
        self.list_until(close, item)
    }

    /// `[1, 2]`.
    pub(super) fn integer_list(&mut self) -> Result<Vec<i64>> {
        self.list("[", "]", |parser| parser.integer())
    }

    /// The shared copy of an operation's name.
    pub(super) fn operation_name(&mut self, name: &'a str) -> Arc<str> {
        self.names.entry(name).or_insert_with(|| name.into()).clone()
    }

    /// Notes every line that starts with `#name =` or `!name =`.
    fn find_aliases(&mut self) -> Result<()> {
        let text = self.cursor.text();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let offset = start;
            start += line.len();
            let indent = line.len() - line.trim_start().len();
            if !matches!(line.as_bytes().get(indent), Some(b'#' | b'!')) {
                continue;
            }
            let mut cursor = Cursor::new(text);
            let begin = offset + indent;
            cursor.move_to(begin + 1);
            cursor.suffix_word();
            let name = &text[begin..cursor.offset()];
            if name.len() == 1 || name.contains('.') || !cursor.eat("=") {
                continue;
            }
            let definition = Span::new(begin, begin + name.len());
            let alias =
                Alias { definition, body: cursor.offset(), value: AliasValue::Unread, weight: 0 };
            if name.starts_with("#loc") {
                self.location_aliases.push(name);
            }
            if let Some(earlier) = self.aliases.insert(name, alias) {
                return Err(Box::new(
                    Diagnostic::error(format!("alias `{name}` is defined twice"))
                        .at(definition)
                        .label(earlier.definition, "defined here first"),
                ));
            }
        }
        Ok(())
    }

    /// Passes a definition at the top level, reading it if nothing has needed it yet.
    pub(super) fn alias_definition(&mut self) -> Result<()> {
        self.skip_space();
        let start = self.offset();
        let body = self.cursor.clone();
        self.cursor.move_to(start + 1);
        self.cursor.suffix_word();
        let name = &self.text()[start..self.offset()];
        let alias = self.aliases.get(name);
        if alias.is_none_or(|alias| alias.definition.start as usize != start) {
            self.cursor = body;
            return Err(self.unexpected("an operation or an alias definition on its own line"));
        }
        self.expect("=")?;
        // Reading it where it stands passes it, even if it has been read before.
        let (value, weight) = self.alias_body(name)?;
        self.define_alias(name, value, weight);
        Ok(())
    }

    /// What an alias stands for, and how much text that is.
    fn alias_body(&mut self, name: &str) -> Result<(AliasValue, usize)> {
        let before = std::mem::take(&mut self.expanded);
        let start = self.offset();
        let value = if name.starts_with('#') {
            AliasValue::Attribute(self.attribute()?)
        } else {
            AliasValue::Type(self.ty()?)
        };
        let own = self.offset() - start;
        let weight = std::mem::replace(&mut self.expanded, before).saturating_add(own);
        if let AliasValue::Attribute(Attribute::Location(_)) = value {
            return Ok((value, 0));
        }
        if weight > MAX_ALIAS_WEIGHT && weight > own {
            let span = self.span_from(start);
            let message = format!("alias `{name}` stands for {weight} bytes of text");
            return Err(self.error(span, message));
        }
        Ok((value, weight))
    }

    fn define_alias(&mut self, name: &str, value: AliasValue, weight: usize) {
        if let Some(alias) = self.aliases.get_mut(name) {
            alias.value = value;
            alias.weight = weight;
        }
    }

    /// The attribute that `#name` stands for.
    pub(super) fn attribute_alias(&mut self, name: &'a str, span: Span) -> Result<Attribute> {
        match self.alias(name, span)? {
            AliasValue::Attribute(attribute) => Ok(attribute),
            _ => Err(self.error(span, format!("`{name}` is not an attribute alias"))),
        }
    }

    /// The type that `!name` stands for.
    pub(super) fn type_alias(&mut self, name: &'a str, span: Span) -> Result<Type> {
        match self.alias(name, span)? {
            AliasValue::Type(ty) => Ok(ty),
            _ => Err(self.error(span, format!("`{name}` is not a type alias"))),
        }
    }

    fn alias(&mut self, name: &'a str, span: Span) -> Result<AliasValue> {
        // A stack of calls is a chain of locations as long as the stack is deep, told from its end
        // in aliases. Read in order, each needs only what has been read.
        if name.starts_with("#loc") {
            for earlier in std::mem::take(&mut self.location_aliases) {
                self.alias(earlier, span)?;
            }
        }
        let Some(alias) = self.aliases.get_mut(name) else {
            return Err(Box::new(
                Diagnostic::error(format!("alias `{name}` is not defined"))
                    .at(span)
                    .hint(format!("write `{name} = …` on a line of its own")),
            ));
        };
        match alias.value {
            AliasValue::Attribute(_) | AliasValue::Type(_) => {
                let (value, weight) = (alias.value.clone(), alias.weight);
                self.expand(weight, span)?;
                return Ok(value);
            }
            AliasValue::BeingRead => {
                let definition = alias.definition;
                return Err(Box::new(
                    Diagnostic::error(format!("alias `{name}` is defined by itself"))
                        .at(span)
                        .label(definition, "defined here"),
                ));
            }
            AliasValue::Unread => {}
        }
        alias.value = AliasValue::BeingRead;
        let body = alias.body;
        let back = self.offset();
        self.move_to(body);
        let (value, weight) = self.nested(|parser| parser.alias_body(name))?;
        self.move_to(back);
        self.define_alias(name, value.clone(), weight);
        self.expand(weight, span)?;
        Ok(value)
    }

    /// Counts a use of an alias.
    fn expand(&mut self, weight: usize, span: Span) -> Result<()> {
        self.expanded = self.expanded.saturating_add(weight);
        if self.expanded > MAX_EXPANDED {
            return Err(self.error(span, "aliases stand for too much text"));
        }
        Ok(())
    }
}
