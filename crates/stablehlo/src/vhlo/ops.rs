//! Every versioned operation of VHLO with the versions that have it and its attributes, from
//! `stablehlo/dialect/VhloOps.td`.

use super::Version;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct VersionedOp {
    /// Without dialect: `add_v1`.
    pub name: &'static str,
    /// First and last version of VHLO that have it.
    pub since: Version,
    pub until: Version,
    /// Names of its attributes, all of which it must have, sorted.
    pub attributes: &'static [&'static str],
}

impl VersionedOp {
    /// `add` of `add_v1`.
    pub fn base(&self) -> &'static str {
        self.name.rsplit_once("_v").map_or(self.name, |(base, _)| base)
    }
}

/// The row of an operation, whose name is given without dialect.
pub fn versioned_op(name: &str) -> Option<&'static VersionedOp> {
    let at = OPERATIONS.binary_search_by_key(&name, |row| row.name).ok()?;
    Some(&OPERATIONS[at])
}

/// The row of the operation with this base name that a version has.
pub fn op_at_version(base: &str, version: Version) -> Option<&'static VersionedOp> {
    OPERATIONS.iter().find(|row| row.base() == base && row.since <= version && version <= row.until)
}

const CURRENT: Version = Version::CURRENT;

const fn row(
    name: &'static str,
    since: Version,
    until: Version,
    attributes: &'static [&'static str],
) -> VersionedOp {
    VersionedOp { name, since, until, attributes }
}

