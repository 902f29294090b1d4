//! Collective operations.

use rxla_hlo::ComputationId;
use rxla_hlo::op::{
    AllGather, AllGatherStart, AllReduce, AllReduceStart, AllToAll, CollectiveBroadcast,
    CollectiveGroupMode, CollectivePermute, CollectivePermuteStart, ReduceScatter, ReplicaGroups,
};

use super::attributes::Declared;
use super::control::tuple;
use super::exporter::{Exported, Exporter, Result, Scope, View};
use super::types;
use crate::mlir::Attribute;

/// StableHLO's number for a channel between devices.
const DEVICE_TO_DEVICE: i64 = 1;

pub(super) fn channel(channel_id: Option<i64>, ty: i64) -> Option<Attribute> {
    channel_id.map(|handle| Attribute::ChannelHandle { handle, ty })
}

/// Groups as a matrix, filled up with -1.
fn groups(view: View<'_>, groups: &ReplicaGroups) -> Result<Attribute> {
    let rows = groups.expand().map_err(|reason| view.error(reason))?;
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut values = Vec::with_capacity(rows.len() * columns);
    for row in &rows {
        values.extend_from_slice(row);
        values.resize(values.len() + columns - row.len(), -1);
    }
    let matrix = types::matrix(rows.len() as i64, columns as i64, &values);
    matrix.ok_or_else(|| view.error("has groups that are no matrix"))
}

/// The groups' meaning follows from the channel and from whether ids are global.
fn check_mode(view: View<'_>, mode: Option<CollectiveGroupMode>) -> Result {
    match mode {
        None => Ok(()),
        Some(mode) => Err(view.unimplemented(format_args!("with mode `{mode}` has no form"))),
    }
}

fn common(
    view: View<'_>,
    channel_id: Option<i64>,
    replica_groups: &ReplicaGroups,
) -> Result<Declared> {
    Ok(Declared::new()
        .with("replica_groups", groups(view, replica_groups)?)
        .maybe("channel_handle", channel(channel_id, DEVICE_TO_DEVICE)))
}

/// A flag whose presence says it.
fn flag(attributes: Declared, name: &'static str, value: bool) -> Declared {
    attributes.maybe(name, value.then_some(Attribute::Unit))
}

fn only(view: View<'_>, dimensions: &[i64]) -> Result<i64> {
    match dimensions {
        &[dimension] => Ok(dimension),
        _ => {
            Err(view
                .unimplemented(format_args!("with {} dimensions has no form", dimensions.len())))
        }
    }
}

pub(super) fn all_gather<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &AllGather,
) -> Result<Exported> {
    let attributes = common(view, op.channel_id, &op.replica_groups)?
        .integer("all_gather_dim", only(view, &op.dimensions)?);
    let attributes = flag(attributes, "use_global_device_ids", op.use_global_device_ids);
    cx.add_alike(scope, view, "stablehlo.all_gather", attributes)
}

/// The shape is that of operand and result; the operation is done at once.
pub(super) fn all_gather_start<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &AllGatherStart,
) -> Result<Exported> {
    let attributes = common(view, op.channel_id, &op.replica_groups)?
        .integer("all_gather_dim", only(view, &op.dimensions)?);
    let attributes = flag(attributes, "use_global_device_ids", op.use_global_device_ids);
    started(cx, scope, view, "stablehlo.all_gather", attributes)
}

/// An operation whose shape holds operands and then results.
fn started<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    name: &str,
    attributes: Declared,
) -> Result<Exported> {
    let Some(shape) = view.shape().subshape(&[1]) else {
        return Err(view.error("has a shape without result"));
    };
    let operands = cx.values(scope, view)?;
    let types = cx.result_types(view, shape)?;
    let (op, results) = cx.add_operation(scope.block, view, name, &operands, types, attributes)?;
    cx.annotate(op, view);
    let result = cx.unpacked_results(shape, &results);
    let before = match operands.len() {
        1 => cx.operand(scope, view, 0)?,
        _ => tuple(cx, scope, view)?,
    };
    Ok(Exported::Tuple(vec![before, result]))
}

