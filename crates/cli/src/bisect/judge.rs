//! `rxla judge`, which `rxla bisect` runs for each candidate in a process of its own: whether
//! compiled code gives what the interpreter gives.
//!
//! It says one line: `agrees`, `blind` if no number of the result is finite, or `differs`, `unstable` (it differs,
//! but the result follows from the last bits of the arguments), `fails` or `unjudged` with the reason. A
//! process that ends without one has crashed. Lines before that one tell how far it is.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rxla_base::{Code, Result};
use rxla_hlo::literal::{Nans, Tolerance, Zeros, compare};
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo::{ArrayLiteral, ElementType, Literal, Module, Shape};
use rxla_interpreter::{Interpreter, Options};

use crate::input::{self, Layouts};
use crate::random::Random;
use crate::{Answer, environment, output};

/// Said when the interpreter is done and the compiler begins.
pub(super) const COMPILES: &str = "compiles";
/// Said when compiled code has run and the interpreter is asked once more.
pub(super) const COMPILED: &str = "compiled";

/// How often compiled code has to agree.
const RUNS: usize = 4;

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
    output::result(&format!("{COMPILES}\n"))?;
    let options = rxla_cpu::Options { flags, ..Default::default() }.with_subnormals();
    let shape = &module[module[module.entry()].root()].shape;
    let mut expected_leaves = Vec::new();
    leaves(&expected, &mut expected_leaves);
    let differs = |found: &Literal| -> Option<String> {
        let mut found_leaves = Vec::new();
        leaves(found, &mut found_leaves);
        expected_leaves.iter().zip(found_leaves).find_map(|(&expected, found)| {
            let tolerance = tolerance(expected, arguments.tolerance);
            compare(expected, found, tolerance).err().map(|difference| difference.to_string())
        })
    };
    let executable = rxla_cpu::compile(&module, &options);
    let mut difference = None;
    // What one thread writes while another reads is not wrong every time.
    for _ in 0..RUNS {
        let found = match &executable {
            Ok(executable) => executable.run(input.arguments.clone(), Options::default),
            Err(error) => Err(error.clone()),
        };
        let found = match found {
            Ok(leaves) => tree(shape, &mut leaves.into_iter()),
            Err(error) if error.code == Code::Unimplemented => {
                return say("unjudged", &error.to_string());
            }
            Err(error) => return say("fails", &error.to_string()),
        };
        difference = differs(&found);
        if difference.is_some() {
            break;
        }
    }
    if let Some(difference) = difference {
        output::result(&format!("{COMPILED}\n"))?;
        let stable = nearby(&module, &input.arguments).is_ok_and(|near| differs(&near).is_none());
        return say(if stable { "differs" } else { "unstable" }, &difference);
    }
    let mut floats = expected_leaves.iter().filter_map(|leaf| leaf.as_array()).peekable();
    let blind = floats.peek().is_some() && floats.all(is_without_finite);
    output::result(if blind { "blind\n" } else { "agrees\n" })?;
    Ok(Answer::Yes)
}

/// What comes of arguments that differ from these by some of the last bits, as sums differ that are taken
/// in another order.
fn nearby(module: &Arc<Module>, arguments: &[Literal]) -> Result<Literal> {
    let mut random = Random::signed(1);
    let arguments: Result<Vec<Literal>> =
        arguments.iter().map(|argument| random.nearby(argument)).collect();
    Interpreter::new(Arc::clone(module)).run(arguments?, &Options::default())
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
    float && !array.is_empty() && (0..array.len()).all(|index| !size(array, index).is_finite())
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
