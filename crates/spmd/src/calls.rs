//! The custom calls by which a program talks of shardings: `Sharding` says one, and
//! `SPMDFullToShardShape` and `SPMDShardToFullShape` lead into and out of manual regions.

use rxla_base::{Error, Result};
use rxla_hlo::{ComputationId, InstructionId, Module, Op, Sharding};

use crate::move_parts::{self, Devices};
use crate::tiles::Tiles;

/// The sharding that stands on an instruction.
fn sharding(module: &Module, instruction: InstructionId) -> Option<&Sharding> {
    module[instruction].info()?.sharding.as_ref()
}

pub(crate) fn target(module: &Module, instruction: InstructionId) -> Option<&str> {
    match &module[instruction].op {
        Op::CustomCall(call) => Some(&call.custom_call_target),
        _ => None,
    }
}

/// Replaces the calls of a computation by moves of parts, or by nothing.
pub(crate) fn rewrite(
    module: &mut Module,
    computation: ComputationId,
    devices: Devices,
) -> Result<()> {
    let mut markers = Vec::new();
    for instruction in module.post_order(computation) {
        let Some(name) = target(module, instruction) else { continue };
        let Some(&operand) = module[instruction].operands().first() else { continue };
        match name {
            "Sharding" => markers.push((instruction, operand)),
            "SPMDFullToShardShape" => {
                let sharding = required(module, operand, instruction)?;
                let dims = dims(module, instruction)?;
                let tiles = Tiles::of(&sharding, dims.len(), devices.partitions)?;
                let part = move_parts::cut(module, operand, &tiles, &dims, devices)?;
                module.replace_all_uses(instruction, part);
            }
            "SPMDShardToFullShape" => {
                let sharding = required(module, instruction, instruction)?;
                let dims = dims(module, instruction)?;
                let tiles = Tiles::of(&sharding, dims.len(), devices.partitions)?;
                let whole = move_parts::gather(module, operand, &tiles, &dims, devices)?;
                module.replace_all_uses(instruction, whole);
            }
            _ => {}
        }
    }
    // Last, because the calls above read the shardings of their operands off the markers.
    for (marker, operand) in markers {
        module.replace_all_uses(marker, operand);
    }
    Ok(())
}

fn required(module: &Module, of: InstructionId, call: InstructionId) -> Result<Sharding> {
    sharding(module, of).cloned().ok_or_else(|| {
        Error::invalid_argument(format!(
            "`{}` does not say how `{}` is sharded",
            module[call].name(),
            module[of].name()
        ))
    })
}

fn dims(module: &Module, instruction: InstructionId) -> Result<Vec<i64>> {
    let array = module[instruction].shape.as_array();
    array.map(|array| array.dims.to_vec()).ok_or_else(|| {
        Error::invalid_argument(format!("`{}` is no array", module[instruction].name()))
    })
}
