//! Ops from the fields of an instruction proto. What is missing or out of range is an error that
//! names the field.

use rxla_base::Diagnostic;
use rxla_hlo::op::*;
use rxla_hlo::{ComputationId, Dims, Op, Shape};
use std::sync::Arc;

use crate::attributes::{optional, unknown};
use crate::proto::{self, HloInstructionProto};
use crate::shape::dims;
use crate::{attributes, literal, shape, sharding};

/// The op of `p`, whose operands have these shapes and which calls these computations.
pub(crate) fn read(
    p: &HloInstructionProto,
    operands: &[&Shape],
    called: &[ComputationId],
) -> Result<Op, Diagnostic> {
    let mut op = match Op::from_name(&p.opcode) {
        Some(op) => op,
        None => old_comparison(&p.opcode)
            .ok_or_else(|| Diagnostic::error(format!("there is no opcode `{}`", p.opcode)))?,
    };
    let channel_id = (p.channel_id > 0).then_some(p.channel_id);
    let one = |attribute: &str| match called {
        [computation] => Ok(*computation),
        _ => Err(Diagnostic::error(format!(
            "`{attribute}` is one computation, but {} are called",
            called.len()
        ))),
    };
    match &mut op {
        Op::Unary(op) => {
            op.result_accuracy =
                p.result_accuracy.as_ref().and_then(attributes::accuracy_from_proto)
        }
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
        | Op::Tuple(_) => {}
        Op::AllGather(op) => {
            op.channel_id = channel_id;
            op.replica_groups = sharding::groups_from_proto(p);
            op.constrain_layout = p.constrain_layout;
            op.use_global_device_ids = p.use_global_device_ids;
            op.dimensions = dims(&p.dimensions);
        }
        Op::AllGatherStart(op) => {
            op.channel_id = channel_id;
            op.replica_groups = sharding::groups_from_proto(p);
            op.constrain_layout = p.constrain_layout;
            op.use_global_device_ids = p.use_global_device_ids;
            op.dimensions = dims(&p.dimensions);
        }
        Op::AllReduce(op) => {
            op.channel_id = channel_id.or(old_all_reduce(p));
            op.replica_groups = sharding::groups_from_proto(p);
            op.constrain_layout = p.constrain_layout;
            op.use_global_device_ids = p.use_global_device_ids;
            op.to_apply = one("to_apply")?;
        }
        Op::AllReduceStart(op) => {
            op.channel_id = channel_id.or(old_all_reduce(p));
            op.replica_groups = sharding::groups_from_proto(p);
            op.constrain_layout = p.constrain_layout;
            op.use_global_device_ids = p.use_global_device_ids;
            op.to_apply = one("to_apply")?;
        }
        Op::AllToAll(op) => {
            op.channel_id = channel_id;
            op.replica_groups = sharding::groups_from_proto(p);
            op.constrain_layout = p.constrain_layout;
            op.dimensions = dims(&p.dimensions);
        }
        Op::AsyncStart(op) => {
            op.async_execution_thread.clone_from(&p.async_execution_thread);
            op.output_to_operand_aliasing = attributes::aliases_from_proto(p);
            op.calls = one("calls")?;
        }
        Op::BatchNormGrad(op) => {
            op.epsilon = p.epsilon;
            op.feature_index = p.feature_index;
        }
        Op::BatchNormInference(op) => {
            op.epsilon = p.epsilon;
            op.feature_index = p.feature_index;
        }
        Op::BatchNormTraining(op) => {
            op.epsilon = p.epsilon;
            op.feature_index = p.feature_index;
        }
        Op::Broadcast(op) => op.dimensions = dims(&p.dimensions),
        Op::Call(op) => {
            op.to_apply = one("to_apply")?;
            op.is_composite = p.is_composite;
        }
        Op::Cholesky(op) => {
            op.lower = p.cholesky_options.as_ref().is_some_and(|options| options.lower);
        }
        Op::CollectiveBroadcast(op) => {
            op.channel_id = channel_id;
            op.replica_groups = sharding::groups_from_proto(p);
        }
        Op::CollectivePermute(op) => {
            op.channel_id = channel_id;
            op.source_target_pairs = pairs(p);
            op.slice_sizes = slice_sizes(p, operands)?;
        }
        Op::CollectivePermuteStart(op) => {
            op.channel_id = channel_id;
            op.source_target_pairs = pairs(p);
            op.slice_sizes = slice_sizes(p, operands)?;
        }
        Op::Compare(op) => compare(p, operands, op)?,
        Op::Concatenate(op) => op.dimensions = dims(&p.dimensions),
        Op::Conditional(op) => op.branch_computations = called.to_vec(),
        Op::Constant(op) => {
            let literal = p.literal.as_deref().ok_or_else(|| missing("literal"))?;
            op.literal = Arc::new(literal::from_proto(literal)?);
        }
        Op::Convolution(op) => {
            op.window =
                attributes::window_from_proto(p.window.as_ref().ok_or_else(|| missing("window"))?);
            let numbers = p.convolution_dimension_numbers.as_deref();
            op.dim_labels = attributes::convolution_from_proto(
                numbers.ok_or_else(|| missing("convolution_dimension_numbers"))?,
            );
            op.feature_group_count = GroupCount(p.feature_group_count.max(1));
            op.batch_group_count = GroupCount(p.batch_group_count.max(1));
            op.convolution_kind =
                optional(p.conv_kind, "conv_kind", ConvolutionKind::from_proto_number)?;
            (op.operand_precision, op.algorithm) = attributes::precision_from_proto(p)?;
            op.sparsity_config =
                p.sparsity_config.as_deref().and_then(attributes::sparsity_from_proto);
        }
        Op::CopyStart(op) => {
            op.cross_program_prefetch_index = p
                .cross_program_prefetch_index
                .map(i64::from)
                .or(p.is_cross_program_prefetch.then_some(0));
        }
        Op::CustomCall(op) => {
            op.window = p.window.as_ref().map(attributes::window_from_proto);
            op.dim_labels =
                p.convolution_dimension_numbers.as_deref().map(attributes::convolution_from_proto);
            op.feature_group_count = GroupCount(p.feature_group_count.max(1));
            op.batch_group_count = GroupCount(p.batch_group_count.max(1));
            op.custom_call_target.clone_from(&p.custom_call_target);
            if p.constrain_layout {
                let shapes = p.operand_shapes_with_layout.iter().map(shape::from_proto);
                op.operand_layout_constraints = Some(shapes.collect::<Result<_, _>>()?);
            }
            op.custom_call_has_side_effect = p.custom_call_has_side_effect;
            op.called_computations = called.to_vec();
            op.output_to_operand_aliasing = attributes::aliases_from_proto(p);
            op.padding_type =
                optional(p.padding_type, "padding_type", PaddingType::from_proto_number)?;
            op.literal = p.literal.as_deref().map(literal::from_proto).transpose()?.map(Arc::new);
            op.operand_precision = attributes::precision_from_proto(p)?.0;
            op.schedule = optional(
                p.custom_call_schedule,
                "custom_call_schedule",
                CustomCallSchedule::from_proto_number,
            )?;
            let version = CustomCallApiVersion::from_proto_number(p.custom_call_api_version)
                .ok_or_else(|| unknown("custom_call_api_version", p.custom_call_api_version))?;
            op.api_version = (version != CustomCallApiVersion::Original).then_some(version);
        }
        Op::Domain(op) => {
            // The proto's entry is where the operand comes from, which text calls the exit.
            let side = |side: &Option<Box<proto::OpSharding>>| match side {
                Some(side) => sharding::from_proto(side),
                None => Ok(rxla_hlo::Sharding::Tuple(Vec::new())),
            };
            op.domain = Some(DomainMetadata {
                kind: "sharding".to_owned(),
                entry: side(&p.domain_exit_sharding)?,
                exit: side(&p.domain_entry_sharding)?,
            });
        }
        Op::Dot(op) => {
            let numbers = p.dot_dimension_numbers.as_deref();
            let numbers = numbers.ok_or_else(|| missing("dot_dimension_numbers"))?;
            op.lhs_contracting_dims = dims(&numbers.lhs_contracting_dimensions);
            op.rhs_contracting_dims = dims(&numbers.rhs_contracting_dimensions);
            op.lhs_batch_dims = dims(&numbers.lhs_batch_dimensions);
            op.rhs_batch_dims = dims(&numbers.rhs_batch_dimensions);
            (op.operand_precision, op.algorithm) = attributes::precision_from_proto(p)?;
        }
        Op::ScaledDot(op) => {
            let numbers = p.dot_dimension_numbers.as_deref();
            let numbers = numbers.ok_or_else(|| missing("dot_dimension_numbers"))?;
            op.lhs_contracting_dims = dims(&numbers.lhs_contracting_dimensions);
            op.rhs_contracting_dims = dims(&numbers.rhs_contracting_dimensions);
            op.lhs_batch_dims = dims(&numbers.lhs_batch_dimensions);
            op.rhs_batch_dims = dims(&numbers.rhs_batch_dimensions);
            (op.operand_precision, op.algorithm) = attributes::precision_from_proto(p)?;
        }
        Op::RaggedDot(op) => {
            let ragged = p.ragged_dot_dimension_numbers.as_deref();
            let ragged = ragged.ok_or_else(|| missing("ragged_dot_dimension_numbers"))?;
            let numbers = ragged.dot_dimension_numbers.as_ref();
            let numbers = numbers.ok_or_else(|| missing("dot_dimension_numbers"))?;
            op.lhs_contracting_dims = dims(&numbers.lhs_contracting_dimensions);
            op.rhs_contracting_dims = dims(&numbers.rhs_contracting_dimensions);
            op.lhs_batch_dims = dims(&numbers.lhs_batch_dimensions);
            op.rhs_batch_dims = dims(&numbers.rhs_batch_dimensions);
            op.lhs_ragged_dims = dims(&ragged.lhs_ragged_dimensions);
            op.rhs_group_dims = dims(&ragged.rhs_group_dimensions);
            (op.operand_precision, op.algorithm) = attributes::precision_from_proto(p)?;
        }
        Op::DynamicSlice(op) => op.dynamic_slice_sizes = dims(&p.dynamic_slice_sizes),
        Op::Fft(op) => {
            op.fft_type = FftType::from_proto_number(p.fft_type)
                .ok_or_else(|| unknown("fft_type", p.fft_type))?;
            op.fft_length = dims(&p.fft_length);
        }
        Op::Fusion(op) => {
            op.kind = FusionKind::from_name(&p.fusion_kind).ok_or_else(|| {
                Diagnostic::error(format!("there is no fusion kind `{}`", p.fusion_kind))
            })?;
            op.output_to_operand_aliasing = attributes::aliases_from_proto(p);
            op.calls = one("calls")?;
        }
        Op::Gather(op) => {
            let numbers = p.gather_dimension_numbers.as_deref();
            let numbers = numbers.ok_or_else(|| missing("gather_dimension_numbers"))?;
            op.offset_dims = dims(&numbers.offset_dims);
            op.collapsed_slice_dims = dims(&numbers.collapsed_slice_dims);
            op.start_index_map = dims(&numbers.start_index_map);
            op.index_vector_dim = numbers.index_vector_dim;
            op.operand_batching_dims = dims(&numbers.operand_batching_dims);
            op.start_indices_batching_dims = dims(&numbers.start_indices_batching_dims);
            op.slice_sizes = dims(&p.gather_slice_sizes);
            op.indices_are_sorted = p.indices_are_sorted;
        }
        Op::GetDimensionSize(op) => op.dimensions = dims(&p.dimensions),
        Op::GetTupleElement(op) => op.index = p.tuple_index,
        Op::Infeed(op) => op.infeed_config.clone_from(&p.infeed_config),
        Op::Iota(op) => match p.dimensions[..] {
            [dimension] => op.iota_dimension = dimension,
            _ => return Err(missing("dimensions")),
        },
        Op::Map(op) => {
            op.dimensions = dims(&p.dimensions);
            op.to_apply = one("to_apply")?;
        }
        Op::Outfeed(op) => {
            op.outfeed_shape = p.outfeed_shape.as_deref().map(shape::from_proto).transpose()?;
            op.outfeed_config.clone_from(&p.outfeed_config);
        }
        Op::Pad(op) => {
            let config = p.padding_config.as_ref().ok_or_else(|| missing("padding_config"))?;
            let padding = config.dimensions.iter().map(|dimension| PaddingDimension {
                low: dimension.edge_padding_low,
                high: dimension.edge_padding_high,
                interior: dimension.interior_padding,
            });
            op.padding = padding.collect();
        }
        Op::Parameter(op) => op.number = p.parameter_number,
        Op::RaggedAllToAll(op) => {
            op.channel_id = channel_id;
            op.replica_groups = sharding::groups_from_proto(p);
            op.dimensions = dims(&p.dimensions);
        }
        Op::Recv(op) => {
            op.channel_id = channel_id;
            op.is_host_transfer = p.is_host_transfer;
        }
        Op::RecvDone(op) => {
            op.channel_id = channel_id;
            op.is_host_transfer = p.is_host_transfer;
        }
        Op::Send(op) => {
            op.channel_id = channel_id;
            op.is_host_transfer = p.is_host_transfer;
        }
        Op::SendDone(op) => {
            op.channel_id = channel_id;
            op.is_host_transfer = p.is_host_transfer;
        }
        Op::Reduce(op) => {
            op.dimensions = dims(&p.dimensions);
            op.to_apply = one("to_apply")?;
        }
        Op::ReducePrecision(op) => {
            op.exponent_bits = i64::from(p.exponent_bits);
            op.mantissa_bits = i64::from(p.mantissa_bits);
        }
        Op::ReduceScatter(op) => {
            op.channel_id = channel_id;
            op.replica_groups = sharding::groups_from_proto(p);
            op.constrain_layout = p.constrain_layout;
            op.use_global_device_ids = p.use_global_device_ids;
            op.dimensions = dims(&p.dimensions);
            op.to_apply = one("to_apply")?;
        }
        Op::ReduceWindow(op) => {
            op.window = p.window.as_ref().map(attributes::window_from_proto).unwrap_or_default();
            op.to_apply = one("to_apply")?;
        }
        Op::Reshape(op) => op.inferred_dimension = p.dimensions.first().copied(),
        Op::Reverse(op) => op.dimensions = dims(&p.dimensions),
        Op::Rng(op) => {
            op.distribution = RandomDistribution::from_proto_number(p.distribution)
                .ok_or_else(|| unknown("distribution", p.distribution))?;
        }
        Op::RngBitGenerator(op) => {
            op.algorithm = RandomAlgorithm::from_proto_number(p.rng_algorithm)
                .ok_or_else(|| unknown("rng_algorithm", p.rng_algorithm))?;
        }
        Op::RngGetAndUpdateState(op) => op.delta = p.delta,
        Op::Scan(op) => {
            op.dimensions = dims(&p.dimensions);
            op.is_reverse = p.is_reverse;
            op.is_associative = match p.is_associative {
                0 => None,
                1 => Some(true),
                2 => Some(false),
                other => return Err(unknown("is_associative", other)),
            };
            op.num_carries = p.num_carries;
            op.to_apply = one("to_apply")?;
        }
        Op::Scatter(op) => {
            let numbers = p.scatter_dimension_numbers.as_deref();
            let numbers = numbers.ok_or_else(|| missing("scatter_dimension_numbers"))?;
            op.update_window_dims = dims(&numbers.update_window_dims);
            op.inserted_window_dims = dims(&numbers.inserted_window_dims);
            op.scatter_dims_to_operand_dims = dims(&numbers.scatter_dims_to_operand_dims);
            op.index_vector_dim = numbers.index_vector_dim;
            op.input_batching_dims = dims(&numbers.input_batching_dims);
            op.scatter_indices_batching_dims = dims(&numbers.scatter_indices_batching_dims);
            op.indices_are_sorted = p.indices_are_sorted;
            op.unique_indices = p.unique_indices;
            op.to_apply = one("to_apply")?;
        }
        Op::SelectAndScatter(op) => {
            op.window = p.window.as_ref().map(attributes::window_from_proto).unwrap_or_default();
            [op.select, op.scatter] = two(called)?;
        }
        Op::SetDimensionSize(op) => op.dimensions = dims(&p.dimensions),
        Op::Slice(op) => {
            let slices = p.slice_dimensions.iter().map(|slice| SliceDimension {
                start: slice.start,
                limit: slice.limit,
                stride: slice.stride,
            });
            op.slice = slices.collect();
        }
        Op::Sort(op) => {
            op.dimensions = dims(&p.dimensions);
            op.is_stable = p.is_stable;
            op.to_apply = one("to_apply")?;
        }
        Op::TopK(op) => {
            op.k = p.k;
            op.largest = Largest(p.largest);
            op.is_stable = p.is_stable;
        }
        Op::Transpose(op) => op.dimensions = dims(&p.dimensions),
        Op::TriangularSolve(op) => {
            let options = p.triangular_solve_options.clone().unwrap_or_default();
            op.left_side = options.left_side;
            op.lower = options.lower;
            op.unit_diagonal = options.unit_diagonal;
            op.transpose_a = TransposeKind::from_proto_number(options.transpose_a)
                .ok_or_else(|| unknown("transpose_a", options.transpose_a))?;
        }
        // XLA keeps the body first.
        Op::While(op) => [op.body, op.condition] = two(called)?,
    }
    Ok(op)
}

