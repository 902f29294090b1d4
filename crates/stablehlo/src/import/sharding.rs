//! Shardings: HLO's text in `mhlo.sharding`, and Shardy's `sdy.sharding` as tile assignments.

use rustc_hash::FxHashMap;
use rxla_hlo::{Dims, InstructionId, Sharding, ShardingKind, SubgroupKind, TileSharding};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::mesh::{axis_size, covered, device_order, mesh_of, pieces};
use crate::mlir::{Attribute, AxisRef, ByteString, SdyAttribute, TensorSharding};

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
        Some(attribute) => {
            let sharding = from_sdy(cx, view, attribute, &cx.manual_axes)?;
            // What is open says nothing of an operation.
            Ok(Some(sharding).filter(|sharding| !sharding.is_unknown()))
        }
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
        SdyAttribute::TensorSharding(sharding) if manual.is_empty() && is_open(sharding) => {
            Ok(Sharding::single(ShardingKind::Unknown))
        }
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

/// The dimensions that may be cut further than the sharding says.
pub(super) fn open_dimensions(attribute: &Attribute) -> Vec<usize> {
    let Attribute::Sdy(attribute) = attribute else { return Vec::new() };
    let SdyAttribute::TensorSharding(sharding) = &**attribute else { return Vec::new() };
    let dimensions = sharding.dim_shardings.iter().enumerate();
    dimensions.filter(|(_, dimension)| !dimension.is_closed).map(|(number, _)| number).collect()
}

/// Whether it leaves open how each dimension is spread that it says nothing of, and names no axis.
fn is_open(sharding: &TensorSharding) -> bool {
    let mut dimensions = sharding.dim_shardings.iter();
    sharding.unreduced_axes.is_empty()
        && sharding.dim_shardings.iter().all(|dimension| dimension.axes.is_empty())
        && dimensions.any(|dimension| !dimension.is_closed)
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
