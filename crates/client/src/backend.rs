//! The seam between the client and what compiles and runs programs. A backend is one
//! implementation of [`Backend`]; the client asks those it knows by falling priority and takes the
//! first that does not answer `UNIMPLEMENTED`.

use std::sync::Arc;

use rxla_base::Result;
use rxla_hlo::{Literal, Module};

use crate::compile_options::{CompileOptions, LogicalDevice};
use crate::host::Host;

/// Something that compiles modules.
pub trait Backend: Send + Sync {
    /// Such as `interpreter`.
    fn name(&self) -> &'static str;

    /// Higher is asked first.
    fn priority(&self) -> i32;

    /// Compiles a verified module. `UNIMPLEMENTED` means that another backend may try.
    fn compile(&self, module: &Arc<Module>, options: &CompileOptions) -> Result<Box<dyn Program>>;
}

/// A compiled module.
pub trait Program: Send + Sync {
    /// Runs once on every device of `run` together and returns, per device, the leaves of the
    /// result in order.
    fn execute(&self, run: Run<'_>) -> Result<Vec<Vec<Literal>>>;

    /// Size of the generated code in bytes; 0 if there is none.
    fn code_size(&self) -> u64 {
        0
    }
}

/// One execution.
pub struct Run<'a> {
    /// The devices that take part, in the order of `arguments`.
    pub devices: &'a [LogicalDevice],
    /// Per device the entry computation's arguments. A literal whose storage nobody else shares
    /// may be overwritten: that is what donation is.
    pub arguments: Vec<Vec<Literal>>,
    /// How the program reaches the world outside.
    pub host: &'a Arc<dyn Host>,
    /// Unique to this execution; devices of one execution share it.
    pub run_id: u64,
}
