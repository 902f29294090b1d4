//! What an instruction carries besides its meaning: where it came from, sharding, notes of the
//! frontend and of backends. A rewrite copies it as a whole.

use std::collections::BTreeMap;

use crate::{Dims, Sharding, StackFrameIndex};

/// `metadata={op_name="…" source_file="…" …}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Metadata {
    pub op_type: String,
    pub op_name: String,
    pub source_file: String,
    pub source_line: i32,
    pub source_end_line: i32,
    pub source_column: i32,
    pub source_end_column: i32,
    pub profile_type: Vec<i64>,
    pub deduplicated_name: String,
    pub scheduling_name: String,
    /// Position in the module's stack frame table, from 1; 0 is none.
    pub stack_frame_id: i32,
    pub size_of_generated_code_in_bytes: i64,
    pub size_of_memory_working_set_in_bytes: i64,
    pub payload: Option<MetadataPayload>,
}

impl Metadata {
    /// The metadata with the source location of its stack frame instead of the frame, if it has one.
    pub fn inlined(&self, tables: &StackFrameIndex) -> Option<Metadata> {
        let frame = tables.frames(self.stack_frame_id).next()?;
        Some(Metadata {
            source_file: frame.file.to_owned(),
            source_line: frame.line,
            source_column: frame.column,
            stack_frame_id: 0,
            ..self.clone()
        })
    }
}

/// Bytes of a frontend's own, inline or in the module's payload table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MetadataPayload {
    Value(Vec<u8>),
    Id(i64),
}

/// Key and value pairs in key order.
pub type FrontendAttributes = BTreeMap<String, String>;

/// `statistics={visualizing_index=1,stat-1=33,…}`. Values are kept as bits so that they compare.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Statistics {
    pub visualizing_index: i64,
    pub values: Vec<(String, u64)>,
}

/// `origin={…}`: where each leaf was computed before optimisation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum OriginalValue {
    /// `[synthetic_call]`.
    SyntheticCall,
    /// The tree printed with `{"name" {index}}` at its leaves; `None` where nothing is known.
    Leaves(Vec<OriginalElement>),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OriginalElement {
    /// Position of the leaf in the shape.
    pub index: Dims,
    pub array: Option<OriginalArray>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OriginalArray {
    pub instruction_name: String,
    pub index: Dims,
}

/// Everything an instruction carries that its op, shape and operands do not say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Info {
    pub metadata: Metadata,
    pub sharding: Option<Sharding>,
    pub frontend_attributes: FrontendAttributes,
    /// As written: a string, or a JSON dictionary when it starts with `{`.
    pub backend_config: String,
    pub statistics: Option<Statistics>,
    pub original_value: Option<OriginalValue>,
    /// `parameter_replication={true,false}`: one per leaf of a parameter.
    pub parameter_replication: Vec<bool>,
    /// Attributes we do not know, kept as they were written so that they print again.
    pub unknown_attributes: Vec<(String, String)>,
}
