//! Work of one device that cannot be done at once, in the order it was asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rxla_base::{Error, Result};

type Work = Box<dyn FnOnce() + Send>;

/// A line of work. While there is some, a thread does it.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    busy: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Work runs without the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether everything that was put in has been done.
    pub(crate) fn is_idle(&self) -> bool {
        !self.state().busy
    }

    /// Has the work done after what was put in before it. Work that panics is lost, and the next
    /// goes on.
    pub(crate) fn put(&self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let mut state = self.state();
        state.waiting.push_back(Box::new(work));
        if state.busy {
            return Ok(());
        }
        let queue = self.clone();
        let thread = std::thread::Builder::new().name("device queue".to_owned());
        match thread.stack_size(STACK).spawn(move || queue.work()) {
            Ok(_) => state.busy = true,
            Err(error) => {
                state.waiting.pop_back();
                return Err(Error::resource_exhausted(format!("no thread: {error}")));
            }
        }
        Ok(())
    }

    fn work(&self) {
        loop {
            let work = {
                let mut state = self.state();
                let Some(work) = state.waiting.pop_front() else {
                    state.busy = false;
                    return;
                };
                work
            };
            // Who waits for the work learns of its end by what the work drops.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        }
    }
}

/// As much stack as the main thread has.
const STACK: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_is_done_in_order_and_after_a_panic() {
        let queue = Queue::default();
        let (sender, receiver) = mpsc::channel();
        let (start, started) = mpsc::channel::<()>();
        queue.put(move || started.recv().unwrap()).unwrap();
        assert!(!queue.is_idle());
        queue.put(|| std::panic::resume_unwind(Box::new("lost"))).unwrap();
        for number in 0..3 {
            let sender = sender.clone();
            queue.put(move || sender.send(number).unwrap()).unwrap();
        }
        start.send(()).unwrap();
        assert_eq!(receiver.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
