//! The forms in which programs come.

use rxla_base::{Error, Result};
use rxla_hlo::Module;

/// What the bytes of a program are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// MLIR of the StableHLO or VHLO dialect, as bytecode or text.
    StableHlo,
    /// `HloModule …`.
    HloText,
    /// A serialized `HloModuleProto`.
    HloProto,
    /// A serialized `HloModuleProtoWithConfig`.
    HloProtoWithConfig,
}

/// Reads a program.
pub fn read_module(format: Format, bytes: &[u8]) -> Result<Module> {
    match format {
        Format::StableHlo => rxla_stablehlo::to_hlo(bytes),
        Format::HloText => Err(Error::unimplemented("reading HLO text")),
        Format::HloProto | Format::HloProtoWithConfig => {
            Err(Error::unimplemented("reading HLO protocol buffers"))
        }
    }
}
