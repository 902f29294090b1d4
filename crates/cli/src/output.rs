//! Where results and messages go.

use std::io::Write;
use std::path::Path;

use rxla_base::{Error, Result};

/// Writes a result to standard output. A reader that has gone away, such as `head`, is no error.
pub(crate) fn result(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::internal(format!("cannot write the result: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes to a file, or to standard output if there is none.
pub(crate) fn to(path: Option<&Path>, bytes: &[u8]) -> Result<()> {
    let written = match path {
        Some(path) => std::fs::write(path, bytes),
        None => std::io::stdout().lock().write_all(bytes),
    };
    written.map_err(|error| {
        let place = path.map_or("standard output".into(), Path::to_string_lossy);
        Error::invalid_argument(format!("cannot write `{place}`: {error}"))
    })
}

/// Writes a message to standard error.
pub(crate) fn message(text: &str) {
    // There is nobody to tell if this fails.
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}

/// Writes an error to standard error. Those of readers say themselves that they are errors.
pub(crate) fn error(error: &Error) {
    let text = error.to_string();
    message(&if text.starts_with("error: ") { text } else { format!("error: {text}") });
}
