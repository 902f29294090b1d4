//! HLO text: reading and writing modules as XLA's dumps have them.
//!
//! [`parse`] reads everything that XLA's own parser reads, [`print`] writes what XLA's
//! `to_string` writes under the same switches. Names come out as XLA makes them: the first
//! instruction or computation of a name keeps it, later ones are numbered.
//!
//! The grammar: a file of the folder `parse` per subject, and `attributes` for the attributes of
//! ops, each type printed and parsed side by side. Which op has which attributes, in which order,
//! is not known here: that is the op table's.

mod attributes;
mod escape;
mod lexer;
mod nearest;
mod number;
mod parse;
mod parts;
mod print;

pub use attributes::AttributeText;
pub use parse::{MissingLayouts, ParseOptions, Parsed, parse};
pub use parts::*;
pub use print::{
    PrintOptions, PrintOrder, Subcomputations, print, print_instruction, print_program_shape,
    print_shape,
};
