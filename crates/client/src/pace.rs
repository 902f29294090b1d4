//! Which executions their caller waits for.
//!
//! To hand work to another thread and back takes tens of microseconds, so what is short runs where
//! it is asked for. What is long runs on its device's thread, and the caller goes on. How long a
//! program takes is estimated when it is compiled, and from the first run on it is known.
//!
//! Programs that call the world outside run on the caller's thread, whatever they take: what they
//! call may be Python's, which then needs no thread but its own, may run other programs, and has
//! its effects in the order of the calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rxla_flags::Flags;

/// What is known of a run beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forecast {
    /// Whether it calls the [host](crate::host::Host), that is, code that is not ours.
    pub calls_host: bool,
    /// What it will take, if that can be told.
    pub nanoseconds: Option<u64>,
}

/// What is known of the runs of a program.
pub(crate) struct Pace {
    calls_host: bool,
    /// What a run takes, in nanoseconds.
    takes: AtomicU64,
    /// Shorter ones are short.
    long: u64,
    /// Whether runs are timed: what is far from long is not.
    timed: bool,
}

/// By how much estimates may be wrong.
const DOUBT: u64 = 32;

impl Pace {
    pub(crate) fn new(forecast: Forecast, flags: &Flags) -> Pace {
        // Negative: nothing is long.
        let long =
            u64::try_from(flags.rxla_inline_us).map_or(u64::MAX, |us| us.saturating_mul(1000));
        let nanoseconds = forecast.nanoseconds.unwrap_or(u64::MAX - 1);
        Pace {
            calls_host: forecast.calls_host,
            takes: AtomicU64::new(nanoseconds),
            long,
            timed: nanoseconds >= long / DOUBT && (1..u64::MAX).contains(&long),
        }
    }

    /// Whether the caller's thread is the one to run it.
    pub(crate) fn calls_host(&self) -> bool {
        self.calls_host
    }

    pub(crate) fn is_long(&self) -> bool {
        self.takes.load(Ordering::Relaxed) >= self.long
    }

    /// Runs it and learns from that.
    pub(crate) fn time<R>(&self, run: impl FnOnce() -> R) -> R {
        if !self.timed {
            return run();
        }
        let start = Instant::now();
        let result = run();
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let known = self.takes.load(Ordering::Relaxed);
        // Others may have held one run up, so that only several change what is known.
        let now = if took < known { took } else { known + (took - known) / 4 };
        self.takes.store(now, Ordering::Relaxed);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(nanoseconds: Option<u64>, inline_us: i64) -> Pace {
        let flags = Flags { rxla_inline_us: inline_us, ..Flags::default() };
        Pace::new(Forecast { calls_host: false, nanoseconds }, &flags)
    }

    #[test]
    fn what_was_thought_long_is_known_better_after_a_run() {
        let unknown = pace(None, 60_000_000);
        assert!(unknown.is_long());
        assert_eq!(unknown.time(|| 1), 1);
        assert!(!unknown.is_long());
        let estimated = pace(Some(5_000_000), 5000);
        assert!(estimated.is_long() && !pace(Some(4_999_999), 5000).is_long());
    }

    #[test]
    fn the_flag_makes_everything_long_or_nothing() {
        assert!(pace(Some(0), 0).is_long());
        let never = pace(None, -1);
        never.time(|| ());
        assert!(!never.is_long());
    }
}
