//! The backends that are built in: one line each.

#[cfg(feature = "cpu")]
mod cpu;
mod interpreter;
mod world;

use std::any::Any;
use std::sync::Arc;

use rxla_base::{Error, Result};

use crate::backend::{Backend, Program};
use crate::code_cache::CodeCache;
use interpreter::InterpreterBackend;

/// The backends that somebody means who names one: the named one, and behind it those that run what
/// it does not.
pub fn backends(name: &str, cache: Option<CodeCache>) -> Result<Vec<Arc<dyn Backend>>> {
    match name {
        "interpreter" => Ok(vec![Arc::new(InterpreterBackend)]),
        #[cfg(feature = "cpu")]
        "cpu" => Ok(vec![Arc::new(cpu::CpuBackend::new(cache)), Arc::new(InterpreterBackend)]),
        other => Err(Error::invalid_argument(format!(
            "there is no backend `{other}`, only {}",
            NAMES.join(" and ")
        ))),
    }
}

/// The programs, if they are all this backend's.
fn same_kind<'a, P: Program>(programs: &[&'a dyn Program]) -> Result<Vec<&'a P>> {
    let own = programs.iter().map(|&program| (program as &dyn Any).downcast_ref());
    own.collect::<Option<_>>()
        .ok_or_else(|| Error::unimplemented("programs of different backends that meet"))
}

const NAMES: &[&str] = &[
    "interpreter",
    #[cfg(feature = "cpu")]
    "cpu",
];

/// The name of the backend of which a client is made if nobody says.
pub const USUAL: &str = if cfg!(feature = "cpu") { "cpu" } else { "interpreter" };

/// What a client uses if nobody says.
pub(crate) fn usual() -> Vec<Arc<dyn Backend>> {
    backends(USUAL, None).expect("the usual backend is built in")
}
