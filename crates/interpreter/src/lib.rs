//! The interpreter: HLO evaluated plainly, op by op, after StableHLO's specification.
//!
//! It is the oracle that compiled code is compared with, the evaluator behind constant folding,
//! and a backend of its own. It shares no numerics with the compiler.

pub mod elementwise;
