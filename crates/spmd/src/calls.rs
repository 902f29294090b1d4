//! The custom calls by which a program talks of shardings: `Sharding` says one,
//! `SPMDFullToShardShape` and `SPMDShardToFullShape` lead into and out of manual regions,
//! `InspectSharding` wants to be told; and calls that have someone to divide them.

use rxla_base::{Error, Result};
use rxla_hlo::{InstructionId, Module, Op, Shape, Sharding};

use crate::custom::Partitioner;
use crate::divide::{Divider, Placed};
use crate::graft::graft;
use crate::move_parts::{self, Cutting};
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

/// JAX's callback that each device makes with its own parts.
const PARTITIONED_CALLBACK: &str = "xla_ffi_partitioned_python_cpu_callback";

/// Replaces a call by moves of parts, or by what each device does of it.
pub(crate) fn rewrite(divider: &mut Divider<'_>, call: InstructionId) -> Result<()> {
    let Some(name) = target(divider.module, call).map(str::to_owned) else { return Ok(()) };
    let first = divider.module[call].operands().first().copied();
    match (&*name, first) {
        ("Sharding", Some(operand)) => return marker(divider, call, operand),
        ("SPMDFullToShardShape", Some(operand)) => return enter(divider, call, operand),
        ("SPMDShardToFullShape", Some(operand)) => return leave(divider, call, operand),
        ("InspectSharding", Some(operand)) => return inspect(divider, call, operand),
        (PARTITIONED_CALLBACK, _) => return own_parts(divider, call),
        (_, _) => {}
    }
    if let Some(device) = one_device::device(divider.module, call)
        && device < divider.devices.partitions
    {
        divider.whole_operands(call)?;
        return one_device::make(divider.module, &[call], device, divider.devices);
    }
    if let Some(partitioner) = divider.custom.partitioner(&name) {
        return by_partitioner(divider, call, &*partitioner);
    }
    divider.by_rule(call)
}

/// Has one device exchange with the host what is said to be exchanged on one: the end of a transfer
/// says so, and its start goes with it.
pub(crate) fn transfer(divider: &mut Divider<'_>, end: InstructionId) -> Result<()> {
    let start = divider.module[end].operands()[0];
    let is_with_host = match &divider.module[start].op {
        Op::Send(send) => send.is_host_transfer,
        Op::Recv(recv) => recv.is_host_transfer,
        _ => false,
    };
    match one_device::device(divider.module, end) {
        Some(device) if is_with_host && device < divider.devices.partitions => {
            one_device::make(divider.module, &[start, end], device, divider.devices)
        }
        _ => divider.by_rule(end),
    }
}

/// Whether a custom call `Sharding` lets dimensions be cut further than it says: JAX names such dimensions in the
/// call's configuration.
pub(crate) fn leaves_open(module: &Module, call: InstructionId) -> bool {
    const OPEN: &str = "unspecified_dims=[";
    module[call].info().is_some_and(|info| {
        let named = info.backend_config.split_once(OPEN);
        named.is_some_and(|(_, dimensions)| !dimensions.starts_with(']'))
    })
}

fn marker(divider: &mut Divider<'_>, call: InstructionId, operand: InstructionId) -> Result<()> {
    let placed = divider.placed(operand);
    let is_open = leaves_open(divider.module, call)
        || match sharding(divider.module, call) {
            Some(Sharding::Tuple(_)) | None => true,
            Some(said) => said.is_unknown(),
        };
    let says_whole = match sharding(divider.module, call) {
        Some(said) if !is_open => {
            Tiles::of(said, placed.dims.len(), divider.devices.partitions)?.is_whole()
        }
        Some(_) | None => false,
    };
    let tiles = match divider.plan.tiles(call, 0) {
        Some(tiles) => tiles.clone(),
        None if says_whole => divider.nothing_cut(placed.dims.len()),
        // It cannot lie as it says, or says nothing.
        None => placed.tiles.clone(),
    };
    let value = divider.moved(&placed, &tiles)?;
    divider.place(call, vec![Placed { value, tiles, dims: placed.dims }]);
    divider.retire(call);
    Ok(())
}

/// Into a manual region: each device goes on with its part.
fn enter(divider: &mut Divider<'_>, call: InstructionId, operand: InstructionId) -> Result<()> {
    let dims = dims(divider.module, call)?;
    let placed = divider.placed(operand);
    let whole = divider.nothing_cut(dims.len());
    let part = if let Some(cut) = divider.plan.border(call) {
        let planned = divider.plan.tiles(call, 0).cloned().map(Tiles::reduced);
        let inner = planned.filter(|inner| cut.cut_further(inner).fits(&placed.dims));
        let inner = inner.unwrap_or(whole);
        let value = divider.moved(&placed, &cut.cut_further(&inner))?;
        Placed { value, tiles: inner, dims: dims[..].into() }
    } else {
        let sharding = required(divider.module, operand, call)?;
        let tiles = Tiles::of(&sharding, dims.len(), divider.devices.partitions)?;
        let part = if tiles.is_of_one_group() && tiles.part_dims(&placed.dims)[..] == dims[..] {
            divider.moved(&placed, &tiles)?
        } else {
            let whole = divider.whole(operand)?;
            let part = (&dims[..], Cutting::BySize);
            move_parts::cut(divider.module, whole, &tiles, part, divider.devices)?
        };
        divider.as_whole(part)
    };
    divider.place(call, vec![part]);
    divider.retire(call);
    Ok(())
}

