//! Shardings by what they do: which part of an array each device has.

use rxla_base::{Error, Result};
use rxla_hlo::{AxisRef, DeviceOrder, Dims, NamedSharding, Sharding, ShardingKind, TileSharding};
use smallvec::smallvec;

/// An array cut into a grid of equal tiles (the last ones may be partly beyond its end), and the
/// tile of each device. Several devices may have the same one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tiles {
    /// Number of tiles per dimension.
    pub(crate) counts: Dims,
    /// By partition: the tile's place in the grid.
    pub(crate) places: Vec<Dims>,
}

impl Tiles {
    /// Everybody has everything.
    pub(crate) fn whole(rank: usize, partitions: usize) -> Tiles {
        Tiles { counts: smallvec![1; rank], places: vec![smallvec![0; rank]; partitions] }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.counts.iter().all(|&count| count == 1)
    }

    /// The tiles of a sharding of one array. What lies on one device only is whole for us: every
    /// device computes it.
    pub(crate) fn of(sharding: &Sharding, rank: usize, partitions: usize) -> Result<Tiles> {
        let Sharding::Single(single) = sharding else {
            return Err(Error::invalid_argument("an array has the sharding of a tuple"));
        };
        match &single.kind {
            ShardingKind::Replicated
            | ShardingKind::Maximal { .. }
            | ShardingKind::Manual
            | ShardingKind::Unknown
            | ShardingKind::Unreduced => Ok(Tiles::whole(rank, partitions)),
            ShardingKind::Tiled(tiled) => Tiles::of_tiled(tiled, rank, partitions),
            ShardingKind::Named(named) => Tiles::of_named(named, rank, partitions),
        }
    }

