//! Executions in which devices meet, called for on one device apart from the others: their results
//! come when they can, and no call waits for another device.

use std::sync::Arc;

use rxla_base::{Error, Result};
use rxla_hlo::Literal;

use crate::backend::Run;
use crate::buffer::Buffer;
use crate::compile_options::LogicalDevice;
use crate::ending;
use crate::executable::Executable;
use crate::host::Host;
use crate::later::{Promise, gather};
use crate::loaded::{ExecuteOptions, LoadedExecutable, gone, next_run, run};
use crate::meeting::{Brought, Identity};
use crate::queue::Queue;

/// Where the program runs once everybody is there.
enum Place {
    /// On the thread that brings the last arguments, which is the caller's.
    Here,
    Queue(Queue),
    /// On a thread of its own: it may take its time in code that is not ours.
    Thread,
}

pub(crate) fn execute(
    loaded: &LoadedExecutable,
    identity: Identity,
    logical: LogicalDevice,
    arguments: &[Arc<Buffer>],
    options: &ExecuteOptions,
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
    let position = devices.iter().position(|other| *other == logical);
    let position = position.ok_or_else(|| Error::internal("a device without a place"))?;
    let seat = meetings.enter(identity, executable.name(), &devices, position)?;
    let ready = arguments.iter().all(|buffer| buffer.ready().is_ready());
    let pace = executable.pace();
    let place = match (pace.calls_host(), ready) {
        (_, true) if !pace.is_long() || pace.calls_host() => Place::Here,
        (true, _) => Place::Thread,
        (false, _) => Place::Queue(device.queue.clone()),
    };
    let (host, not_donated) = (Arc::clone(&options.host), options.not_donated.clone());
    gather(loaded.executable(), &[arguments.to_vec()], &not_donated, move |literals| {
        let take = Box::new(move |results| ending::deliver(|| promise.keep(results)));
        let literals = literals.map(|mut lists| lists.pop().unwrap_or_default());
        let brought = match literals {
            Ok(arguments) => Ok(Brought { executable, arguments, take }),
            Err(error) => Err((error, Brought { executable, arguments: Vec::new(), take })),
        };
        let Some(everybody) = meetings.bring(seat, brought) else { return };
        let work = move || run_for(everybody, &devices, &host);
        match place {
            Place::Here => work(),
            Place::Queue(queue) => queue.put(work),
            Place::Thread => {
                // Without a thread the work is dropped, and what it promised says so.
                let thread = std::thread::Builder::new().name("rxla-meeting".to_owned());
                let _ = thread.spawn(work);
            }
        }
    })?;
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
        return run(first, devices, arguments, host, None);
    }
    let programs: Vec<_> = executables.iter().map(|executable| executable.program()).collect();
    let run_id = next_run();
    first.program().execute_own(&programs, Run { devices, arguments, host, run_id, tell: None })
}
