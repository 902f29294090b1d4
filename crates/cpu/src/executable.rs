//! A compiled program and its execution.
//!
//! A run takes memory for the results and the temporaries, puts addresses side by side, and calls
//! the driver. Arguments are read where they are; an argument whose memory is to become an output's
//! is overwritten if nobody else holds it, else copied.

mod image;

use std::panic::resume_unwind;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use rxla_base::{Error, Memory, Result};
use rxla_hlo::cost::Costs;
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, InstructionId, Literal, Module};
use rxla_interpreter::{DeviceId, Interpreter, Options, Session};
use rxla_llvm::Code;
use rxla_runtime::context::KeptMatrices;
use rxla_runtime::{Allocator, Block, Context, Pool, Subnormals};
use smallvec::SmallVec;

use crate::buffers::Output;
use crate::early::{Early, rxla_early};
use crate::fallback::{FAILED, Failure, RunContext, rxla_fallback};
use crate::forecast;
use crate::marks::{self, Mark, rxla_mark_begin, rxla_mark_end};
use crate::program::{EARLY, FALLBACK, MAIN, Program};

pub use crate::early::Tell;

type Main = unsafe extern "C" fn(
    context: *const RunContext<'_>,
    arguments: *const *const u8,
    results: *const *mut u8,
    temp: *mut u8,
    constants: *const u8,
) -> i64;

/// A program as machine code, with what it needs to run. It may run on several threads at once.
pub struct Executable {
    module: Arc<Module>,
    code: Code,
    main: Main,
    constants: Block,
    /// Constants that stay packed for products.
    kept: Arc<KeptMatrices>,
    temp_bytes: usize,
    /// Leaves of the entry's parameters; `None` for tokens.
    parameters: Vec<Option<ArrayShape>>,
    results: Vec<Leaf>,
    fallbacks: Vec<InstructionId>,
    marks: Vec<Mark>,
    interpreter: Option<Interpreter>,
    expected_nanoseconds: Option<u64>,
    flush: bool,
}

/// Where compiled code finds a function that it calls by name.
pub fn resolve(name: &str) -> Option<*const u8> {
    match name {
        FALLBACK => Some(rxla_fallback as *const u8),
        EARLY => Some(rxla_early as *const u8),
        marks::BEGIN => Some(rxla_mark_begin as *const u8),
        marks::END => Some(rxla_mark_end as *const u8),
        _ => rxla_runtime::symbols::address(name).map(<*const _>::cast),
    }
}

/// Of how many threads the pool is made. 0: as many as there are cores for this process.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Memory for an array, of any value: in huge pages if it is large, as results lie.
pub fn memory(bytes: usize) -> Result<Arc<dyn Memory>> {
    Ok(Arc::new(Allocator::shared().allocate(bytes)?))
}

/// How many threads all programs of the process share; without effect once one has run.
pub fn use_threads(threads: usize) {
    THREADS.store(threads.min(MOST_THREADS), Relaxed);
}

/// More only serves to spend memory.
const MOST_THREADS: usize = 1024;

/// The threads that all programs of the process share.
fn pool() -> &'static Arc<Pool> {
    static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
    POOL.get_or_init(|| match THREADS.load(Relaxed) {
        0 => Pool::of_machine(),
        threads => Pool::with_threads(threads),
    })
}

/// A leaf of the result.
pub(crate) enum Leaf {
    Token,
    Array { shape: Arc<ArrayShape>, bytes: usize, source: Source },
}

/// Whose memory a result is in.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// That of an argument, as it is.
    Argument(usize),
    /// That of an argument, which is overwritten.
    Reused(usize),
    Fresh,
}

impl Executable {
    /// `code` is that of `program`, which was made from `module`; `flush` says whether results that are too small
    /// for normal numbers become zero.
    pub(crate) fn new(
        module: Arc<Module>,
        program: Program,
        code: Code,
        flush: bool,
    ) -> Result<Executable> {
        let address =
            code.function(MAIN).ok_or_else(|| Error::internal("the code has no driver"))?;
        // SAFETY: the driver has this signature and is C's; it lives as long as `code`, which is
        // kept beside it.
        let main = unsafe { std::mem::transmute::<*const u8, Main>(address) };
        let mut constants = Allocator::shared().allocate(program.constants.len())?;
        constants.as_mut_slice().copy_from_slice(&program.constants);
        let entry = module.entry();
        let parameters = module[entry]
            .parameters()
            .iter()
            .flat_map(|&parameter| module[parameter].shape.leaves())
            .map(|(_, leaf)| leaf.as_array().map(ArrayShape::without_layout))
            .collect();
        let mut reused = vec![None; program.outputs.len()];
        for &(argument, output) in &program.aliases {
            reused[output] = Some(argument);
        }
        let results = program
            .outputs
            .iter()
            .zip(reused)
            .map(|((shape, output), reused)| {
                let Some(shape) = shape.as_array() else { return Leaf::Token };
                let source = match (output, reused) {
                    (Output::Token, _) => return Leaf::Token,
                    (Output::Argument(number), _) => Source::Argument(*number),
                    (Output::Computed, Some(number)) => Source::Reused(number),
                    (Output::Computed, None) => Source::Fresh,
                };
                let bytes = shape.byte_size().unwrap_or(0);
                Leaf::Array { shape: Arc::new(shape.clone()), bytes, source }
            })
            .collect();
        let interpreter =
            (!program.fallbacks.is_empty()).then(|| Interpreter::new(Arc::clone(&module)));
        let marks = match program.marks.as_slice() {
            [] => Vec::new(),
            marks => {
                let costs = Costs::of(&module);
                marks.iter().map(|&id| Mark::new(&module, &costs, id)).collect()
            }
        };
        let expected_nanoseconds = forecast::nanoseconds(&module, &program.fallbacks);
        Ok(Executable {
            module,
            code,
            main,
            constants,
            kept: Arc::default(),
            temp_bytes: program.temp_bytes as usize,
            parameters,
            results,
            fallbacks: program.fallbacks,
            marks,
            interpreter,
            expected_nanoseconds,
            flush,
        })
    }

