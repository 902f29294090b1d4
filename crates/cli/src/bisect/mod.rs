//! `rxla bisect`: what makes a module wrong, or crash: which rewrite of which pass, or what after
//! the passes; and the smallest module that shows it.
//!
//! Candidates run in processes of their own (`judge.rs`), so that one that crashes or never ends is
//! found and not suffered. What is right is what the interpreter says.

pub(crate) mod judge;
mod reduce;
mod trial;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use rxla_base::{Error, Result};
use rxla_diff::{Detail, Details};
use rxla_hlo::text::{PrintOptions, print};

use crate::input::{self, Layouts};
use crate::random::Random;
use crate::{Answer, output, values};
use reduce::{Begins, Candidate, reduce};
use trial::{Trial, Verdict};

#[derive(Args)]
pub(crate) struct Arguments {
    /// File with a module, or a snapshot with its arguments; `-` is standard input
    file: String,
    /// Values of parameters in order: `.npy` files, or `.npz` archives of several
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
    /// What values that no input gives are made from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    random_inputs: u64,
    /// How far a number may be from the expected one, as a part of the largest expected; without
    /// it, what fits the type
    #[arg(long)]
    tolerance: Option<f64>,
    /// Seconds that compiling and running one candidate may take; the interpreter may take 20 times as long
    #[arg(long, default_value_t = 60.0)]
    timeout: f64,
    /// Seconds after which the smallest module so far is good enough
    #[arg(long, default_value_t = 600.0)]
    seconds: f64,
    /// Folder for the smallest module that shows the fault
    #[arg(short, long, default_value = "bisect-out")]
    output: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, Layouts::Keep)?;
    input.check()?;
    let values = |random| values::own_or_made(&input, &arguments.input, random);
    let seed = arguments.random_inputs;
    std::fs::create_dir_all(&arguments.output).map_err(|error| {
        let folder = arguments.output.display();
        Error::invalid_argument(format!("cannot make `{folder}`: {error}"))
    })?;
    let trial = Trial::new(&arguments.output, arguments.tolerance, arguments.timeout)?;
    let mut start =
        Candidate { module: input.module.clone(), values: values(Random::signed(seed))? };
    let began = Instant::now();
    let mut verdict = trial.judge(&start, "")?;
    // Numbers as they begin in a model grow less from layer to layer.
    if matches!(verdict, Verdict::Blind | Verdict::Unstable(_)) {
        start.values = values(Random::weights(seed))?;
        verdict = trial.judge(&start, "")?;
    }
    let depth = if began.elapsed() > SLOW { Depth::Flags } else { Depth::Rewrite };
    match &verdict {
        Verdict::Blind => {
            return Err(Error::invalid_argument(format!(
                "{verdict}\n  hint: give values with `--input`, or a snapshot of a run"
            )));
        }
        Verdict::Agrees => {
            output::result("compiled code agrees with the interpreter\n")?;
            return Ok(Answer::Yes);
        }
        Verdict::Unjudged(reason) => {
            return Err(Error::invalid_argument(format!("nothing to compare with: {reason}")));
        }
        Verdict::Differs(_) | Verdict::Unstable(_) | Verdict::Fails(_) | Verdict::Crashes(_) => {}
    }
    output::result(&format!("{verdict}\n\n"))?;
    let (begins, remedy) = match &verdict {
        Verdict::Unstable(_) => (Begins::Unsure, None),
        _ => (Begins::WithFault, blame(&trial, &start, &arguments.output, depth)?),
    };
    let (mut tried, mut shown) = (0, 0);
    let began = Instant::now();
    let all = start.module.instruction_ids().count();
    let whole = start.clone();
    let reduced = reduce(start, begins, &mut |candidate| {
        if began.elapsed().as_secs_f64() > arguments.seconds {
            return Ok(false);
        }
        tried += 1;
        // The same fault goes away by the same means.
        let found = trial.judge(candidate, "")?.is_like(&verdict)
            && match &remedy {
                Some(flags) => trial.judge(candidate, flags)? == Verdict::Agrees,
                None => true,
            };
        shown += usize::from(found);
        Ok(found)
    })?;
    let mut minimal = match (reduced, begins) {
        (Some(minimal), _) => minimal,
        (None, Begins::WithFault) => whole,
        (None, Begins::Unsure) => {
            output::result(&format!(
                "none of {tried} parts of it differs by more than rounding explains; values that such results \
                 do not follow from can be given with `--input`, or as a snapshot of a run\n"
            ))?;
            return Ok(Answer::No);
        }
    };
    minimal.module.inline_stack_frames();
    let count = minimal.module.instruction_ids().count();
    output::result(&format!(
        "\nreduced from {all} instructions to {count}, in {tried} trials of which {shown} showed the \
         fault\n"
    ))?;
    let text = print(&minimal.module, &PrintOptions::complete());
    let path = arguments.output.join("minimal.txt");
    output::to(Some(&path), text.as_bytes())?;
    let snapshot = arguments.output.join("minimal.hlo_snapshot.pb");
    trial.write(&minimal, &snapshot)?;
    output::result(&format!("\n{}\n", text.trim_end()))?;
    output::result(&format!("\n{}\n", trial.judge(&minimal, "")?))?;
    blame(&trial, &minimal, &arguments.output, Depth::Rewrite)?;
    output::result(&format!(
        "\nwritten to {} and, with its arguments, {}\n",
        path.display(),
        snapshot.display()
    ))?;
    Ok(Answer::No)
}

