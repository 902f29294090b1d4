//! Shardings, meshes and replica groups to and from protos.

use rxla_base::Diagnostic;
use rxla_hlo::op::{IotaGroups, MeshAxesGroups, ReplicaGroups};
use rxla_hlo::{
    AxisRef, DeviceAssignment, DeviceOrder, DimensionSharding, Dims, Mesh, MeshAxis, NamedSharding,
    ShardGroup, Sharding, ShardingKind, SingleSharding, SubgroupKind, TileSharding,
};

use crate::metadata;
use crate::proto::{self, OpSharding};
use crate::shape::dims;

/// `OpSharding.Type`.
const REPLICATED: i32 = 0;
const MAXIMAL: i32 = 1;
const TUPLE: i32 = 2;
const OTHER: i32 = 3;
const MANUAL: i32 = 4;
const UNKNOWN: i32 = 5;
const UNREDUCED: i32 = 6;

pub fn to_proto(sharding: &Sharding) -> OpSharding {
    let single = match sharding {
        Sharding::Tuple(shardings) => {
            return OpSharding {
                r#type: TUPLE,
                tuple_shardings: shardings.iter().map(to_proto).collect(),
                ..OpSharding::default()
            };
        }
        Sharding::Single(single) => single,
    };
    let mut proto = match &single.kind {
        ShardingKind::Replicated => simple(REPLICATED),
        ShardingKind::Manual => simple(MANUAL),
        ShardingKind::Unknown => simple(UNKNOWN),
        ShardingKind::Unreduced => simple(UNREDUCED),
        ShardingKind::Maximal { device } => {
            OpSharding { tile_assignment_devices: vec![*device], ..simple(MAXIMAL) }
        }
        ShardingKind::Tiled(tiles) => tiled_to_proto(tiles),
        ShardingKind::Named(named) => {
            let mut named = named_to_proto(named);
            named.metadata = single.metadata.iter().map(metadata::to_proto).collect();
            return OpSharding { named_sharding: Some(named), ..simple(REPLICATED) };
        }
    };
    proto.metadata = single.metadata.iter().map(metadata::to_proto).collect();
    if let Some(group) = single.group {
        let (id, kind) = match group {
            ShardGroup::As(id) => (id, 0),
            ShardGroup::Like(id) => (id, 1),
        };
        proto.is_shard_group = true;
        proto.shard_group_id = id;
        proto.shard_group_type = kind;
    }
    proto
}

fn simple(r#type: i32) -> OpSharding {
    OpSharding { r#type, ..OpSharding::default() }
}

fn tiled_to_proto(tiles: &TileSharding) -> OpSharding {
    let mut proto = OpSharding {
        tile_assignment_dimensions: tiles.tile_dims.to_vec(),
        replicate_on_last_tile_dim: tiles.replicate_on_last_tile_dim,
        ..simple(OTHER)
    };
    if !tiles.replicate_on_last_tile_dim {
        proto.last_tile_dims = tiles.last_tile_dims.iter().map(|&kind| subgroup(kind)).collect();
    }
    match &tiles.devices {
        DeviceOrder::Explicit(devices) => proto.tile_assignment_devices = devices.clone(),
        DeviceOrder::Iota { reshape, transpose } => {
            proto.iota_reshape_dims = reshape.to_vec();
            proto.iota_transpose_perm = permutation(transpose, reshape.len());
        }
    }
    proto
}

/// A permutation in 32 bits; the identity where none is said.
fn permutation(transpose: &Dims, rank: usize) -> Vec<i32> {
    if transpose.is_empty() {
        return (0..rank as i32).collect();
    }
    transpose.iter().map(|&dimension| i32::try_from(dimension).unwrap_or(i32::MAX)).collect()
}

fn subgroup(kind: SubgroupKind) -> i32 {
    match kind {
        SubgroupKind::Replicated => REPLICATED,
        SubgroupKind::Manual => MANUAL,
        SubgroupKind::Unreduced => UNREDUCED,
        SubgroupKind::Unknown => UNKNOWN,
        SubgroupKind::Maximal => MAXIMAL,
    }
}

pub fn from_proto(proto: &OpSharding) -> Result<Sharding, Diagnostic> {
    if let Some(named) = &proto.named_sharding {
        return Ok(Sharding::Single(Box::new(SingleSharding {
            kind: ShardingKind::Named(named_from_proto(named)?),
            group: None,
            metadata: named.metadata.iter().map(metadata::from_proto).collect(),
        })));
    }
    let kind = match proto.r#type {
        TUPLE => {
            let parts = proto.tuple_shardings.iter().map(from_proto);
            return Ok(Sharding::Tuple(parts.collect::<Result<_, _>>()?));
        }
        REPLICATED => ShardingKind::Replicated,
        MANUAL => ShardingKind::Manual,
        UNKNOWN => ShardingKind::Unknown,
        UNREDUCED => ShardingKind::Unreduced,
        MAXIMAL => match proto.tile_assignment_devices[..] {
            [device] => ShardingKind::Maximal { device },
            _ => {
                return Err(Diagnostic::error(format!(
                    "a maximal sharding names {} devices, not 1",
                    proto.tile_assignment_devices.len()
                )));
            }
        },
        OTHER => ShardingKind::Tiled(tiled_from_proto(proto)?),
        other => return Err(Diagnostic::error(format!("there is no sharding type {other}"))),
    };
    let group = proto.is_shard_group.then_some(match proto.shard_group_type {
        0 => ShardGroup::As(proto.shard_group_id),
        _ => ShardGroup::Like(proto.shard_group_id),
    });
    let metadata = proto.metadata.iter().map(metadata::from_proto).collect();
    Ok(Sharding::Single(Box::new(SingleSharding { kind, group, metadata })))
}

