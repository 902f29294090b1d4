//! The table of attributes and types, decoded when asked for.
//!
//! An entry refers to others by index, so decoding one may need others first. That is done without
//! recursion: an entry whose parts are missing names all of them and is tried again when they are
//! there. A decoder asks for its parts in few steps (see [`Decoder::ready`]), so it runs a bounded
//! number of times and the whole takes time in proportion to the file.

use rxla_base::{Error, Result};

use super::cursor::{Cursor, Span};
use super::sections::{RawEntry, checked_index};
use super::{TextParsers, builtin, sdy, stablehlo, vhlo};
use crate::mlir::{
    Attribute, ByteString, EnumValue, Float, Location, LocationKind, MAX_DEPTH, Resource, Type,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Attribute,
    Type,
}

#[derive(Clone, Debug)]
enum State<T> {
    Waiting,
    /// Tried, and waiting for its parts: asking for it now means a cycle.
    Open,
    /// The value and how deep it nests.
    Done(T, u16),
}

#[derive(Clone, Debug)]
struct Slot<'a, T> {
    raw: RawEntry<'a>,
    state: State<T>,
}

/// The table.
pub(super) struct Entries<'a> {
    attributes: Vec<Slot<'a, Attribute>>,
    types: Vec<Slot<'a, Type>>,
    tables: Tables,
}

/// What entries can refer to besides each other.
pub(super) struct Tables {
    pub(super) strings: Vec<ByteString>,
    pub(super) dialects: Vec<ByteString>,
    pub(super) resources: Vec<Resource>,
    pub(super) resource_handles: Vec<usize>,
    pub(super) parsers: TextParsers,
}

impl<'a> Entries<'a> {
    pub(super) fn new(
        attributes: Vec<RawEntry<'a>>,
        types: Vec<RawEntry<'a>>,
        tables: Tables,
    ) -> Entries<'a> {
        Entries {
            attributes: attributes.into_iter().map(Slot::new).collect(),
            types: types.into_iter().map(Slot::new).collect(),
            tables,
        }
    }

    pub(super) fn into_resources(self) -> Vec<Resource> {
        self.tables.resources
    }

    /// The attribute whose index the cursor reads.
    pub(super) fn attribute(&mut self, cursor: &mut Cursor<'_>) -> Result<Attribute> {
        let index = cursor.varint()?;
        self.attribute_at(cursor, index)
    }

    pub(super) fn attribute_at(&mut self, cursor: &Cursor<'_>, index: u64) -> Result<Attribute> {
        let index = checked_index(cursor, index, self.attributes.len(), "attribute")?;
        if !matches!(self.attributes[index].state, State::Done(..)) {
            self.resolve(Kind::Attribute, index)?;
        }
        match &self.attributes[index].state {
            State::Done(value, _) => Ok(value.clone()),
            State::Waiting | State::Open => Err(Error::internal("an attribute is not resolved")),
        }
    }

    /// The type whose index the cursor reads.
    pub(super) fn ty(&mut self, cursor: &mut Cursor<'_>) -> Result<Type> {
        let index = cursor.varint()?;
        self.type_at(cursor, index)
    }

    pub(super) fn type_at(&mut self, cursor: &Cursor<'_>, index: u64) -> Result<Type> {
        let index = checked_index(cursor, index, self.types.len(), "type")?;
        if !matches!(self.types[index].state, State::Done(..)) {
            self.resolve(Kind::Type, index)?;
        }
        match &self.types[index].state {
            State::Done(value, _) => Ok(value.clone()),
            State::Waiting | State::Open => Err(Error::internal("a type is not resolved")),
        }
    }

    /// A location; anything else is an error.
    pub(super) fn location(&mut self, cursor: &mut Cursor<'_>) -> Result<Location> {
        match self.attribute(cursor)? {
            Attribute::Location(location) => Ok(location),
            _ => Err(cursor.error("an attribute that is no location stands for a location")),
        }
    }

    fn resolve(&mut self, kind: Kind, index: usize) -> Result<()> {
        let mut stack = vec![(kind, index)];
        while let Some(&(kind, index)) = stack.last() {
            let missing = match kind {
                Kind::Attribute => self.step_attribute(index),
                Kind::Type => self.step_type(index),
            }?;
            if missing.is_empty() {
                stack.pop();
            }
            stack.extend(missing);
        }
        Ok(())
    }

    /// Tries to decode; returns what is missing.
    fn step_attribute(&mut self, index: usize) -> Result<Vec<(Kind, usize)>> {
        if matches!(self.attributes[index].state, State::Done(..)) {
            return Ok(Vec::new());
        }
        let (outcome, missing, depth) = self.decode(self.attributes[index].raw, decode_attribute);
        if !missing.is_empty() {
            self.attributes[index].state = State::Open;
            return Ok(missing);
        }
        let value = outcome.map_err(|error| error.context(format!("in attribute {index}")))?;
        self.attributes[index].state = State::Done(value, depth);
        Ok(Vec::new())
    }

    fn step_type(&mut self, index: usize) -> Result<Vec<(Kind, usize)>> {
        if matches!(self.types[index].state, State::Done(..)) {
            return Ok(Vec::new());
        }
        let (outcome, missing, depth) = self.decode(self.types[index].raw, decode_type);
        if !missing.is_empty() {
            self.types[index].state = State::Open;
            return Ok(missing);
        }
        let value = outcome.map_err(|error| error.context(format!("in type {index}")))?;
        self.types[index].state = State::Done(value, depth);
        Ok(Vec::new())
    }

    fn decode<T>(
        &self,
        raw: RawEntry<'a>,
        decode: fn(&mut Decoder<'_, 'a>, RawEntry<'a>) -> Result<T>,
    ) -> (Result<T>, Vec<(Kind, usize)>, u16) {
        let mut decoder = Decoder {
            entries: self,
            cursor: raw.data.cursor("attribute or type"),
            missing: Vec::new(),
            depth: 0,
        };
        let outcome = decode(&mut decoder, raw);
        let Decoder { missing, depth, cursor, .. } = decoder;
        let outcome = outcome.and_then(|value| {
            if usize::from(depth) > MAX_DEPTH {
                return Err(cursor.error(format_args!("nested deeper than {MAX_DEPTH}")));
            }
            cursor.finish().map(|()| value)
        });
        (outcome, missing, depth)
    }
}

