//! Calls of handlers where the arrays lie. What is the same at each execution of a call is made at the first.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rxla::hlo::op::CustomCallApiVersion;
use rxla::hlo::{ArrayShape, Shape};
use rxla::host::CustomCall;
use rxla::{Error, Result, strided};

use super::api::CallContext;
use super::attributes::{self, Spelled};
use super::{ContextObject, TypeId, types};
use crate::ffi;
use crate::raw::Raw;
use crate::shape;

/// A call of a program, whose handler is the one that was registered at the first execution.
pub(super) struct Site {
    bundle: ffi::XLA_FFI_Handler_Bundle,
    attributes: Spelled,
    operands: Vec<Form>,
    results: Vec<Form>,
    instantiated: Instantiated,
    /// Those that no execution uses at the moment.
    frames: Mutex<Vec<Frame>>,
}

/// How a handler sees an operand or a result.
struct Form {
    data_type: ffi::XLA_FFI_DataType,
    dims: Vec<i64>,
    /// `None`: a token, which has no memory.
    array: Option<Array>,
}

struct Array {
    /// Bytes of an element and of all.
    width: usize,
    size: usize,
    /// In bytes, where the call wants another order than the row-major one.
    strides: Option<Vec<i64>>,
}

/// The state of a call that its handler has made at the first execution, for all of them.
pub(crate) struct Instantiated(pub(super) Option<(TypeId, Raw<c_void>)>);

impl Instantiated {
    fn make(
        bundle: &ffi::XLA_FFI_Handler_Bundle,
        call: &CustomCall<'_>,
        attributes: &Spelled,
    ) -> Result<Instantiated> {
        let Some(handler) = bundle.instantiate else { return Ok(Instantiated(None)) };
        let mut context = CallContext::new(None, call.run_id, call.device, None);
        // Attributes are all that it sees; memory is there from preparation on.
        let mut frame = Frame::new(&[], &[]);
        let stage = ffi::XLA_FFI_ExecutionStage_INSTANTIATE;
        // SAFETY: whoever registered the handler vouched for it.
        unsafe { frame.call(handler, stage, &mut context, attributes) }?;
        Ok(context.take_instantiated())
    }
}

impl Drop for Instantiated {
    fn drop(&mut self) {
        if let Some((type_id, state)) = self.0.take() {
            types::delete(type_id, state);
        }
    }
}

/// A call's site, if it has been executed before or `find` gives the handler of its target.
pub(super) fn of<'k>(
    call: &CustomCall<'k>,
    find: impl FnOnce() -> Option<ffi::XLA_FFI_Handler_Bundle>,
) -> Option<Result<&'k Site>> {
    if let Some(site) = call.kept.get() {
        return Some(Ok(site));
    }
    let bundle = find()?;
    Some(call.kept.get_or_make(|| Site::make(bundle, call)))
}

impl Site {
    fn make(bundle: ffi::XLA_FFI_Handler_Bundle, call: &CustomCall<'_>) -> Result<Site> {
        if call.api_version != CustomCallApiVersion::TypedFfi {
            return Err(Error::invalid_argument(format!(
                "it is registered as a handler of the typed FFI, but the program calls it with {}",
                call.api_version.name()
            )));
        }
        let attributes = Spelled::new(&attributes::parse(call.config)?)?;
        let instantiated = Instantiated::make(&bundle, call, &attributes)?;
        let operands = call.operand_shapes.iter().map(|shape| Form::of(shape));
        let results = result_shapes(call.result_shape).iter().map(Form::of);
        Ok(Site {
            bundle,
            attributes,
            operands: operands.collect::<Result<_>>()?,
            results: results.collect::<Result<_>>()?,
            instantiated,
            frames: Mutex::default(),
        })
    }

