//! Attributes, locations and types of the builtin dialect. Codes and fields are those of
//! `mlir/include/mlir/IR/BuiltinDialectBytecode.td`.

use std::sync::Arc;

use rxla_base::{Error, Result};

use super::entries::Decoder;
use crate::mlir::{
    Attribute, DenseArray, DenseElements, DenseResource, DenseStrings, Float, FunctionType,
    Location, LocationKind, MemRefType, NamedAttribute, Signedness, SymbolRef, TensorType, Type,
    VectorType, dictionary,
};

pub(super) fn attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let code = decoder.cursor.varint()?;
    match code {
        0 => Ok(Attribute::array(decoder.attributes()?)),
        1 => dictionary_attribute(decoder),
        2 => Ok(Attribute::String(decoder.string()?)),
        3 => {
            let text = decoder.string()?;
            Ok(Attribute::TypedString(Arc::new((text, decoder.ty()?))))
        }
        4 => {
            let root = decoder.attribute()?;
            decoder.ready()?;
            Ok(Attribute::symbol(decoder.expect_string(root)?))
        }
        5 => symbol_ref(decoder),
        6 => Ok(Attribute::Type(decoder.ty()?)),
        7 => Ok(Attribute::Unit),
        8 => {
            let ty = decoder.ty()?;
            decoder.ready()?;
            integer(decoder, ty)
        }
        9 => {
            let ty = decoder.ty()?;
            decoder.ready()?;
            float(decoder, &ty)
        }
        10..=15 | 22 => Ok(Attribute::Location(location(decoder, code)?)),
        16 => {
            let ty = decoder.ty()?;
            let key = decoder.resource_key()?;
            Ok(Attribute::DenseResource(Arc::new(DenseResource { ty, key })))
        }
        17 => dense_array(decoder),
        18 => {
            let ty = decoder.ty()?;
            let blob = decoder.blob()?;
            decoder.ready()?;
            dense_elements(decoder, ty, blob.bytes)
        }
        19 => dense_strings(decoder),
        20 => Err(Error::unimplemented("sparse constants (`sparse<…>`)")),
        21 => Err(Error::unimplemented("distinct attributes (`distinct[…]`)")),
        _ => Err(decoder.error(format_args!("there is no builtin attribute {code}"))),
    }
}

fn dictionary_attribute(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let count = decoder.cursor.count()?;
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        parts.push((decoder.attribute()?, decoder.attribute()?));
    }
    decoder.ready()?;
    let entries = parts
        .into_iter()
        .map(|(name, value)| Ok(NamedAttribute { name: decoder.expect_string(name)?, value }))
        .collect::<Result<Vec<_>>>()?;
    Ok(dictionary(entries))
}

fn symbol_ref(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let root = decoder.attribute()?;
    let nested = decoder.attributes()?;
    decoder.ready()?;
    let root = decoder.expect_string(root)?;
    let nested = nested
        .into_iter()
        .map(|name| match name.as_flat_symbol() {
            Some(name) => Ok(name.clone()),
            None => Err(decoder.unexpected("a symbol", &name)),
        })
        .collect::<Result<_>>()?;
    Ok(Attribute::SymbolRef(Arc::new(SymbolRef { root, nested })))
}

/// The number that follows, of this type.
pub(super) fn integer(decoder: &mut Decoder<'_, '_>, ty: Type) -> Result<Attribute> {
    let (width, signedness) = match &ty {
        Type::Integer { width, signedness } => (*width, *signedness),
        Type::Index => (64, Signedness::Signless),
        _ => return Err(decoder.error("an integer attribute's type is not an integer type")),
    };
    let bits = decoder.bits(width)?;
    if width == 1 && signedness == Signedness::Signless {
        return Ok(Attribute::Bool(bits == 1));
    }
    let value = if signedness == Signedness::Unsigned || width == 0 {
        bits as i64
    } else {
        let shift = 64 - width;
        (bits << shift) as i64 >> shift
    };
    Ok(Attribute::Integer { ty, value })
}

pub(super) fn float(decoder: &mut Decoder<'_, '_>, ty: &Type) -> Result<Attribute> {
    let Type::Float(ty) = *ty else {
        return Err(decoder.error("a float attribute's type is not a float type"));
    };
    Ok(Attribute::Float { ty, bits: decoder.bits(ty.bits())? })
}

