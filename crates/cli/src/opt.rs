//! `rxla opt`: runs passes on a module.

use std::path::{Path, PathBuf};

use clap::Args;
use rxla_base::{Error, Result, render_all};
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo::{Module, verify_with_spans};
use rxla_passes::{Event, Moment, Pipeline, Report, RunOptions, Verify, pipeline_by_name};

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The module; `-` is standard input
    file: String,
    /// Passes in order, such as `tuple-simplifier,dce`
    #[arg(long, value_delimiter = ',', conflicts_with = "pipeline")]
    passes: Vec<String>,
    /// A pipeline; `rxla passes` lists them
    #[arg(long, default_value = "simplify")]
    pipeline: String,
    /// Passes to leave out
    #[arg(long, value_delimiter = ',')]
    disable: Vec<String>,
    /// Make so many rewrites and no more
    #[arg(long, value_name = "N")]
    stop_after: Option<u64>,
    /// Write the module before all passes and after each that changed it
    #[arg(long, value_name = "DIR")]
    dump_each: Option<PathBuf>,
    /// Say what each pass did and how long it took
    #[arg(long)]
    stats: bool,
    /// Leave metadata out
    #[arg(long)]
    no_metadata: bool,
    /// Where to write
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let pipeline = pipeline(arguments)?;
    for name in &arguments.disable {
        if rxla_passes::lookup(name).is_none() {
            return Err(Error::invalid_argument(format!("there is no pass `{name}`")));
        }
    }
    let input = input::read(&arguments.file, Layouts::Keep)?;
    let findings = verify_with_spans(&input.module, &input.spans);
    if !findings.is_empty() {
        output::message(&render_all(&findings, input.source().as_ref()));
        return Ok(Answer::No);
    }
    let mut module = input.module;
    if let Some(folder) = &arguments.dump_each {
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::invalid_argument(format!("cannot make `{}`: {error}", folder.display()))
        })?;
        dump(folder, "0000.before", &module)?;
    }
    let mut failed = None;
    let mut observe = |event: &Event<'_>| {
        if let Some(folder) = &arguments.dump_each
            && matches!(event.moment, Moment::After { rewrites, .. } if rewrites > 0)
        {
            let name = format!("{:04}.{}", event.number + 1, event.pass);
            if let Err(error) = dump(folder, &name, event.module) {
                failed.get_or_insert(error);
            }
        }
    };
    let options = RunOptions {
        verify: Verify::Between,
        rewrite_limit: arguments.stop_after,
        disabled: arguments.disable.iter().map(|name| own_name(name)).collect(),
        observer: Some(&mut observe),
        ..RunOptions::default()
    };
    let report = rxla_passes::run(&mut module, &pipeline.steps, options)?;
    if let Some(error) = failed {
        return Err(error);
    }
    tell(arguments, &report);
    let options = PrintOptions { metadata: !arguments.no_metadata, ..PrintOptions::complete() };
    let text = print(&module, &options);
    output::to(arguments.output.as_deref(), text.as_bytes())?;
    Ok(Answer::Yes)
}

fn pipeline(arguments: &Arguments) -> Result<Pipeline> {
    if arguments.passes.is_empty() {
        return pipeline_by_name(&arguments.pipeline).ok_or_else(|| {
            Error::invalid_argument(format!("there is no pipeline `{}`", arguments.pipeline))
        });
    }
    let names = arguments.passes.iter().map(String::as_str);
    Pipeline::of_names(names).map_err(|error| Error::invalid_argument(error.to_string()))
}

/// A pass may also be named by its class.
fn own_name(name: &str) -> String {
    rxla_passes::lookup(name).map_or(name, |pass| pass.name()).to_owned()
}

fn dump(folder: &Path, name: &str, module: &Module) -> Result<()> {
    let path = folder.join(format!("{name}.hlo"));
    output::to(Some(&path), print(module, &PrintOptions::complete()).as_bytes())
}

fn tell(arguments: &Arguments, report: &Report) {
    for (fixpoint, passes) in &report.unsettled {
        output::message(&format!(
            "warning: {fixpoint} was given up while these passes went on: {}",
            passes.join(", ")
        ));
    }
    if arguments.stop_after.is_some()
        && let Some(last) = report.last
    {
        output::message(&format!("the last of {} rewrites was by `{last}`", report.rewrites()));
    }
    if arguments.stats {
        let mut table = format!("{:<28} {:>6} {:>10} {:>10}\n", "pass", "runs", "rewrites", "ms");
        for pass in &report.passes {
            table.push_str(&format!(
                "{:<28} {:>6} {:>10} {:>10.2}\n",
                pass.name,
                pass.runs,
                pass.rewrites,
                pass.time.as_secs_f64() * 1e3
            ));
        }
        output::message(&table);
    }
}
