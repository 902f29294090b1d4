//! StableHLO's and CHLO's structured attributes, fields named and ordered as in their text.

use std::sync::Arc;

use super::{Attribute, ByteString, DenseElements, ResultAccuracyMode, Type};

/// `#stablehlo.scatter<…>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScatterDimensionNumbers {
    pub update_window_dims: Vec<i64>,
    pub inserted_window_dims: Vec<i64>,
    pub input_batching_dims: Vec<i64>,
    pub scatter_indices_batching_dims: Vec<i64>,
    pub scatter_dims_to_operand_dims: Vec<i64>,
    pub index_vector_dim: i64,
}

/// `#stablehlo.gather<…>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GatherDimensionNumbers {
    pub offset_dims: Vec<i64>,
    pub collapsed_slice_dims: Vec<i64>,
    pub operand_batching_dims: Vec<i64>,
    pub start_indices_batching_dims: Vec<i64>,
    pub start_index_map: Vec<i64>,
    pub index_vector_dim: i64,
}

/// `#stablehlo.dot<…>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DotDimensionNumbers {
    pub lhs_batching_dimensions: Vec<i64>,
    pub rhs_batching_dimensions: Vec<i64>,
    pub lhs_contracting_dimensions: Vec<i64>,
    pub rhs_contracting_dimensions: Vec<i64>,
}

/// `#stablehlo.dot_algorithm<…>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DotAlgorithm {
    pub lhs_precision_type: Type,
    pub rhs_precision_type: Type,
    pub accumulation_type: Type,
    pub lhs_component_count: i64,
    pub rhs_component_count: i64,
    pub num_primitive_operations: i64,
    pub allow_imprecise_accumulation: bool,
}

/// `#stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConvDimensionNumbers {
    pub input_batch_dimension: i64,
    pub input_feature_dimension: i64,
    pub input_spatial_dimensions: Vec<i64>,
    pub kernel_input_feature_dimension: i64,
    pub kernel_output_feature_dimension: i64,
    pub kernel_spatial_dimensions: Vec<i64>,
    pub output_batch_dimension: i64,
    pub output_feature_dimension: i64,
    pub output_spatial_dimensions: Vec<i64>,
}

/// `#chlo.ragged_dot<…>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RaggedDotDimensionNumbers {
    pub lhs_batching_dimensions: Vec<i64>,
    pub rhs_batching_dimensions: Vec<i64>,
    pub lhs_contracting_dimensions: Vec<i64>,
    pub rhs_contracting_dimensions: Vec<i64>,
    pub lhs_ragged_dimensions: Vec<i64>,
    pub rhs_group_dimensions: Vec<i64>,
}

/// `#stablehlo.output_operand_alias<…>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OutputOperandAlias {
    pub output_tuple_indices: Vec<i64>,
    pub operand_index: i64,
    pub operand_tuple_indices: Vec<i64>,
}

/// `#stablehlo.result_accuracy<…>`; tolerances are bits of doubles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultAccuracy {
    pub atol: u64,
    pub rtol: u64,
    pub ulps: i64,
    pub mode: ResultAccuracyMode,
}

/// `#stablehlo.replica_group_mesh_axes<mesh = …, axes = …>`: replica groups told as axes of a mesh.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaGroupMeshAxes {
    /// A symbol or an [`Attribute::Mesh`].
    pub mesh: Attribute,
    /// Each an [`Attribute::AxisRef`].
    pub axes: Arc<[Attribute]>,
}

/// `#stablehlo.mesh<axes=[…], device_ids=…>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mesh {
    pub axes: Vec<MeshAxis>,
    pub device_ids: Option<Arc<DenseElements>>,
}

/// An axis of a mesh; Shardy's has the same parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeshAxis {
    pub name: ByteString,
    pub size: i64,
}

/// A whole axis or a part of one; Shardy's has the same parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AxisRef {
    pub name: ByteString,
    pub sub_axis: Option<SubAxisInfo>,
}

/// `(pre_size)size`: which part of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SubAxisInfo {
    pub pre_size: i64,
    pub size: i64,
}
