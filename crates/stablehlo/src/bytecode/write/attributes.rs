//! Attributes and locations of the builtin dialect, and the choice of the encoding for all others.

use std::sync::Arc;

use rxla_base::{Error, Result};

use super::emitter::{Emitter, Entry, Kept, Tables};
use super::{resources, sdy, stablehlo, vhlo};
use crate::mlir::{
    Attribute, ByteString, DenseArray, DenseElements, Location, LocationKind, NamedAttribute,
    Opaque, Type,
};

/// Whose encodings attributes and types get, where there is a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encoding {
    /// VHLO's.
    Versioned,
    /// The builtin dialect's and those of the dialects that attributes belong to.
    Plain,
}

/// An entry and the dialect that it belongs to.
pub(super) struct Encoded {
    pub(super) dialect: &'static str,
    pub(super) data: Emitter,
}

impl Encoded {
    /// Starts an entry with its code.
    pub(super) fn new(dialect: &'static str, code: u64) -> Encoded {
        let mut data = Emitter::default();
        data.varint(code);
        Encoded { dialect, data }
    }
}

impl Tables {
    pub(super) fn attribute(&mut self, attribute: &Attribute, encoding: Encoding) -> Result<usize> {
        let address = match attribute {
            Attribute::Array(items) => Arc::as_ptr(items).cast::<()>() as usize,
            Attribute::Dictionary(entries) => Arc::as_ptr(entries).cast::<()>() as usize,
            Attribute::DenseElements(elements) => Arc::as_ptr(elements) as usize,
            Attribute::Sdy(sdy) => Arc::as_ptr(sdy) as usize,
            Attribute::Location(location) => return self.location(location),
            Attribute::Opaque(opaque) => return Ok(self.text_attribute(opaque)),
            Attribute::Enum(_) => match stablehlo::chlo_text(attribute) {
                Some(opaque) => return Ok(self.text_attribute(&opaque)),
                None => 0,
            },
            _ => 0,
        };
        let key = (address, encoding == Encoding::Versioned);
        // Empty slices have no address of their own.
        let is_shared = address != 0
            && !matches!(attribute, Attribute::Array(items) if items.is_empty())
            && !matches!(attribute, Attribute::Dictionary(entries) if entries.is_empty());
        if is_shared && let Some(index) = self.known(key) {
            return Ok(index);
        }
        let encoded = match encoding {
            Encoding::Versioned => match vhlo::attribute(self, attribute)? {
                Some(encoded) => encoded,
                // What VHLO cannot say stays in its own dialect.
                None => plain(self, attribute)?,
            },
            Encoding::Plain => plain(self, attribute)?,
        };
        let index = self.add_attribute(encoded);
        if is_shared {
            self.remember(key, index, Kept::Attribute { _value: attribute.clone() });
        }
        Ok(index)
    }

    fn add_attribute(&mut self, encoded: Encoded) -> usize {
        let dialect = self.dialect(&encoded.dialect.into());
        self.attributes.add(Entry { dialect, data: encoded.data.finish(), custom: true })
    }

    pub(super) fn attribute_list(
        &mut self,
        items: &[Attribute],
        encoding: Encoding,
    ) -> Result<Vec<usize>> {
        items.iter().map(|item| self.attribute(item, encoding)).collect()
    }

    /// A string as an attribute of the builtin dialect.
    pub(super) fn string_attribute(&mut self, text: &ByteString) -> usize {
        let mut encoded = Encoded::new("builtin", 2);
        let index = self.string(text);
        encoded.data.length(index);
        self.add_attribute(encoded)
    }

    pub(super) fn dictionary(
        &mut self,
        entries: &[NamedAttribute],
        encoding: Encoding,
    ) -> Result<usize> {
        let mut encoded = Encoded::new("builtin", 1);
        encoded.data.length(entries.len());
        for entry in entries {
            let name = self.string_attribute(&entry.name);
            let value = self.attribute(&entry.value, encoding)?;
            encoded.data.length(name);
            encoded.data.length(value);
        }
        Ok(self.add_attribute(encoded))
    }

    fn text_attribute(&mut self, opaque: &Opaque) -> usize {
        let text = match opaque.dialect.as_bytes() {
            [] => opaque.text.as_bytes().to_vec(),
            dialect => [b"#", dialect, b".", opaque.text.as_bytes()].concat(),
        };
        self.text_entry(opaque, text, |tables, entry| tables.attributes.add(entry))
    }

    pub(super) fn text_entry(
        &mut self,
        opaque: &Opaque,
        mut text: Vec<u8>,
        add: fn(&mut Tables, Entry) -> usize,
    ) -> usize {
        // Text ends with a zero, so it cannot hold one.
        text.retain(|&byte| byte != 0);
        text.push(0);
        let owner = if opaque.dialect.as_bytes().is_empty() {
            ByteString::from("builtin")
        } else {
            opaque.dialect.clone()
        };
        let dialect = self.dialect(&owner);
        add(self, Entry { dialect, data: text, custom: false })
    }

