//! What is known about the machine that code is made for.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use rxla_base::{Error, Result};

use crate::ending::{Inside, watch_main_thread};
use crate::ffi;
use crate::machine::{Level, Machine};
use crate::text::{Bf16, Extremes, TargetText, Turns};

/// A target machine in words.
#[derive(Clone, Debug)]
pub struct Target {
    pub triple: String,
    pub data_layout: String,
    pub cpu: String,
    /// As LLVM spells them: `+avx2,-avx512f`.
    pub features: String,
}

/// A processor that code may be made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Cpu {
    /// The one that this runs on, with all that it has.
    #[default]
    Native,
    /// One of the levels that the ABI of x86-64 names.
    X86_64,
    X86_64V2,
    X86_64V3,
    X86_64V4,
}

impl Cpu {
    pub const ALL: [Cpu; 5] =
        [Cpu::Native, Cpu::X86_64, Cpu::X86_64V2, Cpu::X86_64V3, Cpu::X86_64V4];

    /// What people, and LLVM, call it.
    pub fn name(self) -> &'static str {
        match self {
            Cpu::Native => "native",
            Cpu::X86_64 => "x86-64",
            Cpu::X86_64V2 => "x86-64-v2",
            Cpu::X86_64V3 => "x86-64-v3",
            Cpu::X86_64V4 => "x86-64-v4",
        }
    }

    /// Of those that have a level: what is to be had of vectors.
    fn features(self) -> &'static str {
        match self {
            Cpu::Native | Cpu::X86_64 | Cpu::X86_64V2 => "",
            Cpu::X86_64V3 => "+avx2",
            Cpu::X86_64V4 => "+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl",
        }
    }
}

impl Target {
    /// A machine with such a processor and this one's system.
    pub fn of(cpu: Cpu) -> Result<Arc<Target>> {
        let host = Target::host()?;
        if cpu == Cpu::Native {
            return Ok(host);
        }
        if cfg!(not(target_arch = "x86_64")) {
            let name = cpu.name();
            return Err(Error::unimplemented(format!("code for {name} on another kind of CPU")));
        }
        // One of each, since threads keep machines by target.
        static KNOWN: Mutex<Vec<(Cpu, Arc<Target>)>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, target)) = known.iter().find(|(other, _)| *other == cpu) {
            return Ok(Arc::clone(target));
        }
        let (name, features) = (cpu.name().to_owned(), cpu.features().to_owned());
        let target = Arc::new(Target::new(host.triple.clone(), name, features)?);
        known.push((cpu, Arc::clone(&target)));
        Ok(target)
    }

    /// The machine that this runs on.
    pub fn host() -> Result<Arc<Target>> {
        static HOST: OnceLock<Result<Arc<Target>>> = OnceLock::new();
        watch_main_thread();
        HOST.get_or_init(|| {
            let _inside = Inside::enter()?;
            initialize();
            // SAFETY: these return strings that LLVM allocated, which `take` frees.
            let (triple, cpu, features) = unsafe {
                (
                    take(ffi::LLVMGetDefaultTargetTriple()),
                    take(ffi::LLVMGetHostCPUName()),
                    take(ffi::LLVMGetHostCPUFeatures()),
                )
            };
            Target::new(triple, cpu, features).map(Arc::new)
        })
        .clone()
    }

    /// The host's architecture with a CPU and features of one's choice, which the host must have.
    pub fn with_cpu(cpu: &str, features: &str) -> Result<Arc<Target>> {
        let host = Target::host()?;
        Target::new(host.triple.clone(), cpu.to_owned(), features.to_owned()).map(Arc::new)
    }

    fn new(triple: String, cpu: String, features: String) -> Result<Target> {
        let _inside = Inside::enter()?;
        let mut target = Target { triple, data_layout: String::new(), cpu, features };
        target.data_layout = Machine::new(&target, Level::Fast)?.data_layout();
        Ok(target)
    }

    /// Bits of the vectors that kernels should be scheduled for: the widest that the CPU has.
    /// On AVX-512 machines `examples/widths.rs` found 512 bits as fast as 256 where memory is the
    /// limit and faster elsewhere.
    pub fn vector_bits(&self) -> u32 {
        let wide = ["+avx512f", "+avx512dq", "+avx512bw", "+avx512vl"];
        if wide.iter().all(|feature| self.has(feature)) {
            512
        } else if self.has("+avx2") {
            256
        } else {
            128
        }
    }

    fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|known| known == feature)
    }

    pub(crate) fn text(&self) -> TargetText {
        let wide = self.vector_bits() == 512;
        let extremes = if wide { Extremes::Range } else { Extremes::Comparisons };
        let bf16 = if wide && self.has("+avx512bf16") { Bf16::Instruction } else { Bf16::Integers };
        let few_registers = cfg!(target_arch = "x86_64") && !wide;
        let turns = if few_registers && knows_fake_use() { Turns::Kept } else { Turns::Free };
        let (triple, data_layout) = (self.triple.clone(), self.data_layout.clone());
        TargetText { triple, data_layout, extremes, bf16, turns, flushes: false }
    }

    /// LLVM's handle of the target.
    pub(crate) fn handle(&self) -> Result<*mut ffi::Target> {
        initialize();
        let triple = c_string(&self.triple)?;
        let mut handle = std::ptr::null_mut();
        let mut message = std::ptr::null_mut();
        // SAFETY: the triple is a C string; the out pointers are ours.
        let failed =
            unsafe { ffi::LLVMGetTargetFromTriple(triple.as_ptr(), &mut handle, &mut message) };
        // SAFETY: the message is null or LLVM's.
        let message = unsafe { take(message) };
        if failed == 0 { Ok(handle) } else { Err(Error::internal(message)) }
    }
}

/// Whether this LLVM has `llvm.fake.use`, which came with version 20.
fn knows_fake_use() -> bool {
    let major = env!("RXLA_LLVM_VERSION").split('.').next();
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 20)
}

/// Loop strength reduction takes a quarter of the time for a small kernel and saves a cheap
/// instruction an iteration at best: addresses are written loop by loop as it is. Scheduling after
/// register allocation takes a tenth for a large one; the CPUs that ask for it reorder
/// instructions themselves.
pub(crate) const OPTIONS: [&CStr; 2] = [c"-disable-lsr", c"-post-RA-scheduler=false"];

fn initialize() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        ffi::initialize_target();
        let name = std::iter::once(c"rxla");
        let options: Vec<*const c_char> = name.chain(OPTIONS).map(CStr::as_ptr).collect();
        // SAFETY: as many C strings as are said, the first one a name, all options that LLVM knows.
        unsafe {
            let count = options.len() as c_int;
            ffi::LLVMParseCommandLineOptions(count, options.as_ptr(), std::ptr::null());
        }
    });
}

pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::internal("a NUL byte in a name for LLVM"))
}

/// The text of a message of LLVM's, which is freed.
///
/// # Safety
/// `message` is null or a string that LLVM gave away.
pub(crate) unsafe fn take(message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: not null, hence a C string that is ours.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        ffi::LLVMDisposeMessage(message);
        text
    }
}
