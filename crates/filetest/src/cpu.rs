//! `// test: cpu`: the module as the passes of the CPU leave it, fusions and all. `// test: cpu
//! program`: the driver and its kernels in kernel IR, before they are scheduled.

use rxla_hlo::text::{PrintOptions, print};

use crate::{Case, print as printing};

pub(crate) fn run(case: &Case) -> Result<String, String> {
    let mut module = printing::module(case)?;
    let findings = rxla_hlo::verify(&module);
    if !findings.is_empty() {
        return Err(rxla_base::render_all(&findings, None));
    }
    rxla_cpu::optimize(&mut module).map_err(|error| error.to_string())?;
    let findings = rxla_hlo::verify(&module);
    if !findings.is_empty() {
        return Err(rxla_base::render_all(&findings, None));
    }
    match case.arguments.first().map(String::as_str) {
        None => {
            let options = PrintOptions { layouts: false, ..PrintOptions::default() };
            Ok(case.with_expectation(&print(&module, &options)))
        }
        Some("program") => {
            let program = rxla_cpu::lower(&module).map_err(|error| error.to_string())?;
            let text = format!("temporary bytes: {}\n{}", program.temp_bytes, program.kernels);
            Ok(case.with_expectation(&text))
        }
        Some(other) => Err(format!("there is no `cpu {other}`")),
    }
}
