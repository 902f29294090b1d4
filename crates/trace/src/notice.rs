//! Warnings to whoever uses the process. Libraries do not print: the command and the plugin say
//! where warnings go, and until they do nobody hears them.

use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock, PoisonError};

static LISTENER: OnceLock<fn(&str)> = OnceLock::new();

/// Says where warnings go; the first one who says it is heeded.
pub fn listen(listener: fn(&str)) {
    // A second one would say the same.
    let _ = LISTENER.set(listener);
}

/// Warns, once in the life of the process for each text.
pub fn warn_once(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned())
        && let Some(listener) = LISTENER.get()
    {
        listener(text);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_warning_is_heard_once() {
        static HEARD: AtomicUsize = AtomicUsize::new(0);
        listen(|_| {
            HEARD.fetch_add(1, Ordering::Relaxed);
        });
        for text in ["one", "two", "one"] {
            warn_once(text);
        }
        assert_eq!(HEARD.load(Ordering::Relaxed), 2);
    }
}
