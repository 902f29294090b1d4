//! `rxla verify`.

use clap::Args;
use rxla_base::{Result, Severity, render_all};
use rxla_hlo::verify_with_spans;

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Files with modules; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let mut answer = Answer::Yes;
    for file in &arguments.files {
        match input::read(file, Layouts::Keep) {
            Ok(input) => {
                let findings = verify_with_spans(&input.module, &input.spans);
                if !findings.is_empty() {
                    output::message(&render_all(&findings, input.source().as_ref()));
                }
                if findings.iter().any(|finding| finding.severity == Severity::Error) {
                    answer = Answer::No;
                }
            }
            Err(error) => {
                output::error(&error);
                answer = Answer::No;
            }
        }
    }
    Ok(answer)
}
