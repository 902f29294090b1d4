//! The attributes of a typed FFI call. They stand in the call's backend config as an MLIR
//! dictionary, `{eps = 1.0e-3 : f32, mode = "left", sizes = array<i64: 1, 2>}`; a handler gets them
//! by name and type.

use std::ffi::c_void;
use std::ptr;

use rxla::hlo::ElementType;
use rxla::hlo::literal::Bytes;
use rxla::{Error, Result};
use rxla_stablehlo::ffi::{Number, Scalar, Value, attributes};

use crate::ffi;

/// The value of an attribute, as bytes of the element type handlers see.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Attribute {
    Scalar(ElementType, Vec<u8>),
    /// Elements one after the other.
    Array(ElementType, Vec<u8>),
    String(Vec<u8>),
    /// Sorted by name, as handlers search it.
    Dictionary(Vec<(String, Attribute)>),
}

/// Reads a dictionary; no text is the empty one.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, Attribute)>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let entries = attributes(text).map_err(|reason| {
        Error::invalid_argument(format!("the attributes of a custom call are broken: {reason}"))
    })?;
    Ok(dictionary(entries))
}

fn dictionary(entries: Vec<(String, Value)>) -> Vec<(String, Attribute)> {
    let mut attributes: Vec<_> =
        entries.into_iter().map(|(name, value)| (name, attribute(value))).collect();
    attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
    attributes
}

fn attribute(value: Value) -> Attribute {
    let mut bytes = Vec::new();
    match value {
        Value::Bool(value) => Attribute::Scalar(ElementType::Pred, vec![u8::from(value)]),
        Value::Integer { scalar, value } => {
            push(scalar, Number::Integer(value), &mut bytes);
            Attribute::Scalar(element_type(scalar), bytes)
        }
        Value::Float { scalar, value } => {
            push(scalar, Number::Float(value), &mut bytes);
            Attribute::Scalar(element_type(scalar), bytes)
        }
        Value::String(text) => Attribute::String(text),
        Value::Array { scalar, values } => {
            for number in values {
                push(scalar, number, &mut bytes);
            }
            Attribute::Array(element_type(scalar), bytes)
        }
        Value::Dictionary(entries) => Attribute::Dictionary(dictionary(entries)),
    }
}

fn element_type(scalar: Scalar) -> ElementType {
    match scalar {
        Scalar::Bool => ElementType::Pred,
        Scalar::I8 => ElementType::S8,
        Scalar::I16 => ElementType::S16,
        Scalar::I32 => ElementType::S32,
        Scalar::I64 => ElementType::S64,
        Scalar::U8 => ElementType::U8,
        Scalar::U16 => ElementType::U16,
        Scalar::U32 => ElementType::U32,
        Scalar::U64 => ElementType::U64,
        Scalar::F32 => ElementType::F32,
        Scalar::F64 => ElementType::F64,
    }
}

/// Appends a number's bytes, the low ones of an integer.
fn push(scalar: Scalar, number: Number, bytes: &mut Vec<u8>) {
    let width = element_type(scalar).byte_width();
    match (scalar, number) {
        (Scalar::F32, Number::Float(value)) => bytes.extend((value as f32).to_le_bytes()),
        (Scalar::F32, Number::Integer(value)) => bytes.extend((value as f32).to_le_bytes()),
        (Scalar::F64, Number::Float(value)) => bytes.extend(value.to_le_bytes()),
        (Scalar::F64, Number::Integer(value)) => bytes.extend((value as f64).to_le_bytes()),
        (_, Number::Integer(value)) => bytes.extend(&value.to_le_bytes()[..width]),
        (_, Number::Float(value)) => bytes.extend(&(value as i64).to_le_bytes()[..width]),
    }
}

/// A call's attributes in the structs of XLA's FFI, made once for all its executions.
pub(crate) struct Spelled {
    attributes: ffi::XLA_FFI_Attrs,
    /// What they point to.
    _arena: Arena,
}

// SAFETY: nobody changes what is pointed to, which lives as long as the struct.
unsafe impl Send for Spelled {}
// SAFETY: as above.
unsafe impl Sync for Spelled {}

impl Spelled {
    pub(crate) fn new(attributes: &[(String, Attribute)]) -> Result<Spelled> {
        let mut arena = Arena::default();
        let attributes = arena.attributes(attributes)?;
        Ok(Spelled { attributes, _arena: arena })
    }

    /// The structs, good as long as this.
    pub(crate) fn get(&self) -> ffi::XLA_FFI_Attrs {
        self.attributes
    }
}

