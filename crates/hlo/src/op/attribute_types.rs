//! The structured values of attributes.

use crate::{AxisRef, Dims, Mesh, Sharding};

/// One dimension of a convolution's or reduction's window, as `window={…}` says it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WindowDimension {
    pub size: i64,
    pub stride: i64,
    /// Elements added before and after; negative values cut.
    pub padding_low: i64,
    pub padding_high: i64,
    /// Spacing of the window's elements (`rhs_dilate`).
    pub window_dilation: i64,
    /// Spacing put between the operand's elements (`lhs_dilate`).
    pub base_dilation: i64,
    pub window_reversal: bool,
}

impl WindowDimension {
    /// A window of `size` with everything else neutral.
    pub const fn new(size: i64) -> WindowDimension {
        WindowDimension {
            size,
            stride: 1,
            padding_low: 0,
            padding_high: 0,
            window_dilation: 1,
            base_dilation: 1,
            window_reversal: false,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Window {
    pub dimensions: Vec<WindowDimension>,
}

/// `low_high[_interior]` of one dimension of `pad`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PaddingDimension {
    pub low: i64,
    pub high: i64,
    pub interior: i64,
}

/// `[start:limit:stride]` of one dimension of `slice`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SliceDimension {
    pub start: i64,
    pub limit: i64,
    pub stride: i64,
}

/// `dim_labels=b01f_01io->b01f`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ConvolutionDimensions {
    pub input_batch: i64,
    pub input_feature: i64,
    pub input_spatial: Dims,
    pub kernel_input_feature: i64,
    pub kernel_output_feature: i64,
    pub kernel_spatial: Dims,
    pub output_batch: i64,
    pub output_feature: i64,
    pub output_spatial: Dims,
}

/// Which devices a collective joins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReplicaGroups {
    /// `{{0,1},{2,3}}`; no group at all means all devices in one.
    Explicit(Vec<Vec<i64>>),
    /// `[groups,size]<=[dims]T(permutation)`.
    Iota(Box<IotaGroups>),
    /// `@mesh{'x'}`: the groups span the named axes of a mesh.
    MeshAxes(Box<MeshAxesGroups>),
}

/// `dims` are number of groups and size of each; devices are an iota of that many, reshaped to
/// `reshape`, transposed and flattened.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IotaGroups {
    pub dims: Dims,
    pub reshape: Dims,
    pub transpose: Dims,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeshAxesGroups {
    pub mesh: Mesh,
    pub axes: Vec<AxisRef>,
}

impl Default for ReplicaGroups {
    fn default() -> Self {
        ReplicaGroups::Explicit(Vec::new())
    }
}

/// One pair of `output_to_operand_aliasing`: the output part shares memory with the operand part.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutputOperandAlias {
    pub output_index: Dims,
    pub operand: i64,
    pub operand_index: Dims,
}

/// `result_accuracy={…}`: how far a transcendental may be off. Floats are kept as bits so that
/// ops compare and hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResultAccuracy {
    Default,
    Highest,
    Tolerance { atol_bits: u64, rtol_bits: u64, ulps: i64 },
}

/// `domain={kind="…", entry={…}, exit={…}}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DomainMetadata {
    pub kind: String,
    pub entry: Sharding,
    pub exit: Sharding,
}

/// Structured sparsity of one operand of a convolution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorSparsity {
    pub num_non_zero: i64,
    pub block_size: i64,
    pub dimension: i64,
    pub stride: i64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SparsityConfig {
    pub lhs: Option<TensorSparsity>,
    pub rhs: Option<TensorSparsity>,
}
