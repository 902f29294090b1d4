//! How each type of attribute is printed and parsed, side by side.

mod collective;
mod convolution;
mod named;
mod plain;
mod values;

use super::parse::{Failed, Parser};
use super::print::Printer;

/// How an attribute's value is written after `name=`.
pub trait AttributeText: Sized {
    /// Appends the value.
    fn print(&self, printer: &mut Printer<'_>);

    /// Reads a value. On failure a diagnostic has been recorded.
    fn parse(parser: &mut Parser<'_>) -> Result<Self, Failed>;

    /// Whether the value goes without saying although it is not the attribute's default.
    fn is_implied(&self) -> bool {
        false
    }
}
