//! The CPU backend: HLO to one native function, and its execution.
//!
//! ```text
//! module ─► pipeline (passes, fusion) ─► plan ─► buffers ─► program (kernel IR) ─► LLVM ─► executable
//! ```
//!
//! * [`pipeline`]: HLO to HLO, [`fuse`] last;
//! * [`plan`]: what runs in which order, without tuples; [`liveness`] says when values are alive;
//! * [`schedule`]: the order of instructions;
//! * [`buffers`]: where values live, and which copies that leaves;
//! * [`program`]: the driver and its kernels in kernel IR;
//! * [`executable`]: machine code, and runs of it;
//! * [`ahead`]: machine code for other processes.
//!
//! `compile` takes a module through all of them and tells of it: dumps, and traces.
//!
//! What has no kernel yet is evaluated by the interpreter in the middle of the run. So are the ops
//! by which devices meet, each of which is a thread of its own then; large arrays stay where they are
//! meanwhile (`exchange.rs`).

#![allow(unsafe_code)]

mod accuracy;
pub mod ahead;
mod assignment;
pub mod buffers;
mod compile;
mod digest;
mod early;
mod exchange;
pub mod executable;
mod fallback;
mod forecast;
pub mod fuse;
mod independent;
mod kernels;
pub mod liveness;
pub mod marks;
pub mod pipeline;
mod place;
pub mod plan;
mod planted;
pub mod program;
pub mod schedule;

use buffers::Care;
use rustc_hash::FxHashSet;
use rxla_base::{Error, Result};
use rxla_flags::{Flags, Plant};
use rxla_hlo::{Module, Op};
use rxla_kernel::Statement;
use rxla_kernel::schedule::{Copies, Target};
use rxla_llvm::Compiler;
use rxla_passes::{Event, Report, RunOptions, Verify};

pub use compile::{Options, compile, timings};
pub use executable::{Executable, Tell, memory, use_threads};
pub use fuse::scheduled_computations;
pub use program::{Callees, Marks};
pub use rxla_llvm::{Cpu, DiskCache, Key, warm_up};

/// What names the program that is compiled from these bytes, on this machine and by this build;
/// `None` if that cannot be told.
pub fn program_key(source: &[&[u8]]) -> Option<Key> {
    Compiler::host().ok()?.program_key(source)
}

/// Runs the passes of the CPU, fusion last.
pub fn optimize(module: &mut Module) -> Result<()> {
    optimize_with(module, &Flags::default(), None).map(drop)
}

