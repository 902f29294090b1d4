//! The seam between the client and what compiles and runs programs. A backend is one
//! implementation of [`Backend`]; the client asks those it knows by falling priority and takes the
//! first that does not answer `UNIMPLEMENTED`.

use std::any::Any;
use std::sync::Arc;

use rxla_base::{Error, Memory, Result};
use rxla_flags::Flags;
use rxla_hlo::{Literal, Module};

use crate::compile_options::{CompileOptions, LogicalDevice};
use crate::host::Host;
use crate::pace::Forecast;

/// Something that compiles modules.
pub trait Backend: Send + Sync {
    /// Such as `interpreter`.
    fn name(&self) -> &'static str;

    /// Higher is asked first.
    fn priority(&self) -> i32;

    /// Takes what the flags of a new client say about the whole process.
    fn configure(&self, _flags: &Flags) {}

    /// Compiles a verified module. `UNIMPLEMENTED` means that another backend may try.
    fn compile(&self, module: &Arc<Module>, options: &CompileOptions) -> Result<Box<dyn Program>>;

    /// Memory of so many bytes in which its programs read arguments best, with any values; `None` if all
    /// memory is the same to it.
    fn memory(&self, _bytes: usize) -> Option<Result<Arc<dyn Memory>>> {
        None
    }

    /// What names the program that this backend makes of `source` (bytes that say all that it
    /// depends on), in this process and later ones; `None` if it keeps no programs.
    fn key(&self, _source: &[&[u8]]) -> Option<ProgramKey> {
        None
    }

    /// The program that was kept under a key, and the notes that were kept with it.
    fn recall(&self, _key: &ProgramKey) -> Option<(Box<dyn Program>, Vec<u8>)> {
        None
    }

    /// Keeps a program of this backend for later processes, if it can be kept.
    fn keep(&self, _key: &ProgramKey, _program: &dyn Program, _notes: &[u8]) {}
}

/// What names a program that a backend keeps: a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramKey(pub [u8; 32]);

/// A compiled module.
pub trait Program: Any + Send + Sync {
    /// Runs once on every device of `run` together and returns, per device, the leaves of the
    /// result in order.
    fn execute(&self, run: Run<'_>) -> Result<Vec<Vec<Literal>>>;

    /// As [`Program::execute`], with a program for each device, `self` among them: programs that
    /// differ in what a device does for itself, and meet alike.
    fn execute_own(&self, programs: &[&dyn Program], run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        let (_, _) = (programs, run);
        Err(Error::unimplemented("a program for each device"))
    }

    /// What is known of a run beforehand. A program that runs other code than its own must say so.
    fn forecast(&self) -> Forecast;

    /// Size of the generated code in bytes; 0 if there is none.
    fn code_size(&self) -> u64 {
        0
    }

    /// Bytes of temporary memory that an execution plans for each device; what kernels take for
    /// themselves while they run is not in it.
    fn temp_bytes(&self) -> u64 {
        0
    }

    /// Has the program tell what it runs when, from now on, while somebody records traces.
    /// `module` is what it was compiled from.
    fn watch(&self, _module: &dyn Fn() -> Arc<Module>) {}

    /// The program as bytes for [`Backend::recall`] of a later process.
    fn image(&self) -> Option<Vec<u8>> {
        None
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
    /// Who is told of leaves of the result, by number, that are there long before the run on its only device ends. It
    /// gives them again with the others. A program need not tell.
    pub tell: Option<&'a dyn Fn(usize, Literal)>,
}
