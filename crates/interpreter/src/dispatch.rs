//! From an instruction and its operands' values to the function that computes it.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, InstructionId, Literal, Op, Shape};

use crate::context::Context;
use crate::lift::take;
use crate::movement::to_i64;
use crate::{batch_norm, collective, control, convolution, custom_call, dot, dynamic_slice};
use crate::{
    elementwise, fft, gather, linear, movement, ragged_dot, reduce, rng, scan, scatter, sort,
    window,
};

/// Computes one instruction.
pub(crate) fn evaluate(
    cx: &Context<'_>,
    id: InstructionId,
    operands: Vec<Literal>,
) -> Result<Literal> {
    let instruction = &cx.module[id];
    let shape = &instruction.shape;
    match &instruction.op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Clamp(_)
        | Op::Compare(_)
        | Op::Convert(_)
        | Op::ReducePrecision(_)
        | Op::Select(_)
        | Op::StochasticConvert(_) => {
            let element_type = array_shape(shape)?.element_type;
            Ok(elementwise(&instruction.op, element_type, operands)?.into())
        }
        Op::BitcastConvert(_) => {
            let [operand] = exactly(operands)?;
            let shape = array_shape(shape)?.without_layout();
            Ok(elementwise::bitcast_convert(operand, &shape)?.into())
        }

        // Structure.
        Op::Tuple(_) => Ok(Literal::Tuple(operands)),
        Op::AfterAll(_) => Ok(Literal::Token),
        Op::Copy(_) | Op::Domain(_) | Op::OptimizationBarrier(_) | Op::AsyncUpdate(_) => {
            Ok(take::<1, _>(operands)?.into_iter().next().expect("one"))
        }
        Op::AddDependency(_) => {
            let [value, _] = take(operands)?;
            Ok(value)
        }
        Op::CopyStart(_) => {
            let [value] = take(operands)?;
            Ok(Literal::Tuple(vec![value.clone(), value, Literal::scalar(0u32)]))
        }
        Op::CopyDone(_) => element(operands, 0),
        Op::AsyncDone(_) => element(operands, 1),
        Op::AllGatherDone(_) | Op::AllReduceDone(_) | Op::CollectivePermuteDone(_) => {
            // The start gives what it is declared to give: operands and results, or results alone.
            let started = cx.module.operand_shape(id, 0).without_layout();
            if started.compatible(&shape.without_layout()) {
                Ok(take::<1, _>(operands)?.into_iter().next().expect("one"))
            } else {
                element(operands, 1)
            }
        }
        Op::Parameter(_) | Op::Constant(_) | Op::GetTupleElement(_) => {
            Err(Error::internal("this op is computed by the plan"))
        }

        // Control.
        Op::Call(call) => cx.run(call.to_apply, operands),
        Op::Fusion(fusion) => cx.run(fusion.calls, operands),
        Op::AsyncStart(start) => {
            let result = cx.run(start.calls, operands.clone())?;
            Ok(Literal::Tuple(vec![Literal::Tuple(operands), result]))
        }
        Op::While(op) => {
            let [state] = take(operands)?;
            control::run_while(cx, op, state)
        }
        Op::Conditional(op) => control::conditional(cx, op, operands),
        Op::Map(map) => {
            let operands = arrays(operands)?;
            let dims = operands.first().map(|operand| operand.dims().clone()).unwrap_or_default();
            let n = operands.first().map_or(1, ArrayLiteral::len);
            let [result] = take(crate::lift::apply(cx, map.to_apply, operands, n)?)?;
            let shape = ArrayShape::new(result.element_type(), dims);
            Ok(result.with_shape(&shape)?.into())
        }

        // Movement.
        Op::Broadcast(op) => {
            let [operand] = exactly(operands)?;
            Ok(movement::broadcast(&operand, &op.dimensions, array_shape(shape)?)?.into())
        }
        Op::Transpose(op) => {
            let [operand] = exactly(operands)?;
            Ok(movement::transpose(operand, &op.dimensions)?.into())
        }
        Op::Reshape(_) => {
            let [operand] = exactly(operands)?;
            Ok(movement::reshape(operand, array_shape(shape)?)?.into())
        }
        Op::DynamicReshape(_) => {
            let mut operands = arrays(operands)?.into_iter();
            let operand = operands.next().ok_or_else(|| Error::internal("no operand"))?;
            let sizes: Vec<i64> = operands.map(|size| to_i64(&size)).collect::<Result<_>>()?;
            let shape = ArrayShape::new(operand.element_type(), sizes);
            Ok(operand.with_shape(&shape)?.into())
        }
        Op::Bitcast(_) => {
            let [operand] = exactly(operands)?;
            let from = array_shape(cx.module.operand_shape(id, 0))?;
            Ok(movement::bitcast(operand, from, array_shape(shape)?)?.into())
        }
        Op::Slice(op) => {
            let [operand] = exactly(operands)?;
            Ok(movement::slice(&operand, &op.slice)?.into())
        }
        Op::Pad(op) => {
            let [operand, value] = exactly(operands)?;
            Ok(movement::pad(&operand, &value, &op.padding)?.into())
        }
        Op::Concatenate(op) => {
            Ok(movement::concatenate(&arrays(operands)?, one_dimension(&op.dimensions)?)?.into())
        }
        Op::Reverse(op) => {
            let [operand] = exactly(operands)?;
            Ok(movement::reverse(&operand, &op.dimensions)?.into())
        }
        Op::Iota(op) => Ok(movement::iota(array_shape(shape)?, op.iota_dimension as usize)?.into()),
        Op::DynamicSlice(op) => {
            let operands = arrays(operands)?;
            let sizes = &op.dynamic_slice_sizes;
            Ok(dynamic_slice::dynamic_slice(&operands[0], &operands[1..], sizes)?.into())
        }
        Op::DynamicUpdateSlice(_) => {
            let mut operands = arrays(operands)?;
            let indices = operands.split_off(2);
            let [operand, update] = take(operands)?;
            Ok(dynamic_slice::dynamic_update_slice(operand, &update, &indices)?.into())
        }
        Op::Gather(op) => {
            let [operand, indices] = exactly(operands)?;
            Ok(gather::gather(&operand, &indices, op)?.into())
        }
        Op::Scatter(op) => {
            let mut operands = arrays(operands)?;
            let updates = operands.split_off(operands.len() / 2 + 1);
            let indices = operands.pop().ok_or_else(|| Error::internal("no indices"))?;
            Ok(results(shape, scatter::scatter(cx, operands, &indices, updates, op)?))
        }
        Op::GetDimensionSize(op) => {
            let [operand] = exactly(operands)?;
            Ok(movement::get_dimension_size(&operand, one_dimension(&op.dimensions)?).into())
        }
        Op::SetDimensionSize(op) => {
            let [operand, size] = exactly(operands)?;
            let dimension = one_dimension(&op.dimensions)?;
            let bound = array_shape(shape)?.dims[dimension];
            Ok(movement::set_dimension_size(&operand, to_i64(&size)?, dimension, bound)?.into())
        }

        // Contraction and reduction.
        Op::Dot(op) => {
            let [lhs, rhs] = exactly(operands)?;
            Ok(dot::dot(lhs, rhs, op, array_shape(shape)?.element_type)?.into())
        }
        Op::RaggedDot(op) => {
            let [lhs, rhs, sizes] = exactly(operands)?;
            let element_type = array_shape(shape)?.element_type;
            Ok(ragged_dot::ragged_dot(&lhs, &rhs, &sizes, op, element_type)?.into())
        }
        Op::ScaledDot(op) => {
            let operands = exactly(operands)?;
            Ok(ragged_dot::scaled_dot(operands, op, array_shape(shape)?.element_type)?.into())
        }
        Op::Convolution(op) => {
            let [input, kernel] = exactly(operands)?;
            let element_type = array_shape(shape)?.element_type;
            Ok(convolution::convolution(input, kernel, op, element_type)?.into())
        }
        Op::Reduce(op) => {
            let mut operands = arrays(operands)?;
            let initial = operands.split_off(operands.len() / 2);
            let reduced = reduce::reduce(cx, operands, &initial, &op.dimensions, op.to_apply)?;
            Ok(results(shape, reduced))
        }

        Op::ReduceWindow(op) => {
            let mut operands = arrays(operands)?;
            let initial = operands.split_off(operands.len() / 2);
            let reduced = window::reduce_window(cx, operands, &initial, &op.window, op.to_apply)?;
            Ok(results(shape, reduced))
        }
        Op::SelectAndScatter(op) => {
            let [operand, source, initial] = exactly(operands)?;
            Ok(window::select_and_scatter(cx, &operand, source, &initial, op)?.into())
        }
        Op::Sort(op) => Ok(results(shape, sort::sort(cx, arrays(operands)?, op)?)),
        Op::TopK(op) => {
            let [operand] = exactly(operands)?;
            let (values, indices) = sort::topk(&operand, op)?;
            Ok(Literal::Tuple(vec![values.into(), indices.into()]))
        }
        Op::Scan(op) => scan::scan(cx, operands, op, shape),
        Op::BatchNormTraining(op) => {
            let operands = exactly(operands)?;
            let values = batch_norm::training(&operands, op.epsilon, op.feature_index)?;
            Ok(results(shape, values))
        }
        Op::BatchNormInference(op) => {
            let operands = exactly(operands)?;
            Ok(batch_norm::inference(&operands, op.epsilon, op.feature_index)?.into())
        }
        Op::BatchNormGrad(op) => {
            let operands = exactly(operands)?;
            let values = batch_norm::gradient(&operands, op.epsilon, op.feature_index)?;
            Ok(results(shape, values))
        }

        // Linear algebra, transforms and random numbers.
        Op::Cholesky(op) => {
            let [operand] = exactly(operands)?;
            Ok(linear::cholesky(operand, op)?.into())
        }
        Op::TriangularSolve(op) => {
            let [a, b] = exactly(operands)?;
            Ok(linear::triangular_solve(a, b, op)?.into())
        }
        Op::Fft(op) => {
            let [operand] = exactly(operands)?;
            Ok(fft::fft(operand, op, array_shape(shape)?.element_type)?.into())
        }
        Op::Rng(op) => Ok(rng::rng(cx, op, &arrays(operands)?, array_shape(shape)?)?.into()),
        Op::RngBitGenerator(op) => {
            let [state] = exactly(operands)?;
            rng::rng_bit_generator(op, &state, shape)
        }
        Op::RngGetAndUpdateState(op) => {
            Ok(rng::rng_get_and_update_state(cx, op.delta, array_shape(shape)?)?.into())
        }

        // Other devices, the host, foreign code.
        Op::AllGather(_)
        | Op::AllGatherStart(_)
        | Op::AllReduce(_)
        | Op::AllReduceStart(_)
        | Op::AllToAll(_)
        | Op::CollectiveBroadcast(_)
        | Op::CollectivePermute(_)
        | Op::CollectivePermuteStart(_)
        | Op::RaggedAllToAll(_)
        | Op::ReduceScatter(_) => collective::evaluate(cx, id, operands),
        Op::ReplicaId(_) => Ok(Literal::scalar(cx.device.replica as u32)),
        Op::PartitionId(_) => Ok(Literal::scalar(cx.device.partition as u32)),
        Op::Send(op) => collective::send(cx, id, op, operands),
        Op::SendDone(_) => Ok(collective::send_done()),
        Op::Recv(op) => collective::recv(cx, id, op),
        Op::RecvDone(_) => collective::recv_done(cx, id, operands),
        Op::Infeed(op) => collective::infeed(cx, op, shape),
        Op::Outfeed(op) => collective::outfeed(cx, op, operands),
        Op::CustomCall(op) => custom_call::custom_call(cx, id, op, operands),
    }
}

