//! `// test: passes=a,b` and `// test: pipeline=NAME`: the module after passes. With `metadata` the
//! text has metadata, which it else leaves out, as it does layouts.
//!
//! A module that all passes leave as it is has the expectation `unchanged`. Every result is checked
//! by the verifier after each pass. `// rewrites: 2` makes two rewrites and no more.

use rxla_base::render_all;
use rxla_hlo::text::{PrintOptions, print};
use rxla_passes::{Pipeline, RunOptions, Verify, pipeline_by_name};

use crate::Case;

pub(crate) fn run(case: &Case) -> Result<String, String> {
    let names = case.arguments.first().ok_or("no passes are named")?;
    let pipeline = Pipeline::of_names(names.split(',')).map_err(|error| error.to_string())?;
    after(case, &pipeline)
}

pub(crate) fn run_pipeline(case: &Case) -> Result<String, String> {
    let name = case.arguments.first().ok_or("no pipeline is named")?;
    let pipeline =
        pipeline_by_name(name).ok_or_else(|| format!("there is no pipeline `{name}`"))?;
    after(case, &pipeline)
}

fn after(case: &Case, pipeline: &Pipeline) -> Result<String, String> {
    let mut module = crate::print::module(case)?;
    let findings = rxla_hlo::verify(&module);
    if !findings.is_empty() {
        return Err(render_all(&findings, None));
    }
    let rewrite_limit = match case.values("rewrites").first() {
        Some(limit) => Some(limit.parse().map_err(|_| format!("`{limit}` is no number"))?),
        None => None,
    };
    let options = RunOptions { verify: Verify::Between, rewrite_limit, ..RunOptions::default() };
    let report = rxla_passes::run(&mut module, &pipeline.steps, options)
        .map_err(|error| error.to_string())?;
    if report.rewrites() == 0 {
        return Ok(case.with_expectation("unchanged"));
    }
    let with_metadata = case.arguments.iter().any(|argument| argument == "metadata");
    let options = PrintOptions {
        metadata: with_metadata,
        control_dependencies: true,
        layouts: false,
        ..PrintOptions::short_parsable()
    };
    Ok(case.with_expectation(&print(&module, &options)))
}
