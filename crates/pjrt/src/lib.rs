//! The PJRT C API of rxla, version 0.112, and nothing else: each function checks what the C side
//! passes, calls the client ([`rxla`]) and hands the result back. Programs are compiled and run
//! behind that.
//!
//! What holds throughout: no function of the table is null; a pointer of the caller is never
//! trusted to be a live handle (see [`handle`] and [`slab`]); no panic leaves an entry and no more bytes are
//! written than the caller's `struct_size` (see [`abi`]); no lock is held while code of the caller
//! runs.

#![allow(clippy::missing_safety_doc)]

mod abi;
mod api;
mod buffer;
mod callback_types;
mod client;
mod compile_options;
mod custom_partitioner;
mod description;
mod environment;
mod error;
mod event;
mod executable;
#[allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unused_qualifications,
    dead_code,
    clippy::all
)]
#[rustfmt::skip]
mod ffi;
mod foreign;
mod handle;
mod host;
mod layouts;
mod loaded;
mod mapped;
mod memory;
mod named_value;
mod plugin;
mod profiler;
mod program;
mod raw;
mod raw_copy;
mod shape;
mod shardings;
mod slab;
mod traced;
mod transfer;
mod wire;
mod xla_ffi;
mod xla_transform;
mod xspace;

#[cfg(test)]
mod sizes_test;

pub use api::GetPjrtApi;
pub use traced::{RXLA_FreeTraced, RXLA_KeepTraced, RXLA_RecallTraced};
pub use xla_ffi::{
    RXLA_HoldOperand, RXLA_MakeFfiError, RXLA_RegisterFfiHandler, RXLA_RegisterFfiType,
    RXLA_ReleaseOperand, RXLA_SetPythonCallback,
};
