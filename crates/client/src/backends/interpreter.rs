//! The interpreter as a backend: slow, complete, and what the others are compared with.

use std::sync::Arc;

use rxla_base::Result;
use rxla_hlo::cost::Costs;
use rxla_hlo::{Literal, Module, Op};
use rxla_interpreter::{Interpreter, Session};

use super::same_kind;
use super::world::{KeptByCall, id, options};
use crate::backend::{Backend, Program, Run};
use crate::compile_options::CompileOptions;
use crate::pace::Forecast;

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
        let (forecast, kept) = (forecast(module), KeptByCall::of(module));
        let interpreter = Interpreter::new(Arc::clone(module));
        Ok(Box::new(Interpreted { interpreter, forecast, kept }))
    }
}

struct Interpreted {
    interpreter: Interpreter,
    forecast: Forecast,
    kept: Arc<KeptByCall>,
}

impl Program for Interpreted {
    fn execute(&self, run: Run<'_>) -> Result<Vec<Vec<Literal>>> {
        let options = options(&run, &self.kept);
        let mut arguments = run.arguments;
        if let [alone] = run.devices {
            let only = arguments.pop().unwrap_or_default();
            return Ok(vec![leaves(self.interpreter.run_alone(id(alone), only, &options)?)]);
        }
        let results = self.interpreter.run_spmd(arguments, &options)?;
        Ok(results.into_iter().map(leaves).collect())
    }

    fn forecast(&self) -> Forecast {
        self.forecast
    }

    fn execute_own(
        &self,
        programs: &[&dyn Program],
        mut run: Run<'_>,
    ) -> Result<Vec<Vec<Literal>>> {
        let programs: Vec<&Interpreted> = same_kind(programs)?;
        let arguments = std::mem::take(&mut run.arguments);
        let parts = programs.iter().zip(arguments).map(|(program, arguments)| {
            program.interpreter.part(options(&run, &program.kept), arguments)
        });
        let run_entry = |session: &Session<'_>, arguments| session.run(arguments).map(leaves);
        Interpreter::sessions(parts.collect(), run_entry)
    }
}

/// What is known of a run beforehand: an element is some nanoseconds, an instruction a microsecond.
fn forecast(module: &Module) -> Forecast {
    let calls = |op: &Op| {
        matches!(op, Op::CustomCall(_) | Op::Send(_) | Op::Recv(_) | Op::Infeed(_) | Op::Outfeed(_))
    };
    let costs = Costs::of(module);
    let total = module.try_entry().map(|entry| costs.computation(entry)).unwrap_or_default();
    let instructions = |&id: &_| costs.runs(id) * module[id].instructions().len() as f64;
    let instructions = module.computations().iter().map(instructions).sum::<f64>();
    let arithmetic = total.flops + total.transcendentals + total.bytes;
    Forecast {
        calls_host: module.instruction_ids().any(|id| calls(&module[id].op)),
        nanoseconds: costs
            .know_all(module)
            .then_some((10.0 * arithmetic + 1e3 * instructions) as u64),
    }
}

/// The leaves of a result in order.
fn leaves(literal: Literal) -> Vec<Literal> {
    match literal {
        Literal::Tuple(elements) => elements.into_iter().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}
