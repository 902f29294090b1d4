//! What each collective makes of the values that its members bring. The start of an asynchronous
//! form does all the work; its end only hands the result on.

use std::sync::{Arc, PoisonError};

use rxla_base::{Error, Result};
use rxla_hlo::op::SliceDimension;
use rxla_hlo::{ArrayLiteral, ArrayShape, ComputationId, InstructionId, Literal, Op, Shape};

use super::rendezvous::{Common, Contribution, Places};
use crate::context::{Context, place};
use crate::dispatch::{arrays, one_dimension, results};
use crate::lift::apply;
use crate::movement::{concatenate, slice};

/// Runs a collective.
pub(crate) fn evaluate(
    cx: &Context<'_>,
    id: InstructionId,
    operands: Vec<Literal>,
) -> Result<Literal> {
    let shape = &cx.module[id].shape;
    match &cx.module[id].op {
        Op::AllGather(op) => {
            let met = Met::new(cx, id, operands)?;
            Ok(results(shape, all_gather(&met, one_dimension(&op.dimensions)?)?))
        }
        Op::AllGatherStart(op) => {
            let met = Met::new(cx, id, operands.clone())?;
            let gathered = all_gather(&met, one_dimension(&op.dimensions)?)?;
            if shape.as_array().is_some() {
                return Ok(single_or_tuple_of(gathered));
            }
            Ok(Literal::Tuple(vec![single_or_tuple(operands), single_or_tuple_of(gathered)]))
        }
        Op::AllReduce(op) => {
            if cx.collectives.is_alone() {
                return Ok(single_or_tuple(operands));
            }
            let met = Met::new(cx, id, operands)?;
            Ok(results(shape, all_reduce(cx, &met, op.to_apply)?))
        }
        Op::AllReduceStart(op) => {
            let both = operands.len() == 1 && shape.as_tuple().is_some();
            let operand = both.then(|| operands[0].clone());
            let result = if cx.collectives.is_alone() {
                single_or_tuple(operands)
            } else {
                let met = Met::new(cx, id, operands)?;
                single_or_tuple_of(all_reduce(cx, &met, op.to_apply)?)
            };
            Ok(match operand {
                Some(operand) => Literal::Tuple(vec![operand, result]),
                None => result,
            })
        }
        Op::ReduceScatter(op) => {
            let met = Met::new(cx, id, operands)?;
            let dimension = one_dimension(&op.dimensions)?;
            // No member reduces more than its part.
            let scatter = |operand| {
                let wholes = met.operand(operand)?;
                let parts = wholes.iter().map(|whole| part(whole, dimension, met.own, met.len()));
                reduce(cx, op.to_apply, parts.collect::<Result<_>>()?)
            };
            let parts = (0..met.operand_count()).map(scatter);
            Ok(results(shape, parts.collect::<Result<_>>()?))
        }
        Op::AllToAll(op) => {
            let met = Met::new(cx, id, operands)?;
            all_to_all(&met, &op.dimensions)
        }
        Op::CollectiveBroadcast(op) => {
            if op.has_dynamic_root {
                return Err(Error::unimplemented("`collective-broadcast` with a dynamic root"));
            }
            let met = Met::new(cx, id, operands)?;
            Ok(single_or_tuple(met.values[0].to_vec()))
        }
        Op::CollectivePermute(op) => {
            permute(cx, id, &op.source_target_pairs, &op.slice_sizes, operands)
        }
        Op::CollectivePermuteStart(op) => {
            let (pairs, sizes) = (&op.source_target_pairs, &op.slice_sizes);
            let result = permute(cx, id, pairs, sizes, operands.clone())?;
            if shape.as_array().is_some() {
                return Ok(result);
            }
            let context = Literal::scalar(0u32);
            Ok(Literal::Tuple(vec![single_or_tuple(operands), result, context.clone(), context]))
        }
        Op::RaggedAllToAll(_) => {
            let met = Met::new(cx, id, operands)?;
            super::ragged::ragged_all_to_all(&met)
        }
        other => Err(Error::internal(format!("`{}` is no collective", other.name()))),
    }
}

/// The devices that meet at a collective.
pub struct Group {
    /// Their numbers, in the order of the group.
    pub members: Vec<usize>,
    /// Which of them this device is.
    pub own: usize,
}

impl Group {
    /// Has devices meet whose arrays stay where they are: `work` gets everybody's places, and which of them
    /// are this device's. See [`Collectives::meet_in_place`].
    pub(crate) fn meet_in_place(
        &self,
        cx: &Context<'_>,
        id: InstructionId,
        places: Places,
        work: impl FnOnce(&[Arc<Places>], usize),
    ) -> Result<()> {
        let (device, place) = (self.members[self.own], place(cx.module, id));
        let work = |all: &[Arc<Places>]| work(all, self.own);
        cx.collectives.meet_in_place(device, id, &place, &self.members, places, work)
    }

    /// The group of a collective that this device is in.
    pub(crate) fn at(cx: &Context<'_>, id: InstructionId) -> Result<Group> {
        let (all, op) = (cx.collectives, &cx.module[id].op);
        let Some(participants) = op.participants() else {
            return Err(Error::internal(format!("`{}` is no collective", op.name())));
        };
        let groups = participants.devices(all.replica_count, all.partition_count);
        let device = all.number(cx.device);
        let own_group = |members: Vec<usize>| {
            let own = members.iter().position(|&member| member == device)?;
            Some(Group { members, own })
        };
        groups
            .map_err(Error::invalid_argument)?
            .into_iter()
            .find_map(own_group)
            .ok_or_else(|| Error::invalid_argument(format!("{} is in no group", all.name(device))))
    }
}

