//! `rxla bench`: how long a module takes, which of its kernels take it, and how near they are to what
//! the machine can do.
//!
//! The time is that of the program as it is; which kernel takes how much is told by a twin that
//! tells when it runs what. What the machine can do is measured: bytes by copies of what is larger
//! than its caches, operations by a large product of matrices of `f32`.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use rxla_base::Result;
use rxla_flags::Flags;
use rxla_hlo::{Literal, Module};
use rxla_interpreter::Options;
use rxla_trace::{Event, Kind, Recording};

use crate::backend::{Backend, Program};
use crate::input::{self, Layouts};
use crate::random::Random;
use crate::{Answer, environment, output, values};

#[derive(Args)]
pub(crate) struct Arguments {
    /// File with a module; `-` is standard input
    file: String,
    /// Values of parameters in order: `.npy` files, or `.npz` archives of several
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
    /// What values that no input gives are made from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    random_inputs: u64,
    /// Seconds to run the module for
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Write the microseconds of each instruction here, for `rxla view --times`
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// Kernels to list
    #[arg(long, default_value_t = 20)]
    top: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, Layouts::Keep)?;
    input.check()?;
    let values =
        values::own_or_made(&input, &arguments.input, Random::signed(arguments.random_inputs))?;
    let options = rxla_cpu::Options { flags: environment::flags(), ..rxla_cpu::Options::default() };
    let name = input.module.name.clone();
    let started = Instant::now();
    let program = Program::with_options(input.module.clone(), Backend::Cpu, &options)?;
    let compiling = milliseconds(started.elapsed());
    let Some(fallbacks) = program.fallbacks() else {
        output::result("the module is interpreted as a whole: nothing of it is compiled\n")?;
        return Ok(Answer::No);
    };
    // Each line as soon as it is known, since large programs take their time.
    output::result(&format!(
        "compiled in {compiling:.1} ms; {fallbacks} instructions stay interpreted\n"
    ))?;
    let times = repeat(&program, &values, arguments.seconds)?;
    output::result(&format!(
        "{} {}: fastest {:.3} ms, median {:.3} ms, slowest {:.3} ms\n",
        times.len(),
        if times.len() == 1 { "run" } else { "runs" },
        milliseconds(times[0]),
        milliseconds(times[times.len() / 2]),
        milliseconds(times[times.len() - 1])
    ))?;
    let peak = Peak::measure()?;
    output::result(&format!(
        "the machine: {:.1} GB/s copied, {:.1} GFLOP/s in a product of f32\n",
        peak.bytes / 1e9,
        peak.flops / 1e9
    ))?;
    let recording = Recording::start();
    // The dumps are there already.
    let flags = Flags { xla_dump_to: String::new(), ..Flags::clone(&options.flags) };
    let options = rxla_cpu::Options { flags: Arc::new(flags), ..options };
    let twin = Program::with_options(input.module, Backend::Cpu, &options)?;
    // What was recorded until here is the compilation.
    drop(recording);
    let recording = Recording::start();
    repeat(&twin, &values, arguments.seconds.min(1.0))?;
    let trace = recording.trace();
    let mut text = String::new();
    table(&trace.events, &peak, arguments.top, &mut text);
    if let Some(path) = &arguments.times {
        let (rows, between) = rows(&trace.events);
        // Of a run, with all trips of loops.
        let runs = between.len().max(1) as f64;
        let time = |row: &Row| row.usual() * row.times.len() as f64 / runs / 1e3;
        let line = |row: &Row| format!("{} {:.3}\n", row.instruction, time(row));
        let lines: String = rows.iter().map(line).collect();
        let lines = format!("HloModule {name}\n{lines}");
        output::to(Some(path), lines.as_bytes())?;
    }
    if trace.lost > 0 {
        let _ = writeln!(text, "{} events were too many to keep", trace.lost);
    }
    output::result(&text)?;
    Ok(Answer::Yes)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs for so many seconds, at least three times, after a first run; the times, sorted. What runs longer than