fn missing(field: &str) -> Diagnostic {
    Diagnostic::error(format!("`{field}` is missing"))
}

fn two(called: &[ComputationId]) -> Result<[ComputationId; 2], Diagnostic> {
    <[ComputationId; 2]>::try_from(called).map_err(|_| {
        Diagnostic::error(format!("two computations are needed, but {} are called", called.len()))
    })
}

/// Opcodes that protos used before there was `compare`.
fn old_comparison(opcode: &str) -> Option<Op> {
    let direction = match opcode {
        "equal-to" => ComparisonDirection::Eq,
        "not-equal-to" => ComparisonDirection::Ne,
        "greater-than-or-equal-to" => ComparisonDirection::Ge,
        "greater-than" => ComparisonDirection::Gt,
        "less-than-or-equal-to" => ComparisonDirection::Le,
        "less-than" => ComparisonDirection::Lt,
        _ => return None,
    };
    Some(Op::compare(direction))
}

fn compare(
    p: &HloInstructionProto,
    operands: &[&Shape],
    op: &mut Compare,
) -> Result<(), Diagnostic> {
    if old_comparison(&p.opcode).is_none() {
        op.direction =
            ComparisonDirection::from_name(&p.comparison_direction).ok_or_else(|| {
                Diagnostic::error(format!(
                    "there is no comparison direction `{}`",
                    p.comparison_direction
                ))
            })?;
    }
    if p.comparison_type.is_empty() {
        return Ok(());
    }
    let kind = ComparisonType::from_name(&p.comparison_type).ok_or_else(|| {
        Diagnostic::error(format!("there is no comparison type `{}`", p.comparison_type))
    })?;
    // The element type's own comparison goes without saying.
    let own = operands.first().and_then(|shape| shape.as_array());
    let own = own.map(|shape| ComparisonType::of(shape.element_type));
    op.comparison_type = (own != Some(kind)).then_some(kind);
    Ok(())
}

