//! The client API of rxla: devices, buffers, programs.

mod apart;
mod backend;
mod backends;
mod buffer;
mod client;
mod code_cache;
mod compile_options;
mod cost;
mod device;
mod ending;
mod event;
mod executable;
mod format;
pub mod host;
mod later;
mod loaded;
mod meeting;
mod notes;
mod pace;
pub mod partitioners;
mod queue;
pub mod strided;
pub mod transforms;

pub use backend::{Backend, Program, ProgramKey, Run};
pub use backends::{USUAL, backends};
pub use buffer::Buffer;
pub use client::{Client, ClientOptions};
pub use code_cache::CodeCache;
pub use compile_options::{CompileOptions, LogicalDevice};
pub use cost::costs;
pub use device::{Device, Memory, MemoryKind, MemoryStats, MemoryUsage};
pub use ending::process_ends;
pub use event::Event;
pub use executable::{
    CompiledMemory, Donation, Executable, Output, Parameter, Signature, layout_of,
};
pub use format::{Format, ReadOptions, Source, read_module};
pub use loaded::{ExecuteOptions, LoadedExecutable};
pub use pace::Forecast;
pub use rxla_base::{Code, Error, Result};
pub use rxla_flags as flags;
pub use rxla_hlo as hlo;
pub use rxla_stablehlo::import::ArgumentForm;
pub use rxla_trace as trace;

/// The programs on the page for users.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Page;
