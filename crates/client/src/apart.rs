//! Executions on one device of several, called for apart from the others: their results come when
//! they can, and no call waits for another device.

use std::sync::Arc;

use rxla_base::{Error, Result};
use rxla_hlo::Literal;

use crate::backend::Run;
use crate::buffer::Buffer;
use crate::compile_options::LogicalDevice;
use crate::executable::Executable;
use crate::host::Host;
use crate::loaded::{
    ExecuteOptions, LoadedExecutable, distinct, gone, next_run, run, take_arguments,
};
use crate::meeting::Brought;

/// When a device does its part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At once: its arguments are there, and it has nothing to do before.
    Now,
    /// After what it was asked for before.
    InTurn,
}

pub(crate) fn execute(
    loaded: &LoadedExecutable,
    logical: LogicalDevice,
    arguments: &[Arc<Buffer>],
    options: &ExecuteOptions,
    when: When,
) -> Result<Vec<Arc<Buffer>>> {
    let executable = Arc::clone(loaded.executable());
    if let Some(number) = arguments.iter().position(|buffer| buffer.is_deleted()) {
        return Err(gone(executable.name(), number, &arguments[number]));
    }
    let device = &loaded.client().devices()[logical.device];
    let outputs = loaded.pending(device)?;
    let promise = Promise(outputs.clone());
    let meetings = loaded.client().meetings().clone();
    let devices = loaded.devices().to_vec();
    let seat = match executable.meeting() {
        None => None,
        Some(identity) => {
            let position = devices.iter().position(|other| *other == logical);
            let position = position.ok_or_else(|| Error::internal("a device without a place"))?;
            Some(meetings.enter(identity, executable.name(), &devices, position)?)
        }
    };
    let (arguments, host) = (arguments.to_vec(), Arc::clone(&options.host));
    let not_donated = options.not_donated.clone();
    let work = move || {
        let literals = take_arguments(&executable, &arguments, &not_donated);
        drop(arguments);
        let Some(seat) = seat else {
            let results = literals
                .and_then(|literals| run(&executable, &[logical], vec![literals], &host))
                .and_then(|mut results| {
                    results.pop().ok_or_else(|| Error::internal("an execution without results"))
                });
            return promise.keep(results);
        };
        let take = Box::new(move |results| promise.keep(results));
        let brought = match literals {
            Ok(arguments) => Ok(Brought { executable, arguments, take }),
            Err(error) => Err((error, Brought { executable, arguments: Vec::new(), take })),
        };
        if let Some(everybody) = meetings.bring(seat, brought) {
            run_for(everybody, &devices, &host);
        }
    };
    match when {
        When::Now => work(),
        When::InTurn => device.queue.put(work)?,
    }
    Ok(outputs)
}

/// Runs what the devices have brought.
fn run_for(everybody: Vec<Brought>, devices: &[LogicalDevice], host: &Arc<dyn Host>) {
    let mut executables = Vec::new();
    let mut arguments = Vec::new();
    let mut takers = Vec::new();
    for brought in everybody {
        executables.push(brought.executable);
        arguments.push(brought.arguments);
        takers.push(brought.take);
    }
    match run_own(&executables, devices, arguments, host) {
        Ok(results) => takers.into_iter().zip(results).for_each(|(take, leaves)| take(Ok(leaves))),
        Err(error) => takers.into_iter().for_each(|take| take(Err(error.clone()))),
    }
}

/// As [`run`], each device a program that may be its own.
fn run_own(
    executables: &[Arc<Executable>],
    devices: &[LogicalDevice],
    arguments: Vec<Vec<Literal>>,
    host: &Arc<dyn Host>,
) -> Result<Vec<Vec<Literal>>> {
    let [first, others @ ..] = executables else { return Ok(Vec::new()) };
    if others.iter().all(|other| Arc::ptr_eq(first, other)) {
        return run(first, devices, arguments, host);
    }
    let programs: Vec<_> = executables.iter().map(|executable| executable.program()).collect();
    let run_id = next_run();
    first.program().execute_own(&programs, Run { devices, arguments, host, run_id })
}

/// Results that come later. Dropped before they have come, they never do.
struct Promise(Vec<Arc<Buffer>>);

impl Promise {
    fn keep(mut self, results: Result<Vec<Literal>>) {
        let buffers = std::mem::take(&mut self.0);
        let count = buffers.len();
        let results = results.and_then(distinct).and_then(|leaves| match leaves.len() {
            given if given == count => Ok(leaves),
            given => Err(Error::internal(format!("{count} outputs are due, {given} were given"))),
        });
        match results {
            Ok(leaves) => buffers.iter().zip(leaves).for_each(|(buffer, leaf)| {
                // A value that does not fit is the buffer's failure too.
                let _ = buffer.fulfil(in_layout_of(buffer, leaf));
            }),
            Err(error) => buffers.iter().for_each(|buffer| {
                let _ = buffer.fulfil(Err(error.clone()));
            }),
        }
    }
}

fn in_layout_of(buffer: &Buffer, leaf: Literal) -> Result<Literal> {
    match (leaf, buffer.shape().as_array()) {
        (Literal::Array(array), Some(wanted)) if array.shape().dims == wanted.dims => {
            Ok(Literal::Array(array.with_shape(wanted)?))
        }
        (leaf, _) => Ok(leaf),
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        for buffer in &self.0 {
            let _ = buffer.fulfil(Err(Error::internal("the execution was lost by a panic")));
        }
    }
}
