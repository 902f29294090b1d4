//! Shardings, meshes and who takes part in collectives (`xla_data.proto`).

use super::{OpMetadata, ShapeProto};

#[derive(Clone, PartialEq, prost::Message)]
pub struct OpSharding {
    #[prost(int32, tag = "1")]
    pub r#type: i32,
    #[prost(message, optional, tag = "2")]
    pub tile_shape: Option<ShapeProto>,
    #[prost(int64, repeated, tag = "3")]
    pub tile_assignment_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub tile_assignment_devices: Vec<i64>,
    #[prost(message, repeated, tag = "5")]
    pub tuple_shardings: Vec<OpSharding>,
    #[prost(bool, tag = "6")]
    pub replicate_on_last_tile_dim: bool,
    #[prost(message, repeated, tag = "7")]
    pub metadata: Vec<OpMetadata>,
    #[prost(int32, repeated, tag = "8")]
    pub last_tile_dims: Vec<i32>,
    #[prost(int64, repeated, tag = "9")]
    pub iota_reshape_dims: Vec<i64>,
    #[prost(int32, repeated, tag = "10")]
    pub iota_transpose_perm: Vec<i32>,
    #[prost(bool, tag = "11")]
    pub is_shard_group: bool,
    #[prost(int64, tag = "12")]
    pub shard_group_id: i64,
    #[prost(int32, tag = "13")]
    pub shard_group_type: i32,
    #[prost(message, optional, tag = "14")]
    pub named_sharding: Option<NamedShardingProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NamedShardingProto {
    #[prost(message, optional, tag = "2")]
    pub mesh: Option<MeshProto>,
    #[prost(message, repeated, tag = "3")]
    pub dim_shardings: Vec<DimensionSharding>,
    #[prost(message, repeated, tag = "4")]
    pub replicated_axes: Vec<AxisRefProto>,
    #[prost(message, repeated, tag = "5")]
    pub unreduced_axes: Vec<AxisRefProto>,
    #[prost(message, repeated, tag = "7")]
    pub manual_axes: Vec<AxisRefProto>,
    #[prost(message, repeated, tag = "6")]
    pub metadata: Vec<OpMetadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DimensionSharding {
    #[prost(message, repeated, tag = "1")]
    pub axes: Vec<AxisRefProto>,
    #[prost(bool, tag = "2")]
    pub is_closed: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AxisRefProto {
    #[prost(int64, tag = "1")]
    pub mesh_axis_index: i64,
    #[prost(message, optional, tag = "2")]
    pub sub_axis_info: Option<SubAxis>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SubAxis {
    #[prost(int64, tag = "1")]
    pub pre_size: i64,
    #[prost(int64, tag = "2")]
    pub size: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MeshProto {
    #[prost(message, repeated, tag = "1")]
    pub axes: Vec<MeshAxis>,
    #[prost(int64, repeated, tag = "2")]
    pub device_ids: Vec<i64>,
    #[prost(message, optional, tag = "3")]
    pub iota_transform: Option<IotaTransform>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MeshAxis {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int64, tag = "2")]
    pub size: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct IotaTransform {
    #[prost(int64, repeated, tag = "1")]
    pub reshape_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub transpose_perm: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ReplicaGroup {
    #[prost(int64, repeated, tag = "1")]
    pub replica_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CollectiveDeviceListProto {
    #[prost(message, repeated, tag = "1")]
    pub replica_groups: Vec<ReplicaGroup>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct IotaReplicaGroupListProto {
    #[prost(int64, tag = "1")]
    pub num_replica_groups: i64,
    #[prost(int64, tag = "2")]
    pub num_devices_per_group: i64,
    #[prost(int64, repeated, tag = "3")]
    pub iota_reshape_dims: Vec<i64>,
    #[prost(int32, repeated, tag = "4")]
    pub iota_transpose_perm: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MeshAxesReplicaGroupListProto {
    #[prost(message, optional, tag = "1")]
    pub mesh: Option<MeshProto>,
    #[prost(message, repeated, tag = "2")]
    pub axes: Vec<AxisRefProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DeviceAssignmentProto {
    #[prost(int32, tag = "1")]
    pub replica_count: i32,
    #[prost(int32, tag = "2")]
    pub computation_count: i32,
    #[prost(message, repeated, tag = "3")]
    pub computation_devices: Vec<ComputationDevice>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ComputationDevice {
    #[prost(int64, repeated, tag = "1")]
    pub replica_device_ids: Vec<i64>,
}
