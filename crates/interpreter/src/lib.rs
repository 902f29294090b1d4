//! The interpreter: HLO evaluated plainly, op by op, after StableHLO's specification.
//!
//! It is the oracle that compiled code is compared with, the evaluator behind constant folding,
//! and a backend of its own. It shares no numerics with the compiler.
//!
//! # How a module runs
//!
//! Values are [`Literal`]s: dense, row-major, without layout, of the size they actually have (a
//! dynamic dimension is as long as its value). A computation is planned once: the order of its
//! instructions and the last use of each value. At its last use a value is moved, so that an op
//! which overwrites (`dynamic-update-slice`, `scatter`, elementwise ops) does so in place when
//! nobody else holds the storage; a loop's state moves from step to step.
//!
//! # Order of sums
//!
//! Results depend on shapes and values only. Reductions with a recognised function run as a fixed
//! tree along contiguous runs and in memory order across them, `f16`, `bf16` and smaller floats in
//! `f32`; other reducers combine neighbours pairwise. Dots and convolutions sum along the
//! contracted index from its start, narrow types in `f32` or `s32`. Windows are combined in
//! row-major order and scatter's updates in the order in which they stand, rounding narrow floats
//! at each step.

mod batch_norm;
mod collective;
mod comparator;
mod context;
mod control;
mod convolution;
mod custom_call;
mod decompositions;
mod dispatch;
mod dot;
mod dynamic_slice;
pub mod elementwise;
mod fft;
mod gather;
mod layer_norm;
mod lift;
mod linear;
mod matmul;
mod movement;
mod options;
mod plan;
pub mod quantize;
mod ragged_dot;
mod reduce;
mod reducer;
mod rng;
mod run;
mod scan;
mod scatter;
mod sort;
mod strided;
#[cfg(test)]
mod tests;
mod window;

pub use collective::{Group, Places};
pub use options::{CustomCallRequest, CustomCalls, DeviceId, Host, Options};
pub use run::{Interpreter, Part, Session, evaluate, evaluate_instruction, evaluate_spmd};

#[cfg(doc)]
use rxla_hlo::Literal;
