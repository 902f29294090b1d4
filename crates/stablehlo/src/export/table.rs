//! Which function exports which op.

use rxla_hlo::Op;

use super::exporter::{Exported, Exporter, Result, Scope, View};
use super::{collectives, contraction, control, custom_call, elementwise, reductions, shapes};

/// Writes what the instruction does into the block.
pub(super) fn export<'m>(
    cx: &mut Exporter<'m>,
    scope: &mut Scope,
    view: View<'m>,
) -> Result<Exported> {
    match &view.instruction.op {
        Op::Unary(op) => elementwise::unary(cx, scope, view, op),
        Op::Binary(op) => elementwise::binary(cx, scope, view, op.kind),
        Op::Compare(op) => elementwise::compare(cx, scope, view, op),
        Op::Select(_) => elementwise::plain(cx, scope, view, "stablehlo.select"),
        Op::Clamp(_) => elementwise::plain(cx, scope, view, "stablehlo.clamp"),
        Op::Convert(_) => elementwise::plain(cx, scope, view, "stablehlo.convert"),
        Op::BitcastConvert(_) => elementwise::plain(cx, scope, view, "stablehlo.bitcast_convert"),
        Op::ReducePrecision(op) => elementwise::reduce_precision(cx, scope, view, op),
        Op::Constant(op) => shapes::constant(cx, scope, view, &op.literal),
        Op::Iota(op) => shapes::iota(cx, scope, view, op),
        Op::Bitcast(_) => shapes::bitcast(cx, scope, view),
        Op::Broadcast(op) => shapes::broadcast(cx, scope, view, op),
        Op::Concatenate(op) => shapes::concatenate(cx, scope, view, op),
        Op::DynamicReshape(_) => shapes::dynamic_reshape(cx, scope, view),
        Op::DynamicSlice(op) => shapes::dynamic_slice(cx, scope, view, op),
        Op::DynamicUpdateSlice(_) => shapes::dynamic_update_slice(cx, scope, view),
        Op::GetDimensionSize(op) => shapes::get_dimension_size(cx, scope, view, op),
        Op::SetDimensionSize(op) => shapes::set_dimension_size(cx, scope, view, op),
        Op::Pad(op) => shapes::pad(cx, scope, view, op),
        Op::Reshape(_) => elementwise::plain(cx, scope, view, "stablehlo.reshape"),
        Op::Reverse(op) => shapes::reverse(cx, scope, view, op),
        Op::Slice(op) => shapes::slice(cx, scope, view, op),
        Op::Transpose(op) => shapes::transpose(cx, scope, view, op),
        Op::Dot(op) => contraction::dot(cx, scope, view, op),
        Op::RaggedDot(op) => contraction::ragged_dot(cx, scope, view, op),
        Op::ScaledDot(_) => Err(view.unimplemented("has no form")),
        Op::Convolution(op) => contraction::convolution(cx, scope, view, op),
        Op::Fft(op) => contraction::fft(cx, scope, view, op),
        Op::Cholesky(op) => contraction::cholesky(cx, scope, view, op),
        Op::TriangularSolve(op) => contraction::triangular_solve(cx, scope, view, op),
        Op::Gather(op) => contraction::gather(cx, scope, view, op),
        Op::Scatter(op) => reductions::scatter(cx, scope, view, op),
        Op::Map(op) => reductions::map(cx, scope, view, op),
        Op::Reduce(op) => reductions::reduce(cx, scope, view, op),
        Op::ReduceWindow(op) => reductions::reduce_window(cx, scope, view, op),
        Op::SelectAndScatter(op) => reductions::select_and_scatter(cx, scope, view, op),
        Op::Sort(op) => reductions::sort(cx, scope, view, op),
        Op::Scan(op) => reductions::scan(cx, scope, view, op),
        Op::TopK(op) => reductions::top_k(cx, scope, view, op),
        Op::BatchNormGrad(op) => {
            elementwise::batch_norm(cx, scope, view, "grad", op.epsilon, op.feature_index)
        }
        Op::BatchNormInference(op) => {
            elementwise::batch_norm(cx, scope, view, "inference", op.epsilon, op.feature_index)
        }
        Op::BatchNormTraining(op) => {
            elementwise::batch_norm(cx, scope, view, "training", op.epsilon, op.feature_index)
        }
        Op::Rng(op) => elementwise::rng(cx, scope, view, op),
        Op::RngBitGenerator(op) => elementwise::rng_bit_generator(cx, scope, view, op),
        Op::RngGetAndUpdateState(_) => Err(view.unimplemented("has no form")),
        Op::StochasticConvert(_) => Err(view.unimplemented("has no form")),
        Op::AddDependency(_) => control::add_dependency(cx, scope, view),
        Op::AfterAll(_) => elementwise::plain(cx, scope, view, "stablehlo.after_all"),
        Op::Call(op) => control::call(cx, scope, view, op.to_apply),
        Op::Conditional(op) => control::conditional(cx, scope, view, op),
        Op::While(op) => control::while_loop(cx, scope, view, op),
        Op::Fusion(op) => control::inline(cx, scope, view, op.calls),
        Op::AsyncStart(op) => control::async_start(cx, scope, view, op.calls),
        Op::AsyncUpdate(_) => cx.operand(scope, view, 0),
        Op::AsyncDone(_) => control::part(cx, scope, view, 1),
        Op::Copy(_) | Op::Domain(_) => cx.operand(scope, view, 0),
        Op::CopyStart(_) => control::copy_start(cx, scope, view),
        Op::CopyDone(_) => control::part(cx, scope, view, 0),
        Op::Tuple(_) => control::tuple(cx, scope, view),
        Op::GetTupleElement(op) => control::part(cx, scope, view, op.index),
        Op::OptimizationBarrier(_) => control::optimization_barrier(cx, scope, view),
        Op::Parameter(_) => Err(view.error("is no parameter of this computation")),
        Op::AllGather(op) => collectives::all_gather(cx, scope, view, op),
        Op::AllGatherStart(op) => collectives::all_gather_start(cx, scope, view, op),
        Op::AllGatherDone(_) | Op::CollectivePermuteDone(_) => control::part(cx, scope, view, 1),
        Op::AllReduce(op) => collectives::all_reduce(cx, scope, view, op),
        Op::AllReduceStart(op) => collectives::all_reduce_start(cx, scope, view, op),
        Op::AllReduceDone(_) | Op::SendDone(_) | Op::RecvDone(_) => cx.operand(scope, view, 0),
        Op::AllToAll(op) => collectives::all_to_all(cx, scope, view, op),
        Op::CollectiveBroadcast(op) => collectives::collective_broadcast(cx, scope, view, op),
        Op::CollectivePermute(op) => collectives::collective_permute(cx, scope, view, op),
        Op::CollectivePermuteStart(op) => {
            collectives::collective_permute_start(cx, scope, view, op)
        }
        Op::RaggedAllToAll(_) => Err(view.unimplemented("has no form")),
        Op::ReduceScatter(op) => collectives::reduce_scatter(cx, scope, view, op),
        Op::PartitionId(_) => elementwise::plain(cx, scope, view, "stablehlo.partition_id"),
        Op::ReplicaId(_) => elementwise::plain(cx, scope, view, "stablehlo.replica_id"),
        Op::Infeed(op) => custom_call::infeed(cx, scope, view, op),
        Op::Outfeed(op) => custom_call::outfeed(cx, scope, view, op),
        Op::Send(op) => custom_call::send(cx, scope, view, op),
        Op::Recv(op) => custom_call::recv(cx, scope, view, op),
        Op::CustomCall(op) => custom_call::custom_call(cx, scope, view, op),
    }
}
