//! Flags: those of XLA's that people know, and our own, in one table ([`table`]).
//!
//! Whoever may read the environment (the command, the plugin) parses text with [`Flags::read`] and
//! passes the typed [`Flags`] down; nothing here reads anything. A mistake in a flag never fails
//! anything: it comes back as a [`Warning`], with the name that was probably meant.

mod docs;
mod nearest;
mod parse;
mod table;
mod value;
mod variable;

pub use docs::markdown;
pub use nearest::{is_option, is_xla_option, nearest};
pub use parse::{Mistake, Warning};
pub use table::{Flags, ROWS};
pub use value::{Plant, Value};

/// What a flag is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// What is written about compilations and runs; never changes what is compiled.
    Reports,
    /// The code that comes out.
    Code,
    /// The client that is made.
    Client,
}

/// What there is to say of a flag.
pub struct Row {
    pub name: &'static str,
    /// Such as `bool`.
    pub value_type: &'static str,
    /// As text.
    pub default: fn() -> String,
    pub area: Area,
    pub help: &'static str,
    pub(crate) set: fn(&mut Flags, &str) -> Result<(), String>,
    pub(crate) get: fn(&Flags) -> String,
}
