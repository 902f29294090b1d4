//! Types to text.

use std::fmt::Write;

use super::attributes::{write_attribute, write_commas};
use super::dialects::write_opaque;
use crate::mlir::{DYNAMIC, QuantizedType, Signedness, SubChannelType, Type, UniformType};
use crate::text::float;

/// The type as text.
pub(in crate::text) fn type_text(ty: &Type) -> String {
    let mut out = String::new();
    write_type(&mut out, ty);
    out
}

pub(super) fn write_type(out: &mut String, ty: &Type) {
    match ty {
        Type::Integer { width, signedness } => {
            out.push_str(match signedness {
                Signedness::Signless => "i",
                Signedness::Signed => "si",
                Signedness::Unsigned => "ui",
            });
            _ = write!(out, "{width}");
        }
        Type::Index => out.push_str("index"),
        Type::Float(float) => out.push_str(float.name()),
        Type::Complex(element) => {
            out.push_str("complex<");
            write_type(out, element);
            out.push('>');
        }
        Type::Tensor(tensor) => {
            out.push_str("tensor<");
            write_dimensions(out, &tensor.shape);
            write_type(out, &tensor.element);
            if let Some(encoding) = &tensor.encoding {
                out.push_str(", ");
                write_attribute(out, encoding);
            }
            out.push('>');
        }
        Type::UnrankedTensor(element) => {
            out.push_str("tensor<*x");
            write_type(out, element);
            out.push('>');
        }
        Type::Vector(vector) => {
            out.push_str("vector<");
            for (index, &size) in vector.shape.iter().enumerate() {
                match vector.scalable.get(index) {
                    Some(true) => _ = write!(out, "[{size}]x"),
                    _ => write_dimensions(out, &[size]),
                }
            }
            write_type(out, &vector.element);
            out.push('>');
        }
        Type::MemRef(memref) => {
            out.push_str("memref<");
            write_dimensions(out, &memref.shape);
            write_type(out, &memref.element);
            for part in [&memref.layout, &memref.memory_space].into_iter().flatten() {
                out.push_str(", ");
                write_attribute(out, part);
            }
            out.push('>');
        }
        Type::UnrankedMemRef(parts) => {
            out.push_str("memref<*x");
            write_type(out, &parts.0);
            if let Some(space) = &parts.1 {
                out.push_str(", ");
                write_attribute(out, space);
            }
            out.push('>');
        }
        Type::Tuple(members) => {
            out.push_str("tuple<");
            write_commas(out, &members[..], write_type);
            out.push('>');
        }
        Type::Function(function) => {
            out.push('(');
            write_commas(out, &function.inputs, write_type);
            out.push_str(") -> ");
            write_results(out, &function.results.iter().collect::<Vec<_>>());
        }
        Type::None => out.push_str("none"),
        Type::Token => out.push_str("!stablehlo.token"),
        Type::Future(types) => {
            out.push_str("!stablehlo.future<");
            write_commas(out, &types[..], write_type);
            out.push('>');
        }
        Type::Quantized(quantized) => write_quantized(out, quantized),
        Type::Opaque(opaque) => write_opaque(out, '!', opaque),
    }
}

/// `type`, or `(types)` for any other number and for a function type.
pub(super) fn write_results(out: &mut String, results: &[&Type]) {
    match results {
        [ty] if ty.as_function().is_none() => write_type(out, ty),
        _ => {
            out.push('(');
            for (index, ty) in results.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_type(out, ty);
            }
            out.push(')');
        }
    }
}

/// `2x?x`.
fn write_dimensions(out: &mut String, shape: &[i64]) {
    for &size in shape {
        match size {
            DYNAMIC => out.push_str("?x"),
            _ => _ = write!(out, "{size}x"),
        }
    }
}

fn write_quantized(out: &mut String, quantized: &QuantizedType) {
    match quantized {
        QuantizedType::Any { signed, storage, expressed, storage_min, storage_max } => {
            out.push_str("!quant.any<");
            write_storage(out, *signed, storage, *storage_min, *storage_max);
            if let Some(expressed) = expressed {
                out.push(':');
                write_type(out, expressed);
            }
        }
        QuantizedType::Uniform(uniform) => write_uniform(out, uniform),
        QuantizedType::SubChannel(sub_channel) => write_sub_channel(out, sub_channel),
        QuantizedType::Calibrated { expressed, min, max } => {
            out.push_str("!quant.calibrated<");
            write_type(out, expressed);
            out.push('<');
            write_double(out, *min);
            out.push(':');
            write_double(out, *max);
            out.push('>');
        }
    }
    out.push('>');
}

