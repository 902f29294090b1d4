//! The profiler extension: what rxla does while somebody profiles, as an XSpace proto (`xspace.rs`).

use std::ffi::c_char;
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rxla::trace::Recording;
use rxla::{Error, Result};

use crate::abi;
use crate::ffi;
use crate::handle::Table;
use crate::xspace;

/// What a `PLUGIN_Profiler*` points to.
#[derive(Default)]
struct Profiler {
    /// From the first start on.
    recording: Mutex<Option<Recording>>,
    /// Filled by the first collection; the caller looks at it until the profiler is destroyed.
    collected: OnceLock<Vec<u8>>,
}

static PROFILERS: Table<ffi::PLUGIN_Profiler, Profiler> = Table::new("PLUGIN_Profiler");
static ERRORS: Table<ffi::PLUGIN_Profiler_Error, (Error, String)> =
    Table::new("PLUGIN_Profiler_Error");

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Declares functions of the table, as [`abi::entry`] does for PJRT's.
macro_rules! profiler_entry {
    ($($(#[$doc:meta])* fn $name:ident($args:ident: $type:ident) $body:block)+) => { $(
        $(#[$doc])*
        unsafe extern "C" fn $name(args: *mut ffi::$type) -> *mut ffi::PLUGIN_Profiler_Error {
            let result = abi::contain(stringify!($name), || {
                if args.is_null() || !args.is_aligned() {
                    return Err(Error::invalid_argument(concat!(stringify!($type), " is null")));
                }
                // SAFETY: frameworks pass the struct of the function they call. This API has had
                // one version only, and callers leave the struct's size as they found it in
                // memory, so that it is not looked at.
                let $args = unsafe { &mut *args };
                $body
            });
            match result {
                Ok(()) => ptr::null_mut(),
                Err(error) => {
                    let text = error.to_string();
                    ERRORS.insert((error, text))
                }
            }
        }
    )+ };
}

profiler_entry! {
    fn error_get_code(args: PLUGIN_Profiler_Error_GetCode_Args) {
        args.code = ERRORS.get(args.error)?.0.code as i32;
        Ok(())
    }

    /// Options choose what to trace; there is one thing.
    fn create(args: PLUGIN_Profiler_Create_Args) {
        args.profiler = PROFILERS.insert(Profiler::default());
        Ok(())
    }

    fn destroy(args: PLUGIN_Profiler_Destroy_Args) {
        PROFILERS.destroy(args.profiler)
    }

    fn start(args: PLUGIN_Profiler_Start_Args) {
        let profiler = PROFILERS.get(args.profiler)?;
        lock(&profiler.recording).get_or_insert_with(Recording::start);
        Ok(())
    }

    fn stop(args: PLUGIN_Profiler_Stop_Args) {
        let profiler = PROFILERS.get(args.profiler)?;
        lock(&profiler.recording).iter().for_each(Recording::stop);
        Ok(())
    }

    /// With no buffer given, the data stays ours until the profiler is destroyed.
    fn collect_data(args: PLUGIN_Profiler_CollectData_Args) {
        let profiler = PROFILERS.get(args.profiler)?;
        let data = profiler.collected.get_or_init(|| {
            let trace = lock(&profiler.recording).as_ref().map(Recording::trace);
            xspace::serialize(&trace.unwrap_or_default())
        });
        if args.buffer.is_null() {
            args.buffer = data.as_ptr().cast_mut();
            args.buffer_size_in_bytes = data.len();
            return Ok(());
        }
        if args.buffer_size_in_bytes < data.len() {
            return Err(Error::invalid_argument(format!(
                "the profile takes {} bytes, {} are given", data.len(), args.buffer_size_in_bytes
            )));
        }
        // SAFETY: the caller passes that many bytes to write to.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), args.buffer, data.len()) };
        Ok(())
    }
}

unsafe extern "C" fn error_destroy(args: *mut ffi::PLUGIN_Profiler_Error_Destroy_Args) {
    if !args.is_null() {
        // SAFETY: frameworks pass their arguments.
        let _: Result<()> = ERRORS.destroy(unsafe { (*args).error });
    }
}

unsafe extern "C" fn error_message(args: *mut ffi::PLUGIN_Profiler_Error_Message_Args) {
    if args.is_null() {
        return;
    }
    // SAFETY: frameworks pass their arguments; the error they hold keeps its text.
    unsafe {
        let found = ERRORS.get((*args).error).ok();
        let text: (*const c_char, usize) =
            found.map_or((c"".as_ptr(), 0), |error| abi::out_text(&error.1));
        ((*args).message, (*args).message_size) = text;
    }
}

/// The extension, to be chained to `next`. Its table lives as long as the library.
pub(crate) fn extension(next: *mut ffi::PJRT_Extension_Base) -> ffi::PJRT_Profiler_Extension {
    let table = Box::leak(Box::new(ffi::PLUGIN_Profiler_Api {
        struct_size: size_of::<ffi::PLUGIN_Profiler_Api>(),
        priv_: ptr::null_mut(),
        error_destroy: Some(error_destroy),
        error_message: Some(error_message),
        error_get_code: Some(error_get_code),
        create: Some(create),
        destroy: Some(destroy),
        start: Some(start),
        stop: Some(stop),
        collect_data: Some(collect_data),
    }));
    ffi::PJRT_Profiler_Extension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<ffi::PJRT_Profiler_Extension>(),
            type_: ffi::PJRT_Extension_Type_Profiler,
            next,
        },
        profiler_api: table,
        traceme_context_id: 0,
    }
}
