//! Shardings: HLO's text in `mhlo.sharding`, and Shardy's `sdy.sharding` as tile assignments.

use rustc_hash::FxHashMap;
use rxla_hlo::{
    DeviceOrder, Dims, InstructionId, Sharding, ShardingKind, SubgroupKind, TileSharding,
};

use super::attributes::View;
use super::importer::{Importer, Result};
use crate::mlir::{
    Attribute, AxisRef, ByteString, MeshAxis, SdyAttribute, SdyMesh, TensorSharding,
};

/// A sharding in HLO's text.
pub(super) fn parse(view: View<'_>, text: &str) -> Result<Sharding> {
    rxla_hlo::text::parse_sharding(text).map_err(|findings| {
        view.error(format_args!("the sharding `{text}` cannot be read{}", reason(&findings)))
    })
}

/// Why a piece of HLO text could not be read.
pub(super) fn reason(findings: &[rxla_base::Diagnostic]) -> String {
    findings.first().map_or(String::new(), |finding| format!(": {}", finding.message))
}

/// The sharding of an operation's results. On one partition none means anything.
pub(super) fn of_operation<'a>(cx: &Importer<'a>, view: View<'a>) -> Result<Option<Sharding>> {
    if !cx.is_partitioned() {
        return Ok(None);
    }
    if view.get("mhlo.sharding").is_some() {
        return parse(view, view.str("mhlo.sharding")?).map(Some);
    }
    match view.get("sdy.sharding") {
        Some(attribute) => from_sdy(cx, view, attribute, &cx.manual_axes).map(Some),
        None => Ok(None),
    }
}

/// The sharding that the dictionary of an argument or result says.
pub(super) fn of_dictionary<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    dictionary: &Attribute,
) -> Result<Option<Sharding>> {
    if !cx.is_partitioned() {
        return Ok(None);
    }
    if let Some(text) = dictionary.entry("mhlo.sharding") {
        let text = text.as_str().ok_or_else(|| view.wrong("mhlo.sharding", "a string"))?;
        return parse(view, text).map(Some);
    }
    match dictionary.entry("sdy.sharding") {
        Some(attribute) => from_sdy(cx, view, attribute, &[]).map(Some),
        None => Ok(None),
    }
}

/// A custom call `Sharding` that says how the value is to be spread.
pub(super) fn constrain(
    cx: &mut Importer<'_>,
    value: InstructionId,
    sharding: Sharding,
) -> InstructionId {
    let shape = cx.logical_shape(value);
    let call = super::custom_call::marker("Sharding");
    let instruction = cx.add(call, shape, &[value]);
    cx.module[instruction].info_mut().sharding = Some(sharding);
    instruction
}

/// Shardy's sharding of one value or of several, with the manual axes round it.
pub(super) fn from_sdy<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    attribute: &Attribute,
    manual: &[ByteString],
) -> Result<Sharding> {
    let Attribute::Sdy(attribute) = attribute else {
        return Err(view.wrong("sdy.sharding", "a sharding"));
    };
    match &**attribute {
        SdyAttribute::TensorSharding(sharding) => tensor_sharding(cx, view, sharding, manual),
        SdyAttribute::TensorShardingPerValue(list) => {
            let mut list = list
                .iter()
                .map(|sharding| tensor_sharding(cx, view, sharding, manual))
                .collect::<Result<Vec<_>>>()?;
            match (list.len(), view.op.results.len()) {
                (1, 1) => Ok(list.remove(0)),
                _ => Ok(Sharding::Tuple(list)),
            }
        }
        _ => Err(view.wrong("sdy.sharding", "a sharding")),
    }
}

/// The mesh a sharding is told in.
pub(super) fn mesh_of<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    mesh_or_ref: &Attribute,
) -> Result<SdyMesh> {
    let inline = match mesh_or_ref.as_flat_symbol() {
        Some(name) => {
            let op =
                cx.symbols.get(name.as_bytes()).copied().ok_or_else(|| {
                    view.error(format_args!("mesh `{name}` is not in the module"))
                })?;
            cx.view(op).require("mesh")?.clone()
        }
        None => mesh_or_ref.clone(),
    };
    let mesh = match &inline {
        Attribute::Sdy(attribute) => match &**attribute {
            SdyAttribute::Mesh(mesh) => mesh.clone(),
            _ => return Err(view.error("a sharding's mesh is no mesh")),
        },
        Attribute::Mesh(mesh) => SdyMesh {
            axes: mesh.axes.clone(),
            device_ids: match &mesh.device_ids {
                Some(ids) => ids
                    .to_i64s(1 << 20)
                    .ok_or_else(|| view.error("a mesh's devices are no integers"))?,
                None => Vec::new(),
            },
        },
        _ => return Err(view.error("a sharding's mesh is no mesh")),
    };
    let devices = mesh.axes.iter().try_fold(1i64, |product, axis| {
        (axis.size > 0).then(|| product.checked_mul(axis.size)).flatten()
    });
    match devices {
        Some(devices)
            if devices <= 1 << 24
                && (mesh.device_ids.is_empty()
                    || mesh.axes.is_empty()
                    || mesh.device_ids.len() as i64 == devices) =>
        {
            Ok(mesh)
        }
        _ => Err(view.error("a mesh's sizes do not fit its devices")),
    }
}

