//! What instructions carry beside their meaning (`xla_data.proto`).

#[derive(Clone, PartialEq, prost::Message)]
pub struct OpMetadata {
    #[prost(string, tag = "1")]
    pub op_type: String,
    #[prost(string, tag = "2")]
    pub op_name: String,
    #[prost(string, tag = "3")]
    pub source_file: String,
    #[prost(int32, tag = "4")]
    pub source_line: i32,
    #[prost(int32, tag = "17")]
    pub source_end_line: i32,
    #[prost(int32, tag = "18")]
    pub source_column: i32,
    #[prost(int32, tag = "19")]
    pub source_end_column: i32,
    #[prost(int32, repeated, tag = "5")]
    pub profile_type: Vec<i32>,
    #[prost(int64, tag = "8")]
    pub size_of_generated_code_in_bytes: i64,
    #[prost(int64, tag = "9")]
    pub size_of_memory_working_set_in_bytes: i64,
    #[prost(bytes = "vec", optional, tag = "10")]
    pub profile_info: Option<Vec<u8>>,
    #[prost(string, tag = "12")]
    pub deduplicated_name: String,
    #[prost(int32, tag = "15")]
    pub stack_frame_id: i32,
    #[prost(string, tag = "16")]
    pub scheduling_name: String,
    #[prost(message, optional, tag = "20")]
    pub metadata_payload: Option<Payload>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Payload {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub value: Option<Vec<u8>>,
    #[prost(int64, optional, tag = "2")]
    pub id: Option<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct FrontendAttributes {
    #[prost(btree_map = "string, string", tag = "1")]
    pub map: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StatisticsViz {
    #[prost(int64, tag = "1")]
    pub stat_index_to_visualize: i64,
    #[prost(message, repeated, tag = "2")]
    pub statistics: Vec<Statistic>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Statistic {
    #[prost(string, tag = "1")]
    pub stat_name: String,
    #[prost(double, tag = "2")]
    pub stat_val: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OriginalValueProto {
    #[prost(message, repeated, tag = "1")]
    pub elements: Vec<OriginalValueElementProto>,
    #[prost(bool, tag = "2")]
    pub is_synthetic_call: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OriginalValueElementProto {
    #[prost(int64, repeated, tag = "1")]
    pub shape_index: Vec<i64>,
    #[prost(message, optional, tag = "2")]
    pub original_array: Option<OriginalArrayProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct OriginalArrayProto {
    #[prost(string, tag = "1")]
    pub instruction_name: String,
    #[prost(int64, repeated, tag = "2")]
    pub shape_index: Vec<i64>,
}
