//! Modules from files or standard input, whatever format they have.

use std::io::Read;

use clap::ValueEnum;
use rxla_base::{Error, Result, SecondaryMap, Severity, Source, Span, render_all};
use rxla_hlo::text::{MissingLayouts, ParseOptions, parse};
use rxla_hlo::{Instruction, Module};

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
}

impl Input {
    /// The text to point into.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        self.text.as_ref().map(|text| Source { name: &self.name, text })
    }
}

/// Reads a module. Warnings are shown.
pub(crate) fn read(name: &str, layouts: Layouts) -> Result<Input> {
    let bytes = read_bytes(name)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        _ => {
            return Err(Error::invalid_argument(format!("`{name}` is not HLO text")));
        }
    };
    let options = ParseOptions {
        missing_layouts: match layouts {
            Layouts::Keep => MissingLayouts::Keep,
            Layouts::RowMajor => MissingLayouts::RowMajor,
        },
        ..ParseOptions::default()
    };
    match parse(&text, &options) {
        Ok(parsed) => {
            if !parsed.warnings.is_empty() {
                let source = Source { name, text: &text };
                output::message(&render_all(&parsed.warnings, Some(&source)));
            }
            Ok(Input {
                name: name.to_owned(),
                module: parsed.module,
                spans: parsed.spans,
                text: Some(text),
            })
        }
        Err(diagnostics) => {
            let source = Source { name, text: &text };
            output::message(&render_all(&diagnostics, Some(&source)));
            let count = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
            let errors = if count == 1 { "an error" } else { "errors" };
            Err(Error::invalid_argument(format!("`{name}` has {errors}")))
        }
    }
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