impl<'a, T> Slot<'a, T> {
    fn new(raw: RawEntry<'a>) -> Slot<'a, T> {
        Slot { raw, state: State::Waiting }
    }
}

/// What reads one entry. Its methods follow LLVM's `DialectBytecodeReader`.
///
/// A part that is not decoded yet reads as a placeholder and is noted. Before looking into a part,
/// call [`Decoder::ready`]; read as many parts as possible before that.
pub(super) struct Decoder<'e, 'a> {
    entries: &'e Entries<'a>,
    pub(super) cursor: Cursor<'a>,
    missing: Vec<(Kind, usize)>,
    depth: u16,
}

impl<'a> Decoder<'_, 'a> {
    #[cold]
    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        self.cursor.error(message)
    }

    /// An error if parts are missing; the entry is then tried again, so nobody sees it.
    pub(super) fn ready(&self) -> Result<()> {
        if self.missing.is_empty() {
            return Ok(());
        }
        Err(Error::internal("parts of an attribute are missing"))
    }

    fn attribute_at(&mut self, index: u64) -> Result<Attribute> {
        let entries = self.entries;
        let index = checked_index(&self.cursor, index, entries.attributes.len(), "attribute")?;
        match &entries.attributes[index].state {
            State::Done(value, depth) => {
                // The chain of call sites is bounded by cutting it, not by an error.
                if !matches!(value, Attribute::Location(_)) || usize::from(*depth) < MAX_DEPTH {
                    self.depth = self.depth.max(depth + 1);
                    return Ok(value.clone());
                }
                Ok(Attribute::Location(Location::UNKNOWN))
            }
            State::Waiting => {
                self.missing.push((Kind::Attribute, index));
                Ok(Attribute::Unit)
            }
            State::Open => Err(self.error(format_args!("attribute {index} is a part of itself"))),
        }
    }

    pub(super) fn attribute(&mut self) -> Result<Attribute> {
        let index = self.cursor.varint()?;
        self.attribute_at(index)
    }

    pub(super) fn optional_attribute(&mut self) -> Result<Option<Attribute>> {
        let (index, present) = self.cursor.flagged()?;
        if present { self.attribute_at(index).map(Some) } else { Ok(None) }
    }

    pub(super) fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let count = self.cursor.count()?;
        (0..count).map(|_| self.attribute()).collect()
    }

    pub(super) fn ty(&mut self) -> Result<Type> {
        let index = self.cursor.varint()?;
        let entries = self.entries;
        let index = checked_index(&self.cursor, index, entries.types.len(), "type")?;
        match &entries.types[index].state {
            State::Done(value, depth) => {
                self.depth = self.depth.max(depth + 1);
                Ok(value.clone())
            }
            State::Waiting => {
                self.missing.push((Kind::Type, index));
                Ok(Type::None)
            }
            State::Open => Err(self.error(format_args!("type {index} is a part of itself"))),
        }
    }

    pub(super) fn types(&mut self) -> Result<Vec<Type>> {
        let count = self.cursor.count()?;
        (0..count).map(|_| self.ty()).collect()
    }

    /// A string from the table of strings.
    pub(super) fn string(&mut self) -> Result<ByteString> {
        let index = self.cursor.varint()?;
        let strings = &self.entries.tables.strings;
        Ok(strings[checked_index(&self.cursor, index, strings.len(), "string")?].clone())
    }

    pub(super) fn resource_key(&mut self) -> Result<ByteString> {
        let index = self.cursor.varint()?;
        let tables = &self.entries.tables;
        let handles = &tables.resource_handles;
        let index = checked_index(&self.cursor, index, handles.len(), "resource")?;
        Ok(tables.resources[handles[index]].key.clone())
    }

    /// A double as sixty-four bits.
    pub(super) fn double(&mut self) -> Result<u64> {
        Ok(self.cursor.signed()? as u64)
    }

    /// The bits of an integer or float of up to 64 bits, in the low end; what is above `width` is
    /// zero.
    pub(super) fn bits(&mut self, width: u32) -> Result<u64> {
        match width {
            0 => {
                self.cursor.byte()?;
                Ok(0)
            }
            1..=8 => Ok(u64::from(self.cursor.byte()?) & (u64::MAX >> (64 - width))),
            9..=64 => Ok(self.cursor.signed()? as u64 & (u64::MAX >> (64 - width))),
            _ => Err(Error::unimplemented(format_args!(
                "attributes with numbers of {width} bits (at most 64 are supported)"
            ))),
        }
    }

    pub(super) fn blob(&mut self) -> Result<Span<'a>> {
        let length = self.cursor.varint()?;
        self.cursor.bytes(length)
    }

    // Views of parts; call them after `ready`.

    pub(super) fn expect_string(&self, attribute: Attribute) -> Result<ByteString> {
        match attribute {
            Attribute::String(text) => Ok(text),
            other => Err(self.unexpected("a string", &other)),
        }
    }

    pub(super) fn expect_location(&self, attribute: Attribute) -> Result<Location> {
        match attribute {
            Attribute::Location(location) => Ok(location),
            other => Err(self.unexpected("a location", &other)),
        }
    }

    #[cold]
    pub(super) fn unexpected(&self, wanted: &str, found: &Attribute) -> Error {
        self.error(format_args!("{wanted} is expected, found {}", describe(found)))
    }
}

