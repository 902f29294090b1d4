//! The end of the process while LLVM works.
//!
//! C++ destroys its static objects when the process ends, LLVM's among them. Nothing may be in LLVM
//! by then, so the end waits for what is and lets nothing else in.
//!
//! Functions that run at exit do so in the reverse order of their registration, and LLVM registers
//! the destructors of some objects in the middle of the first compilations. What a thread destroys at
//! its end goes first of all. So the main thread, on which processes mostly end, has something to
//! destroy. For ends on another thread a function is registered, again after each of the first
//! compilations; while those run, such an end is not safe.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rxla_base::{Code, Error, Result};

/// The longest that the end of the process waits: more than LLVM takes for any kernel known.
const PATIENCE: Duration = Duration::from_secs(10);

struct State {
    inside: usize,
    entries: usize,
    ending: bool,
}

static STATE: Mutex<State> = Mutex::new(State { inside: 0, entries: 0, ending: false });
/// The process whose threads are inside. A child of a fork has none of them.
static OWNER: AtomicU32 = AtomicU32::new(0);
static LEFT: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What whoever calls LLVM holds meanwhile.
pub(crate) struct Inside(());

impl Inside {
    /// An error if the process ends.
    pub(crate) fn enter() -> Result<Inside> {
        let mut state = state();
        if state.ending {
            return Err(Error::new(Code::Aborted, "the process ends"));
        }
        own(&mut state);
        state.inside += 1;
        Ok(Inside(()))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // By then LLVM registers nothing new.
        const FIRST: usize = 16;
        let mut state = state();
        if state.entries < FIRST {
            state.entries += 1;
            at_exit();
        }
        state.inside -= 1;
        LEFT.notify_all();
    }
}

/// From now on the end of this process counts.
fn own(state: &mut State) {
    if OWNER.swap(process::id(), Ordering::Relaxed) != process::id() {
        // Who was inside when the process forked is not here.
        state.inside = 0;
    }
}

/// To be called on the main thread before others call LLVM; does nothing on another.
pub(crate) fn watch_main_thread() {
    struct OfMainThread;
    impl Drop for OfMainThread {
        fn drop(&mut self) {
            process_ends();
        }
    }
    thread_local!(static WATCH: OfMainThread = const { OfMainThread });
    // SAFETY: these only tell numbers.
    let main = unsafe { libc::getpid() == libc::gettid() };
    if main {
        WATCH.with(|_| ());
        // The process may end before those others begin.
        own(&mut state());
    }
}

fn at_exit() {
    // SAFETY: the function does not unwind, and this library is not unloaded: its threads live as
    // long as the process.
    unsafe { libc::atexit(process_ends) };
}

extern "C" fn process_ends() {
    if OWNER.load(Ordering::Relaxed) != process::id() {
        return;
    }
    let mut state = state();
    state.ending = true;
    let _ = LEFT.wait_timeout_while(state, PATIENCE, |state| state.inside > 0);
}
