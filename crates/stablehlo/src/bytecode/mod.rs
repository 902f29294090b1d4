//! MLIR bytecode, versions 0 to 6, in and out.
//!
//! The format is described by `mlir/docs/BytecodeFormat.md` of LLVM and, where that is behind, by
//! its reader (`mlir/lib/Bytecode/Reader/BytecodeReader.cpp`). A file is a header and a list of
//! sections. Attributes and types stand in a table that operations refer to by index; here an entry is
//! decoded when first asked for ([`entries`]). Entries of the dialects builtin, vhlo, stablehlo, chlo,
//! sdy and quant are understood.
//!
//! [`portable_artifact`] and [`write`](write()) go the other way.
//!
//! What a VHLO attribute or type says is put at once into its StableHLO form, since they say the
//! same: `!vhlo.bool_v1` becomes `i1`, a VHLO tensor a dense constant. What is left of VHLO after
//! reading are operation names with versions and attributes with other names and shapes, which
//! [`crate::vhlo`] brings up to date.
//!
//! Input is not trusted. Every length is checked against the bytes that are left, nesting is
//! bounded, each entry is decoded a bounded number of times, and memory grows only in proportion to
//! the input.

mod builtin;
mod cursor;
mod entries;
mod ir;
mod properties;
mod sdy;
mod sections;
mod stablehlo;
mod vhlo;
mod write;

use rxla_base::Result;

pub use write::{portable_artifact, write};

use crate::mlir::{Attribute, ByteString, Module, Type};

/// The newest version of the format that is read and the one that is written.
pub const VERSION: u64 = 6;

/// The first bytes of every MLIR bytecode file.
pub const MAGIC: [u8; 4] = *b"ML\xefR";

/// A module with what its bytecode says about its origin.
#[derive(Clone, Debug)]
pub struct Bytecode {
    pub module: Module,
    /// The version of the format.
    pub version: u64,
    /// Who wrote it, such as `StableHLO_v1.13.7` or `MLIR23.0.0git`.
    pub producer: ByteString,
}

/// A parser of attributes and types in text, which bytecode holds for dialects without an encoding
/// of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextParsers {
    pub attribute: Option<fn(&str) -> Result<Attribute>>,
    pub ty: Option<fn(&str) -> Result<Type>>,
}

/// Whether these bytes say that they are MLIR bytecode.
pub fn is_bytecode(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Reads a module. Text inside is kept as [`Attribute::Opaque`] and [`Type::Opaque`] unless there is
/// a parser for it.
pub fn read(bytes: &[u8], parsers: TextParsers) -> Result<Bytecode> {
    let sections = sections::Sections::read(bytes)?;
    let producer = sections.producer.clone();
    let version = sections.version;
    let context = |error: rxla_base::Error| {
        error.context(format!("in MLIR bytecode version {version} made by `{producer}`"))
    };
    let module = ir::read(sections, parsers).map_err(context)?;
    Ok(Bytecode { module, version, producer })
}
