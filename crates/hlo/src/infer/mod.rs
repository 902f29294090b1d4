//! Shape inference: what shape an op gives for operands of given shapes.
//!
//! One pure function serves the builder, the readers and the verifier. It knows the constraints of
//! the StableHLO specification, whose numbers its messages name as `(C5)`, and what XLA allows
//! beyond them: sizes that are dynamic up to a bound or unbounded, floats of mixed precision in
//! dots, convolutions and reductions, results declared wider than what is computed. Dimension
//! numbers and called computations may be anything at all: what is wrong is an error.

mod asynchronous;
mod check;
mod collective;
mod contraction;
mod control;
mod elementwise;
mod gather;
mod linear;
mod movement;
mod random;
mod reduce;
#[cfg(test)]
mod tests;
mod window;

use rxla_base::Diagnostic;

use crate::op::{Arity, AsyncUpdate, Op, ReduceScatter};
use crate::{ArrayShape, ElementType, Module, Shape};
use check::{Result, counted, ensure};

pub(crate) use asynchronous::aliases as check_aliases;
pub(crate) use check::agree;

/// The shape of `op` applied to operands of these shapes.
///
/// `declared` is what the program says. It decides where operands do not (parameter, iota,
/// reshape, convert, broadcast, custom-call, …) and otherwise has to agree with what is inferred,
/// layouts aside. If it is given, it is the result, layouts included.
pub fn infer(
    module: &Module,
    op: &Op,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape, Diagnostic> {
    let named = |mut diagnostic: Diagnostic| {
        diagnostic.message.insert_str(0, ": ");
        diagnostic.message.insert_str(0, op.name());
        diagnostic
    };
    let inferred = checked(module, op, operands, declared).map_err(named)?;
    let Some(declared) = declared else { return Ok(inferred) };
    let fits = agree(declared, &inferred)
        || may_declare(op, &inferred, declared)
        || collective::other_form(op, operands, &inferred, declared);
    if !fits {
        return Err(Diagnostic::error(format!(
            "declared `{declared}`, but `{}` gives `{inferred}`",
            op.name()
        )));
    }
    Ok(declared.clone())
}

fn checked(
    module: &Module,
    op: &Op,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    check_arity(op, operands.len())?;
    if let Some(declared) = declared {
        well_formed(declared)?;
    }
    let inferred = infer_op(module, op, operands, declared)?;
    if declared.is_none() {
        well_formed(&inferred)?;
    }
    Ok(inferred)
}

fn check_arity(op: &Op, count: usize) -> Result<()> {
    match op.arity() {
        Arity::Exactly(n) => {
            ensure!(count == n, "{} needed, but {count} given", counted(n, "operand"));
        }
        Arity::AtLeast(n) => {
            ensure!(count >= n, "at least {} needed, but {count} given", counted(n, "operand"));
        }
    }
    Ok(())
}

/// Sizes are not negative and their bytes can be counted.
pub(crate) fn well_formed(shape: &Shape) -> Result<()> {
    match shape {
        Shape::Tuple(elements) => elements.iter().try_for_each(well_formed),
        Shape::Array(array) => well_formed_array(array),
        Shape::Buffer(array) => well_formed_array(array),
        Shape::Token | Shape::Opaque => Ok(()),
    }
}

fn well_formed_array(array: &ArrayShape) -> Result<()> {
    let mut unbounded = false;
    for &size in &array.dims {
        ensure!(size >= 0 || size == ArrayShape::UNBOUNDED, "`{array}` has a negative size");
        unbounded |= size == ArrayShape::UNBOUNDED;
    }
    ensure!(
        unbounded || array.byte_size().is_some(),
        "`{array}` has more bytes than memory can hold"
    );
    Ok(())
}

/// Whether a result may be declared otherwise than inferred: where XLA takes the declared element
/// type as the one to compute in, and where floats may be rounded to it on the way out.
fn may_declare(op: &Op, inferred: &Shape, declared: &Shape) -> bool {
    let by_precision = |inferred: &Shape, declared: &Shape| {
        check::agree_by(inferred, declared, &|a, b| check::promote(a, b).is_some())
    };
    match op {
        Op::Dot(_) | Op::RaggedDot(_) | Op::ScaledDot(_) | Op::Convolution(_) => {
            contraction::preferred(inferred, declared)
        }
        Op::AllGather(_)
        | Op::AllGatherStart(_)
        | Op::AllReduce(_)
        | Op::AllReduceStart(_)
        | Op::AllReduceDone(_)
        | Op::BatchNormGrad(_)
        | Op::BatchNormInference(_)
        | Op::BatchNormTraining(_)
        | Op::Map(_)
        | Op::Reduce(_)
        | Op::ReduceScatter(_)
        | Op::ReduceWindow(_)
        | Op::Scatter(_)
        | Op::SelectAndScatter(_) => by_precision(inferred, declared),
        Op::Unary(_)
        | Op::Binary(_)
        | Op::AddDependency(_)
        | Op::AfterAll(_)
        | Op::AllGatherDone(_)
        | Op::AllToAll(_)
        | Op::AsyncStart(_)
        | Op::AsyncUpdate(_)
        | Op::AsyncDone(_)
        | Op::Bitcast(_)
        | Op::BitcastConvert(_)
        | Op::Broadcast(_)
        | Op::Call(_)
        | Op::Cholesky(_)
        | Op::Clamp(_)
        | Op::CollectiveBroadcast(_)
        | Op::CollectivePermute(_)
        | Op::CollectivePermuteStart(_)
        | Op::CollectivePermuteDone(_)
        | Op::Compare(_)
        | Op::Concatenate(_)
        | Op::Conditional(_)
        | Op::Constant(_)
        | Op::Convert(_)
        | Op::Copy(_)
        | Op::CopyStart(_)
        | Op::CopyDone(_)
        | Op::CustomCall(_)
        | Op::Domain(_)
        | Op::DynamicReshape(_)
        | Op::DynamicSlice(_)
        | Op::DynamicUpdateSlice(_)
        | Op::Fft(_)
        | Op::Fusion(_)
        | Op::Gather(_)
        | Op::GetDimensionSize(_)
        | Op::GetTupleElement(_)
        | Op::Infeed(_)
        | Op::Iota(_)
        | Op::OptimizationBarrier(_)
        | Op::Outfeed(_)
        | Op::Pad(_)
        | Op::Parameter(_)
        | Op::PartitionId(_)
        | Op::RaggedAllToAll(_)
        | Op::Recv(_)
        | Op::RecvDone(_)
        | Op::ReducePrecision(_)
        | Op::ReplicaId(_)
        | Op::Reshape(_)
        | Op::Reverse(_)
        | Op::Rng(_)
        | Op::RngBitGenerator(_)
        | Op::RngGetAndUpdateState(_)
        | Op::Scan(_)
        | Op::Select(_)
        | Op::Send(_)
        | Op::SendDone(_)
        | Op::SetDimensionSize(_)
        | Op::Slice(_)
        | Op::Sort(_)
        | Op::StochasticConvert(_)
        | Op::TopK(_)
        | Op::Transpose(_)
        | Op::TriangularSolve(_)
        | Op::Tuple(_)
        | Op::While(_) => false,
    }
}

fn infer_op(
    module: &Module,
    op: &Op,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    // Arity was checked, so the fixed operands below are there.
    match op {
        Op::Unary(op) => elementwise::unary(op.kind, operands[0]),
        Op::Binary(op) => elementwise::binary(op.kind, operands[0], operands[1]),
        Op::Compare(op) => elementwise::compare(op, operands[0], operands[1]),
        Op::Clamp(_) => elementwise::clamp(operands[0], operands[1], operands[2]),
        Op::Select(_) => elementwise::select(operands[0], operands[1], operands[2]),
        Op::Convert(_) => elementwise::convert(operands[0], declared),
        Op::StochasticConvert(_) => {
            elementwise::stochastic_convert(operands[0], operands[1], declared)
        }
        Op::BitcastConvert(_) => elementwise::bitcast_convert(operands[0], declared),
        Op::ReducePrecision(op) => elementwise::reduce_precision(op, operands[0]),
        Op::Map(op) => elementwise::map(module, op, operands),

        Op::Bitcast(_) => movement::bitcast(operands[0], declared),
        Op::Broadcast(op) => movement::broadcast(op, operands[0], declared),
        Op::Concatenate(op) => movement::concatenate(op, operands),
        Op::DynamicReshape(_) => movement::dynamic_reshape(operands, declared),
        Op::DynamicSlice(op) => movement::dynamic_slice(op, operands),
        Op::DynamicUpdateSlice(_) => movement::dynamic_update_slice(operands),
        Op::GetDimensionSize(op) => movement::get_dimension_size(op, operands[0]),
        Op::SetDimensionSize(op) => movement::set_dimension_size(op, operands[0], operands[1]),
        Op::Iota(op) => movement::iota(op, declared),
        Op::Pad(op) => movement::pad(op, operands[0], operands[1]),
        Op::Reshape(_) => movement::reshape(operands[0], declared),
        Op::Reverse(op) => movement::reverse(op, operands[0]),
        Op::Slice(op) => movement::slice(op, operands[0]),
        Op::Transpose(op) => movement::transpose(op, operands[0]),
        Op::Constant(op) => movement::constant(&op.literal.shape(), declared),

        Op::Dot(op) => contraction::dot(op, operands[0], operands[1]),
        Op::RaggedDot(op) => contraction::ragged_dot(op, operands),
        Op::ScaledDot(op) => contraction::scaled_dot(op, operands),

        Op::Convolution(op) => window::convolution(op, operands[0], operands[1]),
        Op::ReduceWindow(op) => window::reduce_window(module, op, operands),
        Op::SelectAndScatter(op) => window::select_and_scatter(module, op, operands),

        Op::Gather(op) => gather::gather(op, operands[0], operands[1]),
        Op::Scatter(op) => gather::scatter(module, op, operands),

        Op::Reduce(op) => reduce::reduce(module, op, operands),
        Op::Scan(op) => reduce::scan(module, op, operands, declared),
        Op::Sort(op) => reduce::sort(module, op, operands),
        Op::TopK(op) => reduce::topk(op, operands[0]),

        Op::AddDependency(_) => control::add_dependency(operands[0], operands[1]),
        Op::AfterAll(_) => control::after_all(operands),
        Op::Call(op) => control::call(module, op.to_apply, "`to_apply`", operands),
        Op::Conditional(op) => control::conditional(module, op, operands),
        // A copy may go to another layout or memory, and is the same value.
        Op::Copy(_) | Op::Domain(_) | Op::OptimizationBarrier(_) => Ok(operands[0].clone()),
        Op::Fusion(op) => {
            let result = control::call(module, op.calls, "`calls`", operands)?;
            asynchronous::aliases(&op.output_to_operand_aliasing, operands, &result)?;
            Ok(result)
        }
        Op::GetTupleElement(op) => control::get_tuple_element(op, operands[0]),
        Op::Parameter(op) => control::parameter(op.number, declared),
        Op::Tuple(_) => Ok(Shape::tuple(operands.iter().map(|&operand| operand.clone()))),
        Op::While(op) => control::while_(module, op, operands[0]),

        Op::AllGather(gather) => {
            collective::all_gather(module, op, &gather.dimensions, operands, declared)
        }
        Op::AllGatherStart(gather) => {
            collective::all_gather_start(module, op, &gather.dimensions, operands, declared)
        }
        Op::AllGatherDone(_) | Op::CollectivePermuteDone(_) => collective::done(operands[0]),
        Op::AllReduceDone(_) => Ok(collective::all_reduce_done(operands[0], declared)),
        Op::AllReduce(op) => collective::all_reduce(module, op.to_apply, operands),
        Op::AllReduceStart(op) => collective::all_reduce(module, op.to_apply, operands),
        Op::AllToAll(exchange) => {
            collective::all_to_all(module, op, &exchange.dimensions, operands)
        }
        Op::CollectiveBroadcast(op) => collective::collective_broadcast(op, operands),
        Op::CollectivePermute(op) => collective::collective_permute(&op.slice_sizes, operands),
        Op::CollectivePermuteStart(op) => {
            collective::collective_permute_start(&op.slice_sizes, operands, declared)
        }
        Op::RaggedAllToAll(op) => collective::ragged_all_to_all(&op.dimensions, operands),
        Op::ReduceScatter(ReduceScatter { to_apply, dimensions, .. }) => {
            collective::reduce_scatter(module, op, *to_apply, dimensions, operands, declared)
        }
        Op::PartitionId(_) | Op::ReplicaId(_) => Ok(Shape::scalar(ElementType::U32)),

        Op::AsyncStart(op) => asynchronous::start(module, op, operands, declared),
        Op::AsyncUpdate(AsyncUpdate {}) => asynchronous::update(operands[0]),
        Op::AsyncDone(_) => collective::second_part(operands[0]),
        Op::CopyStart(_) => control::copy_start(operands[0], declared),
        Op::CopyDone(_) => control::copy_done(operands[0]),
        Op::Infeed(_) => asynchronous::infeed(operands[0], declared),
        Op::Outfeed(op) => asynchronous::outfeed(op, operands),
        Op::Send(_) => asynchronous::send(operands[0], operands[1]),
        Op::SendDone(_) => asynchronous::send_done(operands[0]),
        Op::Recv(_) => asynchronous::recv(operands[0], declared),
        Op::RecvDone(_) => asynchronous::recv_done(operands[0]),
        Op::CustomCall(op) => asynchronous::custom_call(module, op, operands, declared),

        Op::Rng(op) => random::rng(op, operands, declared),
        Op::RngBitGenerator(op) => random::rng_bit_generator(op, operands[0], declared),
        Op::RngGetAndUpdateState(_) => Ok(Shape::array(ElementType::U64, [2])),

        Op::Cholesky(_) => linear::cholesky(operands[0]),
        Op::TriangularSolve(op) => linear::triangular_solve(op, operands[0], operands[1]),
        Op::Fft(op) => linear::fft(op, operands[0]),
        Op::BatchNormGrad(op) => linear::batch_norm_grad(operands, op.feature_index),
        Op::BatchNormInference(op) => linear::batch_norm_inference(operands, op.feature_index),
        Op::BatchNormTraining(op) => linear::batch_norm_training(operands, op.feature_index),
    }
}
