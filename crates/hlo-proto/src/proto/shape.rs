//! Shapes and layouts (`xla_data.proto`).

#[derive(Clone, PartialEq, prost::Message)]
pub struct ShapeProto {
    #[prost(int32, tag = "2")]
    pub element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub dimensions: Vec<i64>,
    #[prost(bool, repeated, tag = "6")]
    pub is_dynamic_dimension: Vec<bool>,
    #[prost(message, repeated, tag = "4")]
    pub tuple_shapes: Vec<ShapeProto>,
    #[prost(message, optional, tag = "5")]
    pub layout: Option<LayoutProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LayoutProto {
    #[prost(int64, repeated, tag = "1")]
    pub minor_to_major: Vec<i64>,
    #[prost(int32, repeated, tag = "9")]
    pub dim_level_types: Vec<i32>,
    #[prost(bool, repeated, tag = "13")]
    pub dim_unique: Vec<bool>,
    #[prost(bool, repeated, tag = "14")]
    pub dim_ordered: Vec<bool>,
    #[prost(message, repeated, tag = "6")]
    pub tiles: Vec<TileProto>,
    #[prost(int64, tag = "16")]
    pub tail_padding_alignment_in_elements: i64,
    #[prost(int64, tag = "7")]
    pub element_size_in_bits: i64,
    #[prost(int64, tag = "8")]
    pub memory_space: i64,
    #[prost(int32, tag = "11")]
    pub index_primitive_type: i32,
    #[prost(int32, tag = "12")]
    pub pointer_primitive_type: i32,
    #[prost(message, optional, boxed, tag = "10")]
    pub physical_shape: Option<Box<ShapeProto>>,
    #[prost(int64, tag = "15")]
    pub dynamic_shape_metadata_prefix_bytes: i64,
    #[prost(message, repeated, tag = "17")]
    pub split_configs: Vec<SplitConfigProto>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TileProto {
    #[prost(int64, repeated, tag = "1")]
    pub dimensions: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SplitConfigProto {
    #[prost(int64, tag = "1")]
    pub dimension: i64,
    #[prost(int64, repeated, tag = "2")]
    pub split_indices: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ProgramShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub parameters: Vec<ShapeProto>,
    #[prost(message, optional, tag = "2")]
    pub result: Option<ShapeProto>,
    #[prost(string, repeated, tag = "3")]
    pub parameter_names: Vec<String>,
}
