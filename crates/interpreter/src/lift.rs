//! Computations of scalars evaluated for many elements at once.
//!
//! A reducer, comparator or mapped function of scalars is run with arrays `[n]` in place of its
//! scalar parameters, so that each of its instructions runs once over all elements instead of once
//! per element. Values that do not depend on the parameters stay scalars until they meet an array.
//! A computation with anything but elementwise ops is run element by element.

use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ArrayShape, ComputationId, InstructionId, Literal, Module, Op};

use crate::context::Context;
use crate::elementwise;
use crate::movement::{fill, to_i64s};
use crate::plan::Plans;

/// Runs `computation` for `n` elements: each argument is an array `[n]`, and so is each result.
pub(crate) fn apply(
    cx: &Context<'_>,
    computation: ComputationId,
    arguments: Vec<ArrayLiteral>,
    n: usize,
) -> Result<Vec<ArrayLiteral>> {
    let results = if cx.plans.liftable(cx.module, computation) {
        let arguments = arguments.into_iter().map(|a| flat(a, n)).collect::<Result<_>>()?;
        run(cx, computation, arguments)?
    } else {
        run_one_by_one(cx, computation, &arguments, n)?
    };
    leaves(results).into_iter().map(|result| spread(result, n)).collect()
}

fn flat(argument: ArrayLiteral, n: usize) -> Result<Literal> {
    let shape = ArrayShape::new(argument.element_type(), [n as i64]);
    Ok(Literal::Array(argument.with_shape(&shape)?))
}

fn leaves(value: Literal) -> Vec<ArrayLiteral> {
    match value {
        Literal::Array(array) => vec![array],
        Literal::Tuple(elements) => elements.into_iter().flat_map(leaves).collect(),
        Literal::Token => Vec::new(),
    }
}

/// A scalar repeated; an array as it is.
fn spread(value: ArrayLiteral, n: usize) -> Result<ArrayLiteral> {
    if value.dims().is_empty() { fill(&value, &[n as i64]) } else { Ok(value) }
}

pub(crate) fn is_liftable(
    plans: &Plans,
    module: &Module,
    computation: ComputationId,
    depth: u32,
) -> bool {
    module[computation].instructions().iter().all(|&id| {
        let instruction = &module[id];
        let scalars = instruction
            .shape
            .leaves()
            .iter()
            .all(|(_, leaf)| leaf.as_array().is_some_and(|array| array.rank() == 0));
        scalars && is_liftable_op(plans, module, id, depth + 1)
    })
}

fn is_liftable_op(plans: &Plans, module: &Module, id: InstructionId, depth: u32) -> bool {
    match &module[id].op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select(_)
        | Op::Clamp(_)
        | Op::Convert(_)
        | Op::BitcastConvert(_)
        | Op::ReducePrecision(_)
        | Op::StochasticConvert(_)
        | Op::Tuple(_)
        | Op::GetTupleElement(_)
        | Op::Parameter(_)
        | Op::Constant(_)
        | Op::OptimizationBarrier(_)
        | Op::Copy(_) => true,
        // Of a scalar to a scalar.
        Op::Broadcast(_) | Op::Reshape(_) | Op::Bitcast(_) | Op::Transpose(_) => {
            let operand = module[id].operands()[0];
            let array = |i: InstructionId| module[i].shape.as_array();
            array(operand).is_some_and(|from| {
                from.rank() == 0 && array(id).is_some_and(|to| to.element_type == from.element_type)
            })
        }
        Op::Call(call) => plans.liftable_at(module, call.to_apply, depth),
        Op::Fusion(fusion) => plans.liftable_at(module, fusion.calls, depth),
        Op::Map(map) => plans.liftable_at(module, map.to_apply, depth),
        // All branches are run and the results chosen from: they have no effects.
        Op::Conditional(op) => {
            op.branch_computations.iter().all(|&branch| plans.liftable_at(module, branch, depth))
        }
        _ => false,
    }
}

