//! The ways in: run a module, run it many times, run one instruction.

use std::sync::Arc;

use rxla_base::{Error, Result, crew};
use rxla_hlo::{InstructionId, Literal, Module};

use crate::collective::{Collectives, Group, Places, Programs};
use crate::context::Context;
use crate::custom_call::custom_call_in_place;
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

    /// Runs on one device of a module that may be for several, whose program meets no other.
    pub fn run_alone(
        &self,
        device: DeviceId,
        arguments: Vec<Literal>,
        options: &Options,
    ) -> Result<Literal> {
        self.session(device, options, |session| session.run(arguments))
    }

    /// Gives `run` a way to evaluate single instructions, all within one run on one device: what
    /// `rng` draws goes on from instruction to instruction.
    pub fn session<R>(
        &self,
        device: DeviceId,
        options: &Options,
        run: impl FnOnce(&Session<'_>) -> R,
    ) -> R {
        let (replicas, partitions) = device_counts(&self.module);
        let timeout = options.collective_timeout;
        let collectives = Collectives::new(replicas, partitions, Programs::Same, timeout);
        let cx = Context::new(&self.module, &self.plans, options, device, &collectives);
        run(&Session { cx })
    }

    /// As [`Interpreter::session`], for all devices at once, on a thread each: what they evaluate
    /// meets. There is a part for each device, replica by replica and by partition within one; so
    /// are the results. Parts may be of different modules as long as those meet alike.
    pub fn sessions<W: Send, R: Send>(
        parts: Vec<Part<'_, W>>,
        run: impl Fn(&Session<'_>, W) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        on_all(parts, |cx, work| run(&Session { cx }, work))
    }

    /// What one device does among others, by this interpreter.
    pub fn part<W>(&self, options: Options, work: W) -> Part<'_, W> {
        Part { module: &self.module, plans: &self.plans, options, work }
    }

    /// Runs on all devices of the module at once; see [`evaluate_spmd`].
    pub fn run_spmd(
        &self,
        arguments: Vec<Vec<Literal>>,
        options: &Options,
    ) -> Result<Vec<Literal>> {
        run_on_all(&self.module, &self.plans, arguments, options)
    }
}

/// What one device of several does.
pub struct Part<'a, W> {
    module: &'a Module,
    plans: &'a Plans,
    options: Options,
    work: W,
}

/// One run of which somebody else decides what is evaluated when.
pub struct Session<'a> {
    cx: Context<'a>,
}

impl Session<'_> {
    /// Evaluates one instruction on the values of its operands, which have no layouts.
    pub fn evaluate(&self, instruction: InstructionId, operands: Vec<Literal>) -> Result<Literal> {
        self.cx.evaluate(instruction, operands)
    }

    /// Has a custom call done where the bytes of its arrays lie, by who has registered for its target, if he can; says
    /// whether. The arrays are dense and row-major, and those of results zeros.
    pub fn call_in_place(
        &self,
        instruction: InstructionId,
        operands: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Result<bool> {
        custom_call_in_place(&self.cx, instruction, operands, results)
            .map_err(|error| self.cx.located(error, instruction))
    }

    /// Whether this is the only device.
    pub fn is_alone(&self) -> bool {
        self.cx.collectives.is_alone()
    }

    /// The devices that meet at a collective.
    pub fn group(&self, instruction: InstructionId) -> Result<Group> {
        Group::at(&self.cx, instruction).map_err(|error| self.cx.located(error, instruction))
    }

    /// Has devices meet at a collective without values changing hands: each does its share of the work,
    /// `work`, on the places of all of its group, of which those at the given index are its own. It returns when
    /// all have done theirs; an error says that nothing was touched.
    pub fn meet(
        &self,
        instruction: InstructionId,
        group: &Group,
        places: Places,
        work: impl FnOnce(&[Arc<Places>], usize),
    ) -> Result<()> {
        group
            .meet_in_place(&self.cx, instruction, places, work)
            .map_err(|error| self.cx.located(error, instruction))
    }

    /// Evaluates the whole module.
    pub fn run(&self, arguments: Vec<Literal>) -> Result<Literal> {
        let arguments = accept(self.cx.module, arguments)?;
        self.cx.run(self.cx.module.entry(), arguments)
    }
}

