//! `rxla diff`.

use clap::Args;
use rxla_base::Result;
use rxla_hlo::text::{PrintOptions, Subcomputations, print};
use similar::{ChangeTag, TextDiff};

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
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    // Instructions get names by their place, so that names do not count; computations keep theirs,
    // since bodies printed at every call may be very long.
    let options = PrintOptions {
        subcomputations: Subcomputations::NameOnly,
        large_constants: true,
        metadata: arguments.all,
        backend_config: arguments.all,
        operand_shapes: false,
        ..PrintOptions::canonical()
    };
    let left = input::read(&arguments.left, Layouts::RowMajor)?;
    let right = input::read(&arguments.right, Layouts::RowMajor)?;
    // The module's name is no part of its structure.
    let text = |input: input::Input| {
        let mut module = input.module;
        module.name = "module".to_owned();
        print(&module, &options)
    };
    let (left, right) = (text(left), text(right));
    if left == right {
        return Ok(Answer::Yes);
    }
    let diff = TextDiff::from_lines(&left, &right);
    let mut out = format!("--- {}\n+++ {}\n", arguments.left, arguments.right);
    for group in diff.grouped_ops(2) {
        out.push_str("@@\n");
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            out.push(match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            });
            out.push_str(change.value());
        }
    }
    output::result(&out)?;
    Ok(Answer::No)
}
