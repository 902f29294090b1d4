//! Passes that bring ops into the few forms that what comes after is written for.

pub mod batch_dot_simplification;
pub mod batchnorm_expander;
pub mod broadcast_canonicalizer;
pub mod dot_decomposer;
pub mod map_inliner;
pub mod optimization_barrier_expander;
pub mod topk_decomposer;
pub mod tree_reduction_rewriter;
