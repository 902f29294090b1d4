//! `// test: print [complete|short|canonical|fingerprint]`: the module as text.

use rxla_base::{Source, render_all};
use rxla_hlo::Module;
use rxla_hlo::text::{ParseOptions, PrintOptions, parse, print};

use crate::Case;

pub(crate) fn run(case: &Case) -> Result<String, String> {
    let options = match case.arguments.first().map(String::as_str) {
        None => PrintOptions::default(),
        Some("complete") => PrintOptions::complete(),
        Some("short") => PrintOptions::short_parsable(),
        Some("canonical") => PrintOptions::canonical(),
        Some("fingerprint") => PrintOptions::fingerprint(),
        Some(other) => return Err(format!("there is no way `{other}` to print")),
    };
    let module = module(case)?;
    Ok(case.with_expectation(&print(&module, &options)))
}

/// The module of a file; an error is the parser's findings.
pub(crate) fn module(case: &Case) -> Result<Module, String> {
    let parsed = parse(&case.input, &ParseOptions::default()).map_err(|errors| {
        render_all(&errors, Some(&Source { name: "input", text: &case.input }))
    })?;
    Ok(parsed.module)
}
