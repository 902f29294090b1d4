//! The command `rxla`. One file per subcommand; each has its arguments and a function `run`.
//!
//! Exit codes: 0 for success, 1 for a negative answer (invalid, different, failed), 2 for wrong
//! usage. Results go to standard output, everything else to standard error.

mod backend;
mod bench;
mod bisect;
mod check;
mod compile;
mod convert;
mod diff;
mod environment;
mod input;
mod isolate;
mod npy;
mod opt;
mod output;
mod passes;
mod print;
mod profile_compile;
mod random;
mod run;
mod stats;
mod values;
mod verify;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rxla_base::Result;

#[derive(Parser)]
#[command(name = "rxla", version, about = "Reads, checks, runs and transforms HLO modules")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print modules as HLO text
    Print(print::Arguments),
    /// Check modules; says nothing if all is well
    Verify(verify::Arguments),
    /// Run programs that check their own results
    Check(check::Arguments),
    /// Compile a module to an object for C, with its header
    Compile(compile::Arguments),
    /// Write a module in another format
    Convert(convert::Arguments),
    /// Count ops, floating point operations and bytes
    Stats(stats::Arguments),
    /// Run a module on the values of its parameters
    Run(run::Arguments),
    /// Run passes on a module and print what comes out
    Opt(opt::Arguments),
    /// List passes and pipelines
    Passes(passes::Arguments),
    /// Time a module, and each of its kernels against what the machine can do
    Bench(bench::Arguments),
    /// Say what compiling a module takes: phases, passes, kernels
    ProfileCompile(profile_compile::Arguments),
    /// Write each fusion of a module, as it is compiled, as a module of its own
    Isolate(isolate::Arguments),
    /// Find what makes a module wrong, or crash, and the smallest module that shows it
    Bisect(bisect::Arguments),
    /// Whether compiled code agrees with the interpreter; what `bisect` runs
    #[command(hide = true)]
    Judge(bisect::judge::Arguments),
    /// Compare two modules, names and metadata aside
    Diff(diff::Arguments),
    /// Show modules and dumps as one HTML page: graphs, passes, costs, buffers
    View(view::Arguments),
}

/// What a command found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Yes,
    No,
}

fn main() -> ExitCode {
    environment::listen();
    let result = run(Arguments::parse());
    match result {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => {
            output::error(&error);
            ExitCode::from(1)
        }
    }
}

fn run(arguments: Arguments) -> Result<Answer> {
    match arguments.command {
        Command::Print(arguments) => print::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Compile(arguments) => compile::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Opt(arguments) => opt::run(&arguments),
        Command::Passes(arguments) => passes::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::ProfileCompile(arguments) => profile_compile::run(&arguments),
        Command::Isolate(arguments) => isolate::run(&arguments),
        Command::Bisect(arguments) => bisect::run(&arguments),
        Command::Judge(arguments) => bisect::judge::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::View(arguments) => view::run(&arguments),
    }
}
