//! `PJRT_Error`: an error of ours with its text rendered, behind the function table that clients
//! since API 0.107 may use instead of the functions.

use std::ffi::c_char;
use std::ptr;

use rxla::{Code, Error, Result};

use crate::abi::{self, enter_silently, entry};
use crate::ffi;
use crate::handle::Table;

/// What a `PJRT_Error*` points to.
#[repr(C)]
pub(crate) struct Raised {
    /// First, as the C header lays `PJRT_Error` out.
    vtable: *const ffi::PJRT_Error_FunctionTable,
    error: Error,
    text: String,
}

// SAFETY: the table pointed to is a constant.
unsafe impl Send for Raised {}
// SAFETY: as above.
unsafe impl Sync for Raised {}

static ERRORS: Table<ffi::PJRT_Error, Raised> = Table::new("PJRT_Error");

/// A constant that may hold pointers.
struct Constant<T>(T);

// SAFETY: never written.
unsafe impl<T> Sync for Constant<T> {}

static VTABLE: Constant<ffi::PJRT_Error_FunctionTable> = Constant(ffi::PJRT_Error_FunctionTable {
    struct_size: size_of::<ffi::PJRT_Error_FunctionTable>(),
    instance_size: size_of::<ffi::PJRT_Error>(),
    extension_start: ptr::null_mut(),
    destroy: Some(table_destroy),
    message: Some(table_message),
    get_code: Some(table_get_code),
    for_each_payload: Some(table_for_each_payload),
});

/// Hands an error to the caller, who must destroy it.
pub(crate) fn raise(error: Error) -> *mut ffi::PJRT_Error {
    let text = error.to_string();
    ERRORS.insert(Raised { vtable: &raw const VTABLE.0, error, text })
}

/// Takes an error back from the C side, such as from a callback that made it with
/// [`callback_error`].
pub(crate) fn take(error: *mut ffi::PJRT_Error) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    Err(ERRORS.remove(error)?.error.clone())
}

/// The code of a number from the C side; numbers that are no code become `Unknown`.
pub(crate) fn code(number: ffi::PJRT_Error_Code) -> Code {
    i32::try_from(number).ok().and_then(Code::from_number).unwrap_or(Code::Unknown)
}

fn code_number(error: &Error) -> ffi::PJRT_Error_Code {
    // An error with code 0 would read as success.
    match error.code {
        Code::Ok => Code::Unknown as ffi::PJRT_Error_Code,
        code => code as ffi::PJRT_Error_Code,
    }
}

/// A `PJRT_CallbackError`: how a callback of the framework makes an error of ours.
pub(crate) unsafe extern "C" fn callback_error(
    number: ffi::PJRT_Error_Code,
    message: *const c_char,
    message_size: usize,
) -> *mut ffi::PJRT_Error {
    // SAFETY: the callback passes a string of that size.
    let message = unsafe { abi::slice(message.cast::<u8>(), message_size, "message") };
    let message = message.map(String::from_utf8_lossy).unwrap_or_default();
    raise(Error::new(code(number), message))
}

#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn PJRT_Error_Destroy(args: *mut ffi::PJRT_Error_Destroy_Args) {
    // SAFETY: the C API's promise about argument structs. A null error is destroyed by clients.
    unsafe { enter_silently("PJRT_Error_Destroy", args, 24, |args| ERRORS.destroy(args.error)) }
}

#[allow(non_snake_case)]
pub(crate) unsafe extern "C" fn PJRT_Error_Message(args: *mut ffi::PJRT_Error_Message_Args) {
    fn body(args: &mut ffi::PJRT_Error_Message_Args) -> Result<()> {
        args.message = c"".as_ptr();
        args.message_size = 0;
        if let Ok(raised) = ERRORS.get(args.error) {
            // The caller holds the handle, so the text outlives this share of it.
            args.message = raised.text.as_ptr().cast();
            args.message_size = raised.text.len();
        }
        Ok(())
    }
    // SAFETY: the C API's promise about argument structs.
    unsafe { enter_silently("PJRT_Error_Message", args, 40, body) }
}

entry! {
    fn PJRT_Error_GetCode(args: PJRT_Error_GetCode_Args) {
        args.code = code_number(&ERRORS.get(args.error)?.error);
        Ok(())
    }

    /// Our errors carry no payload.
    fn PJRT_Error_ForEachPayload(args: PJRT_Error_ForEachPayload_Args) {
        ERRORS.get(args.error)?;
        Ok(())
    }
}

unsafe extern "C" fn table_destroy(error: *mut ffi::PJRT_Error) {
    let _ = abi::contain("destroy", || ERRORS.destroy(error));
}

unsafe extern "C" fn table_message(
    error: *const ffi::PJRT_Error,
    message: *mut *const c_char,
    message_size: *mut usize,
) {
    if message.is_null() || message_size.is_null() {
        return;
    }
    let found = ERRORS.get(error).ok();
    let (data, size) =
        found.map_or((c"".as_ptr(), 0), |raised| (raised.text.as_ptr().cast(), raised.text.len()));
    // SAFETY: not null; the caller passes places to write to.
    unsafe {
        message.write(data);
        message_size.write(size);
    }
}

unsafe extern "C" fn table_get_code(error: *const ffi::PJRT_Error) -> ffi::PJRT_Error_Code {
    ERRORS.get(error).map_or(ffi::PJRT_Error_Code_UNKNOWN, |raised| code_number(&raised.error))
}

unsafe extern "C" fn table_for_each_payload(
    _error: *const ffi::PJRT_Error,
    _visitor: ffi::PJRT_Error_PayloadVisitor,
    _user_arg: *mut std::ffi::c_void,
) {
}
