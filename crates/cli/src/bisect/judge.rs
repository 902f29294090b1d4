//! `rxla judge`, which `rxla bisect` runs for each candidate in a process of its own: whether
//! compiled code gives what the interpreter gives.
//!
//! It says one line: `agrees`, `blind` if no number of the result is finite, or `differs`, `fails` or `unjudged` with the reason. A process that
//! ends without one has crashed.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rxla_base::{Code, Result};
use rxla_hlo::literal::{Nans, Tolerance, Zeros, compare};
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo::{ArrayLiteral, ElementType, Literal, Shape};
use rxla_interpreter::{Interpreter, Options};

use crate::input::{self, Layouts};
use crate::{Answer, environment, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// A snapshot: a module and its arguments
    file: String,
    /// How far a number may be from the expected one, as a part of the largest expected
    #[arg(long)]
    tolerance: Option<f64>,
    /// Only run the passes: write what they make of the module here, and say how many rewrites
    /// there were and which pass made the last
    #[arg(long, value_name = "FILE")]
    optimized: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, Layouts::Keep)?;
    let flags = environment::flags();
    if let Some(path) = &arguments.optimized {
        let mut module = input.module;
        let report = rxla_cpu::optimize_with(&mut module, &flags, None)?;
        output::to(Some(path), print(&module, &PrintOptions::complete()).as_bytes())?;
        let last = report.last.unwrap_or("none");
        output::result(&format!("{} {last}\n", report.rewrites()))?;
        return Ok(Answer::Yes);
    }
    let module = Arc::new(input.module);
    let expected = match Interpreter::new(Arc::clone(&module))
        .run(input.arguments.clone(), &Options::default())
    {
        Ok(expected) => expected,
        Err(error) => return say("unjudged", &error.to_string()),
    };
    let options = rxla_cpu::Options { flags, ..rxla_cpu::Options::default() };
    let found = rxla_cpu::compile(&module, &options)
        .and_then(|executable| executable.run(input.arguments, Options::default));
    let found = match found {
        Ok(leaves) => leaves,
        Err(error) if error.code == Code::Unimplemented => {
            return say("unjudged", &error.to_string());
        }
        Err(error) => return say("fails", &error.to_string()),
    };
    let shape = &module[module[module.entry()].root()].shape;
    let found = tree(shape, &mut found.into_iter());
    let (mut expected_leaves, mut found_leaves) = (Vec::new(), Vec::new());
    leaves(&expected, &mut expected_leaves);
    leaves(&found, &mut found_leaves);
    for (&expected, found) in expected_leaves.iter().zip(found_leaves) {
        let tolerance = tolerance(expected, arguments.tolerance);
        if let Err(difference) = compare(expected, found, tolerance) {
            return say("differs", &difference.to_string());
        }
    }
    let mut floats = expected_leaves.iter().filter_map(|leaf| leaf.as_array()).peekable();
    let blind = floats.peek().is_some() && floats.all(|array| is_without_finite(array));
    output::result(if blind { "blind\n" } else { "agrees\n" })?;
    Ok(Answer::Yes)
}

fn say(verdict: &str, reason: &str) -> Result<Answer> {
    output::result(&format!("{verdict} {}\n", reason.replace('\n', " ")))?;
    Ok(Answer::No)
}

/// Sums may be taken in another order, functions may be rounded otherwise.
fn tolerance(expected: &Literal, asked: Option<f64>) -> Tolerance {
    let Some(array) = expected.as_array() else { return Tolerance::EXACT };
    let usual = match array.element_type().real_part() {
        ElementType::F64 => 1e-10,
        ElementType::F32 => 1e-4,
        ElementType::F16 => 1e-2,
        ElementType::Bf16 => 5e-2,
        other if other.is_float() => 0.3,
        _ => 0.0,
    };
    let part = asked.unwrap_or(usual);
    let largest = match part == 0.0 {
        true => 0.0,
        false => (0..array.len())
            .map(|index| size(array, index))
            .filter(|size| size.is_finite())
            .fold(0.0, f64::max),
    };
    Tolerance {
        absolute: part * largest,
        relative: part,
        ulps: 16,
        zeros: Zeros::AnySign,
        nans: Nans::AnyNan,
    }
}

/// Whether it is of floats, none of which is finite.
fn is_without_finite(array: &ArrayLiteral) -> bool {
    let element_type = array.element_type();
    let float = element_type.is_float() || element_type.is_complex();
    float && array.len() > 0 && (0..array.len()).all(|index| !size(array, index).is_finite())
}

/// The absolute value of an element.
fn size(array: &ArrayLiteral, index: usize) -> f64 {
    match array.complex(index) {
        Some(value) => value.norm(),
        None => array.float(index).map_or(0.0, f64::abs),
    }
}

fn leaves<'a>(value: &'a Literal, out: &mut Vec<&'a Literal>) {
    match value {
        Literal::Tuple(elements) => elements.iter().for_each(|element| leaves(element, out)),
        Literal::Array(_) => out.push(value),
        Literal::Token => {}
    }
}

/// A value of a shape from its leaves.
fn tree(shape: &Shape, leaves: &mut impl Iterator<Item = Literal>) -> Literal {
    match shape {
        Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| tree(element, leaves)).collect())
        }
        _ => leaves.next().unwrap_or(Literal::Token),
    }
}
