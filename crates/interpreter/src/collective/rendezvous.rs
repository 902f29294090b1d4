//! Where devices meet. Each device of a run is a thread; a collective is a meeting of some of them
//! to which each brings its operands and from which each takes everybody's.
//!
//! A run in which every device that still runs is waiting ends with an error that says who waits
//! where; so does a wait that takes too long. When one device fails, the others stop too.
//!
//! Devices may run programs that differ, as long as each group of devices meets in the same order
//! and for the same: clients that trace a program per device make such.
//!
//! What a device brings are values, or, where compiled code meets, places in memory ([`Places`]) from
//! which and to which the others copy while it stays.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use rxla_base::{Code, Error, Result};
use rxla_hlo::{ArrayLiteral, InstructionId, Literal};

use crate::options::DeviceId;

/// The devices of a run and what they have to say to each other.
pub(crate) struct Collectives {
    pub(crate) replica_count: usize,
    pub(crate) partition_count: usize,
    programs: Programs,
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

/// What the devices of a run execute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Programs {
    /// All the same: devices meet at the same instruction.
    Same,
    /// Each its own: instructions say nothing to the others.
    Own,
}

/// What one device brings to a meeting.
pub(crate) type Contribution = Arc<Vec<Literal>>;

/// Where a device has its arrays while it meets others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// What is done with which shapes, the same for all who meet.
    pub what: String,
    /// The addresses of the operands' arrays.
    pub operands: Vec<usize>,
    /// And of the results'.
    pub results: Vec<usize>,
}

/// What a device comes with.
#[derive(Clone)]
enum Brought {
    Values(Contribution),
    Places(Arc<Places>),
}

impl Brought {
    fn fits(&self, other: &Brought) -> bool {
        match (self, other) {
            (Brought::Values(these), Brought::Values(those)) => {
                these.len() == those.len()
                    && these.iter().zip(&**those).all(|(this, that)| this.shape() == that.shape())
            }
            (Brought::Places(this), Brought::Places(that)) => this.what == that.what,
            (Brought::Values(_), Brought::Places(_)) | (Brought::Places(_), Brought::Values(_)) => {
                false
            }
        }
    }

    fn describe(&self) -> String {
        match self {
            Brought::Values(values) => {
                let shapes: Vec<String> =
                    values.iter().map(|value| value.shape().to_string()).collect();
                shapes.join(", ")
            }
            Brought::Places(places) => places.what.clone(),
        }
    }
}

/// What is the same for all members of a meeting, from the first who makes it.
pub(crate) type Common = Arc<Mutex<Option<Result<Vec<ArrayLiteral>>>>>;

/// A meeting: the instruction, who takes part, and how often this device was there before.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Meeting {
    instruction: Option<InstructionId>,
    members: Vec<usize>,
    round: u64,
}

/// A line of values from one device to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub(crate) channel: i64,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// What a device counts: how often it was at an instruction, or with these devices.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Visits {
    At(usize, InstructionId),
    With(usize, Vec<usize>),
}

#[derive(Default)]
struct State {
    meetings: FxHashMap<Meeting, Attendance>,
    rounds: FxHashMap<Visits, u64>,
    mail: FxHashMap<Route, VecDeque<Literal>>,
    /// Devices that wait, with what for.
    waiting: BTreeMap<usize, String>,
    running: usize,
    failure: Option<Error>,
}

#[derive(Default)]
struct Attendance {
    present: BTreeMap<usize, Brought>,
    common: Common,
    left: usize,
}

impl Collectives {
    pub(crate) fn new(
        replica_count: usize,
        partition_count: usize,
        programs: Programs,
        timeout: Duration,
    ) -> Collectives {
        let running = replica_count * partition_count;
        Collectives {
            replica_count,
            partition_count,
            programs,
            timeout,
            state: Mutex::new(State { running, ..State::default() }),
            changed: Condvar::new(),
        }
    }

    /// A device's number among all.
    pub(crate) fn number(&self, device: DeviceId) -> usize {
        device.replica * self.partition_count + device.partition
    }

