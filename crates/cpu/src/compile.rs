//! A compilation, from a module to what runs, with what is told of it on the way: dumps and traces.

use std::fmt::Write;
use std::sync::Arc;

use rxla_base::Result;
use rxla_dump::{Between, Dump, Part};
use rxla_flags::{Flags, Plant};
use rxla_hlo::Module;
use rxla_kernel::{Block, Function, LoopKind, Statement};
use rxla_llvm::{Compiler, Cpu};
use rxla_passes::{Event, Moment};
use rxla_trace::notice::warn_once;
use rxla_trace::{Kind, Recording, Trace, span};

use crate::marks::label;
use crate::program::{Marks, Program};
use crate::{
    Executable, Lower, Lowered, assignment, check, executable, lower_with, optimize_with, planted,
    vectorize,
};

/// How to compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub llvm: rxla_llvm::Options,
    pub flags: Arc<Flags>,
    /// Whether the program tells what it runs when.
    pub marks: Marks,
    /// What the code is for; this process can run it if its machine has all of it.
    pub cpu: Cpu,
}

impl Options {
    /// With the interpreter's arithmetic, whose results may be subnormal.
    pub fn with_subnormals(mut self) -> Options {
        Arc::make_mut(&mut self.flags).rxla_flush_subnormals = false;
        self
    }
}

/// Compiles a module that has passed the verifier.
pub fn compile(module: &Arc<Module>, options: &Options) -> Result<Executable> {
    // What is compiled a second time, to tell what it runs, is dumped once.
    let dump = match options.marks {
        Marks::None => Dump::start(&options.flags, &module.name),
        Marks::Steps => None,
    };
    let timing = dump.as_ref().filter(|dump| dump.wants(Part::Timing)).map(|_| Recording::start());
    let whole = span(Kind::Compile, || format!("compile {}", module.name));
    let compiled = phases(module, options, dump.as_ref());
    drop(whole);
    if let (Some(dump), Some(timing)) = (&dump, timing) {
        let text = timings(&timing.trace(), &module.name);
        dump.text(Part::Timing, "timing.txt", "time of phases, passes and kernels", &text);
    }
    compiled
}

fn phases(module: &Arc<Module>, options: &Options, dump: Option<&Dump>) -> Result<Executable> {
    let lower = Lower { marks: options.marks, early: true, ..Lower::new(&options.flags) };
    let Prepared { module, program, compiler } = prepare(module, options, dump, &lower)?;
    let generate = span(Kind::Compile, || "generate code");
    let code = compiler.compile(&program.kernels, &llvm(options, &module), &executable::resolve)?;
    drop(generate);
    Executable::new(module, program, code, options.flags.rxla_flush_subnormals)
}

/// How the code generator is to go about a module.
pub(crate) fn llvm(options: &Options, module: &Module) -> rxla_llvm::Options {
    rxla_llvm::Options { label: module.name.clone(), ..options.llvm.clone() }
}

/// A program in kernel IR with its schedules, and what is to make code of it.
pub(crate) struct Prepared {
    /// As it was optimised.
    pub(crate) module: Arc<Module>,
    pub(crate) program: Program,
    pub(crate) compiler: Compiler,
}