    /// Whether a run may call code that is neither ours nor LAPACK's.
    pub fn calls_outside(&self) -> bool {
        forecast::calls_outside(&self.module)
    }

    /// What a run takes, roughly, if that can be told.
    pub fn expected_nanoseconds(&self) -> Option<u64> {
        self.expected_nanoseconds
    }

    /// The module as it was optimised.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Bytes of machine code.
    pub fn code_size(&self) -> usize {
        self.code.size()
    }

    /// Bytes of temporary memory that a run takes.
    pub fn temp_bytes(&self) -> usize {
        self.temp_bytes
    }

    /// Instructions that the interpreter evaluates.
    pub fn fallbacks(&self) -> &[InstructionId] {
        &self.fallbacks
    }

    /// Runs on the entry's arguments and gives the leaves of the result. `options` are asked for
    /// if the program has parts that the interpreter evaluates.
    pub fn run(
        &self,
        arguments: Vec<Literal>,
        options: impl FnOnce() -> Options,
    ) -> Result<Vec<Literal>> {
        self.run_on(DeviceId::default(), arguments, None, options)
    }

    /// Runs on one device of several, whose program meets no other. Results that are there early are told, too.
    pub fn run_on(
        &self,
        device: DeviceId,
        arguments: Vec<Literal>,
        tell: Option<&Tell<'_>>,
        options: impl FnOnce() -> Options,
    ) -> Result<Vec<Literal>> {
        match &self.interpreter {
            None => self.run_with(arguments, tell, None),
            Some(interpreter) => interpreter.session(device, &options(), |session| {
                self.run_with(arguments, tell, Some(session))
            }),
        }
    }

    /// Runs on all devices of the module, replica by replica and by partition within one: each
    /// device's program on its arguments. The programs may differ if they meet alike.
    pub fn run_all(
        programs: &[&Executable],
        arguments: Vec<Vec<Literal>>,
        options: impl Fn(usize) -> Options,
    ) -> Result<Vec<Vec<Literal>>> {
        let work = programs.iter().zip(arguments);
        if programs.iter().all(|program| program.interpreter.is_none()) {
            return work.map(|(program, list)| program.run_with(list, None, None)).collect();
        }
        // Others may wait for a device whose program meets nobody: its end must be known to them.
        let others: Vec<Option<Interpreter>> = programs
            .iter()
            .map(|program| {
                let is_alone = program.interpreter.is_none();
                is_alone.then(|| Interpreter::new(Arc::clone(&program.module)))
            })
            .collect();
        let interpreters = programs.iter().zip(&others);
        let interpreters =
            interpreters.filter_map(|(p, other)| p.interpreter.as_ref().or(other.as_ref()));
        let parts = interpreters.zip(work).enumerate();
        let parts = parts.map(|(index, (interpreter, work))| {
            interpreter.part(options(index), (index as u32, work))
        });
        Interpreter::sessions(parts.collect(), |session, (index, (program, list))| {
            rxla_trace::on_device(index, || program.run_with(list, None, Some(session)))
        })
    }