/// A meeting that took place.
pub(super) struct Met {
    /// What each member brought.
    pub(super) values: Vec<Contribution>,
    /// Which of them this device is.
    pub(super) own: usize,
    common: Option<Common>,
}

impl Met {
    fn new(cx: &Context<'_>, id: InstructionId, operands: Vec<Literal>) -> Result<Met> {
        let Group { members, own } = Group::at(cx, id)?;
        let (device, place) = (members[own], place(cx.module, id));
        let (values, common) = cx.collectives.meet(device, id, &place, &members, operands)?;
        Ok(Met { values, own, common })
    }

    /// What every member makes of the values alike: one does it for all.
    fn once(&self, make: impl FnOnce() -> Result<Vec<ArrayLiteral>>) -> Result<Vec<ArrayLiteral>> {
        match &self.common {
            None => make(),
            Some(common) => {
                let mut common = common.lock().unwrap_or_else(PoisonError::into_inner);
                common.get_or_insert_with(make).clone()
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Operand `index` of every member.
    pub(super) fn operand(&self, index: usize) -> Result<Vec<ArrayLiteral>> {
        arrays(self.values.iter().map(|value| value[index].clone()).collect())
    }

    fn operand_count(&self) -> usize {
        self.values[self.own].len()
    }
}

fn single_or_tuple(mut values: Vec<Literal>) -> Literal {
    if values.len() == 1 { values.swap_remove(0) } else { Literal::Tuple(values) }
}

fn single_or_tuple_of(values: Vec<ArrayLiteral>) -> Literal {
    single_or_tuple(values.into_iter().map(Literal::Array).collect())
}

fn all_gather(met: &Met, dimension: usize) -> Result<Vec<ArrayLiteral>> {
    let gather = |operand| concatenate(&met.operand(operand)?, dimension);
    met.once(|| (0..met.operand_count()).map(gather).collect())
}

fn all_reduce(cx: &Context<'_>, met: &Met, to_apply: ComputationId) -> Result<Vec<ArrayLiteral>> {
    let reduce = |operand| reduce(cx, to_apply, met.operand(operand)?);
    met.once(|| (0..met.operand_count()).map(reduce).collect())
}

/// Members' values combined in the order of the group.
fn reduce(
    cx: &Context<'_>,
    to_apply: ComputationId,
    values: Vec<ArrayLiteral>,
) -> Result<ArrayLiteral> {
    let mut values = values.into_iter();
    let mut sum = values.next().ok_or_else(|| Error::internal("an empty group"))?;
    let (shape, n) = (sum.shape().clone(), sum.len());
    for value in values {
        let combined = apply(cx, to_apply, vec![sum, value], n)?;
        [sum] = crate::lift::take(combined)?;
    }
    sum.with_shape(&shape)
}

/// Part `index` of `count` along a dimension.
fn part(
    whole: &ArrayLiteral,
    dimension: usize,
    index: usize,
    count: usize,
) -> Result<ArrayLiteral> {
    let size = whole.dims()[dimension];
    if size % count as i64 != 0 {
        return Err(Error::invalid_argument(format!(
            "dimension {dimension} of `{}` cannot be split into {count} parts",
            whole.shape()
        )));
    }
    let step = size / count as i64;
    let mut slices: Vec<SliceDimension> =
        whole.dims().iter().map(|&limit| SliceDimension { start: 0, limit, stride: 1 }).collect();
    let start = index as i64 * step;
    slices[dimension] = SliceDimension { start, limit: start + step, stride: 1 };
    slice(whole, &slices)
}

/// With a dimension, parts along it change places; without, operands do.
fn all_to_all(met: &Met, dimensions: &[i64]) -> Result<Literal> {
    if dimensions.is_empty() {
        if met.operand_count() != met.len() {
            return Err(Error::invalid_argument(format!(
                "`all-to-all` of {} operands among {} devices",
                met.operand_count(),
                met.len()
            )));
        }
        return Ok(Literal::Tuple(met.values.iter().map(|value| value[met.own].clone()).collect()));
    }
    let dimension = one_dimension(dimensions)?;
    let exchanged = (0..met.operand_count())
        .map(|operand| {
            let parts = met
                .operand(operand)?
                .iter()
                .map(|whole| part(whole, dimension, met.own, met.len()))
                .collect::<Result<Vec<_>>>()?;
            concatenate(&parts, dimension)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(single_or_tuple_of(exchanged))
}

/// Each target gets its source's operands; who is no target gets zeros.
fn permute(
    cx: &Context<'_>,
    id: InstructionId,
    pairs: &[(i64, i64)],
    slice_sizes: &[rxla_hlo::Dims],
    operands: Vec<Literal>,
) -> Result<Literal> {
    if !slice_sizes.is_empty() {
        return Err(Error::unimplemented("`collective-permute` of slices in place"));
    }
    // All replicas or all partitions meet, each at the place of its number.
    let met = Met::new(cx, id, operands)?;
    let own = met.own as i64;
    let source = pairs.iter().find(|(_, target)| *target == own).map(|(source, _)| *source);
    let values = match source {
        Some(source) => {
            let source = usize::try_from(source).ok().and_then(|source| met.values.get(source));
            let source = source.ok_or_else(|| {
                Error::invalid_argument("`collective-permute` names a source that does not exist")
            })?;
            source.to_vec()
        }
        None => met.values[met.own].iter().map(zeros_like).collect::<Result<_>>()?,
    };
    Ok(single_or_tuple(values))
}

fn zeros_like(value: &Literal) -> Result<Literal> {
    let shape: Shape = value.shape();
    match &shape {
        Shape::Array(array) => {
            let shape = ArrayShape::new(array.element_type, array.dims.iter().copied());
            Ok(ArrayLiteral::zeros(&shape)?.into())
        }
        other => Literal::zeros(other),
    }
}
