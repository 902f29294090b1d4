//! Passes: HLO to HLO.
//!
//! A pass is one file (or folder) and one line in [`ALL`]; its tests are modules with the text they
//! become, under `tests/hlo/passes/`. [`pipeline`] puts passes in order and says why in that order;
//! [`run`] runs them, checks between them, counts and times them, and can stop after so many
//! rewrites, which finds a bad one by bisection. Most passes are tables of rules over
//! [`rewrite`]: named functions with their equation, which look at the graph through [`view`].
//!
//! # What no pass may do
//!
//! Change a result. Integers stay exact; floats keep what IEEE 754 says of each operation, signed
//! zeros, infinities and that a NaN is one (not which). Nothing is reassociated, nothing contracted,
//! and nothing becomes less precise. Passes look at the module and at nothing else, and no order of a hash map
//! reaches what they make.

pub mod algebraic;
pub mod canonicalize;
pub mod control;
mod effects;
mod pass;
pub mod pipeline;
pub mod planted;
mod registry;
pub mod rewrite;
mod runner;
pub mod simplify;
pub mod tiling;
pub mod view;

pub use effects::{Effects, unfused_computations};
pub use pass::{Context, Pass};
pub use pipeline::{Pipeline, Step};
pub use registry::{ALL, PIPELINES, lookup, pipeline_by_name};
pub use runner::{Event, Moment, PassReport, Report, RunOptions, Verify, run};
