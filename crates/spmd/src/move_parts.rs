//! The moves between a whole array and a device's part of it, and between parts.

use rxla_base::{Error, Result};
use rxla_hlo::native::Pred;
use rxla_hlo::op::{
    AllGather, AllReduce, BinaryKind, Broadcast, CollectivePermute, Concatenate, DynamicSlice,
    DynamicUpdateSlice, Pad, PaddingDimension, PartitionId, ReplicaGroups, Select,
};
use rxla_hlo::{ComputationId, Dims, ElementType, InstructionId, Literal, Module, Op, Shape};

use crate::error;
use crate::factors::Axis;
use crate::groups::{groups, next_channel};
use crate::tiles::{Tiles, ceil_of};

/// The devices that run the program.
#[derive(Clone, Copy)]
pub(crate) struct Devices {
    pub(crate) replicas: usize,
    pub(crate) partitions: usize,
}

/// What a device's part is.
#[derive(Clone, Copy)]
pub(crate) enum Cutting {
    /// Its tile. Some tiles may be beyond the array's end altogether.
    ByTile,
    /// What its size says: several tiles, where only some axes of the sharding are cut here.
    BySize,
}

impl Cutting {
    /// How often a dimension of the whole is cut to get the part, and how many of the sharding's
    /// tiles lie in one piece.
    pub(crate) fn pieces(self, whole: i64, part: i64, tiles: i64) -> (i64, i64) {
        let pieces = if part <= 0 { 1 } else { ceil_of(whole, part).max(1) };
        match self {
            Cutting::ByTile => (tiles, 1),
            // A part as large as the whole is one piece; else an uneven cut has as many as it has
            // tiles.
            Cutting::BySize if pieces > 1 && tiles % pieces != 0 => (tiles, 1),
            Cutting::BySize => (pieces, tiles / pieces),
        }
    }
}

/// A device's part, of sizes `part`, of a value that every device has whole. Of several summands the
/// first is the value and the others are zero.
pub(crate) fn cut(
    module: &mut Module,
    whole: InstructionId,
    tiles: &Tiles,
    (part, cutting): (&[i64], Cutting),
    devices: Devices,
) -> Result<InstructionId> {
    let computation = module[whole].parent();
    let Some(array) = module[whole].shape.as_array().cloned() else {
        return Err(Error::internal("a part is cut of what is no array"));
    };
    let cuts: Vec<(i64, i64)> = array
        .dims
        .iter()
        .zip(part)
        .zip(&tiles.counts)
        .map(|((&whole, &part), &tiles)| cutting.pieces(whole, part, tiles))
        .collect();
    // The last pieces may reach beyond the end.
    let missing: Vec<i64> = array
        .dims
        .iter()
        .zip(part)
        .zip(&cuts)
        .map(|((&dim, &part), &(pieces, _))| (part * pieces - dim).max(0))
        .collect();
    let mut padded = whole;
    if missing.iter().any(|&missing| missing > 0) {
        let zero = Literal::zeros(&Shape::scalar(array.element_type))?;
        let zero = module.add_constant(computation, zero);
        let padding = missing
            .iter()
            .map(|&high| PaddingDimension { low: 0, high, interior: 0 })
            .collect::<Vec<_>>();
        let pad = Op::Pad(Pad { padding });
        padded = module.add(computation, pad, &[whole, zero]).map_err(error)?;
    }
    let mut operands = vec![padded];
    for (dimension, &(_, tiles_per_piece)) in cuts.iter().enumerate() {
        let starts: Vec<i32> = tiles
            .places
            .iter()
            .map(|place| (place[dimension] / tiles_per_piece.max(1) * part[dimension]) as i32)
            .collect();
        let table = Literal::from_values([devices.partitions as i64], &starts);
        operands.push(of_this_device(module, computation, table, ElementType::S32)?);
    }
    let slice = DynamicSlice { dynamic_slice_sizes: part.into() };
    let part = module.add(computation, Op::DynamicSlice(slice), &operands).map_err(error)?;
    if tiles.summand_count() == 1 {
        return Ok(part);
    }
    let is_first: Vec<Pred> =
        tiles.summands.iter().map(|&summand| Pred::from(summand == 0)).collect();
    let table = Literal::from_values([devices.partitions as i64], &is_first);
    let is_first = of_this_device(module, computation, table, ElementType::Pred)?;
    let Some(shape) = module[part].shape.as_array().cloned() else { return Ok(part) };
    let mut mask = shape.clone();
    mask.element_type = ElementType::Pred;
    let everywhere = Op::Broadcast(Broadcast { dimensions: Dims::new() });
    let mask = module
        .add_with_shape(computation, everywhere.clone(), Shape::Array(mask), &[is_first])
        .map_err(error)?;
    let zero = Literal::zeros(&Shape::scalar(shape.element_type))?;
    let zero = module.add_constant(computation, zero);
    let zeros = module
        .add_with_shape(computation, everywhere, Shape::Array(shape), &[zero])
        .map_err(error)?;
    module.add(computation, Op::Select(Select {}), &[mask, part, zeros]).map_err(error)
}

