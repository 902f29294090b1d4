//! StableHLO in and out of rxla.
//!
//! A program arrives as MLIR bytecode (what JAX sends) or as MLIR text (what people write and keep
//! in tests). Both readers fill the same small model of MLIR, [`mlir`]: operations, regions, types
//! and attributes, without C++'s machinery of dialect registration. A versioned VHLO module is
//! brought up to date first, so that behind the readers a module looks the same however it came.

pub mod bytecode;
pub mod ffi;
pub mod import;
pub mod mlir;
pub mod vhlo;

pub use import::import;

use rxla_base::{Code, Diagnostic, Error, Result, Severity};
use rxla_hlo as hlo;

/// Reads a module from bytecode or text, brought up to date from whatever version of VHLO it has.
pub fn read(bytes: &[u8]) -> Result<mlir::Module> {
    if !bytecode::is_bytecode(bytes) {
        return Err(Error::unimplemented("reading MLIR as text; give the program as bytecode"));
    }
    let mut module = bytecode::read(bytes, bytecode::TextParsers::default())?.module;
    vhlo::upgrade(&mut module)?;
    Ok(module)
}

/// Reads a StableHLO program from bytecode or text and translates it to HLO.
pub fn to_hlo(bytes: &[u8]) -> Result<hlo::Module> {
    import(&read(bytes)?, &import::Options::default()).map_err(error_of)
}

/// Findings of a reader or of [`import()`] as one error. Its code is `UNIMPLEMENTED` if nothing
/// but missing features stands in the way.
pub fn error_of(diagnostics: Vec<Diagnostic>) -> Error {
    let mut errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let code = match errors.all(|d| d.message.starts_with("unimplemented: ")) {
        true => Code::Unimplemented,
        false => Code::InvalidArgument,
    };
    Error::new(code, rxla_base::render_all(&diagnostics, None).trim_end().to_owned())
}
pub mod text;