    fn frames(&self) -> MutexGuard<'_, Vec<Frame>> {
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the handler do the call. Operands and results are arrays in row-major order.
    pub(super) fn run(
        &self,
        execution: Option<&ContextObject>,
        call: &CustomCall<'_>,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Result<()> {
        let unused = self.frames().pop();
        let mut frame = unused.unwrap_or_else(|| Frame::new(&self.operands, &self.results));
        frame.room.make([&self.operands, &self.results])?;
        // What is not in the order that the call wants is copied.
        for (array, bytes) in arrays(&self.operands, operands.len())?.zip(operands) {
            array.check(bytes.len())?;
            frame.operands[array.number].data = match &array.of.strides {
                None => bytes.as_ptr().cast_mut(),
                Some(strides) => {
                    let copy = frame.room.take(bytes.len());
                    strided::write_strided(bytes, copy, array.dims, strides, array.of.width)?;
                    copy.as_mut_ptr()
                }
            }
            .cast();
        }
        for (array, bytes) in arrays(&self.results, results.len())?.zip(&mut *results) {
            array.check(bytes.len())?;
            frame.results[array.number].data = match &array.of.strides {
                None => bytes.as_mut_ptr(),
                Some(_) => {
                    let room = frame.room.take(bytes.len());
                    room.fill(0);
                    room.as_mut_ptr()
                }
            }
            .cast();
        }
        for &(result, operand) in call.aliases {
            self.share(call, (result, operand), &mut frame)?;
        }
        let mut context =
            CallContext::new(execution, call.run_id, call.device, Some(&self.instantiated));
        let stages = [
            (self.bundle.prepare, ffi::XLA_FFI_ExecutionStage_PREPARE),
            (self.bundle.initialize, ffi::XLA_FFI_ExecutionStage_INITIALIZE),
            (self.bundle.execute, ffi::XLA_FFI_ExecutionStage_EXECUTE),
        ];
        for (handler, stage) in stages {
            let Some(handler) = handler else { continue };
            // SAFETY: whoever registered the handler vouched for it; the buffers are there.
            unsafe { frame.call(handler, stage, &mut context, &self.attributes) }?;
        }
        drop(context);
        for (array, bytes) in arrays(&self.results, results.len())?.zip(results) {
            if let Some(strides) = &array.of.strides {
                let made = frame.results[array.number].data.cast_const().cast();
                // SAFETY: it is in the room, as long as the result, and the handler is done with it.
                let made = unsafe { std::slice::from_raw_parts(made, bytes.len()) };
                strided::read_strided_into(made, bytes, array.dims, strides, array.of.width)?;
            }
        }
        frame.room.shrink();
        self.frames().push(frame);
        Ok(())
    }

    /// Has a result begin as a copy of an operand, which the handler sees there.
    fn share(
        &self,
        call: &CustomCall<'_>,
        (result, operand): (usize, usize),
        frame: &mut Frame,
    ) -> Result<()> {
        let (Some(target), Some(source)) =
            (frame.results.get(result), frame.operands.get_mut(operand))
        else {
            return Err(Error::invalid_argument(format!(
                "`{}` aliases result {result} with operand {operand}, which it has not",
                call.target
            )));
        };
        let sizes = [&self.results[result], &self.operands[operand]].map(Form::size);
        if sizes[0] != sizes[1] {
            return Err(Error::invalid_argument(format!(
                "`{}` aliases result {result} of {} bytes with operand {operand} of {}",
                call.target, sizes[0], sizes[1]
            )));
        }
        // SAFETY: both have so many bytes, and results overlap no operand; for a second result the operand is in
        // the first, which is memory of its own.
        unsafe { ptr::copy(source.data.cast::<u8>(), target.data.cast::<u8>(), sizes[0]) };
        source.data = target.data;
        Ok(())
    }
}

/// The results' own shapes, of which there are several in a tuple.
pub(super) fn result_shapes(shape: &Shape) -> &[Shape] {
    match shape {
        Shape::Tuple(elements) => elements,
        single => std::slice::from_ref(single),
    }
}

/// The bytes of an array.
pub(super) fn size(array: &ArrayShape) -> Result<usize> {
    array.byte_size().ok_or_else(|| {
        Error::resource_exhausted(format!("`{array}` has no size memory could hold"))
    })
}

