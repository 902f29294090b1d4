//! What the environment says, read when a client is made: flags, and where warnings and traces go.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use rxla::flags::Flags;
use rxla::trace::{Recording, chrome_json, notice};

/// What `XLA_FLAGS` alone said when it was last read: frameworks read it too and pass it on, as if
/// somebody had chosen it for the program.
static XLA: Mutex<Option<Flags>> = Mutex::new(None);

/// The flags of the environment. Mistakes in them are warnings.
pub(crate) fn flags() -> Arc<Flags> {
    notice::listen(warn);
    let mut flags = Flags::default();
    read(&mut flags, "XLA_FLAGS");
    *XLA.lock().unwrap_or_else(PoisonError::into_inner) = Some(flags.clone());
    read(&mut flags, "RXLA_FLAGS");
    trace_to(&flags.rxla_trace_to);
    Arc::new(flags)
}

/// Whether `XLA_FLAGS` has this flag at this value already.
pub(crate) fn has(name: &str, value: &str) -> bool {
    let known = XLA.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.clone().unwrap_or_default();
    let mut set = known.clone();
    set.set(name, value).is_ok() && set == known
}

fn warn(text: &str) {
    #![allow(clippy::print_stderr)]
    eprintln!("rxla: warning: {text}");
}

fn read(flags: &mut Flags, variable: &str) {
    let value = std::env::var(variable).unwrap_or_default();
    flags.read_variable(variable, &value).iter().for_each(|mistake| notice::warn_once(mistake));
}

static TRACE: OnceLock<(Recording, PathBuf)> = OnceLock::new();

/// Has a function run when the process ends; false if that cannot be.
fn at_exit(function: extern "C" fn()) -> bool {
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> c_int;
    }
    // SAFETY: the function is C's and does not unwind; this library is never unloaded by the
    // frameworks that load it.
    unsafe { atexit(function) == 0 }
}

/// Has work that is under way when the process ends be kept to itself.
pub(crate) fn watch_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn ends() {
        rxla::process_ends();
    }
    ONCE.call_once(|| {
        at_exit(ends);
    });
}

/// Records from now on and writes to this file when the process ends; an empty name is none.
fn trace_to(file: &str) {
    if file.is_empty() {
        return;
    }
    let mut first = false;
    TRACE.get_or_init(|| {
        first = true;
        (Recording::start(), PathBuf::from(file))
    });
    if first && !at_exit(write_trace) {
        notice::warn_once("no trace will be written: the process takes no more exit functions");
    }
}

/// Writes what was recorded so far, if a trace is taken.
pub(crate) extern "C" fn write_trace() {
    let written = crate::abi::contain("write_trace", || {
        let Some((recording, file)) = TRACE.get() else { return Ok(()) };
        std::fs::write(file, chrome_json(&recording.trace())).map_err(|error| {
            rxla::Error::invalid_argument(format!("cannot write `{}`: {error}", file.display()))
        })
    });
    if let Err(error) = written {
        notice::warn_once(&error.to_string());
    }
}
