//! Passes that bring ops into the few forms that what comes after is written for.

pub mod batch_dot_simplification;
pub mod batchnorm_expander;
pub mod broadcast_canonicalizer;
pub mod convolution_stencil;
mod dequantized;
pub mod dot_decomposer;
pub mod dot_strength_reduction;
pub mod hlo_element_type_converter;
pub mod logistic_expander;
pub mod map_inliner;
pub mod optimization_barrier_expander;
pub mod quantized_dot_rewriter;
pub mod reshape_decomposer;
pub mod rng_bit_generator_expander;
pub mod rng_expander;
pub mod select_and_scatter_expander;
pub mod softmax_divide_sinking;
pub mod sparse_update_rewriter;
pub mod topk_decomposer;
pub mod tree_reduction_rewriter;
pub mod uniform_quantization_expander;
