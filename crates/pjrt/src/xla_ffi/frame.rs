//! Call frames: a custom call's operands, results and attributes in the structs of XLA's FFI.

use std::ffi::c_void;
use std::ptr;

use rxla::hlo::literal::Bytes;
use rxla::hlo::{ArrayLiteral, Literal, Shape};
use rxla::host::CustomCall;
use rxla::{Client, Error, Result, strided};

use super::attributes::Attribute;
use crate::ffi;
use crate::shape;

/// A value of one operand or result as a handler sees it: bytes in the layout that the call names.
pub(crate) struct Operand {
    shape: Shape,
    bytes: Bytes,
    dims: Vec<i64>,
}

/// The parts a call frame points into. Nothing in here moves while a frame is used: what is pointed
/// to is on the heap, in collections that are not changed any more.
pub(crate) struct Frame {
    pub(crate) operands: Vec<Operand>,
    pub(crate) results: Vec<Operand>,
    /// Result numbers and the operand whose memory each starts with.
    aliases: Vec<(usize, usize)>,
}

impl Operand {
    fn of(client: &Client, literal: &Literal, shape: &Shape) -> Result<Operand> {
        match (literal, shape) {
            (Literal::Array(array), Shape::Array(wanted)) => {
                let order = shape::minor_to_major(wanted);
                let width = array.element_type().byte_width();
                let strides = strided::dense_strides(array.dims(), order, width)
                    .ok_or_else(|| bad_layout(shape))?;
                let bytes = if strided::is_row_major(array.dims(), &strides, width) {
                    array.shared_bytes()
                } else {
                    let mut bytes = client.zeroed(array.bytes().len())?;
                    strided::write_strided(
                        array.bytes(),
                        bytes.make_mut(),
                        array.dims(),
                        &strides,
                        width,
                    )?;
                    bytes
                };
                let shape = Shape::Array(wanted.clone());
                Ok(Operand { shape, bytes, dims: array.dims().to_vec() })
            }
            (Literal::Token, _) => {
                Ok(Operand { shape: Shape::Token, bytes: Bytes::zeroed(0)?, dims: Vec::new() })
            }
            (literal, shape) => Err(Error::unimplemented(format!(
                "a custom call with an operand `{}` in the form `{shape}`",
                literal.shape()
            ))),
        }
    }

    fn zeroed(client: &Client, shape: &Shape) -> Result<Operand> {
        match shape {
            Shape::Array(array) => {
                let size = array.byte_size().ok_or_else(|| {
                    Error::resource_exhausted(format!("`{array}` has no size memory could hold"))
                })?;
                let bytes = client.zeroed(size)?;
                Ok(Operand { shape: shape.clone(), bytes, dims: array.dims.to_vec() })
            }
            Shape::Token => {
                Ok(Operand { shape: Shape::Token, bytes: Bytes::zeroed(0)?, dims: Vec::new() })
            }
            other => Err(Error::unimplemented(format!(
                "a custom call with a result `{other}` in a tuple"
            ))),
        }
    }

    /// The value row-major again.
    fn into_literal(self) -> Result<Literal> {
        let Shape::Array(array) = &self.shape else { return Ok(Literal::Token) };
        let width = array.element_type.byte_width();
        let strides = strided::dense_strides(&array.dims, shape::minor_to_major(array), width)
            .ok_or_else(|| bad_layout(&self.shape))?;
        let bytes = if strided::is_row_major(&array.dims, &strides, width) {
            self.bytes
        } else {
            strided::read_strided(self.bytes.as_slice(), &array.dims, &strides, width)?
        };
        Ok(Literal::Array(ArrayLiteral::from_bytes(&array.without_layout(), bytes)?))
    }

    fn data_type(&self) -> ffi::XLA_FFI_DataType {
        match &self.shape {
            Shape::Array(array) => array.element_type.proto_number() as ffi::XLA_FFI_DataType,
            _ => ffi::XLA_FFI_DataType_TOKEN,
        }
    }
}

fn bad_layout(shape: &Shape) -> Error {
    Error::invalid_argument(format!("the layout of `{shape}` at a custom call fits no memory"))
}

