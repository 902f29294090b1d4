//! `PJRT_Buffer`: values on devices, and the ways in and out of them.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rxla::hlo::literal::Bytes;
use rxla::hlo::{ArrayLiteral, ArrayShape, Literal, Shape};
use rxla::trace::{Kind, span};
use rxla::{Buffer, Error, Event, Result, strided};

use crate::abi::{self, entry};
use crate::client::{CLIENTS, ClientObject, DEVICES, target_memory};
use crate::error;
use crate::event;
use crate::ffi;
use crate::foreign::{self, ForeignMemory};
use crate::memory::MEMORIES;
use crate::raw::Raw;
use crate::shape;
use crate::slab::Slab;

/// What a `PJRT_Buffer*` points to.
pub(crate) struct BufferObject {
    pub(crate) buffer: Arc<Buffer>,
    pub(crate) client: Arc<ClientObject>,
    /// What outside readers look at: the bytes in the layout that the buffer reports. Holding them
    /// keeps a donation from writing to them.
    outside: Mutex<Outside>,
}

#[derive(Default)]
struct Outside {
    references: usize,
    bytes: Option<Bytes>,
}

pub(crate) static BUFFERS: Slab<ffi::PJRT_Buffer, BufferObject> = Slab::new("PJRT_Buffer");

impl BufferObject {
    /// The sizes, in memory that stays as long as the buffer; none for a token.
    fn dims(&self) -> &[i64] {
        self.buffer.shape().as_array().map_or(&[], |array| &array.dims)
    }

    /// The dimension order, in memory that stays as long as the buffer.
    fn minor_to_major(&self) -> &[i64] {
        self.buffer.shape().as_array().map_or(&[], shape::minor_to_major)
    }

    fn outside(&self) -> MutexGuard<'_, Outside> {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contents in the layout that the buffer reports. What is not the buffer's own storage is
    /// kept, so that its address stays good as long as the buffer.
    pub(crate) fn outside_bytes(&self) -> Result<Bytes> {
        if let Some(bytes) = &self.outside().bytes {
            return Ok(bytes.clone());
        }
        let array = self.buffer.show()?;
        let bytes = physical(&array)?;
        if bytes.as_slice().as_ptr() != array.bytes().as_ptr() {
            // Another thread may have been faster; all must see one address.
            return Ok(self.outside().bytes.get_or_insert(bytes).clone());
        }
        Ok(bytes)
    }
}

/// An array's bytes in the dimension order of its shape.
pub(crate) fn physical(array: &ArrayLiteral) -> Result<Bytes> {
    let order = shape::minor_to_major(array.shape());
    let width = array.element_type().byte_width();
    let strides = dense(array.shape(), order)?;
    if strided::is_row_major(array.dims(), &strides, width) {
        return Ok(array.shared_bytes());
    }
    let mut bytes = Bytes::zeroed(array.bytes().len())?;
    strided::write_strided(array.bytes(), bytes.make_mut(), array.dims(), &strides, width)?;
    Ok(bytes)
}

fn dense(shape: &ArrayShape, order: &[i64]) -> Result<Vec<i64>> {
    strided::dense_strides(&shape.dims, order, shape.element_type.byte_width())
        .ok_or_else(|| Error::invalid_argument(format!("{order:?} is no layout of `{shape}`")))
}

/// Hands a buffer to the caller, who must destroy it.
pub(crate) fn give(client: &Arc<ClientObject>, buffer: Arc<Buffer>) -> *mut ffi::PJRT_Buffer {
    BUFFERS.insert(BufferObject { buffer, client: Arc::clone(client), outside: Mutex::default() })
}

/// A literal over bytes that lie in the dimension order of `shape`.
fn literal_of_physical(shape: &ArrayShape, bytes: Bytes) -> Result<Literal> {
    let strides = dense(shape, shape::minor_to_major(shape))?;
    let width = shape.element_type.byte_width();
    let bytes = if strided::is_row_major(&shape.dims, &strides, width) {
        bytes
    } else {
        strided::read_strided(bytes.as_slice(), &shape.dims, &strides, width)?
    };
    Ok(Literal::Array(ArrayLiteral::from_bytes(shape, bytes)?))
}

fn size_of_shape(shape: &ArrayShape) -> Result<usize> {
    shape.byte_size().ok_or_else(|| {
        Error::invalid_argument(format!("`{shape}` has no size that memory could hold"))
    })
}

