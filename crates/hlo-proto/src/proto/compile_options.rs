//! What a PJRT client asks of the compiler (`pjrt/proto/compile_options.proto`). Messages that
//! nothing here reads are kept as bytes.

use super::{DeviceAssignmentProto, ShapeProto};

#[derive(Clone, PartialEq, prost::Message)]
pub struct CompileOptionsProto {
    #[prost(message, repeated, tag = "1")]
    pub argument_layouts: Vec<ShapeProto>,
    #[prost(bool, tag = "2")]
    pub parameter_is_tupled_arguments: bool,
    #[prost(message, optional, tag = "3")]
    pub executable_build_options: Option<ExecutableBuildOptionsProto>,
    #[prost(bool, tag = "4")]
    pub compile_portable_executable: bool,
    #[prost(int64, tag = "5")]
    pub profile_version: i64,
    #[prost(bytes = "vec", tag = "6")]
    pub serialized_multi_slice_config: Vec<u8>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub env_option_overrides: std::collections::BTreeMap<String, OptionOverrideProto>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub target_config: Option<Vec<u8>>,
    #[prost(bool, tag = "9")]
    pub allow_in_place_mlir_modification: bool,
    #[prost(int32, tag = "10")]
    pub matrix_unit_operand_precision: i32,
    #[prost(string, optional, tag = "11")]
    pub compiler_variant: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecutableBuildOptionsProto {
    #[prost(int64, tag = "1")]
    pub device_ordinal: i64,
    #[prost(message, optional, tag = "2")]
    pub result_layout: Option<ShapeProto>,
    #[prost(bytes = "vec", optional, tag = "13")]
    pub comp_envs: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub debug_options: Option<Vec<u8>>,
    #[prost(int64, tag = "4")]
    pub num_replicas: i64,
    #[prost(int64, tag = "5")]
    pub num_partitions: i64,
    #[prost(bool, tag = "6")]
    pub use_spmd_partitioning: bool,
    #[prost(bool, tag = "7")]
    pub use_auto_spmd_partitioning: bool,
    #[prost(float, tag = "20")]
    pub exec_time_optimization_effort: f32,
    #[prost(float, tag = "21")]
    pub memory_fitting_effort: f32,
    #[prost(int32, tag = "24")]
    pub optimization_level: i32,
    #[prost(int32, tag = "25")]
    pub memory_fitting_level: i32,
    #[prost(bool, tag = "8")]
    pub deduplicate_hlo: bool,
    #[prost(message, optional, tag = "9")]
    pub device_assignment: Option<DeviceAssignmentProto>,
    #[prost(bool, tag = "10")]
    pub alias_passthrough_params: bool,
    #[prost(bool, tag = "11")]
    pub run_backend_only: bool,
    #[prost(bool, repeated, tag = "18")]
    pub allow_spmd_sharding_propagation_to_parameters: Vec<bool>,
    #[prost(bool, repeated, tag = "12")]
    pub allow_spmd_sharding_propagation_to_output: Vec<bool>,
    #[prost(bytes = "vec", tag = "14")]
    pub fdo_profile: Vec<u8>,
    #[prost(int64, tag = "15")]
    pub device_memory_size: i64,
    #[prost(int64, repeated, tag = "16")]
    pub auto_spmd_partitioning_mesh_shape: Vec<i64>,
    #[prost(int64, repeated, tag = "17")]
    pub auto_spmd_partitioning_mesh_ids: Vec<i64>,
    #[prost(bool, tag = "19")]
    pub use_shardy_partitioner: bool,
    #[prost(int64, tag = "22")]
    pub process_index: i64,
    #[prost(int64, tag = "23")]
    pub process_count: i64,
    #[prost(int64, tag = "26")]
    pub slice_size: i64,
}

/// One of the fields is set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OptionOverrideProto {
    #[prost(string, optional, tag = "1")]
    pub string_field: Option<String>,
    #[prost(bool, optional, tag = "2")]
    pub bool_field: Option<bool>,
    #[prost(int64, optional, tag = "3")]
    pub int_field: Option<i64>,
    #[prost(double, optional, tag = "4")]
    pub double_field: Option<f64>,
}
