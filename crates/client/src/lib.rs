//! The client API of rxla: devices, buffers, programs.

mod buffer;
mod device;
mod event;
pub mod strided;

pub use buffer::Buffer;
pub use device::{Device, Memory, MemoryKind, MemoryStats, MemoryUsage};
pub use event::Event;
pub use rxla_base::{Code, Error, Result};
pub use rxla_hlo as hlo;
