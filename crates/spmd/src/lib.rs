//! The SPMD partitioner: a program over whole arrays becomes the program that each device runs.
//!
//! What holds of the result: every value outside of manual regions is whole on every device. A
//! sharded parameter is gathered at the entry, a sharded result is cut at the end, and the work in
//! between is done by all devices alike. Manual regions (`shard_map`) see the parts they name. So
//! the values are right whatever the shardings say; what is not there yet is the division of the
//! work outside of manual regions.
//!
//! Results without a sharding of their own get the one that flows to them from the parameters
//! ([`flow`]), so that frameworks see outputs spread as their inputs are.

mod calls;
mod flow;
mod move_parts;
mod one_device;
mod tiles;

use rxla_base::{Diagnostic, Error, Result, Severity};
use rxla_hlo::{
    AliasKind, BufferDonor, ComputationLayout, InstructionId, Module, Op, Shape, Sharding,
    ShardingKind,
};

use move_parts::Devices;
use tiles::Tiles;

/// Rewrites a module of several partitions so that each of them runs it as it stands. Leaves the
/// shardings of parameters and result in the module's configuration.
pub fn partition(module: &mut Module) -> Result<()> {
    let devices = Devices {
        replicas: size(module.config.replica_count, "replicas")?,
        partitions: size(module.config.num_partitions, "partitions")?,
    };
    if devices.partitions <= 1 {
        return Ok(());
    }
    let entry = module
        .try_entry()
        .ok_or_else(|| Error::invalid_argument("the module has no entry computation"))?;
    let flow = flow::Flow::new(module, devices.partitions)?;
    let results = results(module, &flow, devices.partitions)?;
    for computation in module.computations().to_vec() {
        calls::rewrite(module, computation, &flow, devices)?;
    }
    let parameters = module[entry].parameters().to_vec();
    let mut parameter_shardings = Vec::new();
    for &parameter in &parameters {
        parameter_shardings.push(cut_parameter(module, parameter, devices)?);
    }
    cut_results(module, &results, devices)?;
    module.config.spmd_parameters_shardings = parameter_shardings;
    let shardings: Vec<Sharding> = results.iter().map(Tiles::to_sharding).collect();
    let root = module[entry].root();
    module.config.spmd_output_sharding = match (&module[root].shape, &shardings[..]) {
        (_, []) => None,
        (Shape::Tuple(_), _) => Some(Sharding::Tuple(shardings)),
        (_, [single]) => Some(single.clone()),
        (_, _) => None,
    };
    follow_shapes(module);
    Ok(())
}

fn size(count: i64, what: &str) -> Result<usize> {
    // Tables of one entry per device are made below.
    usize::try_from(count).ok().filter(|&count| (1..=1 << 16).contains(&count)).ok_or_else(|| {
        Error::invalid_argument(format!("a program of {count} {what} cannot be partitioned"))
    })
}

/// The tiles of the entry's results, leaf by leaf.
fn results(module: &Module, flow: &flow::Flow, partitions: usize) -> Result<Vec<Tiles>> {
    let root = module[module.entry()].root();
    let leaves = module[root].shape.leaves();
    if leaves.iter().any(|(path, _)| path.len() > 1) {
        return Err(Error::unimplemented("results in nested tuples on several partitions"));
    }
    let declared = match module.config.spmd_output_sharding.as_ref() {
        Some(sharding) => Some(sharding),
        None => module[root].info().and_then(|info| info.sharding.as_ref()),
    };
    leaves
        .iter()
        .enumerate()
        .map(|(index, (path, leaf))| {
            let Some(array) = leaf.as_array() else { return Ok(Tiles::whole(0, partitions)) };
            let declared = match declared {
                Some(Sharding::Tuple(list)) => list.get(index),
                single => single,
            };
            // A member of a group that is to be spread alike says nothing of its own.
            let unknown = |sharding: &Sharding| {
                matches!(sharding, Sharding::Single(single) if single.kind == ShardingKind::Unknown)
            };
            if let Some(declared) = declared.filter(|&declared| !unknown(declared)) {
                return Tiles::of(declared, array.rank(), partitions);
            }
            let source = match (&module[root].op, path.is_empty()) {
                (_, true) => Some(root),
                (Op::Tuple(_), false) => module[root].operands().get(index).copied(),
                (_, false) => None,
            };
            let flowed = source.and_then(|source| flow.tiles(source));
            // A result that cannot be cut evenly stays whole.
            Ok(flowed
                .filter(|tiles| tiles.divides(&array.dims))
                .cloned()
                .unwrap_or_else(|| Tiles::whole(array.rank(), partitions)))
        })
        .collect()
}

