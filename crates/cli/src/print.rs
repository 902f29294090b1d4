//! `rxla print`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rxla_base::Result;
use rxla_hlo::text::{PrintOptions, print};

use crate::input::{self, Layouts};
use crate::{Answer, output};

/// A named set of switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Style {
    /// Everything, in the order of the file
    Complete,
    /// What XLA prints by default: large constants are left out
    Xla,
    /// Without metadata, control dependencies and percent signs
    Short,
    /// The same for modules that differ only in names and metadata
    Canonical,
    /// Canonical, without weights
    Fingerprint,
    /// The fingerprint of whole modules
    ModuleFingerprint,
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// Files with modules; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,
    #[arg(long, value_enum, default_value = "complete")]
    style: Style,
    /// What a shape without layout means
    #[arg(long, value_enum, default_value = "keep")]
    layouts: Layouts,
    /// Leave metadata out
    #[arg(long)]
    no_metadata: bool,
    /// Leave constants of more than ten elements out
    #[arg(long)]
    no_large_constants: bool,
    /// Leave backend configurations out
    #[arg(long)]
    no_backend_config: bool,
    /// Leave layouts out
    #[arg(long)]
    no_layouts: bool,
    /// Show the shapes of operands
    #[arg(long)]
    operand_shapes: bool,
    /// Where to write
    #[arg(short, long)]
    output: Option<PathBuf>,
}

impl Arguments {
    fn options(&self) -> PrintOptions {
        let mut options = match self.style {
            Style::Complete => PrintOptions::complete(),
            Style::Xla => PrintOptions::default(),
            Style::Short => PrintOptions::short_parsable(),
            Style::Canonical => PrintOptions::canonical(),
            Style::Fingerprint => PrintOptions::fingerprint(),
            Style::ModuleFingerprint => PrintOptions::module_fingerprint(),
        };
        options.metadata &= !self.no_metadata;
        options.large_constants &= !self.no_large_constants;
        options.backend_config &= !self.no_backend_config;
        options.layouts &= !self.no_layouts;
        options.operand_shapes |= self.operand_shapes;
        options
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let options = arguments.options();
    let mut text = String::new();
    for file in &arguments.files {
        let input = input::read(file, arguments.layouts)?;
        text.push_str(&print(&input.module, &options));
    }
    match &arguments.output {
        Some(path) => output::to(Some(path), text.as_bytes())?,
        None => output::result(&text)?,
    }
    Ok(Answer::Yes)
}
