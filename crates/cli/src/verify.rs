//! `rxla verify`.

use clap::Args;
use rxla_base::{Diagnostic, Result, Severity, render_all};
use rxla_hlo::text::print_shape;
use rxla_hlo::{Module, Shape, infer};

use crate::input::{self, Input, Layouts};
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
                let findings = check_shapes(&input);
                if !findings.is_empty() {
                    output::message(&render_all(&findings, input.source().as_ref()));
                }
                if findings.iter().any(|finding| finding.severity == Severity::Error) {
                    answer = Answer::No;
                }
            }
            Err(error) => {
                output::message(&format!("error: {error}"));
                answer = Answer::No;
            }
        }
    }
    Ok(answer)
}

/// Compares the shape of each instruction with what its operands give.
fn check_shapes(input: &Input) -> Vec<Diagnostic> {
    let module: &Module = &input.module;
    let mut findings = Vec::new();
    for id in module.instruction_ids() {
        let instruction = &module[id];
        let operands: Vec<&Shape> =
            instruction.operands().iter().map(|&operand| &module[operand].shape).collect();
        if let Err(mut finding) =
            infer(module, &instruction.op, &operands, Some(&instruction.shape))
        {
            finding = finding.note(format!(
                "in `{} = {} {}`",
                instruction.name(),
                print_shape(&instruction.shape),
                instruction.op.name()
            ));
            if input.text.is_some() {
                finding = finding.at(input.spans[id]);
            }
            findings.push(finding);
        }
    }
    findings
}