/// Out of a manual region: devices have parts of an array again.
fn leave(divider: &mut Divider<'_>, call: InstructionId, operand: InstructionId) -> Result<()> {
    let dims = dims(divider.module, call)?;
    let placed = if let Some(cut) = divider.plan.border(call) {
        let placed = divider.placed(operand);
        let is_cut_so =
            placed.tiles.summand_count() == 1 && cut.cut_further(&placed.tiles).fits(&dims);
        let inner = match is_cut_so {
            true => placed.tiles.clone(),
            false => divider.nothing_cut(dims.len()),
        };
        let value = divider.moved(&placed, &inner)?;
        Placed { value, tiles: cut.cut_further(&inner), dims: dims[..].into() }
    } else {
        let sharding = required(divider.module, call, call)?;
        let tiles = Tiles::of(&sharding, dims.len(), divider.devices.partitions)?;
        let part = divider.whole(operand)?;
        if tiles.is_of_one_group()
            && tiles.part_dims(&dims)[..] == self::dims(divider.module, part)?[..]
        {
            Placed { value: part, tiles, dims: dims[..].into() }
        } else {
            let whole = (&dims[..], Cutting::BySize);
            let whole = move_parts::gather(divider.module, part, &tiles, whole, divider.devices)?;
            divider.as_whole(whole)
        }
    };
    divider.place(call, vec![placed]);
    divider.retire(call);
    Ok(())
}

fn inspect(divider: &mut Divider<'_>, call: InstructionId, operand: InstructionId) -> Result<()> {
    let placed = divider.placed(operand);
    let tiles = divider.plan.tiles(operand, 0).unwrap_or(&placed.tiles);
    let config = divider.module[call].info().map_or("", |info| &info.backend_config);
    divider.custom.inspect(config, &tiles.to_sharding())?;
    divider.place(call, vec![placed]);
    divider.retire(call);
    Ok(())
}

/// Gives a call its device's parts of operands.
fn own_parts(divider: &mut Divider<'_>, call: InstructionId) -> Result<()> {
    for (index, operand) in divider.module[call].operands().to_vec().into_iter().enumerate() {
        if divider.module[operand].shape.as_array().is_none() {
            let whole = divider.whole(operand)?;
            divider.module.set_operand(call, index, whole);
            continue;
        }
        let placed = divider.placed(operand);
        let tiles = divider.plan.tiles(operand, 0).unwrap_or(&placed.tiles).clone();
        let tiles = match divider.plan.is_of_one_group(operand) {
            true => tiles.reduced(),
            // In a manual region its part is what it sees there.
            false => divider.nothing_cut(placed.dims.len()),
        };
        let part = divider.moved(&placed, &tiles)?;
        divider.module.set_operand(call, index, part);
    }
    let operands = divider.module[call].operands().to_vec();
    for (index, operand) in operands.into_iter().enumerate() {
        let part = divider.module[operand].shape.as_array().map(|array| array.dims.clone());
        if let Op::CustomCall(op) = &mut divider.module[call].op
            && let Some(constraints) = &mut op.operand_layout_constraints
            && let (Some(Shape::Array(constraint)), Some(part)) = (constraints.get_mut(index), part)
        {
            constraint.dims = part;
        }
    }
    Ok(())
}

/// Asks a call's partitioner what each device does.
fn by_partitioner(
    divider: &mut Divider<'_>,
    call: InstructionId,
    partitioner: &dyn Partitioner,
) -> Result<()> {
    let name = divider.module[call].name().to_owned();
    let partitions = divider.devices.partitions;
    let shape = divider.module[call].shape.clone();
    let operands = divider.module[call].operands().to_vec();
    let mut asked = divider.plan.call(divider.module, call);
    for ((shape, _), &operand) in asked.operands.iter_mut().zip(&operands) {
        // Parameters have the shapes of parts by now.
        if let Shape::Array(array) = shape {
            array.dims = divider.placed(operand).dims;
        }
    }
    let divided = partitioner.partition(&asked)?;
    if divided.operands.len() != operands.len() {
        return Err(Error::invalid_argument(format!(
            "the partitioner of `{name}` gave shardings for {} operands of {}",
            divided.operands.len(),
            operands.len()
        )));
    }
    let mut parts = Vec::new();
    for (&operand, sharding) in operands.iter().zip(&divided.operands) {
        let placed = divider.placed(operand);
        let tiles = Tiles::of(sharding, placed.dims.len(), partitions)?;
        parts.push(divider.moved(&placed, &tiles)?);
    }
    let computation = divider.module[call].parent();
    let root = graft(divider.module, computation, &divided.module, &parts)?;
    let elements = match &shape {
        Shape::Tuple(elements) => elements.to_vec(),
        other => vec![other.clone()],
    };
    let mut leaves = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let sharding = match &divided.result {
            Sharding::Tuple(list) => list.get(index),
            single => Some(single),
        };
        let (Some(sharding), Some(whole)) = (sharding, element.as_array()) else {
            return Err(Error::invalid_argument(format!(
                "the partitioner of `{name}` does not say how result {index} is sharded"
            )));
        };
        let value = match &divider.module[root].shape {
            Shape::Tuple(_) => divider
                .module
                .add_get_tuple_element(computation, root, index as i64)
                .map_err(crate::error)?,
            _ => root,
        };
        let groups = divider.plan.groups(call);
        let tiles = Tiles::of(sharding, whole.rank(), partitions)?.in_groups(groups);
        let part = divider.module[value].shape.as_array();
        if part.is_none_or(|part| part.dims != tiles.part_dims(&whole.dims)) {
            return Err(Error::invalid_argument(format!(
                "the partitioner of `{name}` gave `{}` for a part of `{element}`",
                divider.module[value].shape
            )));
        }
        leaves.push(Placed { value, tiles, dims: whole.dims.clone() });
    }
    divider.place(call, leaves);
    divider.retire(call);
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
