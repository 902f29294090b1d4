//! The SPMD partitioner: a program over whole arrays becomes the program that each device runs.
//!
//! First the plan ([`plan`]): shardings flow from where the program says them to all arrays that
//! can lie so. Then the rewrite ([`divide`]): an op that has a rule ([`rules`]) and lies in parts is
//! computed in parts, its operands moved to where they are needed; partial results of contracted
//! dimensions are summed over devices. All other ops are computed whole by every device, their
//! operands gathered and their results cut where a user wants parts. So values are right whatever
//! the shardings say, and what is cut unevenly is whole between the entry and the results.
//!
//! Manual regions (`shard_map`) see the parts they name. Inside of a region that leaves some axes to
//! us, what is told above holds for each group of devices that differ along those axes alone: the plan
//! knows of each array what groups it belongs to, and its parts move within them.
//!
//! Calls are inlined first, and loops and branches get computations of their own: what lies how in a
//! computation is said by its one caller.

mod border;
mod calls;
mod collectives;
mod custom;
mod divide;
mod factors;
mod graft;
mod groups;
mod move_parts;
mod one_device;
mod plan;
mod rules;
mod sharding_rule;
mod tiles;

pub use custom::{Call, CustomCalls, Divided, Partitioner, Unknown};

use rxla_base::{Diagnostic, Error, Result, Severity};
use rxla_hlo::{
    AliasKind, BufferDonor, ComputationLayout, Dims, InstructionId, Module, Shape, Sharding,
};
use rxla_passes::simplify::all_reduce_combiner::AllReduceCombiner;
use rxla_passes::simplify::call_inliner::CallInliner;
use rxla_passes::simplify::flatten_call_graph::FlattenCallGraph;
use rxla_passes::simplify::hlo_dce::HloDce;
use rxla_passes::{Context, Pass};

use calls::leaves_open;
use move_parts::Devices;
use plan::Plan;
use tiles::Tiles;

/// Rewrites a module of several partitions so that each of them runs it as it stands. Leaves the
/// shardings of parameters and result in the module's configuration.
pub fn partition(module: &mut Module, custom: &dyn CustomCalls) -> Result<()> {
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
    let context = Context::new();
    CallInliner.run(module, &context)?;
    FlattenCallGraph.run(module, &context)?;
    let declared = declared(module, devices.partitions)?;
    let plan = Plan::new(module, &declared, devices, custom)?;
    let root = module[entry].root();
    let results: Vec<Tiles> = module[root]
        .shape
        .leaves()
        .iter()
        .zip(declared)
        .enumerate()
        .map(|(leaf, ((_, shape), declared))| {
            let rank = shape.as_array().map_or(0, |array| array.rank());
            declared
                .or_else(|| plan.tiles(root, leaf).cloned())
                .unwrap_or_else(|| Tiles::whole(rank, devices.partitions))
        })
        .collect();
    let parameters = parameters(module, devices.partitions)?;
    let of_parameter = |(leaves, &id): (&Vec<Tiles>, &InstructionId)| match &module[id].shape {
        Shape::Tuple(_) => Sharding::Tuple(leaves.iter().map(Tiles::to_sharding).collect()),
        _ => leaves[0].to_sharding(),
    };
    let ids = module[entry].parameters();
    let said: Vec<Sharding> = parameters.iter().zip(ids).map(of_parameter).collect();
    module.config.spmd_parameters_shardings = said;
    let shardings: Vec<Sharding> = results.iter().map(Tiles::to_sharding).collect();
    module.config.spmd_output_sharding = match (&module[root].shape, &shardings[..]) {
        (_, []) => None,
        (Shape::Tuple(_), _) => Some(Sharding::Tuple(shardings)),
        (_, [single]) => Some(single.clone()),
        (_, _) => None,
    };
    let cut = |tiles: Tiles| Some(tiles).filter(|tiles| !tiles.is_whole());
    let cut_leaves = |leaves: Vec<Tiles>| leaves.into_iter().map(cut).collect();
    let parameters: Vec<Vec<_>> = parameters.into_iter().map(cut_leaves).collect();
    let results: Vec<_> = results.into_iter().map(cut).collect();
    for computation in module.computation_post_order() {
        if computation == entry {
            divide::computation(
                module,
                computation,
                &plan,
                &parameters,
                &results,
                devices,
                custom,
            )?;
            continue;
        }
        let (mut parameters, mut results) = (Vec::new(), Vec::new());
        if plan.is_bound(computation) {
            let leaves = |id: InstructionId| {
                (0..module[id].shape.leaves().len())
                    .map(|leaf| plan.tiles(id, leaf).cloned())
                    .collect::<Vec<_>>()
            };
            parameters = module[computation].parameters().iter().map(|&p| leaves(p)).collect();
            results = plan.results(module, computation);
        }
        divide::computation(module, computation, &plan, &parameters, &results, devices, custom)?;
    }
    HloDce.run(module, &context)?;
    AllReduceCombiner::DEFAULT.run(module, &context)?;
    follow_shapes(module);
    Ok(())
}