/// This device's entry of a table with one for each, as a scalar.
pub(crate) fn of_this_device(
    module: &mut Module,
    computation: ComputationId,
    table: Literal,
    element_type: ElementType,
) -> Result<InstructionId> {
    let table = module.add_constant(computation, table);
    let id = module.add(computation, Op::PartitionId(PartitionId {}), &[]).map_err(error)?;
    let pick = DynamicSlice { dynamic_slice_sizes: [1][..].into() };
    let entry = module.add(computation, Op::DynamicSlice(pick), &[table, id]).map_err(error)?;
    reshape(module, entry, element_type, &[])
}

/// The whole of what every device has a part of, which is the sum of the summands.
pub(crate) fn gather(
    module: &mut Module,
    part: InstructionId,
    tiles: &Tiles,
    (whole, cutting): (&[i64], Cutting),
    devices: Devices,
) -> Result<InstructionId> {
    let computation = module[part].parent();
    let Some(array) = module[part].shape.as_array().cloned() else {
        return Err(Error::internal("parts are gathered of what is no array"));
    };
    let cuts: Vec<(i64, i64)> = whole
        .iter()
        .zip(&array.dims)
        .zip(&tiles.counts)
        .map(|((&whole, &part), &tiles)| cutting.pieces(whole, part, tiles))
        .collect();
    if cuts.iter().all(|&(pieces, _)| pieces == 1) && tiles.summand_count() == 1 {
        return Ok(part);
    }
    let seats = Seats::new(&tiles.groups);
    let all = all_parts(module, part, &seats, devices)?;
    let built = assemble(module, all, tiles, (&seats, &cuts), &array.dims, &mut Vec::new())?;
    // What the last pieces have beyond the end is cut off.
    let built_dims = module[built].shape.as_array().map(|a| a.dims.to_vec()).unwrap_or_default();
    if built_dims == whole {
        return Ok(built);
    }
    let zeros = vec![0; whole.len()];
    module.add_slice(computation, built, &zeros, whole).map_err(error)
}

/// An array of sizes `whole` that lies as `have` says, as `want` says. What both cut alike stays
/// cut; other dimensions are gathered, one after the other, and cut again. What each device has is the
/// same for the smaller groups that `want` may speak of, so it moves within those of `have`.
pub(crate) fn reshard(
    module: &mut Module,
    part: InstructionId,
    have: &Tiles,
    want: &Tiles,
    whole: &[i64],
    devices: Devices,
) -> Result<InstructionId> {
    if have.are_parts_of(want) {
        return Ok(part);
    }
    if have.is_whole() {
        return cut(module, part, want, (&want.part_dims(whole), Cutting::ByTile), devices);
    }
    let want = &want.clone().in_groups(&have.groups);
    if want.summand_count() > 1
        && want.counts.iter().all(|&count| count == 1)
        && have.fits(whole)
        && have.summand_count() == 1
        && have.is_one_tile_for_each(want)
    {
        return among_zeros(module, part, have, whole, devices);
    }
    if have.summand_count() > 1 && have.are_summands_even() {
        let along = Axis { count: have.summand_count(), places: have.summands.clone() };
        let have = have.clone().reduced();
        let sum = combine(module, part, BinaryKind::Add, &have, &[&along], devices)?;
        return reshard(module, sum, &have, want, whole, devices);
    }
    if !have.fits(whole) || have.summand_count() > 1 || !(want.is_whole() || want.fits(whole)) {
        let gathered = gather(module, part, have, (whole, Cutting::ByTile), devices)?;
        return match want.is_whole() {
            true => Ok(gathered),
            false => {
                cut(module, gathered, want, (&want.part_dims(whole), Cutting::ByTile), devices)
            }
        };
    }
    let (mut part, mut have) = (part, have.clone());
    for dimension in 0..whole.len() {
        if have.counts[dimension] > 1 && !want.axis(dimension).refines(&have.axis(dimension)) {
            part = gather_dimension(module, part, &have, dimension, devices)?;
            let none = Axis { count: 1, places: vec![0; devices.partitions] };
            have.set_axis(dimension, &none);
        }
    }
    if have.are_parts_of(want) {
        return Ok(part);
    }
    // What is left is finer: a part of each part.
    let mut rest = want.clone();
    for dimension in 0..whole.len() {
        let ratio = want.counts[dimension] / have.counts[dimension];
        let places = want.places.iter().map(|place| place[dimension] % ratio).collect();
        rest.set_axis(dimension, &Axis { count: ratio, places });
    }
    cut(module, part, &rest, (&want.part_dims(whole), Cutting::ByTile), devices)
}

