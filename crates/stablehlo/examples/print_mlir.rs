//! Reads MLIR files (text, or bytecode with VHLO brought up to date) and prints them as text.
//!
//! `cargo run -p rxla-stablehlo --example print_mlir -- [--generic] [--locations] [--split]
//! [--out DIR] FILE…`
//!
//! With `--out`, each file's text goes to a file of the same name in that directory, its generic
//! form beside it with `.generic`; and text that does not print the same again once read is an error.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rxla_base::{Source, render_all};
use rxla_stablehlo::mlir::Module;
use rxla_stablehlo::text::{self, Form, Locations, PrintOptions};

fn main() -> ExitCode {
    let mut options = PrintOptions::default();
    let (mut split, mut out, mut files) = (false, None, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--generic" => options.form = Form::Generic,
            "--locations" => options.locations = Locations::Printed,
            "--split" => split = true,
            "--out" => out = arguments.next().map(PathBuf::from),
            _ => files.push(PathBuf::from(argument)),
        }
    }
    let mut failures = 0;
    for file in &files {
        for (part, result) in read(file, split).into_iter().enumerate() {
            let outcome = result.and_then(|module| match &out {
                None => {
                    print!("{}", text::print(&module, options));
                    Ok(())
                }
                Some(directory) => write(directory, file, part, &module, options),
            });
            if let Err(message) = outcome {
                failures += 1;
                eprintln!("{}: {message}", file.display());
            }
        }
    }
    eprintln!("{} files, {failures} failures", files.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(file: &Path, split: bool) -> Vec<Result<Module, String>> {
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => return vec![Err(error.to_string())],
    };
    if split && let Ok(source) = std::str::from_utf8(&bytes) {
        let parts = text::split(source).into_iter();
        return parts.map(|(_, part)| parse(part)).collect();
    }
    vec![rxla_stablehlo::read(&bytes).map_err(|error| error.to_string())]
}

fn parse(text: &str) -> Result<Module, String> {
    text::parse(text)
        .map_err(|diagnostics| render_all(&diagnostics, Some(&Source { name: "part", text })))
}

fn write(
    directory: &Path,
    file: &Path,
    part: usize,
    module: &Module,
    options: PrintOptions,
) -> Result<(), String> {
    let name = file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = if part == 0 { name.into_owned() } else { format!("{name}.{part}") };
    let pretty = text::print(module, options);
    let generic = text::print(module, PrintOptions { form: Form::Generic, ..options });
    for text_form in [&pretty, &generic] {
        let again = parse(text_form).map_err(|m| format!("printed text is not read: {m}"))?;
        if text::print(&again, options) != pretty {
            return Err("printed text does not print the same once read".to_owned());
        }
        let other = text::print(&again, PrintOptions { form: Form::Generic, ..options });
        if other != generic {
            return Err("printed text does not print the same generic form once read".to_owned());
        }
    }
    let save = |name: String, text: &str| {
        std::fs::write(directory.join(name), text).map_err(|error| error.to_string())
    };
    save(name.clone(), &pretty)?;
    save(format!("{name}.generic"), &generic)
}
