//! Modules and what files hold of them (`hlo.proto`).

use super::{
    DeviceAssignmentProto, FrontendAttributes, HloComputationProto, LiteralProto, OpSharding,
    OriginalArrayProto, ProgramShapeProto,
};

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloModuleProto {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub entry_computation_name: String,
    #[prost(int64, tag = "6")]
    pub entry_computation_id: i64,
    #[prost(message, repeated, tag = "3")]
    pub computations: Vec<HloComputationProto>,
    #[prost(message, optional, tag = "4")]
    pub host_program_shape: Option<ProgramShapeProto>,
    #[prost(int64, tag = "5")]
    pub id: i64,
    #[prost(int64, optional, tag = "23")]
    pub pjrt_id: Option<i64>,
    #[prost(message, optional, tag = "7")]
    pub schedule: Option<HloScheduleProto>,
    #[prost(message, optional, tag = "8")]
    pub input_output_alias: Option<HloInputOutputAliasProto>,
    #[prost(bytes = "vec", repeated, tag = "22")]
    pub payloads: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "18")]
    pub buffer_donor: Option<HloBufferDonorProto>,
    #[prost(message, repeated, tag = "10")]
    pub cross_program_prefetches: Vec<CrossProgramPrefetch>,
    #[prost(bool, tag = "11")]
    pub is_dynamic: bool,
    #[prost(message, optional, tag = "12")]
    pub spmd_output_sharding: Option<OpSharding>,
    #[prost(message, repeated, tag = "14")]
    pub spmd_parameters_shardings: Vec<OpSharding>,
    #[prost(bool, tag = "16")]
    pub use_auto_spmd_partitioning: bool,
    #[prost(bytes = "vec", repeated, tag = "13")]
    pub profile_info: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "15")]
    pub device_assignment: Option<DeviceAssignmentProto>,
    #[prost(message, optional, tag = "17")]
    pub stack_frame_index: Option<StackFrameIndexProto>,
    #[prost(message, optional, tag = "19")]
    pub frontend_attributes: Option<FrontendAttributes>,
    #[prost(message, optional, tag = "20")]
    pub original_value_recovery_table: Option<OriginalValueRecoveryTableProto>,
    #[prost(string, tag = "21")]
    pub device_type: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloScheduleProto {
    #[prost(btree_map = "int64, message", tag = "1")]
    pub sequences: std::collections::BTreeMap<i64, InstructionSequence>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct InstructionSequence {
    #[prost(int64, repeated, tag = "1")]
    pub instruction_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloInputOutputAliasProto {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<AliasEntryProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct AliasEntryProto {
    #[prost(int64, repeated, tag = "1")]
    pub output_shape_index: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub parameter_number: i64,
    #[prost(int64, repeated, tag = "3")]
    pub parameter_shape_index: Vec<i64>,
    #[prost(int32, tag = "4")]
    pub kind: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloBufferDonorProto {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<BufferDonorEntryProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct BufferDonorEntryProto {
    #[prost(int64, tag = "1")]
    pub parameter_number: i64,
    #[prost(int64, repeated, tag = "2")]
    pub parameter_shape_index: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CrossProgramPrefetch {
    #[prost(int64, tag = "1")]
    pub parameter: i64,
    #[prost(int64, repeated, tag = "2")]
    pub index: Vec<i64>,
    #[prost(int64, tag = "3")]
    pub offset: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StackFrameIndexProto {
    #[prost(string, repeated, tag = "1")]
    pub file_names: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub function_names: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub file_locations: Vec<FileLocation>,
    #[prost(message, repeated, tag = "4")]
    pub stack_frames: Vec<StackFrame>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FileLocation {
    #[prost(int32, tag = "1")]
    pub file_name_id: i32,
    #[prost(int32, tag = "2")]
    pub function_name_id: i32,
    #[prost(int32, tag = "3")]
    pub line: i32,
    #[prost(int32, tag = "5")]
    pub end_line: i32,
    #[prost(int32, tag = "4")]
    pub column: i32,
    #[prost(int32, tag = "6")]
    pub end_column: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StackFrame {
    #[prost(int32, tag = "1")]
    pub file_location_id: i32,
    #[prost(int32, tag = "2")]
    pub parent_frame_id: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OriginalValueRecoveryTableProto {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Entry {
    #[prost(message, optional, tag = "1")]
    pub old_original_array: Option<OriginalArrayProto>,
    #[prost(message, optional, tag = "2")]
    pub new_original_array: Option<OriginalArrayProto>,
    #[prost(message, optional, tag = "3")]
    pub recovery_module: Option<HloModuleProto>,
}

/// The module with the buffers assigned to it, whose message is kept as bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HloProto {
    #[prost(message, optional, tag = "1")]
    pub hlo_module: Option<HloModuleProto>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub buffer_assignment: Option<Vec<u8>>,
}

/// A module with arguments to run it on and the result they gave.
#[derive(Clone, PartialEq, prost::Message)]
pub struct HloSnapshot {
    #[prost(message, optional, tag = "1")]
    pub hlo: Option<HloProto>,
    #[prost(message, repeated, tag = "2")]
    pub arguments: Vec<LiteralProto>,
    #[prost(message, optional, tag = "3")]
    pub result: Option<LiteralProto>,
    #[prost(string, tag = "4")]
    pub execution_platform: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloUnoptimizedSnapshot {
    #[prost(message, optional, tag = "1")]
    pub hlo_module: Option<HloModuleProto>,
    #[prost(message, repeated, tag = "2")]
    pub partitions: Vec<HloInputs>,
    #[prost(int32, tag = "3")]
    pub version: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HloInputs {
    #[prost(message, repeated, tag = "1")]
    pub arguments: Vec<LiteralProto>,
    #[prost(message, repeated, tag = "2")]
    pub arguments_descriptors: Vec<LiteralDescriptor>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LiteralDescriptor {
    #[prost(int32, tag = "1")]
    pub version: i32,
    #[prost(uint64, tag = "2")]
    pub argument_size_bytes: u64,
}
