//! A compiled program and its execution.
//!
//! A run takes memory for the results and the temporaries, puts addresses side by side, and calls
//! the driver. Arguments are read where they are; an argument whose memory is to become an output's
//! is overwritten if nobody else holds it, else copied.

use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};

use rxla_base::{Error, Memory, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, ArrayShape, InstructionId, Literal, Module, Shape};
use rxla_interpreter::{Interpreter, Options, Session};
use rxla_llvm::Code;
use rxla_runtime::{Allocator, Block, Context, Pool};
use smallvec::SmallVec;

use crate::buffers::Output;
use crate::fallback::{FAILED, Failure, RunContext, rxla_fallback};
use crate::program::{FALLBACK, MAIN, Program};

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
    temp_bytes: usize,
    /// Leaves of the entry's parameters; `None` for tokens.
    parameters: Vec<Option<ArrayShape>>,
    outputs: Vec<(Shape, Output)>,
    /// By output: the argument whose memory it takes over.
    aliases: Vec<Option<usize>>,
    fallbacks: Vec<InstructionId>,
    interpreter: Option<Interpreter>,
}

/// Where compiled code finds a function that it calls by name.
pub fn resolve(name: &str) -> Option<*const u8> {
    match name {
        FALLBACK => Some(rxla_fallback as *const u8),
        _ => rxla_runtime::symbols::address(name).map(<*const _>::cast),
    }
}

/// The threads that all programs of the process share.
fn pool() -> &'static Arc<Pool> {
    static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(None))
}

/// A result while the program runs.
enum Pending {
    Token,
    Argument(usize),
    Fresh(Block),
    /// An argument that is overwritten.
    Reused(ArrayLiteral),
}

impl Executable {
    /// `code` is that of `program`, which was made from `module`.
    pub(crate) fn new(module: Arc<Module>, program: Program, code: Code) -> Result<Executable> {
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
        let mut aliases = vec![None; program.outputs.len()];
        for &(argument, output) in &program.aliases {
            aliases[output] = Some(argument);
        }
        let interpreter =
            (!program.fallbacks.is_empty()).then(|| Interpreter::new(Arc::clone(&module)));
        Ok(Executable {
            module,
            code,
            main,
            constants,
            temp_bytes: program.temp_bytes as usize,
            parameters,
            outputs: program.outputs,
            aliases,
            fallbacks: program.fallbacks,
            interpreter,
        })
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
        match &self.interpreter {
            None => self.run_with(arguments, None),
            Some(interpreter) => {
                let options = options();
                interpreter.session(&options, |session| self.run_with(arguments, Some(session)))
            }
        }
    }

    fn run_with(
        &self,
        arguments: Vec<Literal>,
        session: Option<&Session<'_>>,
    ) -> Result<Vec<Literal>> {
        let mut arguments = self.leaves(arguments)?;
        let allocator = Allocator::shared();
        let mut pending: SmallVec<[Pending; 4]> = SmallVec::new();
        let mut results: SmallVec<[*mut u8; 8]> = SmallVec::new();
        // What is overwritten is taken out first, so that it is seen to be ours alone.
        let mut addresses: SmallVec<[*const u8; 8]> = SmallVec::new();
        for argument in &arguments {
            addresses.push(argument.as_ref().map_or(std::ptr::null(), |a| a.bytes().as_ptr()));
        }
        for ((shape, output), alias) in self.outputs.iter().zip(&self.aliases) {
            let next = match (output, alias) {
                (Output::Token, _) => Pending::Token,
                (Output::Argument(number), _) => Pending::Argument(*number),
                (Output::Computed, Some(number)) => {
                    let argument = arguments[*number]
                        .take()
                        .ok_or_else(|| Error::internal("an argument is reused twice"))?;
                    Pending::Reused(argument)
                }
                (Output::Computed, None) => {
                    Pending::Fresh(allocator.allocate(shape.byte_size().unwrap_or(0))?)
                }
            };
            pending.push(next);
        }
        for next in &mut pending {
            results.push(match next {
                Pending::Token | Pending::Argument(_) => std::ptr::null_mut(),
                Pending::Fresh(block) => block.as_ptr(),
                Pending::Reused(argument) => argument.bytes_mut().as_mut_ptr(),
            });
        }
        let temp = allocator.allocate(self.temp_bytes)?;
        let context = RunContext {
            runtime: Context::new(Some(Arc::clone(pool()))),
            module: &self.module,
            fallbacks: &self.fallbacks,
            session,
            failure: Default::default(),
        };
        // SAFETY: each address is that of as many bytes as the program believes, since arguments
        // were checked and the rest was allocated for it; what is written is ours alone.
        let status = unsafe {
            (self.main)(
                &raw const context,
                addresses.as_ptr(),
                results.as_ptr(),
                temp.as_ptr(),
                self.constants.as_ptr(),
            )
        };
        if status != 0 {
            return Err(failure(status, context.failure.into_inner()));
        }
        pending
            .into_iter()
            .zip(&self.outputs)
            .map(|(next, (shape, _))| self.result(next, shape, &arguments))
            .collect()
    }

    fn result(
        &self,
        pending: Pending,
        shape: &Shape,
        arguments: &[Option<ArrayLiteral>],
    ) -> Result<Literal> {
        let Some(shape) = shape.as_array() else { return Ok(Literal::Token) };
        let bytes = match pending {
            Pending::Token => return Ok(Literal::Token),
            Pending::Argument(number) => {
                let argument = arguments[number].as_ref();
                argument.ok_or_else(|| Error::internal("an argument is gone"))?.shared_bytes()
            }
            Pending::Fresh(block) => Bytes::provided(Arc::new(block) as Arc<dyn Memory>),
            Pending::Reused(argument) => argument.shared_bytes(),
        };
        Ok(Literal::Array(ArrayLiteral::from_bytes(shape, bytes)?))
    }

    /// The leaves of the arguments, if they are what the program takes.
    fn leaves(&self, arguments: Vec<Literal>) -> Result<Vec<Option<ArrayLiteral>>> {
        let mut leaves = Vec::with_capacity(self.parameters.len());
        arguments.into_iter().for_each(|argument| flatten(argument, &mut leaves));
        if leaves.len() != self.parameters.len() {
            return Err(Error::invalid_argument(format!(
                "`{}` takes {} arguments, {} are given",
                self.module.name,
                self.parameters.len(),
                leaves.len()
            )));
        }
        for (number, (leaf, shape)) in leaves.iter().zip(&self.parameters).enumerate() {
            let fits = match (leaf, shape) {
                (Some(leaf), Some(shape)) => leaf.shape().compatible(shape),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if !fits {
                let given = leaf.as_ref().map_or("token[]".to_owned(), |a| a.shape().to_string());
                let wanted = shape.as_ref().map_or("token[]".to_owned(), ToString::to_string);
                return Err(Error::invalid_argument(format!(
                    "argument {number} is `{given}` where `{wanted}` is expected"
                )));
            }
        }
        Ok(leaves)
    }
}

fn flatten(literal: Literal, leaves: &mut Vec<Option<ArrayLiteral>>) {
    match literal {
        Literal::Array(array) => leaves.push(Some(array)),
        Literal::Token => leaves.push(None),
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
