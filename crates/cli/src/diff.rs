//! `rxla diff`.

use clap::Args;
use rxla_base::Result;
use rxla_diff::{Detail, Details, show};

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The first module; `-` is standard input
    left: String,
    /// The second module
    right: String,
    /// Compare metadata and backend configurations too
    #[arg(long)]
    all: bool,
    /// Say in which computations something differs, not what
    #[arg(long)]
    summary: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let left = input::read(&arguments.left, Layouts::RowMajor)?.module;
    let right = input::read(&arguments.right, Layouts::RowMajor)?.module;
    let details = if arguments.all { Details::Everything } else { Details::Meaning };
    let detail = if arguments.summary { Detail::Computations } else { Detail::Instructions };
    let (text, difference) = show(&left, &right, details, detail);
    output::result(&text)?;
    Ok(if difference.is_none() { Answer::Yes } else { Answer::No })
}