/// Size of a whole axis or a part of one.
pub(super) fn axis_size(view: View<'_>, mesh: &SdyMesh, axis: &AxisRef) -> Result<i64> {
    let whole = axis_named(view, mesh, &axis.name)?.size;
    match axis.sub_axis {
        None => Ok(whole),
        Some(part) => {
            let fits = part.size > 0
                && part.pre_size > 0
                && part.pre_size.checked_mul(part.size).is_some_and(|n| whole % n == 0);
            match fits {
                true => Ok(part.size),
                false => Err(view.error(format_args!(
                    "`{}:({}){}` is no part of an axis of size {whole}",
                    axis.name, part.pre_size, part.size
                ))),
            }
        }
    }
}

fn axis_named<'m>(view: View<'_>, mesh: &'m SdyMesh, name: &ByteString) -> Result<&'m MeshAxis> {
    mesh.axes
        .iter()
        .find(|axis| axis.name == *name)
        .ok_or_else(|| view.error(format_args!("the mesh has no axis `{name}`")))
}

/// One piece of a mesh axis after cutting it where shardings refer to parts.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Piece {
    axis: usize,
    pre_size: i64,
    size: i64,
}

/// The mesh's axes in order, cut at the borders of all parts in use.
fn pieces(view: View<'_>, mesh: &SdyMesh, used: &[&AxisRef]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for (number, axis) in mesh.axes.iter().enumerate() {
        // Borders as the product of the sizes before them.
        let mut borders = vec![1, axis.size];
        for reference in used.iter().filter(|reference| reference.name == axis.name) {
            axis_size(view, mesh, reference)?;
            if let Some(part) = reference.sub_axis {
                borders.push(part.pre_size);
                borders.push(part.pre_size * part.size);
            }
        }
        borders.sort_unstable();
        borders.dedup();
        for pair in borders.windows(2) {
            if pair[1] % pair[0] != 0 {
                return Err(view.unimplemented("parts of a mesh axis that overlap"));
            }
            pieces.push(Piece { axis: number, pre_size: pair[0], size: pair[1] / pair[0] });
        }
    }
    Ok(pieces)
}

/// The pieces that make up a reference, in order.
fn covered(mesh: &SdyMesh, pieces: &[Piece], axis: &AxisRef) -> Vec<usize> {
    let (low, high) = match axis.sub_axis {
        Some(part) => (part.pre_size, part.pre_size * part.size),
        None => (1, i64::MAX),
    };
    (0..pieces.len())
        .filter(|&index| {
            let piece = &pieces[index];
            mesh.axes[piece.axis].name == axis.name
                && piece.pre_size >= low
                && piece.pre_size < high
        })
        .collect()
}

