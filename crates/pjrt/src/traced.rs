//! Programs by what a framework traced, for the Python package, which asks here before it has jaxlib
//! write a program down for us: that takes several times as long as everything behind it where the
//! compiled program is found on disk. What is kept are bytes that jaxlib makes of an executable and
//! makes one of; they name a program whose code the client finds or compiles anew.

use std::ptr;

use crate::abi;
use crate::client::code_cache;

/// Keeps such names apart from those of programs.
const AREA: &[u8] = b"traced";

/// Finds the bytes that were kept under a name. Returns null where there are none, else memory for
/// [`RXLA_FreeTraced`], and its size.
///
/// # Safety
/// `name` points to `name_size` bytes; `size` points to a size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_RecallTraced(
    name: *const u8,
    name_size: usize,
    size: *mut usize,
) -> *mut u8 {
    let found = abi::contain("RXLA_RecallTraced", || {
        // SAFETY: the caller's promise.
        let name = unsafe { abi::slice(name, name_size, "name") }?;
        Ok(code_cache().and_then(|cache| cache.recall(&[AREA, name])))
    });
    let Ok(Some(bytes)) = found else { return ptr::null_mut() };
    if size.is_null() {
        return ptr::null_mut();
    }
    let bytes = bytes.into_boxed_slice();
    // SAFETY: the caller's promise.
    unsafe { size.write(bytes.len()) };
    Box::into_raw(bytes).cast()
}

/// Frees what [`RXLA_RecallTraced`] gave.
///
/// # Safety
/// `bytes` and `size` are what that gave, and nobody uses them any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_FreeTraced(bytes: *mut u8, size: usize) {
    if bytes.is_null() {
        return;
    }
    // SAFETY: the caller's promise: it came from a box of that size.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(bytes, size)) });
}

/// Keeps bytes under a name for later processes, if anything is kept.
///
/// # Safety
/// `name` points to `name_size` bytes, `bytes` to `size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn RXLA_KeepTraced(
    name: *const u8,
    name_size: usize,
    bytes: *const u8,
    size: usize,
) {
    // What goes wrong here only means that nothing is kept.
    let _ = abi::contain("RXLA_KeepTraced", || {
        // SAFETY: the caller's promise.
        let (name, bytes) =
            unsafe { (abi::slice(name, name_size, "name")?, abi::slice(bytes, size, "bytes")?) };
        if let Some(cache) = code_cache() {
            cache.keep(&[AREA, name], bytes);
        }
        Ok(())
    });
}
