//! Operations from text: results, the operation in generic or pretty form, its location.

use std::sync::Arc;

use rxla_base::{Diagnostic, Span};

use super::cursor::Result;
use super::formats::{self, Format, Special, Spelling};
use super::mhlo;
use super::parser::Parser;
use super::scope::Use;
use crate::mlir::{
    Attribute, AttributeKind, Attributes, BlockId, ByteString, Location, Module, NamedAttribute,
    OpId, Operation, OperationAttribute, Region, RegionId, Type, Value, ValueDef, attribute_kind,
    drop_defaults,
};

/// What has been read of an operation.
pub(super) struct Reading<'a> {
    /// In the arena already, so that regions can belong to it.
    pub op: OpId,
    pub name: Arc<str>,
    pub name_span: Span,
    pub operands: Vec<Use<'a>>,
    pub operand_types: Vec<Type>,
    pub result_types: Vec<Type>,
    pub attributes: Vec<OperationAttribute>,
    pub successors: Vec<BlockId>,
    /// Given inside of the pretty form, as `stablehlo.reduce` has it.
    pub location: Option<Location>,
}

/// `%name:count =`.
struct ResultName<'a> {
    name: &'a str,
    count: usize,
    span: Span,
}

/// Where operations stand that are being read.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub region: RegionId,
    pub block: BlockId,
    /// What an operation's name without a dialect belongs to, such as `func` in a function.
    pub default_dialect: &'static str,
}

impl<'a> Parser<'a> {
    /// The whole text as a module.
    pub(super) fn module(mut self) -> Result<Module> {
        let root_region = self.module.operations[self.module.root].regions[0];
        let Some(body) = self.module.body() else {
            return Err(self.unexpected("a module"));
        };
        let place = Place { region: root_region, block: body, default_dialect: "builtin" };
        self.scopes.enter_region();
        while !self.at_end() {
            if self.sees("{-#") {
                self.resources()?;
            } else if self.sees("#") || self.sees("!") {
                self.alias_definition()?;
            } else {
                self.operation(place)?;
            }
        }
        self.leave_region()?;
        self.leave_isolated()?;
        let mut module = std::mem::take(&mut self.module);
        // A module that stands alone is the root itself.
        if let &[op] = &module.blocks[body].operations[..]
            && &*module.operations[op].name == "builtin.module"
        {
            module.operations[op].parent = None;
            module.blocks[body].operations.clear();
            module.root = op;
        }
        Ok(module)
    }

    /// One operation with its results, placed at the end of the block.
    pub(super) fn operation(&mut self, place: Place) -> Result<OpId> {
        if let Some(&last) = self.module.blocks[place.block].operations.last() {
            let name = &self.module.operations[last].name;
            if matches!(&**name, "func.return" | "stablehlo.return" | "sdy.return") {
                let wanted = format!("the end of the block after `{name}`");
                return Err(self.unexpected(&wanted));
            }
        }
        let results = self.result_names()?;
        self.skip_space();
        let start = self.offset();
        let generic = self.peek() == Some(b'"');
        let name: Arc<str> = if generic {
            let bytes = self.string()?;
            match String::from_utf8(bytes) {
                Ok(name) if !name.is_empty() => name.into(),
                _ => {
                    let span = self.span_from(start);
                    return Err(self.error(span, "expected the name of an operation"));
                }
            }
        } else {
            let word = self.expect_word("an operation")?;
            self.pretty_name(word, place)
        };
        let name_span = self.span_from(start);
        let of_mhlo = mhlo::same_as(&name);
        let pretty = match &of_mhlo {
            Some(name) => mhlo::spelling(name),
            None => formats::spelling(&name),
        };
        let name = of_mhlo.map_or(name, Arc::from);
        let op = self.module.operations.push(Operation::new(name.clone(), Location::UNKNOWN));
        let mut reading = Reading {
            op,
            name,
            name_span,
            operands: Vec::new(),
            operand_types: Vec::new(),
            result_types: Vec::new(),
            attributes: Vec::new(),
            successors: Vec::new(),
            location: None,
        };
        if generic {
            self.generic_operation(&mut reading, place)?;
        } else {
            self.pretty_operation(&mut reading, pretty)?;
        }
        self.place_operation(reading, results, place)?;
        Ok(op)
    }