    /// Whether there is one device only. XLA's client then takes reductions over devices for their
    /// operands, whatever groups of other devices the module names.
    pub(crate) fn is_alone(&self) -> bool {
        self.replica_count * self.partition_count == 1
    }

    pub(super) fn name(&self, device: usize) -> String {
        format!(
            "replica {} partition {}",
            device / self.partition_count,
            device % self.partition_count
        )
    }

    // A thread that panicked leaves consistent state behind: no lock is held over foreign code.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a value and returns everybody's, in the order of `members`, with a place for what all make
    /// of them alike, if it is known that they do.
    pub(crate) fn meet(
        &self,
        device: usize,
        instruction: InstructionId,
        place: &str,
        members: &[usize],
        value: Vec<Literal>,
    ) -> Result<(Vec<Contribution>, Option<Common>)> {
        let value = Arc::new(value);
        if members == [device] {
            return Ok((vec![value], None));
        }
        let brought = Brought::Values(value);
        let (mut state, meeting, brought) =
            self.gather(device, instruction, place, members, brought)?;
        let values = brought.into_iter().map(|brought| match brought {
            Brought::Values(values) => Ok(values),
            Brought::Places(_) => Err(Error::internal("a meeting of values and places")),
        });
        let values = values.collect::<Result<_>>()?;
        let common = (self.programs == Programs::Same)
            .then(|| state.meetings.get(&meeting).map(|a| Arc::clone(&a.common)))
            .flatten();
        leave(&mut state, &meeting);
        Ok((values, common))
    }

    /// Brings places and does this device's share of the work, given everybody's in the order of `members`.
    /// Once all are there nobody goes before all have done theirs, whatever happens elsewhere: until then
    /// the others use the places. If it fails, nobody has seen them and nobody will.
    pub(crate) fn meet_in_place(
        &self,
        device: usize,
        instruction: InstructionId,
        place: &str,
        members: &[usize],
        places: Places,
        work: impl FnOnce(&[Arc<Places>]),
    ) -> Result<()> {
        let places = Arc::new(places);
        if members == [device] {
            work(&[places]);
            return Ok(());
        }
        let brought = Brought::Places(places);
        let (state, meeting, brought) =
            self.gather(device, instruction, place, members, brought)?;
        drop(state);
        // Who fails leaves as late as the others.
        let stay = Stay { collectives: self, meeting };
        let all = brought.into_iter().map(|brought| match brought {
            Brought::Places(places) => Ok(places),
            Brought::Values(_) => Err(Error::internal("a meeting of places and values")),
        });
        work(&all.collect::<Result<Vec<_>>>()?);
        drop(stay);
        Ok(())
    }

    /// Waits until all members are there.
    fn gather(
        &self,
        device: usize,
        instruction: InstructionId,
        place: &str,
        members: &[usize],
        brought: Brought,
    ) -> Result<(MutexGuard<'_, State>, Meeting, Vec<Brought>)> {
        let mut state = self.lock();
        let (visits, instruction) = match self.programs {
            Programs::Same => (Visits::At(device, instruction), Some(instruction)),
            Programs::Own => (Visits::With(device, members.to_vec()), None),
        };
        let round = state.rounds.entry(visits).or_default();
        let meeting = Meeting { instruction, members: members.to_vec(), round: *round };
        *round += 1;
        let attendance = state.meetings.entry(meeting.clone()).or_default();
        if let Some((&other, theirs)) = attendance.present.first_key_value()
            && !theirs.fits(&brought)
        {
            let (ours, theirs) = (brought.describe(), theirs.describe());
            return Err(Error::invalid_argument(format!(
                "{} brings `{ours}` {place} and {} `{theirs}`: their programs do not fit together",
                self.name(device),
                self.name(other)
            )));
        }
        attendance.present.insert(device, brought);
        let is_complete = |state: &State| {
            state.meetings.get(&meeting).is_some_and(|a| a.present.len() == members.len())
        };
        if is_complete(&state) {
            members.iter().for_each(|member| {
                state.waiting.remove(member);
            });
            self.changed.notify_all();
        } else {
            state.waiting.insert(device, place.to_owned());
            let (waited, result) = self.wait(state, device, is_complete);
            state = waited;
            if let Err(error) = result {
                // Nobody shall come upon what goes with this device.
                if let Some(attendance) = state.meetings.get_mut(&meeting) {
                    attendance.present.remove(&device);
                }
                return Err(error);
            }
        }
        let present = state.meetings.get(&meeting).map(|attendance| &attendance.present);
        let brought = present.and_then(|present| {
            members.iter().map(|member| present.get(member).cloned()).collect::<Option<Vec<_>>>()
        });
        let brought = brought.ok_or_else(|| Error::internal("a meeting that nobody holds"))?;
        Ok((state, meeting, brought))
    }

