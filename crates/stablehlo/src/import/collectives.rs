//! Collective operations and the identity of the device that runs the program.

use rxla_hlo::op::{
    AllGather, AllReduce, AllToAll, BinaryKind, CollectiveBroadcast, CollectivePermute,
    PartitionId, RaggedAllToAll, ReduceScatter, ReplicaGroups, ReplicaId, Transpose,
};
use rxla_hlo::{ArrayShape, ComputationId, Dims, ElementType, InstructionId, Op, Shape};

use super::attributes::{View, integers_of};
use super::communication::channel;
use super::importer::{Importer, Result, one_or_tuple_shape};
use super::mesh::{axis_size, mesh_of, transposed_indices};
use super::shapes::check_dimension;
use crate::mlir::{Attribute, AxisRef};

/// More devices than any group lists.
const MAX_DEVICES: usize = 1 << 20;

/// `replica_groups`: a matrix of ids, filled up with -1, or axes of a mesh.
fn replica_groups<'a>(cx: &Importer<'a>, view: View<'a>) -> Result<ReplicaGroups> {
    let groups = match view.get("replica_groups") {
        None => Vec::new(),
        Some(Attribute::ReplicaGroupMeshAxes(groups)) => {
            let mesh = mesh_of(cx, view, &groups.mesh)?;
            let axes = groups
                .axes
                .iter()
                .map(|axis| match axis {
                    Attribute::AxisRef(axis) => Ok((**axis).clone()),
                    _ => Err(view.wrong("replica_groups", "a list of axes")),
                })
                .collect::<Result<Vec<AxisRef>>>()?;
            if axes.iter().any(|axis| axis.sub_axis.is_some()) {
                return Err(view.unimplemented("replica groups along a part of a mesh axis"));
            }
            let mut size = 1i64;
            for axis in &axes {
                size = size.saturating_mul(axis_size(view, &mesh, axis)?);
            }
            // The axes named vary within a group, the others from group to group.
            let position =
                |axis: &AxisRef| mesh.axes.iter().position(|other| other.name == axis.name);
            let inner: Vec<usize> = axes.iter().filter_map(position).collect();
            let mut order: Vec<usize> =
                (0..mesh.axes.len()).filter(|axis| !inner.contains(axis)).collect();
            order.extend(inner);
            let sizes: Vec<i64> = mesh.axes.iter().map(|axis| axis.size).collect();
            if order.len() != sizes.len() {
                return Err(view.wrong("replica_groups", "a list of different axes"));
            }
            let devices: Vec<i64> = transposed_indices(&sizes, &order)
                .map(|index| mesh.device_ids.get(index).copied().unwrap_or(index as i64))
                .collect();
            devices.chunks(size.max(1) as usize).map(<[i64]>::to_vec).collect()
        }
        Some(_) => view
            .rows("replica_groups")?
            .into_iter()
            .map(|row| row.into_iter().filter(|&id| id >= 0).collect::<Vec<i64>>())
            .collect(),
    };
    if groups.iter().map(Vec::len).sum::<usize>() > MAX_DEVICES {
        return Err(view.error("has too many devices in its groups"));
    }
    // One group without members means everybody, as no group does.
    Ok(ReplicaGroups::Explicit(groups.into_iter().filter(|group| !group.is_empty()).collect()))
}

fn flag(view: View<'_>) -> Result<bool> {
    view.bool_or("use_global_device_ids", false)
}

/// `stablehlo.all_gather`.
pub(super) fn all_gather<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    view.expect_results(operands.len())?;
    let dimension = view.integer("all_gather_dim")?;
    let op = AllGather {
        channel_id: channel(view)?,
        replica_groups: replica_groups(cx, view)?,
        constrain_layout: false,
        use_global_device_ids: flag(view)?,
        dimensions: Dims::from_slice(&[dimension]),
    };
    let instruction = cx.add(op, one_or_tuple_shape(view.result_shapes()?), &operands);
    cx.finish_tuple(view, instruction)
}

fn add_all_reduce<'a>(cx: &mut Importer<'a>, view: View<'a>, to_apply: ComputationId) -> Result {
    let operands = cx.operands(view)?;
    view.expect_results(operands.len())?;
    let shapes = operands.iter().map(|&operand| cx.logical_shape(operand)).collect();
    let op = AllReduce {
        channel_id: channel(view)?,
        replica_groups: replica_groups(cx, view)?,
        constrain_layout: false,
        use_global_device_ids: flag(view)?,
        mode: None,
        to_apply,
    };
    let instruction = cx.add(op, one_or_tuple_shape(shapes), &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.all_reduce`.
pub(super) fn all_reduce<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let to_apply = cx.region(view, 0)?;
    add_all_reduce(cx, view, to_apply)
}

/// `stablehlo.cross-replica-sum`, the older form of an all-reduce that adds.
pub(super) fn cross_replica_sum<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operand = cx.operand(view, 0)?;
    let element_type = cx.array(view, operand)?.element_type;
    let to_apply = binary_computation(cx, element_type, BinaryKind::Add);
    add_all_reduce(cx, view, to_apply)
}

/// A computation of two scalars.
pub(super) fn binary_computation(
    cx: &mut Importer<'_>,
    element_type: ElementType,
    kind: BinaryKind,
) -> ComputationId {
    let info = std::mem::take(&mut cx.info);
    let computation = cx.begin_computation(kind.name());
    let scalar = Shape::scalar(element_type);
    let left = cx.add(Op::parameter(0), scalar.clone(), &[]);
    let right = cx.add(Op::parameter(1), scalar.clone(), &[]);
    let root = cx.add(Op::binary(kind), scalar, &[left, right]);
    cx.module.set_root(root);
    cx.end_computation();
    cx.info = info;
    computation
}

/// `stablehlo.reduce_scatter`.
pub(super) fn reduce_scatter<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    view.expect_results(operands.len())?;
    let to_apply = cx.region(view, 0)?;
    let op = ReduceScatter {
        channel_id: channel(view)?,
        replica_groups: replica_groups(cx, view)?,
        constrain_layout: false,
        use_global_device_ids: flag(view)?,
        mode: None,
        dimensions: Dims::from_slice(&[view.integer("scatter_dimension")?]),
        to_apply,
    };
    let instruction = cx.add(op, one_or_tuple_shape(view.result_shapes()?), &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.all_to_all`. HLO's op on arrays splits and joins along one dimension; joining along
/// another one is a transposition after it.
pub(super) fn all_to_all<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    view.expect_results(operands.len())?;
    let split = view.integer("split_dimension")?;
    let concat = view.integer("concat_dimension")?;
    let count = view.integer("split_count")?;
    let mut parts = Vec::new();
    for &operand in &operands {
        let array = cx.array(view, operand)?;
        let at = check_dimension(view, "split_dimension", split, array.rank())?;
        let to = check_dimension(view, "concat_dimension", concat, array.rank())?;
        if count < 1 || array.dims[at] % count != 0 {
            return Err(view.error(format_args!(
                "cannot split dimension {split} of `{array}` in {count} parts"
            )));
        }
        let op = AllToAll {
            channel_id: channel(view)?,
            replica_groups: replica_groups(cx, view)?,
            constrain_layout: false,
            dimensions: Dims::from_slice(&[split]),
        };
        let all = cx.add(op, array.clone().into(), &[operand]);
        parts.push(match at == to {
            true => all,
            false => move_parts(cx, all, &array, at, to, count),
        });
    }
    cx.finish_all(view, &parts)
}

