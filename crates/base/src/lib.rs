//! What every other crate of rxla stands on: typed ids into arenas ([`Id`], [`Arena`],
//! [`SecondaryMap`]), diagnostics that point at source text ([`Diagnostic`], [`Span`]) and the
//! error type whose codes are PJRT's ([`Error`], [`Code`]), memory that changes hands ([`Memory`]),
//! threads that wait for work ([`crew`]), what they do with numbers that are subnormal
//! ([`subnormals`]) and records for files of our own ([`RecordWriter`]).
//!
//! Nothing here knows about tensors.

mod arena;
pub mod crew;
mod diagnostic;
mod error;
mod memory;
mod record;
pub mod subnormals;

pub use arena::{Arena, Id, SecondaryMap};
pub use diagnostic::{Diagnostic, Severity, Source, Span, render_all};
pub use error::{Code, Error, Result};
pub use memory::Memory;
pub use record::{RecordReader, RecordWriter};
