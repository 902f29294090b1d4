//! Threads for work that has to be done at once, kept for the next time: to start a thread takes longer
//! than many a program, and where processors are busy a new one waits while one that slept goes first.

#![allow(unsafe_code, reason = "what threads borrow that outlive the call")]

use std::any::Any;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// As much stack as the main thread has.
const STACK: usize = 8 << 20;

/// Threads that wait for work; more than these end.
const KEPT: usize = 64;

static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

struct Job {
    work: Box<dyn FnOnce() + Send>,
    done: Arc<Latch>,
}

/// How many jobs have not ended.
#[derive(Default)]
struct Latch {
    open: Mutex<usize>,
    ended: Condvar,
}

impl Latch {
    fn end_one(&self) {
        *lock(&self.open) -= 1;
        self.ended.notify_one();
    }
}

/// Waits for all jobs when it is dropped.
struct Wait<'a>(&'a Latch);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut open = lock(&self.0.open);
        while *open > 0 {
            open = self.0.ended.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does everything at once, each on a thread of its own: the first on the caller's. What no thread is
/// to be had for is given to `refuse`. A panic goes on here when all has ended.
pub fn at_once<W: Send, R: Send>(
    all: Vec<W>,
    run: impl Fn(usize, W) -> R + Sync,
    refuse: impl Fn(usize, io::Error) -> R,
) -> Vec<R> {
    type Caught<R> = Result<R, Box<dyn Any + Send>>;
    let run = |number, work| catch_unwind(AssertUnwindSafe(|| run(number, work)));
    let slots: Vec<Mutex<Option<Caught<R>>>> = all.iter().map(|_| Mutex::new(None)).collect();
    let latch = Arc::new(Latch::default());
    {
        let _wait = Wait(&latch);
        let mut first = None;
        for ((number, work), slot) in all.into_iter().enumerate().zip(&slots) {
            if number == 0 {
                first = Some(work);
                continue;
            }
            let run = &run;
            let work: Box<dyn FnOnce() + Send + '_> =
                Box::new(move || *lock(slot) = Some(run(number, work)));
            // SAFETY: `_wait` does not let this block end before the job has, and with it all that it
            // borrows.
            let work = unsafe {
                mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send>>(work)
            };
            *lock(&latch.open) += 1;
            if let Err(error) = give(Job { work, done: Arc::clone(&latch) }) {
                *lock(slot) = Some(Ok(refuse(number, error)));
            }
        }
        if let Some(work) = first {
            *lock(&slots[0]) = Some(run(0, work));
        }
    }
    let ended =
        slots.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    let ended = ended.map(|result| result.expect("each job leaves its result"));
    ended.map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// Hands a job to a thread that waits, or to a new one. A job that is not taken has ended.
fn give(job: Job) -> io::Result<()> {
    let idle = lock(&IDLE).pop();
    if let Some(thread) = idle {
        // Its receiver lives as long as the thread, which is in the list only while it waits.
        return thread.send(job).map_err(|lost| {
            lost.0.done.end_one();
            io::Error::other("a thread that waited has gone")
        });
    }
    let (sender, receiver) = channel::<Job>();
    let done = Arc::clone(&job.done);
    sender.send(job).expect("the receiver is here");
    let work = move || {
        for Job { work, done } in &receiver {
            work();
            let stays = {
                let mut idle = lock(&IDLE);
                let stays = idle.len() < KEPT;
                if stays {
                    idle.push(sender.clone());
                }
                stays
            };
            done.end_one();
            if !stays {
                break;
            }
        }
    };
    let thread = thread::Builder::new().name("rxla-crew".to_owned()).stack_size(STACK);
    thread.spawn(work).map(drop).inspect_err(|_| done.end_one())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread::ThreadId;

    use super::*;

    #[test]
    fn all_run_at_once_and_threads_are_used_again() {
        let ids = || {
            let barrier = Barrier::new(4);
            let work: Vec<String> = (0..4).map(|number| number.to_string()).collect();
            at_once(
                work,
                |number, work| {
                    barrier.wait();
                    assert_eq!(work, number.to_string());
                    thread::current().id()
                },
                |_, error| panic!("{error}"),
            )
        };
        let first: Vec<ThreadId> = ids();
        assert_eq!(first[0], thread::current().id());
        let mut second = ids();
        // Other tests may have taken some in between.
        second.retain(|id| first.contains(id));
        assert!(!second.is_empty());
    }

    #[test]
    fn a_panic_comes_when_all_have_ended() {
        let ended = Mutex::new(Vec::new());
        let run = |number: usize, ()| {
            if number != 1 {
                thread::sleep(std::time::Duration::from_millis(20));
            }
            lock(&ended).push(number);
            assert!(number != 1, "one of them");
        };
        let result = catch_unwind(AssertUnwindSafe(|| at_once(vec![(); 3], run, |_, _| ())));
        let panic = result.unwrap_err();
        assert_eq!(*panic.downcast::<&str>().unwrap(), "one of them");
        lock(&ended).sort_unstable();
        assert_eq!(*lock(&ended), [0, 1, 2]);
    }

    #[test]
    fn nothing_to_do() {
        let none: Vec<()> = at_once(Vec::<()>::new(), |_, ()| (), |_, _| ());
        assert!(none.is_empty());
    }
}