/// Runs the passes of the CPU as the flags say; `observer` is told of each.
pub fn optimize_with(
    module: &mut Module,
    flags: &Flags,
    observer: Option<&mut dyn FnMut(&Event<'_>)>,
) -> Result<Report> {
    if module.instruction_ids().any(|id| is_split(&module[id].op)) {
        return Err(Error::unimplemented("compiled code that starts what it waits for elsewhere"));
    }
    if flags.xla_disable_all_hlo_passes {
        return Ok(Report::default());
    }
    let usual = RunOptions::default();
    let options = RunOptions {
        verify: if flags.rxla_verify_passes { Verify::Between } else { usual.verify },
        rewrite_limit: u64::try_from(flags.rxla_max_rewrites).ok(),
        disabled: pipeline::names(&flags.xla_disable_hlo_passes),
        only: pipeline::names(&flags.xla_enable_hlo_passes_only),
        pipeline: "cpu",
        extra_rules: if flags.rxla_plant == Plant::Rule {
            rxla_passes::planted::RULES
        } else {
            &[]
        },
        observer,
        ..usual
    };
    rxla_passes::run(module, &pipeline::steps(), options)
}

/// Writes the program of an optimised module, not yet scheduled.
pub fn lower(module: &Module) -> Result<program::Program> {
    lower_with(module, &Lower::default()).map(|lowered| lowered.program)
}

/// How to lower.
#[derive(Clone, Copy, Debug)]
pub struct Lower {
    pub marks: Marks,
    pub care: Care,
    pub callees: Callees,
    /// Whether the driver tells of results that are there early.
    pub early: bool,
    /// Work from which on threads share it, about in cycles of one.
    pub parallel_work: u64,
}

impl Lower {
    /// As the flags say.
    pub(crate) fn new(flags: &Flags) -> Lower {
        let care = match (flags.rxla_share_buffers, flags.rxla_plant) {
            (false, _) => Care::Lavish,
            (true, Plant::Reuse) => Care::Hasty,
            (true, Plant::None | Plant::Rule | Plant::Schedule) => Care::Due,
        };
        let parallel_work = u64::try_from(flags.rxla_parallel_work).unwrap_or(0);
        let (marks, callees) = (Marks::None, Callees::General);
        Lower { marks, care, callees, early: false, parallel_work }
    }
}

impl Default for Lower {
    fn default() -> Lower {
        Lower::new(&Flags::default())
    }
}

/// A program with what it was made from.
pub struct Lowered {
    pub plan: plan::Plan,
    pub buffers: buffers::Buffers,
    pub program: program::Program,
}

/// As [`lower`], as the options say.
pub fn lower_with(module: &Module, options: &Lower) -> Result<Lowered> {
    let span = rxla_trace::span(rxla_trace::Kind::Compile, || "plan");
    let mut plan = plan::Plan::new(module, &|computation| schedule::order(module, computation))?;
    let kernels = kernels::Kernels::new(module);
    independent::confirm(&mut plan, &|compute| program::has_kernel(&kernels, module, compute));
    drop(span);
    let in_place = |compute: &plan::Compute, operand: usize, result: usize| {
        let id = compute.instruction;
        match program::is_product(module, id) {
            true => program::in_place(module, id, operand, result),
            false => {
                kernels.in_place(id, operand, result)
                    || program::in_place(module, id, operand, result)
            }
        }
    };
    let span = rxla_trace::span(rxla_trace::Kind::Compile, || "buffer assignment");
    let donated = donated(module);
    let buffers = buffers::Buffers::with_care(&plan, &in_place, &donated, options.care);
    drop(span);
    let _span = rxla_trace::span(rxla_trace::Kind::Compile, || "emit kernels");
    let program = program::generate(&kernels, module, &plan, &buffers, options)?;
    Ok(Lowered { plan, buffers, program })
}

/// Whether kernels obey their rules; if not, panics with what is wrong.
fn check(kernels: &rxla_kernel::Module) -> bool {
    if let Err(findings) = rxla_kernel::verify(kernels) {
        panic!("{findings:?}\n{kernels}");
    }
    true
}

/// Kernel IR as the code generator wants it, for vectors of so many bits.
pub fn vectorize(kernels: &mut rxla_kernel::Module, vector_bits: u32) {
    let shared = shared_out(kernels);
    for (position, function) in kernels.functions.iter_mut().enumerate() {
        let copies = if shared.contains(&position) { Copies::Many } else { Copies::Few };
        rxla_kernel::schedule::pipeline(function, &Target { vector_bits, copies });
        // After vectorisation, so that approximations are written once per vector.
        rxla_kernel::maths::expand(function);
        rxla_kernel::schedule::simplify(function);
    }
}

/// The functions whose work is enough to be shared out among threads, with those that they call step by
/// step, by position.
fn shared_out(kernels: &rxla_kernel::Module) -> FxHashSet<usize> {
    let mut shared = FxHashSet::default();
    let mut found = Vec::new();
    for function in &kernels.functions {
        function.body.walk(&mut |statement| {
            if let Statement::ParallelCall { callee, .. } = statement {
                found.push(callee.0 as usize);
            }
        });
    }
    while let Some(position) = found.pop() {
        if shared.insert(position) {
            kernels.functions[position].body.walk(&mut |statement| {
                let Statement::While { body, .. } = statement else { return };
                body.walk(&mut |statement| {
                    if let Statement::Call { callee, .. } = statement {
                        found.push(callee.0 as usize);
                    }
                });
            });
        }
    }
    shared
}

/// Arguments whose memory may become that of an output, as leaves of both.
fn donated(module: &Module) -> Vec<(usize, usize)> {
    let entry = module.entry();
    let result = &module[module[entry].root()].shape;
    let mut first = Vec::new();
    let mut count = 0;
    for &parameter in module[entry].parameters() {
        first.push(count);
        count += module[parameter].shape.leaves().len();
    }
    let leaf = |shape: &rxla_hlo::Shape, index: &[i64]| {
        shape.leaves().iter().position(|(path, _)| path.as_slice() == index)
    };
    let aliases = module.config.input_output_alias.iter();
    aliases
        .filter_map(|alias| {
            let number = usize::try_from(alias.parameter).ok()?;
            let parameter = *module[entry].parameters().get(number)?;
            let argument = first[number] + leaf(&module[parameter].shape, &alias.parameter_index)?;
            Some((argument, leaf(result, &alias.output_index)?))
        })
        .collect()
}

/// Ops whose results are not there when the next one runs. Transfers with the host are at once what
/// they say: a `send` has called the host, a `recv` has waited for it.
fn is_split(op: &Op) -> bool {
    match op {
        Op::AllGatherStart(_)
        | Op::AllReduceStart(_)
        | Op::CollectivePermuteStart(_)
        | Op::AsyncStart(_)
        | Op::CopyStart(_) => true,
        Op::Send(send) => !send.is_host_transfer,
        Op::Recv(recv) => !recv.is_host_transfer,
        _ => false,
    }
}
