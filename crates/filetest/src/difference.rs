//! `// test: diff`: what differs between the file's two modules, of which the second follows a line
//! `// ---- against`; what `rxla diff` says.

use rxla_base::{Source, render_all};
use rxla_diff::{Detail, Details};
use rxla_hlo::Module;
use rxla_hlo::text::{ParseOptions, parse};

use crate::Case;

const SEPARATOR: &str = "// ---- against\n";

pub(crate) fn run(case: &Case) -> Result<String, String> {
    let Some((left, right)) = case.input.split_once(SEPARATOR) else {
        return Err(format!("the file has no line `{}`", SEPARATOR.trim_end()));
    };
    let (left, right) = (module(left)?, module(right)?);
    let (text, difference) = rxla_diff::show(&left, &right, Details::Meaning, Detail::Instructions);
    let (_, back) = rxla_diff::show(&right, &left, Details::Meaning, Detail::Instructions);
    if difference.is_none() != back.is_none() {
        return Err("it depends on the order whether they are the same".to_owned());
    }
    Ok(case.with_expectation(&text))
}

fn module(text: &str) -> Result<Module, String> {
    let parsed = parse(text, &ParseOptions::default())
        .map_err(|errors| render_all(&errors, Some(&Source { name: "input", text })))?;
    Ok(parsed.module)
}
