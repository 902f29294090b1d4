//! How the properties of an operation are laid out: its declared attributes in order of name, each an
//! index, with a flag if it may be absent.

use rxla_base::{Error, Result};

use super::cursor::Span;
use super::entries::Entries;
use crate::mlir::{
    AttributeKind, ByteString, InherentAttribute, OperationAttribute, inherent_attributes,
};
use crate::vhlo::{Version, versioned_op};

/// What is known of an operation's properties.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    Known(Vec<InherentAttribute>),
    Unknown,
}

impl Layout {
    pub(super) fn of(operation: &str) -> Layout {
        if let Some(name) = operation.strip_prefix("vhlo.") {
            return match versioned_op(name) {
                Some(row) => Layout::Known(
                    row.attributes
                        .iter()
                        .map(|name| InherentAttribute { name, optional: false })
                        .collect(),
                ),
                None => Layout::Unknown,
            };
        }
        match inherent_attributes(operation) {
            Some(attributes) => Layout::Known(attributes.collect()),
            None => Layout::Unknown,
        }
    }

    /// Whether an attribute found in an operation's dictionary is its own.
    pub(super) fn kind(&self, attribute: &ByteString) -> AttributeKind {
        match self {
            Layout::Known(layout) if layout.iter().any(|own| *attribute == own.name) => {
                AttributeKind::Inherent
            }
            Layout::Known(_) | Layout::Unknown => AttributeKind::Discardable,
        }
    }
}

/// Attributes that operations got lately. Programs without versions do not say what their writer knew,
/// so properties that make no sense with one of these are read again without.
const LATE: [(&str, &str); 3] = [
    ("chlo.top_k", "is_stable"),
    ("stablehlo.collective_broadcast", "has_dynamic_root"),
    ("stablehlo.custom_call", "result_tilings"),
];

/// Whether readers of today may not know the attribute, so that it is left out where it says nothing.
pub(super) fn is_late(operation: &str, attribute: &str) -> bool {
    LATE.contains(&(operation, attribute))
}

/// Reads the properties of an operation that its writer knew.
pub(super) fn read(
    data: Span<'_>,
    operation: &str,
    layout: &Layout,
    entries: &mut Entries<'_>,
    attributes: &mut Vec<OperationAttribute>,
) -> Result<()> {
    let Layout::Known(layout) = layout else {
        if operation.starts_with("vhlo.") {
            return Err(Error::invalid_argument(format!(
                "there is no operation `{operation}` in VHLO {} or before",
                Version::CURRENT
            )));
        }
        let what = format!("the properties of `{operation}` in bytecode");
        return Err(Error::unimplemented(what));
    };
    let before = attributes.len();
    let outcome = read_layout(data, layout.iter(), entries, attributes);
    let Err(error) = outcome else { return Ok(()) };
    let late = LATE.iter().find(|(name, _)| *name == operation);
    let Some((_, late)) = late else { return Err(error) };
    attributes.truncate(before);
    let older = layout.iter().filter(|attribute| attribute.name != *late);
    read_layout(data, older, entries, attributes).map_err(|_| error)
}

fn read_layout<'l>(
    data: Span<'_>,
    layout: impl Iterator<Item = &'l InherentAttribute>,
    entries: &mut Entries<'_>,
    attributes: &mut Vec<OperationAttribute>,
) -> Result<()> {
    let mut cursor = data.cursor("properties of an operation");
    for attribute in layout {
        // Nothing is left of attributes that an older writer did not know.
        if attribute.optional && cursor.is_empty() {
            break;
        }
        let value = if attribute.optional {
            match cursor.flagged()? {
                (_, false) => continue,
                (index, true) => entries.attribute_at(&cursor, index)?,
            }
        } else {
            entries.attribute(&mut cursor)?
        };
        let kind = AttributeKind::Inherent;
        attributes.push(OperationAttribute { name: attribute.name.into(), kind, value });
    }
    cursor.finish()
}

/// Reads the properties of an operation that its writer did not know: a dictionary.
pub(super) fn read_dictionary(
    data: Span<'_>,
    entries: &mut Entries<'_>,
    attributes: &mut Vec<OperationAttribute>,
) -> Result<()> {
    let mut cursor = data.cursor("properties of an operation");
    let dictionary = entries.attribute(&mut cursor)?;
    let Some(named) = dictionary.as_dictionary() else {
        return Err(cursor.error("properties are not a dictionary"));
    };
    attributes.extend(named.iter().map(|entry| OperationAttribute {
        name: entry.name.clone(),
        kind: AttributeKind::Inherent,
        value: entry.value.clone(),
    }));
    cursor.finish()
}