/// How far elements are from each other, in bytes, of an array of these sizes in the order that `form` says; `None` if
/// that is the row-major one.
pub(super) fn strides(dims: &[i64], form: &ArrayShape) -> Result<Option<Vec<i64>>> {
    let width = form.element_type.byte_width();
    let strides =
        strided::dense_strides(dims, shape::minor_to_major(form), width).ok_or_else(|| {
            Error::invalid_argument(format!(
                "the layout of `{form}` at a custom call fits no memory"
            ))
        })?;
    Ok((!strided::is_row_major(dims, &strides, width)).then_some(strides))
}

impl Form {
    fn of(shape: &Shape) -> Result<Form> {
        match shape {
            Shape::Array(array) => {
                let width = array.element_type.byte_width();
                let (size, strides) = (size(array)?, strides(&array.dims, array)?);
                Ok(Form {
                    data_type: array.element_type.proto_number() as ffi::XLA_FFI_DataType,
                    dims: array.dims.to_vec(),
                    array: Some(Array { width, size, strides }),
                })
            }
            Shape::Token => {
                Ok(Form { data_type: ffi::XLA_FFI_DataType_TOKEN, dims: Vec::new(), array: None })
            }
            other => Err(Error::unimplemented(format!(
                "a custom call with an operand or result `{other}`"
            ))),
        }
    }

    fn size(&self) -> usize {
        self.array.as_ref().map_or(0, |array| array.size)
    }
}

/// An array among the forms, and which of them it is.
struct Found<'a> {
    number: usize,
    of: &'a Array,
    dims: &'a [i64],
}

impl Found<'_> {
    fn check(&self, size: usize) -> Result<()> {
        match size == self.of.size {
            true => Ok(()),
            false => Err(Error::unimplemented(format!(
                "a custom call on {size} bytes of an array that has up to {}",
                self.of.size
            ))),
        }
    }
}

/// Memory for the arrays of a call that are wanted in another order.
#[derive(Default)]
struct Room {
    lines: Vec<Line>,
    taken: usize,
}

/// As much as all that is lent is aligned to.
#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; 64]);

impl Room {
    /// Lines that are kept from one execution to the next, 64 KB.
    const KEPT: usize = 1 << 10;

    /// Has room for the arrays of these forms.
    fn make(&mut self, forms: [&[Form]; 2]) -> Result<()> {
        let arrays = forms.into_iter().flatten().filter_map(|form| form.array.as_ref());
        let turned = arrays.filter(|array| array.strides.is_some());
        let count: usize = turned.map(|array| array.size.div_ceil(size_of::<Line>())).sum();
        let more = count.saturating_sub(self.lines.len());
        self.lines.try_reserve_exact(more).map_err(|_| {
            Error::resource_exhausted("out of memory for the arrays of a custom call")
        })?;
        self.lines.resize(count, Line([0; 64]));
        self.taken = 0;
        Ok(())
    }

    /// Gives much memory back.
    fn shrink(&mut self) {
        if self.lines.len() > Room::KEPT {
            self.lines = Vec::new();
        }
    }

    /// The next of these arrays; what was lent before stays where it is.
    fn take(&mut self, size: usize) -> &mut [u8] {
        let lines = &mut self.lines[self.taken..self.taken + size.div_ceil(size_of::<Line>())];
        self.taken += lines.len();
        // SAFETY: lines are bytes without gaps, and so many.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), size) }
    }
}

/// Those that are arrays, which are so many.
fn arrays(forms: &[Form], count: usize) -> Result<impl Iterator<Item = Found<'_>>> {
    if forms.iter().filter(|form| form.array.is_some()).count() != count {
        return Err(Error::internal("a custom call has other arrays than shapes"));
    }
    Ok(forms.iter().enumerate().filter_map(|(number, form)| {
        Some(Found { number, of: form.array.as_ref()?, dims: &form.dims })
    }))
}

