//! Compiled code on the CPU.

use std::sync::Arc;

use rxla_base::{Error, Result};
use rxla_cpu::Executable;
use rxla_hlo::{Literal, Module};

use super::CodeCache;
use super::world::{KeptByCall, options};
use crate::backend::{Backend, Program, Run};
use crate::compile_options::CompileOptions;

/// Compiles what one device runs alone.
pub(crate) struct CpuBackend {
    options: rxla_cpu::Options,
}

impl CpuBackend {
    pub(crate) fn new(cache: Option<CodeCache>) -> CpuBackend {
        rxla_cpu::warm_up();
        let mut options = rxla_cpu::Options::default();
        options.llvm.disk =
            cache.map(|cache| rxla_cpu::DiskCache::new(cache.directory, cache.bound));
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

    fn compile(&self, module: &Arc<Module>, _options: &CompileOptions) -> Result<Box<dyn Program>> {
        let executable = rxla_cpu::compile(module, &self.options)?;
        Ok(Box::new(Compiled { executable, kept: Arc::default() }))
    }
}

struct Compiled {
    executable: Executable,
    kept: Arc<KeptByCall>,
}

impl Program for Compiled {
    fn execute(&self, mut run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        let mut arguments = std::mem::take(&mut run.arguments);
        let (Some(only), true) = (arguments.pop(), arguments.is_empty()) else {
            return Err(Error::internal("compiled code runs on one device"));
        };
        Ok(vec![self.executable.run(only, || options(&run, &self.kept))?])
    }

    fn code_size(&self) -> u64 {
        self.executable.code_size() as u64
    }
}
