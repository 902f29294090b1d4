//! What runs a module: compiled code, or the interpreter.

use std::sync::Arc;

use clap::ValueEnum;
use rxla_base::{Code, Error, Result};
use rxla_cpu::{Executable, Marks};
use rxla_hlo::{Literal, Module, Shape};
use rxla_interpreter::{Interpreter, Options};
use rxla_trace as trace;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Backend {
    /// Op by op, plainly
    Interpreter,
    /// Compiled to machine code; what has no kernel is interpreted in between
    #[default]
    Cpu,
}

/// A module that is ready to run, on as many devices as it is for.
pub(crate) struct Program {
    code: Prepared,
    devices: usize,
}

enum Prepared {
    Interpreted(Interpreter),
    Compiled { executable: Box<Executable>, result: Shape },
}

impl Program {
    /// Prepares a module that has passed the verifier. What cannot be compiled yet as a whole is
    /// interpreted.
    pub(crate) fn new(module: Module, backend: Backend) -> Result<Program> {
        Program::with_options(module, backend, &rxla_cpu::Options::default())
    }

    /// As [`Program::new`], compiled as the options say. While somebody records a trace the program
    /// tells what it runs when.
    pub(crate) fn with_options(
        module: Module,
        backend: Backend,
        options: &rxla_cpu::Options,
    ) -> Result<Program> {
        let devices = devices(&module)?;
        let module = Arc::new(module);
        let interpreted = || Prepared::Interpreted(Interpreter::new(Arc::clone(&module)));
        let code = match backend {
            Backend::Interpreter => interpreted(),
            Backend::Cpu => match compile(&module, options) {
                Err(error) if error.code == Code::Unimplemented => interpreted(),
                executable => Prepared::Compiled {
                    executable: Box::new(executable?),
                    result: module[module[module.entry()].root()].shape.clone(),
                },
            },
        };
        Ok(Program { code, devices })
    }

    /// Of compiled code: how many instructions the interpreter evaluates.
    pub(crate) fn fallbacks(&self) -> Option<usize> {
        match &self.code {
            Prepared::Interpreted(_) => None,
            Prepared::Compiled { executable, .. } => Some(executable.fallbacks().len()),
        }
    }

    /// The results of all devices; each gets the same arguments.
    pub(crate) fn run(
        &self,
        arguments: &[Literal],
        options: impl Fn() -> Options,
    ) -> Result<Vec<Literal>> {
        let mut arguments = vec![arguments.to_vec(); self.devices];
        match &self.code {
            Prepared::Interpreted(interpreter) if self.devices == 1 => {
                Ok(vec![interpreter.run(arguments.pop().unwrap_or_default(), &options())?])
            }
            Prepared::Interpreted(interpreter) => interpreter.run_spmd(arguments, &options()),
            Prepared::Compiled { executable, result } => {
                let programs = vec![&**executable; self.devices];
                let leaves = trace::on_device(0, || {
                    let name = || executable.module().name.as_str();
                    let _span = trace::span(trace::Kind::Program, name);
                    Executable::run_all(&programs, arguments, |_| options())
                })?;
                Ok(leaves.into_iter().map(|leaves| tree(result, &mut leaves.into_iter())).collect())
            }
        }
    }
}

fn compile(module: &Arc<Module>, options: &rxla_cpu::Options) -> Result<Executable> {
    let executable = rxla_cpu::compile(module, options)?;
    if !trace::is_on() {
        return Ok(executable);
    }
    let _span = trace::span(trace::Kind::Compile, || "compile for the trace");
    rxla_cpu::compile(module, &rxla_cpu::Options { marks: Marks::Steps, ..options.clone() })
}

/// A device is a thread.
const MAX_DEVICES: usize = 1024;

fn devices(module: &Module) -> Result<usize> {
    let count = |count: i64| usize::try_from(count.max(1)).ok();
    count(module.config.replica_count)
        .zip(count(module.config.num_partitions))
        .and_then(|(replicas, partitions)| replicas.checked_mul(partitions))
        .filter(|&devices| devices <= MAX_DEVICES)
        .ok_or_else(|| {
            Error::resource_exhausted(format!("a run on more than {MAX_DEVICES} devices"))
        })
}

/// A value of a shape from its leaves in order.
fn tree(shape: &Shape, leaves: &mut impl Iterator<Item = Literal>) -> Literal {
    match shape {
        Shape::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| tree(element, leaves)).collect())
        }
        _ => leaves.next().expect("a value for each leaf"),
    }
}