fn location(decoder: &mut Decoder<'_, '_>, code: u64) -> Result<Location> {
    Ok(match code {
        10 => {
            let callee = decoder.attribute()?;
            let caller = decoder.attribute()?;
            decoder.ready()?;
            let callee = decoder.expect_location(callee)?;
            Location::call_site(callee, decoder.expect_location(caller)?)
        }
        11 => {
            let file = decoder.attribute()?;
            let (line, column) = (line_number(decoder)?, line_number(decoder)?);
            decoder.ready()?;
            Location::file_line_col(decoder.expect_string(file)?, line, column)
        }
        12 | 13 => {
            let locations = decoder.attributes()?;
            let metadata = if code == 13 { Some(decoder.attribute()?) } else { None };
            decoder.ready()?;
            let locations = locations
                .into_iter()
                .map(|location| decoder.expect_location(location))
                .collect::<Result<_>>()?;
            Location::new(LocationKind::Fused { locations, metadata })
        }
        14 => {
            let name = decoder.attribute()?;
            let child = decoder.attribute()?;
            decoder.ready()?;
            let name = decoder.expect_string(name)?;
            Location::name(name, decoder.expect_location(child)?)
        }
        22 => file_range(decoder)?,
        _ => Location::UNKNOWN,
    })
}

fn line_number(decoder: &mut Decoder<'_, '_>) -> Result<u32> {
    let number = decoder.cursor.varint()?;
    u32::try_from(number).map_err(|_| decoder.error("a line or column number has over 32 bits"))
}

/// A file and up to four numbers: line, column, last line, last column, or with three numbers line,
/// column, last column.
fn file_range(decoder: &mut Decoder<'_, '_>) -> Result<Location> {
    let file = decoder.attribute()?;
    let count = decoder.cursor.count()?;
    let numbers = (0..count).map(|_| line_number(decoder)).collect::<Result<Vec<u32>>>()?;
    let (line, column, end_line, end_column) = match numbers[..] {
        [] => (0, 0, 0, 0),
        [line] => (line, 0, line, 0),
        [line, column] => (line, column, line, column),
        [line, column, end_column] => (line, column, line, end_column),
        [line, column, end_line, end_column] => (line, column, end_line, end_column),
        _ => return Err(decoder.error(format_args!("a file range has {count} numbers"))),
    };
    decoder.ready()?;
    let file = decoder.expect_string(file)?;
    if (line, column) == (end_line, end_column) {
        return Ok(Location::file_line_col(file, line, column));
    }
    Ok(Location::new(LocationKind::FileRange { file, line, column, end_line, end_column }))
}

fn dense_array(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let element = decoder.ty()?;
    let count = decoder.cursor.varint()?;
    let bytes = decoder.blob()?.bytes;
    decoder.ready()?;
    let array = match element {
        Type::Integer { width: 1, .. } => {
            DenseArray::I1(bytes.iter().map(|&byte| byte != 0).collect())
        }
        Type::Integer { width: 8, .. } => DenseArray::I8(numbers(bytes, i8::from_le_bytes)),
        Type::Integer { width: 16, .. } => DenseArray::I16(numbers(bytes, i16::from_le_bytes)),
        Type::Integer { width: 32, .. } => DenseArray::I32(numbers(bytes, i32::from_le_bytes)),
        Type::Integer { width: 64, .. } => DenseArray::I64(numbers(bytes, i64::from_le_bytes)),
        Type::Float(Float::F32) => DenseArray::F32(numbers(bytes, u32::from_le_bytes)),
        Type::Float(Float::F64) => DenseArray::F64(numbers(bytes, u64::from_le_bytes)),
        _ => return Err(decoder.error("a dense array has elements of a type that has none")),
    };
    let size = element.dense_element_bytes().unwrap_or(1);
    if array.len() as u64 != count || array.len() * size != bytes.len() {
        return Err(decoder
            .error(format_args!("a dense array of {count} elements has {} bytes", bytes.len())));
    }
    Ok(Attribute::DenseArray(array))
}

fn numbers<T, const N: usize>(bytes: &[u8], decode: fn([u8; N]) -> T) -> Arc<[T]> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| decode(chunk)).collect()
}

/// A dense constant; truth values may be packed, eight in a byte, and a splat of true is `0xff`.
pub(super) fn dense_elements(
    decoder: &Decoder<'_, '_>,
    ty: Type,
    bytes: &[u8],
) -> Result<Attribute> {
    let Some((shape, element)) = ty.shaped() else {
        return Err(decoder.error("a dense constant's type is no tensor of known rank"));
    };
    let is_bool = *element == Type::I1;
    let Some(count) = ty.element_count() else {
        return Err(decoder.error(format_args!("a dense constant has the shape {shape:?}")));
    };
    let elements = if is_bool {
        DenseElements::new(ty, unpack_bools(bytes, count))
    } else {
        DenseElements::new(ty, bytes)
    };
    match elements {
        Some(elements) => Ok(Attribute::DenseElements(Arc::new(elements))),
        None => Err(decoder
            .error(format_args!("a dense constant of {count} elements has {} bytes", bytes.len()))),
    }
}

fn unpack_bools(bytes: &[u8], count: u64) -> Vec<u8> {
    if *bytes == [0xff] {
        return vec![1];
    }
    let length = bytes.len() as u64;
    if length == count.div_ceil(8) && length != count {
        let bit = |index: u64| bytes[(index / 8) as usize] >> (index % 8) & 1;
        return (0..count).map(bit).collect();
    }
    // One byte each; any but zero is true.
    bytes.iter().map(|&byte| u8::from(byte != 0)).collect()
}

