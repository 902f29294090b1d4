//! Builtin attributes to text.

use std::fmt::Write;

use super::dialects;
use super::types::write_type;
use crate::mlir::{
    Attribute, ByteString, DenseArray, DenseElements, DenseStrings, Float, NamedAttribute,
    Signedness, Type,
};
use crate::text::float;

/// Dense constants of more elements than this are written in hexadecimal, as MLIR does.
const HEXADECIMAL_ABOVE: u64 = 100;

pub(super) fn write_attribute(out: &mut String, attribute: &Attribute) {
    match attribute {
        Attribute::Unit => out.push_str("unit"),
        Attribute::Bool(value) => _ = write!(out, "{value}"),
        Attribute::Integer { ty, value } => {
            write_integer(out, ty, *value);
            out.push_str(" : ");
            write_type(out, ty);
        }
        Attribute::Float { ty, bits } => {
            out.push_str(&float::spell(*ty, *bits));
            out.push_str(" : ");
            out.push_str(ty.name());
        }
        Attribute::String(text) => write_string(out, text),
        Attribute::TypedString(parts) => {
            write_string(out, &parts.0);
            out.push_str(" : ");
            write_type(out, &parts.1);
        }
        Attribute::SymbolRef(symbol) => {
            write_symbol(out, &symbol.root);
            for nested in &symbol.nested {
                out.push_str("::");
                write_symbol(out, nested);
            }
        }
        Attribute::Type(ty) => write_type(out, ty),
        Attribute::Array(items) => {
            out.push('[');
            write_commas(out, &items[..], write_attribute);
            out.push(']');
        }
        Attribute::Dictionary(entries) => write_dictionary(out, entries),
        Attribute::DenseElements(elements) => write_dense(out, elements),
        Attribute::DenseStrings(strings) => write_dense_strings(out, strings),
        Attribute::DenseArray(array) => write_dense_array(out, array),
        Attribute::DenseResource(resource) => {
            out.push_str("dense_resource<");
            write_key(out, &resource.key);
            out.push_str("> : ");
            write_type(out, &resource.ty);
        }
        Attribute::Location(location) => {
            out.push_str("loc(");
            super::locations::write_location(out, location);
            out.push(')');
        }
        other => dialects::write_dialect_attribute(out, other),
    }
}

/// Items with commas between.
pub(super) fn write_commas<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

pub(super) fn write_integers(out: &mut String, values: &[i64]) {
    write_commas(out, values, |out, value| _ = write!(out, "{value}"));
}

/// An integer without its type.
fn write_integer(out: &mut String, ty: &Type, value: i64) {
    match ty {
        Type::Integer { signedness: Signedness::Unsigned, .. } => {
            _ = write!(out, "{}", value as u64)
        }
        _ => _ = write!(out, "{value}"),
    }
}

/// A string in quotes with escapes.
pub(super) fn write_string(out: &mut String, text: &ByteString) {
    out.push('"');
    for &byte in text.as_bytes() {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'"' => out.push_str("\\22"),
            0x20..=0x7e => out.push(char::from(byte)),
            _ => _ = write!(out, "\\{byte:02X}"),
        }
    }
    out.push('"');
}

/// Whether the name may stand without quotes.
fn is_bare(name: &[u8]) -> bool {
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'))
}

/// `@name`, in quotes if need be.
pub(super) fn write_symbol(out: &mut String, name: &ByteString) {
    out.push('@');
    write_key(out, name);
}

/// A name, in quotes if need be.
pub(super) fn write_key(out: &mut String, name: &ByteString) {
    match name.as_str() {
        Some(text) if is_bare(text.as_bytes()) => out.push_str(text),
        _ => write_string(out, name),
    }
}

pub(super) fn write_dictionary(out: &mut String, entries: &[NamedAttribute]) {
    out.push('{');
    write_commas(out, entries, |out, entry| write_named(out, &entry.name, &entry.value));
    out.push('}');
}

/// `name = value`, or `name` alone for a unit.
pub(super) fn write_named(out: &mut String, name: &ByteString, value: &Attribute) {
    write_key(out, name);
    if *value != Attribute::Unit {
        out.push_str(" = ");
        write_attribute(out, value);
    }
}

fn write_dense_strings(out: &mut String, strings: &DenseStrings) {
    out.push_str("dense<");
    let shape = strings.ty.shaped().map_or(&[][..], |(shape, _)| shape);
    match &strings.values[..] {
        [value] if strings.splat => write_string(out, value),
        values => write_list(out, shape, values.len(), &mut |out, index| {
            write_string(out, &values[index]);
        }),
    }
    out.push_str("> : ");
    write_type(out, &strings.ty);
}

