//! Raw copies of buffers' bytes, in the layout that the buffers report.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use rxla::hlo::Literal;
use rxla::{Buffer, Error, Event, Result};

use crate::abi::{self, entry};
use crate::buffer::{BUFFERS, physical};
use crate::error;
use crate::event;
use crate::ffi;
use crate::handle::Table;
use crate::raw::Raw;

entry! {
    fn PJRT_Buffer_CopyRawToHost(args: PJRT_Buffer_CopyRawToHost_Args) {
        let object = BUFFERS.get(args.buffer)?;
        let part = part(object.buffer.byte_size(), args.offset, args.transfer_size)?;
        if args.dst.is_null() && !part.is_empty() {
            return Err(Error::invalid_argument("`dst` is null"));
        }
        let done = Event::new();
        args.event = event::give(done.clone());
        copy(&object.buffer, part, Raw(args.dst), done)
    }

    fn PJRT_Buffer_CopyRawToHostFuture(args: PJRT_Buffer_CopyRawToHostFuture_Args) {
        let object = BUFFERS.get(args.buffer)?;
        let part = part(object.buffer.byte_size(), args.offset, args.transfer_size)?;
        let done = Event::new();
        args.event = event::give(done.clone());
        // Shares the bytes, and outlives the buffer.
        let buffer = object.buffer.copy_to(object.buffer.device(), object.buffer.memory())?;
        args.callback_data = COPIES.insert(PendingCopy { buffer, part, done }).cast();
        args.future_ready_callback = Some(copy_to_future);
        Ok(())
    }
}

/// Has the part copied when the contents are there.
fn copy(buffer: &Buffer, part: Range<usize>, target: Raw<c_void>, done: Event) -> Result<()> {
    buffer.when_there(move |contents| {
        let target = target;
        let copied = contents.and_then(|literal| {
            let Literal::Array(array) = literal else { return Ok(()) };
            let bytes = physical(&array)?;
            let part = bytes.as_slice().get(part).unwrap_or_default();
            // SAFETY: the caller passes `transfer_size` bytes to write to, until the event is ready.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), target.0.cast::<u8>(), part.len());
            }
            Ok(())
        });
        done.complete(copied);
    })
}

/// A run of a buffer's bytes.
fn part(length: usize, offset: i64, size: i64) -> Result<Range<usize>> {
    let range = usize::try_from(offset)
        .ok()
        .zip(usize::try_from(size).ok())
        .and_then(|(offset, size)| Some(offset..offset.checked_add(size)?));
    range.filter(|range| range.end <= length).ok_or_else(|| {
        Error::invalid_argument(format!(
            "{size} bytes from offset {offset} are not inside a buffer of {length} bytes"
        ))
    })
}

/// A raw copy whose destination is not known yet.
struct PendingCopy {
    buffer: Arc<Buffer>,
    part: Range<usize>,
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
        self::copy(&copy.buffer, copy.part.clone(), Raw(args.dst), copy.done.clone())
    } else {
        // SAFETY: a string of that size.
        let message =
            unsafe { abi::text(args.error_message, args.error_message_size, "error_message") };
        Err(Error::new(error::code(args.error_code), message.unwrap_or_default()))
    };
    if let Err(error) = result {
        copy.done.complete(Err(error));
    }
}
