//! The structs of the two extensions through which JAX's Python takes part in compiling, by hand:
//! their headers hold function tables that are passed in rather than asked for.
//!
//! Names follow `pjrt_c_api_custom_partitioner_extension.h`,
//! `pjrt_c_api_xla_transform_extension.h` and `inspect_sharding.h`.

use std::ffi::{c_char, c_void};

use rxla::{Code, Error, Result};

use crate::ffi;

/// A run of bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Text {
    pub(crate) data: *const c_char,
    pub(crate) size: usize,
}

impl Text {
    pub(crate) const EMPTY: Text = Text { data: std::ptr::null(), size: 0 };

    /// Lends bytes to the other side.
    pub(crate) fn lend(bytes: &[u8]) -> Text {
        Text { data: bytes.as_ptr().cast(), size: bytes.len() }
    }

    /// # Safety
    /// The bytes may be read while the result is used.
    pub(crate) unsafe fn bytes<'t>(self) -> &'t [u8] {
        if self.data.is_null() || self.size == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) }
    }
}

/// What each callback's arguments begin with: it says what went wrong and how its results are freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) api_version: i64,
    pub(crate) data: *mut c_void,
    pub(crate) cleanup_fn: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) has_error: bool,
    pub(crate) code: ffi::PJRT_Error_Code,
    pub(crate) error_msg: Text,
}

impl Header {
    pub(crate) fn new(api_version: i64) -> Header {
        Header {
            api_version,
            data: std::ptr::null_mut(),
            cleanup_fn: None,
            has_error: false,
            code: 0,
            error_msg: Text::EMPTY,
        }
    }

    /// # Safety
    /// A callback has filled the header in, and its text is still there.
    pub(crate) unsafe fn result(&self) -> Result<()> {
        if !self.has_error {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let message = String::from_utf8_lossy(unsafe { self.error_msg.bytes() }).into_owned();
        let code = i32::try_from(self.code).ok().and_then(Code::from_number);
        Err(Error::new(code.filter(|&code| code != Code::Ok).unwrap_or(Code::Unknown), message))
    }

    /// Frees what the callback gave.
    ///
    /// # Safety
    /// A callback has filled the header in; nothing of it is used any more.
    pub(crate) unsafe fn clean_up(&mut self) {
        if let Some(cleanup) = self.cleanup_fn.take() {
            // SAFETY: the callback said so.
            unsafe { cleanup(self.data) };
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Aval {
    pub(crate) shape: Text,
    pub(crate) has_sharding: bool,
    pub(crate) sharding: Text,
}

#[repr(C)]
pub(crate) struct PartitionArgs {
    pub(crate) header: Header,
    pub(crate) num_args: usize,
    pub(crate) op_args: *const Aval,
    pub(crate) op_result: Aval,
    pub(crate) backend_config: Text,
    pub(crate) mlir_module: Text,
    pub(crate) args_sharding: *const Text,
    pub(crate) result_sharding: Text,
}

#[repr(C)]
pub(crate) struct InferArgs {
    pub(crate) header: Header,
    pub(crate) num_args: usize,
    pub(crate) op_args: *const Aval,
    pub(crate) result_shape: Text,
    pub(crate) backend_config: Text,
    pub(crate) has_result_sharding: bool,
    pub(crate) result_sharding: Text,
}

#[repr(C)]
pub(crate) struct PartitionerCallbacks {
    pub(crate) version: i64,
    pub(crate) private_data: *mut c_void,
    pub(crate) dtor: Option<unsafe extern "C" fn(*mut PartitionerCallbacks)>,
    pub(crate) partition:
        Option<unsafe extern "C" fn(*mut PartitionerCallbacks, *mut PartitionArgs)>,
    pub(crate) infer_sharding:
        Option<unsafe extern "C" fn(*mut PartitionerCallbacks, *mut InferArgs)>,
    pub(crate) propagate_user_sharding:
        Option<unsafe extern "C" fn(*mut PartitionerCallbacks, *mut c_void)>,
    pub(crate) can_side_effecting_have_replicated_sharding: bool,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RegisterPartitionerArgs {
    pub(crate) struct_size: usize,
    pub(crate) name: *const c_char,
    pub(crate) name_size: usize,
    pub(crate) callbacks: *mut PartitionerCallbacks,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RegisterBatchArgs {
    pub(crate) struct_size: usize,
    pub(crate) name: *const c_char,
    pub(crate) name_size: usize,
}

type Entry<A> = unsafe extern "C" fn(*mut A) -> *mut ffi::PJRT_Error;

#[repr(C)]
pub(crate) struct PartitionerExtension {
    pub(crate) base: ffi::PJRT_Extension_Base,
    pub(crate) register_custom_partitioner: Option<Entry<RegisterPartitionerArgs>>,
    pub(crate) register_batch_partitionable: Option<Entry<RegisterBatchArgs>>,
}

/// What the configuration of an `InspectSharding` holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InspectCallback {
    pub(crate) call: unsafe extern "C" fn(*mut c_void, *mut InspectArgs),
    pub(crate) data: *mut c_void,
}

#[repr(C)]
pub(crate) struct InspectArgs {
    pub(crate) sharding_spec: *const c_char,
    pub(crate) sharding_spec_size: usize,
    pub(crate) error_txt: *const c_char,
    pub(crate) error_scratch: *mut c_void,
    pub(crate) free_error: Option<unsafe extern "C" fn(*mut InspectArgs)>,
}

#[repr(C)]
pub(crate) struct TransformArgs {
    pub(crate) struct_size: usize,
    pub(crate) header: Header,
    pub(crate) hlo_module: Text,
    pub(crate) transformed_hlo_module: Text,
    pub(crate) changed: bool,
}

#[repr(C)]
pub(crate) struct TransformCallbacks {
    pub(crate) version: i64,
    pub(crate) dtor: Option<unsafe extern "C" fn(*mut TransformCallbacks)>,
    pub(crate) transform_hlo_module:
        Option<unsafe extern "C" fn(*mut TransformCallbacks, *mut TransformArgs)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RegisterTransformArgs {
    pub(crate) struct_size: usize,
    pub(crate) name: *const c_char,
    pub(crate) name_size: usize,
    pub(crate) stage: u32,
    pub(crate) callbacks: *mut TransformCallbacks,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ClearTransformArgs {
    pub(crate) struct_size: usize,
    pub(crate) stage: u32,
    pub(crate) name: *const c_char,
    pub(crate) name_size: usize,
    pub(crate) callbacks: *mut TransformCallbacks,
    pub(crate) cleared: bool,
}

#[repr(C)]
pub(crate) struct TransformExtension {
    pub(crate) base: ffi::PJRT_Extension_Base,
    pub(crate) register_xla_transform: Option<Entry<RegisterTransformArgs>>,
    pub(crate) clear_xla_transform: Option<Entry<ClearTransformArgs>>,
}
