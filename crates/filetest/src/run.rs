//! `// test: run`: evaluates the module with the interpreter on the literals of `// input:` lines,
//! one a parameter, and prints the result.

use rxla_base::render_all;
use rxla_hlo::text::{parse_literal, print_literal};
use rxla_interpreter::{Options, evaluate};

use crate::{Case, print};

pub(crate) fn run(case: &Case) -> Result<String, String> {
    let module = print::module(case)?;
    let findings = rxla_hlo::verify(&module);
    if !findings.is_empty() {
        return Err(render_all(&findings, None));
    }
    let arguments = case
        .values("input")
        .iter()
        .map(|text| parse_literal(text).map_err(|errors| render_all(&errors, None)))
        .collect::<Result<Vec<_>, _>>()?;
    let parameters = module[module.entry()].parameters().len();
    if arguments.len() != parameters {
        return Err(format!(
            "the entry has {parameters} parameters, but there are {} lines `// input:`",
            arguments.len()
        ));
    }
    let found = match evaluate(&module, arguments, &Options::default()) {
        Ok(result) => print_literal(&result),
        Err(error) => format!("error {}: {error}", error.code.name()),
    };
    Ok(case.with_expectation(&found))
}
