//! One LLVM target machine, and the way of a text through it to object code.
//!
//! A machine is used by one thread at a time; each compilation has an LLVM context of its own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rxla_base::{Error, Result};

use crate::ffi;
use crate::target::{Target, c_string, take};

/// Vector code is explicit in the kernel IR, which has left little to find: no vectoriser and no
/// unroller runs. What moves addresses out of loops (`licm`, `gvn`) is left out since it gives each of
/// them a register, where instructions hold their distances: code generation moves what is left.
const KERNEL_PASSES: &CStr = c"always-inline,function<eager-inv>(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";
/// In loops of a program that are compiled whole values go through memory, and are found again.
const LOOP_PASSES: &CStr = c"always-inline,function<eager-inv>(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg)";
/// All that code depends on.
pub(crate) const PASSES: [&CStr; 2] = [KERNEL_PASSES, LOOP_PASSES];

/// How much work code is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// Calls and what prepares them, run once: LLVM's fast way without any passes.
    Glue,
    Kernel,
    /// Loops of the program.
    Loops,
}

impl Effort {
    pub(crate) const COUNT: usize = 3;

    pub(crate) fn level(self) -> Level {
        match self {
            Effort::Glue => Level::Fast,
            Effort::Kernel | Effort::Loops => Level::Full,
        }
    }

    fn passes(self) -> Option<&'static CStr> {
        match self {
            Effort::Glue => None,
            Effort::Kernel => Some(KERNEL_PASSES),
            Effort::Loops => Some(LOOP_PASSES),
        }
    }
}

/// How code is generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Fast,
    Full,
}

pub(crate) struct Machine {
    handle: *mut ffi::TargetMachine,
}

// SAFETY: a target machine may move between threads; it is only used by one at a time.
unsafe impl Send for Machine {}

impl Machine {
    pub(crate) fn new(target: &Target, level: Level) -> Result<Machine> {
        let level = match level {
            Level::Fast => ffi::CODE_GEN_LEVEL_NONE,
            Level::Full => ffi::CODE_GEN_LEVEL_DEFAULT,
        };
        let handle = target.handle()?;
        let triple = c_string(&target.triple)?;
        let cpu = c_string(&target.cpu)?;
        let features = c_string(&target.features)?;
        // SAFETY: the handle is LLVM's, the strings are C strings.
        let handle = unsafe {
            ffi::LLVMCreateTargetMachine(
                handle,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                level,
                ffi::RELOC_PIC,
                ffi::CODE_MODEL_SMALL,
            )
        };
        if handle.is_null() {
            return Err(Error::internal("LLVM has no target machine for this host"));
        }
        Ok(Machine { handle })
    }

    pub(crate) fn data_layout(&self) -> String {
        // SAFETY: the machine is alive; the layout is ours to free, its text too.
        unsafe {
            let layout = ffi::LLVMCreateTargetDataLayout(self.handle);
            let text = take(ffi::LLVMCopyStringRepOfTargetData(layout));
            ffi::LLVMDisposeTargetData(layout);
            text
        }
    }

    /// Compiles a module to what `output` says.
    pub(crate) fn compile(
        &mut self,
        text: &str,
        effort: Effort,
        output: Output,
    ) -> Result<Vec<u8>> {
        let context = Context::new();
        let module = context.parse(text)?;
        module.verify()?;
        if let Some(passes) = effort.passes() {
            module.optimize(self, passes)?;
        }
        let file_type = match output {
            Output::Object => ffi::OBJECT_FILE,
            Output::Assembly => ffi::ASSEMBLY_FILE,
            Output::OptimizedText => return Ok(module.print().into_bytes()),
        };
        let mut message = ptr::null_mut();
        let mut buffer = ptr::null_mut();
        // SAFETY: machine and module are alive, the out pointers are ours.
        let failed = unsafe {
            ffi::LLVMTargetMachineEmitToMemoryBuffer(
                self.handle,
                module.handle,
                file_type,
                &mut message,
                &mut buffer,
            )
        };
        // SAFETY: the message is null or LLVM's.
        let message = unsafe { take(message) };
        if failed != 0 {
            return Err(Error::internal(format!("LLVM could not emit code: {message}")));
        }
        // SAFETY: on success the buffer is ours; it is copied before it is freed.
        let bytes = unsafe {
            let start = ffi::LLVMGetBufferStart(buffer).cast::<u8>();
            let bytes = std::slice::from_raw_parts(start, ffi::LLVMGetBufferSize(buffer)).to_vec();
            ffi::LLVMDisposeMemoryBuffer(buffer);
            bytes
        };
        context.errors().map_or(Ok(bytes), Err)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { ffi::LLVMDisposeTargetMachine(self.handle) }
    }
}

