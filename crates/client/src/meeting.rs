//! Executions of programs in which devices meet, called for by one device at a time.
//!
//! Such a call brings the arguments of its device and has results that come later; the device that
//! comes last runs the program for all of them, and that in the order of devices, so that nothing
//! depends on who came when. A call takes a seat in the program's next party that its device has
//! not been to: the order of different programs need not be the same on all devices. A party whose
//! last device does not come in time is an error that names who waits for whom. The program of
//! each device may be its own, as clients trace one per device, if they meet alike.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::{Code, Error, Result};
use rxla_hlo::Literal;

use crate::compile_options::LogicalDevice;
use crate::executable::Executable;

/// What programs that run together have in common.
pub(crate) type Identity = u64;

/// Where the devices of a client meet. Clones are the same place.
#[derive(Clone)]
pub(crate) struct Meetings(Arc<Inner>);

struct Inner {
    timeout: Duration,
    state: Mutex<State>,
}

/// A program, and how often devices had been there before.
type Party = (Identity, u64);

#[derive(Default)]
struct State {
    rounds: FxHashMap<(Identity, usize), u64>,
    parties: BTreeMap<Party, Attendance>,
    /// Parties that are over because somebody did not come.
    given_up: FxHashSet<Party>,
    /// Whether a thread looks after the time.
    watched: bool,
}

struct Attendance {
    program: String,
    devices: Vec<LogicalDevice>,
    /// Who has called, by position among `devices`.
    called: Vec<bool>,
    brought: Vec<Option<Brought>>,
    failure: Option<Error>,
    /// When who has come gives up.
    deadline: Instant,
}

/// What one device brings.
pub(crate) struct Brought {
    pub(crate) executable: Arc<Executable>,
    pub(crate) arguments: Vec<Literal>,
    /// Takes the leaves of the device's result, or the reason why there are none.
    pub(crate) take: Box<dyn FnOnce(Result<Vec<Literal>>) + Send>,
}

/// A device's place in a party.
pub(crate) struct Seat {
    party: Party,
    position: usize,
}