fn run(cx: &Context<'_>, computation: ComputationId, arguments: Vec<Literal>) -> Result<Literal> {
    cx.run_steps(computation, arguments, |cx, id, operands| {
        step(cx, id, operands).map_err(|error| cx.located(error, id))
    })
}

fn step(cx: &Context<'_>, id: InstructionId, operands: Vec<Literal>) -> Result<Literal> {
    let n = operands.iter().find_map(|operand| match operand {
        Literal::Array(array) if !array.dims().is_empty() => Some(array.len()),
        _ => None,
    });
    let op = &cx.module[id].op;
    let shape = &cx.module[id].shape;
    // Operands of an elementwise op, all of the same size.
    let arrays = |operands: Vec<Literal>| -> Result<Vec<ArrayLiteral>> {
        operands
            .into_iter()
            .map(|operand| match (operand, n) {
                (Literal::Array(array), Some(n)) => spread(array, n),
                (Literal::Array(array), None) => Ok(array),
                (Literal::Tuple(_) | Literal::Token, _) => {
                    Err(Error::internal("an elementwise op of a tuple"))
                }
            })
            .collect()
    };
    let element_type = || shape.as_array().expect("an array").element_type;
    match op {
        Op::Tuple(_) => Ok(Literal::Tuple(operands)),
        Op::GetTupleElement(element) => match operands.into_iter().next() {
            Some(Literal::Tuple(mut elements)) => Ok(elements.swap_remove(element.index as usize)),
            _ => Err(Error::internal("an element of what is no tuple")),
        },
        Op::Broadcast(_)
        | Op::Reshape(_)
        | Op::Bitcast(_)
        | Op::Transpose(_)
        | Op::Copy(_)
        | Op::OptimizationBarrier(_) => Ok(operands.into_iter().next().expect("one operand")),
        Op::Call(call) => run(cx, call.to_apply, operands),
        Op::Fusion(fusion) => run(cx, fusion.calls, operands),
        Op::Map(map) => run(cx, map.to_apply, operands),
        Op::Conditional(op) => choose(cx, &op.branch_computations, operands),
        Op::BitcastConvert(_) => {
            let [operand] = take(arrays(operands)?)?;
            let dims = operand.dims().clone();
            let shape = ArrayShape::new(element_type(), dims);
            elementwise::bitcast_convert(operand, &shape).map(Literal::Array)
        }
        _ => {
            let operands = arrays(operands)?.into_iter().map(Literal::Array).collect();
            crate::dispatch::elementwise(op, element_type(), operands).map(Literal::Array)
        }
    }
}

/// As many operands as the op takes.
pub(crate) fn take<const N: usize, T>(operands: Vec<T>) -> Result<[T; N]> {
    let count = operands.len();
    operands
        .try_into()
        .map_err(|_| Error::invalid_argument(format!("{N} operands are due, {count} are given")))
}

/// A conditional: what each branch gives, chosen per element.
fn choose(cx: &Context<'_>, branches: &[ComputationId], operands: Vec<Literal>) -> Result<Literal> {
    let mut operands = operands.into_iter();
    let Some(Literal::Array(index)) = operands.next() else {
        return Err(Error::internal("a conditional without its index"));
    };
    let results: Vec<Literal> = branches
        .iter()
        .zip(operands)
        .map(|(&branch, operand)| run(cx, branch, vec![operand]))
        .collect::<Result<_>>()?;
    let is_scalar = index.dims().is_empty();
    let is_predicate = index.element_type() == rxla_hlo::ElementType::Pred;
    let last = branches.len() as i64 - 1;
    // The number of the branch; out of range means the last one.
    let index: Vec<i64> = to_i64s(&index)?
        .into_iter()
        .map(|i| {
            if is_predicate {
                1 - i
            } else if (0..=last).contains(&i) {
                i
            } else {
                last
            }
        })
        .collect();
    if is_scalar {
        return Ok(results.into_iter().nth(index[0] as usize).expect("a branch per index"));
    }
    let n = index.len();
    let columns: Vec<Vec<ArrayLiteral>> = results
        .iter()
        .map(|result| leaves(result.clone()).into_iter().map(|leaf| spread(leaf, n)).collect())
        .collect::<Result<_>>()?;
    let count = columns[0].len();
    let mut chosen = Vec::with_capacity(count);
    for leaf in 0..count {
        let mut result = columns[0][leaf].clone();
        let width = result.element_type().byte_width();
        let bytes = result.bytes_mut();
        for (element, &branch) in index.iter().enumerate() {
            let range = element * width..(element + 1) * width;
            bytes[range.clone()].copy_from_slice(&columns[branch as usize][leaf].bytes()[range]);
        }
        chosen.push(Literal::Array(result));
    }
    Ok(rebuild(&results[0], &mut chosen.into_iter()))
}

