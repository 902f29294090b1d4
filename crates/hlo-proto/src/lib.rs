//! XLA's protos, and conversions between them and the IR of `rxla-hlo`.

pub mod proto;

pub use prost::{DecodeError, Message};
