//! Meshes of devices: their axes, parts of axes, and the order of devices along them.

use rxla_hlo::{DeviceOrder, Dims};

use super::attributes::View;
use super::importer::{Importer, Result};
use crate::mlir::{Attribute, AxisRef, ByteString, MeshAxis, SdyAttribute, SdyMesh};

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
pub(super) struct Piece {
    axis: usize,
    pre_size: i64,
    pub(super) size: i64,
}

/// The mesh's axes in order, cut at the borders of all parts in use.
pub(super) fn pieces(view: View<'_>, mesh: &SdyMesh, used: &[&AxisRef]) -> Result<Vec<Piece>> {
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
pub(super) fn covered(mesh: &SdyMesh, pieces: &[Piece], axis: &AxisRef) -> Vec<usize> {
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

/// The mesh's devices with its axes (of `sizes`) in another order.
pub(super) fn device_order(mesh: &SdyMesh, sizes: &[i64], order: &[usize]) -> DeviceOrder {
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
