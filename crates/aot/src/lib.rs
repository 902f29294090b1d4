//! Programs compiled ahead of time: one relocatable object for C, and a header that says how to call it.
//!
//! ```text
//! module ─► rxla-cpu (as for running it here) ─► objects ─┐
//!                 wrapper: checks, copies, the call ──────┼─► link ─► object, library ─► cc
//!                      rxla-aot-runtime, what is needed ──┘
//! ```
//!
//! The object needs nothing but the C library, with its threads and maths; what it gives is what the
//! same program gives here, bit for bit, if it is compiled for the same processor. Constants are in it as
//! data that is only read. [`mod@link`] is the linker; no tool of the system has a part in it.

mod archive;
mod header;
mod link;
mod wrapper;

use std::borrow::Cow;
use std::sync::Arc;

use object::read::elf::ElfFile64;
use object::{Architecture, Object, ObjectSymbol};
use rxla_base::{Error, Result};
use rxla_cpu::ahead::{Ahead, ahead_of_time};
use rxla_hlo::Module;

pub use archive::archive;
pub use header::identifier;
use link::{Data, Parts, Unit};
use wrapper::{CONSTANTS, Names, Runtime};

/// A program for C.
pub struct Compiled {
    /// A relocatable object.
    pub object: Vec<u8>,
    pub header: String,
    /// What the object defines.
    pub names: Vec<String>,
    pub constant_bytes: usize,
    pub workspace_bytes: u64,
}

/// Compiles a module that has passed the verifier. All names that the program has begin with `prefix`,
/// a name in C. `runtime` gives the library of `rxla-aot-runtime`, and is asked only if it is needed.
pub fn compile(
    module: &Arc<Module>,
    prefix: &str,
    options: &rxla_cpu::Options,
    runtime: impl FnOnce() -> Result<Cow<'static, [u8]>>,
) -> Result<Compiled> {
    if identifier(prefix) != prefix {
        return Err(Error::invalid_argument(format!("`{prefix}` is no name in C")));
    }
    let ahead = ahead_of_time(module, options)?;
    let names = Names::new(prefix);
    let needs = needs(&ahead)?;
    let used = if needs.runtime { Runtime::Used } else { Runtime::Unused };
    let run = ahead.compiler.object_of_text(&wrapper::run(&ahead, &names, used))?;
    let set = ahead.compiler.object_of_text(&wrapper::set_threads(&names, used))?;
    let library = if needs.runtime || needs.builtins { runtime()? } else { Cow::default() };
    let mut units: Vec<Unit<'_>> = ahead
        .objects
        .iter()
        .map(|object| Unit {
            bytes: &object.bytes,
            inside: rxla_cpu::ahead::ENTRY,
            symbol: &object.symbol,
            shown: shown(prefix, &object.functions),
        })
        .collect();
    for (name, bytes) in [(&names.run, &run), (&names.set_threads, &set)] {
        units.push(Unit { bytes, inside: name, symbol: name, shown: name.clone() });
    }
    let object = link::link(&Parts {
        units,
        data: vec![Data { symbol: CONSTANTS, bytes: &ahead.constants, align: ahead.align }],
        libraries: if library.is_empty() { Vec::new() } else { vec![&library] },
        exported: vec![&names.run, &names.set_threads],
        architecture: architecture()?,
    })?;
    let header = header::header(&ahead, prefix, &names, &module.name, options.cpu);
    Ok(Compiled {
        object,
        header,
        names: vec![names.run, names.set_threads],
        constant_bytes: ahead.constants.len(),
        workspace_bytes: ahead.temp_bytes,
    })
}

fn architecture() -> Result<Architecture> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(Architecture::X86_64),
        "aarch64" => Ok(Architecture::Aarch64),
        other => Err(Error::unimplemented(format!("objects for {other}"))),
    }
}

/// What profilers call a function: by what it is among the program's.
fn shown(prefix: &str, functions: &[String]) -> String {
    let name = functions.first().map_or("inner", String::as_str);
    format!("{prefix}.{name}")
}

struct Needs {
    /// Threads and kernels.
    runtime: bool,
    /// What LLVM calls for lack of an instruction.
    builtins: bool,
}

fn needs(ahead: &Ahead) -> Result<Needs> {
    let mut needs = Needs { runtime: false, builtins: false };
    for unit in &ahead.objects {
        let object: ElfFile64<'_> = ElfFile64::parse(&*unit.bytes)
            .map_err(|error| Error::internal(format!("an object cannot be read: {error}")))?;
        for symbol in object.symbols().filter(|symbol| symbol.is_undefined()) {
            let name = symbol.name().unwrap_or_default();
            needs.runtime |= name.starts_with("rxla_");
            needs.builtins |= name.starts_with("__");
        }
    }
    Ok(needs)
}
