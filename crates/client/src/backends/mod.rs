//! The backends that are built in: one line each.

#[cfg(feature = "cpu")]
mod cpu;
mod interpreter;
mod world;

use std::sync::Arc;

use rxla_base::{Error, Result};

use crate::backend::Backend;
use interpreter::InterpreterBackend;

/// The backends that somebody means who names one: the named one, and behind it those that run what
/// it does not.
pub fn backends(name: &str) -> Result<Vec<Arc<dyn Backend>>> {
    match name {
        "interpreter" => Ok(vec![Arc::new(InterpreterBackend)]),
        #[cfg(feature = "cpu")]
        "cpu" => {
            let cpu = cpu::CpuBackend { options: rxla_cpu::Options::default() };
            Ok(vec![Arc::new(cpu), Arc::new(InterpreterBackend)])
        }
        other => Err(Error::invalid_argument(format!(
            "there is no backend `{other}`, only {}",
            NAMES.join(" and ")
        ))),
    }
}

const NAMES: &[&str] = &[
    "interpreter",
    #[cfg(feature = "cpu")]
    "cpu",
];

/// What a client uses if nobody says.
pub(crate) fn usual() -> Vec<Arc<dyn Backend>> {
    vec![Arc::new(InterpreterBackend)]
}