/// Shardy's sharding as a tile assignment: sharded axes first, in the order of dimensions, then manual
/// ones, unreduced ones, and the rest replicated.
fn tensor_sharding<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    sharding: &TensorSharding,
    manual: &[ByteString],
) -> Result<Sharding> {
    let mesh = mesh_of(cx, view, &sharding.mesh_or_ref)?;
    if mesh.axes.is_empty() {
        return Ok(match mesh.device_ids.first() {
            Some(&device) => Sharding::single(ShardingKind::Maximal { device }),
            None => Sharding::replicated(),
        });
    }
    if mesh.axes.iter().all(|axis| manual.contains(&axis.name)) {
        return Ok(Sharding::single(ShardingKind::Manual));
    }
    let manual: Vec<AxisRef> =
        manual.iter().map(|name| AxisRef { name: name.clone(), sub_axis: None }).collect();
    let dimension_axes = sharding.dim_shardings.iter().flat_map(|dimension| &dimension.axes);
    let used: Vec<&AxisRef> =
        dimension_axes.chain(&manual).chain(&sharding.unreduced_axes).collect();
    let pieces = pieces(view, &mesh, &used)?;

    let mut positions: FxHashMap<usize, usize> = FxHashMap::default();
    let mut order = Vec::new();
    let mut tile_dims = Dims::new();
    let mut last_tile_dims = Vec::new();
    let mut take = |axes: &[AxisRef]| -> Result<i64> {
        let mut size = 1;
        for axis in axes {
            size *= axis_size(view, &mesh, axis)?;
            for piece in covered(&mesh, &pieces, axis) {
                if positions.insert(piece, order.len()).is_some() {
                    return Err(view.error(format_args!("axis `{}` is used twice", axis.name)));
                }
                order.push(piece);
            }
        }
        Ok(size)
    };
    for dimension in &sharding.dim_shardings {
        tile_dims.push(take(&dimension.axes)?);
    }
    if !manual.is_empty() {
        tile_dims.push(take(&manual)?);
        last_tile_dims.push(SubgroupKind::Manual);
    }
    if !sharding.unreduced_axes.is_empty() {
        tile_dims.push(take(&sharding.unreduced_axes)?);
        last_tile_dims.push(SubgroupKind::Unreduced);
    }
    let rest: Vec<usize> =
        (0..pieces.len()).filter(|piece| !positions.contains_key(piece)).collect();
    let replicated: i64 = rest.iter().map(|&piece| pieces[piece].size).product();
    if replicated > 1 {
        tile_dims.push(replicated);
        last_tile_dims.push(SubgroupKind::Replicated);
    }
    order.extend(rest);
    let is_replicated = tile_dims[..sharding.dim_shardings.len()].iter().all(|&size| size == 1)
        && last_tile_dims.iter().all(|&kind| kind == SubgroupKind::Replicated);
    if is_replicated {
        return Ok(Sharding::replicated());
    }
    let sizes: Vec<i64> = pieces.iter().map(|piece| piece.size).collect();
    let devices = device_order(&mesh, &sizes, &order);
    let replicate_on_last_tile_dim = last_tile_dims == [SubgroupKind::Replicated];
    Ok(Sharding::single(ShardingKind::Tiled(TileSharding {
        tile_dims,
        devices,
        last_tile_dims,
        replicate_on_last_tile_dim,
    })))
}

/// The mesh's devices with its axes (of `sizes`) in another order.
fn device_order(mesh: &SdyMesh, sizes: &[i64], order: &[usize]) -> DeviceOrder {
    if mesh.device_ids.is_empty() {
        return canonical_iota(sizes, order);
    }
    DeviceOrder::Explicit(
        transposed_indices(sizes, order).map(|index| mesh.device_ids[index]).collect(),
    )
}

/// Row-major positions of an array of `sizes`, visited with its dimensions in another order.
pub(super) fn transposed_indices(
    sizes: &[i64],
    order: &[usize],
) -> impl Iterator<Item = usize> + use<> {
    let mut strides = vec![1usize; sizes.len()];
    for dimension in (0..sizes.len().saturating_sub(1)).rev() {
        strides[dimension] = strides[dimension + 1] * sizes[dimension + 1] as usize;
    }
    let dims: Vec<(usize, usize)> =
        order.iter().map(|&dimension| (sizes[dimension] as usize, strides[dimension])).collect();
    let count: usize = dims.iter().map(|(size, _)| size).product();
    (0..count).map(move |mut position| {
        let mut index = 0;
        for &(size, stride) in dims.iter().rev() {
            index += position % size * stride;
            position /= size;
        }
        index
    })
}

/// An iota in XLA's canonical spelling: no dimensions of size 1, and neighbours that stay neighbours
/// are one dimension.
fn canonical_iota(sizes: &[i64], order: &[usize]) -> DeviceOrder {
    let order: Vec<usize> = order.iter().copied().filter(|&d| sizes[d] != 1).collect();
    let mut runs: Vec<(usize, i64)> = Vec::new();
    let mut last = None;
    // Dimensions of size 1 between two others do not part them.
    let kept: Vec<usize> = (0..sizes.len()).filter(|&d| sizes[d] != 1).collect();
    let rank_of = |dimension: usize| kept.binary_search(&dimension).unwrap_or(0);
    for &dimension in &order {
        let rank = rank_of(dimension);
        match runs.last_mut() {
            Some((_, size)) if last == Some(rank.wrapping_sub(1)) => *size *= sizes[dimension],
            _ => runs.push((rank, sizes[dimension])),
        }
        last = Some(rank);
    }
    let mut sorted: Vec<usize> = (0..runs.len()).collect();
    sorted.sort_by_key(|&run| runs[run].0);
    let mut transpose = vec![0i64; runs.len()];
    for (position, &run) in sorted.iter().enumerate() {
        transpose[run] = position as i64;
    }
    let reshape: Dims = sorted.iter().map(|&run| runs[run].1).collect();
    if reshape.is_empty() {
        return DeviceOrder::Iota {
            reshape: Dims::from_slice(&[1]),
            transpose: Dims::from_slice(&[0]),
        };
    }
    DeviceOrder::Iota { reshape, transpose: transpose.into_iter().collect() }
}