/// A device's part at its place, and zeros elsewhere.
fn among_zeros(
    module: &mut Module,
    part: InstructionId,
    tiles: &Tiles,
    whole: &[i64],
    devices: Devices,
) -> Result<InstructionId> {
    let computation = module[part].parent();
    let Some(array) = module[part].shape.as_array().cloned() else {
        return Err(Error::internal("a part is placed of what is no array"));
    };
    let zero = Literal::zeros(&Shape::scalar(array.element_type))?;
    let zero = module.add_constant(computation, zero);
    let zeros = Shape::array(array.element_type, whole.iter().copied());
    let everywhere = Op::Broadcast(Broadcast { dimensions: Dims::new() });
    let zeros = module.add_with_shape(computation, everywhere, zeros, &[zero]).map_err(error)?;
    let mut operands = vec![zeros, part];
    for (dimension, &size) in array.dims.iter().enumerate() {
        let starts: Vec<i32> =
            tiles.places.iter().map(|place| (place[dimension] * size) as i32).collect();
        let table = Literal::from_values([devices.partitions as i64], &starts);
        operands.push(of_this_device(module, computation, table, ElementType::S32)?);
    }
    module.add(computation, Op::DynamicUpdateSlice(DynamicUpdateSlice {}), &operands).map_err(error)
}

/// Joins the parts along one dimension.
fn gather_dimension(
    module: &mut Module,
    part: InstructionId,
    tiles: &Tiles,
    dimension: usize,
    devices: Devices,
) -> Result<InstructionId> {
    let computation = module[part].parent();
    let others: Vec<Axis> = (0..tiles.counts.len())
        .filter(|&other| other != dimension)
        .map(|other| tiles.axis(other))
        .chain([tiles.group_axis()])
        .collect();
    let Some(mut array) = module[part].shape.as_array().cloned() else {
        return Err(Error::internal("parts are gathered of what is no array"));
    };
    array.dims[dimension] *= tiles.counts[dimension];
    array.layout = None;
    let all_gather = AllGather {
        channel_id: Some(next_channel(module)),
        replica_groups: groups(devices, &others, &[&tiles.axis(dimension)])?,
        constrain_layout: false,
        dimensions: [dimension as i64][..].into(),
        use_global_device_ids: true,
    };
    let shape = Shape::Array(array);
    module.add_with_shape(computation, Op::AllGather(all_gather), shape, &[part]).map_err(error)
}

/// The parts of an array where each device has the one that lies at the other end along some dimensions.
pub(crate) fn mirrored(
    module: &mut Module,
    part: InstructionId,
    tiles: &Tiles,
    dimensions: &[i64],
    devices: Devices,
) -> Result<InstructionId> {
    let is_mirrored = |&d: &usize| tiles.counts[d] > 1 && dimensions.contains(&(d as i64));
    let (along, others): (Vec<usize>, Vec<usize>) = (0..tiles.counts.len()).partition(is_mirrored);
    if along.is_empty() {
        return Ok(part);
    }
    let axes = |dims: &[usize]| dims.iter().map(|&d| tiles.axis(d)).collect::<Vec<Axis>>();
    let (along, others) = (axes(&along), axes(&others));
    // A permutation with a channel is among the partitions of each replica.
    let partitions = Devices { replicas: 1, ..devices };
    let groups = groups(partitions, &others, &along.iter().collect::<Vec<_>>())?;
    let ReplicaGroups::Explicit(groups) = groups else {
        return Err(Error::internal("groups of devices are not told one by one"));
    };
    // A group is in the order of its places, so the one at the other end is the same one from behind.
    let pairs = |group: Vec<i64>| group.clone().into_iter().zip(group.into_iter().rev());
    let permute = CollectivePermute {
        channel_id: Some(next_channel(module)),
        source_target_pairs: groups.into_iter().flat_map(pairs).collect(),
        slice_sizes: Vec::new(),
    };
    let computation = module[part].parent();
    module.add(computation, Op::CollectivePermute(permute), &[part]).map_err(error)
}

