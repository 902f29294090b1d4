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

/// What programs are called that come without a file.
pub const UNNAMED: &str = "<mlir>";

/// Reads a module from bytecode or text, brought up to date from whatever version of VHLO it has.
/// Errors call it `name`.
pub fn read(name: &str, bytes: &[u8]) -> Result<mlir::Module> {
    let mut module = if bytecode::is_bytecode(bytes) {
        bytecode::read(bytes, text_parsers())?.module
    } else {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(Error::invalid_argument(
                "the program is neither MLIR bytecode (it does not start with `ML\\xefR`) nor text \
                 (it is not UTF-8)",
            ));
        };
        text::parse(text).map_err(|findings| error_of(&findings, Some(&Source { name, text })))?
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
        attribute: Some(|text| {
            text::parse_attribute(text).map_err(|findings| error_of(&findings, None))
        }),
        ty: Some(|text| text::parse_type(text).map_err(|findings| error_of(&findings, None))),
    }
}

/// Reads a StableHLO program from bytecode or text and translates it to HLO. Errors call it `name`.
pub fn to_hlo(name: &str, bytes: &[u8], options: &import::Options) -> Result<hlo::Module> {
    let module = read(name, bytes)?;
    import(&module, options).map_err(|findings| {
        let text = std::str::from_utf8(bytes).ok();
        error_of(&findings, text.map(|text| Source { name, text }).as_ref())
    })
}

/// Findings of a reader or of [`import()`] as one error, which shows places in the source. Its code
/// is `UNIMPLEMENTED` if nothing but missing features stands in the way.
pub fn error_of(diagnostics: &[Diagnostic], source: Option<&Source<'_>>) -> Error {
    let mut errors = diagnostics.iter().filter(|d| d.severity == Severity::Error);
    let code = match errors.all(|d| d.message.starts_with("unimplemented: ")) {
        true => Code::Unimplemented,
        false => Code::InvalidArgument,
    };
    Error::new(code, rxla_base::render_all(diagnostics, source).trim_end().to_owned())
}
