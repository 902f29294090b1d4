//! Ops that talk between replicas and partitions.

use super::check::{
    Result, agree, array, arrays, callee, dimension, ensure, error, multiply, one_dimension,
    one_or_tuple, resized, same_sizes,
};
use super::reduce::{reducer, types};
use crate::op::{CollectiveBroadcast, CollectiveGroupMode};
use crate::{ArrayShape, ComputationId, Dims, ElementType, Module, Op, Shape};

/// How many take part in one instance of a collective, if groups or module say it.
fn group_size(module: &Module, op: &Op) -> Result<Option<i64>> {
    let Some(participants) = op.participants() else { return Ok(None) };
    let config = &module.config;
    let (replicas, partitions) = (config.replica_count.max(1), config.num_partitions.max(1));
    let mode = participants.mode().map_err(error)?;
    let size = match (participants.groups.group_size().map_err(error)?, mode) {
        (Some(size), CollectiveGroupMode::CrossReplicaAndPartition) => multiply(size, partitions)?,
        (
            Some(size),
            CollectiveGroupMode::CrossReplica
            | CollectiveGroupMode::CrossPartition
            | CollectiveGroupMode::FlattenedId,
        ) => size,
        (None, CollectiveGroupMode::CrossReplica) => replicas,
        (None, CollectiveGroupMode::CrossPartition) => partitions,
        (
            None,
            CollectiveGroupMode::CrossReplicaAndPartition | CollectiveGroupMode::FlattenedId,
        ) => multiply(replicas, partitions)?,
    };
    // One participant is what a module says that was not told how many there are.
    Ok((size > 1).then_some(size))
}

/// The array that a declared result says for operand `index` of `count`.
fn declared_part(declared: Option<&Shape>, index: usize, count: usize) -> Option<&ArrayShape> {
    let declared = declared?;
    let part = if count == 1 { declared } else { declared.as_tuple()?.get(index)? };
    part.as_array()
}

pub(super) fn all_gather(
    module: &Module,
    op: &Op,
    along: &Dims,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let operands = arrays(operands, "operand")?;
    let mut size = group_size(module, op)?;
    let mut results = Vec::with_capacity(operands.len());
    for (index, operand) in operands.iter().enumerate() {
        let along = one_dimension(along, operand.rank(), "(C1) `dimensions`")?;
        let whole = declared_part(declared, index, operands.len())
            .and_then(|shape| shape.dims.get(along).copied());
        let factor = *size.get_or_insert_with(|| match whole {
            Some(whole) if operand.dims[along] > 0 && whole % operand.dims[along] == 0 => {
                whole / operand.dims[along]
            }
            Some(_) | None => 1,
        });
        let whole = multiply(operand.dims[along], factor)?;
        results.push(resized(operand, along, whole).into());
    }
    Ok(one_or_tuple(results))
}

/// `(operands, results)`, each one array or a tuple of them.
pub(super) fn all_gather_start(
    module: &Module,
    op: &Op,
    along: &Dims,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let results = declared.and_then(Shape::as_tuple).and_then(|parts| parts.get(1));
    let results = all_gather(module, op, along, operands, results)?;
    let operands = one_or_tuple(operands.iter().map(|&operand| operand.clone()).collect());
    Ok(Shape::tuple([operands, results]))
}

/// Whether the start of a collective of one array is declared in the form of another collective, as
/// XLA's importers take it: the result alone where operand and result are due, or both where the
/// result alone is due.
pub(super) fn other_form(op: &Op, operands: &[&Shape], inferred: &Shape, declared: &Shape) -> bool {
    match (op, operands) {
        (Op::AllGatherStart(_) | Op::CollectivePermuteStart(_), [_]) => {
            second_part(inferred).is_ok_and(|result| agree(&result, declared))
        }
        (Op::AllReduceStart(_), [operand]) => {
            agree(declared, &Shape::tuple([(*operand).clone(), inferred.clone()]))
        }
        (_other, _) => false,
    }
}