/// What kind of attribute this is, for messages.
pub(super) fn describe(attribute: &Attribute) -> &'static str {
    match attribute {
        Attribute::Unit => "a unit attribute",
        Attribute::Bool(_) => "a truth value",
        Attribute::Integer { .. } => "an integer",
        Attribute::Float { .. } => "a float",
        Attribute::String(_) | Attribute::TypedString(_) => "a string",
        Attribute::SymbolRef(_) => "a symbol",
        Attribute::Type(_) => "a type",
        Attribute::Array(_) => "an array",
        Attribute::Dictionary(_) => "a dictionary",
        Attribute::DenseElements(_) | Attribute::DenseStrings(_) => "a dense constant",
        Attribute::DenseArray(_) => "a dense array",
        Attribute::DenseResource(_) => "a dense resource",
        Attribute::Location(_) => "a location",
        Attribute::Enum(attribute) => match attribute.value {
            EnumValue::ComparisonDirection(_) => "a comparison direction",
            EnumValue::ComparisonType(_) => "a comparison type",
            EnumValue::Precision(_) => "a precision",
            EnumValue::FftType(_) => "an fft type",
            EnumValue::Transpose(_) => "a transposition",
            EnumValue::RngAlgorithm(_) => "an rng algorithm",
            EnumValue::RngDistribution(_) => "an rng distribution",
            EnumValue::ResultAccuracyMode(_) => "a result accuracy mode",
            EnumValue::CustomCallApiVersion(_) => "a custom call API version",
        },
        Attribute::ScatterDimensionNumbers(_)
        | Attribute::GatherDimensionNumbers(_)
        | Attribute::DotDimensionNumbers(_)
        | Attribute::ConvDimensionNumbers(_)
        | Attribute::RaggedDotDimensionNumbers(_) => "dimension numbers",
        Attribute::DotAlgorithm(_) => "a dot algorithm",
        Attribute::OutputOperandAlias(_) => "an output operand alias",
        Attribute::ChannelHandle { .. } => "a channel handle",
        Attribute::TypeExtensions(_) => "type extensions",
        Attribute::ResultAccuracy(_) => "a result accuracy",
        Attribute::ReplicaGroupMeshAxes(_) => "replica groups of mesh axes",
        Attribute::Mesh(_) => "a mesh",
        Attribute::MeshAxis(_) => "a mesh axis",
        Attribute::AxisRef(_) => "an axis",
        Attribute::SubAxisInfo(_) => "a part of an axis",
        Attribute::Sdy(_) => "a Shardy attribute",
        Attribute::Opaque(_) => "an attribute of an unknown dialect",
    }
}