    pub(super) fn location(&mut self, location: &Location) -> Result<usize> {
        let address = location.kind().map_or(0, |kind| std::ptr::from_ref(kind) as usize);
        if address != 0
            && let Some(index) = self.known((address, false))
        {
            return Ok(index);
        }
        let encoded = match location.kind() {
            None => Encoded::new("builtin", 15),
            Some(LocationKind::FileLineCol { file, line, column }) => {
                let mut encoded = Encoded::new("builtin", 11);
                let file = self.string_attribute(file);
                encoded.data.length(file);
                encoded.data.varint(u64::from(*line));
                encoded.data.varint(u64::from(*column));
                encoded
            }
            Some(LocationKind::FileRange { file, line, column, end_line, end_column }) => {
                let mut encoded = Encoded::new("builtin", 22);
                let file = self.string_attribute(file);
                encoded.data.length(file);
                let numbers: &[u32] = if line == end_line {
                    &[*line, *column, *end_column]
                } else {
                    &[*line, *column, *end_line, *end_column]
                };
                encoded.data.length(numbers.len());
                numbers.iter().for_each(|&number| encoded.data.varint(u64::from(number)));
                encoded
            }
            Some(LocationKind::Name { name, child }) => {
                let mut encoded = Encoded::new("builtin", 14);
                let name = self.string_attribute(name);
                let child = self.location(child)?;
                encoded.data.length(name);
                encoded.data.length(child);
                encoded
            }
            Some(LocationKind::CallSite { callee, caller }) => {
                let mut encoded = Encoded::new("builtin", 10);
                let callee = self.location(callee)?;
                let caller = self.location(caller)?;
                encoded.data.length(callee);
                encoded.data.length(caller);
                encoded
            }
            Some(LocationKind::Fused { locations, metadata }) => {
                let code = if metadata.is_some() { 13 } else { 12 };
                let mut encoded = Encoded::new("builtin", code);
                let locations: Result<Vec<usize>> =
                    locations.iter().map(|location| self.location(location)).collect();
                encoded.data.indices(&locations?);
                if let Some(metadata) = metadata {
                    let metadata = self.attribute(metadata, Encoding::Plain)?;
                    encoded.data.length(metadata);
                }
                encoded
            }
            Some(LocationKind::Opaque { text }) => {
                let opaque = Opaque { dialect: ByteString::default(), text: text.clone() };
                let text = [b"loc(", text.as_bytes(), b")"].concat();
                return Ok(
                    self.text_entry(&opaque, text, |tables, entry| tables.attributes.add(entry))
                );
            }
        };
        let index = self.add_attribute(encoded);
        if address != 0 {
            self.remember((address, false), index, Kept::Location { _value: location.clone() });
        }
        Ok(index)
    }
}

/// The bytes of a dense constant: truth values are packed, and all true is `0xff`.
pub(super) fn blob(elements: &DenseElements) -> Vec<u8> {
    let bytes = elements.bytes();
    if elements.ty().element() != Some(&Type::I1) {
        return bytes.to_vec();
    }
    if elements.is_splat() {
        return vec![if bytes[0] == 0 { 0 } else { 0xff }];
    }
    let bit = |(at, &byte): (usize, &u8)| u8::from(byte != 0) << at;
    bytes.chunks(8).map(|chunk| chunk.iter().enumerate().map(bit).sum()).collect()
}

/// A number of up to 64 bits.
pub(super) fn bits(data: &mut Emitter, width: u32, value: u64) -> Result<()> {
    match width {
        0..=8 => data.byte((value & ((1 << width) - 1)) as u8),
        9..=64 => data.signed((value & (u64::MAX >> (64 - width))) as i64),
        _ => {
            return Err(Error::unimplemented(format_args!(
                "attributes with numbers of {width} bits in bytecode"
            )));
        }
    }
    Ok(())
}

pub(super) fn integer_width(ty: &Type) -> Result<u32> {
    match ty {
        Type::Integer { width, .. } => Ok(*width),
        Type::Index => Ok(64),
        _ => Err(Error::invalid_argument("an integer attribute's type is not an integer type")),
    }
}

