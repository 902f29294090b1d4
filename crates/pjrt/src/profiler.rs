//! The profiler extension: which programs ran when, as an XSpace proto.

use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;
use rxla::{Error, Result};

use crate::abi;
use crate::ffi;
use crate::handle::Table;
use crate::wire::Writer;

/// One execution, in nanoseconds since the epoch.
struct Span {
    program: String,
    device: usize,
    start: u64,
    duration: u64,
}

/// What a `PLUGIN_Profiler*` points to.
#[derive(Default)]
struct Profiler {
    spans: Mutex<Vec<Span>>,
    /// Filled by the first collection; the caller looks at it until the profiler is destroyed.
    collected: OnceLock<Vec<u8>>,
}

static PROFILERS: Table<ffi::PLUGIN_Profiler, Profiler> = Table::new("PLUGIN_Profiler");
static ERRORS: Table<ffi::PLUGIN_Profiler_Error, (Error, String)> =
    Table::new("PLUGIN_Profiler_Error");

/// The profilers that record, by handle address. Almost always none, which the counter tells fast.
static RECORDING: AtomicUsize = AtomicUsize::new(0);
static RECORDERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` and records it under the program's name if anybody profiles.
pub(crate) fn record<T>(program: &str, device: usize, work: impl FnOnce() -> T) -> T {
    if RECORDING.load(Ordering::Relaxed) == 0 {
        return work();
    }
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let clock = Instant::now();
    let done = work();
    let duration = clock.elapsed().as_nanos() as u64;
    let recorders = lock(&RECORDERS).clone();
    for recorder in recorders {
        if let Ok(profiler) = PROFILERS.get(ptr::without_provenance(recorder)) {
            lock(&profiler.spans).push(Span {
                program: program.to_owned(),
                device,
                start: wall.as_nanos() as u64,
                duration,
            });
        }
    }
    done
}

/// An XSpace with one plane per device; field numbers of `xplane.proto`.
fn serialize(spans: &[Span]) -> Vec<u8> {
    let mut space = Writer::default();
    let mut devices: Vec<usize> = spans.iter().map(|span| span.device).collect();
    devices.sort_unstable();
    devices.dedup();
    for device in devices {
        let spans: Vec<&Span> = spans.iter().filter(|span| span.device == device).collect();
        let begin = spans.iter().map(|span| span.start).min().unwrap_or(0);
        let mut names: Vec<&str> = Vec::new();
        let mut ids: FxHashMap<&str, i64> = FxHashMap::default();
        let mut line = Writer::default();
        line.int(1, 1);
        line.bytes(2, b"XLA Modules");
        line.int(3, begin as i64);
        for span in &spans {
            let id = *ids.entry(&span.program).or_insert_with(|| {
                names.push(&span.program);
                names.len() as i64
            });
            let mut event = Writer::default();
            event.int(1, id);
            event.int(2, (span.start - begin).saturating_mul(1000) as i64);
            event.int(3, span.duration.saturating_mul(1000) as i64);
            line.bytes(4, &event.0);
        }
        let mut plane = Writer::default();
        plane.int(1, device as i64);
        plane.bytes(2, format!("/device:RXLA:{device}").as_bytes());
        plane.bytes(3, &line.0);
        for (index, name) in names.iter().enumerate() {
            let mut metadata = Writer::default();
            metadata.int(1, index as i64 + 1);
            metadata.bytes(2, name.as_bytes());
            let mut entry = Writer::default();
            entry.int(1, index as i64 + 1);
            entry.bytes(2, &metadata.0);
            plane.bytes(4, &entry.0);
        }
        space.bytes(1, &plane.0);
    }
    space.0
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
                // SAFETY: frameworks pass the struct of the function they call; this API has had
                // one version only.
                let $args = unsafe { &mut *args };
                if $args.struct_size + 7 < size_of::<ffi::$type>() {
                    return Err(Error::invalid_argument(concat!(stringify!($type), " is too small")));
                }
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
        stop_recording(args.profiler.addr());
        PROFILERS.destroy(args.profiler)
    }

    fn start(args: PLUGIN_Profiler_Start_Args) {
        PROFILERS.get(args.profiler)?;
        let mut recorders = lock(&RECORDERS);
        if !recorders.contains(&args.profiler.addr()) {
            recorders.push(args.profiler.addr());
        }
        RECORDING.store(recorders.len(), Ordering::Relaxed);
        Ok(())
    }

    fn stop(args: PLUGIN_Profiler_Stop_Args) {
        PROFILERS.get(args.profiler)?;
        stop_recording(args.profiler.addr());
        Ok(())
    }

    /// With no buffer given, the data stays ours until the profiler is destroyed.
    fn collect_data(args: PLUGIN_Profiler_CollectData_Args) {
        let profiler = PROFILERS.get(args.profiler)?;
        let data = profiler.collected.get_or_init(|| serialize(&lock(&profiler.spans)));
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

fn stop_recording(profiler: usize) {
    let mut recorders = lock(&RECORDERS);
    recorders.retain(|&recorder| recorder != profiler);
    RECORDING.store(recorders.len(), Ordering::Relaxed);
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
