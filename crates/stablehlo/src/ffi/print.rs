//! MLIR's text of attributes that an FFI call can have.

use std::fmt::Write;

use crate::mlir::{Attribute, DenseArray, DenseElements, Float, Signedness, Type};

/// The attribute as MLIR prints it, or what it holds that no FFI call can take.
pub fn print(attribute: &Attribute) -> Result<String, String> {
    let mut out = String::new();
    write_attribute(attribute, &mut out)?;
    Ok(out)
}

/// Attributes share their parts, so that a small one may unfold to any length.
const MAX_LENGTH: usize = 1 << 26;

fn write_attribute(attribute: &Attribute, out: &mut String) -> Result<(), String> {
    if out.len() > MAX_LENGTH {
        return Err(format!("more than {MAX_LENGTH} bytes of text"));
    }
    match attribute {
        Attribute::Unit => out.push_str("unit"),
        Attribute::Bool(value) => push(out, format_args!("{value}")),
        Attribute::Integer { ty: ty @ Type::Integer { width, signedness }, value } => {
            let spelled = match signedness {
                Signedness::Signless => format!("i{width}"),
                Signedness::Signed => format!("si{width}"),
                Signedness::Unsigned => format!("ui{width}"),
            };
            match is_unsigned(ty) {
                true => push(out, format_args!("{} : {spelled}", *value as u64)),
                false => push(out, format_args!("{value} : {spelled}")),
            }
        }
        Attribute::Integer { ty: Type::Index, value } => {
            push(out, format_args!("{value} : index"));
        }
        Attribute::Float { ty: Float::F32, bits } => {
            float(f32::from_bits(*bits as u32).into(), Float::F32, out);
            out.push_str(" : f32");
        }
        Attribute::Float { ty: Float::F64, bits } => {
            float(f64::from_bits(*bits), Float::F64, out);
            out.push_str(" : f64");
        }
        Attribute::String(text) => string(text.as_bytes(), out),
        Attribute::SymbolRef(symbol) if symbol.nested.is_empty() => {
            out.push('@');
            name(symbol.root.as_bytes(), out);
        }
        Attribute::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, out);
                write_attribute(item, out)?;
            }
            out.push(']');
        }
        Attribute::Dictionary(entries) => {
            out.push('{');
            for (index, entry) in entries.iter().enumerate() {
                separate(index, out);
                name(entry.name.as_bytes(), out);
                if entry.value == Attribute::Unit {
                    continue;
                }
                out.push_str(" = ");
                write_attribute(&entry.value, out)?;
            }
            out.push('}');
        }
        Attribute::DenseArray(array) => dense_array(array, out),
        Attribute::DenseElements(elements) => {
            let Some((dims, spelled, words)) = dense_words(elements) else {
                return Err(format!("a dense constant of type `{:?}`", elements.ty()));
            };
            out.push_str("dense<");
            nested(dims, &words, out);
            out.push_str("> : tensor<");
            for dim in dims {
                push(out, format_args!("{dim}x"));
            }
            push(out, format_args!("{spelled}>"));
        }
        Attribute::Integer { .. }
        | Attribute::Float { .. }
        | Attribute::TypedString(_)
        | Attribute::SymbolRef(_)
        | Attribute::Type(_)
        | Attribute::DenseStrings(_)
        | Attribute::DenseResource(_)
        | Attribute::Location(_)
        | Attribute::Enum(_)
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
        | Attribute::SubAxisInfo(_)
        | Attribute::Sdy(_)
        | Attribute::Opaque(_) => return Err(format!("the attribute `{attribute:?}`")),
    }
    Ok(())
}

fn is_unsigned(ty: &Type) -> bool {
    matches!(ty, Type::Integer { signedness: Signedness::Unsigned, .. })
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    _ = out.write_fmt(text);
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push_str(", ");
    }
}

