//! `PJRT_AsyncHostToDeviceTransferManager` (buffers that exist before their data does) and alias
//! buffers (buffers that will share the contents of others).

use std::sync::{Arc, Mutex, PoisonError};

use rxla::hlo::literal::Bytes;
use rxla::hlo::{ArrayLiteral, ArrayShape, Literal, Shape};
use rxla::{Buffer, Error, Result, strided};

use crate::abi::{self, entry, unimplemented_entry};
use crate::buffer;
use crate::client::{CLIENTS, ClientObject, target_memory};
use crate::error;
use crate::event;
use crate::ffi;
use crate::handle::Table;
use crate::memory::MEMORIES;
use crate::shape;

/// What a transfer manager's handle points to.
pub(crate) struct Transfers {
    client: Arc<ClientObject>,
    device: usize,
    slots: Vec<Slot>,
}

/// One buffer under way.
struct Slot {
    shape: ArrayShape,
    size: usize,
    buffer: Arc<Buffer>,
    /// What has arrived; `None` once the buffer has it.
    data: Mutex<Option<Bytes>>,
}

static MANAGERS: Table<ffi::PJRT_AsyncHostToDeviceTransferManager, Transfers> =
    Table::new("PJRT_AsyncHostToDeviceTransferManager");

impl Transfers {
    fn slot(&self, index: i32) -> Result<&Slot> {
        usize::try_from(index).ok().and_then(|index| self.slots.get(index)).ok_or_else(|| {
            Error::invalid_argument(format!(
                "there is no buffer {index} among {} transfers",
                self.slots.len()
            ))
        })
    }
}

impl Slot {
    /// Copies a part in; after the last part the buffer is ready.
    fn add(&self, part: &[u8], offset: i64, last: bool) -> Result<()> {
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = &mut *data else {
            return Err(Error::invalid_argument("data for a buffer that is complete"));
        };
        let target = usize::try_from(offset)
            .ok()
            .and_then(|offset| bytes.make_mut().get_mut(offset..offset.checked_add(part.len())?));
        let Some(target) = target else {
            return Err(Error::invalid_argument(format!(
                "{} bytes at offset {offset} do not fit a buffer of {} bytes",
                part.len(),
                self.size
            )));
        };
        target.copy_from_slice(part);
        let complete = if last { data.take() } else { None };
        drop(data);
        match complete {
            Some(bytes) => {
                let literal = ArrayLiteral::from_bytes(&self.shape, bytes)?;
                self.buffer.fulfil(Ok(Literal::Array(literal)))
            }
            None => Ok(()),
        }
    }
}

