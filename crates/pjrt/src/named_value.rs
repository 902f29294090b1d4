//! `PJRT_NamedValue` lists, ours and the caller's.

use std::collections::BTreeMap;
use std::ptr;

use rxla::{Error, Result};

use crate::abi;
use crate::ffi;

/// The value of a named value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    String(String),
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Bool(bool),
}

impl Value {
    /// A number, also written as text: what a framework reads from a variable of its user it passes on as text.
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            Value::String(text) => text.trim().parse().ok(),
            Value::Ints(_) | Value::Float(_) | Value::Bool(_) => None,
        }
    }
}

/// A list that the C side may look at while this lives.
pub(crate) struct NamedValues {
    raw: Vec<ffi::PJRT_NamedValue>,
    /// What `raw` points into; never changed.
    _owned: Vec<(String, Value)>,
}

// SAFETY: the pointers lead into `_owned`, which is never written after construction.
unsafe impl Send for NamedValues {}
// SAFETY: as above.
unsafe impl Sync for NamedValues {}

impl NamedValues {
    pub(crate) fn new(owned: Vec<(String, Value)>) -> NamedValues {
        let raw = owned
            .iter()
            .map(|(name, value)| {
                let (type_, payload, value_size) = match value {
                    Value::String(text) => (
                        ffi::PJRT_NamedValue_kString,
                        ffi::PJRT_NamedValue__bindgen_ty_1 { string_value: text.as_ptr().cast() },
                        text.len(),
                    ),
                    Value::Int(int64_value) => (
                        ffi::PJRT_NamedValue_kInt64,
                        ffi::PJRT_NamedValue__bindgen_ty_1 { int64_value: *int64_value },
                        1,
                    ),
                    Value::Ints(list) => (
                        ffi::PJRT_NamedValue_kInt64List,
                        ffi::PJRT_NamedValue__bindgen_ty_1 { int64_array_value: list.as_ptr() },
                        list.len(),
                    ),
                    Value::Float(float_value) => (
                        ffi::PJRT_NamedValue_kFloat,
                        ffi::PJRT_NamedValue__bindgen_ty_1 { float_value: *float_value },
                        1,
                    ),
                    Value::Bool(bool_value) => (
                        ffi::PJRT_NamedValue_kBool,
                        ffi::PJRT_NamedValue__bindgen_ty_1 { bool_value: *bool_value },
                        1,
                    ),
                };
                ffi::PJRT_NamedValue {
                    struct_size: size_of::<ffi::PJRT_NamedValue>(),
                    extension_start: ptr::null_mut(),
                    name: name.as_ptr().cast(),
                    name_size: name.len(),
                    type_,
                    __bindgen_anon_1: payload,
                    value_size,
                }
            })
            .collect();
        NamedValues { raw, _owned: owned }
    }

    pub(crate) fn as_ptr(&self) -> *const ffi::PJRT_NamedValue {
        self.raw.as_ptr()
    }

    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }
}

/// Reads a caller's list.
///
/// # Safety
/// `values` points to `count` named values whose pointers are good.
pub(crate) unsafe fn read(
    values: *const ffi::PJRT_NamedValue,
    count: usize,
    what: &str,
) -> Result<BTreeMap<String, Value>> {
    if count > 1 << 16 {
        return Err(Error::invalid_argument(format!("`{what}` claims to have {count} values")));
    }
    // SAFETY: the caller's promise.
    let values = unsafe { abi::slice(values, count, what) }?;
    let mut read = BTreeMap::new();
    for value in values {
        let payload = &value.__bindgen_anon_1;
        // SAFETY: the caller's promise; the type says which member of the union is set.
        unsafe {
            let name = abi::text(value.name, value.name_size, what)?.to_owned();
            let value = match value.type_ {
                ffi::PJRT_NamedValue_kString => Value::String(
                    abi::text(payload.string_value, value.value_size, &name)?.to_owned(),
                ),
                ffi::PJRT_NamedValue_kInt64 => Value::Int(payload.int64_value),
                ffi::PJRT_NamedValue_kInt64List => Value::Ints(
                    abi::slice(payload.int64_array_value, value.value_size, &name)?.to_vec(),
                ),
                ffi::PJRT_NamedValue_kFloat => Value::Float(payload.float_value),
                ffi::PJRT_NamedValue_kBool => Value::Bool(payload.bool_value),
                other => {
                    return Err(Error::invalid_argument(format!(
                        "the value `{name}` of `{what}` has type {other}, which PJRT does not know"
                    )));
                }
            };
            read.insert(name, value);
        }
    }
    Ok(read)
}