fn plain(tables: &mut Tables, attribute: &Attribute) -> Result<Encoded> {
    let new = |code| Encoded::new("builtin", code);
    let mut encoded;
    match attribute {
        Attribute::Unit => encoded = new(7),
        Attribute::Bool(value) => {
            encoded = new(8);
            let ty = tables.ty(&Type::I1, Encoding::Plain)?;
            encoded.data.length(ty);
            encoded.data.byte(u8::from(*value));
        }
        Attribute::Integer { ty, value } => {
            encoded = new(8);
            let index = tables.ty(ty, Encoding::Plain)?;
            encoded.data.length(index);
            bits(&mut encoded.data, integer_width(ty)?, *value as u64)?;
        }
        Attribute::Float { ty, bits: value } => {
            encoded = new(9);
            let index = tables.ty(&Type::Float(*ty), Encoding::Plain)?;
            encoded.data.length(index);
            bits(&mut encoded.data, ty.bits(), *value)?;
        }
        Attribute::String(text) => {
            encoded = new(2);
            let text = tables.string(text);
            encoded.data.length(text);
        }
        Attribute::TypedString(parts) => {
            encoded = new(3);
            let text = tables.string(&parts.0);
            let ty = tables.ty(&parts.1, Encoding::Plain)?;
            encoded.data.length(text);
            encoded.data.length(ty);
        }
        Attribute::SymbolRef(symbol) => {
            encoded = new(if symbol.nested.is_empty() { 4 } else { 5 });
            let root = tables.string_attribute(&symbol.root);
            encoded.data.length(root);
            if !symbol.nested.is_empty() {
                let nested: Result<Vec<usize>> = symbol
                    .nested
                    .iter()
                    .map(|name| tables.attribute(&Attribute::symbol(name.clone()), Encoding::Plain))
                    .collect();
                encoded.data.indices(&nested?);
            }
        }
        Attribute::Type(ty) => {
            encoded = new(6);
            let ty = tables.ty(ty, Encoding::Plain)?;
            encoded.data.length(ty);
        }
        Attribute::Array(items) => {
            encoded = new(0);
            let items = tables.attribute_list(items, Encoding::Plain)?;
            encoded.data.indices(&items);
        }
        Attribute::Dictionary(entries) => {
            encoded = new(1);
            encoded.data.length(entries.len());
            for entry in entries.iter() {
                let name = tables.string_attribute(&entry.name);
                let value = tables.attribute(&entry.value, Encoding::Plain)?;
                encoded.data.length(name);
                encoded.data.length(value);
            }
        }
        Attribute::DenseElements(elements) => {
            encoded = new(18);
            let ty = tables.ty(elements.ty(), Encoding::Plain)?;
            encoded.data.length(ty);
            encoded.data.blob(&blob(elements));
        }
        Attribute::DenseArray(array) => {
            encoded = new(17);
            dense_array(tables, array, &mut encoded.data)?;
        }
        Attribute::DenseStrings(strings) => {
            encoded = new(19);
            let ty = tables.ty(&strings.ty, Encoding::Plain)?;
            encoded.data.length(ty);
            encoded.data.varint(u64::from(strings.splat));
            for value in &strings.values {
                let value = tables.string(value);
                encoded.data.length(value);
            }
        }
        Attribute::DenseResource(resource) => {
            encoded = new(16);
            let ty = tables.ty(&resource.ty, Encoding::Plain)?;
            let Some(handle) = resources::handle(&tables.resources, &resource.key) else {
                let key = &resource.key;
                return Err(Error::invalid_argument(format!("there is no resource `{key}`")));
            };
            encoded.data.length(ty);
            encoded.data.length(handle);
        }
        Attribute::Sdy(attribute) => return sdy::attribute(tables, attribute),
        Attribute::Enum(_)
        | Attribute::ScatterDimensionNumbers(_)
        | Attribute::GatherDimensionNumbers(_)
        | Attribute::DotDimensionNumbers(_)
        | Attribute::DotAlgorithm(_)
        | Attribute::ConvDimensionNumbers(_)
        | Attribute::RaggedDotDimensionNumbers(_)
        | Attribute::OutputOperandAlias(_)
        | Attribute::ChannelHandle { .. }
        | Attribute::TypeExtensions(_)
        | Attribute::ResultAccuracy(_)
        | Attribute::ReplicaGroupMeshAxes(_)
        | Attribute::Mesh(_)
        | Attribute::MeshAxis(_)
        | Attribute::AxisRef(_)
        | Attribute::SubAxisInfo(_) => return stablehlo::attribute(tables, attribute),
        Attribute::Location(_) | Attribute::Opaque(_) => {
            return Err(Error::internal("locations and text are written elsewhere"));
        }
    }
    Ok(encoded)
}

fn dense_array(tables: &mut Tables, array: &DenseArray, data: &mut Emitter) -> Result<()> {
    fn bytes<T: Copy, const N: usize>(values: &[T], encode: fn(T) -> [u8; N]) -> Vec<u8> {
        values.iter().flat_map(|&value| encode(value)).collect()
    }
    let (ty, bytes) = match array {
        DenseArray::I1(values) => (Type::I1, bytes(values, |value| [u8::from(value)])),
        DenseArray::I8(values) => (Type::signless(8), bytes(values, i8::to_le_bytes)),
        DenseArray::I16(values) => (Type::signless(16), bytes(values, i16::to_le_bytes)),
        DenseArray::I32(values) => (Type::I32, bytes(values, i32::to_le_bytes)),
        DenseArray::I64(values) => (Type::I64, bytes(values, i64::to_le_bytes)),
        DenseArray::F32(values) => {
            (Type::Float(crate::mlir::Float::F32), bytes(values, u32::to_le_bytes))
        }
        DenseArray::F64(values) => {
            (Type::Float(crate::mlir::Float::F64), bytes(values, u64::to_le_bytes))
        }
    };
    let ty = tables.ty(&ty, Encoding::Plain)?;
    data.length(ty);
    data.length(array.len());
    data.blob(&bytes);
    Ok(())
}