    /// Puts a value on a route; the receiver takes values in the order sent.
    pub(crate) fn send(&self, route: Route, value: Literal) {
        let mut state = self.lock();
        state.mail.entry(route).or_default().push_back(value);
        state.waiting.remove(&route.to);
        self.changed.notify_all();
    }

    /// The next value of a route, waiting for it.
    pub(crate) fn receive(&self, route: Route, place: &str) -> Result<Literal> {
        let mut state = self.lock();
        let arrived = |state: &State| state.mail.get(&route).is_some_and(|mail| !mail.is_empty());
        if !arrived(&state) {
            state.waiting.insert(route.to, place.to_owned());
            let (waited, result) = self.wait(state, route.to, arrived);
            result?;
            state = waited;
        }
        let value = state.mail.get_mut(&route).and_then(VecDeque::pop_front);
        value.ok_or_else(|| Error::internal("mail that nobody holds"))
    }

    /// A device's run has ended.
    pub(crate) fn finish(&self, device: usize, result: &Result<()>) {
        let mut state = self.lock();
        state.running -= 1;
        state.waiting.remove(&device);
        if let Err(error) = result
            && state.failure.is_none()
        {
            let message = format!("{} failed: {}", self.name(device), error.message);
            state.failure = Some(Error::new(Code::Aborted, message));
        }
        self.check_deadlock(&mut state);
        self.changed.notify_all();
    }

    fn check_deadlock(&self, state: &mut State) {
        if state.failure.is_some() || state.running == 0 || state.waiting.len() < state.running {
            return;
        }
        let mut message = "every device that still runs waits for another:".to_owned();
        for (&device, place) in &state.waiting {
            let _ = write!(message, "\n  {} {place}", self.name(device));
        }
        state.failure = Some(Error::new(Code::Aborted, message));
        self.changed.notify_all();
    }

    fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        device: usize,
        is_over: impl Fn(&State) -> bool,
    ) -> (MutexGuard<'s, State>, Result<()>) {
        let started = Instant::now();
        loop {
            if is_over(&state) {
                state.waiting.remove(&device);
                return (state, Ok(()));
            }
            // Mail for another route may have taken this device off the list.
            let waits = || "waits for a value of another device".to_owned();
            state.waiting.entry(device).or_insert_with(waits);
            self.check_deadlock(&mut state);
            if let Some(failure) = state.failure.clone() {
                return (state, Err(failure));
            }
            let Some(rest) = self.timeout.checked_sub(started.elapsed()) else {
                let message = format!("waited {} s for other devices", self.timeout.as_secs());
                return (state, Err(Error::new(Code::DeadlineExceeded, message)));
            };
            state = match self.changed.wait_timeout(state, rest) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

/// One member less stays; the last one closes the meeting. Whether this was the last.
fn leave(state: &mut State, meeting: &Meeting) -> bool {
    let Some(attendance) = state.meetings.get_mut(meeting) else { return false };
    attendance.left += 1;
    let is_last = attendance.left == meeting.members.len();
    if is_last {
        state.meetings.remove(meeting);
    }
    is_last
}

/// A device that stays at a meeting until everybody has finished there.
struct Stay<'a> {
    collectives: &'a Collectives,
    meeting: Meeting,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let mut state = self.collectives.lock();
        if leave(&mut state, &self.meeting) {
            self.collectives.changed.notify_all();
        }
        while state.meetings.contains_key(&self.meeting) {
            let waited = self.collectives.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
