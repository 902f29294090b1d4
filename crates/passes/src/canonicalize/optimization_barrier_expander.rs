//! `cse_barrier_expander`, XLA's OptimizationBarrierExpander: takes barriers away once nothing is
//! left that they keep apart. No simplification may run after it that they were put up against.

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct OptimizationBarrierExpander;

const RULES: &[NamedRule] = rules! {
    OptimizationBarrier => [barrier],
};

impl Pass for OptimizationBarrierExpander {
    fn name(&self) -> &'static str {
        "cse_barrier_expander"
    }

    fn class(&self) -> &'static str {
        "OptimizationBarrierExpander"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `opt-barrier(x) => x`
fn barrier(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    matches!(m[i].op, Op::OptimizationBarrier(_)).then(|| view::operand(m, i, 0))
}
