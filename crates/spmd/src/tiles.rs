//! Shardings by what they do: which part of an array each device has.

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result};
use rxla_hlo::{
    AxisRef, DeviceOrder, Dims, NamedSharding, Sharding, ShardingKind, SubgroupKind, TileSharding,
};
use smallvec::smallvec;

use crate::factors::{Axis, Grid, is_grid};

/// An array cut into a grid of equal tiles (the last ones may be partly beyond its end), and the
/// tile of each device. Several devices may have the same one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tiles {
    /// Number of tiles per dimension.
    pub(crate) counts: Dims,
    /// By partition: the tile's place in the grid.
    pub(crate) places: Vec<Dims>,
    /// By partition: which one of several summands of the array it has; all 0 where the array is
    /// reduced.
    pub(crate) summands: Vec<i64>,
    /// By partition: a number of the manual region's devices that work on one array. What devices of
    /// other numbers have belongs to other arrays.
    pub(crate) groups: Vec<i64>,
}

impl Tiles {
    /// Everybody has everything.
    pub(crate) fn whole(rank: usize, partitions: usize) -> Tiles {
        Tiles::whole_in(rank, &vec![0; partitions])
    }

    /// Everybody has all of the group's array.
    pub(crate) fn whole_in(rank: usize, groups: &[i64]) -> Tiles {
        Tiles {
            counts: smallvec![1; rank],
            places: vec![smallvec![0; rank]; groups.len()],
            summands: vec![0; groups.len()],
            groups: groups.to_vec(),
        }
    }

    /// The same parts of each group's array.
    pub(crate) fn in_groups(self, groups: &[i64]) -> Tiles {
        Tiles { groups: groups.to_vec(), ..self }
    }

    /// Whether each device has the same part in both.
    pub(crate) fn are_parts_of(&self, other: &Tiles) -> bool {
        self.counts == other.counts
            && self.places == other.places
            && self.summands == other.summands
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.counts.iter().all(|&count| count == 1) && self.summand_count() == 1
    }

    /// Into how many summands the array is split.
    pub(crate) fn summand_count(&self) -> i64 {
        self.summands.iter().max().map_or(1, |&last| last + 1)
    }

