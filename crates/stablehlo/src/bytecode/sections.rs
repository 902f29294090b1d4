//! The frame of a file: header, sections and the tables that are read at once (strings, dialects,
//! operation names, positions of properties, resources).

use std::sync::Arc;

use rxla_base::{Error, Result};

use super::cursor::{Cursor, Span};
use super::{MAGIC, VERSION};
use crate::mlir::{ByteString, Resource, ResourceValue};

/// Versions of the format from which a feature is there.
pub(super) mod since {
    pub(in super::super) const DIALECT_VERSIONS: u64 = 1;
    pub(in super::super) const ISOLATED_REGION_SECTIONS: u64 = 2;
    pub(in super::super) const USE_LIST_ORDERS: u64 = 3;
    pub(in super::super) const BLOCK_ARGUMENT_LOCATION_FLAG: u64 = 4;
    pub(in super::super) const PROPERTIES: u64 = 5;
}

/// Numbers of sections.
mod id {
    pub(super) const STRING: usize = 0;
    pub(super) const DIALECT: usize = 1;
    pub(super) const ATTRIBUTE_TYPE: usize = 2;
    pub(super) const ATTRIBUTE_TYPE_OFFSET: usize = 3;
    pub(super) const IR: usize = 4;
    pub(super) const RESOURCE: usize = 5;
    pub(super) const RESOURCE_OFFSET: usize = 6;
    pub(super) const DIALECT_VERSIONS: usize = 7;
    pub(super) const PROPERTIES: usize = 8;
    pub(super) const COUNT: usize = 9;
    pub(super) const NAMES: [&str; COUNT] = [
        "string",
        "dialect",
        "attribute and type",
        "attribute and type offset",
        "IR",
        "resource",
        "resource offset",
        "dialect version",
        "properties",
    ];
}

pub(super) const IR_SECTION: u8 = id::IR as u8;

/// An attribute or type entry that is not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawEntry<'a> {
    pub(super) dialect: usize,
    /// In the dialect's own encoding; otherwise in text.
    pub(super) custom: bool,
    pub(super) data: Span<'a>,
}

#[derive(Clone, Debug)]
pub(super) struct OpName {
    /// With dialect.
    pub(super) name: Arc<str>,
    /// Whether the writer knew the operation, so that its properties have their own encoding.
    pub(super) registered: bool,
}

pub(super) struct Sections<'a> {
    pub(super) version: u64,
    pub(super) producer: ByteString,
    pub(super) strings: Vec<ByteString>,
    pub(super) dialects: Vec<ByteString>,
    pub(super) op_names: Vec<OpName>,
    pub(super) attributes: Vec<RawEntry<'a>>,
    pub(super) types: Vec<RawEntry<'a>>,
    pub(super) properties: Vec<Span<'a>>,
    pub(super) resources: Vec<Resource>,
    /// Indices into `resources` of those that attributes can refer to.
    pub(super) resource_handles: Vec<usize>,
    pub(super) ir: Span<'a>,
    /// Length of the file, the measure for limits.
    pub(super) length: usize,
}

impl<'a> Sections<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Sections<'a>> {
        let mut cursor = Cursor::new(bytes, "header");
        if bytes.len() < MAGIC.len() || cursor.bytes(MAGIC.len() as u64)?.bytes != MAGIC {
            return Err(Error::invalid_argument(
                "not MLIR bytecode: it does not start with the bytes 4d 4c ef 52",
            ));
        }
        let version = cursor.varint()?;
        if version > VERSION {
            return Err(Error::invalid_argument(format!(
                "MLIR bytecode version {version} is newer than {VERSION}, the newest that is read"
            )));
        }
        let producer = ByteString::from(cursor.null_terminated()?.bytes);
        let mut found: [Option<Span<'a>>; id::COUNT] = [None; id::COUNT];
        while !cursor.is_empty() {
            let (section, data) = cursor.section()?;
            let Some(slot) = found.get_mut(usize::from(section)) else {
                return Err(cursor.error(format_args!("there is no section {section}")));
            };
            if slot.replace(data).is_some() {
                let name = id::NAMES[usize::from(section)];
                return Err(cursor.error(format_args!("a second {name} section")));
            }
        }
        let required = |section: usize| {
            found[section].ok_or_else(|| {
                Error::invalid_argument(format!("bytecode has no {} section", id::NAMES[section]))
            })
        };
        let strings = read_strings(required(id::STRING)?)?;
        let (dialects, op_names) = read_dialects(required(id::DIALECT)?, &strings, version)?;
        let properties = match found[id::PROPERTIES] {
            Some(section) => read_properties(section)?,
            None => Vec::new(),
        };
        let mut resources = Resources::default();
        match (found[id::RESOURCE], found[id::RESOURCE_OFFSET]) {
            (Some(data), Some(offsets)) => resources.read(data, offsets, &strings, &dialects)?,
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => {
                return Err(Error::invalid_argument(
                    "bytecode has one of the sections resource and resource offset but not both",
                ));
            }
        }
        let (attributes, types) = read_entries(
            required(id::ATTRIBUTE_TYPE)?,
            required(id::ATTRIBUTE_TYPE_OFFSET)?,
            dialects.len(),
        )?;
        Ok(Sections {
            version,
            producer,
            strings,
            dialects,
            op_names,
            attributes,
            types,
            properties,
            resources: resources.all,
            resource_handles: resources.handles,
            ir: required(id::IR)?,
            length: bytes.len(),
        })
    }
}

