//! What every function of the C ABI goes through.
//!
//! An entry never touches the caller's argument struct in place. It copies the `struct_size` bytes
//! the caller vouches for into a full-size zeroed struct, runs the body on that, and copies back as
//! many bytes. So a client built against an older header gets exactly its fields written, and a
//! body reads zeros where such a client has no field. Panics end here and become `INTERNAL`. Arithmetic
//! is the usual one, whatever the caller's thread does with subnormal numbers: jaxlib compiles where
//! they are zeros, which constants that are folded would become.

use std::any::Any;
use std::mem::{MaybeUninit, size_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rxla::{Error, Result};
use rxla_base::subnormals::Subnormals;

use crate::error;
use crate::ffi;
use crate::handle::Table;

/// More bytes or elements than any honest caller passes: beyond it a size is taken for garbage.
const ABSURD: usize = 1 << 46;

/// Declares entries: `fn NAME(args: ARGS [since FIELD]) { body }`. The body sees `args` as
/// `&mut ARGS` and returns `Result<()>`. `since` names the last field of the oldest client we
/// serve; without it the whole struct must be there.
macro_rules! entry {
    ($($(#[$doc:meta])* fn $name:ident($args:ident: $type:ident $(since $last:ident)?) $body:block)+) => {
        $(
            $(#[$doc])*
            #[allow(non_snake_case)]
            pub(crate) unsafe extern "C" fn $name(
                args: *mut $crate::ffi::$type,
            ) -> *mut $crate::ffi::PJRT_Error {
                fn body($args: &mut $crate::ffi::$type) -> rxla::Result<()> $body
                #[allow(unused_mut, unused_assignments)]
                let mut least = size_of::<$crate::ffi::$type>() - 7;
                $(least = $crate::abi::end_of!($crate::ffi::$type, $last);)?
                // SAFETY: the PJRT C API makes the caller pass a pointer to `struct_size` bytes
                // that start as the struct named in the signature does.
                unsafe { $crate::abi::enter(stringify!($name), args, least, body) }
            }
        )+
    };
}
pub(crate) use entry;

/// Offset of the byte after a field.
macro_rules! end_of {
    ($type:ty, $field:ident) => {{
        const fn size<T>(_: *const T) -> usize {
            std::mem::size_of::<T>()
        }
        let probe = std::mem::MaybeUninit::<$type>::uninit();
        // SAFETY: only the field's address is taken, inside an allocation of the whole struct.
        let field = unsafe { &raw const (*probe.as_ptr()).$field };
        std::mem::offset_of!($type, $field) + size(field)
    }};
}
pub(crate) use end_of;

/// Declares entries that are there, so that no pointer is null, and answer `UNIMPLEMENTED`.
macro_rules! unimplemented_entry {
    ($($name:ident($type:ident): $why:literal;)+) => {
        $crate::abi::entry! {
            $(fn $name(_args: $type) {
                Err(rxla::Error::unimplemented(concat!("`", stringify!($name), "`: ", $why)))
            })+
        }
    };
}
pub(crate) use unimplemented_entry;

/// Runs an entry's body as the module says and turns its error into a `PJRT_Error`.
///
/// # Safety
/// `args` is null or points to at least `struct_size` bytes (its first word) that may be read and
/// written during the call.
pub(crate) unsafe fn enter<A: Copy>(
    name: &'static str,
    args: *mut A,
    least: usize,
    body: fn(&mut A) -> Result<()>,
) -> *mut ffi::PJRT_Error {
    // SAFETY: passed on from the caller.
    match unsafe { run(name, args, least, body) } {
        Ok(()) => ptr::null_mut(),
        Err(error) => error::raise(error),
    }
}

/// [`enter`] for functions that return nothing: an error has nowhere to go.
///
/// # Safety
/// As for [`enter`].
pub(crate) unsafe fn enter_silently<A: Copy>(
    name: &'static str,
    args: *mut A,
    least: usize,
    body: fn(&mut A) -> Result<()>,
) {
    // SAFETY: passed on from the caller.
    let _ = unsafe { run(name, args, least, body) };
}

/// # Safety
/// As for [`enter`].
unsafe fn run<A: Copy>(
    name: &'static str,
    args: *mut A,
    least: usize,
    body: fn(&mut A) -> Result<()>,
) -> Result<()> {
    if args.is_null() {
        return Err(Error::invalid_argument(format!("`{name}` was given no arguments (null)")));
    }
    if !args.is_aligned() {
        return Err(Error::invalid_argument(format!("`{name}` was given a misaligned pointer")));
    }
    // SAFETY: every argument struct starts with its size.
    let given = unsafe { args.cast::<usize>().read() };
    if given < least {
        return Err(Error::invalid_argument(format!(
            "`{name}` needs {least} bytes of arguments and was given `struct_size` {given}: the \
             framework speaks a version of the PJRT C API that is too old or not PJRT at all"
        )));
    }
    let mut copy = MaybeUninit::<A>::zeroed();
    // SAFETY: both sides have that many bytes; the structs are plain data, so zeros followed by the
    // caller's bytes are a value. Fields that the caller leaves unset for us to write are not read.
    let local = unsafe {
        copy_start(args, copy.as_mut_ptr(), given);
        copy.assume_init_mut()
    };
    let mode = Subnormals::keep();
    let result = contain(name, || body(local));
    drop(mode);
    if result.is_ok() {
        // SAFETY: as above, in the other direction.
        unsafe { copy_start(local, args, given) };
    }
    result
}

/// Copies a struct, or the first `bytes` of it if it has more.
///
/// # Safety
/// Both sides are aligned and have that many bytes.
unsafe fn copy_start<A>(from: *const A, to: *mut A, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if bytes >= size_of::<A>() {
            // The size is known here, so that this is a few instructions. Almost all calls are this.
            ptr::copy_nonoverlapping(from, to, 1);
        } else {
            ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), bytes);
        }
    }
}

/// Runs `body` and turns a panic into an `INTERNAL` error.
pub(crate) fn contain<T>(name: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(Error::internal(format!("{name}: {}", describe(&*panic)))))
}

