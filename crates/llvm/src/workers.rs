//! The threads that LLVM runs on.
//!
//! They live as long as the process, and so do the machines they use, because making one costs as much
//! as a small kernel. LLVM calls a handler and expects it not to return when it finds
//! itself in a state that it takes for hopeless; the thread then reports its job as failed and
//! sleeps for ever, and another takes its place.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use rxla_base::{Error, Result};
use rxla_trace as trace;

use crate::ending::Inside;
use crate::ffi;
use crate::machine::{Effort, Level, Machine, Output};
use crate::target::Target;

/// LLVM's recursion is deeper than what threads have by default.
const STACK_BYTES: usize = 16 << 20;

/// Compiles all texts, on up to `threads` threads; results are in the order of the texts.
pub(crate) fn compile_all(
    target: &Arc<Target>,
    texts: Vec<Text>,
    output: Output,
    threads: usize,
) -> Vec<Result<Vec<u8>>> {
    let count = texts.len();
    let receiver = match start(target, texts, output, threads) {
        Ok(receiver) => receiver,
        Err(error) => return (0..count).map(|_| Err(error.clone())).collect(),
    };
    let mut results: Vec<Result<Vec<u8>>> = Vec::with_capacity(count);
    results.resize_with(count, || Err(Error::internal("a thread of LLVM's ended early")));
    for (index, result) in receiver {
        results[index] = result;
    }
    results
}

/// Has texts compiled; their results come with their indices, in any order.
pub(crate) fn start(
    target: &Arc<Target>,
    texts: Vec<Text>,
    output: Output,
    threads: usize,
) -> Result<Receiver<(usize, Result<Vec<u8>>)>> {
    static HANDLER: Once = Once::new();
    // SAFETY: the handler never returns and never unwinds, as LLVM asks.
    HANDLER.call_once(|| unsafe { ffi::LLVMInstallFatalErrorHandler(fatal) });
    let (sender, receiver) = channel();
    let mut pool = lock();
    for (index, text) in texts.into_iter().enumerate() {
        let reply = Reply { index, sender: sender.clone() };
        let job = Job { target: target.clone(), text, output, reply };
        pool.jobs.push_back(job);
    }
    drop(sender);
    let wanted = pool.jobs.len().min(threads.max(1));
    let mut failed = None;
    while pool.threads < wanted {
        let builder = thread::Builder::new().name("rxla-llvm".to_owned()).stack_size(STACK_BYTES);
        match builder.spawn(work) {
            Ok(_) => pool.threads += 1,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if let (0, Some(error)) = (pool.threads, failed) {
        pool.jobs.clear();
        return Err(Error::resource_exhausted(format!("no thread for LLVM: {error}")));
    }
    drop(pool);
    WAKE.notify_all();
    Ok(receiver)
}

struct Job {
    target: Arc<Target>,
    text: Text,
    output: Output,
    reply: Reply,
}

/// What is to be compiled.
pub(crate) struct Text {
    pub(crate) ir: Arc<str>,
    pub(crate) effort: Effort,
    /// Program and kernel, for traces; what has none is not traced.
    pub(crate) name: Option<(Arc<str>, Arc<str>)>,
}

struct Reply {
    index: usize,
    sender: Sender<(usize, Result<Vec<u8>>)>,
}

impl Reply {
    fn send(self, result: Result<Vec<u8>>) {
        // Whoever asked may be gone.
        let _ = self.sender.send((self.index, result));
    }
}

struct Pool {
    jobs: VecDeque<Job>,
    threads: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: VecDeque::new(), threads: 0 });
static WAKE: Condvar = Condvar::new();

thread_local! {
    /// Where to report that LLVM gave up on this thread's job.
    static CURRENT: RefCell<Option<(Inside, Reply)>> = const { RefCell::new(None) };
}

fn lock() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Machines that no thread uses.
static MACHINES: Mutex<Vec<(Arc<Target>, Level, Machine)>> = Mutex::new(Vec::new());

/// A machine that is this thread's alone until it is given back.
fn machine(target: &Arc<Target>, level: Level) -> Result<Machine> {
    let mut machines = MACHINES.lock().unwrap_or_else(PoisonError::into_inner);
    let suits = |(known, made, _): &(Arc<Target>, Level, Machine)| {
        Arc::ptr_eq(known, target) && *made == level
    };
    match machines.iter().position(suits) {
        Some(index) => Ok(machines.swap_remove(index).2),
        None => {
            drop(machines);
            Machine::new(target, level)
        }
    }
}

fn give_back(target: Arc<Target>, level: Level, machine: Machine) {
    MACHINES.lock().unwrap_or_else(PoisonError::into_inner).push((target, level, machine));
}

fn work() {
    loop {
        let mut pool = lock();
        let Job { target, text, output, reply } = loop {
            match pool.jobs.pop_front() {
                Some(job) => break job,
                None => pool = WAKE.wait(pool).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(pool);
        match Inside::enter() {
            Ok(inside) => CURRENT.set(Some((inside, reply))),
            Err(error) => {
                reply.send(Err(error));
                continue;
            }
        }
        let Text { ir, effort, name } = text;
        let span = name.map(|(program, kernel)| {
            let mut span = trace::span(trace::Kind::Codegen, || kernel);
            span.details(|| {
                vec![("module", program.to_string()), ("ir_bytes", ir.len().to_string())]
            });
            span
        });
        let compile = || {
            let mut machine = machine(&target, effort.level())?;
            let compiled = machine.compile(&ir, effort, output);
            give_back(target, effort.level(), machine);
            compiled
        };
        let result = catch_unwind(AssertUnwindSafe(compile))
            .unwrap_or_else(|_| Err(Error::internal("compiling a kernel panicked")));
        // Before whoever waits goes on and perhaps looks at the trace.
        drop(span);
        if let Some((inside, reply)) = CURRENT.take() {
            drop(inside);
            reply.send(result);
        }
    }
}

extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a C string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    if let Some((_inside, reply)) = CURRENT.take() {
        lock().threads -= 1;
        reply.send(Err(Error::internal(format!("LLVM gave up: {reason}"))));
    }
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(text: &str) -> Result<Vec<u8>> {
        let target = Target::host().unwrap();
        let texts = vec![Text { ir: text.into(), effort: Effort::Kernel, name: None }];
        compile_all(&target, texts, Output::Assembly, 1).remove(0)
    }

    #[test]
    fn what_llvm_cannot_read_is_an_error() {
        let message = compile("define void @f() {\n  ret i32 0\n}\n").unwrap_err().message;
        assert!(message.starts_with("LLVM could not read our text: kernel:2:"), "{message}");
        let text = "define i32 @f(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 2\n  \
                    br label %b\nb:\n  ret i32 %x\n}\n";
        let message = compile(text).unwrap_err().message;
        assert!(message.starts_with("LLVM rejects our text"), "{message}");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_llvm_takes_for_fatal_ends_the_job_only() {
        // An instruction of another machine.
        let text = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndefine i32 @f() {\n  \
                    %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  ret i32 %x\n}\n";
        for _ in 0..3 {
            let message = compile(text).unwrap_err().message;
            assert!(message.starts_with("LLVM gave up: "), "{message}");
            assert!(compile("define void @f() {\n  ret void\n}\n").is_ok());
        }
    }
}