/// All phases before the one that generates code.
pub(crate) fn prepare(
    module: &Arc<Module>,
    options: &Options,
    dump: Option<&Dump>,
    lower: &Lower,
) -> Result<Prepared> {
    let mut module = Arc::clone(module);
    passes(Arc::make_mut(&mut module), &options.flags, dump)?;
    let lowered = lower_with(&module, lower)?;
    if let Some(dump) = dump {
        let name = "cpu_after_optimizations-buffer-assignment.txt";
        if dump.wants(Part::Buffers) {
            let text = assignment::describe(&module, &lowered.plan, &lowered.buffers);
            dump.text(Part::Buffers, name, "where each value lives, and when", &text);
        }
        dump_kernels(dump, "kernels.txt", "kernel IR as it was emitted", &module, &lowered);
    }
    let mut lowered = lowered;
    let kernels = &mut lowered.program.kernels;
    debug_assert!(check(kernels), "kernels verify");
    let compiler = Compiler::of(options.cpu)?.flushing(options.flags.rxla_flush_subnormals);
    let schedules = span(Kind::Compile, || "schedule kernels");
    if !options.flags.rxla_vectorize {
        kernels.functions.iter_mut().for_each(one_by_one);
    }
    if options.flags.rxla_plant == Plant::Schedule {
        kernels.functions.iter_mut().for_each(planted::lose_remainders);
    }
    vectorize(kernels, compiler.target().vector_bits());
    debug_assert!(check(kernels), "scheduled kernels verify");
    drop(schedules);
    if let Some(dump) = dump {
        let about = "kernel IR with its schedules: vectors, unrolled loops, expanded functions";
        dump_kernels(dump, "kernels-scheduled.txt", about, &module, &lowered);
        dump_code(dump, &compiler, &module, &lowered.program);
    }
    Ok(Prepared { module, program: lowered.program, compiler })
}

/// Has all loops run one iteration after the other.
fn one_by_one(function: &mut Function) {
    fn block(block_: &mut Block) {
        for statement in &mut block_.statements {
            match statement {
                Statement::For { kind, body, .. } => {
                    if *kind == LoopKind::Vector {
                        *kind = LoopKind::Sequential;
                    }
                    block(body);
                }
                Statement::If { then, otherwise, .. } => {
                    block(then);
                    block(otherwise);
                }
                Statement::While { before, body, .. } => {
                    block(before);
                    block(body);
                }
                Statement::Let { .. }
                | Statement::Store { .. }
                | Statement::Call { .. }
                | Statement::ParallelCall { .. }
                | Statement::CallRuntime { .. }
                | Statement::ReturnIfNonzero { .. } => {}
            }
        }
    }
    block(&mut function.body);
}

/// The passes, with dumps between them.
fn passes(module: &mut Module, flags: &Flags, dump: Option<&Dump>) -> Result<()> {
    let _span = span(Kind::Compile, || "passes");
    let Some(dump) = dump else { return optimize_with(module, flags, None).map(drop) };
    dump.module("before_optimizations", "the module as it came", module);
    // The last pass that changed the module, which is dumped when the next one is known.
    let mut changed = Some(("pipeline-start", "cpu"));
    let mut observe = |event: &Event<'_>| match event.moment {
        Moment::Before => {
            if let Some((after, _)) = changed {
                let between = Between { pipeline: event.pipeline, after, before: event.pass };
                if dump.wants_between(between) {
                    dump.between(between, event.module);
                    changed = None;
                }
            }
        }
        Moment::After { rewrites, .. } => {
            if rewrites > 0 {
                changed = Some((event.pass, event.pipeline));
            }
        }
    };
    let done = optimize_with(module, flags, Some(&mut observe));
    if let Some((after, pipeline)) = changed {
        let between = Between { pipeline, after, before: "pipeline-end" };
        if dump.wants_between(between) {
            dump.between(between, module);
        }
    }
    if done.is_ok() {
        dump.module("cpu_after_optimizations", "the module after all passes", module);
    }
    done.map(drop)
}

/// What each function of a program computes.
fn computed(module: &Module, program: &Program, function: usize) -> Vec<String> {
    let calls = program.calls.iter().filter(|(id, _)| id.0 as usize == function);
    calls.map(|(_, instruction)| label(module, *instruction)).collect()
}

fn dump_kernels(dump: &Dump, name: &str, about: &str, module: &Module, lowered: &Lowered) {
    if !dump.wants(Part::Kernels) {
        return;
    }
    let mut text = String::new();
    for (number, function) in lowered.program.kernels.functions.iter().enumerate() {
        for line in computed(module, &lowered.program, number) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "// {line}");
        }
        let _ = writeln!(text, "{function}");
    }
    dump.text(Part::Kernels, name, about, &text);
}

