//! What differs between two modules, whatever things are called and in whatever order they stand.
//!
//! [`compare`] pairs the instructions of two [`Graph`]s and says what is left over or differs within
//! a pair. Structure decides first: what computes the same from the same and is used alike is the same
//! instruction (`classes.rs`). What a change touches is paired by its neighbours, then by name
//! (`pairs.rs`). An instruction is changed if its op, shape, attributes or computations are others, or an
//! operand is not the one that its partner has. Names, and the order of instructions and computations,
//! are never a difference.
//!
//! Two modules that are one graph under other names are always found to be the same, but where
//! instructions that nobody uses are alike; and what is said to be the same is, since every pair is checked.

mod classes;
mod compare;
mod graph;
mod pairs;
mod text;

pub use compare::{Change, Changed, Difference, compare};
pub use graph::{Computation, Details, Graph, Node};
pub use text::{Detail, show};