/// Runs a module on all its replicas and partitions, one thread each. Arguments and results are
/// listed by device: replica by replica, and by partition within one.
pub fn evaluate_spmd(
    module: &Module,
    arguments: Vec<Vec<Literal>>,
    options: &Options,
) -> Result<Vec<Literal>> {
    run_on_all(module, &Plans::new(module), arguments, options)
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
    let collectives = Collectives::new(1, 1, Programs::Same, options.collective_timeout);
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
    let collectives = Collectives::new(1, 1, Programs::Same, options.collective_timeout);
    let arguments = accept(module, arguments)?;
    let cx = Context::new(module, plans, options, DeviceId::default(), &collectives);
    cx.run(module.entry(), arguments)
}

fn run_on_all(
    module: &Module,
    plans: &Plans,
    arguments: Vec<Vec<Literal>>,
    options: &Options,
) -> Result<Vec<Literal>> {
    let parts = arguments
        .into_iter()
        .map(|arguments| {
            let work = accept(module, arguments)?;
            Ok(Part { module, plans, options: options.clone(), work })
        })
        .collect::<Result<_>>()?;
    on_all(parts, |cx, arguments| cx.run(cx.module.entry(), arguments))
}

/// Replicas and partitions.
fn device_counts(module: &Module) -> (usize, usize) {
    let count = |count: i64| usize::try_from(count).unwrap_or(1).max(1);
    (count(module.config.replica_count), count(module.config.num_partitions))
}

/// Has each device do its part of the work on a thread of its own.
fn on_all<W: Send, R: Send>(
    parts: Vec<Part<'_, W>>,
    run: impl Fn(Context<'_>, W) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let Some(first) = parts.first() else { return Ok(Vec::new()) };
    let module = first.module;
    let (replicas, partitions) = device_counts(module);
    if replicas.checked_mul(partitions) != Some(parts.len()) {
        return Err(Error::invalid_argument(format!(
            "`{}` runs on {replicas} replicas and {partitions} partitions, but arguments for {} \
             devices are given",
            module.name,
            parts.len()
        )));
    }
    if parts.iter().any(|part| device_counts(part.module) != (replicas, partitions)) {
        return Err(Error::internal("programs of different numbers of devices run together"));
    }
    let programs = match parts.iter().all(|part| std::ptr::eq(part.module, module)) {
        true => Programs::Same,
        false => Programs::Own,
    };
    let timeout = first.options.collective_timeout;
    let collectives = Collectives::new(replicas, partitions, programs, timeout);
    let run = |number: usize, part: Part<'_, W>| {
        let Part { module, plans, options, work } = part;
        let device = DeviceId { replica: number / partitions, partition: number % partitions };
        // Whatever ends this device's run, the others must learn of it.
        let mut end = End { collectives: &collectives, number, result: None };
        let result = run(Context::new(module, plans, &options, device, &collectives), work);
        end.result = Some(result.as_ref().map(|_| ()).map_err(Error::clone));
        result
    };
    let results = crew::at_once(parts, run, |number, error| {
        let error = Error::resource_exhausted(format!("no thread: {error}"));
        collectives.finish(number, &Err(error.clone()));
        Err(error)
    });
    // The failure that stopped the others says more than theirs do.
    let first = results.iter().filter_map(|result| result.as_ref().err());
    let first = first.min_by_key(|error| error.code == rxla_base::Code::Aborted).cloned();
    match first {
        Some(error) => Err(error),
        None => results.into_iter().collect(),
    }
}

/// Tells the others that a device's run has ended, even by a panic.
struct End<'a> {
    collectives: &'a Collectives,
    number: usize,
    result: Option<Result<()>>,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let panicked = || Err(Error::internal("the device's thread panicked"));
        self.collectives.finish(self.number, &self.result.take().unwrap_or_else(panicked));
    }
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