entry! {
    fn PJRT_Client_CreateBuffersForAsyncHostToDevice(
        args: PJRT_Client_CreateBuffersForAsyncHostToDevice_Args
    ) {
        let client = CLIENTS.get(args.client)?;
        let memory = target_memory(&client, args.memory, std::ptr::null_mut())?;
        // SAFETY: the caller passes lists of these sizes.
        let specs = unsafe {
            abi::slice(args.shape_specs.cast_const(), args.num_shape_specs, "shape_specs")
        }?;
        let mut slots = Vec::new();
        for spec in specs {
            // SAFETY: as above.
            let shape = unsafe {
                shape::read_array(spec.element_type, spec.dims, spec.num_dims, std::ptr::null())
            }?;
            let size = shape.byte_size().ok_or_else(|| {
                Error::invalid_argument(format!("`{shape}` has no size that memory could hold"))
            })?;
            let device = client.client.device_of(&memory)?;
            let buffer = Arc::new(Buffer::pending(Shape::Array(shape.clone()), device, &memory)?);
            slots.push(Slot { shape, size, buffer, data: Mutex::new(Some(Bytes::zeroed(size)?)) });
        }
        args.transfer_manager = MANAGERS.insert(Transfers { client, device: memory.device, slots });
        Ok(())
    }

    /// Buffers that got no data never will.
    fn PJRT_AsyncHostToDeviceTransferManager_Destroy(
        args: PJRT_AsyncHostToDeviceTransferManager_Destroy_Args
    ) {
        if args.transfer_manager.is_null() {
            return Ok(());
        }
        let manager = MANAGERS.remove(args.transfer_manager)?;
        for slot in &manager.slots {
            let waiting = slot.data.lock().unwrap_or_else(PoisonError::into_inner).take().is_some();
            if waiting {
                slot.buffer.fulfil(Err(Error::internal(
                    "the transfer manager was destroyed before the buffer had its data",
                )))?;
            }
        }
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_TransferData(
        args: PJRT_AsyncHostToDeviceTransferManager_TransferData_Args
    ) {
        let manager = MANAGERS.get(args.transfer_manager)?;
        let size = usize::try_from(args.transfer_size).map_err(|_| {
            Error::invalid_argument(format!("a transfer of {} bytes", args.transfer_size))
        })?;
        let slot = manager.slot(args.buffer_index)?;
        // SAFETY: the caller passes that many bytes.
        let part = unsafe { abi::slice(args.data.cast::<u8>(), size, "data") }?;
        slot.add(part, args.offset, args.is_last_transfer)?;
        args.done_with_h2d_transfer = event::give_done(Ok(()));
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(
        args: PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args
    ) {
        let manager = MANAGERS.get(args.transfer_manager)?;
        let slot = manager.slot(args.buffer_index)?;
        // SAFETY: the caller passes a shape of these sizes.
        let given = unsafe {
            shape::read_array(
                args.shape_element_type, args.shape_dims, args.shape_num_dims, args.shape_layout,
            )
        }?;
        if !given.compatible(&slot.shape) {
            return Err(Error::invalid_argument(format!(
                "a literal `{given}` for a buffer `{}`", slot.shape
            )));
        }
        // SAFETY: the caller passes a literal of that shape.
        let data = unsafe { abi::slice(args.data.cast::<u8>(), slot.size, "data") }?;
        let width = given.element_type.byte_width();
        let strides = strided::dense_strides(&given.dims, shape::minor_to_major(&given), width)
            .ok_or_else(|| Error::invalid_argument("the literal's layout overflows"))?;
        let bytes = strided::read_strided(data, &given.dims, &strides, width)?;
        slot.add(bytes.as_slice(), 0, true)?;
        args.done_with_h2d_transfer = event::give_done(Ok(()));
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(
        args: PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args
    ) {
        let manager = MANAGERS.get(args.transfer_manager)?;
        let slot = manager.slot(args.buffer_index)?;
        args.buffer_out = buffer::give(&manager.client, Arc::clone(&slot.buffer));
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_Device(
        args: PJRT_AsyncHostToDeviceTransferManager_Device_Args
    ) {
        let manager = MANAGERS.get(args.transfer_manager)?;
        args.device_out = manager.client.device(manager.device).0;
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_BufferCount(
        args: PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args
    ) {
        args.buffer_count = MANAGERS.get(args.transfer_manager)?.slots.len();
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_BufferSize(
        args: PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args
    ) {
        args.buffer_size = MANAGERS.get(args.transfer_manager)?.slot(args.buffer_index)?.size;
        Ok(())
    }

    fn PJRT_AsyncHostToDeviceTransferManager_SetBufferError(
        args: PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args
    ) {
        let manager = MANAGERS.get(args.transfer_manager)?;
        let slot = manager.slot(args.buffer_index)?;
        // SAFETY: the caller passes a string of that size.
        let message =
            unsafe { abi::text(args.error_message, args.error_message_size, "error_message") }?;
        slot.data.lock().unwrap_or_else(PoisonError::into_inner).take();
        slot.buffer.fulfil(Err(Error::new(error::code(args.error_code), message)))
    }

    /// Metadata is for traces; there is nothing to do with it.
    fn PJRT_AsyncHostToDeviceTransferManager_AddMetadata(
        args: PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args
    ) {
        MANAGERS.get(args.transfer_manager)?;
        Ok(())
    }

    fn PJRT_Client_CreateAliasBuffer(args: PJRT_Client_CreateAliasBuffer_Args) {
        let client = CLIENTS.get(args.client)?;
        let memory = MEMORIES.get(args.memory)?.memory.clone();
        // SAFETY: the caller passes a shape of these sizes.
        let shape = unsafe {
            shape::read_array(
                args.shape_element_type, args.shape_dims, args.shape_num_dims, args.shape_layout,
            )
        }?;
        let device = client.client.device_of(&memory)?;
        let alias = Arc::new(Buffer::pending(Shape::Array(shape), device, &memory)?);
        args.fulfill_alias_buffer_cb = ALIASES.insert(Arc::clone(&alias));
        args.alias_buffer = buffer::give(&client, alias);
        Ok(())
    }

    fn PJRT_Client_FulfillAliasBuffer(args: PJRT_Client_FulfillAliasBuffer_Args) {
        let alias = ALIASES.get(args.fulfill_alias_buffer_cb)?;
        if args.status_code == ffi::PJRT_Error_Code_OK {
            let source = buffer::BUFFERS.get(args.buffer)?;
            ALIASES.destroy(args.fulfill_alias_buffer_cb)?;
            return alias.fulfil_from(&source.buffer);
        }
        // SAFETY: the caller passes a string of that size.
        let message =
            unsafe { abi::text(args.error_message, args.error_message_size, "error_message") }?;
        ALIASES.destroy(args.fulfill_alias_buffer_cb)?;
        alias.fulfil(Err(Error::new(error::code(args.status_code), message)))
    }
}

static ALIASES: Table<ffi::PJRT_FulfillAliasBufferCallback, Arc<Buffer>> =
    Table::new("PJRT_FulfillAliasBufferCallback");

unimplemented_entry! {
    PJRT_Buffer_DonateWithControlDependency(PJRT_Buffer_DonateWithControlDependency_Args):
        "what others still read is copied before it is overwritten";
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace(
        PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args
    ): "shapes need no canonical form in host memory";
}