/// that runs once more only.
fn repeat(program: &Program, values: &[Literal], seconds: f64) -> Result<Vec<Duration>> {
    const MOST: usize = 100_000;
    let run = || -> Result<Duration> {
        let started = Instant::now();
        program.run(values, Options::default)?;
        Ok(started.elapsed())
    };
    let least = if run()?.as_secs_f64() > seconds { 1 } else { 3 };
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < least || (start.elapsed().as_secs_f64() < seconds && times.len() < MOST) {
        times.push(run()?);
    }
    times.sort_unstable();
    Ok(times)
}

/// What the machine can do in a second.
struct Peak {
    bytes: f64,
    flops: f64,
}

impl Peak {
    fn measure() -> Result<Peak> {
        const SIZE: usize = 1 << 25;
        let from = vec![1u64; SIZE / 8];
        let mut to = vec![0u64; SIZE / 8];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let part = from.len().div_ceil(threads);
        let fastest = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            let mut best = f64::INFINITY;
            for _ in 0..8 {
                let started = Instant::now();
                work()?;
                best = best.min(started.elapsed().as_secs_f64());
            }
            Ok(best)
        };
        let copy = fastest(&mut || {
            std::thread::scope(|scope| {
                for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
                    scope.spawn(move || {
                        // Long enough that starting the thread does not count.
                        for _ in 0..8 {
                            to.copy_from_slice(std::hint::black_box(from));
                        }
                    });
                }
            });
            Ok(())
        })?;
        const SIDE: usize = 1024;
        let shape = format!("f32[{SIDE},{SIDE}]");
        let text = format!(
            "HloModule peak\nENTRY e {{\n  x = {shape} parameter(0)\n  ROOT y = {shape} dot(x, x), \
             lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
        );
        let module = parse(&text);
        let values = values::parameters(&module, &[], Some(Random::signed(1)))?;
        let program = Program::new(module, Backend::Cpu)?;
        let product = fastest(&mut || program.run(&values, Options::default).map(drop))?;
        Ok(Peak {
            bytes: (8 * 2 * SIZE) as f64 / copy,
            flops: 2.0 * (SIDE * SIDE * SIDE) as f64 / product,
        })
    }
}

fn parse(text: &str) -> Module {
    let options = rxla_hlo::text::ParseOptions::default();
    rxla_hlo::text::parse(text, &options).unwrap_or_else(|_| panic!("the text is ours")).module
}

/// All events of one kernel.
struct Row {
    name: Arc<str>,
    /// Its name in the module.
    instruction: String,
    /// Nanoseconds of each call, without what runs inside of it.
    times: Vec<u64>,
    flops: f64,
    bytes: f64,
}

impl Row {
    /// Of an event.
    fn new(event: &Event) -> Row {
        let detail = |name: &str| {
            let details = event.details.as_deref().unwrap_or_default();
            details.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
        };
        let number = |name| detail(name).and_then(|value| value.parse().ok()).unwrap_or(0.0);
        Row {
            name: Arc::clone(&event.name),
            instruction: detail("hlo_op").unwrap_or_default().to_owned(),
            times: Vec::new(),
            flops: number("flops"),
            bytes: number("bytes_accessed"),
        }
    }

