//! Which processors the workers of a pool may run on: all but the one that their caller is on.
//!
//! A worker that slept may be woken on the very processor that its caller keeps busy, and stays there until the
//! system balances its load, some milliseconds later: so long two threads do what one could, on a second processor
//! that is idle. Where there are few processors that is likely, where there are many it is not, and is left to the
//! system.

use std::sync::atomic::{AtomicI32, Ordering};

/// Workers of pools that this is done for.
const FEW: usize = 7;

pub(crate) struct Seats {
    /// The workers' threads; zero before they have begun.
    workers: Box<[AtomicI32]>,
    /// The processor that they keep off, below zero before the first.
    left: AtomicI32,
}

impl Seats {
    pub(crate) fn for_workers(count: usize) -> Seats {
        let count = if count <= FEW { count } else { 0 };
        Seats { workers: (0..count).map(|_| AtomicI32::new(0)).collect(), left: AtomicI32::new(-1) }
    }

    /// To be called by the worker of this number when it begins.
    pub(crate) fn enter(&self, number: usize) {
        if let Some(worker) = self.workers.get(number) {
            worker.store(system::thread(), Ordering::Relaxed);
        }
    }

    /// Has all workers keep off the processor that this thread is on.
    pub(crate) fn leave_mine(&self) {
        if self.workers.is_empty() {
            return;
        }
        let mine = system::processor();
        if mine < 0 || self.left.swap(mine, Ordering::Relaxed) == mine {
            return;
        }
        for worker in &self.workers {
            let thread = worker.load(Ordering::Relaxed);
            if thread != 0 {
                system::keep_off(thread, mine as usize);
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::mem::MaybeUninit;

    pub(super) fn thread() -> i32 {
        // SAFETY: it asks for nothing.
        unsafe { libc::gettid() }
    }

    pub(super) fn processor() -> i32 {
        // SAFETY: it asks for nothing.
        unsafe { libc::sched_getcpu() }
    }

    /// Lets a thread run where this one may, but for one processor, if there are others.
    pub(super) fn keep_off(thread: i32, processor: usize) {
        let size = size_of::<libc::cpu_set_t>();
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the set is of that size, and zeros are an empty one; a thread that has ended is an error,
        // and then as well as if the system refuses, all stays as it was.
        unsafe {
            if libc::sched_getaffinity(0, size, set.as_mut_ptr()) != 0 {
                return;
            }
            let mut set = set.assume_init();
            if processor < libc::CPU_SETSIZE as usize {
                libc::CPU_CLR(processor, &mut set);
            }
            if libc::CPU_COUNT(&set) > 0 {
                libc::sched_setaffinity(thread, size, &set);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn thread() -> i32 {
        0
    }

    pub(super) fn processor() -> i32 {
        -1
    }

    pub(super) fn keep_off(_thread: i32, _processor: usize) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn allowed(thread: i32) -> Vec<usize> {
        // SAFETY: zeros are an empty set, of that size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(thread, size_of_val(&set), &mut set), 0);
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
        }
    }

    #[test]
    fn a_worker_keeps_off_where_its_caller_is() {
        let seats = Seats::for_workers(1);
        let (ready, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let seats = &seats;
            scope.spawn(move || {
                seats.enter(0);
                ready.send(()).unwrap();
                let _ = ended.recv();
            });
            begun.recv().unwrap();
            seats.leave_mine();
            let (mine, worker) = (allowed(0), seats.workers[0].load(Ordering::Relaxed));
            let left = seats.left.load(Ordering::Relaxed) as usize;
            let others: Vec<usize> = mine.iter().copied().filter(|&cpu| cpu != left).collect();
            assert_eq!(allowed(worker), if others.is_empty() { mine } else { others });
            drop(end);
        });
    }
}