impl Frame {
    pub(crate) fn new(client: &Client, call: &CustomCall<'_>) -> Result<Frame> {
        if call.operands.len() != call.operand_shapes.len() {
            return Err(Error::internal("a custom call has other operands than operand shapes"));
        }
        let operands = call
            .operands
            .iter()
            .zip(call.operand_shapes)
            .map(|(literal, shape)| Operand::of(client, literal, shape))
            .collect::<Result<Vec<_>>>()?;
        let result_shapes = match call.result_shape {
            Shape::Tuple(elements) => &elements[..],
            single => std::slice::from_ref(single),
        };
        let mut results = result_shapes
            .iter()
            .map(|shape| Operand::zeroed(client, shape))
            .collect::<Result<Vec<_>>>()?;
        let mut aliases = Vec::new();
        for &(result, operand) in call.aliases {
            let (Some(target), Some(source)) = (results.get_mut(result), operands.get(operand))
            else {
                return Err(Error::invalid_argument(format!(
                    "`{}` aliases result {result} with operand {operand}, which it has not",
                    call.target
                )));
            };
            if target.bytes.len() != source.bytes.len() {
                return Err(Error::invalid_argument(format!(
                    "`{}` aliases result `{}` with operand `{}`",
                    call.target, target.shape, source.shape
                )));
            }
            // A copy of our own, which operand and result then share in the frame.
            target.bytes = client.copy_of(source.bytes.as_slice())?;
            aliases.push((result, operand));
        }
        Ok(Frame { operands, results, aliases })
    }

    /// The results, as a tuple if there is not exactly one.
    pub(crate) fn into_literal(self, result_shape: &Shape) -> Result<Literal> {
        let mut literals =
            self.results.into_iter().map(Operand::into_literal).collect::<Result<Vec<_>>>()?;
        match result_shape {
            Shape::Tuple(_) => Ok(Literal::Tuple(literals)),
            _ => literals.pop().ok_or_else(|| Error::internal("a custom call without result")),
        }
    }

    /// The operands' memory, to be kept beyond the call.
    pub(crate) fn operand_bytes(&self) -> Vec<Bytes> {
        self.operands.iter().map(|operand| operand.bytes.clone()).collect()
    }

    /// Lends operands and results to `body` as the FFI's structs.
    pub(crate) fn with_buffers<T>(
        &mut self,
        body: impl FnOnce(&mut [ffi::XLA_FFI_Buffer], &mut [ffi::XLA_FFI_Buffer]) -> T,
    ) -> T {
        let mut results: Vec<_> = self
            .results
            .iter_mut()
            .map(|result| {
                let data = result.bytes.make_mut().as_mut_ptr();
                buffer(result.data_type(), data, &result.dims)
            })
            .collect();
        let mut operands: Vec<_> = self
            .operands
            .iter()
            .enumerate()
            .map(|(number, operand)| {
                let shared = self.aliases.iter().find(|(_, aliased)| *aliased == number);
                let data = match shared {
                    Some(&(result, _)) => results[result].data.cast(),
                    None => operand.bytes.as_slice().as_ptr().cast_mut(),
                };
                buffer(operand.data_type(), data, &operand.dims)
            })
            .collect();
        body(&mut operands, &mut results)
    }

    /// Calls a handler for one stage.
    ///
    /// # Safety
    /// `handler` is a function of XLA's FFI; `context` is what our API table takes.
    pub(crate) unsafe fn call(
        &mut self,
        handler: unsafe extern "C" fn(*mut ffi::XLA_FFI_CallFrame) -> *mut ffi::XLA_FFI_Error,
        stage: ffi::XLA_FFI_ExecutionStage,
        context: *mut ffi::XLA_FFI_ExecutionContext,
        attributes: &[(String, Attribute)],
    ) -> Result<()> {
        self.with_buffers(|operands, results| {
            // Instantiation sees attributes only; memory is there from preparation on.
            let (operands, results) = match stage {
                ffi::XLA_FFI_ExecutionStage_INSTANTIATE => (&mut [][..], &mut [][..]),
                _ => (operands, results),
            };
            // SAFETY: the caller's promise.
            unsafe { call_with(handler, stage, context, attributes, operands, results) }
        })
    }
}