    fn run_with(
        &self,
        arguments: Vec<Literal>,
        tell: Option<&Tell<'_>>,
        session: Option<&Session<'_>>,
    ) -> Result<Vec<Literal>> {
        let mut arguments = self.leaves(arguments)?;
        let allocator = Allocator::shared();
        let mut addresses: SmallVec<[*const u8; 8]> = SmallVec::with_capacity(arguments.len());
        addresses.extend(arguments.iter().map(|argument| {
            argument.as_array().map_or(std::ptr::null(), |array| array.bytes().as_ptr())
        }));
        let mut results = Vec::with_capacity(self.results.len());
        let mut written: SmallVec<[*mut u8; 8]> = SmallVec::with_capacity(self.results.len());
        for leaf in &self.results {
            let (result, address) = leaf.prepare(&mut arguments, allocator)?;
            results.push(result);
            written.push(address);
        }
        let temp = match self.temp_bytes {
            0 => None,
            bytes => Some(allocator.allocate(bytes)?),
        };
        // Programs without temporaries do not look at the address.
        let temp_address = temp.as_ref().map_or(
            std::ptr::without_provenance_mut(rxla_runtime::allocator::ALIGN),
            Block::as_ptr,
        );
        let context = RunContext {
            runtime: Context::keeping(Some(Arc::clone(pool())), Arc::clone(&self.kept)),
            module: &self.module,
            fallbacks: &self.fallbacks,
            marks: &self.marks,
            session,
            early: tell.map(|tell| Early { results: &self.results, tell }),
            failure: Default::default(),
        };
        let mode = self.flush.then(Subnormals::flush);
        // SAFETY: each address is that of as many bytes as the program believes, since arguments
        // were checked and the rest was allocated for it; what is written is ours alone.
        let status = unsafe {
            (self.main)(
                &raw const context,
                addresses.as_ptr(),
                written.as_ptr(),
                temp_address,
                self.constants.as_ptr(),
            )
        };
        drop(mode);
        if status != 0 {
            return Err(failure(status, context.failure.into_inner()));
        }
        for result in &mut results {
            if let Literal::Array(array) = result
                && needs_order(array.element_type())
            {
                *array = ArrayLiteral::from_bytes(array.shape(), array.shared_bytes())?;
            }
        }
        Ok(results)
    }

    /// The leaves of the arguments, if they are what the program takes.
    fn leaves(&self, arguments: Vec<Literal>) -> Result<Vec<Literal>> {
        let leaves = if arguments.iter().any(|argument| matches!(argument, Literal::Tuple(_))) {
            let mut leaves = Vec::with_capacity(self.parameters.len());
            arguments.into_iter().for_each(|argument| flatten(argument, &mut leaves));
            leaves
        } else {
            arguments
        };
        if leaves.len() != self.parameters.len() {
            return Err(Error::invalid_argument(format!(
                "`{}` takes {} arguments, {} are given",
                self.module.name,
                self.parameters.len(),
                leaves.len()
            )));
        }
        for (number, (leaf, shape)) in leaves.iter().zip(&self.parameters).enumerate() {
            let fits = match (leaf.as_array(), shape) {
                (Some(leaf), Some(shape)) => leaf.shape().compatible(shape),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !fits {
                let wanted = shape.as_ref().map_or("token[]".to_owned(), ToString::to_string);
                return Err(Error::invalid_argument(format!(
                    "argument {number} is `{}` where `{wanted}` is expected",
                    leaf.shape()
                )));
            }
        }
        Ok(leaves)
    }
}

impl Leaf {
    /// The result before the program runs, and the address that the program writes it to, which is
    /// null if it does not. Nobody looks at the result's bytes before the program has ended.
    fn prepare(
        &self,
        arguments: &mut [Literal],
        allocator: &Arc<Allocator>,
    ) -> Result<(Literal, *mut u8)> {
        let Leaf::Array { shape, bytes, source } = self else {
            return Ok((Literal::Token, std::ptr::null_mut()));
        };
        let (bytes, address) = match *source {
            Source::Fresh => {
                let block = allocator.allocate(*bytes)?;
                let address = block.as_ptr();
                (Bytes::provided(Arc::new(block) as Arc<dyn Memory>), address)
            }
            // Taken out of the arguments, so that it is seen to be ours alone.
            Source::Reused(number) => {
                let argument = std::mem::replace(&mut arguments[number], Literal::Token);
                let mut bytes = shared_bytes(&argument)?;
                drop(argument);
                let address = bytes.make_mut().as_mut_ptr();
                (bytes, address)
            }
            Source::Argument(number) => (shared_bytes(&arguments[number])?, std::ptr::null_mut()),
        };
        let array = ArrayLiteral::from_values_in(Arc::clone(shape), bytes)?;
        Ok((Literal::Array(array), address))
    }
}

fn shared_bytes(argument: &Literal) -> Result<Bytes> {
    let array = argument.as_array().ok_or_else(|| Error::internal("an argument is gone"))?;
    Ok(array.shared_bytes())
}

/// Whether what kernels write may have bits beyond the width of the type. Numbers of whole bytes
/// have none, and truth values are written as 0 and 1.
fn needs_order(element_type: ElementType) -> bool {
    element_type != ElementType::Pred && element_type.bit_width() < 8
}

fn flatten(literal: Literal, leaves: &mut Vec<Literal>) {
    match literal {
        Literal::Array(_) | Literal::Token => leaves.push(literal),
        Literal::Tuple(elements) => elements.into_iter().for_each(|e| flatten(e, leaves)),
    }
}

#[cold]
fn failure(status: i64, failure: Option<Failure>) -> Error {
    match (status, failure) {
        (FAILED, Some(Failure::Error(error))) => error,
        (FAILED, Some(Failure::Panic(panic))) => resume_unwind(panic),
        (status, _) => rxla_runtime::status::error(status as i32)
            .unwrap_or_else(|| Error::internal(format!("a program ended with status {status}"))),
    }
}
