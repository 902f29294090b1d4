//! The world outside a running program: the callbacks that an execution brings along for sends and
//! receives, and custom calls of the registry.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use rxla::hlo::literal::Bytes;
use rxla::hlo::{ArrayLiteral, Literal, Shape};
use rxla::host::{CustomCall, Host};
use rxla::{Client, Error, Event, LogicalDevice, Result};

use crate::abi::{self, entry};
use crate::client::UserArg;
use crate::error;
use crate::event;
use crate::ffi;
use crate::handle::Table;
use crate::raw::Raw;
use crate::xla_ffi::{CONTEXTS, ContextObject, Registry};

type SendFn = unsafe extern "C" fn(
    *mut ffi::PJRT_Chunk,
    *mut ffi::PJRT_CallbackError,
    usize,
    bool,
    *mut c_void,
) -> *mut ffi::PJRT_Error;
type RecvFn = unsafe extern "C" fn(*mut ffi::PJRT_CopyToDeviceStream, *mut c_void);

/// The callbacks of one execution, by device and channel.
pub(crate) struct CallbackHost {
    sends: FxHashMap<(usize, i64), (SendFn, UserArg)>,
    receives: FxHashMap<(usize, i64), (RecvFn, UserArg)>,
    context: Option<Arc<ContextObject>>,
    client: Client,
}

/// The parameters that an execution must not take.
///
/// # Safety
/// The options' list is as long as it says.
pub(crate) unsafe fn not_donated(options: &ffi::PJRT_ExecuteOptions) -> Result<Vec<usize>> {
    // SAFETY: the caller's promise.
    let indices = unsafe {
        abi::slice(
            options.non_donatable_input_indices,
            options.num_non_donatable_input_indices,
            "non_donatable_input_indices",
        )
    }?;
    indices
        .iter()
        .map(|&index| {
            usize::try_from(index).map_err(|_| {
                Error::invalid_argument(format!("there is no input {index} to keep from donation"))
            })
        })
        .collect()
}

impl CallbackHost {
    /// # Safety
    /// The options' lists are as long as they say: one list per device, in it one entry per op.
    pub(crate) unsafe fn new(
        client: &Client,
        options: &ffi::PJRT_ExecuteOptions,
        devices: &[LogicalDevice],
    ) -> Result<CallbackHost> {
        let mut host = CallbackHost {
            sends: FxHashMap::default(),
            receives: FxHashMap::default(),
            context: CONTEXTS.get_optional(options.context)?,
            client: client.clone(),
        };
        if options.num_send_ops > 0 && !options.send_callbacks.is_null() {
            for (index, logical) in devices.iter().enumerate() {
                // SAFETY: the caller's promise.
                let list = unsafe {
                    let list = *options.send_callbacks.add(index);
                    abi::slice(list.cast_const(), options.num_send_ops, "send_callbacks")?
                };
                for info in list {
                    if let Some(callback) = info.send_callback {
                        let key = (logical.device, info.channel_id);
                        host.sends.insert(key, (callback, Raw(info.user_arg)));
                    }
                }
            }
        }
        if options.num_recv_ops > 0 && !options.recv_callbacks.is_null() {
            for (index, logical) in devices.iter().enumerate() {
                // SAFETY: the caller's promise.
                let list = unsafe {
                    let list = *options.recv_callbacks.add(index);
                    abi::slice(list.cast_const(), options.num_recv_ops, "recv_callbacks")?
                };
                for info in list {
                    if let Some(callback) = info.recv_callback {
                        let key = (logical.device, info.channel_id);
                        host.receives.insert(key, (callback, Raw(info.user_arg)));
                    }
                }
            }
        }
        Ok(host)
    }
}

fn no_callback(what: &str, channel: i64) -> Error {
    Error::invalid_argument(format!(
        "the program has a host `{what}` on channel {channel}, but the execution was given no \
         callback for it"
    ))
}

impl Host for CallbackHost {
    fn custom_call(&self, call: &CustomCall<'_>, operands: &[Literal]) -> Option<Result<Literal>> {
        Registry::call(&self.client, self.context.as_deref(), call, operands)
    }

    fn custom_call_in_place(
        &self,
        call: &CustomCall<'_>,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Option<Result<()>> {
        Registry::call_in_place(self.context.as_deref(), call, operands, results)
    }

    fn send(&self, device: usize, channel: i64, value: &Literal) -> Result<()> {
        let &(callback, user_arg) =
            self.sends.get(&(device, channel)).ok_or_else(|| no_callback("send", channel))?;
        let bytes = match value {
            Literal::Array(array) => array.shared_bytes(),
            Literal::Token => Bytes::zeroed(0)?,
            Literal::Tuple(_) => {
                return Err(Error::unimplemented("sending a tuple to the host"));
            }
        };
        // The chunk shares the value's storage until the callback frees it.
        let (data, size) = (bytes.as_slice().as_ptr(), bytes.len());
        let mut chunk = ffi::PJRT_Chunk {
            data: data.cast_mut().cast(),
            size,
            deleter: Some(free_chunk),
            deleter_arg: CHUNKS.insert(bytes),
        };
        let mut make_error: ffi::PJRT_CallbackError = Some(error::callback_error);
        // SAFETY: the framework's callback, called as the C API says; it frees the chunk.
        let failure = unsafe { callback(&mut chunk, &mut make_error, size, true, user_arg.0) };
        error::take(failure)
    }

