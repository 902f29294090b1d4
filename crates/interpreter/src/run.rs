//! The ways in: run a module, run it many times, run one instruction.

use std::sync::Arc;

use rxla_base::{Error, Result};
use rxla_hlo::{InstructionId, Literal, Module};

use crate::collective::Collectives;
use crate::context::Context;
use crate::options::{DeviceId, Options};
use crate::plan::Plans;

/// A module made ready to run any number of times, from any number of threads.
pub struct Interpreter {
    module: Arc<Module>,
    plans: Plans,
}

impl Interpreter {
    /// The module must have passed the verifier.
    pub fn new(module: Arc<Module>) -> Interpreter {
        let plans = Plans::new(&module);
        Interpreter { module, plans }
    }

    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Runs on one device. Arguments nobody else holds may be overwritten by results.
    pub fn run(&self, arguments: Vec<Literal>, options: &Options) -> Result<Literal> {
        run_on(&self.module, &self.plans, arguments, options)
    }
}

/// Runs a module's entry computation once, on one device. The module must have passed the
/// verifier.
pub fn evaluate(module: &Module, arguments: Vec<Literal>, options: &Options) -> Result<Literal> {
    run_on(module, &Plans::new(module), arguments, options)
}

/// Runs one instruction on the values of its operands.
pub fn evaluate_instruction(
    module: &Module,
    instruction: InstructionId,
    operands: Vec<Literal>,
    options: &Options,
) -> Result<Literal> {
    let plans = Plans::new(module);
    let collectives = Collectives::new(1, 1);
    let cx = Context::new(module, &plans, options, DeviceId::default(), &collectives);
    let operands = operands.iter().map(crate::plan::without_layout).collect();
    cx.evaluate(instruction, operands)
}

fn run_on(
    module: &Module,
    plans: &Plans,
    arguments: Vec<Literal>,
    options: &Options,
) -> Result<Literal> {
    let collectives = Collectives::new(1, 1);
    let arguments = accept(module, arguments)?;
    let cx = Context::new(module, plans, options, DeviceId::default(), &collectives);
    cx.run(module.entry(), arguments)
}

/// The arguments as values of the interpreter, if they fit the entry's parameters.
fn accept(module: &Module, arguments: Vec<Literal>) -> Result<Vec<Literal>> {
    let entry = &module[module.entry()];
    if entry.parameters().len() != arguments.len() {
        return Err(Error::invalid_argument(format!(
            "`{}` takes {} arguments, {} are given",
            module.name,
            entry.parameters().len(),
            arguments.len()
        )));
    }
    let accepted = entry.parameters().iter().zip(arguments).enumerate();
    accepted
        .map(|(number, (&parameter, argument))| {
            let expected = &module[parameter].shape;
            if !fits(expected, &argument) {
                return Err(Error::invalid_argument(format!(
                    "argument {number} is `{}` where `{expected}` is expected",
                    argument.shape()
                )));
            }
            Ok(match argument {
                Literal::Array(array) if array.shape().layout.is_some() => {
                    let shape = array.shape().without_layout();
                    Literal::Array(array.with_shape(&shape)?)
                }
                Literal::Tuple(_) => crate::plan::without_layout(&argument),
                argument => argument,
            })
        })
        .collect()
}

/// Whether a value may be passed where a shape is expected: dynamic dimensions take any size up to
/// their bound.
fn fits(expected: &rxla_hlo::Shape, value: &Literal) -> bool {
    match (expected, value) {
        (rxla_hlo::Shape::Tuple(expected), Literal::Tuple(values)) => {
            expected.len() == values.len()
                && expected.iter().zip(values).all(|(expected, value)| fits(expected, value))
        }
        (rxla_hlo::Shape::Token, Literal::Token) => true,
        (expected, Literal::Array(array)) => expected.as_array().is_some_and(|expected| {
            expected.element_type == array.element_type()
                && expected.rank() == array.dims().len()
                && (0..expected.rank()).all(|d| {
                    let (bound, size) = (expected.dims[d], array.dims()[d]);
                    bound == size
                        || expected.is_dynamic_dimension(d)
                            && (size <= bound || bound == rxla_hlo::ArrayShape::UNBOUNDED)
                })
        }),
        (_, Literal::Tuple(_) | Literal::Token) => false,
    }
}