/// What is waited for: part 1 of what the start gives, or all of it where the start says its result
/// alone.
pub(super) fn done(operand: &Shape) -> Result<Shape> {
    match operand {
        Shape::Array(_) => Ok(operand.clone()),
        Shape::Tuple(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque => second_part(operand),
    }
}

/// The same for `all-reduce-done`: its start gives all results, or operand and result. Which one it
/// is, `declared` tells.
pub(super) fn all_reduce_done(operand: &Shape, declared: Option<&Shape>) -> Shape {
    match (operand.as_tuple(), declared) {
        (Some([first, result]), Some(declared @ Shape::Array(_)))
            if agree(first, result) && agree(result, declared) =>
        {
            result.clone()
        }
        _whole => operand.clone(),
    }
}

/// Part 1 of what the start gives.
pub(super) fn second_part(operand: &Shape) -> Result<Shape> {
    match operand.as_tuple() {
        Some([_, result, ..]) => Ok(result.clone()),
        Some(_) | None => {
            Err(error(format!("the operand has to come from the start op, but is `{operand}`")))
        }
    }
}

pub(super) fn all_reduce(
    module: &Module,
    to_apply: ComputationId,
    operands: &[&Shape],
) -> Result<Shape> {
    let operands = arrays(operands, "operand")?;
    combiner(module, to_apply, &operands)?;
    Ok(one_or_tuple(operands.iter().map(|operand| operand.without_layout().into()).collect()))
}

/// The computation of a reducing collective combines two scalars, or a pair for each operand.
fn combiner(module: &Module, to_apply: ComputationId, operands: &[&ArrayShape]) -> Result<()> {
    let callee = callee(module, to_apply, "`to_apply`")?;
    if callee.parameters.len() == 2 {
        // One computation for all operands; its own type says what it adds up in.
        if let [operand] = operands {
            let element = [operand.element_type];
            reducer(&callee, &element, &element, "(C5)")?;
        } else {
            let accumulator = callee.parameters[0].as_array().map(|shape| shape.element_type);
            let element = [accumulator.unwrap_or(ElementType::Pred)];
            reducer(&callee, &element, &element, "(C5)")?;
        }
        return Ok(());
    }
    let elements = types(operands);
    reducer(&callee, &elements, &elements, "(C5)")?;
    Ok(())
}

pub(super) fn reduce_scatter(
    module: &Module,
    op: &Op,
    to_apply: ComputationId,
    along: &Dims,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let operands = arrays(operands, "operand")?;
    combiner(module, to_apply, &operands)?;
    let mut size = group_size(module, op)?;
    let mut results = Vec::with_capacity(operands.len());
    for (index, operand) in operands.iter().enumerate() {
        let along = one_dimension(along, operand.rank(), "(C2) `dimensions`")?;
        let whole = operand.dims[along];
        let part = declared_part(declared, index, operands.len())
            .and_then(|shape| shape.dims.get(along).copied());
        let factor = *size.get_or_insert_with(|| match part {
            Some(part) if part > 0 && whole % part == 0 => whole / part,
            Some(_) | None => 1,
        });
        if whole == ArrayShape::UNBOUNDED {
            results.push(operand.without_layout().into());
            continue;
        }
        ensure!(
            factor > 0 && whole % factor == 0,
            "(C1) dimension {along} of `{operand}` does not divide among {factor} participants"
        );
        results.push(resized(operand, along, whole / factor).into());
    }
    Ok(one_or_tuple(results))
}

pub(super) fn all_to_all(
    module: &Module,
    op: &Op,
    along: &Dims,
    operands: &[&Shape],
) -> Result<Shape> {
    let size = group_size(module, op)?;
    let operands = arrays(operands, "operand")?;
    let first = operands[0];
    if along.is_empty() {
        for operand in &operands {
            ensure!(
                operand.element_type == first.element_type && same_sizes(operand, first),
                "operands differ: `{first}` and `{operand}`"
            );
        }
        if let Some(size) = size {
            ensure!(
                operands.len() as i64 == size,
                "(C8) there are {} operands for {size} participants",
                operands.len()
            );
        }
        return Ok(Shape::tuple(operands.iter().map(|operand| operand.without_layout().into())));
    }
    ensure!(operands.len() == 1, "with `dimensions` there is one operand, not {}", operands.len());
    let along = one_dimension(along, first.rank(), "(C1) `dimensions`")?;
    let size = size.unwrap_or(1);
    let whole = first.dims[along];
    ensure!(
        whole == ArrayShape::UNBOUNDED || whole % size == 0,
        "(C2) dimension {along} of `{first}` does not divide among {size} participants"
    );
    Ok(first.without_layout().into())
}

pub(super) fn collective_broadcast(op: &CollectiveBroadcast, operands: &[&Shape]) -> Result<Shape> {
    let arrays = arrays(operands, "operand")?;
    let mut data = &arrays[..];
    if op.has_dynamic_root {
        let Some((root, rest)) = arrays.split_last() else {
            return Err(error("(C4) there is no operand that says the root"));
        };
        ensure!(
            !rest.is_empty() && root.element_type.is_integer(),
            "(C4) the last operand has to say the root, but is `{root}`"
        );
        data = rest;
    }
    Ok(one_or_tuple(data.iter().map(|operand| operand.without_layout().into()).collect()))
}

/// In the form that updates in place, operands are input, output and where in each.
pub(super) fn is_in_place(slice_sizes: &[Dims], operands: &[&Shape]) -> bool {
    !slice_sizes.is_empty()
        || (operands.len() == 4
            && operands[2].as_tuple().is_some()
            && operands[3].as_tuple().is_some())
}

pub(super) fn collective_permute(slice_sizes: &[Dims], operands: &[&Shape]) -> Result<Shape> {
    if is_in_place(slice_sizes, operands) {
        ensure!(
            operands.len() == 4,
            "in place, there are 4 operands (input, output, and offsets of each), not {}",
            operands.len()
        );
        return Ok(operands[1].clone());
    }
    arrays(operands, "operand")?;
    Ok(one_or_tuple(operands.iter().map(|operand| operand.without_layout()).collect()))
}

/// `(input, output, contexts…)`; only the backend knows the contexts.
pub(super) fn collective_permute_start(
    slice_sizes: &[Dims],
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let (input, output) = if is_in_place(slice_sizes, operands) {
        (operands[0].clone(), collective_permute(slice_sizes, operands)?)
    } else if operands.len() == 1 {
        array(operands[0], "the operand")?;
        (operands[0].clone(), operands[0].clone())
    } else {
        let all = Shape::tuple(operands.iter().map(|&operand| operand.clone()));
        (all.clone(), all)
    };
    let contexts = declared.and_then(Shape::as_tuple).and_then(|parts| parts.get(2..));
    let parts = [input, output].into_iter().chain(contexts.unwrap_or_default().iter().cloned());
    Ok(Shape::tuple(parts))
}

pub(super) fn ragged_all_to_all(along: &Dims, operands: &[&Shape]) -> Result<Shape> {
    let result = array(operands[1], "operand 1")?;
    for pair in operands[2..].windows(2) {
        let first = array(pair[0], "each offset and size operand")?;
        ensure!(
            matches!(first.rank(), 1 | 2) && first.element_type.is_integer(),
            "offsets and sizes have to be integers of rank 1 or 2, but are `{first}`"
        );
        ensure!(agree(pair[0], pair[1]), "offsets and sizes differ: `{first}` and `{}`", pair[1]);
    }
    if let [number] = along[..] {
        dimension(number, result.rank(), "`dimensions`")?;
    }
    Ok(result.without_layout().into())
}
