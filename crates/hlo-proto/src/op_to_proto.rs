//! Ops into the fields of an instruction proto.

use rxla_base::Diagnostic;
use rxla_hlo::op::{ComparisonType, Op};
use rxla_hlo::{Dims, Shape};

use crate::proto::*;
use crate::{attributes, literal, shape, sharding};

/// Fills in what `op` says. Called computations and operands are the caller's.
pub(crate) fn write(
    op: &Op,
    result: &Shape,
    operands: &[&Shape],
    p: &mut HloInstructionProto,
) -> Result<(), Diagnostic> {
    match op {
        Op::Unary(op) => p.result_accuracy = op.result_accuracy.map(attributes::accuracy_to_proto),
        Op::Binary(_)
        | Op::AddDependency(_)
        | Op::AfterAll(_)
        | Op::AllGatherDone(_)
        | Op::AllReduceDone(_)
        | Op::AsyncUpdate(_)
        | Op::AsyncDone(_)
        | Op::Bitcast(_)
        | Op::BitcastConvert(_)
        | Op::Clamp(_)
        | Op::CollectivePermuteDone(_)
        | Op::Conditional(_)
        | Op::Convert(_)
        | Op::Copy(_)
        | Op::CopyDone(_)
        | Op::DynamicReshape(_)
        | Op::DynamicUpdateSlice(_)
        | Op::OptimizationBarrier(_)
        | Op::PartitionId(_)
        | Op::ReplicaId(_)
        | Op::Select(_)
        | Op::StochasticConvert(_)
        | Op::Tuple(_)
        | Op::While(_) => {}
        Op::AllGather(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.constrain_layout = op.constrain_layout;
            p.use_global_device_ids = op.use_global_device_ids;
            p.dimensions = op.dimensions.to_vec();
        }
        Op::AllGatherStart(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.constrain_layout = op.constrain_layout;
            p.use_global_device_ids = op.use_global_device_ids;
            p.dimensions = op.dimensions.to_vec();
        }
        Op::AllReduce(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.constrain_layout = op.constrain_layout;
            p.use_global_device_ids = op.use_global_device_ids;
        }
        Op::AllReduceStart(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.constrain_layout = op.constrain_layout;
            p.use_global_device_ids = op.use_global_device_ids;
        }
        Op::AllToAll(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.constrain_layout = op.constrain_layout;
            p.dimensions = op.dimensions.to_vec();
        }
        Op::AsyncStart(op) => {
            p.async_execution_thread.clone_from(&op.async_execution_thread);
            p.output_operand_aliasing =
                attributes::aliases_to_proto(&op.output_to_operand_aliasing);
        }
        Op::BatchNormGrad(op) => {
            p.epsilon = op.epsilon;
            p.feature_index = op.feature_index;
        }
        Op::BatchNormInference(op) => {
            p.epsilon = op.epsilon;
            p.feature_index = op.feature_index;
        }
        Op::BatchNormTraining(op) => {
            p.epsilon = op.epsilon;
            p.feature_index = op.feature_index;
        }
        Op::Broadcast(op) => p.dimensions = op.dimensions.to_vec(),
        Op::Call(op) => p.is_composite = op.is_composite,
        Op::Cholesky(op) => p.cholesky_options = Some(CholeskyOptions { lower: op.lower }),
        Op::CollectiveBroadcast(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
        }
        Op::CollectivePermute(op) => {
            channel(op.channel_id, p);
            pairs(&op.source_target_pairs, &op.slice_sizes, p);
        }
        Op::CollectivePermuteStart(op) => {
            channel(op.channel_id, p);
            pairs(&op.source_target_pairs, &op.slice_sizes, p);
        }
        Op::Compare(op) => {
            p.comparison_direction = op.direction.name().to_owned();
            let own = operands.first().and_then(|s| s.as_array()).map(|s| s.element_type);
            let kind = op.comparison_type.or(own.map(ComparisonType::of));
            p.comparison_type = kind.map_or(String::new(), |kind| kind.name().to_owned());
        }
        Op::Concatenate(op) => p.dimensions = op.dimensions.to_vec(),
        Op::Constant(op) => p.literal = Some(Box::new(literal::to_proto(&op.literal, result)?)),
        Op::Convolution(op) => {
            p.window = Some(attributes::window_to_proto(&op.window));
            p.convolution_dimension_numbers =
                Some(Box::new(attributes::convolution_to_proto(&op.dim_labels)));
            p.feature_group_count = op.feature_group_count.0;
            p.batch_group_count = op.batch_group_count.0;
            p.conv_kind = op.convolution_kind.map_or(0, |kind| kind.proto_number());
            p.precision_config =
                attributes::precision_to_proto(&op.operand_precision, op.algorithm, 2);
            p.sparsity_config =
                op.sparsity_config.as_ref().map(attributes::sparsity_to_proto).map(Box::new);
        }
        Op::CopyStart(op) => {
            p.cross_program_prefetch_index =
                op.cross_program_prefetch_index.map(|i| i32::try_from(i).unwrap_or(i32::MAX));
        }
        Op::CustomCall(op) => {
            p.window = op.window.as_ref().map(attributes::window_to_proto);
            p.convolution_dimension_numbers =
                op.dim_labels.as_ref().map(attributes::convolution_to_proto).map(Box::new);
            p.feature_group_count = op.feature_group_count.0;
            p.batch_group_count = op.batch_group_count.0;
            p.custom_call_target.clone_from(&op.custom_call_target);
            if let Some(constraints) = &op.operand_layout_constraints {
                p.constrain_layout = true;
                p.operand_shapes_with_layout = constraints.iter().map(shape::to_proto).collect();
            }
            p.custom_call_has_side_effect = op.custom_call_has_side_effect;
            p.output_operand_aliasing =
                attributes::aliases_to_proto(&op.output_to_operand_aliasing);
            p.padding_type = op.padding_type.map_or(0, |kind| kind.proto_number());
            if let Some(value) = &op.literal {
                p.literal = Some(Box::new(literal::to_proto(value, &value.shape())?));
            }
            p.precision_config =
                attributes::precision_to_proto(&op.operand_precision, None, operands.len());
            p.custom_call_schedule = op.schedule.map_or(0, |schedule| schedule.proto_number());
            // Unsaid means the original convention, whose number is not zero.
            p.custom_call_api_version = op.api_version.map_or(1, |version| version.proto_number());
        }
        Op::Domain(op) => {
            if let Some(domain) = &op.domain {
                // The proto's entry is where the operand comes from, which text calls the exit.
                p.domain_entry_sharding = Some(Box::new(sharding::to_proto(&domain.exit)));
                p.domain_exit_sharding = Some(Box::new(sharding::to_proto(&domain.entry)));
            }
        }
        Op::Dot(op) => {
            p.dot_dimension_numbers = Some(Box::new(DotDimensionNumbers {
                lhs_contracting_dimensions: op.lhs_contracting_dims.to_vec(),
                rhs_contracting_dimensions: op.rhs_contracting_dims.to_vec(),
                lhs_batch_dimensions: op.lhs_batch_dims.to_vec(),
                rhs_batch_dimensions: op.rhs_batch_dims.to_vec(),
            }));
            p.precision_config =
                attributes::precision_to_proto(&op.operand_precision, op.algorithm, 2);
        }
        Op::RaggedDot(op) => {
            p.ragged_dot_dimension_numbers = Some(Box::new(RaggedDotDimensionNumbers {
                dot_dimension_numbers: Some(DotDimensionNumbers {
                    lhs_contracting_dimensions: op.lhs_contracting_dims.to_vec(),
                    rhs_contracting_dimensions: op.rhs_contracting_dims.to_vec(),
                    lhs_batch_dimensions: op.lhs_batch_dims.to_vec(),
                    rhs_batch_dimensions: op.rhs_batch_dims.to_vec(),
                }),
                lhs_ragged_dimensions: op.lhs_ragged_dims.to_vec(),
                rhs_group_dimensions: op.rhs_group_dims.to_vec(),
            }));
            p.precision_config =
                attributes::precision_to_proto(&op.operand_precision, op.algorithm, 2);
        }
        Op::ScaledDot(op) => {
            p.dot_dimension_numbers = Some(Box::new(DotDimensionNumbers {
                lhs_contracting_dimensions: op.lhs_contracting_dims.to_vec(),
                rhs_contracting_dimensions: op.rhs_contracting_dims.to_vec(),
                lhs_batch_dimensions: op.lhs_batch_dims.to_vec(),
                rhs_batch_dimensions: op.rhs_batch_dims.to_vec(),
            }));
            p.precision_config =
                attributes::precision_to_proto(&op.operand_precision, op.algorithm, 2);
        }
        Op::DynamicSlice(op) => p.dynamic_slice_sizes = op.dynamic_slice_sizes.to_vec(),
        Op::Fft(op) => {
            p.fft_type = op.fft_type.proto_number();
            p.fft_length = op.fft_length.to_vec();
        }
        Op::Fusion(op) => {
            p.fusion_kind = op.kind.name().to_owned();
            p.output_operand_aliasing =
                attributes::aliases_to_proto(&op.output_to_operand_aliasing);
        }
        Op::Gather(op) => {
            p.gather_dimension_numbers = Some(Box::new(GatherDimensionNumbers {
                offset_dims: op.offset_dims.to_vec(),
                collapsed_slice_dims: op.collapsed_slice_dims.to_vec(),
                start_index_map: op.start_index_map.to_vec(),
                index_vector_dim: op.index_vector_dim,
                operand_batching_dims: op.operand_batching_dims.to_vec(),
                start_indices_batching_dims: op.start_indices_batching_dims.to_vec(),
            }));
            p.gather_slice_sizes = op.slice_sizes.to_vec();
            p.indices_are_sorted = op.indices_are_sorted;
        }
        Op::GetDimensionSize(op) => p.dimensions = op.dimensions.to_vec(),
        Op::GetTupleElement(op) => p.tuple_index = op.index,
        Op::Infeed(op) => p.infeed_config.clone_from(&op.infeed_config),
        Op::Iota(op) => p.dimensions = vec![op.iota_dimension],
        Op::Map(op) => p.dimensions = op.dimensions.to_vec(),
        Op::Outfeed(op) => {
            p.outfeed_shape = op.outfeed_shape.as_ref().map(shape::to_proto).map(Box::new);
            p.outfeed_config.clone_from(&op.outfeed_config);
        }
        Op::Pad(op) => {
            let dimensions = op.padding.iter().map(|padding| PaddingConfigDimension {
                edge_padding_low: padding.low,
                edge_padding_high: padding.high,
                interior_padding: padding.interior,
            });
            p.padding_config = Some(PaddingConfig { dimensions: dimensions.collect() });
        }
        Op::Parameter(op) => p.parameter_number = op.number,
        Op::RaggedAllToAll(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.dimensions = op.dimensions.to_vec();
        }
        Op::Recv(op) => {
            channel(op.channel_id, p);
            p.is_host_transfer = op.is_host_transfer;
        }
        Op::RecvDone(op) => {
            channel(op.channel_id, p);
            p.is_host_transfer = op.is_host_transfer;
        }
        Op::Send(op) => {
            channel(op.channel_id, p);
            p.is_host_transfer = op.is_host_transfer;
        }
        Op::SendDone(op) => {
            channel(op.channel_id, p);
            p.is_host_transfer = op.is_host_transfer;
        }
        Op::Reduce(op) => p.dimensions = op.dimensions.to_vec(),
        Op::ReducePrecision(op) => {
            let narrow = |bits: i64| i32::try_from(bits).unwrap_or(i32::MAX);
            p.exponent_bits = narrow(op.exponent_bits);
            p.mantissa_bits = narrow(op.mantissa_bits);
        }
        Op::ReduceScatter(op) => {
            channel(op.channel_id, p);
            sharding::groups_to_proto(&op.replica_groups, p);
            p.constrain_layout = op.constrain_layout;
            p.use_global_device_ids = op.use_global_device_ids;
            p.dimensions = op.dimensions.to_vec();
        }
        Op::ReduceWindow(op) => p.window = Some(attributes::window_to_proto(&op.window)),
        Op::Reshape(op) => p.dimensions = op.inferred_dimension.into_iter().collect(),
        Op::Reverse(op) => p.dimensions = op.dimensions.to_vec(),
        Op::Rng(op) => p.distribution = op.distribution.proto_number(),
        Op::RngBitGenerator(op) => p.rng_algorithm = op.algorithm.proto_number(),
        Op::RngGetAndUpdateState(op) => p.delta = op.delta,
        Op::Scan(op) => {
            p.dimensions = op.dimensions.to_vec();
            p.is_reverse = op.is_reverse;
            p.is_associative = match op.is_associative {
                None => 0,
                Some(true) => 1,
                Some(false) => 2,
            };
            p.num_carries = op.num_carries;
        }
        Op::Scatter(op) => {
            p.scatter_dimension_numbers = Some(Box::new(ScatterDimensionNumbers {
                update_window_dims: op.update_window_dims.to_vec(),
                inserted_window_dims: op.inserted_window_dims.to_vec(),
                scatter_dims_to_operand_dims: op.scatter_dims_to_operand_dims.to_vec(),
                index_vector_dim: op.index_vector_dim,
                input_batching_dims: op.input_batching_dims.to_vec(),
                scatter_indices_batching_dims: op.scatter_indices_batching_dims.to_vec(),
            }));
            p.indices_are_sorted = op.indices_are_sorted;
            p.unique_indices = op.unique_indices;
        }
        Op::SelectAndScatter(op) => p.window = Some(attributes::window_to_proto(&op.window)),
        Op::SetDimensionSize(op) => p.dimensions = op.dimensions.to_vec(),
        Op::Slice(op) => {
            let slices = op.slice.iter().map(|slice| SliceDimensions {
                start: slice.start,
                limit: slice.limit,
                stride: slice.stride,
            });
            p.slice_dimensions = slices.collect();
        }
        Op::Sort(op) => {
            p.dimensions = op.dimensions.to_vec();
            p.is_stable = op.is_stable;
        }
        Op::TopK(op) => {
            p.k = op.k;
            p.largest = op.largest.0;
            p.is_stable = op.is_stable;
        }
        Op::Transpose(op) => p.dimensions = op.dimensions.to_vec(),
        Op::TriangularSolve(op) => {
            p.triangular_solve_options = Some(TriangularSolveOptions {
                left_side: op.left_side,
                lower: op.lower,
                unit_diagonal: op.unit_diagonal,
                transpose_a: op.transpose_a.proto_number(),
            });
        }
    }
    Ok(())
}

fn channel(channel: Option<i64>, p: &mut HloInstructionProto) {
    p.channel_id = channel.unwrap_or(0);
}

fn pairs(pairs: &[(i64, i64)], slice_sizes: &[Dims], p: &mut HloInstructionProto) {
    p.source_target_pairs =
        pairs.iter().map(|&(source, target)| SourceTarget { source, target }).collect();
    p.dynamic_slice_sizes = slice_sizes.iter().flatten().copied().collect();
}
