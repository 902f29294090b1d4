//! The interpreter as a backend: slow, complete, and what the others are compared with.

use std::sync::Arc;

use rxla_base::Result;
use rxla_hlo::{Literal, Module};
use rxla_interpreter::Interpreter;

use super::world::{KeptByCall, options};
use crate::backend::{Backend, Program, Run};
use crate::compile_options::CompileOptions;

/// Runs every module there is.
pub(crate) struct InterpreterBackend;

impl Backend for InterpreterBackend {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn priority(&self) -> i32 {
        0
    }

    fn compile(&self, module: &Arc<Module>, _options: &CompileOptions) -> Result<Box<dyn Program>> {
        let interpreter = Interpreter::new(Arc::clone(module));
        Ok(Box::new(Interpreted { interpreter, kept: Arc::default() }))
    }
}

struct Interpreted {
    interpreter: Interpreter,
    kept: Arc<KeptByCall>,
}

impl Program for Interpreted {
    fn execute(&self, run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        let options = options(&run, &self.kept);
        let mut arguments = run.arguments;
        if arguments.len() == 1 {
            let only = arguments.pop().unwrap_or_default();
            return Ok(vec![leaves(self.interpreter.run(only, &options)?)]);
        }
        let results = self.interpreter.run_spmd(arguments, &options)?;
        Ok(results.into_iter().map(leaves).collect())
    }
}

/// The leaves of a result in order.
fn leaves(literal: Literal) -> Vec<Literal> {
    match literal {
        Literal::Tuple(elements) => elements.into_iter().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}