/// An op that computes each element on its own; operands have the same dimensions, but for
/// scalar predicates and bounds. `element_type` is the result's.
pub(crate) fn elementwise(
    op: &Op,
    element_type: ElementType,
    operands: Vec<Literal>,
) -> Result<ArrayLiteral> {
    match op {
        Op::Unary(op) => {
            let [operand] = exactly(operands)?;
            elementwise::unary(op.kind, operand)
        }
        Op::Binary(op) => {
            let [lhs, rhs] = exactly(operands)?;
            elementwise::binary(op.kind, lhs, rhs)
        }
        Op::Compare(op) => {
            let [lhs, rhs] = exactly(operands)?;
            elementwise::compare(op.direction, op.comparison_type, &lhs, &rhs)
        }
        Op::Select(_) => {
            let [predicate, on_true, on_false] = exactly(operands)?;
            elementwise::select(&predicate, on_true, on_false)
        }
        Op::Clamp(_) => {
            let [min, operand, max] = exactly(operands)?;
            elementwise::clamp(&min, operand, &max)
        }
        Op::Convert(_) => {
            let [operand] = exactly(operands)?;
            elementwise::convert(operand, element_type)
        }
        Op::ReducePrecision(op) => {
            let [operand] = exactly(operands)?;
            elementwise::reduce_precision(operand, op.exponent_bits, op.mantissa_bits)
        }
        Op::StochasticConvert(_) => {
            let [operand, random] = exactly(operands)?;
            elementwise::stochastic_convert(operand, &random, element_type)
        }
        other => Err(Error::internal(format!("`{}` is not elementwise", other.name()))),
    }
}