fn rebuild(like: &Literal, leaves: &mut impl Iterator<Item = Literal>) -> Literal {
    match like {
        Literal::Array(_) => leaves.next().expect("as many leaves"),
        Literal::Tuple(elements) => {
            Literal::Tuple(elements.iter().map(|element| rebuild(element, leaves)).collect())
        }
        Literal::Token => Literal::Token,
    }
}

fn run_one_by_one(
    cx: &Context<'_>,
    computation: ComputationId,
    arguments: &[ArrayLiteral],
    n: usize,
) -> Result<Literal> {
    let root = cx.module[computation].root();
    let mut results = Vec::new();
    for (_, leaf) in cx.module[root].shape.leaves() {
        let Some(array) = leaf.as_array() else {
            return Err(Error::invalid_argument("a function of scalars that returns a token"));
        };
        results.push(ArrayLiteral::zeros(&ArrayShape::new(array.element_type, [n as i64]))?);
    }
    for element in 0..n {
        let scalars = arguments
            .iter()
            .map(|argument| {
                let width = argument.element_type().byte_width();
                let mut scalar = ArrayLiteral::zeros(&ArrayShape::scalar(argument.element_type()))?;
                scalar.bytes_mut().copy_from_slice(&argument.bytes()[element * width..][..width]);
                Ok(Literal::Array(scalar))
            })
            .collect::<Result<_>>()?;
        let values = leaves(cx.run(computation, scalars)?);
        for (result, value) in results.iter_mut().zip(values) {
            let width = value.element_type().byte_width();
            result.bytes_mut()[element * width..][..width].copy_from_slice(value.bytes());
        }
    }
    Ok(Literal::Tuple(results.into_iter().map(Literal::Array).collect()))
}

/// Computes one instruction of a computation of elementwise ops, for `n` elements: `arguments` are
/// the values of its computation's parameters.
pub(crate) fn apply_expression(
    cx: &Context<'_>,
    root: InstructionId,
    arguments: &[ArrayLiteral],
    n: usize,
) -> Result<ArrayLiteral> {
    fn value(
        cx: &Context<'_>,
        id: InstructionId,
        arguments: &[ArrayLiteral],
        n: usize,
        known: &mut rustc_hash::FxHashMap<InstructionId, Literal>,
    ) -> Result<Literal> {
        if let Some(value) = known.get(&id) {
            return Ok(value.clone());
        }
        let result = match &cx.module[id].op {
            Op::Parameter(parameter) => flat(arguments[parameter.number as usize].clone(), n)?,
            Op::Constant(constant) => crate::plan::without_layout(&constant.literal),
            _ => {
                let operands = cx.module[id].operands().iter();
                let operands = operands
                    .map(|&operand| value(cx, operand, arguments, n, known))
                    .collect::<Result<_>>()?;
                step(cx, id, operands).map_err(|error| cx.located(error, id))?
            }
        };
        known.insert(id, result.clone());
        Ok(result)
    }
    match value(cx, root, arguments, n, &mut rustc_hash::FxHashMap::default())? {
        Literal::Array(array) => spread(array, n),
        Literal::Tuple(_) | Literal::Token => Err(Error::internal("an expression of an array")),
    }
}
