//! One-shot events: something that will be done, or fail, once.
//!
//! Callbacks run without a lock held, either on the thread that completes the event or, if it is
//! complete already, on the caller's; so a callback may use the event, or run another program.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rxla_base::Result;

type Callback = Box<dyn FnOnce(&Result<()>) + Send>;

enum State {
    Pending { callbacks: Vec<Callback>, waiting: usize },
    Done(Result<()>),
}

struct Inner {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Clone)]
enum Kind {
    /// Done well from the start, as most events are: nothing needs to be kept for it.
    Past,
    Shared(Arc<Inner>),
}

/// A handle on something that completes once; clones are the same event.
#[derive(Clone)]
pub struct Event(Kind);

impl Event {
    /// An event somebody will [complete](Event::complete).
    pub fn new() -> Event {
        Event::with_state(State::Pending { callbacks: Vec::new(), waiting: 0 })
    }

    /// An event that is complete, well or not.
    pub fn done(result: Result<()>) -> Event {
        match result {
            Ok(()) => Event(Kind::Past),
            Err(_) => Event::with_state(State::Done(result)),
        }
    }

    fn with_state(state: State) -> Event {
        Event(Kind::Shared(Arc::new(Inner { state: Mutex::new(state), done: Condvar::new() })))
    }

    /// Completes the event and runs its callbacks. Returns `false`, changing nothing, if it was
    /// complete before.
    pub fn complete(&self, result: Result<()>) -> bool {
        let Kind::Shared(inner) = &self.0 else { return false };
        let (callbacks, waiting) = {
            let mut state = inner.state();
            let State::Pending { callbacks, waiting } = &mut *state else { return false };
            let left = (std::mem::take(callbacks), *waiting);
            *state = State::Done(result.clone());
            left
        };
        if waiting > 0 {
            inner.done.notify_all();
        }
        for callback in callbacks {
            callback(&result);
        }
        true
    }

    pub fn is_ready(&self) -> bool {
        self.result().is_some()
    }

    /// The result, if there is one yet.
    pub fn result(&self) -> Option<Result<()>> {
        let Kind::Shared(inner) = &self.0 else { return Some(Ok(())) };
        match &*inner.state() {
            State::Pending { .. } => None,
            State::Done(result) => Some(result.clone()),
        }
    }

    /// Blocks until the event is complete.
    pub fn wait(&self) -> Result<()> {
        let Kind::Shared(inner) = &self.0 else { return Ok(()) };
        let mut state = inner.state();
        loop {
            match &mut *state {
                State::Done(result) => return result.clone(),
                State::Pending { waiting, .. } => {
                    *waiting += 1;
                    state = inner.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                    if let State::Pending { waiting, .. } = &mut *state {
                        *waiting -= 1;
                    }
                }
            }
        }
    }

    /// Runs `callback` when the event is complete: at once if it is.
    pub fn on_ready(&self, callback: impl FnOnce(&Result<()>) + Send + 'static) {
        let Kind::Shared(inner) = &self.0 else { return callback(&Ok(())) };
        let result = {
            let mut state = inner.state();
            match &mut *state {
                State::Pending { callbacks, .. } => {
                    callbacks.push(Box::new(callback));
                    return;
                }
                State::Done(result) => result.clone(),
            }
        };
        callback(&result);
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so a poisoned state is a whole state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Event {
    fn default() -> Event {
        Event::new()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Event").field(&self.result()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rxla_base::Error;

    use super::*;

    #[test]
    fn callbacks_run_once_and_the_first_result_stays() {
        let event = Event::new();
        let runs = Arc::new(AtomicUsize::new(0));
        let count = |event: &Event| {
            let runs = Arc::clone(&runs);
            event.on_ready(move |result| {
                assert!(result.is_ok());
                runs.fetch_add(1, Ordering::Relaxed);
            });
        };
        count(&event);
        assert!(!event.is_ready());
        assert!(event.complete(Ok(())));
        assert!(!event.complete(Err(Error::internal("late"))));
        count(&event);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        assert_eq!(event.wait(), Ok(()));
    }

    #[test]
    fn what_is_past_is_complete() {
        let event = Event::done(Ok(()));
        assert!(event.is_ready() && !event.complete(Ok(())));
        assert_eq!((event.wait(), event.result()), (Ok(()), Some(Ok(()))));
        let failed = Event::done(Err(Error::internal("broken")));
        assert_eq!(failed.wait(), Err(Error::internal("broken")));
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        event.on_ready(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(ran.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn waiting_crosses_threads() {
        let event = Event::new();
        let waiter = std::thread::spawn({
            let event = event.clone();
            move || event.wait()
        });
        event.complete(Err(Error::internal("broken")));
        assert_eq!(waiter.join().unwrap(), Err(Error::internal("broken")));
    }
}
