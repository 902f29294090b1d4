//! How a module was configured (`xla.proto`). Messages that nothing here reads are kept as bytes.

use super::{DeviceAssignmentProto, HloModuleProto, ProgramShapeProto};

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloModuleProtoWithConfig {
    #[prost(message, optional, tag = "1")]
    pub hlo_module: Option<HloModuleProto>,
    #[prost(message, optional, tag = "2")]
    pub config: Option<HloModuleConfigProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloModuleConfigProto {
    #[prost(message, optional, tag = "1")]
    pub entry_computation_layout: Option<ProgramShapeProto>,
    #[prost(uint64, tag = "2")]
    pub seed: u64,
    #[prost(int32, tag = "3")]
    pub launch_id: i32,
    #[prost(int64, tag = "4")]
    pub replica_count: i64,
    #[prost(int64, tag = "5")]
    pub num_partitions: i64,
    #[prost(bool, repeated, tag = "6")]
    pub param_requires_broadcast_via_collectives: Vec<bool>,
    #[prost(bool, tag = "7")]
    pub use_spmd_partitioning: bool,
    #[prost(bool, tag = "8")]
    pub use_auto_spmd_partitioning: bool,
    #[prost(int64, repeated, tag = "9")]
    pub auto_spmd_partitioning_mesh_shape: Vec<i64>,
    #[prost(int64, repeated, tag = "10")]
    pub auto_spmd_partitioning_mesh_ids: Vec<i64>,
    #[prost(float, tag = "36")]
    pub exec_time_optimization_effort: f32,
    #[prost(float, tag = "37")]
    pub memory_fitting_effort: f32,
    #[prost(int32, tag = "39")]
    pub optimization_level: i32,
    #[prost(int32, tag = "40")]
    pub memory_fitting_level: i32,
    #[prost(bool, tag = "11")]
    pub deduplicate_hlo: bool,
    #[prost(int64, tag = "12")]
    pub intra_op_parallelism_threads: i64,
    #[prost(string, tag = "13")]
    pub device_type: String,
    #[prost(bytes = "vec", optional, tag = "14")]
    pub debug_options: Option<Vec<u8>>,
    #[prost(message, optional, tag = "15")]
    pub static_device_assignment: Option<DeviceAssignmentProto>,
    #[prost(message, optional, tag = "35")]
    pub pre_simulation_device_assignment: Option<DeviceAssignmentProto>,
    #[prost(bool, tag = "30")]
    pub allow_separate_sharding_programs: bool,
    #[prost(bytes = "vec", repeated, tag = "16")]
    pub shardable_value_update_pairs: Vec<Vec<u8>>,
    #[prost(bool, tag = "17")]
    pub alias_passthrough_params: bool,
    #[prost(bool, tag = "18")]
    pub content_aware_computation_sorting: bool,
    #[prost(int32, tag = "19")]
    pub fusion_config_collection: i32,
    #[prost(bytes = "vec", repeated, tag = "20")]
    pub fusion_config: Vec<Vec<u8>>,
    #[prost(btree_map = "string, bytes", tag = "21")]
    pub dot_config: std::collections::BTreeMap<String, Vec<u8>>,
    #[prost(bytes = "vec", repeated, tag = "22")]
    pub layout_config: Vec<Vec<u8>>,
    #[prost(uint64, repeated, tag = "23")]
    pub memory_space_assignment_config: Vec<u64>,
    #[prost(bytes = "vec", repeated, tag = "24")]
    pub phase_ordering_config: Vec<Vec<u8>>,
    #[prost(int32, tag = "25")]
    pub phase_index: i32,
    #[prost(bool, repeated, tag = "33")]
    pub allow_spmd_sharding_propagation_to_parameters: Vec<bool>,
    #[prost(bool, repeated, tag = "27")]
    pub allow_spmd_sharding_propagation_to_output: Vec<bool>,
    #[prost(btree_map = "string, int64", tag = "28")]
    pub analysis_allowance_map: std::collections::BTreeMap<String, i64>,
    #[prost(int32, tag = "29")]
    pub matrix_unit_operand_precision: i32,
    #[prost(bytes = "vec", tag = "31")]
    pub fdo_profile: Vec<u8>,
    #[prost(int64, tag = "32")]
    pub device_memory_size: i64,
    #[prost(bool, tag = "34")]
    pub use_shardy_partitioner: bool,
    #[prost(bytes = "vec", optional, tag = "38")]
    pub sharding_config: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "41")]
    pub schedule_config: Option<Vec<u8>>,
    #[prost(int64, tag = "42")]
    pub partition_size: i64,
}
