//! The part of LLVM's C API that is used, declared by hand. Wrapped by `machine`, used nowhere else.

use std::ffi::{c_char, c_int, c_void};

macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub(crate) struct $name {
            _opaque: [u8; 0],
        }
    )*};
}

opaque!(
    Context,
    Module,
    MemoryBuffer,
    Target,
    TargetMachine,
    PassBuilderOptions,
    ErrorInfo,
    Diagnostic,
    TargetData
);

pub(crate) const CODE_GEN_LEVEL_NONE: c_int = 0;
pub(crate) const CODE_GEN_LEVEL_DEFAULT: c_int = 2;
pub(crate) const RELOC_PIC: c_int = 2;
pub(crate) const CODE_MODEL_SMALL: c_int = 3;
pub(crate) const OBJECT_FILE: c_int = 1;
pub(crate) const ASSEMBLY_FILE: c_int = 0;
pub(crate) const SEVERITY_ERROR: c_int = 0;
/// `LLVMReturnStatusAction`: the verifier reports and does not abort.
pub(crate) const RETURN_STATUS: c_int = 2;

pub(crate) type DiagnosticHandler = extern "C" fn(*mut Diagnostic, *mut c_void);
pub(crate) type FatalErrorHandler = extern "C" fn(*const c_char);

unsafe extern "C" {
    pub(crate) fn LLVMParseCommandLineOptions(
        count: c_int,
        arguments: *const *const c_char,
        overview: *const c_char,
    );
    pub(crate) fn LLVMContextCreate() -> *mut Context;
    pub(crate) fn LLVMContextDispose(context: *mut Context);
    pub(crate) fn LLVMContextSetDiagnosticHandler(
        context: *mut Context,
        handler: Option<DiagnosticHandler>,
        argument: *mut c_void,
    );
    pub(crate) fn LLVMGetDiagInfoDescription(diagnostic: *mut Diagnostic) -> *mut c_char;
    pub(crate) fn LLVMGetDiagInfoSeverity(diagnostic: *mut Diagnostic) -> c_int;
    pub(crate) fn LLVMInstallFatalErrorHandler(handler: FatalErrorHandler);

    /// The data must be followed by a NUL byte, and outlive the buffer.
    pub(crate) fn LLVMCreateMemoryBufferWithMemoryRange(
        data: *const c_char,
        length: usize,
        name: *const c_char,
        requires_null_terminator: c_int,
    ) -> *mut MemoryBuffer;
    pub(crate) fn LLVMGetBufferStart(buffer: *mut MemoryBuffer) -> *const c_char;
    pub(crate) fn LLVMGetBufferSize(buffer: *mut MemoryBuffer) -> usize;
    pub(crate) fn LLVMDisposeMemoryBuffer(buffer: *mut MemoryBuffer);

    /// Consumes the buffer. (Its successor that does not is there from LLVM 22 on.)
    pub(crate) fn LLVMParseIRInContext(
        context: *mut Context,
        buffer: *mut MemoryBuffer,
        module: *mut *mut Module,
        message: *mut *mut c_char,
    ) -> c_int;
    pub(crate) fn LLVMDisposeModule(module: *mut Module);
    pub(crate) fn LLVMVerifyModule(
        module: *mut Module,
        action: c_int,
        message: *mut *mut c_char,
    ) -> c_int;
    pub(crate) fn LLVMPrintModuleToString(module: *mut Module) -> *mut c_char;
    pub(crate) fn LLVMDisposeMessage(message: *mut c_char);

    pub(crate) fn LLVMCreatePassBuilderOptions() -> *mut PassBuilderOptions;
    pub(crate) fn LLVMDisposePassBuilderOptions(options: *mut PassBuilderOptions);
    pub(crate) fn LLVMRunPasses(
        module: *mut Module,
        passes: *const c_char,
        machine: *mut TargetMachine,
        options: *mut PassBuilderOptions,
    ) -> *mut ErrorInfo;
    /// Consumes the error.
    pub(crate) fn LLVMGetErrorMessage(error: *mut ErrorInfo) -> *mut c_char;
    pub(crate) fn LLVMDisposeErrorMessage(message: *mut c_char);

    pub(crate) fn LLVMGetDefaultTargetTriple() -> *mut c_char;
    pub(crate) fn LLVMGetHostCPUName() -> *mut c_char;
    pub(crate) fn LLVMGetHostCPUFeatures() -> *mut c_char;
    pub(crate) fn LLVMGetTargetFromTriple(
        triple: *const c_char,
        target: *mut *mut Target,
        message: *mut *mut c_char,
    ) -> c_int;
    pub(crate) fn LLVMCreateTargetMachine(
        target: *mut Target,
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        level: c_int,
        reloc: c_int,
        code_model: c_int,
    ) -> *mut TargetMachine;
    pub(crate) fn LLVMCreateTargetDataLayout(machine: *mut TargetMachine) -> *mut TargetData;
    pub(crate) fn LLVMCopyStringRepOfTargetData(data: *mut TargetData) -> *mut c_char;
    pub(crate) fn LLVMDisposeTargetData(data: *mut TargetData);
    pub(crate) fn LLVMDisposeTargetMachine(machine: *mut TargetMachine);
    pub(crate) fn LLVMTargetMachineEmitToMemoryBuffer(
        machine: *mut TargetMachine,
        module: *mut Module,
        file_type: c_int,
        message: *mut *mut c_char,
        buffer: *mut *mut MemoryBuffer,
    ) -> c_int;
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn LLVMInitializeX86TargetInfo();
    fn LLVMInitializeX86Target();
    fn LLVMInitializeX86TargetMC();
    fn LLVMInitializeX86AsmPrinter();
}

#[cfg(target_arch = "aarch64")]
unsafe extern "C" {
    fn LLVMInitializeAArch64TargetInfo();
    fn LLVMInitializeAArch64Target();
    fn LLVMInitializeAArch64TargetMC();
    fn LLVMInitializeAArch64AsmPrinter();
}

/// Registers the host's target. To be called once.
pub(crate) fn initialize_target() {
    // SAFETY: these only add to LLVM's registry; the caller calls them from one thread, once.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64Target();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64AsmPrinter();
    }
}
