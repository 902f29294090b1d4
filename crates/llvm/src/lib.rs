//! Kernel IR to machine code: as LLVM IR text, through LLVM, into executable memory.
//!
//! ```text
//! kernel::Module ─► units (text) ─► cache? ─► LLVM, in parallel ─► objects ─► one mapping: Code
//! ```
//!
//! The only crate that links LLVM, through the C functions in `ffi`. Kernels must have passed the
//! kernel verifier. What holds:
//! - Each `Linkage::Kernel` function is a *unit* of its own: equal units are compiled once, whatever
//!   they are called, and found again in the [`Cache`].
//! - LLVM runs on threads of this crate. An error that it takes for fatal ends the compilation, not
//!   the process.
//! - [`Code`] owns its memory, is written once and then only read and run. [`Code::image`] is what a
//!   later process of the same build may run at once.

mod build_id;
mod builtins;
mod cache;
mod compiler;
mod ending;
mod ffi;
mod groups;
mod image;
mod load;
mod machine;
mod mapping;
mod target;
pub mod text;
mod warm;
mod workers;

pub use cache::{Cache, DiskCache, Key};
pub use compiler::{Compiler, Options, UnitObject};
pub use load::Code;
pub use target::{Cpu, Target};
pub use warm::warm_up;