    fn of_tiled(tiled: &TileSharding, rank: usize, partitions: usize) -> Result<Tiles> {
        let wrong = || {
            Error::invalid_argument(format!(
                "the sharding {tiled:?} does not spread an array of rank {rank} over {partitions} \
                 partitions"
            ))
        };
        let devices = match &tiled.devices {
            DeviceOrder::Explicit(devices) => devices.clone(),
            DeviceOrder::Iota { reshape, transpose } => {
                transposed_iota(reshape, transpose).ok_or_else(wrong)?
            }
        };
        let total = product(&tiled.tile_dims).ok_or_else(wrong)?;
        if tiled.tile_dims.len() < rank || total != devices.len() || total != partitions {
            return Err(wrong());
        }
        let mut places = vec![None; partitions];
        for (position, device) in devices.into_iter().enumerate() {
            let place = unravel(position as i64, &tiled.tile_dims);
            let slot = usize::try_from(device).ok().and_then(|device| places.get_mut(device));
            *slot.ok_or_else(wrong)? = Some(place[..rank].into());
        }
        let places = places.into_iter().collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Tiles { counts: tiled.tile_dims[..rank].into(), places })
    }

    fn of_named(named: &NamedSharding, rank: usize, partitions: usize) -> Result<Tiles> {
        let wrong = || {
            Error::invalid_argument(format!(
                "the sharding {named:?} does not spread an array of rank {rank} over {partitions} \
                 partitions"
            ))
        };
        let sizes: Dims = named.mesh.axes.iter().map(|axis| axis.size).collect();
        if product(&sizes) != Some(partitions) || named.dims.len() > rank {
            return Err(wrong());
        }
        let mut tiles = Tiles::whole(rank, partitions);
        for position in 0..partitions {
            let device = match (&named.mesh.device_ids[..], &named.mesh.iota) {
                ([], None) => position,
                ([], Some((reshape, transpose))) => {
                    let order = transposed_iota(reshape, transpose).ok_or_else(wrong)?;
                    order.get(position).map(|&device| device as usize).ok_or_else(wrong)?
                }
                (ids, _) => {
                    let id = ids.get(position).ok_or_else(wrong)?;
                    usize::try_from(*id).map_err(|_| wrong())?
                }
            };
            let along = unravel(position as i64, &sizes);
            for (dimension, sharding) in named.dims.iter().enumerate() {
                let (mut count, mut place) = (1, 0);
                for axis in &sharding.axes {
                    let (size, at) = part_of_axis(axis, &sizes, &along).ok_or_else(wrong)?;
                    count *= size;
                    place = place * size + at;
                }
                tiles.counts[dimension] = count;
                tiles.places.get_mut(device).ok_or_else(wrong)?[dimension] = place;
            }
        }
        Ok(tiles)
    }

    /// The sizes of a device's part.
    pub(crate) fn part_dims(&self, whole: &[i64]) -> Dims {
        whole.iter().zip(&self.counts).map(|(&dim, &count)| ceil_of(dim, count)).collect()
    }

    /// Whether all tiles of such an array have the same size.
    pub(crate) fn divides(&self, whole: &[i64]) -> bool {
        whole.iter().zip(&self.counts).all(|(&dim, &count)| dim % count == 0)
    }

    /// The sharding as HLO says it: an explicit list of devices.
    pub(crate) fn to_sharding(&self) -> Sharding {
        if self.is_whole() {
            return Sharding::replicated();
        }
        let grid = product(&self.counts).unwrap_or(1);
        let mut sharers = vec![Vec::new(); grid];
        for (device, place) in self.places.iter().enumerate() {
            let at = place.iter().zip(&self.counts).fold(0, |at, (&p, &count)| at * count + p);
            if let Some(list) = sharers.get_mut(at as usize) {
                list.push(device as i64);
            }
        }
        let share = self.places.len() / grid.max(1);
        let mut tile_dims = self.counts.clone();
        if share > 1 {
            tile_dims.push(share as i64);
        }
        Sharding::single(ShardingKind::Tiled(TileSharding {
            tile_dims,
            devices: DeviceOrder::Explicit(sharers.concat()),
            last_tile_dims: Vec::new(),
            replicate_on_last_tile_dim: share > 1,
        }))
    }

    /// The tiles of an array that both cut, each in dimensions that the other leaves whole; `None`
    /// if devices would share tiles unevenly or both cut one dimension.
    pub(crate) fn joined(&self, other: &Tiles) -> Option<Tiles> {
        let mut joined = self.clone();
        for dimension in 0..self.counts.len() {
            if other.counts[dimension] == 1 {
                continue;
            }
            if self.counts[dimension] != 1 {
                return None;
            }
            joined.counts[dimension] = other.counts[dimension];
            for (place, theirs) in joined.places.iter_mut().zip(&other.places) {
                place[dimension] = theirs[dimension];
            }
        }
        let grid = product(&joined.counts)?;
        let mut distinct = joined.places.clone();
        distinct.sort();
        distinct.dedup();
        (distinct.len() == grid).then_some(joined)
    }

    /// The tiles of an array whose dimension `d` is ours of `sources[d]`, or a new one.
    pub(crate) fn rearranged(&self, sources: &[Option<usize>]) -> Tiles {
        let pick = |dims: &Dims, new: i64| -> Dims {
            sources.iter().map(|source| source.map_or(new, |source| dims[source])).collect()
        };
        Tiles {
            counts: pick(&self.counts, 1),
            places: self.places.iter().map(|place| pick(place, 0)).collect(),
        }
    }
}

/// Size of an axis (or of the named part of it) and a device's place along it.
fn part_of_axis(axis: &AxisRef, sizes: &Dims, along: &Dims) -> Option<(i64, i64)> {
    let index = usize::try_from(axis.axis).ok()?;
    let (&full, &at) = (sizes.get(index)?, along.get(index)?);
    match axis.sub_axis {
        None => Some((full, at)),
        Some((before, size)) => {
            let after = full.checked_div(before.checked_mul(size)?)?;
            Some((size, at.checked_div(after)?.checked_rem(size)?))
        }
    }
}

/// The quotient rounded up; sizes are not negative.
pub(crate) fn ceil_of(dim: i64, parts: i64) -> i64 {
    dim / parts.max(1) + i64::from(dim % parts.max(1) != 0)
}

