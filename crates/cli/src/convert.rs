//! `rxla convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rxla_base::Result;
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo_proto::proto::HloProto;
use rxla_hlo_proto::{Message, to_proto, to_proto_with_config};
use rxla_stablehlo::vhlo::Version;
use rxla_stablehlo::{bytecode, text};

use crate::input::{self, Layouts};
use crate::{Answer, output};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// HLO text with everything in it
    Text,
    /// XLA's `HloModuleProto`
    Proto,
    /// The proto with what it leaves out, such as the number of replicas
    ProtoWithConfig,
    /// The proto as XLA dumps it, `HloProto`
    HloProto,
    /// StableHLO as MLIR text
    Stablehlo,
    /// StableHLO as bytecode of the current version, which JAX and others read
    StablehloBytecode,
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// The file with the module; `-` is standard input
    file: String,
    /// The format to write
    #[arg(long, value_enum)]
    to: Format,
    /// What a shape without layout means
    #[arg(long, value_enum, default_value = "keep")]
    layouts: Layouts,
    /// Where to write; standard output if missing
    #[arg(short, long)]
    output: Option<PathBuf>,
}

fn exported(module: &rxla_hlo::Module) -> Result<rxla_stablehlo::mlir::Module> {
    rxla_stablehlo::export(module).map_err(|findings| rxla_stablehlo::error_of(&findings, None))
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, arguments.layouts)?;
    let bytes = match arguments.to {
        Format::Text => print(&input.module, &PrintOptions::complete()).into_bytes(),
        Format::Proto => to_proto(&input.module)?.encode_to_vec(),
        Format::ProtoWithConfig => to_proto_with_config(&input.module)?.encode_to_vec(),
        Format::HloProto => {
            let hlo_module = Some(to_proto(&input.module)?);
            HloProto { hlo_module, buffer_assignment: None }.encode_to_vec()
        }
        Format::Stablehlo => {
            text::print(&exported(&input.module)?, text::PrintOptions::default()).into_bytes()
        }
        Format::StablehloBytecode => {
            bytecode::portable_artifact(&exported(&input.module)?, Version::CURRENT)?
        }
    };
    output::to(arguments.output.as_deref(), &bytes)?;
    Ok(Answer::Yes)
}