/// Lengths (with the terminating zero) of the strings from the last to the first, then all strings.
fn read_strings(section: Span<'_>) -> Result<Vec<ByteString>> {
    let mut cursor = section.cursor("string section");
    let count = cursor.count()?;
    let mut end = section.bytes.len();
    let mut strings = Vec::with_capacity(count);
    for _ in 0..count {
        let length = cursor.varint()?;
        let Some(start) = usize::try_from(length).ok().and_then(|length| end.checked_sub(length))
        else {
            return Err(cursor.error(format_args!("a string of {length} bytes is too long")));
        };
        let with_zero = &section.bytes[start..end];
        let Some((&0, text)) = with_zero.split_last() else {
            return Err(cursor.error("a string has no terminating zero"));
        };
        strings.push(ByteString::from(text));
        end = start;
    }
    if cursor.offset() != section.offset + end {
        return Err(cursor.error("lengths of strings do not add up"));
    }
    strings.reverse();
    Ok(strings)
}

fn string_at(strings: &[ByteString], index: u64, cursor: &Cursor<'_>) -> Result<ByteString> {
    usize::try_from(index).ok().and_then(|index| strings.get(index)).cloned().ok_or_else(|| {
        cursor.error(format_args!("string {index} of {} is asked for", strings.len()))
    })
}

fn read_dialects(
    section: Span<'_>,
    strings: &[ByteString],
    version: u64,
) -> Result<(Vec<ByteString>, Vec<OpName>)> {
    let mut cursor = section.cursor("dialect section");
    let count = cursor.count()?;
    let mut dialects = Vec::with_capacity(count);
    for _ in 0..count {
        let (name, versioned) = if version < since::DIALECT_VERSIONS {
            (cursor.varint()?, false)
        } else {
            cursor.flagged()?
        };
        dialects.push(string_at(strings, name, &cursor)?);
        if versioned {
            let (section, _) = cursor.section()?;
            if usize::from(section) != id::DIALECT_VERSIONS {
                return Err(cursor.error("a dialect version section is expected"));
            }
        }
    }
    let mut op_names = Vec::new();
    if version >= since::BLOCK_ARGUMENT_LOCATION_FLAG {
        op_names.reserve(cursor.count()?);
    }
    // Whole names are bounded: the same long dialect name could otherwise be repeated for each
    // one-byte entry.
    let mut budget = 64 * section.bytes.len() + (1 << 16);
    while !cursor.is_empty() {
        let dialect = read_index(&mut cursor, dialects.len(), "dialect")?;
        let entries = cursor.count()?;
        for _ in 0..entries {
            let (name, registered) = if version < since::PROPERTIES {
                (cursor.varint()?, true)
            } else {
                cursor.flagged()?
            };
            let name = string_at(strings, name, &cursor)?;
            let dialect = &dialects[dialect];
            budget = budget
                .checked_sub(dialect.as_bytes().len() + name.as_bytes().len())
                .ok_or_else(|| cursor.error("operation names are too long"))?;
            let (Some(dialect), Some(name)) = (dialect.as_str(), name.as_str()) else {
                return Err(cursor.error("an operation's name is not UTF-8"));
            };
            let whole =
                if name.is_empty() { dialect.into() } else { format!("{dialect}.{name}").into() };
            op_names.push(OpName { name: whole, registered });
        }
    }
    Ok((dialects, op_names))
}

