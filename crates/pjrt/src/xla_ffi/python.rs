//! JAX's host callbacks on the platform `cpu`, the FFI's way: custom calls by an index into the
//! callbacks that jaxlib hands over with each execution. The handler inside jaxlib keeps C++ state
//! that only its own runtime can make, so the call of the Python function is left to a hook that
//! the Python package installs.

use std::ffi::{c_char, c_void};
use std::sync::{PoisonError, RwLock};

use rxla::hlo::Literal;
use rxla::hlo::literal::Bytes;
use rxla::host::CustomCall;
use rxla::{Client, Error, Result};

use super::attributes::{self, Attribute};
use super::frame::Frame;
use super::{ContextObject, TypeId};
use crate::abi;
use crate::ffi;

/// The targets that JAX emits.
const TARGETS: [&str; 2] =
    ["xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback"];

/// The id under which jaxlib adds the callbacks: the first 64 bits of SHA-512 of
/// `xla::FfiLoadedHostCallbacks`, as XLA's `host_callback.cc` says.
const CALLBACKS: TypeId = 7357244197867843242;

/// `xla::FfiLoadedHostCallbacks`.
#[repr(C)]
struct LoadedCallbacks {
    callbacks: *const *mut c_void,
    count: u32,
}

/// Calls a Python function with arrays and stores what it returns. On failure returns false, with a
/// text that ends in a null byte in `message`. `owners` is for [`RXLA_HoldOperand`].
type Hook = unsafe extern "C" fn(
    function: *mut c_void,
    operands: *mut ffi::XLA_FFI_Buffer,
    operand_count: usize,
    results: *mut ffi::XLA_FFI_Buffer,
    result_count: usize,
    message: *mut c_char,
    message_size: usize,
    owners: *const Bytes,
) -> bool;

static HOOK: RwLock<Option<Hook>> = RwLock::new(None);

/// Installs the function that calls Python. It must stay good for the rest of the process.
#[unsafe(no_mangle)]
pub extern "C" fn RXLA_SetPythonCallback(hook: Option<Hook>) {
    *HOOK.write().unwrap_or_else(PoisonError::into_inner) = hook;
}

/// Keeps the memory of operand number `index` beyond the call, until [`RXLA_ReleaseOperand`].
///
/// # Safety
/// `owners` is what the hook was called with, in a call that has such an operand and has not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_HoldOperand(owners: *const Bytes, index: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    let owner = unsafe { &*owners.add(index) };
    Box::into_raw(Box::new(owner.clone())).cast()
}

/// Gives back what [`RXLA_HoldOperand`] has kept.
///
/// # Safety
/// `held` comes from there and is given back once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_ReleaseOperand(held: *mut c_void) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(held.cast::<Bytes>()) });
}

/// Runs a host callback; `None` if the call is none, or nobody calls Python.
pub(super) fn call(
    client: &Client,
    execution: Option<&ContextObject>,
    call: &CustomCall<'_>,
    operands: &[Literal],
) -> Option<Result<Literal>> {
    Some(run(hook(call.target)?, client, execution, call, operands))
}

/// Whether [`call`] is who runs calls of a target.
pub(super) fn takes(target: &str) -> bool {
    hook(target).is_some()
}

fn hook(target: &str) -> Option<Hook> {
    TARGETS.contains(&target).then(|| *HOOK.read().unwrap_or_else(PoisonError::into_inner))?
}

fn run(
    hook: Hook,
    client: &Client,
    execution: Option<&ContextObject>,
    call: &CustomCall<'_>,
    operands: &[Literal],
) -> Result<Literal> {
    let attributes = attributes::parse(call.config)?;
    let index = attributes.iter().find_map(|(name, value)| match value {
        Attribute::Scalar(_, bytes) if name == "index" => {
            Some(u64::from_le_bytes(bytes[..].try_into().ok()?))
        }
        _ => None,
    });
    let callbacks = execution.and_then(|execution| execution.get(CALLBACKS)).ok_or_else(|| {
        Error::invalid_argument(
            "the program calls back to Python, but the execution brought no callbacks",
        )
    })?;
    // SAFETY: jaxlib adds its struct under this type id and keeps it during the execution.
    let functions = unsafe {
        let callbacks = abi::reference(callbacks.0.cast::<LoadedCallbacks>(), "callbacks")?;
        abi::slice(callbacks.callbacks, callbacks.count as usize, "callbacks")?
    };
    let function = index
        .and_then(|index| functions.get(usize::try_from(index).ok()?))
        .copied()
        .ok_or_else(|| {
            Error::invalid_argument(format!(
                "the program calls back to Python function {index:?} of {}",
                functions.len()
            ))
        })?;
    let mut frame = Frame::new(client, call, operands)?;
    let owners = frame.operand_bytes();
    let mut message = vec![0u8; 1 << 16];
    let done = frame.with_buffers(|operands, results| {
        // SAFETY: the hook is the Python package's; everything it gets lives during the call.
        unsafe {
            hook(
                function,
                operands.as_mut_ptr(),
                operands.len(),
                results.as_mut_ptr(),
                results.len(),
                message.as_mut_ptr().cast(),
                message.len(),
                owners.as_ptr(),
            )
        }
    });
    if done {
        return frame.into_literal(call.result_shape);
    }
    let end = message.iter().position(|&byte| byte == 0).unwrap_or(message.len());
    Err(Error::internal(String::from_utf8_lossy(&message[..end])))
}
