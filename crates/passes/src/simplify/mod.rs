//! Passes that make less of a module: what is dead, equal, wrapped or called is resolved.

pub mod all_reduce_combiner;
pub mod call_inliner;
pub mod flatten_call_graph;
pub mod hlo_constant_folding;
pub mod hlo_cse;
pub mod hlo_dce;
pub mod reshape_mover;
pub mod slice_hoister;
pub mod sort_simplifier;
pub mod transpose_folding;
pub mod tuple_simplifier;
pub mod zero_sized_hlo_elimination;
