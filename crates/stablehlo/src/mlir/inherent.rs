//! Which attributes belong to an operation itself, and which of them may be absent.

use super::AttributeKind;

/// An attribute that an operation declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InherentAttribute {
    pub name: &'static str,
    /// Whether it may be absent, which then means a default or nothing.
    pub optional: bool,
}

/// The attributes that an operation of a known dialect declares, in order of name. `None` for an
/// unknown operation. VHLO's operations stand in [`crate::vhlo`].
pub fn inherent_attributes(
    operation: &str,
) -> Option<impl ExactSizeIterator<Item = InherentAttribute> + use<>> {
    let row = row(operation)?;
    Some(row.iter().map(|&name| match name.strip_suffix('?') {
        Some(name) => InherentAttribute { name, optional: true },
        None => InherentAttribute { name, optional: false },
    }))
}

/// Whether the attribute is declared by the operation or only travels with it.
pub fn attribute_kind(operation: &str, attribute: &str) -> AttributeKind {
    let declared = row(operation)
        .is_some_and(|row| row.iter().any(|name| name.trim_end_matches('?') == attribute));
    if declared { AttributeKind::Inherent } else { AttributeKind::Discardable }
}

fn row(operation: &str) -> Option<&'static [&'static str]> {
    let at = OPERATIONS.binary_search_by_key(&operation, |(name, _)| name).ok()?;
    Some(OPERATIONS[at].1)
}

