//! Random modules keep their results through every pass and every pipeline.
//!
//! Results are compared to the bit, signs of zeros included; all NaNs are one. When one differs the
//! test finds the first rewrite that does it and shows the module before and after that one.
//! `RXLA_RANDOM_MODULES=5000` tries more modules than usual, `RXLA_RANDOM_SEED=17` starts at another
//! one.

use rxla_filetest::generate::{Size, arguments, module};
use rxla_hlo::Module;
use rxla_hlo::literal::{Tolerance, compare};
use rxla_hlo::text::{PrintOptions, print};
use rxla_interpreter::{Options, evaluate};
use rxla_passes::{ALL, PIPELINES, Pipeline, RunOptions, Step, Verify, run};

/// A seed whose module is small for small seeds, so that what fails first is easy to read.
fn size(number: u64) -> Size {
    Size { instructions: 4 + (number / 8).min(30) as usize, ..Size::default() }
}

/// Passes that round more often than the op they expand. Their own tests compare within what that
/// makes; after it, a module may take another branch, and no bound holds.
const ROUND_OTHERWISE: &[&str] = &["logistic-expander"];

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn options() -> Options {
    Options { step_limit: Some(1 << 20), ..Options::default() }
}

/// The module after the steps and the number of rewrites.
fn run_steps(module: &Module, steps: &[Step], limit: Option<u64>) -> Result<(Module, u64), String> {
    let mut changed = module.clone();
    let options =
        RunOptions { verify: Verify::Between, rewrite_limit: limit, ..RunOptions::default() };
    let report = run(&mut changed, steps, options).map_err(|error| error.to_string())?;
    if report.unsettled.is_empty() {
        Ok((changed, report.rewrites()))
    } else {
        Err(format!("{:?} never settle", report.unsettled))
    }
}

fn text(module: &Module) -> String {
    print(module, &PrintOptions { layouts: false, ..PrintOptions::complete() })
}

/// Runs the steps on a random module. An error is what went wrong; `None` is a module that the
/// interpreter refuses, such as one with a loop that takes too long, which says nothing.
fn check(steps: &[Step], seed: u64, size: Size) -> Result<Option<u64>, String> {
    let module = module(seed, size);
    let inputs = arguments(&module, seed).map_err(|error| error.to_string())?;
    let Ok(expected) = evaluate(&module, inputs.clone(), &options()) else { return Ok(None) };
    let difference = |module: &Module| match evaluate(module, inputs.clone(), &options()) {
        Ok(found) => {
            compare(&expected, &found, Tolerance::EXACT).err().map(|wrong| wrong.to_string())
        }
        Err(error) => Some(error.to_string()),
    };
    let (changed, rewrites) =
        run_steps(&module, steps, None).map_err(|error| format!("{error}\n{}", text(&module)))?;
    let Some(why) = difference(&changed) else { return Ok(Some(rewrites)) };
    // The first rewrite after which the value differs.
    for limit in 1..=rewrites {
        let (after, _) = run_steps(&module, steps, Some(limit))?;
        if let Some(why) = difference(&after) {
            let (before, _) = run_steps(&module, steps, Some(limit - 1))?;
            let before = text(&before);
            let changes = rxla_filetest::difference(&before, &text(&after));
            return Err(format!(
                "rewrite {limit} changes the result:\n{why}\n{changes}\nof\n{before}"
            ));
        }
    }
    Err(format!("the result is only wrong without a limit: {why}\n{}", text(&module)))
}

/// The same with the message for the smallest module of the same seed that fails.
fn check_and_shrink(name: &str, steps: &[Step], seed: u64, size: Size) -> Option<u64> {
    match check(steps, seed, size) {
        Ok(rewrites) => rewrites,
        Err(found) => {
            let smaller = (1..size.instructions)
                .find_map(|instructions| check(steps, seed, Size { instructions, ..size }).err());
            panic!("seed {seed}, `{name}`: {}", smaller.unwrap_or(found))
        }
    }
}

#[test]
fn passes_and_pipelines_keep_results() {
    let count = setting("RXLA_RANDOM_MODULES", 600);
    let first = setting("RXLA_RANDOM_SEED", 0);
    let passes: Vec<(&str, Pipeline)> = ALL
        .iter()
        .filter(|pass| !ROUND_OTHERWISE.contains(&pass.name()))
        .map(|pass| {
            let steps = vec![Step::pass(*pass)];
            (pass.name(), Pipeline { name: pass.name(), steps })
        })
        .chain(PIPELINES.iter().map(|pipeline| (pipeline.name, (pipeline.build)())))
        .collect();
    let mut rewrites = vec![0; passes.len()];
    let mut ran = 0;
    for number in 0..count {
        let seed = first + number;
        for (index, (name, pipeline)) in passes.iter().enumerate() {
            let Some(made) = check_and_shrink(name, &pipeline.steps, seed, size(number)) else {
                break;
            };
            rewrites[index] += made;
            ran += u64::from(index == 0);
        }
    }
    assert!(ran * 10 >= count * 9, "only {ran} of {count} modules run");
    for (total, (name, _)) in rewrites.iter().zip(&passes) {
        println!("{name}: {total} rewrites");
    }
}