/// # Safety
/// As for [`Frame::call`].
unsafe fn call_with(
    handler: unsafe extern "C" fn(*mut ffi::XLA_FFI_CallFrame) -> *mut ffi::XLA_FFI_Error,
    stage: ffi::XLA_FFI_ExecutionStage,
    context: *mut ffi::XLA_FFI_ExecutionContext,
    attributes: &[(String, Attribute)],
    operands: &mut [ffi::XLA_FFI_Buffer],
    results: &mut [ffi::XLA_FFI_Buffer],
) -> Result<()> {
    let mut operand_pointers: Vec<*mut c_void> =
        operands.iter_mut().map(|operand| ptr::from_mut(operand).cast()).collect();
    let mut result_pointers: Vec<*mut c_void> =
        results.iter_mut().map(|result| ptr::from_mut(result).cast()).collect();
    let mut operand_types = vec![ffi::XLA_FFI_ArgType_BUFFER; operands.len()];
    let mut result_types = vec![ffi::XLA_FFI_RetType_BUFFER; results.len()];
    let mut arena = Arena::default();
    let attrs = arena.attributes(attributes);
    let mut frame = ffi::XLA_FFI_CallFrame {
        struct_size: ffi::XLA_FFI_CallFrame_STRUCT_SIZE as usize,
        extension_start: ptr::null_mut(),
        api: super::api::table(),
        ctx: context,
        stage,
        args: ffi::XLA_FFI_Args {
            struct_size: ffi::XLA_FFI_Args_STRUCT_SIZE as usize,
            extension_start: ptr::null_mut(),
            size: operand_pointers.len() as i64,
            types: operand_types.as_mut_ptr(),
            args: operand_pointers.as_mut_ptr(),
        },
        rets: ffi::XLA_FFI_Rets {
            struct_size: ffi::XLA_FFI_Rets_STRUCT_SIZE as usize,
            extension_start: ptr::null_mut(),
            size: result_pointers.len() as i64,
            types: result_types.as_mut_ptr(),
            rets: result_pointers.as_mut_ptr(),
        },
        attrs,
        future: ptr::null_mut(),
    };
    // SAFETY: the caller's promise about the handler; the frame and all it points to live
    // until the call, and what it started, are done.
    let error = unsafe { handler(&mut frame) };
    super::api::take_error(error)?;
    super::api::wait(frame.future)
}

fn buffer(dtype: ffi::XLA_FFI_DataType, data: *mut u8, dims: &[i64]) -> ffi::XLA_FFI_Buffer {
    ffi::XLA_FFI_Buffer {
        struct_size: ffi::XLA_FFI_Buffer_STRUCT_SIZE as usize,
        extension_start: ptr::null_mut(),
        dtype,
        data: data.cast(),
        rank: dims.len() as i64,
        dims: dims.as_ptr().cast_mut(),
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
    fn span(&mut self, text: &[u8]) -> *mut ffi::XLA_FFI_ByteSpan {
        let span = ffi::XLA_FFI_ByteSpan { ptr: text.as_ptr().cast(), len: text.len() };
        keep(&mut self.spans, span)
    }

    /// The bytes at an address aligned for any element. The texts they came from are not.
    fn data(&mut self, bytes: &[u8]) -> *mut c_void {
        // Attributes are small; where memory is gone already, the call sees a null pointer.
        let Ok(copy) = Bytes::copy_of(bytes) else { return ptr::null_mut() };
        let pointer = copy.as_slice().as_ptr().cast_mut().cast();
        self.bytes.push(copy);
        pointer
    }

    fn attributes(&mut self, attributes: &[(String, Attribute)]) -> ffi::XLA_FFI_Attrs {
        let mut types = Vec::new();
        let mut names = Vec::new();
        let mut values: Vec<*mut c_void> = Vec::new();
        for (name, attribute) in attributes {
            names.push(self.span(name.as_bytes()));
            match attribute {
                Attribute::Scalar(element_type, bytes) => {
                    types.push(ffi::XLA_FFI_AttrType_SCALAR);
                    let value = self.data(bytes);
                    let dtype = element_type.proto_number() as ffi::XLA_FFI_DataType;
                    let scalar = ffi::XLA_FFI_Scalar { dtype, value };
                    values.push(keep(&mut self.scalars, scalar).cast());
                }
                Attribute::Array(element_type, bytes) => {
                    types.push(ffi::XLA_FFI_AttrType_ARRAY);
                    let array = ffi::XLA_FFI_Array {
                        dtype: element_type.proto_number() as ffi::XLA_FFI_DataType,
                        size: bytes.len() / element_type.byte_width(),
                        data: self.data(bytes),
                    };
                    values.push(keep(&mut self.arrays, array).cast());
                }
                Attribute::String(text) => {
                    types.push(ffi::XLA_FFI_AttrType_STRING);
                    values.push(self.span(text).cast());
                }
                Attribute::Dictionary(inner) => {
                    types.push(ffi::XLA_FFI_AttrType_DICTIONARY);
                    let inner = self.attributes(inner);
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
        attrs
    }
}