/// Operations with their attributes; a question mark marks those that may be absent. Sorted.
#[rustfmt::skip]
static OPERATIONS: &[(&str, &[&str])] = &[
    ("builtin.module", &["sym_name?", "sym_visibility?"]),
    ("builtin.unrealized_conversion_cast", &[]),
    ("chlo._asin_acos_kernel", &[]),
    ("chlo.acos", &[]),
    ("chlo.acosh", &[]),
    ("chlo.asin", &[]),
    ("chlo.asinh", &[]),
    ("chlo.atan", &[]),
    ("chlo.atanh", &[]),
    ("chlo.bessel_i1e", &[]),
    ("chlo.broadcast_add", &["broadcast_dimensions?"]),
    ("chlo.broadcast_and", &["broadcast_dimensions?"]),
    ("chlo.broadcast_atan2", &["broadcast_dimensions?"]),
    ("chlo.broadcast_compare", &["broadcast_dimensions?", "compare_type?", "comparison_direction"]),
    ("chlo.broadcast_complex", &["broadcast_dimensions?"]),
    ("chlo.broadcast_divide", &["broadcast_dimensions?"]),
    ("chlo.broadcast_maximum", &["broadcast_dimensions?"]),
    ("chlo.broadcast_minimum", &["broadcast_dimensions?"]),
    ("chlo.broadcast_multiply", &["broadcast_dimensions?"]),
    ("chlo.broadcast_next_after", &["broadcast_dimensions?"]),
    ("chlo.broadcast_or", &["broadcast_dimensions?"]),
    ("chlo.broadcast_polygamma", &["broadcast_dimensions?"]),
    ("chlo.broadcast_power", &["broadcast_dimensions?"]),
    ("chlo.broadcast_remainder", &["broadcast_dimensions?"]),
    ("chlo.broadcast_select", &[]),
    ("chlo.broadcast_shift_left", &["broadcast_dimensions?"]),
    ("chlo.broadcast_shift_right_arithmetic", &["broadcast_dimensions?"]),
    ("chlo.broadcast_shift_right_logical", &["broadcast_dimensions?"]),
    ("chlo.broadcast_subtract", &["broadcast_dimensions?"]),
    ("chlo.broadcast_xor", &["broadcast_dimensions?"]),
    ("chlo.broadcast_zeta", &["broadcast_dimensions?"]),
    ("chlo.conj", &[]),
    ("chlo.constant", &["value"]),
    ("chlo.constant_like", &["value"]),
    ("chlo.cosh", &[]),
    ("chlo.digamma", &[]),
    ("chlo.erf", &[]),
    ("chlo.erf_inv", &[]),
    ("chlo.erfc", &[]),
    ("chlo.is_inf", &[]),
    ("chlo.is_neg_inf", &[]),
    ("chlo.is_pos_inf", &[]),
    ("chlo.lgamma", &[]),
    ("chlo.mulhi", &[]),
    ("chlo.next_after", &[]),
    ("chlo.polygamma", &[]),
    ("chlo.ragged_dot", &["precision_config?", "ragged_dot_dimension_numbers"]),
    ("chlo.sinh", &[]),
    ("chlo.square", &[]),
    ("chlo.tan", &[]),
    ("chlo.top_k", &["is_stable?", "k"]),
    ("chlo.zeta", &[]),
    ("func.call", &["arg_attrs?", "callee", "no_inline?", "res_attrs?"]),
    ("func.func", &["arg_attrs?", "function_type", "no_inline?", "res_attrs?", "sym_name", "sym_visibility?"]),
    ("func.return", &[]),
    ("sdy.all_gather", &["gathering_axes", "out_sharding"]),
    ("sdy.all_reduce", &["out_sharding", "reduction_axes", "reduction_op?"]),
    ("sdy.all_slice", &["out_sharding", "slicing_axes"]),
    ("sdy.all_to_all", &["out_sharding", "params"]),
    ("sdy.collective_permute", &["out_sharding"]),
    ("sdy.constant", &["value"]),
    ("sdy.data_flow_edge", &["sharding?"]),
    ("sdy.func_data_flow_edge", &[]),
    ("sdy.manual_computation", &["in_shardings", "manual_axes", "out_shardings"]),
    ("sdy.mesh", &["mesh", "sym_name"]),
    ("sdy.named_computation", &["in_shardings?", "name", "out_shardings?"]),
    ("sdy.propagation_barrier", &["allowed_direction"]),
    ("sdy.reduce_scatter", &["out_sharding", "reduce_scatter_axes", "reduction_op?"]),
    ("sdy.replicated_to_unreduced", &["axes", "out_sharding"]),
    ("sdy.reshard", &["sharding"]),
    ("sdy.return", &[]),
    ("sdy.sharded_to_unreduced", &["axes", "out_sharding"]),
    ("sdy.sharding_constraint", &["sharding"]),
    ("sdy.sharding_group", &["group_id"]),
    ("stablehlo.abs", &[]),
    ("stablehlo.add", &[]),
    ("stablehlo.after_all", &[]),
    ("stablehlo.all_gather", &["all_gather_dim", "channel_handle?", "replica_groups", "use_global_device_ids?"]),
    ("stablehlo.all_reduce", &["channel_handle?", "replica_groups", "use_global_device_ids?"]),
    ("stablehlo.all_to_all", &["channel_handle?", "concat_dimension", "replica_groups", "split_count", "split_dimension"]),
    ("stablehlo.and", &[]),
    ("stablehlo.async_done", &[]),
    ("stablehlo.async_start", &[]),
    ("stablehlo.atan2", &[]),
    ("stablehlo.batch_norm_grad", &["epsilon", "feature_index"]),
    ("stablehlo.batch_norm_inference", &["epsilon", "feature_index"]),
    ("stablehlo.batch_norm_training", &["epsilon", "feature_index"]),
    ("stablehlo.bitcast_convert", &[]),
    ("stablehlo.broadcast", &["broadcast_sizes"]),
    ("stablehlo.broadcast_in_dim", &["broadcast_dimensions"]),
    ("stablehlo.case", &[]),
    ("stablehlo.cbrt", &["result_accuracy?"]),
    ("stablehlo.ceil", &[]),
    ("stablehlo.cholesky", &["lower?"]),
    ("stablehlo.clamp", &[]),
    ("stablehlo.collective_broadcast", &["channel_handle?", "has_dynamic_root?", "replica_groups"]),
    ("stablehlo.collective_permute", &["channel_handle?", "source_target_pairs"]),
    ("stablehlo.collective_reduce", &["channel_handle?", "has_dynamic_root?", "replica_groups", "use_global_device_ids?"]),
    ("stablehlo.compare", &["compare_type?", "comparison_direction"]),
    ("stablehlo.complex", &[]),
    ("stablehlo.composite", &["composite_attributes?", "decomposition", "name", "version?"]),
    ("stablehlo.concatenate", &["dimension"]),
    ("stablehlo.constant", &["value"]),
    ("stablehlo.convert", &[]),
    ("stablehlo.convolution", &["batch_group_count", "dimension_numbers", "feature_group_count", "lhs_dilation?", "padding?", "precision_config?", "rhs_dilation?", "window_reversal?", "window_strides?"]),
    ("stablehlo.cosine", &["result_accuracy?"]),
    ("stablehlo.count_leading_zeros", &[]),
    ("stablehlo.create_token", &[]),
    ("stablehlo.cross-replica-sum", &["replica_groups"]),
    ("stablehlo.custom_call", &["api_version?", "backend_config?", "call_target_name", "called_computations?", "has_side_effect?", "operand_layouts?", "output_operand_aliases?", "result_layouts?", "result_tilings?"]),
    ("stablehlo.divide", &[]),
    ("stablehlo.dot", &["precision_config?"]),
    ("stablehlo.dot_general", &["algorithm?", "dot_dimension_numbers", "precision_config?"]),
    ("stablehlo.dynamic_broadcast_in_dim", &["broadcast_dimensions", "known_expanding_dimensions?", "known_nonexpanding_dimensions?"]),
    ("stablehlo.dynamic_conv", &["batch_group_count", "dimension_numbers", "feature_group_count", "lhs_dilation?", "precision_config?", "rhs_dilation?", "window_reversal?", "window_strides?"]),
    ("stablehlo.dynamic_gather", &["dimension_numbers", "indices_are_sorted?"]),
    ("stablehlo.dynamic_iota", &["iota_dimension"]),
    ("stablehlo.dynamic_pad", &[]),
    ("stablehlo.dynamic_reshape", &[]),
    ("stablehlo.dynamic_slice", &["slice_sizes"]),
    ("stablehlo.dynamic_update_slice", &[]),
    ("stablehlo.einsum", &["einsum_config"]),
    ("stablehlo.exponential", &["result_accuracy?"]),
    ("stablehlo.exponential_minus_one", &["result_accuracy?"]),
    ("stablehlo.fft", &["fft_length", "fft_type"]),
    ("stablehlo.floor", &[]),
    ("stablehlo.gather", &["dimension_numbers", "indices_are_sorted?", "slice_sizes"]),
    ("stablehlo.get_dimension_size", &["dimension"]),
    ("stablehlo.get_tuple_element", &["index"]),
    ("stablehlo.if", &[]),
    ("stablehlo.imag", &[]),
    ("stablehlo.infeed", &["infeed_config?", "layout?"]),
    ("stablehlo.iota", &["iota_dimension"]),
    ("stablehlo.is_finite", &[]),
    ("stablehlo.log", &["result_accuracy?"]),
    ("stablehlo.log_plus_one", &["result_accuracy?"]),
    ("stablehlo.logistic", &["result_accuracy?"]),
    ("stablehlo.map", &["dimensions"]),
    ("stablehlo.maximum", &[]),
    ("stablehlo.minimum", &[]),
    ("stablehlo.multiply", &[]),
    ("stablehlo.negate", &[]),
    ("stablehlo.not", &[]),
    ("stablehlo.optimization_barrier", &[]),
    ("stablehlo.or", &[]),
    ("stablehlo.outfeed", &["outfeed_config?"]),
    ("stablehlo.pad", &["edge_padding_high", "edge_padding_low", "interior_padding"]),
    ("stablehlo.partition_id", &[]),
    ("stablehlo.popcnt", &[]),
    ("stablehlo.power", &[]),
    ("stablehlo.real", &[]),
    ("stablehlo.real_dynamic_slice", &[]),
    ("stablehlo.recv", &["channel_handle", "is_host_transfer?", "source_target_pairs?"]),
    ("stablehlo.reduce", &["dimensions"]),
    ("stablehlo.reduce_precision", &["exponent_bits", "mantissa_bits"]),
    ("stablehlo.reduce_scatter", &["channel_handle?", "replica_groups", "scatter_dimension", "use_global_device_ids?"]),
    ("stablehlo.reduce_window", &["base_dilations?", "padding?", "window_dilations?", "window_dimensions", "window_strides?"]),
    ("stablehlo.remainder", &[]),
    ("stablehlo.replica_id", &[]),
    ("stablehlo.reshape", &[]),
    ("stablehlo.return", &[]),
    ("stablehlo.reverse", &["dimensions"]),
    ("stablehlo.rng", &["rng_distribution"]),
    ("stablehlo.rng_bit_generator", &["rng_algorithm"]),
    ("stablehlo.round_nearest_afz", &[]),
    ("stablehlo.round_nearest_even", &[]),
    ("stablehlo.rsqrt", &["result_accuracy?"]),
    ("stablehlo.scatter", &["indices_are_sorted?", "scatter_dimension_numbers", "unique_indices?"]),
    ("stablehlo.select", &[]),
    ("stablehlo.select_and_scatter", &["padding?", "window_dimensions?", "window_strides?"]),
    ("stablehlo.send", &["channel_handle", "is_host_transfer?", "source_target_pairs?"]),
    ("stablehlo.set_dimension_size", &["dimension"]),
    ("stablehlo.shift_left", &[]),
    ("stablehlo.shift_right_arithmetic", &[]),
    ("stablehlo.shift_right_logical", &[]),
    ("stablehlo.sign", &[]),
    ("stablehlo.sine", &["result_accuracy?"]),
    ("stablehlo.slice", &["limit_indices", "start_indices", "strides"]),
    ("stablehlo.sort", &["dimension?", "is_stable?"]),
    ("stablehlo.sqrt", &["result_accuracy?"]),
    ("stablehlo.subtract", &[]),
    ("stablehlo.tan", &["result_accuracy?"]),
    ("stablehlo.tanh", &["result_accuracy?"]),
    ("stablehlo.torch_index_select", &["batch_dims", "dim"]),
    ("stablehlo.transpose", &["permutation"]),
    ("stablehlo.triangular_solve", &["left_side", "lower", "transpose_a", "unit_diagonal"]),
    ("stablehlo.tuple", &[]),
    ("stablehlo.unary_einsum", &["einsum_config"]),
    ("stablehlo.uniform_dequantize", &[]),
    ("stablehlo.uniform_quantize", &[]),
    ("stablehlo.while", &[]),
    ("stablehlo.xor", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPERATIONS.is_sorted_by_key(|(name, _)| name));
        for (_, names) in OPERATIONS {
            assert!(names.is_sorted_by_key(|name| name.trim_end_matches('?')));
        }
    }

    #[test]
    fn kinds() {
        assert_eq!(
            attribute_kind("stablehlo.all_gather", "channel_handle"),
            AttributeKind::Inherent
        );
        assert_eq!(attribute_kind("stablehlo.add", "mhlo.sharding"), AttributeKind::Discardable);
        assert_eq!(inherent_attributes("stablehlo.add").unwrap().len(), 0);
        assert!(inherent_attributes("nobody.knows").is_none());
    }
}
