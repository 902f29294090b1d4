//! The kernel IR: small typed loop nests between fused HLO and machine code.
//!
//! A [`Module`] is a list of [`Function`]s. A function is a tree: blocks of [`Statement`]s, some of
//! which (`for`, `if`, `while`) own blocks of their own. Values are SSA: each has one definition,
//! one [`Type`], and is visible from there to the end of its block and in the blocks inside.
//!
//! # Why it is like this
//!
//! Every operation is *total*: division by zero, shifts too far, conversions out of range have the
//! results that HLO gives them, so that the evaluator is a plain oracle and no transformation has to
//! ask whether it may move an operation. The only obligation on whoever builds kernels is that loads
//! and stores stay inside their buffers.
//!
//! Loops say how they may be run ([`LoopKind`]); the schedules turn such a mark into code
//! (`vector` becomes a main loop over lanes and a remainder), and the result is ordinary IR again
//! that prints, parses, verifies and evaluates to the same bits.
//!
//! Floating point is IEEE: nothing is fused, reassociated or flushed behind the program's back. A
//! loop marked `vector` whose carried value is a reduction may be reassociated, in an order that
//! depends on the loop's bounds alone; whoever marks it says that this is wanted.

pub mod builder;
pub mod evaluate;
pub mod ir;
pub mod maths;
mod names;
pub mod random;
pub mod schedule;
pub mod text;
pub mod types;
pub mod verify;
pub mod walk;

pub use builder::Builder;
pub use ir::{
    BinaryOp, Block, Carried, ComparePredicate, Convert, Function, FunctionId, Linkage, LoopKind,
    Module, Op, Parameter, Statement, UnaryOp, Value,
};
pub use types::{Scalar, Type};
pub use verify::verify;
