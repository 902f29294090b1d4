//! Every pass with its default options, one line each, and every pipeline by name.

use rxla_hlo::ElementType;

use crate::pass::Pass;
use crate::pipeline::{self, Pipeline};
use crate::{algebraic, canonicalize, control, simplify, tiling};

/// All passes, sorted by name.
pub const ALL: &[&dyn Pass] = &[
    &algebraic::AlgebraicSimplifier,
    &simplify::all_reduce_combiner::AllReduceCombiner::DEFAULT,
    &canonicalize::batch_dot_simplification::BatchDotSimplification,
    &canonicalize::batchnorm_expander::BatchNormExpander,
    &canonicalize::broadcast_canonicalizer::BroadcastCanonicalizer,
    &simplify::call_inliner::CallInliner,
    &simplify::hlo_constant_folding::HloConstantFolding,
    &canonicalize::convolution_stencil::ConvolutionStencil,
    &simplify::hlo_cse::HloCse,
    &canonicalize::optimization_barrier_expander::OptimizationBarrierExpander,
    &simplify::hlo_dce::HloDce,
    &tiling::DotChainTiling,
    &canonicalize::dot_strength_reduction::DotStrengthReduction,
    &canonicalize::dot_decomposer::DotDecomposer,
    &canonicalize::hlo_element_type_converter::HloElementTypeConverter {
        eliminate: ElementType::Bf16,
        replace_with: ElementType::F32,
    },
    &simplify::flatten_call_graph::FlattenCallGraph,
    &canonicalize::logistic_expander::LogisticExpander,
    &canonicalize::map_inliner::MapInliner,
    &canonicalize::quantized_dot_rewriter::QuantizedDotRewriter,
    &canonicalize::reshape_decomposer::ReshapeDecomposer,
    &simplify::reshape_mover::ReshapeMover,
    &canonicalize::rng_bit_generator_expander::RngBitGeneratorExpander,
    &canonicalize::rng_expander::RngExpander,
    &canonicalize::select_and_scatter_expander::SelectAndScatterExpander,
    &control::conditional_simplifier::ConditionalSimplifier,
    &simplify::sort_simplifier::SortSimplifier,
    &control::while_loop_simplifier::WhileLoopSimplifier,
    &simplify::slice_hoister::SliceHoister,
    &canonicalize::softmax_divide_sinking::SoftmaxDivideSinking,
    &canonicalize::sparse_update_rewriter::SparseUpdateRewriter,
    &canonicalize::topk_decomposer::TopkDecomposer,
    &simplify::transpose_folding::TransposeFolding,
    &canonicalize::tree_reduction_rewriter::TreeReductionRewriter,
    &simplify::tuple_simplifier::TupleSimplifier,
    &canonicalize::uniform_quantization_expander::UniformQuantizationExpander,
    &control::while_loop_constant_sinking::WhileLoopConstantSinking,
    &control::while_loop_dot_motion::WhileLoopDotMotion,
    &control::while_loop_invariant_code_motion::WhileLoopInvariantCodeMotion,
    &control::while_loop_operand_turning::WhileLoopOperandTurning,
    &tiling::while_loop_row_tiling::WhileLoopRowTiling,
    &control::while_loop_unroller::WhileLoopUnroller,
    &simplify::zero_sized_hlo_elimination::ZeroSizedHloElimination,
];

/// A pipeline that can be built without options.
pub struct NamedPipeline {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn() -> Pipeline,
}

pub const PIPELINES: &[NamedPipeline] = &[
    NamedPipeline {
        name: "simplify",
        about: "Calls inlined, then all simplifications to a fixpoint",
        build: pipeline::simplify,
    },
    NamedPipeline {
        name: "cpu",
        about: "What the CPU backend does before layouts and fusion",
        build: pipeline::cpu,
    },
];

/// A pass by XLA's name for it or for its class.
pub fn lookup(name: &str) -> Option<&'static dyn Pass> {
    ALL.iter().copied().find(|pass| pass.name() == name || pass.class() == name)
}

pub fn pipeline_by_name(name: &str) -> Option<Pipeline> {
    PIPELINES.iter().find(|pipeline| pipeline.name == name).map(|pipeline| (pipeline.build)())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_sorted_and_found() {
        let names: Vec<&str> = ALL.iter().map(|pass| pass.name()).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        for pass in ALL {
            assert_eq!(lookup(pass.name()).map(|p| p.name()), Some(pass.name()));
            assert_eq!(lookup(pass.class()).map(|p| p.name()), Some(pass.name()));
        }
        assert!(lookup("no-such-pass").is_none());
    }

    #[test]
    fn pipelines_are_found_by_their_name() {
        for named in PIPELINES {
            assert_eq!(pipeline_by_name(named.name).map(|p| p.name), Some(named.name));
        }
    }
}