/// No pass changes anything.
const NO_PASSES: &str = "--rxla_max_rewrites=0";

/// A trial that takes longer is not made for each of many rewrites; the smallest module tells the same sooner.
const SLOW: Duration = Duration::from_secs(8);

/// How far one wants to know.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// By which flags the fault goes away.
    Flags,
    /// And which rewrite makes it.
    Rewrite,
}

/// Says what has to be left out for the fault to go away, and gives the flags that do it.
fn blame(
    trial: &Trial,
    candidate: &Candidate,
    folder: &Path,
    depth: Depth,
) -> Result<Option<String>> {
    let without =
        |flags: &str| Ok::<bool, Error>(trial.judge(candidate, flags)? == Verdict::Agrees);
    let by_passes = without(NO_PASSES)?;
    if !by_passes {
        output::result("wrong without any pass, too: the fault is in what comes after them\n")?;
    }
    let mut found = None;
    for (flag, what) in [
        ("--rxla_vectorize=false", "the schedule of a kernel (vectors) is at fault"),
        ("--rxla_share_buffers=false", "a buffer is reused while somebody still reads it"),
    ] {
        if without(flag)? {
            output::result(&format!("right with `{flag}`: {what}\n"))?;
            found.get_or_insert(flag.to_owned());
        }
    }
    match (&found, by_passes) {
        (Some(_), true) => output::result("right without passes, too: only they make it so\n")?,
        (None, true) if depth == Depth::Rewrite => {
            return blame_rewrite(trial, candidate, folder).map(Some);
        }
        (None, true) => {
            output::result("right without any pass: one of them is at fault\n")?;
            found = Some(NO_PASSES.to_owned());
        }
        (None, false) => output::result(
            "neither vectors nor shared buffers are at fault: kernels or the driver are\n",
        )?,
        (Some(_), false) => {}
    }
    Ok(found)
}

/// Finds the first rewrite with which the module is wrong, and shows it; gives the flags that leave it out.
fn blame_rewrite(trial: &Trial, candidate: &Candidate, folder: &Path) -> Result<String> {
    let limit = |count: u64| format!("--rxla_max_rewrites={count}");
    let (before, after) = (folder.join("before_rewrite.txt"), folder.join("after_rewrite.txt"));
    // A pass that crashes does not say how many rewrites there are.
    let all = trial.optimized(candidate, "", &after)?.map_or(1 << 20, |(count, _)| count);
    let (mut right, mut wrong) = (0, all);
    while wrong - right > 1 {
        let middle = right + (wrong - right) / 2;
        match trial.judge(candidate, &limit(middle))? {
            Verdict::Agrees => right = middle,
            _ => wrong = middle,
        }
    }
    trial.optimized(candidate, &limit(right), &before)?;
    let Some((_, pass)) = trial.optimized(candidate, &limit(wrong), &after)? else {
        output::result(&format!("the rewrite number {wrong} of {all} ends the process\n"))?;
        return Ok(NO_PASSES.to_owned());
    };
    output::result(&format!(
        "wrong from rewrite number {wrong} of {all} on, which is by `{pass}`"
    ))?;
    let flag = format!("--xla_disable_hlo_passes={pass}");
    let remedy = match trial.judge(candidate, &flag)? {
        Verdict::Agrees => {
            output::result(&format!("; right with `{flag}`\n"))?;
            flag
        }
        _ => {
            output::result("; leaving the whole pass out does not help\n")?;
            NO_PASSES.to_owned()
        }
    };
    let read = |path: &Path| input::read(&path.to_string_lossy(), Layouts::Keep);
    let (old, new) = (read(&before)?.module, read(&after)?.module);
    let (mut text, _) = rxla_diff::show(&old, &new, Details::Meaning, Detail::Instructions);
    const MOST: usize = 4000;
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("…\n");
    }
    output::result(&text)?;
    Ok(remedy)
}
