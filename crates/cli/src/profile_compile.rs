//! `rxla profile-compile`: where the time of a compilation goes.

use std::sync::Arc;

use clap::Args;
use rxla_base::Result;
use rxla_trace::{Kind, Recording, span};

use crate::input::{self, Layouts};
use crate::{Answer, environment, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// File with a module; `-` is standard input
    file: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let flags = environment::flags();
    let recording = Recording::start();
    let reading = span(Kind::Compile, || "read");
    let input = input::read(&arguments.file, Layouts::Keep)?;
    drop(reading);
    let verifying = span(Kind::Compile, || "verify");
    input.check()?;
    drop(verifying);
    let module = Arc::new(input.module);
    let options = rxla_cpu::Options { flags, ..rxla_cpu::Options::default() };
    let executable = rxla_cpu::compile(&module, &options)?;
    let mut text = rxla_cpu::timings(&recording.trace(), &module.name);
    text.push_str(&format!(
        "\n{} bytes of code, {} bytes of temporary memory, {} instructions stay interpreted\n",
        executable.code_size(),
        executable.temp_bytes(),
        executable.fallbacks().len()
    ));
    output::result(&text)?;
    Ok(Answer::Yes)
}
