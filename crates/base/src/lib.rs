//! What every other crate of rxla stands on: typed ids into arenas ([`Id`], [`Arena`],
//! [`SecondaryMap`]), diagnostics that point at source text ([`Diagnostic`], [`Span`]) and the
//! error type whose codes are PJRT's ([`Error`], [`Code`]).
//!
//! Nothing here knows about tensors.

mod arena;
mod diagnostic;
mod error;

pub use arena::{Arena, Id, SecondaryMap};
pub use diagnostic::{Diagnostic, Severity, Source, Span, render_all};
pub use error::{Code, Error, Result};
