//! `rxla convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rxla_base::Result;
use rxla_hlo::text::{PrintOptions, print};

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// HLO text with everything in it
    Text,
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// The file with the module; `-` is standard input
    file: String,
    /// The format to write
    #[arg(long, value_enum)]
    to: Format,
    /// What a shape without layout means
    #[arg(long, value_enum, default_value = "keep")]
    layouts: Layouts,
    /// Where to write; standard output if missing
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, arguments.layouts)?;
    let bytes = match arguments.to {
        Format::Text => print(&input.module, &PrintOptions::complete()).into_bytes(),
    };
    output::to(arguments.output.as_deref(), &bytes)?;
    Ok(Answer::Yes)
}
