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
        flags.read_variable(variable, &value).iter().for_each(|mistake| notice::warn_once(mistake));
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
