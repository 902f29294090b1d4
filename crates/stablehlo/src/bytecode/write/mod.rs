//! Writes MLIR bytecode: the counterpart of [`super::read`].
//!
//! Attributes and types are written in the encoding of the dialect that the operation around them
//! belongs to: VHLO's for VHLO's operations, otherwise that of the builtin dialect, StableHLO and so
//! on. [`portable_artifact`] is what one wants to keep or send a program.

mod attributes;
mod emitter;
mod ir;
mod resources;
mod sdy;
mod stablehlo;
mod types;
mod vhlo;

use rxla_base::Result;

use super::{MAGIC, VERSION};
use crate::mlir::Module;
use crate::vhlo as versions;
use emitter::{Emitter, Tables};

/// Writes a StableHLO program as VHLO of this version, for others to read for years.
pub fn portable_artifact(module: &Module, target: versions::Version) -> Result<Vec<u8>> {
    let mut lowered = module.clone();
    versions::lower(&mut lowered, target)?;
    write(&lowered, &format!("StableHLO_v{target}"), target.bytecode_version())
}

/// Writes a module as it is, in the given version of the format.
pub fn write(module: &Module, producer: &str, version: u64) -> Result<Vec<u8>> {
    let version = version.min(VERSION);
    let mut tables = Tables::new(&module.resources);
    let parts = ir::write(module, version, &mut tables)?;
    let mut out = Emitter::default();
    out.bytes(&MAGIC);
    out.varint(version);
    out.bytes(producer.as_bytes());
    out.byte(0);
    // Everything that adds strings has run; dialects are the last to.
    let resources = resources::write(&module.resources, &mut tables);
    let dialects = tables.dialect_section(version);
    out.section(0, &tables.string_section());
    out.section(1, &dialects);
    let (data, offsets) = tables.entry_sections();
    out.section(2, &data);
    out.section(3, &offsets);
    out.section(4, &parts.ir);
    if let Some(resources) = resources {
        out.aligned_section(5, resources.alignment, &resources.data);
        out.section(6, &resources.offsets);
    }
    if version >= super::sections::since::PROPERTIES {
        out.section(8, &parts.properties);
    }
    Ok(out.finish())
}