/// An index into something with `count` items.
pub(super) fn read_index(cursor: &mut Cursor<'_>, count: usize, what: &str) -> Result<usize> {
    let index = cursor.varint()?;
    checked_index(cursor, index, count, what)
}

pub(super) fn checked_index(
    cursor: &Cursor<'_>,
    index: u64,
    count: usize,
    what: &str,
) -> Result<usize> {
    usize::try_from(index)
        .ok()
        .filter(|&index| index < count)
        .ok_or_else(|| cursor.error(format_args!("{what} {index} of {count} is asked for")))
}

fn read_properties(section: Span<'_>) -> Result<Vec<Span<'_>>> {
    let mut cursor = section.cursor("properties section");
    let count = cursor.count()?;
    let mut properties = Vec::with_capacity(count);
    for _ in 0..count {
        let length = cursor.varint()?;
        properties.push(cursor.bytes(length)?);
    }
    cursor.finish()?;
    Ok(properties)
}

fn read_entries<'a>(
    data: Span<'a>,
    offsets: Span<'a>,
    dialects: usize,
) -> Result<(Vec<RawEntry<'a>>, Vec<RawEntry<'a>>)> {
    let mut data = data.cursor("attribute and type section");
    let mut cursor = offsets.cursor("attribute and type offset section");
    let attribute_count = cursor.count()?;
    let type_count = cursor.count()?;
    let mut read = |count: usize| {
        let mut entries = Vec::with_capacity(count);
        while entries.len() < count {
            let dialect = read_index(&mut cursor, dialects, "dialect")?;
            let group = cursor.count()?;
            if group > count - entries.len() {
                return Err(cursor.error("a dialect has more entries than there are in all"));
            }
            for _ in 0..group {
                let (length, custom) = cursor.flagged()?;
                entries.push(RawEntry { dialect, custom, data: data.bytes(length)? });
            }
        }
        Ok(entries)
    };
    let attributes = read(attribute_count)?;
    let types = read(type_count)?;
    cursor.finish()?;
    Ok((attributes, types))
}

#[derive(Default)]
struct Resources {
    all: Vec<Resource>,
    handles: Vec<usize>,
}

impl Resources {
    fn read(
        &mut self,
        data: Span<'_>,
        offsets: Span<'_>,
        strings: &[ByteString],
        dialects: &[ByteString],
    ) -> Result<()> {
        let mut data = data.cursor("resource section");
        let mut cursor = offsets.cursor("resource offset section");
        let external = cursor.count()?;
        for _ in 0..external {
            let owner = cursor.varint()?;
            let owner = string_at(strings, owner, &cursor)?;
            self.group(&owner, true, &mut cursor, &mut data, strings)?;
        }
        while !cursor.is_empty() {
            let dialect = read_index(&mut cursor, dialects.len(), "dialect")?;
            self.group(&dialects[dialect], false, &mut cursor, &mut data, strings)?;
        }
        data.finish()
    }

    fn group(
        &mut self,
        owner: &ByteString,
        external: bool,
        cursor: &mut Cursor<'_>,
        data: &mut Cursor<'_>,
        strings: &[ByteString],
    ) -> Result<()> {
        let count = cursor.count()?;
        for _ in 0..count {
            let key = cursor.varint()?;
            let key = string_at(strings, key, cursor)?;
            let length = cursor.varint()?;
            let kind = cursor.byte()?;
            let entry = data.bytes(length)?;
            if !external {
                self.handles.push(self.all.len());
            }
            let mut value = entry.cursor("resource");
            let value = if entry.bytes.is_empty() {
                // Only declared; its value is not in this file.
                ResourceValue::Blob { alignment: 1, bytes: [].into() }
            } else {
                let read = match kind {
                    0 => {
                        let (alignment, blob) = value.aligned_blob()?;
                        ResourceValue::Blob { alignment, bytes: blob.bytes.into() }
                    }
                    1 => ResourceValue::Bool(value.byte()? != 0),
                    2 => {
                        let index = value.varint()?;
                        ResourceValue::String(string_at(strings, index, &value)?)
                    }
                    _ => return Err(cursor.error(format_args!("there is no resource kind {kind}"))),
                };
                value.finish()?;
                read
            };
            self.all.push(Resource { dialect: owner.clone(), external, key, value });
        }
        Ok(())
    }
}
