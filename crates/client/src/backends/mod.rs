//! The backends that are built in: one line each.

mod interpreter;

use std::sync::Arc;

use crate::backend::Backend;
use interpreter::InterpreterBackend;

/// Every backend of this build.
pub(crate) fn all() -> Vec<Arc<dyn Backend>> {
    vec![Arc::new(InterpreterBackend)]
}
