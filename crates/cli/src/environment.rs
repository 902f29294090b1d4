//! Flags from the environment, as the plugin reads them.

use std::sync::Arc;

use rxla_flags::Flags;
use rxla_trace::notice;

use crate::output;

/// The flags of `XLA_FLAGS` and `RXLA_FLAGS`. Mistakes in them are warnings.
pub(crate) fn flags() -> Arc<Flags> {
    let mut flags = Flags::default();
    for variable in ["XLA_FLAGS", "RXLA_FLAGS"] {
        let value = std::env::var(variable).unwrap_or_default();
        let value = value.trim();
        // As XLA has it: a value that is no flag is the name of a file of flags.
        let text = if value.is_empty() || value.starts_with("--") {
            value.to_owned()
        } else {
            std::fs::read_to_string(value).unwrap_or_else(|error| {
                notice::warn_once(&format!(
                    "`{variable}` is neither flags nor a file that can be read: `{value}`: {error}"
                ));
                String::new()
            })
        };
        for warning in flags.read(&text) {
            notice::warn_once(&format!("{variable}: {warning}"));
        }
    }
    if let Ok(threads @ 1..) = usize::try_from(flags.rxla_threads) {
        rxla_cpu::use_threads(threads);
    }
    Arc::new(flags)
}

/// Has warnings of libraries shown.
pub(crate) fn listen() {
    notice::listen(|text| output::message(&format!("warning: {text}")));
}
