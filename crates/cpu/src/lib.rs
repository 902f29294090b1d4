//! The CPU backend: HLO to native code.

pub mod buffers;
pub mod liveness;
mod place;
pub mod plan;