fn tiled_from_proto(proto: &OpSharding) -> Result<TileSharding, Diagnostic> {
    let last_tile_dims = proto.last_tile_dims.iter().map(|&kind| match kind {
        REPLICATED => Ok(SubgroupKind::Replicated),
        MANUAL => Ok(SubgroupKind::Manual),
        UNREDUCED => Ok(SubgroupKind::Unreduced),
        UNKNOWN => Ok(SubgroupKind::Unknown),
        MAXIMAL => Ok(SubgroupKind::Maximal),
        other => Err(Diagnostic::error(format!("there is no subgroup type {other}"))),
    });
    let mut last_tile_dims = last_tile_dims.collect::<Result<Vec<_>, _>>()?;
    if proto.replicate_on_last_tile_dim {
        last_tile_dims = vec![SubgroupKind::Replicated];
    }
    let devices = if proto.iota_reshape_dims.is_empty() {
        DeviceOrder::Explicit(proto.tile_assignment_devices.clone())
    } else {
        DeviceOrder::Iota {
            reshape: dims(&proto.iota_reshape_dims),
            transpose: transpose(&proto.iota_transpose_perm),
        }
    };
    Ok(TileSharding {
        tile_dims: dims(&proto.tile_assignment_dimensions),
        devices,
        last_tile_dims,
        replicate_on_last_tile_dim: proto.replicate_on_last_tile_dim,
    })
}

fn transpose(permutation: &[i32]) -> Dims {
    permutation.iter().map(|&dimension| i64::from(dimension)).collect()
}

fn named_to_proto(named: &NamedSharding) -> proto::NamedShardingProto {
    let axes = |list: &[AxisRef]| list.iter().map(axis_to_proto).collect::<Vec<_>>();
    proto::NamedShardingProto {
        mesh: Some(mesh_to_proto(&named.mesh)),
        dim_shardings: named
            .dims
            .iter()
            .map(|dim| proto::DimensionSharding { axes: axes(&dim.axes), is_closed: dim.is_closed })
            .collect(),
        replicated_axes: axes(&named.replicated_axes),
        unreduced_axes: axes(&named.unreduced_axes),
        manual_axes: axes(&named.manual_axes),
        metadata: Vec::new(),
    }
}

fn named_from_proto(proto: &proto::NamedShardingProto) -> Result<NamedSharding, Diagnostic> {
    let axes = |list: &[proto::AxisRefProto]| list.iter().map(axis_from_proto).collect::<Vec<_>>();
    Ok(NamedSharding {
        mesh: proto.mesh.as_ref().map(mesh_from_proto).unwrap_or_default(),
        dims: proto
            .dim_shardings
            .iter()
            .map(|dim| DimensionSharding { axes: axes(&dim.axes), is_closed: dim.is_closed })
            .collect(),
        replicated_axes: axes(&proto.replicated_axes),
        unreduced_axes: axes(&proto.unreduced_axes),
        manual_axes: axes(&proto.manual_axes),
    })
}

fn axis_to_proto(axis: &AxisRef) -> proto::AxisRefProto {
    proto::AxisRefProto {
        mesh_axis_index: axis.axis,
        sub_axis_info: axis.sub_axis.map(|(pre_size, size)| proto::SubAxis { pre_size, size }),
    }
}

fn axis_from_proto(proto: &proto::AxisRefProto) -> AxisRef {
    AxisRef {
        axis: proto.mesh_axis_index,
        sub_axis: proto.sub_axis_info.as_ref().map(|sub| (sub.pre_size, sub.size)),
    }
}