/// As many operands as the op takes, which must be arrays. Ops of scalars spend their time on
/// moving values about: this moves each once.
fn exactly<const N: usize>(operands: Vec<Literal>) -> Result<[ArrayLiteral; N]> {
    let count = operands.len();
    let mut operands = operands.into_iter();
    let mut failure = None;
    let arrays = std::array::from_fn(|_| match operands.next() {
        Some(Literal::Array(array)) => array,
        Some(other) => {
            let shape = other.shape();
            failure = Some(format!("an operand is `{shape}` where an array is due"));
            ArrayLiteral::scalar(0u8)
        }
        None => {
            failure = Some(format!("{N} operands are due, {count} are given"));
            ArrayLiteral::scalar(0u8)
        }
    });
    match failure {
        None if count == N => Ok(arrays),
        None => Err(Error::invalid_argument(format!("{N} operands are due, {count} are given"))),
        Some(message) => Err(Error::invalid_argument(message)),
    }
}

/// The operands, which must be arrays.
pub(crate) fn arrays(operands: Vec<Literal>) -> Result<Vec<ArrayLiteral>> {
    operands
        .into_iter()
        .map(|operand| match operand {
            Literal::Array(array) => Ok(array),
            other => Err(Error::invalid_argument(format!(
                "an operand is `{}` where an array is due",
                other.shape()
            ))),
        })
        .collect()
}

