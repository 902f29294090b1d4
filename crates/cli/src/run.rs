//! `rxla run`.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use rxla_base::{Error, Result, Severity, render_all};
use rxla_hlo::{ArrayLiteral, Literal, verify_with_spans};
use rxla_interpreter::Options;
use rxla_trace::{Recording, chrome_json};

use crate::backend::{Backend, Program};
use crate::input::{self, Layouts};
use crate::random::Random;
use crate::values::parameters;
use crate::{Answer, environment, npy, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// File with a module; `-` is standard input
    file: String,
    /// Values of parameters in order: `.npy` files, or `.npz` archives of several
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
    /// Make up the values of parameters that no input gives
    #[arg(long, value_name = "SEED")]
    random_inputs: Option<u64>,
    /// What runs the module
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// Run so many times and report the time of each run
    #[arg(long, value_name = "TIMES", default_value_t = 1)]
    repeat: usize,
    /// Write the result here (`.npy` for one array, `.npz` for any number) instead of printing it
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a trace of the compilation and of the runs here, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print every element, however many there are
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, Layouts::Keep)?;
    let findings = verify_with_spans(&input.module, &input.spans);
    if !findings.is_empty() {
        output::message(&render_all(&findings, input.source().as_ref()));
    }
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(Error::invalid_argument(format!("`{}` is not valid", input.name)));
    }
    // A snapshot brings its own arguments, unless others are asked for.
    let own = arguments.input.is_empty() && arguments.random_inputs.is_none();
    let values = if own && !input.arguments.is_empty() {
        input.arguments
    } else {
        parameters(&input.module, &arguments.input, arguments.random_inputs.map(Random::signed))?
    };
    let flags = environment::flags();
    let trace = match (&arguments.trace, flags.rxla_trace_to.as_str()) {
        (Some(file), _) => Some(file.clone()),
        (None, "") => None,
        (None, file) => Some(PathBuf::from(file)),
    };
    let recording = trace.as_ref().map(|_| Recording::start());
    let started = Instant::now();
    let options = rxla_cpu::Options { flags: flags.clone(), ..rxla_cpu::Options::default() };
    let program = Program::with_options(input.module.clone(), arguments.backend, &options)?;
    if let (2.., Some(fallbacks)) = (arguments.repeat, program.fallbacks()) {
        output::message(&format!(
            "compiled in {:.1} ms; {fallbacks} instructions stay interpreted",
            started.elapsed().as_secs_f64() * 1e3
        ));
    }
    let (mut results, mut times) = (Vec::new(), Vec::new());
    for _ in 0..arguments.repeat.max(1) {
        let values = values.clone();
        let started = Instant::now();
        results = program.run(&values, Options::default)?;
        times.push(started.elapsed());
    }
    if let (Some(file), Some(recording)) = (&trace, recording) {
        output::to(Some(file), chrome_json(&recording.trace()).as_bytes())?;
    }
    // The first device's stands for all: they are given the same.
    if let Some(result) = results.first().filter(|_| flags.xla_dump_hlo_snapshots) {
        let leaves = |values: &[Literal]| -> Vec<Literal> {
            values.iter().flat_map(leaves).map(Literal::Array).collect()
        };
        let (given, got) = (leaves(&values), leaves(std::slice::from_ref(result)));
        rxla_dump::snapshot(&flags, &input.module, &given, &got);
    }
    if arguments.repeat > 1 {
        output::message(&summary(times));
    }
    match &arguments.output {
        Some(path) => {
            let arrays: Vec<ArrayLiteral> = results.iter().flat_map(leaves).collect();
            npy::write(path, &arrays)?;
        }
        None => {
            let several = results.len() > 1;
            for (device, result) in results.iter().enumerate() {
                let mut text = String::new();
                if several {
                    let _ = writeln!(text, "device {device}");
                }
                print(result, arguments.full, &mut text);
                output::result(&text)?;
            }
        }
    }
    Ok(Answer::Yes)
}

fn leaves(value: &Literal) -> Vec<ArrayLiteral> {
    match value {
        Literal::Array(array) => vec![array.clone()],
        Literal::Tuple(elements) => elements.iter().flat_map(leaves).collect(),
        Literal::Token => Vec::new(),
    }
}

fn print(value: &Literal, full: bool, out: &mut String) {
    match value {
        Literal::Array(array) => print_array(array, full, out),
        Literal::Tuple(elements) => {
            elements.iter().for_each(|element| print(element, full, out));
        }
        Literal::Token => out.push_str("token[]\n"),
    }
}

/// Shape and elements, in braces like HLO text; the middle of a long array is left out.
fn print_array(array: &ArrayLiteral, full: bool, out: &mut String) {
    const SHOWN: usize = 64;
    let _ = write!(out, "{} ", array.shape());
    if !full && array.len() > SHOWN {
        for index in 0..SHOWN / 2 {
            array.print_element(index, out);
            out.push_str(", ");
        }
        out.push('…');
        for index in array.len() - SHOWN / 2..array.len() {
            out.push_str(", ");
            array.print_element(index, out);
        }
        out.push('\n');
        return;
    }
    let dims = array.dims();
    for index in 0..array.len() {
        let mut closed = 0;
        let mut block = 1;
        for &size in dims.iter().rev() {
            block *= size as usize;
            closed += usize::from(index % block == 0);
        }
        if index > 0 {
            let ended = closed;
            out.extend(std::iter::repeat_n('}', ended));
            out.push_str(", ");
        }
        out.extend(std::iter::repeat_n('{', closed));
        array.print_element(index, out);
    }
    if array.is_empty() {
        out.push_str("{}");
    } else {
        out.extend(std::iter::repeat_n('}', dims.len()));
    }
    out.push('\n');
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    format!(
        "{} runs: fastest {:.3} ms, median {:.3} ms, slowest {:.3} ms",
        times.len(),
        milliseconds(times[0]),
        milliseconds(times[times.len() / 2]),
        milliseconds(times[times.len() - 1])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_print_in_braces() {
        for (array, expected) in [
            (ArrayLiteral::scalar(3i32), "s32[] 3\n"),
            (ArrayLiteral::from_values([2], &[1i32, 2]), "s32[2] {1, 2}\n"),
            (ArrayLiteral::from_values([2, 2], &[1i32, 2, 3, 4]), "s32[2,2] {{1, 2}, {3, 4}}\n"),
            (ArrayLiteral::from_values::<f32>([0, 3], &[]), "f32[0,3] {}\n"),
        ] {
            let mut out = String::new();
            print_array(&array, false, &mut out);
            assert_eq!(out, expected);
        }
    }
}
