//! What a module says beside its computations: the header attributes of HLO text.

use crate::{Dims, FrontendAttributes, OriginalArray, Shape, Sharding};

/// Attributes of the module header.
#[derive(Clone, PartialEq, Debug)]
pub struct ModuleConfig {
    /// Instructions of each computation stand in execution order.
    pub is_scheduled: bool,
    pub replica_count: i64,
    pub num_partitions: i64,
    pub input_output_alias: Vec<InputOutputAlias>,
    pub buffer_donors: Vec<BufferDonor>,
    pub alias_passthrough_params: bool,
    /// Shapes with layouts of the entry's parameters and result; filled with defaults if unsaid.
    pub entry_computation_layout: Option<ComputationLayout>,
    pub frontend_attributes: FrontendAttributes,
    pub allow_spmd_sharding_propagation_to_parameters: Vec<bool>,
    pub allow_spmd_sharding_propagation_to_output: Vec<bool>,
    pub use_auto_spmd_partitioning: bool,
    pub spmd_output_sharding: Option<Sharding>,
    pub spmd_parameters_shardings: Vec<Sharding>,
    pub device_assignment: Option<DeviceAssignment>,
    pub origin_recovery_table: Vec<OriginRecovery>,
    pub cross_program_prefetches: Vec<CrossProgramPrefetch>,
    pub is_dynamic: bool,
    pub device_type: String,
    /// Bytes that metadata payload ids point to.
    pub payloads: Vec<Vec<u8>>,
    /// Header attributes we do not know, kept as written.
    pub unknown_attributes: Vec<(String, String)>,
}

impl Default for ModuleConfig {
    fn default() -> Self {
        ModuleConfig {
            is_scheduled: false,
            replica_count: 1,
            num_partitions: 1,
            input_output_alias: Vec::new(),
            buffer_donors: Vec::new(),
            alias_passthrough_params: false,
            entry_computation_layout: None,
            frontend_attributes: FrontendAttributes::new(),
            allow_spmd_sharding_propagation_to_parameters: Vec::new(),
            allow_spmd_sharding_propagation_to_output: Vec::new(),
            use_auto_spmd_partitioning: false,
            spmd_output_sharding: None,
            spmd_parameters_shardings: Vec::new(),
            device_assignment: None,
            origin_recovery_table: Vec::new(),
            cross_program_prefetches: Vec::new(),
            is_dynamic: false,
            device_type: String::new(),
            payloads: Vec::new(),
            unknown_attributes: Vec::new(),
        }
    }
}

/// `{output_index}: (parameter, {parameter_index}, may-alias)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct InputOutputAlias {
    pub output_index: Dims,
    pub parameter: i64,
    pub parameter_index: Dims,
    pub kind: AliasKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AliasKind {
    /// The caller may donate; if it does not, the input is copied.
    May,
    /// The caller must donate.
    Must,
}

/// `(parameter, {index})`: memory the executable may reuse for any output.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct BufferDonor {
    pub parameter: i64,
    pub parameter_index: Dims,
}

/// `entry_computation_layout={(f32[2]{0})->f32[2]{0}}`. A shape without layout is "auto".
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ComputationLayout {
    pub parameters: Vec<Shape>,
    pub result: Shape,
}

/// Which device runs which replica and partition: `devices[partition][replica]`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceAssignment {
    pub replica_count: i64,
    pub computation_count: i64,
    pub devices: Vec<Vec<i64>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CrossProgramPrefetch {
    pub parameter: i64,
    pub index: Dims,
    pub offset: i64,
}

/// One entry of the table that tells how to recompute an original value that was optimised away.
#[derive(Clone, PartialEq, Debug)]
pub struct OriginRecovery {
    pub old: OriginalArray,
    pub new: OriginalArray,
    /// The module that recomputes it, as text, if it is not the identity.
    pub recovery_module: String,
}

/// The tables FileNames, FunctionNames, FileLocations and StackFrames; ids count from 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StackFrameIndex {
    pub file_names: Vec<String>,
    pub function_names: Vec<String>,
    pub file_locations: Vec<FileLocation>,
    pub stack_frames: Vec<StackFrame>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FileLocation {
    pub file_name_id: i32,
    pub function_name_id: i32,
    pub line: i32,
    pub end_line: i32,
    pub column: i32,
    pub end_column: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StackFrame {
    pub file_location_id: i32,
    /// 0 for the outermost frame.
    pub parent_frame_id: i32,
}