fn text_of<'a>(decoder: &mut Decoder<'_, 'a>) -> Result<&'a str> {
    let text = decoder.cursor.null_terminated()?;
    std::str::from_utf8(text.bytes)
        .map_err(|_| decoder.error("the text of an attribute or type is not UTF-8"))
}

fn decode_attribute<'a>(decoder: &mut Decoder<'_, 'a>, raw: RawEntry<'a>) -> Result<Attribute> {
    let dialect = decoder.entries.tables.dialects[raw.dialect].clone();
    if !raw.custom {
        let parse = decoder.entries.tables.parsers.attribute;
        let text = text_of(decoder)?;
        // Layouts of buffers are compared with the identity map, see `builtin::memref`.
        if text.starts_with("affine_map<") {
            return Ok(Attribute::opaque("", text));
        }
        if let Some(parse) = parse {
            return parse(text);
        }
        if let Some(inside) = text.strip_prefix("loc(").and_then(|text| text.strip_suffix(')')) {
            let kind = LocationKind::Opaque { text: inside.into() };
            return Ok(Attribute::Location(Location::new(kind)));
        }
        let own = format!("#{dialect}");
        let rest = text.strip_prefix(&own);
        return Ok(match rest.and_then(|rest| rest.strip_prefix('.')) {
            Some(rest) => Attribute::opaque(dialect, rest),
            None => Attribute::opaque("", text),
        });
    }
    match dialect.as_str() {
        Some("builtin") => builtin::attribute(decoder),
        Some("vhlo") => vhlo::attribute(decoder),
        Some("stablehlo") => stablehlo::attribute(decoder),
        Some("chlo") => stablehlo::chlo_attribute(decoder),
        Some("sdy") => sdy::attribute(decoder),
        _ => Err(Error::unimplemented(format_args!(
            "attributes of dialect `{dialect}` in their own bytecode encoding"
        ))),
    }
}

fn decode_type<'a>(decoder: &mut Decoder<'_, 'a>, raw: RawEntry<'a>) -> Result<Type> {
    let dialect = decoder.entries.tables.dialects[raw.dialect].clone();
    if !raw.custom {
        let parse = decoder.entries.tables.parsers.ty;
        let text = text_of(decoder)?;
        // The small float types had no code in the builtin dialect at first.
        if let Some(float) = Float::from_name(text) {
            return Ok(Type::Float(float));
        }
        if let Some(parse) = parse {
            return parse(text);
        }
        let own = format!("!{dialect}.");
        return Ok(match text.strip_prefix(&own) {
            Some(rest) => Type::opaque(dialect, rest),
            None => Type::opaque("", text),
        });
    }
    match dialect.as_str() {
        Some("builtin") => builtin::ty(decoder),
        Some("vhlo") => vhlo::ty(decoder),
        Some("stablehlo") => stablehlo::ty(decoder),
        Some("quant") => stablehlo::quant_type(decoder),
        _ => Err(Error::unimplemented(format_args!(
            "types of dialect `{dialect}` in their own bytecode encoding"
        ))),
    }
}