pub(super) fn all_reduce<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &AllReduce,
) -> Result<Exported> {
    check_mode(view, op.mode)?;
    let attributes = common(view, op.channel_id, &op.replica_groups)?;
    reduced(cx, scope, view, attributes, op.use_global_device_ids, op.to_apply)
}

pub(super) fn all_reduce_start<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &AllReduceStart,
) -> Result<Exported> {
    check_mode(view, op.mode)?;
    let attributes = common(view, op.channel_id, &op.replica_groups)?;
    reduced(cx, scope, view, attributes, op.use_global_device_ids, op.to_apply)
}

fn reduced<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    attributes: Declared,
    use_global_device_ids: bool,
    to_apply: ComputationId,
) -> Result<Exported> {
    let attributes = flag(attributes, "use_global_device_ids", use_global_device_ids);
    let operands = cx.values(scope, view)?;
    cx.add_with_regions(scope, view, "stablehlo.all_reduce", &operands, attributes, &[to_apply])
}

pub(super) fn reduce_scatter<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &ReduceScatter,
) -> Result<Exported> {
    check_mode(view, op.mode)?;
    if view.instruction.operands().len() != 1 {
        return Err(view.unimplemented("of several operands has no form"));
    }
    let attributes = common(view, op.channel_id, &op.replica_groups)?
        .integer("scatter_dimension", only(view, &op.dimensions)?);
    let attributes = flag(attributes, "use_global_device_ids", op.use_global_device_ids);
    let operands = cx.values(scope, view)?;
    let name = "stablehlo.reduce_scatter";
    cx.add_with_regions(scope, view, name, &operands, attributes, &[op.to_apply])
}

/// The form with an array; the tuple form has an operand per member of a group.
pub(super) fn all_to_all<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &AllToAll,
) -> Result<Exported> {
    let &[dimension] = &op.dimensions[..] else {
        return Err(view.unimplemented("of several operands has no form"));
    };
    let size = op.replica_groups.group_size().map_err(|reason| view.error(reason))?;
    let size = size.unwrap_or_else(|| {
        let config = &cx.source.config;
        if op.channel_id.is_some() { config.num_partitions } else { config.replica_count }
    });
    let attributes = common(view, op.channel_id, &op.replica_groups)?
        .integer("split_dimension", dimension)
        .integer("concat_dimension", dimension)
        .integer("split_count", size);
    cx.add_alike(scope, view, "stablehlo.all_to_all", attributes)
}

pub(super) fn collective_broadcast<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &CollectiveBroadcast,
) -> Result<Exported> {
    let attributes = common(view, op.channel_id, &op.replica_groups)?;
    let attributes = flag(attributes, "has_dynamic_root", op.has_dynamic_root);
    cx.add_alike(scope, view, "stablehlo.collective_broadcast", attributes)
}

fn permutation(
    view: View<'_>,
    channel_id: Option<i64>,
    pairs: &[(i64, i64)],
    slice_sizes: usize,
) -> Result<Declared> {
    if slice_sizes > 0 || view.instruction.operands().len() != 1 {
        return Err(view.unimplemented("that updates its result in place has no form"));
    }
    let values: Vec<i64> = pairs.iter().flat_map(|&(from, to)| [from, to]).collect();
    let pairs = types::matrix(pairs.len() as i64, 2, &values)
        .ok_or_else(|| view.error("has pairs that are no matrix"))?;
    Ok(Declared::new()
        .with("source_target_pairs", pairs)
        .maybe("channel_handle", channel(channel_id, DEVICE_TO_DEVICE)))
}

pub(super) fn collective_permute<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &CollectivePermute,
) -> Result<Exported> {
    let sizes = op.slice_sizes.len();
    let attributes = permutation(view, op.channel_id, &op.source_target_pairs, sizes)?;
    cx.add_alike(scope, view, "stablehlo.collective_permute", attributes)
}

pub(super) fn collective_permute_start<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &CollectivePermuteStart,
) -> Result<Exported> {
    let sizes = op.slice_sizes.len();
    let attributes = permutation(view, op.channel_id, &op.source_target_pairs, sizes)?;
    started(cx, scope, view, "stablehlo.collective_permute", attributes)
}
