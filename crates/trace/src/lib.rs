//! What is told to who watches the process: traces, and warnings ([`notice`]).
//!
//! A trace says what happened when, for whoever asks while it happens.
//!
//! While nobody records, [`span`] is the look at one number. While somebody does, each thread notes
//! its events in a list of its own; a [`Recording`] gathers them. Several recordings may run at
//! once, and each gets what began while it ran. Memory is bounded: events beyond
//! [`MOST_EVENTS`] are counted and not kept.

mod json;
pub mod notice;

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub use json::chrome_json;

/// Events that a recording keeps.
pub const MOST_EVENTS: usize = 1 << 20;

/// Events that a thread keeps to itself.
const BATCH: usize = 1 << 10;

/// What an event is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A compilation or a phase of one.
    Compile,
    /// A pass over a module.
    Pass,
    /// Machine code made of a kernel.
    Codegen,
    /// A program that runs on a device.
    Program,
    /// An instruction of a program that runs.
    Op,
    /// Bytes that go to a device or come from it.
    Transfer,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Compile => "compile",
            Kind::Pass => "pass",
            Kind::Codegen => "codegen",
            Kind::Program => "program",
            Kind::Op => "op",
            Kind::Transfer => "transfer",
        }
    }
}

/// What is known of an event beside its time: names and values, in order.
pub type Details = Arc<[(&'static str, String)]>;

/// Something that took time.
#[derive(Clone, Debug)]
pub struct Event {
    pub kind: Kind,
    pub name: Arc<str>,
    /// In nanoseconds; [`epoch`] says since when.
    pub start: u64,
    pub duration: u64,
    /// The thread's number, which [`Trace::threads`] has a name for.
    pub thread: u32,
    /// On which device, for what runs.
    pub device: Option<u32>,
    pub details: Option<Details>,
}

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// By their start; of those that start together the longest first.
    pub events: Vec<Event>,
    /// Numbers and names of threads.
    pub threads: Vec<(u32, String)>,
    /// Events that were too many to keep.
    pub lost: u64,
}

static RECORDINGS: AtomicUsize = AtomicUsize::new(0);

/// Whether anybody records.
#[inline]
pub fn is_on() -> bool {
    RECORDINGS.load(Ordering::Relaxed) != 0
}

static ORIGIN: LazyLock<(Instant, u64)> = LazyLock::new(|| {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (Instant::now(), wall.as_nanos() as u64)
});

/// The moment that times are counted from, in nanoseconds since 1970.
pub fn epoch() -> u64 {
    ORIGIN.1
}

/// The time, as events have it.
pub fn now() -> u64 {
    ORIGIN.0.elapsed().as_nanos() as u64
}

/// An event from now until what is returned is dropped. The name is asked for if somebody records.
#[inline]
#[must_use]
pub fn span<N: Into<Arc<str>>>(kind: Kind, name: impl FnOnce() -> N) -> Span {
    Span(is_on().then(|| Open { kind, name: name().into(), start: now(), details: None }))
}

/// An event under way.
pub struct Span(Option<Open>);

struct Open {
    kind: Kind,
    name: Arc<str>,
    start: u64,
    details: Option<Details>,
}

impl Span {
    /// Adds what is known, if somebody records.
    pub fn details(&mut self, details: impl FnOnce() -> Vec<(&'static str, String)>) {
        if let Some(open) = &mut self.0 {
            open.details = Some(details().into());
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(Open { kind, name, start, details }) = self.0.take() else { return };
        let duration = now().saturating_sub(start);
        record(Event { kind, name, start, duration, thread: 0, device: None, details });
    }
}

/// Notes an event of this thread.
pub fn record(mut event: Event) {
    event.device = event.device.or(DEVICE.get());
    LOCAL.with(|local| {
        let local = local.get_or_init(Local::new);
        event.thread = local.0.thread;
        let mut events = lock(&local.0.events);
        events.push(event);
        if events.len() >= BATCH {
            let full = std::mem::take(&mut *events);
            drop(events);
            hand_out(&lock(&STORE).recordings, full);
        }
    });
}

thread_local! {
    static DEVICE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// What `work` records was on this device, unless it says otherwise.
pub fn on_device<T>(device: u32, work: impl FnOnce() -> T) -> T {
    if !is_on() {
        return work();
    }
    let outer = DEVICE.replace(Some(device));
    let done = work();
    DEVICE.set(outer);
    done
}

/// The number of the calling thread.
pub fn thread() -> u32 {
    LOCAL.with(|local| local.get_or_init(Local::new).0.thread)
}

struct Batch {
    thread: u32,
    name: String,
    events: Mutex<Vec<Event>>,
}

/// A thread's batch, which is taken over by [`STORE`] when the thread ends.
struct Local(Arc<Batch>);

impl Local {
    fn new() -> Local {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let thread = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = std::thread::current().name().unwrap_or("thread").to_owned();
        let batch = Arc::new(Batch { thread, name, events: Mutex::default() });
        lock(&STORE).batches.push(Arc::clone(&batch));
        Local(batch)
    }
}

thread_local! {
    static LOCAL: OnceCell<Local> = const { OnceCell::new() };
}

#[derive(Default)]
struct Store {
    batches: Vec<Arc<Batch>>,
    recordings: Vec<Arc<Kept>>,
}

static STORE: LazyLock<Mutex<Store>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Kept {
    from: u64,
    events: Mutex<(Vec<Event>, u64)>,
    threads: Mutex<Vec<(u32, String)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hand_out(recordings: &[Arc<Kept>], events: Vec<Event>) {
    for recording in recordings {
        let mut kept = lock(&recording.events);
        let own = events.iter().filter(|event| event.start >= recording.from);
        for event in own {
            if kept.0.len() < MOST_EVENTS {
                kept.0.push(event.clone());
            } else {
                kept.1 += 1;
            }
        }
    }
}

/// Fetches what threads have noted.
fn gather(store: &mut Store) {
    for batch in &store.batches {
        let events = std::mem::take(&mut *lock(&batch.events));
        if events.is_empty() {
            continue;
        }
        for recording in &store.recordings {
            let mut threads = lock(&recording.threads);
            if !threads.iter().any(|(thread, _)| *thread == batch.thread) {
                threads.push((batch.thread, batch.name.clone()));
            }
        }
        hand_out(&store.recordings, events);
    }
    // What only the store still holds belongs to threads that have ended.
    store.batches.retain(|batch| Arc::strong_count(batch) > 1);
}

/// Somebody who records.
pub struct Recording(Arc<Kept>);

impl Recording {
    pub fn start() -> Recording {
        let mut store = lock(&STORE);
        gather(&mut store);
        let kept = Arc::new(Kept { from: now(), ..Kept::default() });
        store.recordings.push(Arc::clone(&kept));
        RECORDINGS.store(store.recordings.len(), Ordering::Relaxed);
        Recording(kept)
    }

    /// Ends the recording; what it has so far stays.
    pub fn stop(&self) {
        let mut store = lock(&STORE);
        gather(&mut store);
        store.recordings.retain(|kept| !Arc::ptr_eq(kept, &self.0));
        RECORDINGS.store(store.recordings.len(), Ordering::Relaxed);
    }

    /// What was recorded so far.
    pub fn trace(&self) -> Trace {
        let store = &mut *lock(&STORE);
        gather(store);
        let (mut events, lost) = lock(&self.0.events).clone();
        events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.duration)));
        let mut threads = lock(&self.0.threads).clone();
        for batch in &store.batches {
            if !threads.iter().any(|(thread, _)| *thread == batch.thread) {
                threads.push((batch.thread, batch.name.clone()));
            }
        }
        threads.retain(|(thread, _)| events.iter().any(|event| event.thread == *thread));
        threads.sort();
        Trace { events, threads, lost }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_all_threads_are_kept_and_nest() {
        drop(span(Kind::Compile, || "before"));
        let recording = Recording::start();
        {
            let mut outer = span(Kind::Compile, || "outer of this test");
            outer.details(|| vec![("what", "it".to_owned())]);
            let _inner = span(Kind::Pass, || "inner of this test");
        }
        let work = || drop(span(Kind::Op, || "worker of this test"));
        std::thread::Builder::new().name("helper".to_owned()).spawn(work).unwrap().join().unwrap();
        recording.stop();
        drop(span(Kind::Compile, || "after of this test"));
        let trace = recording.trace();
        let named: Vec<&Event> =
            trace.events.iter().filter(|event| event.name.ends_with("this test")).collect();
        let names: Vec<&str> = named.iter().map(|event| &*event.name).collect();
        assert_eq!(names, ["outer of this test", "inner of this test", "worker of this test"]);
        assert!(named[1].start + named[1].duration <= named[0].start + named[0].duration);
        assert!(trace.threads.contains(&(named[2].thread, "helper".to_owned())));
        assert_eq!(trace.lost, 0);
        let json = chrome_json(&trace);
        assert!(json.contains(r#""name":"outer of this test","cat":"compile","ph":"X""#), "{json}");
        assert!(json.contains(r#""args":{"what":"it"}"#), "{json}");
    }

    #[test]
    fn a_recording_is_bounded() {
        let kept = Arc::new(Kept::default());
        let event = Event {
            kind: Kind::Op,
            name: "x".into(),
            start: 1,
            duration: 1,
            thread: 1,
            device: None,
            details: None,
        };
        let recordings = [Arc::clone(&kept)];
        for _ in 0..3 {
            hand_out(&recordings, vec![event.clone(); MOST_EVENTS / 2]);
        }
        let held = lock(&kept.events);
        assert_eq!((held.0.len(), held.1), (MOST_EVENTS, (MOST_EVENTS / 2) as u64));
    }
}