/// What a compilation gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output {
    Object,
    Assembly,
    /// LLVM IR after the passes.
    OptimizedText,
}

/// An LLVM context, with the errors that LLVM reported in it.
struct Context {
    handle: *mut ffi::Context,
    /// On the heap, because LLVM keeps its address.
    diagnostics: Box<String>,
}

impl Context {
    fn new() -> Context {
        let mut diagnostics = Box::new(String::new());
        // SAFETY: the box outlives the context. Without a handler of ours, LLVM's own would end
        // the process at the first error.
        let handle = unsafe {
            let handle = ffi::LLVMContextCreate();
            let argument = ptr::from_mut::<String>(&mut diagnostics).cast();
            ffi::LLVMContextSetDiagnosticHandler(handle, Some(record), argument);
            handle
        };
        Context { handle, diagnostics }
    }

    fn parse(&self, text: &str) -> Result<Module<'_>> {
        // The parser wants a NUL byte after the text.
        let text = c_string(text)?;
        let mut module = ptr::null_mut();
        let mut message = ptr::null_mut();
        // SAFETY: the text outlives the buffer, which the parser consumes.
        let failed = unsafe {
            let buffer = ffi::LLVMCreateMemoryBufferWithMemoryRange(
                text.as_ptr(),
                text.as_bytes().len(),
                c"kernel".as_ptr(),
                1,
            );
            ffi::LLVMParseIRInContext(self.handle, buffer, &mut module, &mut message)
        };
        // SAFETY: the message is null or LLVM's.
        let message = unsafe { take(message) };
        if failed != 0 {
            return Err(Error::internal(format!("LLVM could not read our text: {message}")));
        }
        Ok(Module { handle: module, _context: self })
    }

    fn errors(&self) -> Option<Error> {
        (!self.diagnostics.is_empty())
            .then(|| Error::internal(format!("LLVM reported {}", self.diagnostics)))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once, after the modules that borrow it.
        unsafe { ffi::LLVMContextDispose(self.handle) }
    }
}

struct Module<'c> {
    handle: *mut ffi::Module,
    _context: &'c Context,
}

impl Module<'_> {
    fn verify(&self) -> Result<()> {
        let mut message = ptr::null_mut();
        // SAFETY: the module is alive, the out pointer is ours.
        let failed =
            unsafe { ffi::LLVMVerifyModule(self.handle, ffi::RETURN_STATUS, &mut message) };
        // SAFETY: the message is null or LLVM's.
        let message = unsafe { take(message) };
        if failed != 0 {
            return Err(Error::internal(format!("LLVM rejects our text: {message}")));
        }
        Ok(())
    }

    fn optimize(&self, machine: &mut Machine, passes: &CStr) -> Result<()> {
        // SAFETY: module and machine are alive; the options are freed here, the error is consumed.
        unsafe {
            let options = ffi::LLVMCreatePassBuilderOptions();
            let error = ffi::LLVMRunPasses(self.handle, passes.as_ptr(), machine.handle, options);
            ffi::LLVMDisposePassBuilderOptions(options);
            if error.is_null() {
                return Ok(());
            }
            let message = ffi::LLVMGetErrorMessage(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            ffi::LLVMDisposeErrorMessage(message);
            Err(Error::internal(format!("LLVM's passes failed: {text}")))
        }
    }

    fn print(&self) -> String {
        // SAFETY: the module is alive; the text is ours.
        unsafe { take(ffi::LLVMPrintModuleToString(self.handle)) }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the parser, freed once, before its context.
        unsafe { ffi::LLVMDisposeModule(self.handle) }
    }
}

extern "C" fn record(diagnostic: *mut ffi::Diagnostic, argument: *mut c_void) {
    // SAFETY: LLVM passes what `Context::new` gave it, and a diagnostic that lives for the call.
    unsafe {
        let severity: c_int = ffi::LLVMGetDiagInfoSeverity(diagnostic);
        if severity != ffi::SEVERITY_ERROR {
            return;
        }
        let message: *mut c_char = ffi::LLVMGetDiagInfoDescription(diagnostic);
        let text = take(message);
        let diagnostics = &mut *argument.cast::<String>();
        diagnostics.push_str(&text);
        diagnostics.push('\n');
    }
}
