//! A process may end at any time, also while LLVM works on other threads.

use std::env;
use std::process::{Command, ExitCode, exit};
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use rxla_kernel::{BinaryOp, Builder, Linkage, Module, Type};
use rxla_llvm::{Cache, Compiler, Options, Target};

/// The words that make this program one that ends while LLVM works.
const RETURNS: &str = "return";
const EXITS: &str = "exit";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, word, microseconds] = &arguments[..]
        && [RETURNS, EXITS].contains(&word.as_str())
    {
        let pause = Duration::from_micros(microseconds.parse().expect("a number"));
        if word == EXITS {
            exit_on_another_thread(pause);
        }
        rxla_llvm::warm_up();
        sleep(pause);
        return ExitCode::SUCCESS;
    }
    let trials = vec![
        Trial::test("main_returns_at_any_time", || end_after_each_pause(RETURNS)),
        Trial::test("another_thread_exits_after_the_first_programs", || {
            end_after_each_pause(EXITS)
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn end_after_each_pause(word: &str) -> Result<(), Failed> {
    // The most of them early, before the others begin.
    for step in 0..50 {
        let arguments = [word.to_owned(), (20 * step * step).to_string()];
        let status = Command::new(env::current_exe()?).args(&arguments).status()?;
        if !status.success() {
            return Err(format!("{arguments:?}: {status}").into());
        }
    }
    Ok(())
}

fn exit_on_another_thread(pause: Duration) -> ! {
    let compiler = Compiler::new(Target::host().expect("a machine"), Arc::new(Cache::new(0)));
    let compile = move |number| {
        let _ = compiler.compile(&program(number), &Options::default(), &|_| None);
    };
    (0..4).for_each(&compile);
    spawn(move || {
        sleep(pause);
        exit(0)
    });
    (4..).for_each(compile);
    unreachable!("there is always another program")
}

fn program(number: u64) -> Module {
    let mut b = Builder::new("program", Linkage::Kernel, None);
    let out = b.parameter(Type::PTR);
    let zero = b.index(0);
    let x = b.load(Type::I64, out, zero);
    let factor = b.constant(Type::I64, number);
    let product = b.binary(BinaryOp::Mul, x, factor);
    b.store(out, zero, product);
    Module { functions: vec![b.finish()] }
}
