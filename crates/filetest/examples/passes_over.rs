//! Runs every pipeline over the HLO text files below folders and compares what the interpreter says
//! before and after: `cargo run --release -p rxla-filetest --example passes_over -- FOLDER…`.
//!
//! Each file ends in one word: `same`, `DIFFERENT`, `BROKEN` (a pass fails or leaves an invalid
//! module), or why nothing can be said (`unread`, `invalid`, `large`, `refused` by the interpreter or
//! for what phase it is of). Differences are floats that pipelines may not have touched, so a line
//! ends with how far they are apart.

#![expect(clippy::print_stdout, reason = "it is a command")]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rxla_filetest::{files, generate};
use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::text::{ParseOptions, parse};
use rxla_interpreter::{Options, evaluate};
use rxla_passes::{PIPELINES, RunOptions, Verify, run};

/// Bytes of all values together beyond which a module is not run.
const LARGE: usize = 1 << 26;

fn main() {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut time = Duration::ZERO;
    for folder in std::env::args().skip(1) {
        for path in files(Path::new(&folder)) {
            for pipeline in PIPELINES {
                let (word, more) = check(&path, &(pipeline.build)(), &mut time);
                *counts.entry(format!("{} {word}", pipeline.name)).or_default() += 1;
                println!("{} {}: {word} {more}", path.display(), pipeline.name);
            }
        }
    }
    println!("{counts:#?}\npasses took {time:?}");
}

fn check(
    path: &Path,
    pipeline: &rxla_passes::Pipeline,
    time: &mut Duration,
) -> (&'static str, String) {
    let Ok(text) = std::fs::read_to_string(path) else { return ("unread", String::new()) };
    let module = match parse(&text, &ParseOptions::default()) {
        Ok(parsed) => parsed.module,
        Err(_) => return ("unread", String::new()),
    };
    if !rxla_hlo::verify(&module).is_empty() {
        return ("invalid", String::new());
    }
    let mut changed = module.clone();
    let options = RunOptions { verify: Verify::Between, ..RunOptions::default() };
    let start = Instant::now();
    let report = match run(&mut changed, &pipeline.steps, options) {
        Ok(report) => report,
        Err(error) if error.code == rxla_base::Code::InvalidArgument => {
            return ("refused", error.to_string());
        }
        Err(error) => return ("BROKEN", error.to_string()),
    };
    let took = start.elapsed();
    *time += took;
    let mut summary = format!("{} rewrites in {took:?}", report.rewrites());
    for unsettled in &report.unsettled {
        summary.push_str(&format!(" UNSETTLED {unsettled:?}"));
    }
    let bytes: Option<usize> = module.instruction_ids().map(|i| module[i].shape.byte_size()).sum();
    if bytes.is_none_or(|bytes| bytes > LARGE) {
        return ("large", summary);
    }
    let Ok(inputs) = generate::arguments(&module, 1) else { return ("refused", summary) };
    let options =
        Options { step_limit: Some(1 << 16), memory_limit: 1 << 26, ..Options::default() };
    let expected = match evaluate(&module, inputs.clone(), &options) {
        Ok(expected) => expected,
        Err(error) => return ("refused", error.message.lines().next().unwrap_or("").to_owned()),
    };
    match evaluate(&changed, inputs, &options) {
        Ok(found) => match compare(&expected, &found, Tolerance::EXACT) {
            Ok(_) => ("same", summary),
            Err(wrong) => ("DIFFERENT", format!("{summary}\n{wrong}")),
        },
        Err(error) => ("DIFFERENT", format!("{summary}\n{error}")),
    }
}