fn describe(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}

/// A caller's array.
///
/// # Safety
/// If neither null nor absurdly long, `data` points to `len` values that stay unchanged for `'a`.
pub(crate) unsafe fn slice<'a, T>(data: *const T, len: usize, what: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Error::invalid_argument(format!("`{what}` is null, with {len} elements")));
    }
    if !data.is_aligned() {
        return Err(Error::invalid_argument(format!("`{what}` is a misaligned pointer")));
    }
    if len.checked_mul(size_of::<T>().max(1)).is_none_or(|size| size > ABSURD) {
        return Err(Error::invalid_argument(format!("`{what}` claims to have {len} elements")));
    }
    // SAFETY: not null, aligned, of a size that fits; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

/// A caller's string.
///
/// # Safety
/// As for [`slice`].
pub(crate) unsafe fn text<'a>(
    data: *const std::ffi::c_char,
    len: usize,
    what: &str,
) -> Result<&'a str> {
    // SAFETY: passed on.
    let bytes = unsafe { slice(data.cast::<u8>(), len, what) }?;
    std::str::from_utf8(bytes)
        .map_err(|_| Error::invalid_argument(format!("`{what}` is not UTF-8 text")))
}

/// Where a caller has put a struct that it points to.
///
/// # Safety
/// If not null, `pointer` points to a value that stays unchanged for `'a`.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Error::invalid_argument(format!("`{what}` is null or misaligned")));
    }
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Copies a nested struct that carries its own `struct_size`, with zeros where the caller has no
/// field. A null pointer gives `None`.
///
/// # Safety
/// If not null, `pointer` points to `struct_size` (its first word) bytes.
pub(crate) unsafe fn versioned<T: Copy>(pointer: *const T, what: &str) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    if !pointer.is_aligned() {
        return Err(Error::invalid_argument(format!("`{what}` is a misaligned pointer")));
    }
    // SAFETY: the struct starts with its size.
    let given = unsafe { pointer.cast::<usize>().read() };
    if !(16..ABSURD).contains(&given) {
        return Err(Error::invalid_argument(format!("`{what}` has `struct_size` {given}")));
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: both sides have that many bytes; the structs are plain data.
    Ok(Some(unsafe {
        ptr::copy_nonoverlapping(
            pointer.cast::<u8>(),
            copy.as_mut_ptr().cast::<u8>(),
            given.min(size_of::<T>()),
        );
        copy.assume_init()
    }))
}

/// A string for the caller to look at while its owner lives.
pub(crate) fn out_text(text: &str) -> (*const std::ffi::c_char, usize) {
    (text.as_ptr().cast(), text.len())
}

/// A number for a C `int`.
pub(crate) fn int(number: usize) -> Result<i32> {
    i32::try_from(number).map_err(|_| Error::internal(format!("{number} does not fit a C `int`")))
}

/// Owned bytes for the caller to look at until it calls the deleter: data, size and the token that
/// [`free_bytes`] takes. Each kind of token has an opaque name of its own on the C side.
pub(crate) fn out_bytes<H>(bytes: Vec<u8>) -> (*const std::ffi::c_char, usize, *mut H) {
    let (data, size) = (bytes.as_ptr().cast(), bytes.len());
    (data, size, BYTES.insert(bytes).cast())
}

/// Bytes on loan to the C side; their heap memory stays where it is while the table holds them.
static BYTES: Table<std::ffi::c_void, Vec<u8>> = Table::new("serialized bytes");

/// The deleter for tokens of [`out_bytes`].
pub(crate) unsafe extern "C" fn free_bytes<H>(token: *mut H) {
    let _ = BYTES.destroy(token.cast());
}