/// Combines what devices that differ along `along` have computed of a value that lies as `tiles`
/// says.
pub(crate) fn combine(
    module: &mut Module,
    value: InstructionId,
    kind: BinaryKind,
    tiles: &Tiles,
    along: &[&Axis],
    devices: Devices,
) -> Result<InstructionId> {
    let computation = module[value].parent();
    let Some(array) = module[value].shape.as_array().cloned() else {
        return Err(Error::internal("what devices have is combined of what is no array"));
    };
    let others: Vec<Axis> =
        (0..tiles.counts.len()).map(|d| tiles.axis(d)).chain([tiles.group_axis()]).collect();
    let all_reduce = AllReduce {
        channel_id: Some(next_channel(module)),
        replica_groups: groups(devices, &others, along)?,
        constrain_layout: false,
        use_global_device_ids: true,
        mode: None,
        to_apply: module.add_scalar_computation(kind, array.element_type).map_err(error)?,
    };
    let shape = Shape::Array(array);
    module.add_with_shape(computation, Op::AllReduce(all_reduce), shape, &[value]).map_err(error)
}

/// The value that one device has.
pub(crate) fn of_device(
    module: &mut Module,
    value: InstructionId,
    device: usize,
    devices: Devices,
) -> Result<InstructionId> {
    let dims = module[value].shape.as_array().map(|a| a.dims.to_vec()).unwrap_or_default();
    let all = all_parts(module, value, &Seats::new(&vec![0; devices.partitions]), devices)?;
    row(module, all, device, &dims)
}

/// Who brings parts together, and where among them each device's part is.
struct Seats {
    members: Vec<Vec<usize>>,
    of: Vec<usize>,
}

impl Seats {
    /// The devices of each group come together, or all devices if groups are not of one size.
    fn new(groups: &[i64]) -> Seats {
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (device, &group) in groups.iter().enumerate() {
            let group = usize::try_from(group).unwrap_or_default();
            members.resize(members.len().max(group + 1), Vec::new());
            members[group].push(device);
        }
        if members.iter().any(|group| group.len() != members[0].len()) {
            members = vec![(0..groups.len()).collect()];
        }
        let mut of = vec![0; groups.len()];
        for (seat, &device) in members.iter().flat_map(|group| group.iter().enumerate()) {
            of[device] = seat;
        }
        Seats { members, of }
    }
}

/// One after the other the values of all devices that come together, in a new first dimension.
fn all_parts(
    module: &mut Module,
    part: InstructionId,
    seats: &Seats,
    devices: Devices,
) -> Result<InstructionId> {
    let computation = module[part].parent();
    let Some(array) = module[part].shape.as_array().cloned() else {
        return Err(Error::internal("parts are gathered of what is no array"));
    };
    let mut stacked = vec![1];
    stacked.extend_from_slice(&array.dims);
    let row = reshape(module, part, array.element_type, &stacked)?;
    stacked[0] = seats.members[0].len() as i64;
    let groups = (0..devices.replicas)
        .flat_map(|replica| {
            let number = move |&device: &usize| (replica * devices.partitions + device) as i64;
            seats.members.iter().map(move |group| group.iter().map(number).collect())
        })
        .collect();
    let channel = next_channel(module);
    let all_gather = AllGather {
        channel_id: Some(channel),
        replica_groups: ReplicaGroups::Explicit(groups),
        constrain_layout: false,
        dimensions: [0][..].into(),
        use_global_device_ids: true,
    };
    let shape = Shape::array(array.element_type, stacked.iter().copied());
    module.add_with_shape(computation, Op::AllGather(all_gather), shape, &[row]).map_err(error)
}

