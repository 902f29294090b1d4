//! Reads MLIR bytecode and writes it again, for `tools/stablehlo/survey_bytecode.py` to compare.
//!
//! `rewrite_bytecode VERSION FILE…` writes `FILE.VERSION.out` beside each file, in that version of VHLO;
//! `plain` writes StableHLO without versions.

use std::io::{self, Write};
use std::process::ExitCode;

use rxla_stablehlo::bytecode::{self, TextParsers};
use rxla_stablehlo::vhlo::{self, Version};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next().unwrap_or_default();
    let version = Version::parse(&wanted);
    if version.is_none() && wanted != "plain" {
        _ = writeln!(io::stderr(), "the first argument is a version such as 1.17.0 or `plain`");
        return ExitCode::FAILURE;
    }
    let mut failures = 0;
    for path in arguments {
        let outcome = std::fs::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
            let mut module =
                bytecode::read(&bytes, TextParsers::default()).map_err(|e| e.to_string())?.module;
            vhlo::upgrade(&mut module).map_err(|error| error.to_string())?;
            match version {
                Some(version) => bytecode::portable_artifact(&module, version),
                None => bytecode::write(&module, "rxla", bytecode::VERSION),
            }
            .map_err(|error| error.to_string())
        });
        let outcome = outcome.and_then(|bytes| {
            std::fs::write(format!("{path}.{wanted}.out"), bytes).map_err(|e| e.to_string())
        });
        if let Err(error) = outcome {
            _ = writeln!(io::stderr(), "{path}: {error}");
            failures += 1;
        }
    }
    if failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
