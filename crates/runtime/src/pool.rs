//! The fork-join pool: one loop at a time is cut into pieces, which the calling thread and the
//! workers take until none is left.
//!
//! What holds here:
//! - Workers spin for some microseconds after the last work they saw and then sleep, so that a
//!   program that is busy pays fractions of a microsecond for a fork, and an idle one nothing.
//! - Workers treat subnormal numbers as the caller does, see [`rxla_base::subnormals`].
//! - Who sleeps is woken on another processor than the caller's, see [`crate::seats`].
//! - A loop inside a piece runs on the thread that meets it. A caller that finds all slots taken
//!   does its work alone. So nobody ever waits for work that has not begun, and no lock is held
//!   while work runs.
//! - Pieces are multiples of the grain (but the last), each a part of what is left, and every index is
//!   in one; which thread runs a piece, and how long pieces are, differs from run to run. The caller
//!   begins at the first and workers at the last, so that loops over the same array find most of their
//!   part in their core's own cache. What must not depend on that is for the work to see to, by keeping
//!   partial results by grain, not by piece.

use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rxla_base::subnormals::{self, Subnormals};

use crate::context::Context;
use crate::neighbours::Neighbours;
use crate::seats::Seats;

/// A piece of work as compiled code passes it: `thunk(arguments, begin, end)`. It must not unwind.
pub type Thunk = unsafe extern "C" fn(arguments: *const c_void, begin: i64, end: i64);

/// The same in Rust: `work(begin, end)`. Called by address: what it does, and there are hundreds of such, would
/// otherwise be compiled for each way to call it.
pub type Work<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// Loops that run at once before callers work alone.
const SLOTS: usize = 8;
/// How long who waits keeps looking before it sleeps.
const SPIN: Duration = Duration::from_micros(30);
/// Of what is left, who takes a piece takes one part in so many times the threads: threads of unlike speed, as those
/// are that share a core with somebody else, end together, since the last pieces are small.
const SHARES_PER_THREAD: usize = 2;
/// Parts that a loop is made of for each thread, at most: the smallest pieces.
const UNITS_PER_THREAD: usize = 16;
/// The same for indices that are much work each.
const FINE_UNITS_PER_THREAD: usize = 64;
/// The bit of [`Slot::inside`] that says that the caller sleeps until the last worker leaves.
const CALLER_SLEEPS: u32 = 1 << 31;

/// Threads that share the work of loops. Dropping it ends them.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    slots: [Slot; SLOTS],
    /// Counts loops published; what workers sleep on.
    published: AtomicU32,
    sleeping: AtomicU32,
    /// Workers that could help in the last loop.
    asked: AtomicUsize,
    ending: AtomicBool,
    seats: Seats,
    neighbours: Neighbours,
}

/// A loop being run. `open` is true while pieces may be taken; a worker enters by counting itself
/// into `inside` and then looking at `open`, and the caller closes and then waits for `inside` to
/// fall to zero. Both orders are sequentially consistent, so either the worker sees the slot closed
/// or the caller sees the worker.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    taken: AtomicBool,
    open: AtomicBool,
    inside: AtomicU32,
    /// Workers that may be inside at once.
    room: AtomicU32,
    /// The units that nobody took yet.
    left: AtomicU64,
    count: AtomicUsize,
    /// Indices in a unit.
    unit: AtomicUsize,
    /// Of the units left, those that a piece is made of: one in so many.
    share: AtomicUsize,
    thunk: AtomicPtr<c_void>,
    arguments: AtomicPtr<c_void>,
    /// The caller's, see [`subnormals::mode`].
    subnormals: AtomicU32,
}

/// What of a loop nobody has taken, in units.
struct Left {
    begin: u32,
    end: u32,
}

impl Left {
    fn pack(&self) -> u64 {
        u64::from(self.begin) << 32 | u64::from(self.end)
    }

    fn unpack(packed: u64) -> Left {
        Left { begin: (packed >> 32) as u32, end: packed as u32 }
    }
}

/// Where who takes pieces begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