fn dense_strings(decoder: &mut Decoder<'_, '_>) -> Result<Attribute> {
    let ty = decoder.ty()?;
    let splat = decoder.cursor.varint()? != 0;
    decoder.ready()?;
    let Some(count) = ty.element_count() else {
        return Err(decoder.error("a dense constant's type has no known number of elements"));
    };
    let count = decoder.cursor.checked_count(if splat { 1 } else { count })?;
    let values = (0..count).map(|_| decoder.string()).collect::<Result<_>>()?;
    Ok(Attribute::DenseStrings(Arc::new(DenseStrings { ty, splat, values })))
}

pub(super) fn ty(decoder: &mut Decoder<'_, '_>) -> Result<Type> {
    let code = decoder.cursor.varint()?;
    Ok(match code {
        0 => {
            let both = decoder.cursor.varint()?;
            let signedness = match both & 3 {
                0 => Signedness::Signless,
                1 => Signedness::Signed,
                2 => Signedness::Unsigned,
                _ => return Err(decoder.error("an integer type has no such signedness")),
            };
            // MLIR's own limit.
            match u32::try_from(both >> 2) {
                Ok(width) if width < 1 << 24 => Type::Integer { width, signedness },
                _ => return Err(decoder.error("an integer type is too wide")),
            }
        }
        1 => Type::Index,
        2 => Type::Function(Arc::new(FunctionType {
            inputs: decoder.types()?,
            results: decoder.types()?,
        })),
        3 => Type::Float(Float::BF16),
        4 => Type::Float(Float::F16),
        5 => Type::Float(Float::F32),
        6 => Type::Float(Float::F64),
        7 => Type::Float(Float::F80),
        8 => Type::Float(Float::F128),
        9 => Type::complex(decoder.ty()?),
        10 => memref(decoder, None)?,
        11 => {
            let space = decoder.attribute()?;
            memref(decoder, Some(space))?
        }
        12 => Type::None,
        13 => tensor(decoder, None)?,
        14 => {
            let encoding = decoder.attribute()?;
            tensor(decoder, Some(encoding))?
        }
        15 => Type::Tuple(decoder.types()?.into()),
        16 => Type::UnrankedMemRef(Arc::new((decoder.ty()?, None))),
        17 => {
            let space = decoder.attribute()?;
            Type::UnrankedMemRef(Arc::new((decoder.ty()?, Some(space))))
        }
        18 => Type::UnrankedTensor(Arc::new(decoder.ty()?)),
        19 => Type::Vector(Arc::new(VectorType {
            shape: decoder.cursor.signed_list()?,
            scalable: Vec::new(),
            element: decoder.ty()?,
        })),
        20 => return Err(Error::unimplemented("vectors with scalable dimensions")),
        21 => Type::Float(Float::TF32),
        22 => Type::Float(Float::F8E5M2),
        23 => Type::Float(Float::F8E4M3),
        24 => Type::Float(Float::F8E4M3FN),
        25 => Type::Float(Float::F8E5M2FNUZ),
        26 => Type::Float(Float::F8E4M3FNUZ),
        27 => Type::Float(Float::F8E4M3B11FNUZ),
        28 => Type::Float(Float::F8E3M4),
        29 => Type::Float(Float::F4E2M1FN),
        30 => Type::Float(Float::F6E2M3FN),
        31 => Type::Float(Float::F6E3M2FN),
        32 => Type::Float(Float::F8E8M0FNU),
        _ => return Err(decoder.error(format_args!("there is no builtin type {code}"))),
    })
}

/// Shape and element type of a tensor.
pub(super) fn tensor(decoder: &mut Decoder<'_, '_>, encoding: Option<Attribute>) -> Result<Type> {
    let shape = decoder.cursor.signed_list()?;
    let element = decoder.ty()?;
    Ok(Type::Tensor(Arc::new(TensorType { shape, element, encoding })))
}

fn memref(decoder: &mut Decoder<'_, '_>, memory_space: Option<Attribute>) -> Result<Type> {
    let shape = decoder.cursor.signed_list()?;
    let element = decoder.ty()?;
    let layout = decoder.attribute()?;
    decoder.ready()?;
    // The layout is always written, for plain buffers as an identity map in text.
    let is_identity = match &layout {
        Attribute::Opaque(opaque) => is_identity_map(&opaque.text.to_string_lossy(), shape.len()),
        _ => false,
    };
    let layout = (!is_identity).then_some(layout);
    Ok(Type::MemRef(Arc::new(MemRefType { shape, element, layout, memory_space })))
}

/// `affine_map<(d0, d1) -> (d0, d1)>`.
fn is_identity_map(text: &str, rank: usize) -> bool {
    let names = (0..rank).map(|index| format!("d{index}")).collect::<Vec<_>>().join(", ");
    text == format!("affine_map<({names}) -> ({names})>")
}
