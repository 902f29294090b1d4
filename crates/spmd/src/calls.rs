//! The custom calls by which a program talks of shardings: `Sharding` says one, and
//! `SPMDFullToShardShape` and `SPMDShardToFullShape` lead into and out of manual regions.

use rxla_base::{Error, Result};
use rxla_hlo::{ComputationId, InstructionId, Module, Op, Sharding};

use crate::flow::Flow;
use crate::move_parts::{self, Devices};
use crate::one_device;
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
    flow: &Flow,
    devices: Devices,
) -> Result<()> {
    let mut markers = Vec::new();
    for instruction in module.post_order(computation) {
        let Some(name) = target(module, instruction) else { continue };
        if name != "Sharding"
            && let Some(device) = one_device::device(module, instruction)
            && device < devices.partitions
        {
            one_device::make(module, instruction, device, devices)?;
            continue;
        }
        if name == PARTITIONED_CALLBACK {
            cut_operands(module, instruction, flow, devices)?;
            continue;
        }
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

/// JAX's callback that each device makes with its own parts.
const PARTITIONED_CALLBACK: &str = "xla_ffi_partitioned_python_cpu_callback";

/// Gives a call its device's parts of operands, where these are known to be spread.
fn cut_operands(
    module: &mut Module,
    call: InstructionId,
    flow: &Flow,
    devices: Devices,
) -> Result<()> {
    for (index, operand) in module[call].operands().to_vec().into_iter().enumerate() {
        let Some(tiles) = flow.tiles(operand) else { continue };
        let dims = dims(module, operand)?;
        if tiles.divides(&dims) {
            let part = tiles.part_dims(&dims);
            let part = move_parts::cut(module, operand, tiles, &part, devices)?;
            module.set_operand(call, index, part);
        }
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