fn product(dims: &[i64]) -> Option<usize> {
    dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(usize::try_from(dim).ok()?))
}

/// The place of a row-major position in a grid.
fn unravel(mut position: i64, dims: &[i64]) -> Dims {
    let mut place: Dims = smallvec![0; dims.len()];
    for (dimension, &dim) in dims.iter().enumerate().rev() {
        place[dimension] = position % dim.max(1);
        position /= dim.max(1);
    }
    place
}

/// `0..n` reshaped, transposed and flattened.
fn transposed_iota(reshape: &Dims, transpose: &Dims) -> Option<Vec<i64>> {
    let count = product(reshape).filter(|&count| count <= 1 << 16)?;
    if transpose.is_empty() {
        return Some((0..count as i64).collect());
    }
    let order: Vec<usize> = transpose
        .iter()
        .map(|&d| usize::try_from(d).ok().filter(|&d| d < reshape.len()))
        .collect::<Option<_>>()?;
    if order.len() != reshape.len() {
        return None;
    }
    let dims: Dims = order.iter().map(|&d| reshape[d]).collect();
    let list = (0..count as i64).map(|position| {
        let place = unravel(position, &dims);
        let mut source: Dims = smallvec![0; dims.len()];
        for (&dimension, &at) in order.iter().zip(&place) {
            source[dimension] = at;
        }
        source.iter().zip(reshape).fold(0, |at, (&p, &dim)| at * dim + p)
    });
    Some(list.collect())
}

#[cfg(test)]
mod tests {
    use rxla_hlo::{DimensionSharding, Mesh, MeshAxis};

    use super::*;

    fn tiled(tile_dims: &[i64], devices: DeviceOrder, replicate: bool) -> Sharding {
        Sharding::single(ShardingKind::Tiled(TileSharding {
            tile_dims: tile_dims.into(),
            devices,
            last_tile_dims: Vec::new(),
            replicate_on_last_tile_dim: replicate,
        }))
    }

    #[test]
    fn the_three_spellings_of_a_sharding_agree() {
        // The second axis of a 2×2 mesh cuts dimension 0; the first one is not used.
        let explicit = tiled(&[2, 1, 2], DeviceOrder::Explicit(vec![0, 2, 1, 3]), true);
        let iota = DeviceOrder::Iota { reshape: [2, 2][..].into(), transpose: [1, 0][..].into() };
        let iota = tiled(&[2, 1, 2], iota, true);
        let axis = |name: &str| MeshAxis { name: name.to_owned(), size: 2 };
        let named = Sharding::single(ShardingKind::Named(NamedSharding {
            mesh: Mesh { axes: vec![axis("a"), axis("b")], ..Mesh::default() },
            dims: vec![DimensionSharding {
                axes: vec![AxisRef { axis: 1, sub_axis: None }],
                is_closed: true,
            }],
            ..NamedSharding::default()
        }));
        let tiles = Tiles::of(&explicit, 2, 4).unwrap();
        assert_eq!(tiles.counts[..], [2, 1]);
        let places: Vec<i64> = tiles.places.iter().map(|place| place[0]).collect();
        assert_eq!(places, [0, 1, 0, 1]);
        assert_eq!(Tiles::of(&iota, 2, 4).unwrap(), tiles);
        assert_eq!(Tiles::of(&named, 2, 4).unwrap(), tiles);
        assert_eq!(tiles.to_sharding(), explicit);
        assert_eq!(tiles.part_dims(&[5, 3])[..], [3, 3]);
    }

    #[test]
    fn nonsense_is_refused() {
        for (dims, devices) in [
            (vec![2, 1], vec![0, 1]),
            (vec![4], vec![0, 1, 2, 3]),
            (vec![4, 1], vec![0, 1, 2, 4]),
            (vec![4, 1], vec![0, 1, 2, 2]),
            (vec![4, 1], vec![0, 1, 2]),
        ] {
            let sharding = tiled(&dims, DeviceOrder::Explicit(devices), false);
            assert!(Tiles::of(&sharding, 2, 4).is_err(), "{sharding:?}");
        }
    }
}