fn write_uniform(out: &mut String, uniform: &UniformType) {
    out.push_str("!quant.uniform<");
    let UniformType { signed, storage, storage_min, storage_max, .. } = uniform;
    write_storage(out, *signed, storage, *storage_min, *storage_max);
    out.push(':');
    write_type(out, &uniform.expressed);
    if let Some(axis) = uniform.axis {
        _ = write!(out, ":{axis}, {{");
    } else {
        out.push_str(", ");
    }
    for (index, (scale, zero)) in uniform.scales.iter().zip(&uniform.zero_points).enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_parameters(out, *scale, *zero);
    }
    if uniform.axis.is_some() {
        out.push('}');
    }
}

fn write_parameters(out: &mut String, scale: u64, zero: i64) {
    write_double(out, scale);
    if zero != 0 {
        _ = write!(out, ":{zero}");
    }
}

fn write_sub_channel(out: &mut String, sub_channel: &SubChannelType) {
    out.push_str("!quant.uniform<");
    let SubChannelType { signed, storage, storage_min, storage_max, .. } = sub_channel;
    write_storage(out, *signed, storage, *storage_min, *storage_max);
    out.push(':');
    write_type(out, &sub_channel.expressed);
    out.push_str(":{");
    let blocks = sub_channel.dimensions.iter().zip(&sub_channel.block_sizes);
    for (index, (dimension, size)) in blocks.enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        _ = write!(out, "{dimension}:{size}");
    }
    out.push_str("}, ");
    let (Some(scales), Some(zeros)) =
        (sub_channel.scales.as_dense_elements(), sub_channel.zero_points.as_dense_elements())
    else {
        return;
    };
    let shape = scales.ty().shaped().map_or(&[][..], |(shape, _)| shape);
    let float = match scales.ty().element() {
        Some(&Type::Float(float)) => float,
        _ => return,
    };
    let count = scales.len() as usize;
    let zeros = zeros.to_i64s(count.max(1)).unwrap_or_default();
    let size = float.bits().div_ceil(8) as usize;
    let scale = |index: usize| {
        let at = if scales.is_splat() { 0 } else { index * size };
        let mut word = [0; 8];
        let bytes = scales.bytes().get(at..at + size).unwrap_or(&[]);
        word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        float::decode(float, u64::from_le_bytes(word)).unwrap_or(0.0).to_bits()
    };
    write_nested(out, shape, 0..count, &mut |out, index| {
        write_parameters(out, scale(index), zeros.get(index).copied().unwrap_or(0));
    });
}

/// Nested braces round the parameters of blocks.
fn write_nested(
    out: &mut String,
    shape: &[i64],
    range: std::ops::Range<usize>,
    item: &mut dyn FnMut(&mut String, usize),
) {
    let Some((&size, inner)) = shape.split_first() else {
        return item(out, range.start);
    };
    let parts = usize::try_from(size).unwrap_or(0);
    let step = range.len().checked_div(parts).unwrap_or(0);
    out.push('{');
    for part in 0..parts {
        if part > 0 {
            out.push_str(", ");
        }
        let start = range.start + part * step;
        write_nested(out, inner, start..start + step, item);
    }
    out.push('}');
}

/// `i8`, or `i8<-127:127>` where the range is not the full one.
fn write_storage(out: &mut String, signed: bool, storage: &Type, min: i64, max: i64) {
    let width = match storage {
        Type::Integer { width, .. } => (*width).min(62),
        _ => 0,
    };
    _ = write!(out, "{}{width}", if signed { 'i' } else { 'u' });
    let full = 1i64 << width;
    let usual = if signed { (-(full / 2), full / 2 - 1) } else { (0, full - 1) };
    if (min, max) != usual {
        _ = write!(out, "<{min}:{max}>");
    }
}

pub(super) fn write_double(out: &mut String, bits: u64) {
    out.push_str(&float::spell(crate::mlir::Float::F64, bits));
}