    /// Nanoseconds of a usual call.
    fn usual(&self) -> f64 {
        median(self.times.clone()) as f64
    }
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// The kernels in events, and for each run of a program what was in none of them.
fn rows(events: &[Event]) -> (Vec<Row>, Vec<u64>) {
    let mut rows: Vec<Row> = Vec::new();
    let mut between: Vec<u64> = Vec::new();
    // Events that are open, with their rows and places there.
    let mut open: Vec<(&Event, usize, usize)> = Vec::new();
    for event in events {
        match event.kind {
            Kind::Program => between.push(event.duration),
            Kind::Op => {
                while open.last().is_some_and(|(outer, ..)| {
                    outer.thread != event.thread || outer.start + outer.duration <= event.start
                }) {
                    open.pop();
                }
                if let Some(&(_, row, place)) = open.last() {
                    let outer = &mut rows[row].times[place];
                    *outer = outer.saturating_sub(event.duration);
                } else if let Some(between) = between.last_mut() {
                    *between = between.saturating_sub(event.duration);
                }
                let known = rows.iter().position(|row| row.name == event.name);
                let row = known.unwrap_or(rows.len());
                if known.is_none() {
                    rows.push(Row::new(event));
                }
                open.push((event, row, rows[row].times.len()));
                rows[row].times.push(event.duration);
            }
            Kind::Compile | Kind::Pass | Kind::Codegen | Kind::Transfer => {}
        }
    }
    (rows, between)
}

fn table(events: &[Event], peak: &Peak, top: usize, out: &mut String) {
    let (mut rows, between) = rows(events);
    let runs = between.len().max(1) as f64;
    let calls = |row: &Row| row.times.len() as f64 / runs;
    let per_run = |row: &Row| row.usual() * calls(row);
    rows.sort_by(|a, b| per_run(b).total_cmp(&per_run(a)));
    let between = median(between) as f64;
    let whole = between + rows.iter().map(per_run).sum::<f64>();
    let share = |nanos: f64| 100.0 * nanos / whole.max(1.0);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n{:>10} {:>6} {:>7} {:>9} {:>9} {:>9}  kernel",
        "us", "%", "calls", "GB/s", "GFLOP/s", "roofline"
    );
    for row in rows.iter().take(top) {
        let seconds = row.usual() / 1e9;
        let least = (row.flops / peak.flops).max(row.bytes / peak.bytes);
        let _ = writeln!(
            out,
            "{:>10.2} {:>6.1} {:>7.0} {:>9.2} {:>9.2} {:>8.0}%  {}",
            per_run(row) / 1e3,
            share(per_run(row)),
            calls(row),
            row.bytes / seconds / 1e9,
            row.flops / seconds / 1e9,
            100.0 * least / seconds,
            row.name
        );
    }
    if rows.len() > top {
        let rest: f64 = rows.iter().skip(top).map(per_run).sum();
        let count = rows.len() - top;
        let (us, part) = (rest / 1e3, share(rest));
        let _ = writeln!(out, "{us:>10.2} {part:>6.1} {:>39}{count} more", "");
    }
    let (us, part) = (between / 1e3, share(between));
    let _ = writeln!(
        out,
        "{us:>10.2} {part:>6.1} {:>39}between kernels: the driver, scalars, memory of results",
        ""
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_inside_is_not_counted_twice() {
        let event = |kind, name: &str, start, duration| Event {
            kind,
            name: name.into(),
            start,
            duration,
            thread: 1,
            device: Some(0),
            details: Some([("bytes_accessed", "2000".to_owned())].into()),
        };
        let run = |from| {
            [
                event(Kind::Program, "m", from, 1000),
                event(Kind::Op, "loop", from, 600),
                event(Kind::Op, "inner", from + 10, 200),
                event(Kind::Op, "inner", from + 300, 200),
                event(Kind::Op, "outer", from + 600, 300),
            ]
        };
        let events: Vec<Event> = [run(0), run(5000)].concat();
        let (rows, between) = rows(&events);
        let found: Vec<(&str, &[u64])> =
            rows.iter().map(|row| (&*row.name, &row.times[..])).collect();
        assert_eq!(
            found,
            [("loop", &[200, 200][..]), ("inner", &[200; 4][..]), ("outer", &[300, 300][..])]
        );
        assert_eq!(between, [100, 100]);
        let mut text = String::new();
        table(&events, &Peak { bytes: 20e9, flops: 1e9 }, 2, &mut text);
        let expected = "
        us      %   calls      GB/s   GFLOP/s  roofline  kernel
      0.40   40.0       2     10.00      0.00       50%  inner
      0.30   30.0       1      6.67      0.00       33%  outer
      0.20   20.0                                        1 more
      0.10   10.0                                        between kernels: the driver, scalars, memory of results
";
        assert_eq!(text, expected, "{text}");
    }
}
