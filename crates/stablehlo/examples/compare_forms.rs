//! Compares programs in bytecode with the same programs in text.
//!
//! `compare_forms FILE.mlirbc…` reads each file and, where they are there, `FILE.mlirbc.pretty.mlir` and
//! `FILE.mlirbc.generic.mlir`, as `tools/stablehlo/survey_bytecode.py texts` writes them.

use std::io::{self, Write};
use std::process::ExitCode;

use rxla_stablehlo::mlir::{CompareLocations, difference};

fn main() -> ExitCode {
    let (mut same, mut different) = (0, 0);
    let mut out = io::stdout();
    for path in std::env::args().skip(1) {
        let read = |path: &str| {
            let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
            rxla_stablehlo::read(rxla_stablehlo::UNNAMED, &bytes).map_err(|error| error.to_string())
        };
        // Short forms of regions have no place for the locations of block arguments.
        let forms = [("pretty", CompareLocations::No), ("generic", CompareLocations::Yes)];
        for (form, locations) in forms {
            let text = format!("{path}.{form}.mlir");
            if !std::path::Path::new(&text).exists() {
                continue;
            }
            let outcome = read(&path).and_then(|binary| {
                let text = read(&text)?;
                difference(&binary, &text, locations).map_or(Ok(()), Err)
            });
            match outcome {
                Ok(()) => same += 1,
                Err(problem) => {
                    different += 1;
                    _ = writeln!(out, "{text}: {problem}");
                }
            }
        }
    }
    _ = writeln!(out, "{same} same, {different} different");
    if different == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
