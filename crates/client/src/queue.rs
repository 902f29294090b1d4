//! The work of one device that is done apart from who asks for it, in the order it came.
//!
//! A thread does it. Work that comes in waits for nothing any more: what it depends on has been
//! seen to before. So the thread always gets on, and no lock is held while it works. When it has
//! had nothing to do for a while it ends, and the next work starts another.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Work = Box<dyn FnOnce() + Send>;

/// As much stack as the main thread has.
const STACK: usize = 8 << 20;
/// How long a thread without work stays.
const LINGER: Duration = Duration::from_secs(2);
/// Executions that may be under way on a device before who asks for another one waits. Each keeps
/// its arguments alive; its temporaries and results take memory only when it runs.
const MOST_UNDER_WAY: usize = 32;

/// A line of work.
#[derive(Clone, Default)]
pub(crate) struct Queue(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// There is work.
    called: Condvar,
    /// Work has ended.
    moved: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    worker: Worker,
    /// The process that the worker is in: after a fork the child has none.
    process: u32,
    under_way: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Worker {
    #[default]
    None,
    Idle,
    Busy,
}

/// Counts an execution as under way until it is dropped.
pub(crate) struct Ticket(Queue);

thread_local! {
    static WORKS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is the thread of some queue.
pub(crate) fn is_worker() -> bool {
    WORKS.get()
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Work runs without the lock.
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.worker != Worker::None && state.process != std::process::id() {
            state.worker = Worker::None;
        }
        state
    }

    /// A place for one more execution. Waits while there are many and the device is getting on with
    /// them; if it is not, they wait for what the caller may still have to do.
    pub(crate) fn admit(&self) -> Ticket {
        let mut state = self.state();
        while state.under_way >= MOST_UNDER_WAY && state.worker == Worker::Busy && !is_worker() {
            state = self.0.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.under_way += 1;
        Ticket(self.clone())
    }

    /// Has the work done after what was put in before it. Work that panics is lost, and the next
    /// goes on. Where no thread can be had, the caller's does it.
    pub(crate) fn put(&self, work: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        state.waiting.push_back(Box::new(work));
        match state.worker {
            Worker::Busy => {}
            Worker::Idle => {
                state.worker = Worker::Busy;
                drop(state);
                self.0.called.notify_one();
            }
            Worker::None => {
                (state.worker, state.process) = (Worker::Busy, std::process::id());
                drop(state);
                let queue = self.clone();
                let thread = std::thread::Builder::new().name("rxla-device".to_owned());
                let spawned = thread.stack_size(STACK).spawn(move || {
                    WORKS.set(true);
                    while queue.work() {}
                });
                if spawned.is_err() {
                    self.work_off();
                    self.state().worker = Worker::None;
                }
            }
        }
    }

    /// Forgets what has not begun and waits for what has. A thread of a queue does not wait: it may
    /// be what is to end.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        let forgotten = std::mem::take(&mut state.waiting);
        drop(state);
        // Who waits for the work learns of its end by what it drops.
        drop(forgotten);
        let mut state = self.state();
        while state.worker == Worker::Busy && !is_worker() {
            state = self.0.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Does what there is and waits for more; false if none came.
    fn work(&self) -> bool {
        self.work_off();
        let mut state = self.state();
        if state.waiting.is_empty() {
            state.worker = Worker::Idle;
            self.0.moved.notify_all();
            let idle = |state: &mut State| state.worker == Worker::Idle;
            let waited = self.0.called.wait_timeout_while(state, LINGER, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.worker == Worker::Idle {
            state.worker = Worker::None;
            return false;
        }
        true
    }

    fn work_off(&self) {
        loop {
            let Some(work) = self.state().waiting.pop_front() else { return };
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.under_way -= 1;
        let waited_for = state.under_way + 1 >= MOST_UNDER_WAY;
        drop(state);
        if waited_for {
            self.0.0.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn work_is_done_in_order_and_after_a_panic() {
        let queue = Queue::default();
        let (sender, receiver) = mpsc::channel();
        let (start, started) = mpsc::channel::<()>();
        queue.put(move || started.recv().unwrap());
        queue.put(|| std::panic::resume_unwind(Box::new("lost")));
        for number in 0..3 {
            let sender = sender.clone();
            queue.put(move || sender.send((number, is_worker())).unwrap());
        }
        start.send(()).unwrap();
        let done: Vec<_> = receiver.iter().take(3).collect();
        assert_eq!(done, [(0, true), (1, true), (2, true)]);
        assert!(!is_worker());
    }

    #[test]
    fn who_asks_for_too_much_waits_while_there_is_progress() {
        let queue = Queue::default();
        // Nothing runs: whatever is under way waits for somebody else.
        let mut tickets: Vec<_> = (0..MOST_UNDER_WAY + 1).map(|_| queue.admit()).collect();
        tickets.truncate(MOST_UNDER_WAY);
        let (start, started) = mpsc::channel::<()>();
        let last = tickets.pop();
        queue.put(move || {
            started.recv().unwrap();
            drop(last);
        });
        let waiting = std::thread::spawn({
            let queue = queue.clone();
            move || drop(queue.admit())
        });
        assert!(!waiting.is_finished());
        start.send(()).unwrap();
        waiting.join().unwrap();
    }

    #[test]
    fn stopping_forgets_what_has_not_begun() {
        let queue = Queue::default();
        let (sender, receiver) = mpsc::channel();
        let (begin, begun) = mpsc::channel();
        let (start, started) = mpsc::channel::<()>();
        queue.put(move || {
            begin.send(()).unwrap();
            started.recv().unwrap();
        });
        queue.put(move || sender.send(()).unwrap());
        begun.recv().unwrap();
        let stopping = std::thread::spawn({
            let queue = queue.clone();
            move || queue.stop()
        });
        // The channel's other end is gone before the running work ends.
        assert!(receiver.recv().is_err());
        start.send(()).unwrap();
        stopping.join().unwrap();
        queue.stop();
    }
}
