//! Shardings: how a value is spread over devices. Data only; propagation and partitioning live in
//! their own crate.

use crate::{Dims, Metadata};

/// A sharding in any of HLO's spellings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Sharding {
    /// `{{…}, {…}}`: one per leaf of a tuple.
    Tuple(Vec<Sharding>),
    Single(Box<SingleSharding>),
}

/// The sharding of one leaf.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SingleSharding {
    pub kind: ShardingKind,
    /// `shard_as N` / `shard_like N`.
    pub group: Option<ShardGroup>,
    pub metadata: Vec<Metadata>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ShardingKind {
    Replicated,
    /// All on one device.
    Maximal {
        device: i64,
    },
    Manual,
    Unknown,
    Unreduced,
    Tiled(TileSharding),
    /// Mesh axes named per dimension.
    Named(NamedSharding),
}

/// `{devices=[2,2]<=[4] …}`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TileSharding {
    /// Number of tiles per dimension, and then per subgroup dimension.
    pub tile_dims: Dims,
    pub devices: DeviceOrder,
    /// What trailing tile dimensions beyond the array's rank mean; `last_tile_dim_replicate` is
    /// the list with the one entry `Replicated`.
    pub last_tile_dims: Vec<SubgroupKind>,
    /// Whether `last_tile_dim_replicate` was the spelling.
    pub replicate_on_last_tile_dim: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DeviceOrder {
    /// Device numbers in row-major tile order.
    Explicit(Vec<i64>),
    /// `<=[reshape]T(transpose)`: an iota reshaped, transposed and flattened.
    Iota { reshape: Dims, transpose: Dims },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SubgroupKind {
    Replicated,
    Manual,
    Unreduced,
    Unknown,
    Maximal,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShardGroup {
    As(i64),
    Like(i64),
}

/// A logical mesh of devices with named axes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mesh {
    pub axes: Vec<MeshAxis>,
    /// Devices in row-major mesh order; empty means `0..n`.
    pub device_ids: Vec<i64>,
    /// The device order as a transposed iota, where it was given so.
    pub iota: Option<(Dims, Dims)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MeshAxis {
    pub name: String,
    pub size: i64,
}

/// A mesh axis, or a part of one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AxisRef {
    pub axis: i64,
    /// `:(pre_size)size`.
    pub sub_axis: Option<(i64, i64)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct NamedSharding {
    pub mesh: Mesh,
    pub dims: Vec<DimensionSharding>,
    pub replicated_axes: Vec<AxisRef>,
    pub unreduced_axes: Vec<AxisRef>,
    pub manual_axes: Vec<AxisRef>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct DimensionSharding {
    pub axes: Vec<AxisRef>,
    pub is_closed: bool,
}

impl Sharding {
    pub fn single(kind: ShardingKind) -> Sharding {
        Sharding::Single(Box::new(SingleSharding { kind, group: None, metadata: Vec::new() }))
    }

    pub fn replicated() -> Sharding {
        Sharding::single(ShardingKind::Replicated)
    }

    /// Whether it says nothing of where an array lies, but may put it into a group.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Sharding::Single(single) if single.kind == ShardingKind::Unknown)
    }
}
