//! Kernel IR as text, both ways.
//!
//! ```text
//! kernel @scale(%0: ptr noalias align(64), %1: ptr noalias align(64), %2: i64) {
//!   %3: i64 = constant 0
//!   %4: f32 = constant 2.0
//!   for vector %5 in %3..%2 step 1 {
//!     %6: f32 = load %0[%5]
//!     %7: f32 = mul %6, %4
//!     store %1[%5], %7
//!   }
//! }
//! ```
//!
//! Printing numbers values in the order in which the text defines them, so the text of a function
//! does not depend on how it came about and can name it in a cache. Parsing accepts any names for
//! values, numbers or words. What was parsed prints as it was printed.

mod lexer;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use parse::parse;
pub(crate) use print::head;
