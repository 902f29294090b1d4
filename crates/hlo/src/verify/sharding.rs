//! Shardings fit the shapes they are put on.

use super::{Findings, each_instruction};
use crate::{DeviceOrder, Module, Shape, Sharding, ShardingKind, TileSharding};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    for (id, instruction) in each_instruction(module) {
        let Some(sharding) = instruction.info().and_then(|info| info.sharding.as_ref()) else {
            continue;
        };
        if let Err(message) = fits(sharding, &instruction.shape) {
            findings.instruction(id, format!("sharding: {message}"));
        }
    }
}

fn fits(sharding: &Sharding, shape: &Shape) -> Result<(), String> {
    match sharding {
        Sharding::Tuple(shardings) => {
            let leaves = shape.leaves();
            // One entry may stand for an empty tuple.
            if shape.as_tuple().is_some() && leaves.is_empty() && shardings.len() <= 1 {
                return Ok(());
            }
            // Of what a token orders, such as the data of an outfeed, the shape says nothing.
            if *shape == Shape::Token {
                return Ok(());
            }
            if shardings.len() != leaves.len() {
                return Err(format!("{} entries for `{shape}`", shardings.len()));
            }
            shardings.iter().zip(leaves).try_for_each(|(sharding, (_, leaf))| fits(sharding, leaf))
        }
        Sharding::Single(single) => match &single.kind {
            ShardingKind::Tiled(tiles) => tiled(tiles, shape),
            ShardingKind::Maximal { device } if *device < 0 => {
                Err(format!("there is no device {device}"))
            }
            ShardingKind::Replicated
            | ShardingKind::Maximal { .. }
            | ShardingKind::Manual
            | ShardingKind::Unknown
            | ShardingKind::Unreduced
            | ShardingKind::Named(_) => Ok(()),
        },
    }
}

fn product(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(
        1i64,
        |product, &size| {
            if size <= 0 { None } else { product.checked_mul(size) }
        },
    )
}

fn tiled(tiles: &TileSharding, shape: &Shape) -> Result<(), String> {
    let Some(count) = product(&tiles.tile_dims) else {
        return Err(format!("{:?} are no numbers of tiles", tiles.tile_dims.as_slice()));
    };
    let devices = match &tiles.devices {
        DeviceOrder::Explicit(devices) => Some(devices.len() as i64),
        DeviceOrder::Iota { reshape, .. } => product(reshape),
    };
    if devices != Some(count) {
        return Err(format!(
            "{:?} are {count} tiles, but there are {} devices",
            tiles.tile_dims.as_slice(),
            devices.map_or("too many".to_owned(), |devices| devices.to_string())
        ));
    }
    if let DeviceOrder::Explicit(devices) = &tiles.devices {
        let mut sorted = devices.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("device {} has several tiles", pair[0]));
        }
    }
    if let Some(array) = shape.as_array() {
        let extra = tiles.last_tile_dims.len().max(usize::from(tiles.replicate_on_last_tile_dim));
        if tiles.tile_dims.len() != array.rank() + extra {
            return Err(format!(
                "{:?} with {extra} subgroup dimensions does not fit `{array}`",
                tiles.tile_dims.as_slice()
            ));
        }
    }
    Ok(())
}
