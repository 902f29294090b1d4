//! The forms in which programs come.

use std::sync::Arc;

use rxla_base::{Diagnostic, Error, Result};
use rxla_hlo::Module;
use rxla_stablehlo::import::{self, ArgumentForm};

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
    /// A file of `jax.export`.
    JaxExport,
}

/// How a program is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    pub arguments: ArgumentForm,
}

/// A program as it came.
#[derive(Clone, Debug)]
pub struct Source {
    pub format: Format,
    pub options: ReadOptions,
    pub bytes: Arc<[u8]>,
}

impl Source {
    pub fn read(&self) -> Result<Module> {
        read_module(self.format, &self.bytes, self.options)
    }
}

/// Reads a program. HLO knows itself how it takes its arguments.
pub fn read_module(format: Format, bytes: &[u8], options: ReadOptions) -> Result<Module> {
    match format {
        Format::StableHlo => {
            let options =
                import::Options { arguments: options.arguments, ..import::Options::default() };
            rxla_stablehlo::to_hlo(rxla_stablehlo::UNNAMED, bytes, &options)
        }
        Format::JaxExport => {
            read_module(Format::StableHlo, rxla_stablehlo::jax_export::program(bytes)?, options)
        }
        Format::HloText => {
            let text = std::str::from_utf8(bytes)
                .map_err(|_| Error::invalid_argument("the text of the program is not UTF-8"))?;
            let parsed = rxla_hlo::text::parse(text, &rxla_hlo::text::ParseOptions::default());
            parsed.map(|parsed| parsed.module).map_err(|findings| {
                rxla_stablehlo::error_of(
                    &findings,
                    Some(&rxla_base::Source { name: "<hlo>", text }),
                )
            })
        }
        Format::HloProto => {
            let proto = rxla_hlo_proto::decode(bytes).map_err(broken)?;
            rxla_hlo_proto::from_proto(&proto).map_err(broken)
        }
        Format::HloProtoWithConfig => {
            let proto = rxla_hlo_proto::decode(bytes).map_err(broken)?;
            rxla_hlo_proto::from_proto_with_config(&proto).map_err(broken)
        }
    }
}

fn broken(finding: Diagnostic) -> Error {
    rxla_stablehlo::error_of(&[finding], None)
}