fn mesh_to_proto(mesh: &Mesh) -> proto::MeshProto {
    proto::MeshProto {
        axes: mesh
            .axes
            .iter()
            .map(|axis| proto::MeshAxis { name: axis.name.clone(), size: axis.size })
            .collect(),
        device_ids: mesh.device_ids.clone(),
        iota_transform: mesh.iota.as_ref().map(|(reshape, transpose)| proto::IotaTransform {
            reshape_dims: reshape.to_vec(),
            transpose_perm: transpose.to_vec(),
        }),
    }
}

fn mesh_from_proto(proto: &proto::MeshProto) -> Mesh {
    Mesh {
        axes: proto
            .axes
            .iter()
            .map(|axis| MeshAxis { name: axis.name.clone(), size: axis.size })
            .collect(),
        device_ids: proto.device_ids.clone(),
        iota: proto
            .iota_transform
            .as_ref()
            .map(|iota| (dims(&iota.reshape_dims), dims(&iota.transpose_perm))),
    }
}

pub(crate) fn groups_to_proto(groups: &ReplicaGroups, out: &mut proto::HloInstructionProto) {
    match groups {
        ReplicaGroups::Explicit(groups) => {
            out.collective_device_list = Some(proto::CollectiveDeviceListProto {
                replica_groups: groups
                    .iter()
                    .map(|group| proto::ReplicaGroup { replica_ids: group.clone() })
                    .collect(),
            });
        }
        ReplicaGroups::Iota(iota) => {
            let size = |index: usize| iota.dims.get(index).copied().unwrap_or(0);
            let one = Dims::from_slice(&[size(0).saturating_mul(size(1))]);
            let reshape = if iota.reshape.is_empty() { &one } else { &iota.reshape };
            out.iota_collective_device_list = Some(Box::new(proto::IotaReplicaGroupListProto {
                num_replica_groups: size(0),
                num_devices_per_group: size(1),
                iota_reshape_dims: reshape.to_vec(),
                iota_transpose_perm: permutation(&iota.transpose, reshape.len()),
            }));
        }
        ReplicaGroups::MeshAxes(mesh) => {
            out.mesh_axes_replica_group_list =
                Some(Box::new(proto::MeshAxesReplicaGroupListProto {
                    mesh: Some(mesh_to_proto(&mesh.mesh)),
                    axes: mesh.axes.iter().map(axis_to_proto).collect(),
                }));
        }
    }
}

pub(crate) fn groups_from_proto(proto: &proto::HloInstructionProto) -> ReplicaGroups {
    if let Some(iota) = &proto.iota_collective_device_list {
        return ReplicaGroups::Iota(Box::new(IotaGroups {
            dims: dims(&[iota.num_replica_groups, iota.num_devices_per_group]),
            reshape: dims(&iota.iota_reshape_dims),
            transpose: transpose(&iota.iota_transpose_perm),
        }));
    }
    if let Some(mesh) = &proto.mesh_axes_replica_group_list {
        return ReplicaGroups::MeshAxes(Box::new(MeshAxesGroups {
            mesh: mesh.mesh.as_ref().map(mesh_from_proto).unwrap_or_default(),
            axes: mesh.axes.iter().map(axis_from_proto).collect(),
        }));
    }
    // Older protos say them in the instruction itself.
    let groups = match &proto.collective_device_list {
        Some(list) if !list.replica_groups.is_empty() => &list.replica_groups,
        Some(_) | None => &proto.replica_groups,
    };
    ReplicaGroups::Explicit(groups.iter().map(|group| group.replica_ids.clone()).collect())
}

pub fn assignment_to_proto(assignment: &DeviceAssignment) -> proto::DeviceAssignmentProto {
    proto::DeviceAssignmentProto {
        replica_count: i32::try_from(assignment.replica_count).unwrap_or(i32::MAX),
        computation_count: i32::try_from(assignment.computation_count).unwrap_or(i32::MAX),
        computation_devices: assignment
            .devices
            .iter()
            .map(|row| proto::ComputationDevice { replica_device_ids: row.clone() })
            .collect(),
    }
}

/// The assignment; an error if it does not list a device for each replica and partition.
pub fn assignment_from_proto(
    proto: &proto::DeviceAssignmentProto,
) -> Result<DeviceAssignment, Diagnostic> {
    let devices: Vec<Vec<i64>> =
        proto.computation_devices.iter().map(|row| row.replica_device_ids.clone()).collect();
    let (replicas, partitions) =
        (i64::from(proto.replica_count), i64::from(proto.computation_count));
    if devices.len() as i64 != partitions || devices.iter().any(|row| row.len() as i64 != replicas)
    {
        return Err(Diagnostic::error(format!(
            "a device assignment does not list {partitions} partitions of {replicas} replicas"
        )));
    }
    Ok(DeviceAssignment { replica_count: replicas, computation_count: partitions, devices })
}
