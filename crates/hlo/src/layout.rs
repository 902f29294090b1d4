//! How an array lies in memory. Semantics never depend on it; phases and borders do.

use smallvec::SmallVec;

use crate::{Dims, ElementType, Shape};

/// `{1,0:T(8,128)S(1)…}`: dimension order and what a target adds to it. The printed attributes are
/// XLA's, in XLA's order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// Dimension numbers from the fastest varying to the slowest.
    pub minor_to_major: Dims,
    /// `D(…)`: per dimension, empty when all are dense.
    pub dim_level_types: Vec<DimLevel>,
    /// `T(a,b)(c)`: outermost tiling first.
    pub tiles: Vec<Tile>,
    /// `L(n)`: the element count is padded to a multiple of this; 1 means none.
    pub tail_padding_alignment_in_elements: i64,
    /// `#(type)` and `*(type)`.
    pub index_type: Option<ElementType>,
    pub pointer_type: Option<ElementType>,
    /// `E(n)`: packed element size; 0 means the type's own bytes.
    pub element_size_in_bits: i64,
    /// `S(n)`: 0 is the device's default memory, 5 is host memory.
    pub memory_space: i64,
    /// `SC(dim:i,j)`.
    pub split_configs: Vec<SplitConfig>,
    /// `P(shape)`.
    pub physical_shape: Option<Box<Shape>>,
    /// `M(n)`.
    pub dynamic_shape_metadata_prefix_bytes: i64,
}

/// Storage of one dimension; only `Dense` is used by any backend we know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DimLevel {
    pub kind: DimLevelKind,
    /// Printed `+`: indices may repeat.
    pub not_unique: bool,
    /// Printed `~`: indices are not sorted.
    pub not_ordered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DimLevelKind {
    Dense,
    Compressed,
    Singleton,
    LooseCompressed,
}

/// One tiling; [`Tile::COMBINE`] stands for `*`, which merges a dimension with the next one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    pub dimensions: SmallVec<[i64; 4]>,
}

impl Tile {
    /// The value XLA stores for `*`.
    pub const COMBINE: i64 = i64::MIN;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SplitConfig {
    pub dimension: i64,
    pub split_indices: Vec<i64>,
}

impl Layout {
    /// A plain layout with the given order.
    pub fn new(minor_to_major: impl IntoIterator<Item = i64>) -> Layout {
        Layout {
            minor_to_major: minor_to_major.into_iter().collect(),
            dim_level_types: Vec::new(),
            tiles: Vec::new(),
            tail_padding_alignment_in_elements: 1,
            index_type: None,
            pointer_type: None,
            element_size_in_bits: 0,
            memory_space: 0,
            split_configs: Vec::new(),
            physical_shape: None,
            dynamic_shape_metadata_prefix_bytes: 0,
        }
    }

    /// Row-major: the last dimension varies fastest. XLA's default.
    pub fn row_major(rank: usize) -> Layout {
        Layout::new((0..rank as i64).rev())
    }

    pub fn is_row_major(&self) -> bool {
        self.minor_to_major.iter().rev().copied().eq(0..self.minor_to_major.len() as i64)
    }
}