thread_local! {
    /// Whether this thread is running a piece of some loop.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Threads that this process may keep busy: by affinity mask and cgroup quota.
pub fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Pool {
    /// A pool of so many threads, as far as the system gives them. The calling thread is one of
    /// them, so that a pool of one has no workers.
    pub fn with_threads(threads: usize) -> Arc<Pool> {
        Pool::new(threads, Neighbours::unknown())
    }

    /// A pool with a thread for each processor that this process may use. Those that others keep busy it leaves to
    /// them.
    pub fn of_machine() -> Arc<Pool> {
        Pool::new(available_threads(), Neighbours::of_machine())
    }

    fn new(threads: usize, neighbours: Neighbours) -> Arc<Pool> {
        let shared = Arc::new(Shared {
            slots: Default::default(),
            published: AtomicU32::new(0),
            sleeping: AtomicU32::new(0),
            asked: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
            seats: Seats::for_workers(threads.saturating_sub(1)),
            neighbours,
        });
        let workers = (1..threads)
            .map_while(|index| {
                let shared = Arc::clone(&shared);
                let name = format!("rxla-worker-{index}");
                let work = move || {
                    shared.seats.enter(index - 1);
                    shared.work();
                };
                std::thread::Builder::new().name(name).spawn(work).ok()
            })
            .collect();
        Arc::new(Pool { shared, workers })
    }

    /// Threads that work is spread over, the calling one included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Somebody may have been woken who needs a processor.
    pub fn look_around(&self) {
        self.shared.neighbours.look_again();
    }

    /// Runs `work(begin, end)` for pieces that cover `0..count`. If one panics, so does this, after
    /// the other pieces are done.
    pub fn parallel_for(&self, count: usize, grain: usize, work: &Work) {
        self.parallel_for_in_units(count, grain, UNITS_PER_THREAD, work);
    }

    /// The same for indices that are much work each, one as much as the other, and need nothing from their neighbours:
    /// the last pieces are smaller, so that threads end together.
    pub fn parallel_for_each(&self, count: usize, work: &Work) {
        self.parallel_for_in_units(count, 1, FINE_UNITS_PER_THREAD, work);
    }

    fn parallel_for_in_units(
        &self,
        count: usize,
        grain: usize,
        units_per_thread: usize,
        work: &Work,
    ) {
        struct Guarded<'a> {
            work: &'a Work<'a>,
            panic: Mutex<Option<Box<dyn Any + Send>>>,
        }
        unsafe extern "C" fn run(data: *const c_void, begin: i64, end: i64) {
            // SAFETY: `data` is the `Guarded` below, which outlives the loop.
            let guarded = unsafe { &*data.cast::<Guarded<'_>>() };
            let piece = AssertUnwindSafe(|| (guarded.work)(begin as usize, end as usize));
            if let Err(panic) = catch_unwind(piece) {
                let mut first = guarded.panic.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(panic);
            }
        }
        if self.runs_alone(count, grain) {
            if count > 0 {
                work(0, count);
            }
            return;
        }
        let guarded = Guarded { work, panic: Mutex::new(None) };
        // SAFETY: `run` does not unwind, and the work may be done by other threads since it is `Sync`.
        unsafe {
            let arguments = (&raw const guarded).cast();
            self.run_in_units(run, arguments, count, grain, units_per_thread);
        }
        let panic = guarded.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    fn runs_alone(&self, count: usize, grain: usize) -> bool {
        self.workers.is_empty() || count <= grain.max(1) || INSIDE.get()
    }

    /// Workers that may help now.
    fn room(&self) -> usize {
        let all = self.workers.len();
        let ours = || {
            // Who was asked to help may be on the way.
            let awake = all - self.shared.sleeping.load(Ordering::Relaxed) as usize;
            1 + awake.max(self.shared.asked.load(Ordering::Relaxed))
        };
        let room = all.min(self.shared.neighbours.spare(ours));
        if self.shared.asked.load(Ordering::Relaxed) != room {
            self.shared.asked.store(room, Ordering::Relaxed);
        }
        room
    }

    /// Of what is left, the part that is a piece: one in so many. Who is alone takes the smallest pieces, so that others
    /// come in soon when they can.
    fn share(&self, room: usize) -> usize {
        if room > 0 { self.threads() * SHARES_PER_THREAD } else { u32::MAX as usize }
    }

    /// Calls `thunk(arguments, begin, end)` for pieces that cover `0..count`.
    ///
    /// # Safety
    ///
    /// The thunk may be called with `arguments` and any piece of the range, from any thread, and
    /// does not unwind.
    pub unsafe fn run(&self, thunk: Thunk, arguments: *const c_void, count: usize, grain: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.run_in_units(thunk, arguments, count, grain, UNITS_PER_THREAD) };
    }

    /// # Safety
    ///
    /// As for [`Pool::run`].
    unsafe fn run_in_units(
        &self,
        thunk: Thunk,
        arguments: *const c_void,
        count: usize,
        grain: usize,
        units_per_thread: usize,
    ) {
        let grain = grain.max(1);
        let free = |slot: &&Slot| {
            !slot.taken.load(Ordering::Relaxed) && !slot.taken.swap(true, Ordering::Acquire)
        };
        let alone = self.runs_alone(count, grain);
        let slot = if alone { None } else { self.shared.slots.iter().find(free) };
        let Some(slot) = slot else {
            if count > 0 {
                // SAFETY: the caller's promise.
                unsafe { thunk(arguments, 0, count as i64) };
            }
            return;
        };
        let grains = count.div_ceil(grain);
        let unit = grains.div_ceil(self.threads() * units_per_thread);
        let units = grains.div_ceil(unit);
        slot.left.store(Left { begin: 0, end: units as u32 }.pack(), Ordering::Relaxed);
        slot.count.store(count, Ordering::Relaxed);
        slot.unit.store(unit * grain, Ordering::Relaxed);
        let mut room = self.room();
        slot.share.store(self.share(room), Ordering::Relaxed);
        slot.thunk.store(thunk as *mut c_void, Ordering::Relaxed);
        slot.arguments.store(arguments.cast_mut(), Ordering::Relaxed);
        slot.subnormals.store(subnormals::mode(), Ordering::Relaxed);
        slot.room.store(room as u32, Ordering::Relaxed);
        slot.open.store(true, Ordering::SeqCst);
        if room > 0 {
            self.shared.wake(room.min(units - 1));
        }
        slot.take_pieces(End::First, || {
            // Others may have kept a processor busy for no more than a moment, as who waits for this does before.
            let before = room;
            if before < self.workers.len() {
                room = self.room();
            }
            if room > before {
                slot.share.store(self.share(room), Ordering::Relaxed);
                slot.room.store(room as u32, Ordering::SeqCst);
                self.shared.wake(room);
            }
        });
        slot.open.store(false, Ordering::SeqCst);
        slot.wait_until_left();
        slot.taken.store(false, Ordering::Release);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        self.shared.published.fetch_add(1, Ordering::SeqCst);
        atomic_wait::wake_all(&self.shared.published);
        for worker in self.workers.drain(..) {
            // A worker does not panic: thunks do not unwind.
            let _ = worker.join();
        }
    }
}

impl Shared {
    /// Tells `helpers` workers that there is something to do.
    fn wake(&self, helpers: usize) {
        self.published.fetch_add(1, Ordering::SeqCst);
        let sleeping = self.sleeping.load(Ordering::SeqCst) as usize;
        if helpers.min(sleeping) > 0 {
            self.seats.leave_mine();
        }
        match helpers.min(sleeping) {
            0 => {}
            1 => atomic_wait::wake_one(&self.published),
            _ => atomic_wait::wake_all(&self.published),
        }
    }

    /// What a worker does all its life.
    fn work(&self) {
        loop {
            let seen = self.published.load(Ordering::SeqCst);
            if self.ending.load(Ordering::SeqCst) {
                return;
            }
            for slot in &self.slots {
                slot.help();
            }
            if !spin_until(|| self.published.load(Ordering::Relaxed) != seen) {
                self.sleeping.fetch_add(1, Ordering::SeqCst);
                atomic_wait::wait(&self.published, seen);
                self.sleeping.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

impl Slot {
    /// Takes pieces if the slot is open.
    fn help(&self) {
        if !self.open.load(Ordering::Relaxed) {
            return;
        }
        let before = self.inside.fetch_add(1, Ordering::SeqCst) & !CALLER_SLEEPS;
        if before < self.room.load(Ordering::Relaxed) && self.open.load(Ordering::SeqCst) {
            let _mode = Subnormals::of(self.subnormals.load(Ordering::Relaxed));
            self.take_pieces(End::Last, || ());
        }
        if self.inside.fetch_sub(1, Ordering::SeqCst) == CALLER_SLEEPS | 1 {
            // The caller may have looked meanwhile and left: waking nobody does no harm.
            atomic_wait::wake_all(&self.inside);
        }
    }

    /// Runs pieces from one end until none is left, and something after each.
    fn take_pieces(&self, end: End, mut between: impl FnMut()) {
        let outer = INSIDE.replace(true);
        let count = self.count.load(Ordering::Relaxed);
        let unit = self.unit.load(Ordering::Relaxed);
        let arguments = self.arguments.load(Ordering::Relaxed);
        // SAFETY: `run` stored a `Thunk` before it opened the slot, and it stays until the caller
        // has seen everybody leave.
        let thunk = unsafe {
            std::mem::transmute::<*mut c_void, Thunk>(self.thunk.load(Ordering::Relaxed))
        };
        while let Some(units) = self.take(end) {
            let begin = units.start as usize * unit;
            let end = count.min(units.end as usize * unit);
            // SAFETY: the promise of whoever called `run`; `begin..end` is taken once.
            unsafe { thunk(arguments, begin as i64, end as i64) };
            between();
        }
        INSIDE.set(outer);
    }

    /// The units of a piece that is now the caller's, if one was left.
    fn take(&self, from: End) -> Option<Range<u32>> {
        let share = self.share.load(Ordering::Relaxed) as u32;
        let mut seen = self.left.load(Ordering::Relaxed);
        loop {
            let Left { begin, end } = Left::unpack(seen);
            if begin == end {
                return None;
            }
            let size = (end - begin).div_ceil(share);
            let (piece, left) = match from {
                End::First => (begin..begin + size, Left { begin: begin + size, end }),
                End::Last => (end - size..end, Left { begin, end: end - size }),
            };
            let new = left.pack();
            match self.left.compare_exchange_weak(seen, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(piece),
                Err(now) => seen = now,
            }
        }
    }

    /// Waits for the workers that are in a closed slot.
    fn wait_until_left(&self) {
        if spin_until(|| self.inside.load(Ordering::SeqCst) == 0) {
            return;
        }
        loop {
            let inside = self.inside.fetch_or(CALLER_SLEEPS, Ordering::SeqCst) | CALLER_SLEEPS;
            if inside == CALLER_SLEEPS {
                break;
            }
            atomic_wait::wait(&self.inside, inside);
        }
        self.inside.fetch_and(!CALLER_SLEEPS, Ordering::SeqCst);
    }
}

/// Looks for [`SPIN`] whether `done`; false if it was not to be seen.
fn spin_until(done: impl Fn() -> bool) -> bool {
    let mut start = None;
    loop {
        for _ in 0..64 {
            if done() {
                return true;
            }
            std::hint::spin_loop();
        }
        if start.get_or_insert_with(Instant::now).elapsed() > SPIN {
            return false;
        }
    }
}

/// What compiled code calls for [`Pool::run`].
///
/// # Safety
///
/// The context is null or a [`Context`]; the thunk may be called with `arguments` and any piece of
/// `0..count`, from any thread, and does not unwind.
pub unsafe extern "C" fn rxla_parallel_for(
    context: *const Context,
    thunk: Thunk,
    arguments: *const c_void,
    count: i64,
    grain: i64,
) {
    let count = usize::try_from(count).unwrap_or(0);
    let grain = usize::try_from(grain).unwrap_or(1);
    // SAFETY: the caller's promise.
    match unsafe { Context::from_ptr(context) }.pool.as_deref() {
        // SAFETY: the caller's promise.
        Some(pool) => unsafe { pool.run(thunk, arguments, count, grain) },
        // SAFETY: the caller's promise.
        None if count > 0 => unsafe { thunk(arguments, 0, count as i64) },
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(pool: &Pool, count: usize, grain: usize) -> Vec<u32> {
        let seen: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        pool.parallel_for(count, grain, &|begin, end| {
            assert!(begin.is_multiple_of(grain) && (end.is_multiple_of(grain) || end == count));
            for index in begin..end {
                seen[index].fetch_add(1, Ordering::Relaxed);
            }
        });
        seen.into_iter().map(AtomicU32::into_inner).collect()
    }

    #[test]
    fn every_index_is_visited_once() {
        for threads in [1, 2, 3, 5] {
            let pool = Pool::with_threads(threads);
            for (count, grain) in [(0, 1), (1, 1), (7, 1), (7, 3), (1000, 8), (1000, 1001)] {
                assert!(visits(&pool, count, grain).iter().all(|&times| times == 1));
            }
            for count in [0, 1, 7, 1000] {
                let seen: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
                pool.parallel_for_each(count, &|begin, end| {
                    seen[begin..end]
                        .iter()
                        .for_each(|times| _ = times.fetch_add(1, Ordering::Relaxed));
                });
                assert!(seen.into_iter().all(|times| times.into_inner() == 1));
            }
            for _ in 0..2000 {
                assert!(visits(&pool, 16, 1).iter().all(|&times| times == 1));
            }
        }
    }

    #[test]
    fn loops_in_loops_and_of_several_callers() {
        let pool = Pool::with_threads(3);
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SLOTS + 2 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        pool.parallel_for(10, 1, &|begin, end| {
                            for _ in begin..end {
                                pool.parallel_for(10, 1, &|begin, end| {
                                    total.fetch_add(end - begin, Ordering::Relaxed);
                                });
                            }
                        });
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), (SLOTS + 2) * 100 * 100);
    }

    #[test]
    fn panics_reach_the_caller_and_end_nothing() {
        let pool = Pool::with_threads(2);
        let done = AtomicUsize::new(0);
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            pool.parallel_for(100, 1, &|begin, end| {
                done.fetch_add(end - begin, Ordering::Relaxed);
                assert!(begin != 0, "on purpose");
            });
        }));
        assert!(attempt.is_err());
        assert_eq!(done.into_inner(), 100);
        assert!(visits(&pool, 100, 1).iter().all(|&times| times == 1));
    }

    #[test]
    fn sleepers_wake_and_pools_end() {
        for _ in 0..20 {
            let pool = Pool::with_threads(4);
            std::thread::sleep(Duration::from_millis(2));
            assert!(visits(&pool, 64, 1).iter().all(|&times| times == 1));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processors_of_others_are_left_to_them() {
        use crate::neighbours::tests::{machine, say};
        use std::collections::HashSet;

        let (neighbours, path) = machine("pool", 4);
        let pool = Pool::new(4, neighbours);
        // Threads that took pieces in one of many loops, at most.
        let helping = || {
            let most = (0..50).map(|_| {
                pool.look_around();
                let threads = Mutex::new(HashSet::new());
                pool.parallel_for(200, 1, &|_, _| {
                    threads.lock().unwrap().insert(std::thread::current().id());
                    std::thread::sleep(Duration::from_micros(20));
                });
                threads.into_inner().unwrap().len()
            });
            most.skip(2).max().unwrap()
        };
        assert!(helping() > 1);
        // Four of us and three others.
        say(&path, 7);
        assert_eq!(helping(), 1);
        let others_are_gone = || {
            say(&path, 1);
            helping()
        };
        assert!(others_are_gone() > 1);
        // Who goes while a loop runs lets others come in. A processor that is busy may not run them in time.
        let are_let_in = || {
            say(&path, 7);
            assert_eq!(helping(), 1);
            let threads = Mutex::new(HashSet::new());
            pool.parallel_for(2000, 1, &|begin, end| {
                if (begin..end).contains(&500) {
                    say(&path, 1);
                }
                threads.lock().unwrap().insert(std::thread::current().id());
                std::thread::sleep(Duration::from_micros(20));
            });
            threads.into_inner().unwrap().len() > 1
        };
        assert!((0..10).any(|_| are_let_in()));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn compiled_code_needs_no_context() {
        unsafe extern "C" fn add(arguments: *const c_void, begin: i64, end: i64) {
            // SAFETY: the test passes a counter.
            let counter = unsafe { &*arguments.cast::<AtomicUsize>() };
            counter.fetch_add((end - begin) as usize, Ordering::Relaxed);
        }
        let counter = AtomicUsize::new(0);
        let context = Context::new(Some(Pool::with_threads(2)));
        for context in [std::ptr::null(), context.as_ptr()] {
            // SAFETY: `add` takes the counter and any range.
            unsafe { rxla_parallel_for(context, add, (&raw const counter).cast(), 1000, 10) };
        }
        assert_eq!(counter.into_inner(), 2000);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn workers_do_with_subnormal_numbers_as_the_caller_does() {
        use std::hint::black_box;
        let halved = || black_box(f32::MIN_POSITIVE) * black_box(0.5);
        let pool = Pool::with_threads(4);
        for flush in [true, false, true] {
            let _mode = if flush { Subnormals::flush() } else { Subnormals::keep() };
            let (zeros, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.parallel_for(4000, 1, &|begin, end| {
                for _ in begin..end {
                    std::thread::sleep(Duration::from_micros(1));
                    zeros.fetch_add(usize::from(halved() == 0.0), Ordering::Relaxed);
                    runs.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(runs.into_inner(), 4000);
            assert_eq!(zeros.into_inner(), if flush { 4000 } else { 0 });
        }
    }
}
