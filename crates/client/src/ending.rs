//! The end of the process while devices work.
//!
//! What they work for is of no use to anybody then, and who would be told of it may be half taken
//! down. So once the process ends their threads tell nobody any more.

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::queue::is_worker;

/// Held by threads of devices while they tell of what they have done.
static TELLING: RwLock<()> = RwLock::new(());
static ENDING: AtomicBool = AtomicBool::new(false);

/// To be called when the process begins to end: afterwards no thread of a device runs anybody's
/// callbacks. Waits a second at most for those that run.
pub fn process_ends() {
    ENDING.store(true, Ordering::SeqCst);
    for _ in 0..1000 {
        if TELLING.try_write().is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `tell`, which tells others that work is done.
pub(crate) fn deliver(tell: impl FnOnce()) {
    if !is_worker() {
        return tell();
    }
    // Nothing is kept under the lock that a panic could leave half done.
    let telling = TELLING.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    if ENDING.load(Ordering::SeqCst) {
        drop(telling);
        loop {
            std::thread::park();
        }
    }
    tell();
}
