//! One-shot events: something that will be done, or fail, once.
//!
//! Callbacks run without a lock held, either on the thread that completes the event or, if it is
//! complete already, on the caller's; so a callback may use the event, or run another program.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rxla_base::Result;

type Callback = Box<dyn FnOnce(&Result<()>) + Send>;

enum State {
    Pending(Vec<Callback>),
    Done(Result<()>),
}

struct Inner {
    state: Mutex<State>,
    done: Condvar,
}

/// A handle on something that completes once; clones are the same event.
#[derive(Clone)]
pub struct Event(Arc<Inner>);

impl Event {
    /// An event somebody will [complete](Event::complete).
    pub fn new() -> Event {
        Event::with_state(State::Pending(Vec::new()))
    }

    /// An event that is complete, well or not.
    pub fn done(result: Result<()>) -> Event {
        Event::with_state(State::Done(result))
    }

    fn with_state(state: State) -> Event {
        Event(Arc::new(Inner { state: Mutex::new(state), done: Condvar::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so a poisoned state is a whole state.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes the event and runs its callbacks. Returns `false`, changing nothing, if it was
    /// complete before.
    pub fn complete(&self, result: Result<()>) -> bool {
        let callbacks = {
            let mut state = self.state();
            let State::Pending(callbacks) = &mut *state else { return false };
            let callbacks = std::mem::take(callbacks);
            *state = State::Done(result.clone());
            callbacks
        };
        self.0.done.notify_all();
        for callback in callbacks {
            callback(&result);
        }
        true
    }

    pub fn is_ready(&self) -> bool {
        matches!(*self.state(), State::Done(_))
    }

    /// The result, if there is one yet.
    pub fn result(&self) -> Option<Result<()>> {
        match &*self.state() {
            State::Pending(_) => None,
            State::Done(result) => Some(result.clone()),
        }
    }

    /// Blocks until the event is complete.
    pub fn wait(&self) -> Result<()> {
        let mut state = self.state();
        loop {
            match &*state {
                State::Done(result) => return result.clone(),
                State::Pending(_) => {
                    state = self.0.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Runs `callback` when the event is complete: at once if it is.
    pub fn on_ready(&self, callback: impl FnOnce(&Result<()>) + Send + 'static) {
        let result = {
            let mut state = self.state();
            match &mut *state {
                State::Pending(callbacks) => {
                    callbacks.push(Box::new(callback));
                    return;
                }
                State::Done(result) => result.clone(),
            }
        };
        callback(&result);
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
