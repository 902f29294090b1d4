//! MLIR text in and out.
//!
//! Read are the generic form of every operation and the pretty forms of those that StableHLO
//! programs are written with (builtin, func, stablehlo, chlo, sdy). Reading pretty text gives the
//! same [`Module`] as reading the same program from bytecode: inherent attributes that equal their
//! default are absent, see [`crate::mlir::drop_defaults`].
//!
//! - `cursor`: characters to words, numbers and strings
//! - `parser`, `scope`: aliases, nesting, names of values and blocks
//! - `types`, `attributes`, `dense`, `stablehlo_attributes`, `sdy_attributes`, `locations`: values
//! - `formats`: how each operation is spelled, shared by reader and printer
//! - `operations`, `regions`, `pieces`, `windows`, `special`, `resources`: reading operations
//! - `mhlo`: names of StableHLO's predecessor
//! - `print`: the other direction

mod attributes;
mod cursor;
mod dense;
mod float;
mod formats;
mod locations;
mod mhlo;
mod operations;
mod parser;
mod pieces;
mod print;
mod quant;
mod regions;
mod resources;
mod scope;
mod sdy_attributes;
mod special;
mod stablehlo_attributes;
mod types;
mod windows;

pub use print::{Form, Locations, PrintOptions, print, print_attribute, print_type};

use rxla_base::Diagnostic;

use crate::mlir::{Attribute, Module, Type};

/// Reads a module. The text may leave the `module { … }` around its operations away.
pub fn parse(text: &str) -> Result<Module, Vec<Diagnostic>> {
    check_size(text)?;
    parser::Parser::new(text).and_then(parser::Parser::module).map_err(|d| vec![*d])
}

/// Reads one attribute, as `#stablehlo<comparison_direction EQ>` or `dense<1> : tensor<2xi64>`.
pub fn parse_attribute(text: &str) -> Result<Attribute, Vec<Diagnostic>> {
    check_size(text)?;
    parser::Parser::new(text)
        .and_then(|mut parser| {
            let attribute = parser.attribute()?;
            parser.finish()?;
            Ok(attribute)
        })
        .map_err(|d| vec![*d])
}

/// Reads one type, as `tensor<2x?xf32>`.
pub fn parse_type(text: &str) -> Result<Type, Vec<Diagnostic>> {
    check_size(text)?;
    parser::Parser::new(text)
        .and_then(|mut parser| {
            let ty = parser.ty()?;
            parser.finish()?;
            Ok(ty)
        })
        .map_err(|d| vec![*d])
}

/// The parts between lines starting with `// -----`, each with the byte offset where it begins.
/// Test files hold several programs so.
pub fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with("// -----") {
            parts.push((start, &text[start..at]));
            start = at + line.len();
        }
        at += line.len();
    }
    parts.push((start, &text[start..]));
    parts
}

/// Spans count in 32 bits.
fn check_size(text: &str) -> Result<(), Vec<Diagnostic>> {
    if u32::try_from(text.len()).is_ok() {
        return Ok(());
    }
    Err(vec![Diagnostic::error(format!(
        "the text has {} bytes, more than the 4 GiB that can be read",
        text.len()
    ))])
}
