//! Programs bound to devices, and their execution.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::{Code, Error, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, ArrayShape, Literal, Shape};

use crate::apart;
use crate::backend::Run;
use crate::buffer::Buffer;
use crate::client::Client;
use crate::compile_options::LogicalDevice;
use crate::device::{Device, Memory, MemoryKind};
use crate::executable::{Donation, Executable, Output, Signature};
use crate::host::{Host, Nobody};
use crate::later;

/// A program that can run on devices of a client.
pub struct LoadedExecutable {
    client: Client,
    executable: Arc<Executable>,
    devices: Vec<LogicalDevice>,
    outputs: Vec<Prepared>,
    /// Whether any parameter may be donated.
    donates: bool,
    /// Whether there are results to wait for, of sizes that are known before.
    may_come_later: bool,
    deleted: AtomicBool,
}

/// What all executions say of an output.
struct Prepared {
    memory: MemoryKind,
    shape: Arc<Shape>,
    /// That of the value, `None` for a token. Values of dynamic shape come with sizes of their own.
    array: Option<Arc<ArrayShape>>,
}

/// How one execution differs from others of the program.
#[derive(Clone)]
pub struct ExecuteOptions {
    /// Parameters that keep their buffers this time although the program would take them.
    pub not_donated: Vec<usize>,
    /// How the program reaches the world outside.
    pub host: Arc<dyn Host>,
    /// Run on this device of the client alone, as the program's first logical device.
    pub device: Option<usize>,
}

impl Default for ExecuteOptions {
    fn default() -> ExecuteOptions {
        ExecuteOptions { not_donated: Vec::new(), host: Arc::new(Nobody), device: None }
    }
}

static RUNS: AtomicU64 = AtomicU64::new(1);

impl LoadedExecutable {
    pub(crate) fn new(client: Client, executable: Arc<Executable>) -> Result<LoadedExecutable> {
        let devices = executable.options().logical_devices(client.devices().len())?;
        let signature = executable.signature();
        let outputs = signature.outputs.iter().map(Prepared::new).collect();
        let donates = signature.parameters.iter().any(|p| p.donation != Donation::Kept);
        let is_dynamic = |output: &Output| dynamic(&output.shape);
        let may_come_later =
            !signature.outputs.is_empty() && !signature.outputs.iter().any(is_dynamic);
        let deleted = AtomicBool::new(false);
        Ok(LoadedExecutable {
            client,
            executable,
            devices,
            outputs,
            donates,
            may_come_later,
            deleted,
        })
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn executable(&self) -> &Arc<Executable> {
        &self.executable
    }

    /// The devices that run, in the order of argument lists.
    pub fn devices(&self) -> &[LogicalDevice] {
        &self.devices
    }

    pub fn delete(&self) {
        self.deleted.store(true, Ordering::Relaxed);
    }

    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Relaxed)
    }

    /// Runs the program on its only device.
    pub fn run(&self, arguments: &[Arc<Buffer>]) -> Result<Vec<Arc<Buffer>>> {
        let mut outputs = self.execute(&[arguments.to_vec()], &ExecuteOptions::default())?;
        outputs.pop().ok_or_else(|| Error::internal("an execution gave no outputs"))
    }

    /// Runs the program once on every device; `arguments` and the result have a list for each. What
    /// takes long, or has arguments that are not there yet, may still run when this returns:
    /// [`Buffer::ready`] of the results tells, also of errors.
    pub fn execute(
        &self,
        arguments: &[Vec<Arc<Buffer>>],
        options: &ExecuteOptions,
    ) -> Result<Vec<Vec<Arc<Buffer>>>> {
        if self.is_deleted() {
            return Err(Error::new(
                Code::FailedPrecondition,
                format!("the executable `{}` has been deleted", self.executable.name()),
            ));
        }
        let chosen;
        let devices: &[LogicalDevice] = match options.device {
            None => &self.devices,
            Some(device) => {
                chosen = [self.on_device(device)?];
                &chosen
            }
        };
        if arguments.len() != devices.len() {
            return Err(Error::invalid_argument(format!(
                "`{}` runs on {} devices and was given arguments for {}",
                self.executable.name(),
                devices.len(),
                arguments.len()
            )));
        }
        let signature = self.executable.signature();
        for list in arguments {
            check_arguments(self.executable.name(), signature, list)?;
            if self.donates {
                check_donations(self.executable.name(), signature, list, &options.not_donated)?;
            }
        }
        if let ([logical], [list], true) = (devices, arguments, self.devices.len() > 1)
            && let Some(identity) = self.executable.meeting()
        {
            return Ok(vec![apart::execute(self, identity, *logical, list, options)?]);
        }
        let pace = self.executable.pace();
        let ready = || arguments.iter().flatten().all(|buffer| buffer.ready().is_ready());
        if self.may_come_later && !pace.calls_host() && (pace.is_long() || !ready()) {
            return later::execute(self, devices, arguments, options);
        }
        let literals = arguments
            .iter()
            .map(|list| take_arguments(&self.executable, list, &options.not_donated))
            .collect::<Result<Vec<_>>>()?;
        let results = run(&self.executable, devices, literals, &options.host, None)?;
        results
            .into_iter()
            .zip(devices)
            .map(|(leaves, logical)| self.outputs(leaves, logical.device))
            .collect()
    }

    /// The logical device that runs when the caller names a device of the client.
    fn on_device(&self, device: usize) -> Result<LogicalDevice> {
        if let Some(logical) = self.devices.iter().find(|logical| logical.device == device) {
            return Ok(*logical);
        }
        if self.devices.len() == 1 && self.executable.options().portable {
            return Ok(LogicalDevice { device, ..self.devices[0] });
        }
        Err(Error::invalid_argument(format!(
            "`{}` was not compiled for device {device}",
            self.executable.name()
        )))
    }

    fn outputs(&self, leaves: Vec<Literal>, device: usize) -> Result<Vec<Arc<Buffer>>> {
        if leaves.len() != self.outputs.len() {
            return Err(Error::internal(format!(
                "`{}` has {} outputs and gave {}",
                self.executable.name(),
                self.outputs.len(),
                leaves.len()
            )));
        }
        let device = &self.client.devices()[device];
        distinct(leaves)?
            .into_iter()
            .zip(&self.outputs)
            .map(|(leaf, output)| {
                let memory = device.memory(output.memory);
                Ok(Arc::new(output.buffer(leaf, device, memory)?))
            })
            .collect()
    }

    /// Buffers for the results of an execution on a device that is still to come.
    pub(crate) fn pending(&self, device: &Arc<Device>) -> Result<Vec<Arc<Buffer>>> {
        let outputs = self.executable.signature().outputs.iter().zip(&self.outputs);
        outputs
            .map(|(output, prepared)| {
                if dynamic(&output.shape) {
                    return Err(Error::unimplemented(format!(
                        "`{}` on a device that runs apart from the others gives `{}`, whose size \
                         is not known before",
                        self.executable.name(),
                        output.shape
                    )));
                }
                let memory = device.memory(output.memory);
                Ok(Arc::new(Buffer::pending(Arc::clone(&prepared.shape), device, memory)?))
            })
            .collect()
    }
}

