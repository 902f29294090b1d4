//! StableHLO in and out of rxla.
//!
//! A program arrives as MLIR bytecode (what JAX sends) or as MLIR text (what people write and keep
//! in tests). Both readers fill the same small model of MLIR, [`mlir`]: operations, regions, types
//! and attributes, without C++'s machinery of dialect registration. A versioned VHLO module is
//! brought up to date first, so that behind the readers a module looks the same however it came.

pub mod bytecode;
pub mod export;
pub mod ffi;
pub mod import;
pub mod jax_export;
pub mod mlir;
pub mod text;
pub mod vhlo;

pub use export::export;
pub use import::import;

use rxla_base::{Code, Diagnostic, Error, Result, Severity, Source};
use rxla_hlo as hlo;

/// Reads a module from bytecode or text, brought up to date from whatever version of VHLO it has.
pub fn read(bytes: &[u8]) -> Result<mlir::Module> {
    let mut module = if bytecode::is_bytecode(bytes) {
        bytecode::read(bytes, text_parsers())?.module
    } else {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(Error::invalid_argument(
                "the program is neither MLIR bytecode (it does not start with `ML\\xefR`) nor text \
                 (it is not UTF-8)",
            ));
        };
        let source = Source { name: "<mlir>", text };
        text::parse(text).map_err(|diagnostics| {
            let rendered = rxla_base::render_all(&diagnostics, Some(&source));
            Error::new(Code::InvalidArgument, rendered.trim_end().to_owned())
        })?
    };
    vhlo::upgrade(&mut module)?;
    // The reader of text has done this already.
    for (_, operation) in module.operations.iter_mut() {
        mlir::drop_defaults(&operation.name, &mut operation.attributes);
    }
    Ok(module)
}

/// What reads the textual attributes and types inside of bytecode.
pub fn text_parsers() -> bytecode::TextParsers {
    bytecode::TextParsers {
        attribute: Some(|text| text::parse_attribute(text).map_err(error_of)),
        ty: Some(|text| text::parse_type(text).map_err(error_of)),
    }
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