pub(super) fn buffer(
    dtype: ffi::XLA_FFI_DataType,
    data: *mut u8,
    dims: &[i64],
) -> ffi::XLA_FFI_Buffer {
    ffi::XLA_FFI_Buffer {
        struct_size: ffi::XLA_FFI_Buffer_STRUCT_SIZE as usize,
        extension_start: ptr::null_mut(),
        dtype,
        data: data.cast(),
        rank: dims.len() as i64,
        dims: dims.as_ptr().cast_mut(),
    }
}

/// What a call frame points to, for one execution at a time.
struct Frame {
    operands: Vec<ffi::XLA_FFI_Buffer>,
    results: Vec<ffi::XLA_FFI_Buffer>,
    operand_list: Vec<*mut c_void>,
    result_list: Vec<*mut c_void>,
    operand_types: Vec<ffi::XLA_FFI_ArgType>,
    result_types: Vec<ffi::XLA_FFI_RetType>,
    room: Room,
}

// SAFETY: the addresses are of forms, which live as long as the site that a frame is kept in, and of memory that
// the frame has or is given for an execution.
unsafe impl Send for Frame {}

impl Frame {
    /// Of forms that stay where they are as long as this is used. Arrays are nowhere yet.
    fn new(operands: &[Form], results: &[Form]) -> Frame {
        let of = |form: &Form| buffer(form.data_type, ptr::dangling_mut(), &form.dims);
        Frame {
            operands: operands.iter().map(of).collect(),
            results: results.iter().map(of).collect(),
            operand_list: vec![ptr::null_mut(); operands.len()],
            result_list: vec![ptr::null_mut(); results.len()],
            operand_types: vec![ffi::XLA_FFI_ArgType_BUFFER; operands.len()],
            result_types: vec![ffi::XLA_FFI_RetType_BUFFER; results.len()],
            room: Room::default(),
        }
    }

    /// Calls a handler for one stage.
    ///
    /// # Safety
    /// `handler` is a function of XLA's FFI; the buffers are where they were, and their memory too.
    unsafe fn call(
        &mut self,
        handler: unsafe extern "C" fn(*mut ffi::XLA_FFI_CallFrame) -> *mut ffi::XLA_FFI_Error,
        stage: ffi::XLA_FFI_ExecutionStage,
        context: &mut CallContext<'_>,
        attributes: &Spelled,
    ) -> Result<()> {
        for (address, buffer) in self.operand_list.iter_mut().zip(&mut self.operands) {
            *address = ptr::from_mut(buffer).cast();
        }
        for (address, buffer) in self.result_list.iter_mut().zip(&mut self.results) {
            *address = ptr::from_mut(buffer).cast();
        }
        let mut frame = ffi::XLA_FFI_CallFrame {
            struct_size: ffi::XLA_FFI_CallFrame_STRUCT_SIZE as usize,
            extension_start: ptr::null_mut(),
            api: super::api::table(),
            ctx: ptr::from_mut(context).cast(),
            stage,
            args: ffi::XLA_FFI_Args {
                struct_size: ffi::XLA_FFI_Args_STRUCT_SIZE as usize,
                extension_start: ptr::null_mut(),
                size: self.operands.len() as i64,
                types: self.operand_types.as_mut_ptr(),
                args: self.operand_list.as_mut_ptr(),
            },
            rets: ffi::XLA_FFI_Rets {
                struct_size: ffi::XLA_FFI_Rets_STRUCT_SIZE as usize,
                extension_start: ptr::null_mut(),
                size: self.results.len() as i64,
                types: self.result_types.as_mut_ptr(),
                rets: self.result_list.as_mut_ptr(),
            },
            attrs: attributes.get(),
            future: ptr::null_mut(),
        };
        // SAFETY: the caller's promise about the handler; the frame and all it points to live until the call,
        // and what it started, are done.
        let error = unsafe { handler(&mut frame) };
        super::api::take_error(error)?;
        super::api::wait(frame.future)
    }
}