/// Joins the pieces whose first places are `place`, dimension by dimension.
fn assemble(
    module: &mut Module,
    all: InstructionId,
    tiles: &Tiles,
    (seats, cuts): (&Seats, &[(i64, i64)]),
    part: &[i64],
    place: &mut Vec<i64>,
) -> Result<InstructionId> {
    let computation = module[all].parent();
    let dimension = place.len();
    if dimension == cuts.len() {
        // Devices with the same piece have the same values: the first one's serves.
        let has = |tile: &[i64]| {
            tile.iter()
                .zip(cuts)
                .zip(&place[..])
                .all(|((&at, &(_, per_piece)), &place)| at / per_piece.max(1) == place)
        };
        let mut sum = None;
        for summand in 0..tiles.summand_count() {
            let holder = |group: i64| {
                let mut devices = 0..tiles.places.len();
                let found = devices.find(|&device| {
                    has(&tiles.places[device])
                        && tiles.groups[device] == group
                        && tiles.summands[device] == summand
                });
                found.map(|device| seats.of[device]).ok_or_else(|| {
                    Error::invalid_argument("a sharding leaves a part of its array to no device")
                })
            };
            let holders =
                tiles.groups.iter().map(|&group| holder(group)).collect::<Result<Vec<_>>>()?;
            let row = row_of_each(module, all, &holders, part)?;
            sum = Some(match sum {
                None => row,
                Some(sum) => module
                    .add(computation, Op::binary(BinaryKind::Add), &[sum, row])
                    .map_err(error)?,
            });
        }
        return sum.ok_or_else(|| Error::internal("an array has no summands"));
    }
    let mut pieces = Vec::new();
    for piece in 0..cuts[dimension].0 {
        place.push(piece);
        pieces.push(assemble(module, all, tiles, (seats, cuts), part, place)?);
        place.pop();
    }
    if let [only] = pieces[..] {
        return Ok(only);
    }
    let concatenate = Concatenate { dimensions: [dimension as i64][..].into() };
    module.add(computation, Op::Concatenate(concatenate), &pieces).map_err(error)
}

/// For each device the row of the stacked values that it is to have.
fn row_of_each(
    module: &mut Module,
    all: InstructionId,
    rows: &[usize],
    dims: &[i64],
) -> Result<InstructionId> {
    let Some(&first) = rows.first() else {
        return Err(Error::internal("a program of no partitions"));
    };
    if rows.iter().all(|&row| row == first) {
        return row(module, all, first, dims);
    }
    let computation = module[all].parent();
    let element_type =
        module[all].shape.as_array().map_or(ElementType::F32, |array| array.element_type);
    let table: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
    let table = Literal::from_values([rows.len() as i64], &table);
    let start = of_this_device(module, computation, table, ElementType::S32)?;
    let zero = Literal::zeros(&Shape::scalar(ElementType::S32))?;
    let zero = module.add_constant(computation, zero);
    let mut operands = vec![all, start];
    operands.resize(dims.len() + 2, zero);
    let mut sizes = Dims::from_slice(&[1]);
    sizes.extend_from_slice(dims);
    let slice = DynamicSlice { dynamic_slice_sizes: sizes };
    let row = module.add(computation, Op::DynamicSlice(slice), &operands).map_err(error)?;
    reshape(module, row, element_type, dims)
}

/// What one device has of the stacked values.
fn row(
    module: &mut Module,
    all: InstructionId,
    device: usize,
    dims: &[i64],
) -> Result<InstructionId> {
    let computation = module[all].parent();
    let mut start = vec![0; dims.len() + 1];
    start[0] = device as i64;
    let mut limit = vec![device as i64 + 1];
    limit.extend_from_slice(dims);
    let row = module.add_slice(computation, all, &start, &limit).map_err(error)?;
    let element_type =
        module[all].shape.as_array().map_or(ElementType::F32, |array| array.element_type);
    reshape(module, row, element_type, dims)
}

fn reshape(
    module: &mut Module,
    value: InstructionId,
    element_type: ElementType,
    dims: &[i64],
) -> Result<InstructionId> {
    let computation = module[value].parent();
    let shape = Shape::array(element_type, dims.iter().copied());
    let op = Op::Reshape(rxla_hlo::op::Reshape::default());
    module.add_with_shape(computation, op, shape, &[value]).map_err(error)
}
