//! Less of the same: constants folded, operations that do nothing or were done already left out,
//! what a loop does not change moved before it, what nobody needs removed.
//!
//! Everything here keeps every bit, the payloads of NaNs aside. Mathematical functions are not
//! folded, for compiled code computes its own approximations of them.

mod dead;
mod fold;
mod hoist;
mod rewrite;
#[cfg(test)]
mod tests;

pub use dead::remove_dead_code;
pub use hoist::hoist;
pub use rewrite::rewrite;

use crate::ir::Function;

/// Folding, common subexpressions, hoisting, dead code, in an order in which one round does most.
pub fn simplify(function: &mut Function) {
    rewrite(function);
    hoist(function);
    // What was hoisted out of several places is often the same.
    rewrite(function);
    remove_dead_code(function);
}