    fn receive(&self, device: usize, channel: i64, shape: &Shape) -> Result<Literal> {
        let &(callback, user_arg) =
            self.receives.get(&(device, channel)).ok_or_else(|| no_callback("recv", channel))?;
        let Shape::Array(array) = shape else {
            return match shape {
                Shape::Token => Ok(Literal::Token),
                _ => Err(Error::unimplemented(format!("receiving `{shape}` from the host"))),
            };
        };
        let size = array.byte_size().ok_or_else(|| {
            Error::invalid_argument(format!("`{array}` has no size that memory could hold"))
        })?;
        let received = Mutex::new(Received { bytes: self.client.zeroed(size)?, len: 0 });
        let stream = Arc::new(Stream { received, done: Event::new() });
        if size == 0 {
            stream.done.complete(Ok(()));
        }
        // SAFETY: the framework's callback, called as the C API says; it destroys the stream.
        unsafe { callback(STREAMS.insert_shared(Arc::clone(&stream)), user_arg.0) }
        stream.done.wait()?;
        let nothing = Received { bytes: Bytes::zeroed(0)?, len: 0 };
        let bytes = std::mem::replace(&mut *stream.received(), nothing).bytes;
        Ok(Literal::Array(ArrayLiteral::from_bytes(&array.without_layout(), bytes)?))
    }
}

static CHUNKS: Table<c_void, Bytes> = Table::new("chunk");

unsafe extern "C" fn free_chunk(_data: *mut c_void, token: *mut c_void) {
    let _ = CHUNKS.destroy(token);
}

/// What a `PJRT_CopyToDeviceStream*` points to: a value on its way to a waiting program.
pub(crate) struct Stream {
    received: Mutex<Received>,
    done: Event,
}

/// The value, of which the first `len` bytes are there.
struct Received {
    bytes: Bytes,
    len: usize,
}

impl Stream {
    fn received(&self) -> std::sync::MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static STREAMS: Table<ffi::PJRT_CopyToDeviceStream, Stream> = Table::new("PJRT_CopyToDeviceStream");

entry! {
    fn PJRT_CopyToDeviceStream_Destroy(args: PJRT_CopyToDeviceStream_Destroy_Args) {
        if !args.stream.is_null() {
            let stream = STREAMS.remove(args.stream)?;
            // A program must not wait for what nobody can send any more.
            stream.done.complete(Err(Error::internal(
                "the host destroyed a transfer to the device before it was complete",
            )));
        }
        Ok(())
    }

    fn PJRT_CopyToDeviceStream_AddChunk(args: PJRT_CopyToDeviceStream_AddChunk_Args) {
        let stream = STREAMS.get(args.stream)?;
        // SAFETY: the caller passes a chunk whose pointer and size are good.
        let added = unsafe {
            let chunk = abi::reference(args.chunk.cast_const(), "chunk")?;
            let added = abi::slice(chunk.data.cast_const().cast::<u8>(), chunk.size, "chunk")
                .and_then(|data| add_chunk(&stream, data));
            if let Some(deleter) = chunk.deleter {
                deleter(chunk.data, chunk.deleter_arg);
            }
            added
        };
        if added? {
            stream.done.complete(Ok(()));
        }
        args.transfer_complete = event::give_done(Ok(()));
        Ok(())
    }

    fn PJRT_CopyToDeviceStream_TotalBytes(args: PJRT_CopyToDeviceStream_TotalBytes_Args) {
        args.total_bytes = STREAMS.get(args.stream)?.received().bytes.len() as i64;
        Ok(())
    }

    fn PJRT_CopyToDeviceStream_GranuleSize(args: PJRT_CopyToDeviceStream_GranuleSize_Args) {
        STREAMS.get(args.stream)?;
        args.granule_size_in_bytes = 1;
        Ok(())
    }

    fn PJRT_CopyToDeviceStream_CurrentBytes(args: PJRT_CopyToDeviceStream_CurrentBytes_Args) {
        args.current_bytes = STREAMS.get(args.stream)?.received().len as i64;
        Ok(())
    }
}

/// Appends to the stream and tells whether it is complete.
fn add_chunk(stream: &Stream, data: &[u8]) -> Result<bool> {
    let received = &mut *stream.received();
    let (start, total) = (received.len, received.bytes.len());
    let missing = total - start;
    if data.len() > missing {
        return Err(Error::invalid_argument(format!(
            "a chunk of {} bytes was added to a transfer of {total} bytes that lacks {missing}",
            data.len()
        )));
    }
    received.len += data.len();
    received.bytes.make_mut()[start..received.len].copy_from_slice(data);
    Ok(received.len == total)
}
