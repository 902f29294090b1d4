//! Passes that make less of a module: what is dead, equal, wrapped or called is resolved.

pub mod call_inliner;
pub mod flatten_call_graph;
pub mod hlo_constant_folding;
pub mod hlo_cse;
pub mod hlo_dce;
pub mod tuple_simplifier;