#[rustfmt::skip]
static OPERATIONS: &[VersionedOp] = &[
    row("abs_v1", Version::new(0, 9), CURRENT, &[]),
    row("add_v1", Version::new(0, 9), CURRENT, &[]),
    row("after_all_v1", Version::new(0, 9), CURRENT, &[]),
    row("all_gather_v1", Version::new(0, 9), Version::new(1, 4), &["all_gather_dim", "channel_id", "replica_groups", "use_global_device_ids"]),
    row("all_gather_v2", Version::new(1, 5), CURRENT, &["all_gather_dim", "channel_id", "replica_groups", "use_global_device_ids"]),
    row("all_reduce_v1", Version::new(0, 9), Version::new(1, 4), &["channel_id", "replica_groups", "use_global_device_ids"]),
    row("all_reduce_v2", Version::new(1, 5), CURRENT, &["channel_id", "replica_groups", "use_global_device_ids"]),
    row("all_to_all_v1", Version::new(0, 9), Version::new(1, 4), &["channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"]),
    row("all_to_all_v2", Version::new(1, 5), CURRENT, &["channel_id", "concat_dimension", "replica_groups", "split_count", "split_dimension"]),
    row("and_v1", Version::new(0, 9), CURRENT, &[]),
    row("async_done_v1", Version::new(1, 15), CURRENT, &[]),
    row("async_start_v1", Version::new(1, 15), CURRENT, &[]),
    row("atan2_v1", Version::new(0, 9), CURRENT, &[]),
    row("batch_norm_grad_v1", Version::new(0, 9), CURRENT, &["epsilon", "feature_index"]),
    row("batch_norm_inference_v1", Version::new(0, 9), CURRENT, &["epsilon", "feature_index"]),
    row("batch_norm_training_v1", Version::new(0, 9), CURRENT, &["epsilon", "feature_index"]),
    row("bitcast_convert_v1", Version::new(0, 9), CURRENT, &[]),
    row("broadcast_in_dim_v1", Version::new(0, 9), CURRENT, &["broadcast_dimensions"]),
    row("broadcast_v1", Version::new(0, 9), CURRENT, &["broadcast_sizes"]),
    row("call_v1", Version::new(0, 9), CURRENT, &["callee"]),
    row("case_v1", Version::new(0, 9), CURRENT, &[]),
    row("cbrt_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("cbrt_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("ceil_v1", Version::new(0, 9), CURRENT, &[]),
    row("cholesky_v1", Version::new(0, 9), CURRENT, &["lower"]),
    row("clamp_v1", Version::new(0, 9), CURRENT, &[]),
    row("collective_broadcast_v1", Version::new(0, 16), Version::new(1, 19), &["channel_id", "replica_groups"]),
    row("collective_broadcast_v2", Version::new(1, 20), CURRENT, &["channel_id", "has_dynamic_root", "replica_groups"]),
    row("collective_permute_v1", Version::new(0, 9), CURRENT, &["channel_id", "source_target_pairs"]),
    row("collective_reduce_v1", Version::new(1, 19), CURRENT, &["channel_id", "has_dynamic_root", "replica_groups", "use_global_device_ids"]),
    row("compare_v1", Version::new(0, 9), CURRENT, &["compare_type", "comparison_direction"]),
    row("complex_v1", Version::new(0, 9), CURRENT, &[]),
    row("composite_v1", Version::new(0, 19), Version::new(1, 13), &["composite_attributes", "decomposition", "name", "version"]),
    row("composite_v2", Version::new(1, 14), CURRENT, &["composite_attributes", "decomposition", "name", "version"]),
    row("concatenate_v1", Version::new(0, 9), CURRENT, &["dimension"]),
    row("constant_v1", Version::new(0, 9), CURRENT, &["value"]),
    row("convert_v1", Version::new(0, 9), CURRENT, &[]),
    row("convolution_v1", Version::new(0, 9), CURRENT, &["batch_group_count", "feature_group_count", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "padding", "precision_config", "rhs_dilation", "window_reversal", "window_strides"]),
    row("cosine_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("cosine_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("count_leading_zeros_v1", Version::new(0, 9), CURRENT, &[]),
    row("create_token_v1", Version::new(0, 9), CURRENT, &[]),
    row("cross-replica-sum_v1", Version::new(0, 9), CURRENT, &["replica_groups"]),
    row("custom_call_v1", Version::new(0, 9), Version::new(1, 17), &["api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect", "operand_layouts", "output_operand_aliases", "result_layouts"]),
    row("custom_call_v2", Version::new(1, 18), CURRENT, &["api_version", "backend_config", "call_target_name", "called_computations", "has_side_effect", "operand_layouts", "output_operand_aliases", "result_layouts", "result_tilings"]),
    row("divide_v1", Version::new(0, 9), CURRENT, &[]),
    row("dot_general_v1", Version::new(0, 9), Version::new(1, 5), &["lhs_batching_dimensions", "lhs_contracting_dimensions", "precision_config", "rhs_batching_dimensions", "rhs_contracting_dimensions"]),
    row("dot_general_v2", Version::new(1, 6), CURRENT, &["accumulation_type", "allow_imprecise_accumulation", "lhs_batching_dimensions", "lhs_component_count", "lhs_contracting_dimensions", "lhs_precision_type", "num_primitive_operations", "precision_config", "rhs_batching_dimensions", "rhs_component_count", "rhs_contracting_dimensions", "rhs_precision_type"]),
    row("dot_v1", Version::new(0, 9), CURRENT, &["precision_config"]),
    row("dynamic_broadcast_in_dim_v1", Version::new(0, 9), CURRENT, &["broadcast_dimensions", "known_expanding_dimensions", "known_nonexpanding_dimensions"]),
    row("dynamic_conv_v1", Version::new(0, 9), Version::new(0, 19), &["batch_group_count", "feature_group_count", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "padding", "precision_config", "rhs_dilation", "window_reversal", "window_strides"]),
    row("dynamic_conv_v2", Version::new(0, 20), CURRENT, &["batch_group_count", "feature_group_count", "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions", "lhs_dilation", "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", "precision_config", "rhs_dilation", "window_reversal", "window_strides"]),
    row("dynamic_gather_v1", Version::new(0, 9), Version::new(1, 0), &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "start_index_map"]),
    row("dynamic_gather_v2", Version::new(1, 1), CURRENT, &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "operand_batching_dims", "start_index_map", "start_indices_batching_dims"]),
    row("dynamic_iota_v1", Version::new(0, 9), CURRENT, &["iota_dimension"]),
    row("dynamic_pad_v1", Version::new(0, 9), CURRENT, &[]),
    row("dynamic_reshape_v1", Version::new(0, 9), CURRENT, &[]),
    row("dynamic_slice_v1", Version::new(0, 9), CURRENT, &["slice_sizes"]),
    row("dynamic_update_slice_v1", Version::new(0, 9), CURRENT, &[]),
    row("einsum_v1", Version::new(0, 9), CURRENT, &["einsum_config"]),
    row("exponential_minus_one_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("exponential_minus_one_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("exponential_v1", Version::new(0, 9), Version::new(1, 8), &[]),
    row("exponential_v2", Version::new(1, 9), CURRENT, &["result_accuracy"]),
    row("fft_v1", Version::new(0, 9), CURRENT, &["fft_length", "fft_type"]),
    row("floor_v1", Version::new(0, 9), CURRENT, &[]),
    row("func_v1", Version::new(0, 9), CURRENT, &["arg_attrs", "function_type", "res_attrs", "sym_name", "sym_visibility"]),
    row("gather_v1", Version::new(0, 9), Version::new(1, 0), &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "slice_sizes", "start_index_map"]),
    row("gather_v2", Version::new(1, 1), CURRENT, &["collapsed_slice_dims", "index_vector_dim", "indices_are_sorted", "offset_dims", "operand_batching_dims", "slice_sizes", "start_index_map", "start_indices_batching_dims"]),
    row("get_dimension_size_v1", Version::new(0, 9), CURRENT, &["dimension"]),
    row("get_tuple_element_v1", Version::new(0, 9), CURRENT, &["index"]),
    row("if_v1", Version::new(0, 9), CURRENT, &[]),
    row("imag_v1", Version::new(0, 9), CURRENT, &[]),
    row("infeed_v1", Version::new(0, 9), CURRENT, &["infeed_config", "layout"]),
    row("iota_v1", Version::new(0, 9), CURRENT, &["iota_dimension"]),
    row("is_finite_v1", Version::new(0, 9), CURRENT, &[]),
    row("log_plus_one_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("log_plus_one_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("log_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("log_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("logistic_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("logistic_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("map_v1", Version::new(0, 9), CURRENT, &["dimensions"]),
    row("maximum_v1", Version::new(0, 9), CURRENT, &[]),
    row("minimum_v1", Version::new(0, 9), CURRENT, &[]),
    row("multiply_v1", Version::new(0, 9), CURRENT, &[]),
    row("negate_v1", Version::new(0, 9), CURRENT, &[]),
    row("not_v1", Version::new(0, 9), CURRENT, &[]),
    row("optimization_barrier_v1", Version::new(0, 9), CURRENT, &[]),
    row("or_v1", Version::new(0, 9), CURRENT, &[]),
    row("outfeed_v1", Version::new(0, 9), CURRENT, &["outfeed_config"]),
    row("pad_v1", Version::new(0, 9), CURRENT, &["edge_padding_high", "edge_padding_low", "interior_padding"]),
    row("partition_id_v1", Version::new(0, 9), CURRENT, &[]),
    row("popcnt_v1", Version::new(0, 9), CURRENT, &[]),
    row("power_v1", Version::new(0, 9), CURRENT, &[]),
    row("real_dynamic_slice_v1", Version::new(0, 9), CURRENT, &[]),
    row("real_v1", Version::new(0, 9), CURRENT, &[]),
    row("recv_v1", Version::new(0, 9), Version::new(1, 11), &["channel_id", "channel_type", "is_host_transfer"]),
    row("recv_v2", Version::new(1, 12), CURRENT, &["channel_id", "channel_type", "is_host_transfer", "source_target_pairs"]),
    row("reduce_precision_v1", Version::new(0, 9), CURRENT, &["exponent_bits", "mantissa_bits"]),
    row("reduce_scatter_v1", Version::new(0, 9), CURRENT, &["channel_id", "replica_groups", "scatter_dimension", "use_global_device_ids"]),
    row("reduce_v1", Version::new(0, 9), CURRENT, &["dimensions"]),
    row("reduce_window_v1", Version::new(0, 9), CURRENT, &["base_dilations", "padding", "window_dilations", "window_dimensions", "window_strides"]),
    row("remainder_v1", Version::new(0, 9), CURRENT, &[]),
    row("replica_id_v1", Version::new(0, 9), CURRENT, &[]),
    row("reshape_v1", Version::new(0, 9), CURRENT, &[]),
    row("return_v1", Version::new(0, 9), CURRENT, &[]),
    row("reverse_v1", Version::new(0, 9), CURRENT, &["dimensions"]),
    row("rng_bit_generator_v1", Version::new(0, 9), CURRENT, &["rng_algorithm"]),
    row("rng_v1", Version::new(0, 9), CURRENT, &["rng_distribution"]),
    row("round_nearest_afz_v1", Version::new(0, 9), CURRENT, &[]),
    row("round_nearest_even_v1", Version::new(0, 9), CURRENT, &[]),
    row("rsqrt_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("rsqrt_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("scatter_v1", Version::new(0, 9), Version::new(1, 0), &["index_vector_dim", "indices_are_sorted", "inserted_window_dims", "scatter_dims_to_operand_dims", "unique_indices", "update_window_dims"]),
    row("scatter_v2", Version::new(1, 1), CURRENT, &["index_vector_dim", "indices_are_sorted", "input_batching_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "scatter_indices_batching_dims", "unique_indices", "update_window_dims"]),
    row("select_and_scatter_v1", Version::new(0, 9), CURRENT, &["padding", "window_dimensions", "window_strides"]),
    row("select_v1", Version::new(0, 9), CURRENT, &[]),
    row("send_v1", Version::new(0, 9), Version::new(1, 11), &["channel_id", "channel_type", "is_host_transfer"]),
    row("send_v2", Version::new(1, 12), CURRENT, &["channel_id", "channel_type", "is_host_transfer", "source_target_pairs"]),
    row("set_dimension_size_v1", Version::new(0, 9), CURRENT, &["dimension"]),
    row("shift_left_v1", Version::new(0, 9), CURRENT, &[]),
    row("shift_right_arithmetic_v1", Version::new(0, 9), CURRENT, &[]),
    row("shift_right_logical_v1", Version::new(0, 9), CURRENT, &[]),
    row("sign_v1", Version::new(0, 9), CURRENT, &[]),
    row("sine_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("sine_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("slice_v1", Version::new(0, 9), CURRENT, &["limit_indices", "start_indices", "strides"]),
    row("sort_v1", Version::new(0, 9), CURRENT, &["dimension", "is_stable"]),
    row("sqrt_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("sqrt_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("subtract_v1", Version::new(0, 9), CURRENT, &[]),
    row("tan_v1", Version::new(1, 4), Version::new(1, 9), &[]),
    row("tan_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("tanh_v1", Version::new(0, 9), Version::new(1, 9), &[]),
    row("tanh_v2", Version::new(1, 10), CURRENT, &["result_accuracy"]),
    row("torch_index_select_v1", Version::new(0, 9), CURRENT, &["batch_dims", "dim"]),
    row("transpose_v1", Version::new(0, 9), CURRENT, &["permutation"]),
    row("triangular_solve_v1", Version::new(0, 9), CURRENT, &["left_side", "lower", "transpose_a", "unit_diagonal"]),
    row("tuple_v1", Version::new(0, 9), CURRENT, &[]),
    row("unary_einsum_v1", Version::new(0, 9), CURRENT, &["einsum_config"]),
    row("uniform_dequantize_v1", Version::new(0, 9), CURRENT, &[]),
    row("uniform_quantize_v1", Version::new(0, 9), CURRENT, &[]),
    row("while_v1", Version::new(0, 9), CURRENT, &[]),
    row("xor_v1", Version::new(0, 9), CURRENT, &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OPERATIONS.is_sorted_by_key(|row| row.name));
        assert!(OPERATIONS.iter().all(|row| row.attributes.is_sorted()));
    }

    #[test]
    fn versions_do_not_overlap() {
        for row in OPERATIONS {
            assert!(row.since <= row.until, "{}", row.name);
            assert_eq!(op_at_version(row.base(), row.since).unwrap().name, row.name);
            assert_eq!(op_at_version(row.base(), row.until).unwrap().name, row.name);
        }
        assert!(op_at_version("tan", Version::new(1, 0)).is_none());
    }
}
