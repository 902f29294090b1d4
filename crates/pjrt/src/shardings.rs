//! The shardings extension: how parameters and results of a partitioned program are spread, as
//! serialized `OpSharding` protos.

use std::ffi::c_char;

use rxla::Executable;
use rxla::hlo::{
    DeviceOrder, InstructionId, ShardGroup, Sharding, ShardingKind, SingleSharding, SubgroupKind,
};

use crate::abi::entry;
use crate::executable::EXECUTABLES;
use crate::ffi;
use crate::raw::Raw;
use crate::wire::Writer;

/// The shardings of one executable, kept for C to look at. A side is empty-handed (`None`) if the
/// program does not say all of its shardings.
pub(crate) struct SerializedShardings {
    parameters: Option<List>,
    outputs: Option<List>,
}

struct List {
    data: Vec<Raw<c_char>>,
    sizes: Vec<usize>,
    _protos: Vec<Vec<u8>>,
}

impl List {
    fn new(protos: Vec<Vec<u8>>) -> List {
        let data = protos.iter().map(|p| Raw(p.as_ptr().cast_mut().cast())).collect();
        let sizes = protos.iter().map(Vec::len).collect();
        List { data, sizes, _protos: protos }
    }
}

impl SerializedShardings {
    pub(crate) fn of(executable: &Executable) -> SerializedShardings {
        let none = SerializedShardings { parameters: None, outputs: None };
        // Before the module is asked for, which may have to be read.
        if executable.options().partitions <= 1 {
            return none;
        }
        let module = executable.module();
        let Some(entry) = module.try_entry() else { return none };
        let sharding =
            |id: InstructionId| module[id].info().and_then(|info| info.sharding.as_ref());
        let config = &module.config;
        let parameters = module[entry].parameters();
        let parameters: Option<Vec<Vec<u8>>> =
            if config.spmd_parameters_shardings.len() == parameters.len() {
                // Arguments that a program takes as one tuple are handed over one by one.
                config.spmd_parameters_shardings.iter().flat_map(single).map(proto).collect()
            } else {
                parameters.iter().map(|&parameter| proto(sharding(parameter)?)).collect()
            };
        let root = module[entry].root();
        let outputs: Option<Vec<Vec<u8>>> =
            match config.spmd_output_sharding.as_ref().or_else(|| sharding(root)) {
                Some(Sharding::Tuple(elements)) => elements.iter().map(proto).collect(),
                Some(single) => {
                    let leaves = module[root].shape.leaves().len();
                    proto(single).map(|proto| vec![proto; leaves])
                }
                None => None,
            };
        SerializedShardings {
            parameters: parameters.map(List::new),
            outputs: outputs.map(List::new),
        }
    }
}

/// What a sharding says of each leaf.
fn single(sharding: &Sharding) -> &[Sharding] {
    match sharding {
        Sharding::Tuple(list) => list,
        _ => std::slice::from_ref(sharding),
    }
}

/// Writes an `OpSharding`; `None` for the spellings that have no form in it.
fn proto(sharding: &Sharding) -> Option<Vec<u8>> {
    const REPLICATED: i64 = 0;
    const MAXIMAL: i64 = 1;
    const OTHER: i64 = 3;
    const MANUAL: i64 = 4;
    const UNKNOWN: i64 = 5;
    const UNREDUCED: i64 = 6;
    let Sharding::Single(single) = sharding else { return None };
    let SingleSharding { kind, group, metadata: _ } = &**single;
    let mut writer = Writer::default();
    match kind {
        ShardingKind::Replicated => writer.int(1, REPLICATED),
        ShardingKind::Manual => writer.int(1, MANUAL),
        ShardingKind::Unknown => writer.int(1, UNKNOWN),
        ShardingKind::Unreduced => writer.int(1, UNREDUCED),
        ShardingKind::Maximal { device } => {
            writer.int(1, MAXIMAL);
            writer.ints(3, [1]);
            writer.ints(4, [*device]);
        }
        ShardingKind::Tiled(tiles) => {
            writer.int(1, OTHER);
            writer.ints(3, tiles.tile_dims.iter().copied());
            if let DeviceOrder::Explicit(devices) = &tiles.devices {
                writer.ints(4, devices.iter().copied());
            }
            writer.int(6, i64::from(tiles.replicate_on_last_tile_dim));
            if !tiles.replicate_on_last_tile_dim {
                writer.ints(
                    8,
                    tiles.last_tile_dims.iter().map(|kind| match kind {
                        SubgroupKind::Replicated => REPLICATED,
                        SubgroupKind::Maximal => MAXIMAL,
                        SubgroupKind::Manual => MANUAL,
                        SubgroupKind::Unknown => UNKNOWN,
                        SubgroupKind::Unreduced => UNREDUCED,
                    }),
                );
            }
            if let DeviceOrder::Iota { reshape, transpose } = &tiles.devices {
                writer.ints(9, reshape.iter().copied());
                writer.ints(10, transpose.iter().copied());
            }
        }
        ShardingKind::Named(_) => return None,
    }
    if let Some(group) = group {
        let (id, like) = match group {
            ShardGroup::As(id) => (*id, 0),
            ShardGroup::Like(id) => (*id, 1),
        };
        writer.int(11, 1);
        writer.int(12, id);
        writer.int(13, like);
    }
    Some(writer.0)
}

fn out(list: &Option<List>) -> (*const *const c_char, *const usize) {
    match list {
        Some(list) => (Raw::array(&list.data).cast(), list.sizes.as_ptr()),
        None => (std::ptr::null(), std::ptr::null()),
    }
}

entry! {
    fn PJRT_Shardings_PJRT_Executable_ParameterShardings(
        args: PJRT_Shardings_PJRT_Executable_ParameterShardings_Args
    ) {
        let object = EXECUTABLES.get(args.executable)?;
        let executable = &object.compiled.executable;
        let shardings = object.shardings.get_or_init(|| {
            SerializedShardings::of(executable)
        });
        args.num_parameters = executable.signature().parameters.len();
        (args.shardings, args.sharding_sizes) = out(&shardings.parameters);
        Ok(())
    }

    fn PJRT_Shardings_PJRT_Executable_OutputShardings(
        args: PJRT_Shardings_PJRT_Executable_OutputShardings_Args
    ) {
        let object = EXECUTABLES.get(args.executable)?;
        let executable = &object.compiled.executable;
        let shardings = object.shardings.get_or_init(|| {
            SerializedShardings::of(executable)
        });
        args.num_outputs = executable.signature().outputs.len();
        (args.shardings, args.sharding_sizes) = out(&shardings.outputs);
        Ok(())
    }
}

/// The extension, to be chained to `next`.
pub(crate) fn extension(next: *mut ffi::PJRT_Extension_Base) -> ffi::PJRT_Shardings_Extension {
    ffi::PJRT_Shardings_Extension {
        base: ffi::PJRT_Extension_Base {
            struct_size: size_of::<ffi::PJRT_Shardings_Extension>(),
            type_: ffi::PJRT_Extension_Type_Shardings,
            next,
        },
        PJRT_Shardings_PJRT_Executable_ParameterShardings: Some(
            PJRT_Shardings_PJRT_Executable_ParameterShardings,
        ),
        PJRT_Shardings_PJRT_Executable_OutputShardings: Some(
            PJRT_Shardings_PJRT_Executable_OutputShardings,
        ),
    }
}
