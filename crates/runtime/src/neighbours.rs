//! How many processors are left for a pool's workers while others run, as the thread of Python that traces the next
//! step.
//!
//! Where more threads want to run than there are processors, the system takes turns of milliseconds. Whoever waits
//! for the pieces of a thread that is not having its turn waits for all of it, so that two threads on one and a half
//! processors are no faster than one, and take from the others what they waste.
//!
//! The system says how many threads want to run now (`/proc/loadavg`). A thread may be found that runs for a moment
//! only, or one of ours that was told to sleep or to wake and has not yet, so what is found has to be found twice, and a
//! loop that begins alone asks again between its pieces.

use std::fs::File;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long it is believed that there is nobody.
const QUIET: Duration = Duration::from_millis(1);
/// How long it is believed that somebody is there, or was a moment ago.
const BUSY: Duration = Duration::from_micros(60);
/// Asking may take one part in so many of the time: with many processors it takes longer.
const SHARE: u32 = 50;

/// What is known of the threads that are not a pool's.
pub(crate) struct Neighbours {
    source: Option<Source>,
    began: Instant,
    /// When to ask again, in nanoseconds since it began.
    due: AtomicU64,
    /// The last answer and the one before.
    answers: [AtomicUsize; 2],
}

struct Source {
    running: File,
    processors: usize,
}

impl Neighbours {
    /// Nobody else is ever taken notice of.
    pub(crate) fn unknown() -> Neighbours {
        Neighbours::of(None)
    }

    /// Those on this machine, if this process may use all its processors: what runs on which of them, nobody says.
    pub(crate) fn of_machine() -> Neighbours {
        let processors = processors().filter(|&count| count == crate::pool::available_threads());
        let source = processors.and_then(|processors| {
            let running = File::open("/proc/loadavg").ok()?;
            Some(Source { running, processors })
        });
        Neighbours::of(source)
    }

    fn of(source: Option<Source>) -> Neighbours {
        let (due, answers) = (AtomicU64::new(0), Default::default());
        Neighbours { source, began: Instant::now(), due, answers }
    }

    /// Processors that nobody wants, where `ours()` threads of the pool and its caller are running.
    pub(crate) fn spare(&self, ours: impl FnOnce() -> usize) -> usize {
        let Some(source) = &self.source else { return usize::MAX };
        let now = self.began.elapsed();
        let due = self.due.load(Ordering::Relaxed);
        if nanoseconds(now) >= due {
            // Who is not first believes the old answers.
            let later = nanoseconds(now + QUIET);
            if self.due.compare_exchange(due, later, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                self.ask(source, ours(), now);
            }
        }
        let others = self.answers.each_ref().map(|answer| answer.load(Ordering::Relaxed));
        source.processors.saturating_sub(others[0].min(others[1]) + 1)
    }

    /// Has them asked for when the next loop begins: somebody may have woken.
    pub(crate) fn look_again(&self) {
        self.due.store(0, Ordering::Relaxed);
    }

    fn ask(&self, source: &Source, ours: usize, now: Duration) {
        let others = source.threads_running().map_or(0, |running| running.saturating_sub(ours));
        let before = self.answers[0].swap(others, Ordering::Relaxed);
        self.answers[1].store(before, Ordering::Relaxed);
        let pause = if others == 0 && before == 0 { QUIET } else { BUSY };
        let after = self.began.elapsed();
        let due = after + pause.max((after - now) * SHARE);
        self.due.store(nanoseconds(due), Ordering::Relaxed);
    }
}

impl Source {
    /// The number before the slash, as in `0.20 0.18 0.12 1/80 11206` (proc_loadavg(5)).
    fn threads_running(&self) -> Option<usize> {
        let mut line = [0; 128];
        let length = read_again(&self.running, &mut line)?;
        let line = std::str::from_utf8(line.get(..length)?).ok()?;
        line.split(' ').nth(3)?.split('/').next()?.parse().ok()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(target_os = "linux")]
fn processors() -> Option<usize> {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).ok()
}

#[cfg(target_os = "linux")]
fn read_again(file: &File, bytes: &mut [u8]) -> Option<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, 0).ok()
}

#[cfg(not(target_os = "linux"))]
fn processors() -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn read_again(_file: &File, _bytes: &mut [u8]) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// A machine of so many processors, and the file that says how many threads are running.
    pub(crate) fn machine(name: &str, processors: usize) -> (Neighbours, std::path::PathBuf) {
        let path = std::env::temp_dir().join(format!("rxla-running-{name}-{}", std::process::id()));
        say(&path, 1);
        let running = File::open(&path).unwrap();
        (Neighbours::of(Some(Source { running, processors })), path)
    }

    pub(crate) fn say(path: &std::path::Path, running: usize) {
        // Written over, not anew: whoever has it open is to see it.
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).truncate(false).write(true).open(path).unwrap();
        writeln!(file, "0.20 0.18 0.12 {running}/80 11206").unwrap();
    }

    #[test]
    fn who_is_found_twice_is_there() {
        let (neighbours, path) = machine("found", 4);
        let spare = || {
            neighbours.look_again();
            neighbours.spare(|| 2)
        };
        // No more are running than ours.
        assert_eq!([spare(), spare()], [3, 3]);
        say(&path, 4);
        assert_eq!([spare(), spare()], [3, 1]);
        say(&path, 9);
        assert_eq!([spare(), spare()], [1, 0]);
        say(&path, 2);
        assert_eq!(spare(), 3);
        // An old answer is good for a while.
        say(&path, 9);
        assert_eq!(neighbours.spare(|| unreachable!("it is not asked")), 3);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_nobody() {
        let path = std::env::temp_dir().join(format!("rxla-nonsense-{}", std::process::id()));
        for text in ["", "0.20 0.18", "a b c d/e f", "\u{e4}"] {
            std::fs::write(&path, text).unwrap();
            let source = Source { running: File::open(&path).unwrap(), processors: 2 };
            assert_eq!(source.threads_running(), None);
            let neighbours = Neighbours::of(Some(source));
            assert_eq!([neighbours.spare(|| 1), neighbours.spare(|| 1)], [1, 1]);
        }
        std::fs::remove_file(path).unwrap();
        assert_eq!(Neighbours::unknown().spare(|| 1), usize::MAX);
    }

    #[test]
    fn this_machine_says_that_somebody_runs() {
        let source = Neighbours::of_machine().source;
        // It may be that this process has only a part of the machine.
        if let Some(source) = source {
            assert!(source.threads_running().unwrap() > 0);
        }
    }
}