/// The id that all-reduces had before they had channels.
fn old_all_reduce(p: &HloInstructionProto) -> Option<i64> {
    (p.all_reduce_id > 0).then_some(p.all_reduce_id)
}

fn pairs(p: &HloInstructionProto) -> Vec<(i64, i64)> {
    p.source_target_pairs.iter().map(|pair| (pair.source, pair.target)).collect()
}

/// The proto lists the sizes of all slices one after the other; the operands' ranks say where one
/// ends.
fn slice_sizes(p: &HloInstructionProto, operands: &[&Shape]) -> Result<Vec<Dims>, Diagnostic> {
    let mut rest = &p.dynamic_slice_sizes[..];
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let mut ranks = Vec::new();
    match operands.first() {
        Some(Shape::Array(input)) => ranks.push(input.rank()),
        Some(Shape::Tuple(inputs)) => {
            for (index, input) in inputs.iter().enumerate() {
                let rank = input.as_array().map_or(0, |input| input.rank());
                // With several offsets an input, there are as many slices of it.
                let offsets = operands.get(2).and_then(|offsets| offsets.as_tuple()?.get(index));
                let several = offsets
                    .and_then(|offsets| offsets.as_tuple())
                    .filter(|offsets| offsets.iter().any(|offset| offset.as_tuple().is_some()));
                ranks.extend(std::iter::repeat_n(rank, several.map_or(1, <[Shape]>::len)));
            }
        }
        Some(Shape::Buffer(_) | Shape::Token | Shape::Opaque) | None => {}
    }
    let mut slices = Vec::new();
    let mut next = ranks.iter().copied().cycle();
    while !rest.is_empty() {
        let rank = next.next().filter(|&rank| rank > 0 && rank <= rest.len());
        let Some(rank) = rank else {
            return Err(Diagnostic::error(format!(
                "{} `dynamic_slice_sizes` do not fit the operands",
                p.dynamic_slice_sizes.len()
            )));
        };
        slices.push(dims(&rest[..rank]));
        rest = &rest[rank..];
    }
    Ok(slices)
}