/// The sizes of a dense constant, the name of its element type, and its elements, each as a word.
fn dense_words(elements: &DenseElements) -> Option<(&[i64], String, Vec<String>)> {
    const LIMIT: usize = 1 << 20;
    let (dims, element) = elements.ty().shaped()?;
    if let Type::Integer { width, signedness } = element {
        let sign = if *signedness == Signedness::Unsigned { "ui" } else { "i" };
        let words = elements.to_i64s(LIMIT)?.iter().map(i64::to_string).collect();
        return Some((dims, format!("{sign}{width}"), words));
    }
    let word = |value: f64, ty: Float| {
        let mut word = String::new();
        float(value, ty, &mut word);
        word
    };
    let bytes = elements.bytes();
    let (spelled, mut words): (&str, Vec<String>) = match element {
        Type::Float(Float::F32) => {
            let (chunks, _) = bytes.as_chunks::<4>();
            (
                "f32",
                chunks.iter().map(|b| word(f32::from_le_bytes(*b).into(), Float::F32)).collect(),
            )
        }
        Type::Float(Float::F64) => {
            let (chunks, _) = bytes.as_chunks::<8>();
            ("f64", chunks.iter().map(|b| word(f64::from_le_bytes(*b), Float::F64)).collect())
        }
        _ => return None,
    };
    let count = usize::try_from(elements.len()).ok().filter(|&count| count <= LIMIT)?;
    if elements.is_splat() {
        words = vec![words.first()?.clone(); count];
    }
    Some((dims, spelled.to_owned(), words))
}

fn nested(dims: &[i64], values: &[String], out: &mut String) {
    match dims {
        [] => push(out, format_args!("{}", values.first().map_or("0", String::as_str))),
        [_, rest @ ..] => {
            let step = rest.iter().product::<i64>().max(1) as usize;
            out.push('[');
            for (index, part) in values.chunks(step).enumerate() {
                separate(index, out);
                nested(rest, part, out);
            }
            out.push(']');
        }
    }
}

fn dense_array(array: &DenseArray, out: &mut String) {
    fn list<T: Copy>(
        element: &str,
        values: &[T],
        out: &mut String,
        mut each: impl FnMut(T, &mut String),
    ) {
        push(out, format_args!("array<{element}"));
        for (index, &value) in values.iter().enumerate() {
            out.push_str(if index == 0 { ": " } else { ", " });
            each(value, out);
        }
        out.push('>');
    }
    match array {
        DenseArray::I1(values) => list("i1", values, out, |v, out| push(out, format_args!("{v}"))),
        DenseArray::I8(values) => list("i8", values, out, |v, out| push(out, format_args!("{v}"))),
        DenseArray::I16(values) => {
            list("i16", values, out, |v, out| push(out, format_args!("{v}")));
        }
        DenseArray::I32(values) => {
            list("i32", values, out, |v, out| push(out, format_args!("{v}")));
        }
        DenseArray::I64(values) => {
            list("i64", values, out, |v, out| push(out, format_args!("{v}")));
        }
        DenseArray::F32(values) => list("f32", values, out, |bits, out| {
            float(f32::from_bits(bits).into(), Float::F32, out);
        }),
        DenseArray::F64(values) => list("f64", values, out, |bits, out| {
            float(f64::from_bits(bits), Float::F64, out);
        }),
    }
}

/// Six digits if they say the value exactly, else as many as needed; what is not finite as bits.
fn float(value: f64, ty: Float, out: &mut String) {
    let is_f32 = ty == Float::F32;
    if !value.is_finite() {
        match is_f32 {
            true => push(out, format_args!("0x{:08X}", (value as f32).to_bits())),
            false => push(out, format_args!("0x{:016X}", value.to_bits())),
        }
        return;
    }
    let says = |text: &str| match is_f32 {
        true => text.parse::<f32>().is_ok_and(|read| read.to_bits() == (value as f32).to_bits()),
        false => text.parse::<f64>().is_ok_and(|read| read.to_bits() == value.to_bits()),
    };
    let digits = [6, 8, 16].into_iter().map(|digits| format!("{value:.digits$e}"));
    let mut texts = digits.filter(|text| says(text));
    let text = texts.next().unwrap_or_else(|| format!("{value:e}"));
    // C's exponents have a sign and two digits at least.
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, magnitude) = match exponent.strip_prefix('-') {
        Some(magnitude) => ('-', magnitude),
        None => ('+', exponent),
    };
    push(out, format_args!("{mantissa}e{sign}{magnitude:0>2}"));
}

fn name(bytes: &[u8], out: &mut String) {
    let plain = bytes.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.'));
    match plain {
        true => out.extend(bytes.iter().map(|&b| char::from(b))),
        false => string(bytes, out),
    }
}

fn string(bytes: &[u8], out: &mut String) {
    out.push('"');
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' if byte != b'"' => out.push(char::from(byte)),
            _ => push(out, format_args!("\\{byte:02X}")),
        }
    }
    out.push('"');
}
