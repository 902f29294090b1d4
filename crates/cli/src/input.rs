//! Modules from files or standard input, whatever format they have: HLO text, protos and snapshots
//! of XLA, StableHLO as text, as bytecode, or in a file of `jax.export`. The format is told by content.

use std::io::Read;

use clap::ValueEnum;
use rxla_base::{Error, Result, SecondaryMap, Severity, Source, Span, render_all};
use rxla_hlo::text::{MissingLayouts, ParseOptions};
use rxla_hlo::{Instruction, Literal, Module, verify_with_spans};
use rxla_hlo_proto::read_module_with;
use rxla_stablehlo::import;

use crate::output;

/// What a shape without layout means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Layouts {
    /// It has none
    #[default]
    Keep,
    /// It is row-major, as in XLA
    RowMajor,
}

/// A module, and where it came from.
pub(crate) struct Input {
    /// `-` for standard input.
    pub(crate) name: String,
    /// The text, if the module was text.
    pub(crate) text: Option<String>,
    pub(crate) module: Module,
    /// Where instructions stand in the text.
    pub(crate) spans: SecondaryMap<Instruction, Span>,
    /// Arguments that came with the module, from a snapshot.
    pub(crate) arguments: Vec<Literal>,
}

impl Input {
    /// The text to point into.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        self.text.as_ref().map(|text| Source { name: &self.name, text })
    }
}

impl Input {
    /// Shows what the verifier finds; an error if the module is not valid.
    pub(crate) fn check(&self) -> Result<()> {
        let findings = verify_with_spans(&self.module, &self.spans);
        if !findings.is_empty() {
            output::message(&render_all(&findings, self.source().as_ref()));
        }
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(Error::invalid_argument(format!("`{}` is not valid", self.name)));
        }
        Ok(())
    }
}

/// Reads a module. Warnings are shown.
pub(crate) fn read(name: &str, layouts: Layouts) -> Result<Input> {
    let bytes = read_bytes(name)?;
    if let Some(program) = stablehlo(&bytes) {
        let module = rxla_stablehlo::to_hlo(name, program, &import::Options::default());
        // Not every finding has a place in the file.
        let module = module.map_err(|error| match error.to_string().contains(name) {
            true => error,
            false => error.context(name),
        })?;
        return Ok(Input {
            name: name.to_owned(),
            text: None,
            module,
            spans: SecondaryMap::default(),
            arguments: Vec::new(),
        });
    }
    let options = ParseOptions {
        missing_layouts: match layouts {
            Layouts::Keep => MissingLayouts::Keep,
            Layouts::RowMajor => MissingLayouts::RowMajor,
        },
        ..ParseOptions::default()
    };
    let read = read_module_with(&bytes, &options);
    // Findings in text point into it; those in protos have no text to point into.
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    let source = text.as_ref().map(|text| Source { name, text });
    match read {
        Ok(read) => {
            if !read.warnings.is_empty() {
                output::message(&render_all(&read.warnings, source.as_ref()));
            }
            Ok(Input {
                name: name.to_owned(),
                text: text.filter(|_| read.spans.is_some()),
                module: read.module,
                spans: read.spans.unwrap_or_default(),
                arguments: read.arguments,
            })
        }
        Err(diagnostics) => {
            output::message(&render_all(&diagnostics, source.as_ref()));
            let count = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
            let errors = if count == 1 { "an error" } else { "errors" };
            Err(Error::invalid_argument(format!("`{name}` has {errors}")))
        }
    }
}

/// The StableHLO program that a file is, or that is in it as in one of `jax.export`.
fn stablehlo(bytes: &[u8]) -> Option<&[u8]> {
    if is_stablehlo(bytes) {
        return Some(bytes);
    }
    rxla_stablehlo::jax_export::program(bytes).ok().filter(|program| is_stablehlo(program))
}

/// Bytecode begins with its own mark, text with a module, a function or an alias of MLIR.
fn is_stablehlo(bytes: &[u8]) -> bool {
    if rxla_stablehlo::bytecode::is_bytecode(bytes) {
        return true;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| !line.starts_with("//")).unwrap_or("");
    [
        "module {",
        "module @",
        "module attributes",
        "builtin.module",
        "\"builtin.module\"",
        "func.func",
        "#",
    ]
    .iter()
    .any(|start| first.starts_with(start))
}

fn read_bytes(name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if name == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(name).map(|content| bytes = content)
    };
    read.map_err(|error| Error::invalid_argument(format!("cannot read `{name}`: {error}")))?;
    Ok(bytes)
}
