//! Shardy's attributes.

use super::Attribute;
use super::{AxisRef, ByteString, MeshAxis, SubAxisInfo};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SdyAttribute {
    /// `#sdy<manual_axes{"a", "b"}>`.
    ManualAxes(Vec<ByteString>),
    MeshAxis(MeshAxis),
    /// `#sdy.mesh<["a"=2, "b"=3]>`.
    Mesh(SdyMesh),
    SubAxisInfo(SubAxisInfo),
    AxisRef(AxisRef),
    DimensionSharding(DimensionSharding),
    /// `#sdy.sharding<@mesh, [{"a"}, {?}]>`.
    TensorSharding(TensorSharding),
    /// `#sdy.sharding_per_value<[<@mesh, …>, …]>`.
    TensorShardingPerValue(Vec<TensorSharding>),
    /// Factor indices that a dimension maps to.
    DimMapping(Vec<i64>),
    /// Factor indices of each dimension.
    TensorMapping(Vec<Vec<i64>>),
    /// `#sdy.op_sharding_rule<…>`.
    OpShardingRule(OpShardingRule),
    AxisRefList(Vec<AxisRef>),
    ListOfAxisRefLists(Vec<Vec<AxisRef>>),
    AllToAllParam(AllToAllParam),
    AllToAllParamList(Vec<AllToAllParam>),
    PropagationDirection(PropagationDirection),
    EdgeValueRef(EdgeValueRef),
    AxisToPropagationDetails(AxisToPropagationDetails),
    PropagationOneStep(PropagationOneStep),
    PropagationEdges(Vec<PropagationOneStep>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SdyMesh {
    pub axes: Vec<MeshAxis>,
    /// Empty means the devices in order. With no axes, one id means one device.
    pub device_ids: Vec<i64>,
}

/// `{"a", "b":(1)2, ?}p0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimensionSharding {
    pub axes: Vec<AxisRef>,
    /// Whether no further axis may be added; an open one is spelled with `?`.
    pub is_closed: bool,
    pub priority: Option<i64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorSharding {
    /// A symbol or an inline [`SdyAttribute::Mesh`].
    pub mesh_or_ref: Attribute,
    pub dim_shardings: Vec<DimensionSharding>,
    pub replicated_axes: Vec<AxisRef>,
    pub unreduced_axes: Vec<AxisRef>,
    /// What joins values along unreduced axes.
    pub reduction_op: ReductionOp,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReductionOp {
    Sum = 0,
    Max = 1,
    Min = 2,
}

impl ReductionOp {
    pub fn name(self) -> &'static str {
        match self {
            ReductionOp::Sum => "sum",
            ReductionOp::Max => "max",
            ReductionOp::Min => "min",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpShardingRule {
    pub factor_sizes: Vec<i64>,
    /// For each operand, for each dimension, its factors.
    pub operand_mappings: Vec<Vec<Vec<i64>>>,
    pub result_mappings: Vec<Vec<Vec<i64>>>,
    pub reduction_factors: Vec<i64>,
    pub need_replication_factors: Vec<i64>,
    pub permutation_factors: Vec<i64>,
    pub blocked_propagation_factors: Vec<i64>,
    pub is_custom_rule: bool,
}

/// `{"a"}:0->1`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllToAllParam {
    pub axes: Vec<AxisRef>,
    pub src_dim: i64,
    pub tgt_dim: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PropagationDirection {
    None = 0,
    Forward = 1,
    Backward = 2,
    Both = 3,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EdgeNodeType {
    Operand = 0,
    Result = 1,
}

/// `operand-0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeValueRef {
    pub ty: EdgeNodeType,
    pub index: i64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AxisToPropagationDetails {
    pub axis_name: AxisRef,
    pub source: EdgeValueRef,
    pub targets: Vec<EdgeValueRef>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PropagationOneStep {
    pub step_index: i64,
    pub axis_entries: Vec<AxisToPropagationDetails>,
}