entry! {
    /// Takes host memory over: without a copy if the caller allows it and the bytes lie as ours
    /// do, in which case the returned event fires when the last user of the memory is gone.
    fn PJRT_Client_BufferFromHostBuffer(args: PJRT_Client_BufferFromHostBuffer_Args) {
        let client = CLIENTS.get(args.client)?;
        let memory = target_memory(&client, args.memory, args.device)?;
        // SAFETY: the caller passes lists of these sizes.
        let (array, strides) = unsafe {
            (
                shape::read_array(args.type_, args.dims, args.num_dims, args.device_layout)?,
                abi::slice(args.byte_strides, args.num_byte_strides, "byte_strides")?,
            )
        };
        let _span = span(Kind::Transfer, || format!("to device {array}"));
        let width = array.element_type.byte_width();
        let size = size_of_shape(&array)?;
        let row_major = strided::row_major_strides(&array.dims, width)
            .ok_or_else(|| Error::invalid_argument(format!("`{array}` is too large")))?;
        let strides = if strides.is_empty() { &row_major[..] } else { strides };
        if strides.len() != array.rank() {
            return Err(Error::invalid_argument(format!(
                "`{array}` was given {} byte strides", strides.len()
            )));
        }
        let extent = strided::extent(&array.dims, strides, width)
            .and_then(|extent| Some((extent, usize::try_from(extent.end.checked_sub(extent.lowest)?).ok()?)))
            .ok_or_else(|| Error::invalid_argument("the byte strides overflow"))?;
        let (extent, length) = extent;
        let lowest = args.data.cast::<u8>().wrapping_offset(extent.lowest as isize);
        // SAFETY: the caller's array lies between these bounds, readable during the call.
        let source = unsafe { abi::slice(lowest, length, "data") }?;
        let dense = strided::is_row_major(&array.dims, strides, width);
        let may_keep = matches!(
            args.host_buffer_semantics,
            ffi::PJRT_HostBufferSemantics_kImmutableZeroCopy
                | ffi::PJRT_HostBufferSemantics_kMutableZeroCopy
        );
        let aligned = lowest.addr().is_multiple_of(foreign::ALIGNMENT);
        let done = Event::new();
        let bytes = if dense && may_keep && aligned && size > 0 {
            let free = done.clone();
            // SAFETY: zero-copy semantics: the memory stays as it is until the event fires.
            unsafe {
                ForeignMemory::share(lowest, size, move || {
                    free.complete(Ok(()));
                })
            }
        } else {
            let bytes = if dense {
                client.client.copy_of(source)?
            } else {
                strided::read_strided(source, &array.dims, strides, width)?
            };
            done.complete(Ok(()));
            bytes
        };
        let literal = Literal::Array(ArrayLiteral::from_bytes(&array, bytes)?);
        let buffer = client.client.buffer_in(literal, &memory)?;
        args.buffer = give(&client, buffer);
        args.done_with_host_buffer = event::give(done);
        Ok(())
    }

    fn PJRT_Client_CreateViewOfDeviceBuffer(args: PJRT_Client_CreateViewOfDeviceBuffer_Args since buffer) {
        let client = CLIENTS.get(args.client)?;
        let memory = target_memory(&client, args.memory, args.device)?;
        // SAFETY: the caller passes lists of these sizes.
        let array = unsafe {
            shape::read_array(args.element_type, args.dims, args.num_dims, args.layout)
        }?;
        let size = size_of_shape(&array)?;
        // JAX looks for this wording: it then copies, or tells the user that a copy is needed.
        let address = args.device_buffer_ptr.addr();
        if !address.is_multiple_of(foreign::ALIGNMENT) {
            return Err(Error::invalid_argument(format!(
                "a view of memory at {address:#x} cannot be made, which is not aligned to {} bytes",
                foreign::ALIGNMENT
            )));
        }
        // SAFETY: the caller's device memory, which is host memory, has the size of the shape.
        unsafe { abi::slice(args.device_buffer_ptr.cast_const().cast::<u8>(), size, "device_buffer_ptr") }?;
        let pointer = Raw(args.device_buffer_ptr);
        let user_arg = Raw(args.on_delete_callback_arg);
        let callback = args.on_delete_callback;
        let release = move || {
            // Named as wholes, so that the closure carries the thread-safe wrappers.
            let (pointer, user_arg) = (pointer, user_arg);
            if let Some(callback) = callback {
                // SAFETY: the caller gave a callback to be run once, when the view is gone.
                unsafe { callback(pointer.0, user_arg.0) }
            }
        };
        // SAFETY: the caller keeps the memory unchanged until the callback runs.
        let bytes = unsafe {
            ForeignMemory::share(args.device_buffer_ptr.cast_const().cast::<u8>(), size, release)
        };
        let literal = literal_of_physical(&array, bytes)?;
        args.buffer = give(&client, client.client.buffer_in(literal, &memory)?);
        Ok(())
    }

    fn PJRT_Client_CreateUninitializedBuffer(args: PJRT_Client_CreateUninitializedBuffer_Args) {
        let client = CLIENTS.get(args.client)?;
        let memory = target_memory(&client, args.memory, args.device)?;
        // SAFETY: the caller passes lists of these sizes.
        let array = unsafe {
            shape::read_array(args.shape_element_type, args.shape_dims, args.shape_num_dims, args.shape_layout)
        }?;
        let literal = Literal::Array(ArrayLiteral::zeros(&array)?);
        args.buffer = give(&client, client.client.buffer_in(literal, &memory)?);
        Ok(())
    }

    fn PJRT_Client_CreateErrorBuffer(args: PJRT_Client_CreateErrorBuffer_Args since buffer) {
        let client = CLIENTS.get(args.client)?;
        let memory = target_memory(&client, args.memory, std::ptr::null_mut())?;
        // SAFETY: the caller passes lists and strings of these sizes.
        let (array, message) = unsafe {
            (
                shape::read_array(args.shape_element_type, args.shape_dims, args.shape_num_dims, args.shape_layout)?,
                abi::text(args.error_message, args.error_message_size, "error_message")?,
            )
        };
        let reason = Error::new(error::code(args.error_code), message);
        let device = client.client.device_of(&memory)?;
        let buffer = Buffer::failed(Shape::Array(array), device, &memory, reason)?;
        args.buffer = give(&client, Arc::new(buffer));
        Ok(())
    }

    fn PJRT_Buffer_Destroy(args: PJRT_Buffer_Destroy_Args) {
        BUFFERS.destroy(args.buffer)
    }

    fn PJRT_Buffer_ElementType(args: PJRT_Buffer_ElementType_Args) {
        args.type_ = shape::type_number(BUFFERS.get(args.buffer)?.buffer.shape());
        Ok(())
    }

    fn PJRT_Buffer_Dimensions(args: PJRT_Buffer_Dimensions_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.dims = object.dims().as_ptr();
        args.num_dims = object.dims().len();
        Ok(())
    }

    fn PJRT_Buffer_UnpaddedDimensions(args: PJRT_Buffer_UnpaddedDimensions_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.unpadded_dims = object.dims().as_ptr();
        args.num_dims = object.dims().len();
        Ok(())
    }

    /// Buffers have the sizes they have: results of dynamic shape are made with their real sizes.
    fn PJRT_Buffer_DynamicDimensionIndices(args: PJRT_Buffer_DynamicDimensionIndices_Args) {
        BUFFERS.get(args.buffer)?;
        args.dynamic_dim_indices = std::ptr::null();
        args.num_dynamic_dims = 0;
        Ok(())
    }

    fn PJRT_Buffer_GetMemoryLayout(args: PJRT_Buffer_GetMemoryLayout_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.layout.type_ = ffi::PJRT_Buffer_MemoryLayout_Type_Tiled;
        args.layout.__bindgen_anon_1.tiled = ffi::PJRT_Buffer_MemoryLayout_Tiled {
            struct_size: size_of::<ffi::PJRT_Buffer_MemoryLayout_Tiled>(),
            extension_start: std::ptr::null_mut(),
            minor_to_major: object.minor_to_major().as_ptr(),
            minor_to_major_size: object.minor_to_major().len(),
            tile_dims: std::ptr::null(),
            tile_dim_sizes: std::ptr::null(),
            num_tiles: 0,
        };
        Ok(())
    }

    /// The contents in the dimension order the caller wants; `dst` null asks for the size.
    fn PJRT_Buffer_ToHostBuffer(args: PJRT_Buffer_ToHostBuffer_Args) {
        let object = BUFFERS.get(args.src)?;
        let size = object.buffer.byte_size();
        if args.dst.is_null() {
            args.dst_size = size;
            return Ok(());
        }
        let _span = span(Kind::Transfer, || format!("to host {}", object.buffer.shape()));
        if args.dst_size < size {
            return Err(Error::invalid_argument(format!(
                "a copy of `{}` takes {size} bytes, the destination has {}",
                object.buffer.shape(), args.dst_size
            )));
        }
        let strides = match object.buffer.shape() {
            Shape::Array(array) => {
                // SAFETY: the caller's layout.
                let strides = unsafe { host_strides(args.host_layout, array, object.minor_to_major()) }?;
                let extent = strided::extent(&array.dims, &strides, array.element_type.byte_width());
                let fits = extent.is_some_and(|e| {
                    e.lowest == 0 && usize::try_from(e.end).is_ok_and(|end| end <= args.dst_size)
                });
                if !fits {
                    return Err(Error::invalid_argument(format!(
                        "`{array}` with byte strides {strides:?} leaves a destination of {} bytes",
                        args.dst_size
                    )));
                }
                strides
            }
            _ => Vec::new(),
        };
        let target = Raw(args.dst);
        let length = args.dst_size;
        let done = Event::new();
        args.event = event::give(done.clone());
        let finished = done.clone();
        // What is pending is copied when it is there, on the thread that makes it.
        let promised = object.buffer.when_there(move |contents| {
            let target = target;
            let copied = contents.and_then(|literal| match literal {
                Literal::Array(array) => {
                    // SAFETY: the caller keeps `dst_size` bytes for us until the event is ready.
                    let target = unsafe { std::slice::from_raw_parts_mut(target.0.cast::<u8>(), length) };
                    let width = array.element_type().byte_width();
                    if strided::is_row_major(array.dims(), &strides, width) {
                        target[..array.bytes().len()].copy_from_slice(array.bytes());
                        return Ok(());
                    }
                    strided::write_strided(array.bytes(), target, array.dims(), &strides, width)
                }
                Literal::Tuple(_) | Literal::Token => Ok(()),
            });
            finished.complete(copied);
        });
        if let Err(error) = promised {
            done.complete(Err(error));
        }
        Ok(())
    }

    fn PJRT_Buffer_OnDeviceSizeInBytes(args: PJRT_Buffer_OnDeviceSizeInBytes_Args) {
        args.on_device_size_in_bytes = BUFFERS.get(args.buffer)?.buffer.byte_size();
        Ok(())
    }

    fn PJRT_Buffer_Delete(args: PJRT_Buffer_Delete_Args) {
        let object = BUFFERS.get(args.buffer)?;
        object.buffer.delete();
        let held = {
            let mut outside = object.outside();
            if outside.references == 0 { outside.bytes.take() } else { None }
        };
        drop(held);
        Ok(())
    }

    fn PJRT_Buffer_IsDeleted(args: PJRT_Buffer_IsDeleted_Args) {
        args.is_deleted = BUFFERS.get(args.buffer)?.buffer.is_deleted();
        Ok(())
    }

    fn PJRT_Buffer_CopyToDevice(args: PJRT_Buffer_CopyToDevice_Args) {
        let object = BUFFERS.get(args.buffer)?;
        let _span = span(Kind::Transfer, || format!("between devices {}", object.buffer.shape()));
        let device = Arc::clone(&DEVICES.get(args.dst_device)?.device);
        let copy = object.buffer.copy_to(&device, device.default_memory())?;
        args.dst_buffer = give(&object.client, copy);
        Ok(())
    }

    fn PJRT_Buffer_CopyToMemory(args: PJRT_Buffer_CopyToMemory_Args) {
        let object = BUFFERS.get(args.buffer)?;
        let _span = span(Kind::Transfer, || format!("between memories {}", object.buffer.shape()));
        let memory = MEMORIES.get(args.dst_memory)?.memory.clone();
        let device = object.client.client.device_of(&memory)?;
        args.dst_buffer = give(&object.client, object.buffer.copy_to(device, &memory)?);
        Ok(())
    }

    /// The same bytes under another type of the same size.
    fn PJRT_Buffer_Bitcast(args: PJRT_Buffer_Bitcast_Args) {
        let object = BUFFERS.get(args.buffer)?;
        // SAFETY: the caller passes lists of these sizes.
        let array = unsafe {
            shape::read_array(args.element_type, args.dims, args.num_dims, args.device_layout)
        }?;
        let bytes = physical(&object.buffer.array()?)?;
        if array.byte_size() != Some(bytes.len()) {
            return Err(Error::invalid_argument(format!(
                "`{}` cannot be seen as `{array}`: the sizes in bytes differ", object.buffer.shape()
            )));
        }
        let literal = literal_of_physical(&array, bytes)?;
        let buffer = object.client.client.buffer_in(literal, object.buffer.memory())?;
        args.out_buffer = give(&object.client, buffer);
        Ok(())
    }

    fn PJRT_Buffer_IsOnCpu(args: PJRT_Buffer_IsOnCpu_Args) {
        BUFFERS.get(args.buffer)?;
        args.is_on_cpu = true;
        Ok(())
    }

    fn PJRT_Buffer_Device(args: PJRT_Buffer_Device_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.device = object.client.device(object.buffer.device().local_id).0;
        Ok(())
    }

    fn PJRT_Buffer_Memory(args: PJRT_Buffer_Memory_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.memory = object.client.memory(object.buffer.memory()).0;
        Ok(())
    }

    fn PJRT_Buffer_ReadyEvent(args: PJRT_Buffer_ReadyEvent_Args) {
        let object = BUFFERS.get(args.buffer)?;
        args.event = event::give(object.buffer.ready().clone());
        Ok(())
    }

    fn PJRT_Buffer_UnsafePointer(args: PJRT_Buffer_UnsafePointer_Args) {
        args.buffer_pointer = BUFFERS.get(args.buffer)?.outside_bytes()?.as_slice().as_ptr().addr();
        Ok(())
    }

    fn PJRT_Buffer_IncreaseExternalReferenceCount(
        args: PJRT_Buffer_IncreaseExternalReferenceCount_Args
    ) {
        let object = BUFFERS.get(args.buffer)?;
        let bytes = object.outside_bytes()?;
        let mut outside = object.outside();
        outside.references += 1;
        outside.bytes.get_or_insert(bytes);
        Ok(())
    }

    fn PJRT_Buffer_DecreaseExternalReferenceCount(
        args: PJRT_Buffer_DecreaseExternalReferenceCount_Args
    ) {
        let object = BUFFERS.get(args.buffer)?;
        let released = {
            let mut outside = object.outside();
            outside.references = outside.references.checked_sub(1).ok_or_else(|| {
                Error::invalid_argument("the buffer has no external reference to give back")
            })?;
            if outside.references == 0 { outside.bytes.take() } else { None }
        };
        drop(released);
        Ok(())
    }

    fn PJRT_Buffer_OpaqueDeviceMemoryDataPointer(
        args: PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args
    ) {
        let bytes = BUFFERS.get(args.buffer)?.outside_bytes()?;
        args.device_memory_ptr = bytes.as_slice().as_ptr().cast_mut().cast::<c_void>();
        Ok(())
    }
}

/// Byte strides of a host layout; a null one means the buffer's own dimension order.
///
/// # Safety
/// As for [`shape::read_layout`].
unsafe fn host_strides(
    layout: *const ffi::PJRT_Buffer_MemoryLayout,
    array: &ArrayShape,
    own: &[i64],
) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise; a null layout is none.
    if let Ok(given) = unsafe { abi::reference(layout, "host_layout") }
        && given.type_ == ffi::PJRT_Buffer_MemoryLayout_Type_Strides
    {
        // SAFETY: the type says which member of the union is set; the list is as long as it says.
        let strides = unsafe {
            let strides = given.__bindgen_anon_1.strides;
            abi::slice(strides.byte_strides, strides.num_byte_strides, "byte_strides")?
        };
        if strides.len() != array.rank() {
            return Err(Error::invalid_argument(format!(
                "`{array}` was given {} byte strides",
                strides.len()
            )));
        }
        return Ok(strides.to_vec());
    }
    // SAFETY: the caller's promise.
    let order = unsafe { shape::read_layout(layout, array) }?;
    dense(array, order.as_deref().unwrap_or(own))
}