pub(super) fn write_dense(out: &mut String, elements: &DenseElements) {
    out.push_str("dense<");
    write_elements(out, elements);
    out.push_str("> : ");
    write_type(out, elements.ty());
}

/// What stands between the angle brackets.
fn write_elements(out: &mut String, elements: &DenseElements) {
    let Some((shape, element)) = elements.ty().shaped() else { return };
    let Some(size) = element.dense_element_bytes() else { return };
    let bytes = elements.bytes();
    if elements.is_empty() {
        return;
    }
    let whole_words = size <= 8 || matches!(element, Type::Complex(_));
    if !whole_words || !elements.is_splat() && elements.len() > HEXADECIMAL_ABOVE {
        out.push_str("\"0x");
        write_hexadecimal(out, bytes);
        return out.push('"');
    }
    if elements.is_splat() {
        return write_element(out, element, bytes);
    }
    write_list(out, shape, bytes.len() / size, &mut |out, index| {
        write_element(out, element, &bytes[index * size..(index + 1) * size]);
    });
}

pub(super) fn write_hexadecimal(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Nested brackets for the extents `shape` round `count` items.
fn write_list(
    out: &mut String,
    shape: &[i64],
    count: usize,
    item: &mut dyn FnMut(&mut String, usize),
) {
    // Every dimension opens and closes where its index wraps, so that no recursion is needed.
    let mut extents: Vec<usize> = Vec::with_capacity(shape.len());
    let mut product = 1usize;
    for &size in shape.iter().rev() {
        product = product.saturating_mul(usize::try_from(size).unwrap_or(1).max(1));
        extents.push(product);
    }
    if shape.is_empty() && count > 0 {
        return item(out, 0);
    }
    for index in 0..count {
        if index > 0 {
            out.push_str(", ");
        }
        for extent in extents.iter().rev() {
            if index % extent == 0 {
                out.push('[');
            }
        }
        item(out, index);
        for extent in &extents {
            if (index + 1) % extent == 0 {
                out.push(']');
            }
        }
    }
}

fn write_element(out: &mut String, ty: &Type, bytes: &[u8]) {
    let word = || {
        let mut word = [0; 8];
        let length = bytes.len().min(8);
        word[..length].copy_from_slice(&bytes[..length]);
        u64::from_le_bytes(word)
    };
    match ty {
        Type::Complex(part) => {
            let (re, im) = bytes.split_at(bytes.len() / 2);
            out.push('(');
            write_element(out, part, re);
            out.push(',');
            write_element(out, part, im);
            out.push(')');
        }
        &Type::I1 => _ = write!(out, "{}", word() != 0),
        Type::Float(float) => out.push_str(&float::spell(*float, word())),
        Type::Integer { width, signedness } => {
            let shift = 64 - (*width).clamp(1, 64);
            match signedness {
                Signedness::Unsigned => _ = write!(out, "{}", word() << shift >> shift),
                Signedness::Signless | Signedness::Signed => {
                    _ = write!(out, "{}", (word() << shift) as i64 >> shift);
                }
            }
        }
        _ => _ = write!(out, "{}", word() as i64),
    }
}

fn write_dense_array(out: &mut String, array: &DenseArray) {
    fn items<T: Copy>(out: &mut String, ty: &str, values: &[T], item: impl Fn(&mut String, T)) {
        out.push_str("array<");
        out.push_str(ty);
        if !values.is_empty() {
            out.push_str(": ");
        }
        write_commas(out, values, |out, &value| item(out, value));
        out.push('>');
    }
    match array {
        DenseArray::I1(values) => items(out, "i1", values, |out, v| _ = write!(out, "{v}")),
        DenseArray::I8(values) => items(out, "i8", values, |out, v| _ = write!(out, "{v}")),
        DenseArray::I16(values) => items(out, "i16", values, |out, v| _ = write!(out, "{v}")),
        DenseArray::I32(values) => items(out, "i32", values, |out, v| _ = write!(out, "{v}")),
        DenseArray::I64(values) => items(out, "i64", values, |out, v| _ = write!(out, "{v}")),
        DenseArray::F32(values) => items(out, "f32", values, |out, v| {
            out.push_str(&float::spell(Float::F32, v.into()));
        }),
        DenseArray::F64(values) => {
            items(out, "f64", values, |out, v| out.push_str(&float::spell(Float::F64, v)));
        }
    }
}