fn dump_code(dump: &Dump, compiler: &Compiler, module: &Module, program: &Program) {
    let kernels = &program.kernels;
    let write =
        |part, name: &str, comment: &str, about: &str, text: Result<Vec<(String, String)>>| {
            let texts = match text {
                Ok(texts) => texts,
                Err(error) => return warn_once(&format!("cannot dump `{}`: {error}", module.name)),
            };
            let mut all = String::new();
            for (name, text) in texts {
                let _ = writeln!(all, "{comment} ===== {name}");
                let number = kernels.functions.iter().position(|function| function.name == name);
                for line in
                    number.map(|number| computed(module, program, number)).unwrap_or_default()
                {
                    let _ = writeln!(all, "{comment} {line}");
                }
                let _ = writeln!(all, "{text}");
            }
            dump.text(part, name, about, &all);
        };
    if dump.wants(Part::Llvm) {
        let about = "LLVM IR of each kernel, before LLVM's passes";
        write(Part::Llvm, "ir-no-opt.ll", ";", about, compiler.llvm_ir(kernels));
        let about = "LLVM IR of each kernel, after LLVM's passes";
        write(Part::Llvm, "ir-with-opt.ll", ";", about, compiler.optimized_llvm_ir(kernels));
    }
    if dump.wants(Part::Asm) {
        let about = "assembly of each kernel";
        write(Part::Asm, "s", "#", about, compiler.assembly(kernels));
    }
}

/// A table of what a trace says of the compilation of a module by this thread: phases in order,
/// passes and kernels with the longest first.
pub fn timings(trace: &Trace, module: &str) -> String {
    let mut out = format!("{:>12}  phase\n", "ms");
    let own = rxla_trace::thread();
    let milliseconds = |nanos: u64| nanos as f64 / 1e6;
    for event in &trace.events {
        if event.kind == Kind::Compile && event.thread == own {
            let _ = writeln!(out, "{:>12.3}  {}", milliseconds(event.duration), event.name);
        }
    }
    let mut passes: Vec<(&str, u64, u64, u64)> = Vec::new();
    for event in &trace.events {
        if event.kind != Kind::Pass || event.thread != own {
            continue;
        }
        let detail = |name: &str| {
            let details = event.details.as_deref().unwrap_or_default();
            details.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
        };
        let rewrites = detail("rewrites").and_then(|text| text.parse().ok()).unwrap_or(0);
        match passes.iter_mut().find(|(name, ..)| *name == &*event.name) {
            Some((_, runs, all, time)) => {
                (*runs, *all, *time) = (*runs + 1, *all + rewrites, *time + event.duration);
            }
            None => passes.push((&event.name, 1, rewrites, event.duration)),
        }
    }
    passes.sort_by_key(|&(name, _, _, time)| (std::cmp::Reverse(time), name));
    let _ = writeln!(out, "\n{:>12}  {:>6} {:>9}  pass", "ms", "runs", "rewrites");
    for (name, runs, rewrites, time) in passes {
        let _ = writeln!(out, "{:>12.3}  {runs:>6} {rewrites:>9}  {name}", milliseconds(time));
    }
    let mut kernels: Vec<_> = trace
        .events
        .iter()
        .filter(|event| event.kind == Kind::Codegen)
        .filter(|event| {
            let details = event.details.as_deref().unwrap_or_default();
            details.iter().any(|(name, value)| *name == "module" && value == module)
        })
        .collect();
    kernels.sort_by_key(|event| std::cmp::Reverse(event.duration));
    let _ = writeln!(out, "\n{:>12}  kernel through LLVM", "ms");
    for event in kernels {
        let _ = writeln!(out, "{:>12.3}  {}", milliseconds(event.duration), event.name);
    }
    out
}