/// Runs a program on these devices: per device, the leaves of the result. What is there early is told, too.
pub(crate) fn run(
    executable: &Executable,
    devices: &[LogicalDevice],
    arguments: Vec<Vec<Literal>>,
    host: &Arc<dyn Host>,
    tell: Option<&dyn Fn(usize, Literal)>,
) -> Result<Vec<Vec<Literal>>> {
    let run_id = next_run();
    let snapshot = executable.options().flags.xla_dump_hlo_snapshots.then(|| arguments.clone());
    let program = executable.program();
    let execute = || program.execute(Run { devices, arguments, host, run_id, tell });
    let results = if rxla_trace::is_on() {
        program.watch(&|| Arc::clone(executable.module()));
        let device = devices.first().map_or(0, |logical| logical.device as u32);
        rxla_trace::on_device(device, || {
            let _span = rxla_trace::span(rxla_trace::Kind::Program, || executable.name());
            execute()
        })?
    } else {
        executable.pace().time(execute)?
    };
    for (arguments, results) in snapshot.iter().flatten().zip(&results) {
        let flags = &executable.options().flags;
        rxla_dump::snapshot(flags, executable.module(), arguments, results);
    }
    if results.len() != devices.len() {
        return Err(Error::internal(format!(
            "a run on {} devices gave results for {}",
            devices.len(),
            results.len()
        )));
    }
    Ok(results)
}

/// Whether the value may be smaller than the shape says.
fn dynamic(shape: &Shape) -> bool {
    let array = shape.as_array();
    array.is_some_and(|array| (0..array.rank()).any(|d| array.is_dynamic_dimension(d)))
}

/// A number for an execution.
pub(crate) fn next_run() -> u64 {
    RUNS.fetch_add(1, Ordering::Relaxed)
}

/// Results as buffers of their own: whoever writes to one by its address does not write to another, nor does who
/// knows the address of an argument that the program hands on.
pub(crate) fn distinct(leaves: Vec<Literal>) -> Result<Vec<Literal>> {
    let mut seen = FxHashSet::default();
    leaves
        .into_iter()
        .map(|leaf| match leaf {
            Literal::Array(array)
                if !array.is_unique()
                    && !array.is_empty()
                    && (array.is_shown() || !seen.insert(array.bytes().as_ptr().addr())) =>
            {
                let bytes = Bytes::copy_of(array.bytes())?;
                Ok(Literal::Array(ArrayLiteral::from_bytes(array.shape(), bytes)?))
            }
            Literal::Array(_) | Literal::Token | Literal::Tuple(_) => Ok(leaf),
        })
        .collect()
}

impl Prepared {
    fn new(output: &Output) -> Prepared {
        // Values have real sizes, whatever the program says of its bounds.
        let array = output.shape.as_array().map(|array| {
            let mut array = array.clone();
            for dimension in 0..array.rank() {
                array.set_dynamic(dimension, false);
            }
            array
        });
        let shape = array.clone().map_or_else(|| output.shape.clone(), Shape::Array);
        Prepared { memory: output.memory, shape: Arc::new(shape), array: array.map(Arc::new) }
    }

