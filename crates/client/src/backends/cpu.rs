//! Compiled code on the CPU.

use std::sync::{Arc, OnceLock};

use rxla_base::{Memory, RecordReader, RecordWriter, Result};
use rxla_cpu::{Executable, Key, Marks};
use rxla_flags::Flags;
use rxla_hlo::{Literal, Module};
use rxla_trace::{Kind, span};

use super::same_kind;
use super::world::{KeptByCall, id, options};
use crate::backend::{Backend, Program, ProgramKey, Run};
use crate::code_cache::CodeCache;
use crate::compile_options::CompileOptions;
use crate::pace::Forecast;

/// Compiles to machine code.
pub(crate) struct CpuBackend {
    options: rxla_cpu::Options,
}

impl CpuBackend {
    pub(crate) fn new(cache: Option<CodeCache>) -> CpuBackend {
        rxla_cpu::warm_up();
        let mut options = rxla_cpu::Options::default();
        options.llvm.disk = cache.map(|cache| cache.disk);
        CpuBackend { options }
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn priority(&self) -> i32 {
        10
    }

    fn configure(&self, flags: &Flags) {
        if let Ok(threads @ 1..) = usize::try_from(flags.rxla_threads) {
            rxla_cpu::use_threads(threads);
        }
    }

    fn compile(&self, module: &Arc<Module>, options: &CompileOptions) -> Result<Box<dyn Program>> {
        let flags = Arc::clone(&options.flags);
        let options = rxla_cpu::Options { flags, ..self.options.clone() };
        let executable = rxla_cpu::compile(module, &options)?;
        Ok(Box::new(Compiled::new(executable, options)))
    }

    fn memory(&self, bytes: usize) -> Option<Result<Arc<dyn Memory>>> {
        Some(rxla_cpu::memory(bytes))
    }

    fn key(&self, source: &[&[u8]]) -> Option<ProgramKey> {
        self.options.llvm.disk.as_ref()?;
        rxla_cpu::program_key(source).map(|key| ProgramKey(key.0))
    }

    fn recall(&self, key: &ProgramKey) -> Option<(Box<dyn Program>, Vec<u8>)> {
        let kept = self.options.llvm.disk.as_ref()?.get(&Key(key.0))?;
        let mut record = RecordReader::new(&kept);
        let (notes, image) = (record.bytes()?, record.bytes()?);
        // What cannot be loaded is compiled anew.
        let executable = Executable::from_image(image).ok()??;
        Some((Box::new(Compiled::new(executable, self.options.clone())), notes.to_vec()))
    }

    fn keep(&self, key: &ProgramKey, program: &dyn Program, notes: &[u8]) {
        let (Some(disk), Some(image)) = (&self.options.llvm.disk, program.image()) else { return };
        let mut record = RecordWriter::new();
        record.bytes(notes);
        record.bytes(&image);
        disk.put(&Key(key.0), &record.finish());
    }
}

struct Compiled {
    executable: Executable,
    /// The same program once more, which tells what it runs when; `None` inside if it cannot be.
    watched: OnceLock<Option<Executable>>,
    options: rxla_cpu::Options,
    kept: Arc<KeptByCall>,
}

impl Compiled {
    fn new(executable: Executable, options: rxla_cpu::Options) -> Compiled {
        let kept = KeptByCall::of(executable.module());
        Compiled { executable, watched: OnceLock::new(), options, kept }
    }

    /// What is to run now.
    fn current(&self) -> &Executable {
        let watched = || self.watched.get().and_then(Option::as_ref);
        rxla_trace::is_on().then(watched).flatten().unwrap_or(&self.executable)
    }
}

impl Program for Compiled {
    fn execute(&self, mut run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        let mut arguments = std::mem::take(&mut run.arguments);
        match run.devices {
            [alone] => {
                let only = arguments.pop().unwrap_or_default();
                let current = self.current();
                let options = || options(&run, &self.kept);
                Ok(vec![current.run_on(id(alone), only, run.tell, options)?])
            }
            devices => {
                let programs = vec![self.current(); devices.len()];
                Executable::run_all(&programs, arguments, |_| options(&run, &self.kept))
            }
        }
    }

    fn forecast(&self) -> Forecast {
        Forecast {
            calls_host: self.executable.calls_outside(),
            nanoseconds: self.executable.expected_nanoseconds(),
        }
    }

    fn execute_own(
        &self,
        programs: &[&dyn Program],
        mut run: Run<'_>,
    ) -> Result<Vec<Vec<Literal>>> {
        let programs: Vec<&Compiled> = same_kind(programs)?;
        let arguments = std::mem::take(&mut run.arguments);
        let executables: Vec<_> = programs.iter().map(|program| program.current()).collect();
        let options = |index: usize| options(&run, &programs[index].kept);
        Executable::run_all(&executables, arguments, options)
    }

    fn code_size(&self) -> u64 {
        self.executable.code_size() as u64
    }

    fn temp_bytes(&self) -> u64 {
        self.executable.temp_bytes() as u64
    }

    fn watch(&self, module: &dyn Fn() -> Arc<Module>) {
        self.watched.get_or_init(|| {
            // Its kernels are those of the program, which the cache in memory has; only the driver
            // is another.
            let _span = span(Kind::Compile, || "compile for the trace");
            let options = rxla_cpu::Options { marks: Marks::Steps, ..self.options.clone() };
            rxla_cpu::compile(&module(), &options).ok()
        });
    }

    fn image(&self) -> Option<Vec<u8>> {
        self.executable.image()
    }
}