impl Meetings {
    pub(crate) fn new(timeout: Duration) -> Meetings {
        Meetings(Arc::new(Inner { timeout, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }

    /// A device calls for a program: takes its seat, without waiting for anybody.
    pub(crate) fn enter(
        &self,
        identity: Identity,
        program: &str,
        devices: &[LogicalDevice],
        position: usize,
    ) -> Result<Seat> {
        let device = devices[position].device;
        let mut state = self.state();
        let round = state.rounds.entry((identity, device)).or_default();
        let party = (identity, *round);
        *round += 1;
        if state.given_up.contains(&party) {
            return Err(Error::new(
                Code::DeadlineExceeded,
                format!("device {device} comes to `{program}` when the others have given up"),
            ));
        }
        let attendance = state.parties.entry(party).or_insert_with(|| Attendance {
            program: program.to_owned(),
            devices: devices.to_vec(),
            called: vec![false; devices.len()],
            brought: devices.iter().map(|_| None).collect(),
            failure: None,
            deadline: Instant::now() + self.0.timeout,
        });
        attendance.called[position] = true;
        if !state.watched {
            let inner = Arc::downgrade(&self.0);
            let thread = std::thread::Builder::new().name("rxla-meetings".to_owned());
            thread
                .spawn(move || watch(&inner))
                .map_err(|error| Error::resource_exhausted(format!("no thread: {error}")))?;
            state.watched = true;
        }
        Ok(Seat { party, position })
    }

    /// A device brings what it promised by taking its seat, or says why it cannot. The last one
    /// gets what all have brought, in the order of devices.
    pub(crate) fn bring(
        &self,
        seat: Seat,
        brought: std::result::Result<Brought, (Error, Brought)>,
    ) -> Option<Vec<Brought>> {
        let mut state = self.state();
        let Some(attendance) = state.parties.get_mut(&seat.party) else {
            drop(state);
            let brought = brought.unwrap_or_else(|(_, brought)| brought);
            let message = "the other devices of the execution have given up";
            (brought.take)(Err(Error::new(Code::Aborted, message)));
            return None;
        };
        let brought = match brought {
            Ok(brought) => brought,
            Err((error, brought)) => {
                let device = attendance.devices[seat.position].device;
                let message = format!("device {device} failed: {}", error.message);
                attendance.failure.get_or_insert(Error::new(Code::Aborted, message));
                brought
            }
        };
        attendance.brought[seat.position] = Some(brought);
        if attendance.brought.iter().any(Option::is_none) {
            return None;
        }
        let attendance = state.parties.remove(&seat.party)?;
        drop(state);
        let everybody: Vec<Brought> = attendance.brought.into_iter().flatten().collect();
        match attendance.failure {
            Some(error) => {
                everybody.into_iter().for_each(|brought| (brought.take)(Err(error.clone())));
                None
            }
            None => Some(everybody),
        }
    }
}

/// Ends parties whose time is up, as long as there are any. Those that come later end later, so that
/// nobody needs to wake the thread before.
fn watch(inner: &Weak<Inner>) {
    while let Some(meetings) = inner.upgrade() {
        let Some(rest) = meetings.end_overdue() else { return };
        drop(meetings);
        std::thread::sleep(rest);
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // No foreign code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the parties whose time is up; how long the others have, if there are others. Else nobody
    /// watches any more.
    fn end_overdue(&self) -> Option<Duration> {
        let mut state = self.state();
        let now = Instant::now();
        let overdue = state.parties.iter().filter(|(_, attendance)| attendance.deadline <= now);
        let overdue: Vec<Party> = overdue.map(|(&party, _)| party).collect();
        let messages: Vec<String> =
            overdue.iter().map(|&party| state.who_waits(party, self.timeout)).collect();
        let mut ended = Vec::new();
        for (party, message) in overdue.into_iter().zip(messages) {
            state.given_up.insert(party);
            let brought = state.parties.remove(&party).map(|attendance| attendance.brought);
            ended.push((brought.unwrap_or_default(), message));
        }
        let next = state.parties.values().map(|attendance| attendance.deadline).min();
        state.watched = next.is_some();
        drop(state);
        for (brought, message) in ended {
            let error = Error::new(Code::DeadlineExceeded, message);
            brought.into_iter().flatten().for_each(|brought| (brought.take)(Err(error.clone())));
        }
        next.map(|next| next.saturating_duration_since(now))
    }
}

impl State {
    /// Why a party does not begin.
    fn who_waits(&self, party: Party, timeout: Duration) -> String {
        let Some(attendance) = self.parties.get(&party) else { return String::new() };
        let list = |called: bool| {
            let devices = attendance.devices.iter().zip(&attendance.called);
            let devices = devices.filter(move |(_, is)| **is == called);
            devices.map(|(logical, _)| logical.device).collect::<Vec<_>>()
        };
        let (program, late) = (&attendance.program, list(false));
        let mut message = format!(
            "waited {} s: devices {:?} are in `{program}` and wait for",
            timeout.as_secs(),
            list(true),
        );
        if late.is_empty() {
            let devices = attendance.devices.iter().zip(&attendance.brought);
            let empty = devices.filter(|(_, brought)| brought.is_none());
            let empty: Vec<usize> = empty.map(|(logical, _)| logical.device).collect();
            let _ = write!(message, " the arguments of devices {empty:?}");
        }
        for (index, device) in late.into_iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let elsewhere = self.parties.values().find(|other| {
                let mut seats = other.devices.iter().zip(&other.called);
                seats.any(|(logical, called)| logical.device == device && *called)
            });
            let _ = match elsewhere {
                Some(other) if other.program == *program => write!(
                    message,
                    "{comma} device {device}, which waits in a program of this name that meets for \
                     other things"
                ),
                Some(other) => {
                    write!(message, "{comma} device {device}, which waits in `{}`", other.program)
                }
                None => write!(message, "{comma} device {device}, which has not called for it"),
            };
        }
        message
    }
}