    /// `%0, %1:2 =`.
    fn result_names(&mut self) -> Result<Vec<ResultName<'a>>> {
        let mut results = Vec::new();
        if !self.sees("%") {
            return Ok(results);
        }
        loop {
            let (name, span) = self.value_name()?;
            let mut count = 1;
            if self.eat(":") {
                let number = self.integer()?;
                count = match usize::try_from(number) {
                    Ok(count) if count > 0 => count,
                    _ => return Err(self.error(span, "the number of results must be positive")),
                };
            }
            results.push(ResultName { name, count, span });
            if !self.eat(",") {
                break;
            }
        }
        self.expect("=")?;
        Ok(results)
    }

    /// The whole name for a word that may lack the dialect.
    fn pretty_name(&mut self, word: &'a str, place: Place) -> Arc<str> {
        if !word.contains('.') {
            for dialect in [place.default_dialect, "builtin"] {
                let name = format!("{dialect}.{word}");
                if formats::spelling(&name).is_some() {
                    return name.into();
                }
            }
        }
        self.operation_name(word)
    }

    /// What follows the name in the generic form.
    fn generic_operation(&mut self, reading: &mut Reading<'a>, place: Place) -> Result<()> {
        reading.operands = self.list("(", ")", |parser| parser.value_use())?;
        if self.eat("[") {
            reading.successors = self.list_until("]", |parser| parser.block_use(place.region))?;
        }
        if self.eat("<") {
            let entries = self.dictionary_entries()?;
            self.expect(">")?;
            add_attributes(reading, entries, |_, _| AttributeKind::Inherent);
        }
        if self.eat("(") {
            loop {
                let region = self.new_region(reading.op);
                self.region(region, &reading.name.clone(), Vec::new())?;
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.attribute_dictionary(reading)?;
        self.expect(":")?;
        self.functional_types(reading)
    }

    /// What follows the name in the pretty form.
    fn pretty_operation(
        &mut self,
        reading: &mut Reading<'a>,
        spelling: Option<&'static Spelling>,
    ) -> Result<()> {
        let Some(spelling) = spelling else {
            return Err(Box::new(
                Diagnostic::error(format!("`{}` has no pretty form here", reading.name))
                    .at(reading.name_span)
                    .hint(format!("write the generic form `\"{}\"(…) : … -> …`", reading.name)),
            ));
        };
        match spelling.format {
            Format::Pieces(pieces) => self.pieces(reading, pieces),
            Format::Special(special) => match special {
                Special::Module => self.module_operation(reading),
                Special::Function => self.function(reading),
                Special::Constant => self.constant(reading),
                Special::Reduce => self.reduce(reading),
                Special::While => self.while_loop(reading),
                Special::Scan => self.scan(reading),
            },
            Format::Generic => Err(Box::new(
                Diagnostic::error(format!("`{}` has the generic form only", reading.name))
                    .at(reading.name_span)
                    .hint(format!("write `\"{}\"(…) : … -> …`", reading.name)),
            )),
        }
    }

    /// `(types) -> types`.
    pub(super) fn functional_types(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        self.skip_space();
        let start = self.offset();
        let ty = self.ty()?;
        let Some(function) = ty.as_function() else {
            let span = self.span_from(start);
            return Err(self.error(span, "expected `(operand types) -> result types`"));
        };
        reading.operand_types = function.inputs.clone();
        reading.result_types = function.results.clone();
        Ok(())
    }

    /// `{…}` if it stands next, each attribute inherent if the operation declares it.
    pub(super) fn attribute_dictionary(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        if !self.sees("{") || self.sees("{-#") {
            return Ok(());
        }
        let start = self.offset();
        let entries = self.dictionary_entries()?;
        let span = self.span_from(start);
        for entry in &entries {
            if reading.attributes.iter().any(|known| known.name == entry.name) {
                return Err(self.error(span, format!("attribute `{}` is given twice", entry.name)));
            }
        }
        add_attributes(reading, entries, |op, name| {
            name.as_str().map_or(AttributeKind::Discardable, |name| attribute_kind(op, name))
        });
        Ok(())
    }

    /// A region for the operation that is being read.
    pub(super) fn new_region(&mut self, op: OpId) -> RegionId {
        let region = self.module.regions.push(Region { blocks: Vec::new(), parent: Some(op) });
        self.module.operations[op].regions.push(region);
        region
    }

    /// Resolves operands, makes results, reads the location, and places the operation.
    fn place_operation(
        &mut self,
        reading: Reading<'a>,
        results: Vec<ResultName<'a>>,
        place: Place,
    ) -> Result<()> {
        let Reading { op, name, operands, operand_types, result_types, attributes, .. } = reading;
        if operands.len() != operand_types.len() {
            return Err(self.error(
                reading.name_span,
                format!(
                    "`{name}` has {} operands but {} operand types",
                    operands.len(),
                    operand_types.len()
                ),
            ));
        }
        let mut operand_ids = Vec::with_capacity(operands.len());
        for (&usage, ty) in operands.iter().zip(&operand_types) {
            operand_ids.push(self.resolve(usage, ty)?);
        }
        let location = match self.optional_location()? {
            Some(location) => location,
            None => reading.location.unwrap_or_default(),
        };
        if location.is_unknown() {
            self.module.spans[op] = Some(reading.name_span);
        }
        let count = result_types.len();
        let named: usize = results.iter().fold(0, |sum, name| sum.saturating_add(name.count));
        if !results.is_empty() && named != count {
            let span = results.iter().fold(reading.name_span, |span, name| span.to(name.span));
            return Err(self.error(
                span,
                format!("`{name}` has {count} results but names are given for {named}"),
            ));
        }
        let mut types = result_types.into_iter();
        let mut values = Vec::with_capacity(count);
        for result in &results {
            let mut of_name = Vec::with_capacity(result.count);
            for (number, ty) in types.by_ref().take(result.count).enumerate() {
                let index = values.len() as u32;
                let value =
                    Value { ty, def: ValueDef::Result { op, index }, location: Location::UNKNOWN };
                let value =
                    self.new_value(Some((result.name, result.span)), number as u32, value)?;
                values.push(value);
                of_name.push(value);
            }
            self.bind(result.name, result.span, of_name)?;
        }
        for ty in types {
            let def = ValueDef::Result { op, index: values.len() as u32 };
            values.push(self.module.values.push(Value { ty, def, location: Location::UNKNOWN }));
        }
        let mut attributes: Attributes = attributes.into_iter().collect();
        drop_defaults(&name, &mut attributes);
        let operation = &mut self.module.operations[op];
        operation.operands = operand_ids;
        operation.results = values;
        operation.attributes = attributes;
        operation.successors = reading.successors;
        operation.location = location;
        operation.parent = Some(place.block);
        self.module.blocks[place.block].operations.push(op);
        Ok(())
    }
}

fn add_attributes(
    reading: &mut Reading<'_>,
    entries: Vec<NamedAttribute>,
    kind: impl Fn(&str, &ByteString) -> AttributeKind,
) {
    for NamedAttribute { name, value } in entries {
        let kind = kind(&reading.name, &name);
        reading.attributes.push(OperationAttribute { name, kind, value });
    }
}

impl Reading<'_> {
    /// Adds an attribute that the operation declares.
    pub(super) fn set(&mut self, name: &str, value: Attribute) {
        let (name, kind) = (ByteString::from(name), AttributeKind::Inherent);
        self.attributes.push(OperationAttribute { name, kind, value });
    }
}
