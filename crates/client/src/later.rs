//! Executions whose results come later than the call returns.
//!
//! The call marks what is donated, claims the arguments and gives buffers that have no contents
//! yet. When the last argument is there the work stands in its device's queue. So work that waits
//! holds up no other work, whatever it waits for; only when it runs does it take memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rxla_base::{Error, Result};
use rxla_hlo::{Literal, Shape};

use crate::buffer::{Buffer, Hold};
use crate::compile_options::LogicalDevice;
use crate::ending;
use crate::executable::Executable;
use crate::loaded::{ExecuteOptions, LoadedExecutable, distinct, donates, gone, run};

/// Has the program run on these devices as soon as the arguments are there.
pub(crate) fn execute(
    loaded: &LoadedExecutable,
    devices: &[LogicalDevice],
    arguments: &[Vec<Arc<Buffer>>],
    options: &ExecuteOptions,
) -> Result<Vec<Vec<Arc<Buffer>>>> {
    let all = loaded.client().devices();
    let outputs = devices
        .iter()
        .map(|logical| loaded.pending(&all[logical.device]))
        .collect::<Result<Vec<_>>>()?;
    let promises: Vec<Promise> = outputs.iter().map(|outputs| Promise(outputs.clone())).collect();
    let queue = all[devices[0].device].queue.clone();
    let ticket = queue.admit();
    let executable = Arc::clone(loaded.executable());
    let (devices, options) = (devices.to_vec(), options.clone());
    gather(loaded.executable(), arguments, &options.not_donated.clone(), move |arguments| {
        queue.put(move || {
            let shared = arguments.as_ref().map_or(Vec::new(), |arguments| {
                shared(&executable, arguments, &options.not_donated)
            });
            let tell = |leaf: usize, literal: Literal| {
                if let [promise] = &promises[..] {
                    ending::deliver(|| promise.keep_one(leaf, literal));
                }
            };
            let results = arguments.and_then(|arguments| {
                run(&executable, &devices, arguments, &options.host, Some(&tell))
            });
            ending::deliver(|| match results {
                Ok(results) => {
                    promises
                        .into_iter()
                        .zip(results)
                        .for_each(|(promise, one)| promise.keep(Ok(one)));
                }
                Err(error) => {
                    promises.into_iter().for_each(|promise| promise.keep(Err(error.clone())));
                }
            });
            // Last: the owner of foreign memory may need what those hold who wait for the results.
            drop(shared);
            drop(ticket);
        });
    })?;
    Ok(outputs)
}

/// Arguments that the run is not to overwrite.
fn shared(
    executable: &Executable,
    arguments: &[Vec<Literal>],
    not_donated: &[usize],
) -> Vec<Literal> {
    if executable.options().tupled_arguments {
        return Vec::new();
    }
    let lists = arguments.iter().flat_map(|list| list.iter().enumerate());
    lists
        .filter(|&(number, _)| !donates(executable.signature(), number, not_donated))
        .map(|(_, literal)| literal.clone())
        .collect()
}

type Lists = Vec<Vec<Option<Literal>>>;

/// Arguments under way to an execution.
struct Gathering<T> {
    /// Arguments that are missing, and one for the call that gathers.
    missing: AtomicUsize,
    found: Mutex<Found<T>>,
}

struct Found<T> {
    lists: Lists,
    /// The first argument that has no contents, and why.
    failure: Option<((usize, usize), Error)>,
    then: Option<T>,
}

/// Claims the arguments of the entry computation on each device and calls `then` when all are
/// there: now, or on the thread that brings the last.
pub(crate) fn gather<T>(
    executable: &Arc<Executable>,
    arguments: &[Vec<Arc<Buffer>>],
    not_donated: &[usize],
    then: T,
) -> Result<()>
where
    T: FnOnce(Result<Vec<Vec<Literal>>>) + Send + 'static,
{
    let signature = executable.signature();
    let count = arguments.iter().map(Vec::len).sum::<usize>();
    let lists = arguments.iter().map(|list| vec![None; list.len()]).collect();
    let found = Mutex::new(Found { lists, failure: None, then: Some(then) });
    let gathering = Arc::new(Gathering { missing: AtomicUsize::new(count + 1), found });
    let tupled = executable.options().tupled_arguments;
    for (device, list) in arguments.iter().enumerate() {
        for (number, buffer) in list.iter().enumerate() {
            let donated = donates(signature, number, not_donated);
            let hold = if donated { Hold::Take } else { Hold::Share };
            let token = matches!(signature.parameters[number].shape, Shape::Token);
            let gathering = Arc::clone(&gathering);
            buffer
                .claim(hold, move |contents| {
                    let contents =
                        contents.map(|literal| if token { Literal::Token } else { literal });
                    gathering.found((device, number), contents);
                    gathering.one_less(tupled);
                })
                .map_err(|_| gone(executable.name(), number, buffer))?;
        }
    }
    gathering.one_less(tupled);
    Ok(())
}

impl<T: FnOnce(Result<Vec<Vec<Literal>>>)> Gathering<T> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Found<T>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(&self, place: (usize, usize), contents: Result<Literal>) {
        let mut found = self.lock();
        match contents {
            Ok(literal) => found.lists[place.0][place.1] = Some(literal),
            Err(error) if found.failure.as_ref().is_none_or(|(first, _)| place < *first) => {
                found.failure = Some((place, error));
            }
            Err(_) => {}
        }
    }

    fn one_less(&self, tupled: bool) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let (lists, failure, then) = {
            let mut found = self.lock();
            (std::mem::take(&mut found.lists), found.failure.take(), found.then.take())
        };
        let Some(then) = then else { return };
        then(match failure {
            Some((_, error)) => Err(error),
            None => Ok(lists.into_iter().map(|list| whole(list, tupled)).collect()),
        });
    }
}

/// The arguments as the program takes them.
fn whole(list: Vec<Option<Literal>>, tupled: bool) -> Vec<Literal> {
    let list: Vec<Literal> = list.into_iter().flatten().collect();
    if tupled { vec![Literal::Tuple(list)] } else { list }
}

/// Results that come later. Dropped before they have come, they never do.
pub(crate) struct Promise(pub(crate) Vec<Arc<Buffer>>);

impl Promise {
    /// Gives one result before the others.
    fn keep_one(&self, leaf: usize, literal: Literal) {
        if let Some(buffer) = self.0.get(leaf) {
            // If it cannot, it comes with the others.
            let _ = buffer.fulfil(in_layout_of(buffer, literal));
        }
    }

    pub(crate) fn keep(mut self, results: Result<Vec<Literal>>) {
        let buffers = std::mem::take(&mut self.0);
        let count = buffers.len();
        let results = results.and_then(distinct).and_then(|leaves| match leaves.len() {
            given if given == count => Ok(leaves),
            given => Err(Error::internal(format!("{count} outputs are due, {given} were given"))),
        });
        match results {
            Ok(leaves) => buffers.iter().zip(leaves).for_each(|(buffer, leaf)| {
                // A value that does not fit is the buffer's failure too; what came early stays.
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
        let why = if std::thread::panicking() {
            Error::internal("the execution was lost by a panic")
        } else {
            Error::new(
                rxla_base::Code::Cancelled,
                "the client was destroyed before the execution began",
            )
        };
        for buffer in &self.0 {
            let _ = buffer.fulfil(Err(why.clone()));
        }
    }
}