/// Takes the parts along `from` and lays them along `to`.
fn move_parts(
    cx: &mut Importer<'_>,
    operand: InstructionId,
    array: &ArrayShape,
    from: usize,
    to: usize,
    count: i64,
) -> InstructionId {
    let mut split_dims = array.dims.clone();
    split_dims[from] /= count;
    split_dims.insert(from, count);
    let split = cx.reshape(operand, split_dims.iter().copied());
    let mut permutation = Dims::new();
    for dimension in 0..array.rank() {
        if dimension == to {
            permutation.push(from as i64);
        }
        permutation.push((dimension + usize::from(dimension >= from)) as i64);
    }
    let moved: Dims = permutation.iter().map(|&d| split_dims[d as usize]).collect();
    let shape = Shape::array(array.element_type, moved);
    let moved = cx.add(Transpose { dimensions: permutation }, shape, &[split]);
    let mut dims = array.dims.clone();
    dims[from] /= count;
    dims[to] = dims[to].saturating_mul(count);
    cx.reshape(moved, dims)
}

/// `stablehlo.collective_permute`.
pub(super) fn collective_permute<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let rows = view.rows("source_target_pairs")?;
    let pairs = rows
        .iter()
        .map(|row| match row[..] {
            [source, target] => Ok((source, target)),
            _ => Err(view.wrong("source_target_pairs", "a list of pairs")),
        })
        .collect::<Result<_>>()?;
    let op = CollectivePermute {
        channel_id: channel(view)?,
        source_target_pairs: pairs,
        slice_sizes: Vec::new(),
    };
    let shape = cx.logical_shape(operand);
    let instruction = cx.add(op, shape, &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.collective_broadcast`.
pub(super) fn collective_broadcast<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let Some(&operand) = operands.first() else {
        return Err(view.error("has no operands"));
    };
    let op = CollectiveBroadcast {
        channel_id: channel(view)?,
        replica_groups: replica_groups(cx, view)?,
        has_dynamic_root: operands.len() > 1,
    };
    let shape = cx.logical_shape(operand);
    let instruction = cx.add(op, shape, &operands);
    cx.finish(view, instruction)
}

/// The custom call `ragged_all_to_all`, whose configuration says groups and channel.
pub(super) fn ragged_all_to_all<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.exactly::<6>(view)?;
    let config = view.get("mhlo.backend_config").or_else(|| view.get("backend_config"));
    let config = config.filter(|config| config.as_dictionary().is_some());
    let config = config.ok_or_else(|| view.error("has no dictionary `mhlo.backend_config`"))?;
    let mut groups = Vec::new();
    if let Some(attribute) = config.entry("replica_groups") {
        let wrong = || view.wrong("replica_groups", "a matrix of device numbers");
        let ids = integers_of(attribute).ok_or_else(wrong)?;
        let dims = attribute.as_dense_elements().and_then(|e| e.ty().shaped()).map(|(d, _)| d);
        let Some(&[_, columns]) = dims else { return Err(wrong()) };
        if columns > 0 {
            groups = ids.chunks(columns as usize).map(<[i64]>::to_vec).collect();
        }
    }
    let channel = config.entry("channel_id").and_then(Attribute::as_integer);
    let op = RaggedAllToAll {
        channel_id: channel.filter(|&channel| channel > 0),
        replica_groups: ReplicaGroups::Explicit(groups),
        dimensions: Dims::new(),
    };
    let shape = cx.logical_shape(operands[1]);
    let instruction = cx.add(op, shape, &operands);
    cx.finish(view, instruction)
}

/// `stablehlo.partition_id`.
pub(super) fn partition_id<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(0)?;
    let instruction = cx.add(PartitionId {}, Shape::scalar(ElementType::U32), &[]);
    cx.finish(view, instruction)
}

/// `stablehlo.replica_id`.
pub(super) fn replica_id<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    view.expect_operands(0)?;
    let instruction = cx.add(ReplicaId {}, Shape::scalar(ElementType::U32), &[]);
    cx.finish(view, instruction)
}