/// Owner of the small structs that attributes are spelled with. Each is boxed on its own, so that
/// its address stays.
#[derive(Default)]
#[allow(clippy::vec_box)]
struct Arena {
    spans: Vec<Box<ffi::XLA_FFI_ByteSpan>>,
    scalars: Vec<Box<ffi::XLA_FFI_Scalar>>,
    arrays: Vec<Box<ffi::XLA_FFI_Array>>,
    dictionaries: Vec<Box<ffi::XLA_FFI_Attrs>>,
    types: Vec<Vec<ffi::XLA_FFI_AttrType>>,
    names: Vec<Vec<*mut ffi::XLA_FFI_ByteSpan>>,
    values: Vec<Vec<*mut c_void>>,
    bytes: Vec<Bytes>,
}

/// Boxes a value and keeps it; the address is good as long as the list.
#[allow(clippy::vec_box)]
fn keep<T>(list: &mut Vec<Box<T>>, value: T) -> *mut T {
    let mut boxed = Box::new(value);
    let pointer = ptr::from_mut(&mut *boxed);
    list.push(boxed);
    pointer
}

impl Arena {
    fn span(&mut self, text: &[u8]) -> Result<*mut ffi::XLA_FFI_ByteSpan> {
        let span = ffi::XLA_FFI_ByteSpan { ptr: self.data(text)?.cast(), len: text.len() };
        Ok(keep(&mut self.spans, span))
    }

    /// The bytes at an address aligned for any element. The texts they came from are not.
    fn data(&mut self, bytes: &[u8]) -> Result<*mut c_void> {
        let copy = Bytes::copy_of(bytes)?;
        let pointer = copy.as_slice().as_ptr().cast_mut().cast();
        self.bytes.push(copy);
        Ok(pointer)
    }

    fn attributes(&mut self, attributes: &[(String, Attribute)]) -> Result<ffi::XLA_FFI_Attrs> {
        let mut types = Vec::new();
        let mut names = Vec::new();
        let mut values: Vec<*mut c_void> = Vec::new();
        for (name, attribute) in attributes {
            names.push(self.span(name.as_bytes())?);
            match attribute {
                Attribute::Scalar(element_type, bytes) => {
                    types.push(ffi::XLA_FFI_AttrType_SCALAR);
                    let value = self.data(bytes)?;
                    let dtype = element_type.proto_number() as ffi::XLA_FFI_DataType;
                    let scalar = ffi::XLA_FFI_Scalar { dtype, value };
                    values.push(keep(&mut self.scalars, scalar).cast());
                }
                Attribute::Array(element_type, bytes) => {
                    types.push(ffi::XLA_FFI_AttrType_ARRAY);
                    let array = ffi::XLA_FFI_Array {
                        dtype: element_type.proto_number() as ffi::XLA_FFI_DataType,
                        size: bytes.len() / element_type.byte_width(),
                        data: self.data(bytes)?,
                    };
                    values.push(keep(&mut self.arrays, array).cast());
                }
                Attribute::String(text) => {
                    types.push(ffi::XLA_FFI_AttrType_STRING);
                    values.push(self.span(text)?.cast());
                }
                Attribute::Dictionary(inner) => {
                    types.push(ffi::XLA_FFI_AttrType_DICTIONARY);
                    let inner = self.attributes(inner)?;
                    values.push(keep(&mut self.dictionaries, inner).cast());
                }
            }
        }
        let attrs = ffi::XLA_FFI_Attrs {
            struct_size: ffi::XLA_FFI_Attrs_STRUCT_SIZE as usize,
            extension_start: ptr::null_mut(),
            size: names.len() as i64,
            types: types.as_mut_ptr(),
            names: names.as_mut_ptr(),
            attrs: values.as_mut_ptr(),
        };
        // Moving a vector leaves its elements where they are.
        self.types.push(types);
        self.names.push(names);
        self.values.push(values);
        Ok(attrs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_bytes_of_their_type() {
        let text = r#"{uplo = 76 : ui8, b = true, s = "x", d = {y = 1.5 : f32, x = -1 : i64},
            a = array<i32: 1, -2>}"#;
        let inner = vec![
            ("x".to_owned(), Attribute::Scalar(ElementType::S64, vec![0xff; 8])),
            ("y".to_owned(), Attribute::Scalar(ElementType::F32, 1.5f32.to_le_bytes().to_vec())),
        ];
        let numbers = [1i32.to_le_bytes(), (-2i32).to_le_bytes()].concat();
        let expected = vec![
            ("a".to_owned(), Attribute::Array(ElementType::S32, numbers)),
            ("b".to_owned(), Attribute::Scalar(ElementType::Pred, vec![1])),
            ("d".to_owned(), Attribute::Dictionary(inner)),
            ("s".to_owned(), Attribute::String(b"x".to_vec())),
            ("uplo".to_owned(), Attribute::Scalar(ElementType::U8, vec![76])),
        ];
        assert_eq!(parse(text).unwrap(), expected);
        assert_eq!(parse("").unwrap(), vec![]);
        assert!(parse("{a = ").is_err());
    }
}
