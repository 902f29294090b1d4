//! `rxla compile`: a program as an object for C, with its header.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rxla_aot::{Compiled, archive, identifier};
use rxla_base::{Error, Result};
use rxla_cpu::Cpu;

use crate::input::{self, Layouts};
use crate::{Answer, environment, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// File with a module, or of `jax.export`; `-` is standard input
    file: String,
    /// Where the code goes: `.o` is an object, `.a` a static library, `.so` a shared one (by `cc`)
    #[arg(short, long)]
    output: PathBuf,
    /// Where the header goes
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// What the names of the program's functions begin with; else made of the output's name
    #[arg(long)]
    name: Option<String>,
    /// The processor that the code is for
    #[arg(long, value_enum, default_value_t)]
    target_cpu: TargetCpu,
    /// The library with the kernels that programs call; else the one that is in this command
    #[arg(long, value_name = "FILE")]
    runtime: Option<PathBuf>,
}

/// A processor on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TargetCpu(pub(crate) Cpu);

impl ValueEnum for TargetCpu {
    fn value_variants<'a>() -> &'a [TargetCpu] {
        const ALL: [TargetCpu; Cpu::ALL.len()] = {
            let mut all = [TargetCpu(Cpu::Native); Cpu::ALL.len()];
            let mut index = 0;
            while index < all.len() {
                all[index] = TargetCpu(Cpu::ALL[index]);
                index += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

/// What the code is packed as.
#[derive(Clone, Copy)]
enum Form {
    Object,
    StaticLibrary,
    SharedLibrary,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let form = form(&arguments.output)?;
    let stem = arguments.output.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    let prefix = match &arguments.name {
        Some(name) => name.clone(),
        // `libmodel.so` is the library `model`.
        None => identifier(match form {
            Form::Object => &stem,
            Form::StaticLibrary | Form::SharedLibrary => {
                stem.strip_prefix("lib").filter(|rest| !rest.is_empty()).unwrap_or(&stem)
            }
        }),
    };
    let input = input::read(&arguments.file, Layouts::Keep)?;
    input.check()?;
    let options = rxla_cpu::Options {
        flags: environment::flags(),
        cpu: arguments.target_cpu.0,
        ..rxla_cpu::Options::default()
    };
    let library = || library(arguments.runtime.as_deref());
    let compiled = rxla_aot::compile(&Arc::new(input.module), &prefix, &options, library)?;
    write(&arguments.output, form, &stem, &compiled)?;
    if let Some(header) = &arguments.header {
        output::to(Some(header), compiled.header.as_bytes())?;
    }
    let size = std::fs::metadata(&arguments.output).map_or(0, |file| file.len());
    output::message(&format!(
        "{}: {size} bytes, of which {} are constants; a run needs a workspace of {} bytes",
        arguments.output.display(),
        compiled.constant_bytes,
        compiled.workspace_bytes
    ));
    Ok(Answer::Yes)
}

/// The library of `crates/aot-runtime`: in the command, so that it works wherever it is copied to.
fn library(named: Option<&Path>) -> Result<Cow<'static, [u8]>> {
    let Some(path) = named else {
        let embedded = rxla_embed::static_library!("rxla_aot_runtime").map(Cow::Borrowed);
        return embedded.ok_or_else(|| Error::internal("the command was only checked, not built"));
    };
    let cannot = |error| {
        Error::invalid_argument(format!("cannot read the library `{}`: {error}", path.display()))
    };
    std::fs::read(path).map(Cow::Owned).map_err(cannot)
}

fn form(output: &Path) -> Result<Form> {
    match output.extension().and_then(|extension| extension.to_str()) {
        Some("o") => Ok(Form::Object),
        Some("a") => Ok(Form::StaticLibrary),
        Some("so") => Ok(Form::SharedLibrary),
        _ => Err(Error::invalid_argument(format!(
            "`{}` should end in `.o`, `.a` or `.so`",
            output.display()
        ))),
    }
}

fn write(path: &Path, form: Form, stem: &str, compiled: &Compiled) -> Result<()> {
    let object = &compiled.object;
    match form {
        Form::Object => output::to(Some(path), object),
        Form::StaticLibrary => {
            let names: Vec<&str> = compiled.names.iter().map(String::as_str).collect();
            output::to(Some(path), &archive(object, &format!("{stem}.o"), &names))
        }
        Form::SharedLibrary => {
            let beside = path.with_extension(format!("so.{}.o", std::process::id()));
            output::to(Some(&beside), object)?;
            let linked = share(&beside, path);
            // What is left of it says nothing that the error does not.
            let _ = std::fs::remove_file(&beside);
            linked
        }
    }
}

/// Makes a shared library by the system's compiler, which knows its linker.
fn share(object: &Path, path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let run = Command::new("cc")
        .args(["-shared", "-o"])
        .arg(path)
        .arg(object)
        .args(["-Wl,-z,defs", "-Wl,--as-needed", "-lm", "-lpthread"])
        .arg(format!("-Wl,-soname,{name}"))
        .output();
    let run = run.map_err(|error| {
        Error::invalid_argument(format!(
            "a shared library is linked by `cc`, which cannot be run: {error}; `.o` and `.a` need no linker"
        ))
    })?;
    if !run.status.success() {
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(Error::internal(format!("`cc` could not link the library:\n{said}")));
    }
    Ok(())
}
