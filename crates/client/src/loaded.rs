//! Programs bound to devices, and their execution.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::{Code, Error, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, Literal, Shape};

use crate::backend::Run;
use crate::buffer::Buffer;
use crate::client::Client;
use crate::compile_options::LogicalDevice;
use crate::executable::{Donation, Executable, Signature};
use crate::host::{Host, Nobody};

/// A program that can run on devices of a client.
pub struct LoadedExecutable {
    client: Client,
    executable: Arc<Executable>,
    devices: Vec<LogicalDevice>,
    deleted: AtomicBool,
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
        Ok(LoadedExecutable { client, executable, devices, deleted: AtomicBool::new(false) })
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

    /// Runs the program once on every device; `arguments` and the result have a list for each.
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
            check_arguments(self.executable.name(), signature, list, &options.not_donated)?;
        }
        let literals = arguments
            .iter()
            .map(|list| take_arguments(signature, list, &options.not_donated))
            .collect::<Result<Vec<_>>>()?;
        let literals = if self.executable.options().tupled_arguments {
            literals.into_iter().map(|list| vec![Literal::Tuple(list)]).collect()
        } else {
            literals
        };
        let run_id = RUNS.fetch_add(1, Ordering::Relaxed);
        let run = Run { devices, arguments: literals, host: &options.host, run_id };
        let results = self.executable.program().execute(run)?;
        if results.len() != devices.len() {
            return Err(Error::internal(format!(
                "a run on {} devices gave results for {}",
                devices.len(),
                results.len()
            )));
        }
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
        let outputs = &self.executable.signature().outputs;
        if leaves.len() != outputs.len() {
            return Err(Error::internal(format!(
                "`{}` has {} outputs and gave {}",
                self.executable.name(),
                outputs.len(),
                leaves.len()
            )));
        }
        let device = &self.client.devices()[device];
        let mut seen = FxHashSet::default();
        leaves
            .into_iter()
            .zip(outputs)
            .map(|(leaf, output)| {
                let leaf = match &leaf {
                    // Outputs are buffers of their own: whoever writes to one by its address does
                    // not write to another.
                    Literal::Array(array)
                        if !array.bytes().is_empty()
                            && !seen.insert(array.bytes().as_ptr().addr()) =>
                    {
                        let bytes = Bytes::copy_of(array.bytes())?;
                        Literal::Array(ArrayLiteral::from_bytes(array.shape(), bytes)?)
                    }
                    Literal::Array(_) | Literal::Token | Literal::Tuple(_) => leaf,
                };
                let leaf = with_layout(leaf, &output.shape)?;
                let memory = device.memory(output.memory);
                Ok(Arc::new(Buffer::from_literal(leaf, device, memory)?))
            })
            .collect()
    }
}

impl fmt::Debug for LoadedExecutable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedExecutable({}, {:?})", self.executable.name(), self.devices)
    }
}

/// The value with the output's layout on its shape. Dynamic outputs keep the sizes they came with.
fn with_layout(leaf: Literal, shape: &Shape) -> Result<Literal> {
    match (leaf, shape) {
        (Literal::Array(array), Shape::Array(wanted)) if array.shape().dims == wanted.dims => {
            let mut wanted = wanted.clone();
            for dimension in 0..wanted.rank() {
                wanted.set_dynamic(dimension, false);
            }
            Ok(Literal::Array(array.with_shape(&wanted)?))
        }
        (leaf, _) => Ok(leaf),
    }
}

fn donates(signature: &Signature, parameter: usize, not_donated: &[usize]) -> bool {
    signature.parameters[parameter].donation != Donation::Kept && !not_donated.contains(&parameter)
}

fn check_arguments(
    program: &str,
    signature: &Signature,
    arguments: &[Arc<Buffer>],
    not_donated: &[usize],
) -> Result<()> {
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
        if buffer.is_deleted() {
            return Err(Error::invalid_argument(format!(
                "argument {number} of `{program}`, `{}`, has been deleted or donated",
                buffer.shape()
            )));
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

fn take_arguments(
    signature: &Signature,
    arguments: &[Arc<Buffer>],
    not_donated: &[usize],
) -> Result<Vec<Literal>> {
    arguments
        .iter()
        .enumerate()
        .map(|(number, buffer)| {
            let literal = if donates(signature, number, not_donated) {
                buffer.donate()?
            } else {
                buffer.literal()?
            };
            match signature.parameters[number].shape {
                Shape::Token => Ok(Literal::Token),
                _ => Ok(literal),
            }
        })
        .collect()
}