fn size(count: i64, what: &str) -> Result<usize> {
    // Tables of one entry per device are made below.
    usize::try_from(count).ok().filter(|&count| (1..=1 << 16).contains(&count)).ok_or_else(|| {
        Error::invalid_argument(format!("a program of {count} {what} cannot be partitioned"))
    })
}

/// What the program says of the entry's results, leaf by leaf.
fn declared(module: &Module, partitions: usize) -> Result<Vec<Option<Tiles>>> {
    let root = module[module.entry()].root();
    let leaves = module[root].shape.leaves();
    if leaves.iter().any(|(path, _)| path.len() > 1) {
        return Err(Error::unimplemented("results in nested tuples on several partitions"));
    }
    let given = module.config.spmd_output_sharding.as_ref();
    // What a marker says goes as far as it goes, as elsewhere; the result is not asked for so.
    let is_asked = given.is_some() || calls::target(module, root) != Some("Sharding");
    let declared = match given {
        Some(sharding) => Some(sharding),
        None if leaves_open(module, root) => None,
        None => module[root].info().and_then(|info| info.sharding.as_ref()),
    };
    leaves
        .iter()
        .enumerate()
        .map(|(index, (_, leaf))| {
            let Some(array) = leaf.as_array() else { return Ok(None) };
            let declared = match declared {
                Some(Sharding::Tuple(list)) => list.get(index),
                single => single,
            };
            // A member of a group that is to be spread alike says nothing of its own.
            let declared = declared.filter(|declared| !declared.is_unknown());
            let tiles = declared.map(|sharding| Tiles::of(sharding, array.rank(), partitions));
            Ok(tiles.transpose()?.filter(|tiles| is_asked || tiles.divides(&array.dims)))
        })
        .collect()
}

/// How the entry's parameters lie, leaf by leaf.
fn parameters(module: &Module, partitions: usize) -> Result<Vec<Vec<Tiles>>> {
    let parameters = module[module.entry()].parameters().iter();
    parameters.map(|&parameter| said(module, parameter, partitions)).collect()
}

/// What a parameter's sharding says of its leaves.
fn said(module: &Module, parameter: InstructionId, partitions: usize) -> Result<Vec<Tiles>> {
    let leaves = module[parameter].shape.leaves();
    if leaves.iter().any(|(path, _)| path.len() > 1) {
        return Err(Error::unimplemented("parameters in nested tuples on several partitions"));
    }
    let sharding = module[parameter].info().and_then(|info| info.sharding.as_ref());
    let of_leaf = |(index, (_, leaf)): (usize, &(Dims, &Shape))| {
        let Some(array) = leaf.as_array() else { return Ok(Tiles::whole(0, partitions)) };
        let sharding = match sharding {
            Some(Sharding::Tuple(list)) => list.get(index),
            single => single,
        };
        match sharding {
            Some(sharding) => Tiles::of(sharding, array.rank(), partitions),
            None => Ok(Tiles::whole(array.rank(), partitions)),
        }
    };
    leaves.iter().enumerate().map(of_leaf).collect()
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