    /// The same tiles of the array after its summands have been added.
    pub(crate) fn reduced(self) -> Tiles {
        Tiles { summands: vec![0; self.places.len()], ..self }
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
            | ShardingKind::Unknown => Ok(Tiles::whole(rank, partitions)),
            ShardingKind::Unreduced => Ok(Tiles {
                summands: (0..partitions as i64).collect(),
                ..Tiles::whole(rank, partitions)
            }),
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
        let mut tiles = Tiles::whole(rank, partitions);
        tiles.counts = tiled.tile_dims[..rank].into();
        let mut seen = vec![false; partitions];
        for (position, device) in devices.into_iter().enumerate() {
            let device = usize::try_from(device).ok().filter(|&device| device < partitions);
            let device = device.ok_or_else(wrong)?;
            if std::mem::replace(&mut seen[device], true) {
                return Err(wrong());
            }
            let place = unravel(position as i64, &tiled.tile_dims);
            tiles.places[device] = place[..rank].into();
            let beyond = place[rank..].iter().zip(&tiled.tile_dims[rank..]);
            for ((&at, &size), kind) in beyond.zip(&tiled.last_tile_dims) {
                let number = match kind {
                    SubgroupKind::Unreduced => &mut tiles.summands[device],
                    SubgroupKind::Manual => &mut tiles.groups[device],
                    SubgroupKind::Replicated | SubgroupKind::Unknown | SubgroupKind::Maximal => {
                        continue;
                    }
                };
                *number = *number * size + at;
            }
        }
        Ok(tiles)
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
            if device >= partitions {
                return Err(wrong());
            }
            for (dimension, sharding) in named.dims.iter().enumerate() {
                let (count, place) =
                    along_axes(&sharding.axes, &sizes, &along).ok_or_else(wrong)?;
                tiles.counts[dimension] = count;
                tiles.places[device][dimension] = place;
            }
            let number = |axes| along_axes(axes, &sizes, &along).ok_or_else(wrong);
            tiles.summands[device] = number(&named.unreduced_axes)?.1;
            tiles.groups[device] = number(&named.manual_axes)?.1;
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

    /// Whether values of such an array may be computed in these tiles: all are of one size, and equally
    /// many devices of each group have each.
    pub(crate) fn fits(&self, whole: &[i64]) -> bool {
        let is_even = || match self.summand_count() {
            1 => is_grid(self),
            _ => self.is_of_one_group() || self.are_summands_even(),
        };
        self.counts.len() == whole.len() && self.divides(whole) && is_even()
    }

    /// Whether devices with one summand of `summands` have one tile of ours, and every summand another
    /// one: then parts among zeros are the summands.
    pub(crate) fn is_one_tile_for_each(&self, summands: &Tiles) -> bool {
        let count = summands.summand_count();
        let cell = |device: usize| {
            let place = self.places[device].iter().zip(&self.counts);
            place.fold(0, |at, (&place, &count)| at * count + place)
        };
        let mut of_summand = vec![None; count as usize];
        let mut taken = vec![false; count as usize];
        product(&self.counts) == Some(count as usize)
            && (0..self.places.len()).all(|device| {
                let (cell, known) =
                    (cell(device), &mut of_summand[summands.summands[device] as usize]);
                match *known {
                    Some(known) => known == cell,
                    None => {
                        *known = Some(cell);
                        !std::mem::replace(&mut taken[cell as usize], true)
                    }
                }
            })
    }

    /// Whether neither is cut, and devices have the same summands.
    pub(crate) fn is_uncut_as(&self, other: &Tiles) -> bool {
        [self, other].iter().all(|tiles| tiles.counts.iter().all(|&count| count == 1))
            && self.summands == other.summands
            && self.groups == other.groups
    }

    /// The tiles of the transposed array, of which dimension `i` is our `dimensions[i]`.
    pub(crate) fn transposed(&self, dimensions: &[i64]) -> Tiles {
        let mut tiles = self.clone();
        for (to, &from) in dimensions.iter().enumerate() {
            tiles.set_axis(to, &self.axis(from as usize));
        }
        tiles
    }

    /// Whether as many devices of each group have each summand of each tile.
    pub(crate) fn are_summands_even(&self) -> bool {
        let mut holders: FxHashMap<(i64, &[i64], i64), usize> = FxHashMap::default();
        for ((&group, place), &summand) in self.groups.iter().zip(&self.places).zip(&self.summands)
        {
            *holders.entry((group, place, summand)).or_default() += 1;
        }
        let tiles: i64 = self.counts.iter().product();
        let all = holders.len() as i64 == self.group_axis().count * tiles * self.summand_count();
        let share = self.places.len() / holders.len().max(1);
        all && holders.values().all(|&count| count == share)
    }

    /// Whether what devices that differ along `along` have of such tiles, to be added, are the summands that
    /// `summands` says.
    pub(crate) fn sums_to(&self, summands: &Tiles, along: &[&Axis]) -> bool {
        let piece = |device: usize| -> i64 {
            along.iter().fold(0, |at, axis| at * axis.count + axis.places[device])
        };
        let count: i64 = along.iter().map(|axis| axis.count).product();
        let mut piece_of = vec![None; summands.summand_count() as usize];
        self.counts == summands.counts
            && self.places == summands.places
            && summands.summand_count() == count
            && summands.summands.iter().enumerate().all(|(device, &summand)| {
                *piece_of[summand as usize].get_or_insert(piece(device)) == piece(device)
            })
    }

    /// Whether all devices work on one array.
    pub(crate) fn is_of_one_group(&self) -> bool {
        self.groups.iter().all(|&group| group == 0)
    }

    /// The groups as an axis.
    pub(crate) fn group_axis(&self) -> Axis {
        Axis::of_groups(&self.groups)
    }

    /// The tiles of the array when each of ours is cut as `inner` cuts it.
    pub(crate) fn cut_further(&self, inner: &Tiles) -> Tiles {
        let mut tiles = self.clone();
        for dimension in 0..self.counts.len() {
            let (outer, inner) = (self.axis(dimension), inner.axis(dimension));
            let both = outer.places.iter().zip(&inner.places);
            let places = both.map(|(&outer, &at)| outer * inner.count + at).collect();
            tiles.set_axis(dimension, &Axis { count: outer.count * inner.count, places });
        }
        tiles
    }

    /// How each of our tiles is cut in an array that lies as `all` says, as far as devices of one of
    /// `groups` share it evenly: what [`Tiles::cut_further`] made `all` of.
    pub(crate) fn inner_cut(&self, all: &Tiles, groups: &[i64]) -> Tiles {
        let mut grid = Grid::new(groups);
        let mut tiles = Tiles::whole_in(self.counts.len(), groups);
        for dimension in 0..self.counts.len() {
            let (outer, all) = (self.axis(dimension), all.axis(dimension));
            if !all.refines(&outer) {
                continue;
            }
            let count = all.count / outer.count;
            let inner = Axis { count, places: all.places.iter().map(|at| at % count).collect() };
            if grid.take(&inner) {
                tiles.set_axis(dimension, &inner);
            }
        }
        tiles
    }

    /// How a dimension is cut.
    pub(crate) fn axis(&self, dimension: usize) -> Axis {
        Axis {
            count: self.counts[dimension],
            places: self.places.iter().map(|place| place[dimension]).collect(),
        }
    }

    pub(crate) fn set_axis(&mut self, dimension: usize, axis: &Axis) {
        self.counts[dimension] = axis.count;
        for (place, &at) in self.places.iter_mut().zip(&axis.places) {
            place[dimension] = at;
        }
    }

    /// The sharding as HLO says it: an explicit list of devices.
    pub(crate) fn to_sharding(&self) -> Sharding {
        if self.is_whole() {
            return Sharding::replicated();
        }
        let grid = product(&self.counts).unwrap_or(1);
        let summands = self.summand_count() as usize;
        let share = self.places.len() / (grid * summands).max(1);
        // Per tile the devices that share it; in each share a device for every summand.
        let mut sharers = vec![Vec::new(); grid];
        for summand in 0..summands {
            for (device, place) in self.places.iter().enumerate() {
                let at = place.iter().zip(&self.counts).fold(0, |at, (&p, &count)| at * count + p);
                if self.summands[device] == summand as i64
                    && let Some(list) = sharers.get_mut(at as usize)
                {
                    list.push(device as i64);
                }
            }
        }
        for list in &mut sharers {
            if list.len() == share * summands {
                *list =
                    (0..list.len()).map(|i| list[i % summands * share + i / summands]).collect();
            }
        }
        let mut tile_dims = self.counts.clone();
        let mut last_tile_dims = Vec::new();
        if share > 1 {
            tile_dims.push(share as i64);
            last_tile_dims.push(SubgroupKind::Replicated);
        }
        if summands > 1 {
            tile_dims.push(summands as i64);
            last_tile_dims.push(SubgroupKind::Unreduced);
        }
        let replicate_on_last_tile_dim = last_tile_dims == [SubgroupKind::Replicated];
        if replicate_on_last_tile_dim {
            last_tile_dims.clear();
        }
        Sharding::single(ShardingKind::Tiled(TileSharding {
            tile_dims,
            devices: DeviceOrder::Explicit(sharers.concat()),
            last_tile_dims,
            replicate_on_last_tile_dim,
        }))
    }

    /// The tiles of an array that both cut: each dimension as the one that cuts it finer does. `None`
    /// if the summands are others, devices would share tiles unevenly or the cuts of a dimension cross.
    pub(crate) fn joined(&self, other: &Tiles) -> Option<Tiles> {
        if self.summands != other.summands {
            return None;
        }
        let mut joined = self.clone();
        for dimension in 0..self.counts.len() {
            let (ours, theirs) = (self.axis(dimension), other.axis(dimension));
            if theirs.refines(&ours) {
                joined.set_axis(dimension, &theirs);
            } else if !ours.refines(&theirs) {
                return None;
            }
        }
        is_grid(&joined).then_some(joined)
    }
}

/// The product of axes' sizes and a device's place along them.
fn along_axes(axes: &[AxisRef], sizes: &Dims, along: &Dims) -> Option<(i64, i64)> {
    axes.iter().try_fold((1, 0), |(count, place), axis| {
        let (size, at) = part_of_axis(axis, sizes, along)?;
        Some((count * size, place * size + at))
    })
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
    fn subgroups_are_summands_and_groups() {
        // Dimension 0 over 2 tiles; of the 4 devices of each, 2 are manual and 2 are summands.
        let kinds = vec![SubgroupKind::Manual, SubgroupKind::Unreduced];
        let sharding = |last_tile_dims: Vec<SubgroupKind>, tile_dims: &[i64]| {
            Sharding::single(ShardingKind::Tiled(TileSharding {
                tile_dims: tile_dims.into(),
                devices: DeviceOrder::Explicit((0..8).collect()),
                last_tile_dims,
                replicate_on_last_tile_dim: false,
            }))
        };
        let tiles = Tiles::of(&sharding(kinds, &[2, 2, 2]), 1, 8).unwrap();
        assert_eq!(tiles.groups, [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(tiles.summands, [0, 1, 0, 1, 0, 1, 0, 1]);
        assert!(tiles.clone().reduced().summands.iter().all(|&summand| summand == 0));
        let kinds = vec![SubgroupKind::Replicated, SubgroupKind::Unreduced];
        let unreduced = sharding(kinds, &[1, 2, 4]);
        let tiles = Tiles::of(&unreduced, 1, 8).unwrap();
        assert!(!tiles.is_whole());
        assert_eq!(tiles.to_sharding(), unreduced);
        let all = Sharding::single(ShardingKind::Unreduced);
        assert_eq!(Tiles::of(&all, 1, 8).unwrap().summand_count(), 8);
    }

    #[test]
    fn tiles_are_cut_further_within_groups() {
        // A mesh of 2×2×2, whose middle axis is manual and cuts dimension 0.
        let along = |axis: u32| Axis { count: 2, places: (0..8).map(|d| d >> axis & 1).collect() };
        let mut manual = Tiles::whole(2, 8);
        manual.set_axis(0, &along(1));
        let groups = along(1).places;
        let mut inner = Tiles::whole_in(2, &groups);
        inner.set_axis(0, &along(0));
        inner.set_axis(1, &along(2));
        assert!(inner.fits(&[4, 4]));
        let all = manual.cut_further(&inner);
        assert_eq!(all.counts[..], [4, 2]);
        assert_eq!(all.axis(0).places, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert!(all.fits(&[4, 4]));
        assert_eq!(manual.inner_cut(&all, &groups), inner);
        // The manual axis is used up, and pieces of another order are none of its.
        let mut other = Tiles::whole(2, 8);
        other.set_axis(0, &along(0));
        other.set_axis(1, &along(1));
        assert!(manual.inner_cut(&other, &groups).is_whole());
        assert!(!other.in_groups(&groups).fits(&[4, 4]));
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
