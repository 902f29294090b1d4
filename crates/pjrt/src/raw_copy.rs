//! Raw copies of buffers' bytes, in the layout that the buffers report.

use std::ffi::c_void;

use rxla::hlo::literal::Bytes;
use rxla::{Error, Event, Result};

use crate::abi::{self, entry};
use crate::buffer::BUFFERS;
use crate::error;
use crate::event;
use crate::ffi;
use crate::handle::Table;

entry! {
    fn PJRT_Buffer_CopyRawToHost(args: PJRT_Buffer_CopyRawToHost_Args) {
        let bytes = BUFFERS.get(args.buffer)?.outside_bytes()?;
        let part = part(&bytes, args.offset, args.transfer_size)?;
        if args.dst.is_null() && !part.is_empty() {
            return Err(Error::invalid_argument("`dst` is null"));
        }
        // SAFETY: the caller passes `transfer_size` bytes to write to.
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), args.dst.cast::<u8>(), part.len()) };
        args.event = event::give_done(Ok(()));
        Ok(())
    }

    fn PJRT_Buffer_CopyRawToHostFuture(args: PJRT_Buffer_CopyRawToHostFuture_Args) {
        let bytes = BUFFERS.get(args.buffer)?.outside_bytes()?;
        part(&bytes, args.offset, args.transfer_size)?;
        let done = Event::new();
        args.event = event::give(done.clone());
        let (offset, size) = (args.offset, args.transfer_size);
        args.callback_data = COPIES.insert(PendingCopy { bytes, offset, size, done }).cast();
        args.future_ready_callback = Some(copy_to_future);
        Ok(())
    }
}

/// A run of a buffer's bytes.
fn part(bytes: &Bytes, offset: i64, size: i64) -> Result<&[u8]> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(size).ok())
        .and_then(|(offset, size)| Some(offset..offset.checked_add(size)?));
    range.and_then(|range| bytes.as_slice().get(range)).ok_or_else(|| {
        Error::invalid_argument(format!(
            "{size} bytes from offset {offset} are not inside a buffer of {} bytes",
            bytes.len()
        ))
    })
}

/// A raw copy whose destination is not known yet.
struct PendingCopy {
    bytes: Bytes,
    offset: i64,
    size: i64,
    done: Event,
}

static COPIES: Table<c_void, PendingCopy> = Table::new("pending raw copy");

unsafe extern "C" fn copy_to_future(args: *mut ffi::PJRT_Buffer_CopyRawToHostFuture_Callback_Args) {
    // SAFETY: the framework passes its arguments with their size.
    let Ok(Some(args)) = (unsafe { abi::versioned(args.cast_const(), "callback arguments") })
    else {
        return;
    };
    let Ok(copy) = COPIES.remove(args.callback_data) else { return };
    let result = if args.error_code == ffi::PJRT_Error_Code_OK {
        part(&copy.bytes, copy.offset, copy.size).map(|part| {
            // SAFETY: the framework passes a destination of the transfer's size.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), args.dst.cast::<u8>(), part.len());
            }
        })
    } else {
        // SAFETY: a string of that size.
        let message =
            unsafe { abi::text(args.error_message, args.error_message_size, "error_message") };
        Err(Error::new(error::code(args.error_code), message.unwrap_or_default()))
    };
    copy.done.complete(result);
}