    /// The output as a buffer, in the output's layout.
    fn buffer(&self, leaf: Literal, device: &Arc<Device>, memory: &Memory) -> Result<Buffer> {
        match (leaf, &self.array) {
            (Literal::Array(array), Some(wanted)) if array.shape().dims == wanted.dims => {
                let leaf = Literal::Array(array.with_shared_shape(Arc::clone(wanted))?);
                Buffer::with_contents(Arc::clone(&self.shape), leaf, device, memory)
            }
            (leaf, _) => Buffer::from_literal(leaf, device, memory),
        }
    }
}

impl fmt::Debug for LoadedExecutable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedExecutable({}, {:?})", self.executable.name(), self.devices)
    }
}

pub(crate) fn donates(signature: &Signature, parameter: usize, not_donated: &[usize]) -> bool {
    signature.parameters[parameter].donation != Donation::Kept && !not_donated.contains(&parameter)
}

fn check_arguments(program: &str, signature: &Signature, arguments: &[Arc<Buffer>]) -> Result<()> {
    if arguments.len() != signature.parameters.len() {
        return Err(Error::invalid_argument(format!(
            "`{program}` takes {} arguments and was given {}",
            signature.parameters.len(),
            arguments.len()
        )));
    }
    for (number, (buffer, parameter)) in arguments.iter().zip(&signature.parameters).enumerate() {
        let fits = buffer.shape().compatible(&parameter.shape)
            || fits_bound(buffer, &parameter.shape)
            || stands_for_token(buffer, &parameter.shape);
        if !fits {
            return Err(Error::invalid_argument(format!(
                "argument {number} of `{program}` must be `{}` and is `{}`",
                parameter.shape,
                buffer.shape()
            )));
        }
    }
    Ok(())
}

/// Looks for donations that cannot be, before any is made.
fn check_donations(
    program: &str,
    signature: &Signature,
    arguments: &[Arc<Buffer>],
    not_donated: &[usize],
) -> Result<()> {
    for (number, buffer) in arguments.iter().enumerate() {
        if buffer.is_deleted() {
            return Err(gone(program, number, buffer));
        }
    }
    // A donated buffer may stand in one place of the call only.
    let mut seen: FxHashMap<*const Buffer, (usize, bool)> = FxHashMap::default();
    for (number, buffer) in arguments.iter().enumerate() {
        let donated = donates(signature, number, not_donated);
        let Some(&(before, donated_before)) = seen.get(&Arc::as_ptr(buffer)) else {
            seen.insert(Arc::as_ptr(buffer), (number, donated));
            continue;
        };
        let conflict = match (donated_before, donated) {
            (true, true) => "donate the same buffer twice",
            (true, false) => "use a buffer that was previously donated",
            (false, true) => "donate a buffer which is also used by the same call",
            (false, false) => continue,
        };
        return Err(Error::invalid_argument(format!(
            "attempt to {conflict} in one call to Execute() (flattened arguments {before} and \
             {number} of `{program}`); for JAX, check `donate_argnums`"
        )));
    }
    Ok(())
}

/// Whether the argument is an array without elements where a token belongs: frameworks order
/// effects with such.
fn stands_for_token(buffer: &Buffer, parameter: &Shape) -> bool {
    matches!(parameter, Shape::Token) && buffer.byte_size() == 0
}

/// Whether the argument is an instance of a bounded dynamic shape.
fn fits_bound(buffer: &Buffer, parameter: &Shape) -> bool {
    let (Shape::Array(given), Shape::Array(wanted)) = (buffer.shape(), parameter) else {
        return false;
    };
    given.element_type == wanted.element_type
        && given.rank() == wanted.rank()
        && (0..given.rank()).all(|dimension| {
            let (given, bound) = (given.dims[dimension], wanted.dims[dimension]);
            given == bound || (wanted.is_dynamic_dimension(dimension) && given <= bound)
        })
}

pub(crate) fn gone(program: &str, number: usize, buffer: &Buffer) -> Error {
    Error::invalid_argument(format!(
        "argument {number} of `{program}`, `{}`, has been deleted or donated",
        buffer.shape()
    ))
}

/// The arguments of the entry computation on one device.
fn take_arguments(
    executable: &Executable,
    arguments: &[Arc<Buffer>],
    not_donated: &[usize],
) -> Result<Vec<Literal>> {
    let (program, signature) = (executable.name(), executable.signature());
    let literals = arguments
        .iter()
        .enumerate()
        .map(|(number, buffer)| {
            let literal = if donates(signature, number, not_donated) {
                buffer.donate()
            } else {
                buffer.literal()
            };
            let literal = literal.map_err(|error| match buffer.is_deleted() {
                true => gone(program, number, buffer),
                false => error,
            })?;
            match signature.parameters[number].shape {
                Shape::Token => Ok(Literal::Token),
                _ => Ok(literal),
            }
        })
        .collect::<Result<Vec<_>>>()?;
    match executable.options().tupled_arguments {
        true => Ok(vec![Literal::Tuple(literals)]),
        false => Ok(literals),
    }
}