/// Makes a parameter take a device's part and its users see the whole. Returns its sharding.
fn cut_parameter(
    module: &mut Module,
    parameter: InstructionId,
    devices: Devices,
) -> Result<Sharding> {
    let Shape::Array(whole) = module[parameter].shape.clone() else {
        return match &module[parameter].shape {
            Shape::Tuple(_) => {
                Err(Error::unimplemented("tupled parameters of a program of several partitions"))
            }
            _ => Ok(Sharding::replicated()),
        };
    };
    let sharding = module[parameter].info().and_then(|info| info.sharding.clone());
    let Some(sharding) = sharding else { return Ok(Sharding::replicated()) };
    let tiles = Tiles::of(&sharding, whole.rank(), devices.partitions)?;
    if tiles.is_whole() {
        return Ok(tiles.to_sharding());
    }
    let users = module[parameter].users().to_vec();
    let is_root = module[module[parameter].parent()].root() == parameter;
    let mut part = whole.clone();
    part.dims = tiles.part_dims(&whole.dims);
    module[parameter].shape = Shape::Array(part);
    let gathered = move_parts::gather(module, parameter, &tiles, &whole.dims, devices)?;
    for user in users {
        let operands: Vec<InstructionId> = module[user]
            .operands()
            .iter()
            .map(|&operand| if operand == parameter { gathered } else { operand })
            .collect();
        module.set_operands(user, &operands);
    }
    if is_root {
        module.set_root(gathered);
    }
    Ok(tiles.to_sharding())
}

/// Makes the root return a device's part of each result.
fn cut_results(module: &mut Module, results: &[Tiles], devices: Devices) -> Result<()> {
    let entry = module.entry();
    let root = module[entry].root();
    if results.iter().all(Tiles::is_whole) {
        return Ok(());
    }
    let Shape::Tuple(elements) = module[root].shape.clone() else {
        let [tiles] = results else {
            return Err(Error::internal("one result with several shardings"));
        };
        let dims = module[root].shape.as_array().map(|array| array.dims.clone());
        let part = tiles.part_dims(&dims.unwrap_or_default());
        let part = move_parts::cut(module, root, tiles, &part, devices)?;
        module.set_root(part);
        return Ok(());
    };
    let mut parts = Vec::new();
    for (index, (element, tiles)) in elements.iter().zip(results).enumerate() {
        let value = match &module[root].op {
            Op::Tuple(_) => module[root].operands()[index],
            _ => module.add_get_tuple_element(entry, root, index as i64).map_err(error)?,
        };
        let part = match element.as_array() {
            Some(array) if !tiles.is_whole() => {
                move_parts::cut(module, value, tiles, &tiles.part_dims(&array.dims), devices)?
            }
            _ => value,
        };
        parts.push(part);
    }
    let root = module.add_tuple(entry, &parts).map_err(error)?;
    module.set_root(root);
    Ok(())
}

/// Brings what the module says of its entry's shapes in line with the parts. An alias of an
/// argument and a result that now differ in size becomes a mere donation.
fn follow_shapes(module: &mut Module) {
    let program = module.program_shape(module.entry());
    if let Some(layout) = &mut module.config.entry_computation_layout {
        let ComputationLayout { parameters, result } = layout;
        for (laid_out, (_, shape)) in parameters.iter_mut().zip(&program.parameters) {
            *laid_out = with_dims_of(laid_out, shape);
        }
        *result = with_dims_of(result, &program.result);
    }
    let aliases = std::mem::take(&mut module.config.input_output_alias);
    for alias in aliases {
        let parameter = usize::try_from(alias.parameter)
            .ok()
            .and_then(|number| program.parameters.get(number))
            .and_then(|(_, shape)| shape.subshape(&alias.parameter_index));
        let output = program.result.subshape(&alias.output_index);
        if parameter.zip(output).is_some_and(|(parameter, output)| parameter.compatible(output)) {
            module.config.input_output_alias.push(alias);
        } else if alias.kind == AliasKind::May {
            module.config.buffer_donors.push(BufferDonor {
                parameter: alias.parameter,
                parameter_index: alias.parameter_index,
            });
        }
    }
}

/// `laid_out` with the sizes of `shape`, leaf by leaf.
fn with_dims_of(laid_out: &Shape, shape: &Shape) -> Shape {
    match (laid_out, shape) {
        (Shape::Array(laid_out), Shape::Array(shape)) => {
            let mut array = shape.clone();
            array.layout = laid_out.layout.clone();
            Shape::Array(array)
        }
        (Shape::Tuple(laid_out), Shape::Tuple(shapes)) => {
            Shape::tuple(laid_out.iter().zip(shapes.iter()).map(|(l, s)| with_dims_of(l, s)))
        }
        (_, shape) => shape.clone(),
    }
}

/// A finding about an instruction of ours: the partitioner made something wrong.
fn error(finding: Diagnostic) -> Error {
    debug_assert_eq!(finding.severity, Severity::Error);
    Error::internal(format!("partitioning: {}", finding.message))
}