/// One result, or several as a tuple, as the shape asks.
pub(crate) fn results(shape: &Shape, values: Vec<ArrayLiteral>) -> Literal {
    let mut values: Vec<Literal> = values.into_iter().map(Literal::Array).collect();
    match shape {
        Shape::Tuple(_) => Literal::Tuple(values),
        Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => values.swap_remove(0),
    }
}

fn element(operands: Vec<Literal>, index: usize) -> Result<Literal> {
    match operands.into_iter().next() {
        Some(Literal::Tuple(mut elements)) if index < elements.len() => {
            Ok(elements.swap_remove(index))
        }
        _ => Err(Error::invalid_argument("the operand is not what the start of this op gives")),
    }
}

pub(crate) fn array_shape(shape: &Shape) -> Result<&ArrayShape> {
    shape
        .as_array()
        .ok_or_else(|| Error::invalid_argument(format!("`{shape}` where an array is due")))
}

/// The one dimension that an attribute of ops like `concatenate` holds.
pub(crate) fn one_dimension(dimensions: &[i64]) -> Result<usize> {
    match dimensions {
        [dimension] => Ok(*dimension as usize),
        _ => Err(Error::invalid_argument(format!(
            "{} dimensions are named where one is due",
            dimensions.len()
        ))),
    }
}
