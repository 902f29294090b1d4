//! `zero_sized_hlo_elimination`, XLA's ZeroSizedHloElimination: an array without elements is a
//! constant, however it came about.

use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, InstructionId, Literal, Module, Op};

use crate::effects::{Effects, unfused_computations};
use crate::pass::{Context, Pass};
use crate::view;

pub struct ZeroSizedHloElimination;

impl Pass for ZeroSizedHloElimination {
    fn name(&self) -> &'static str {
        "zero_sized_hlo_elimination"
    }

    fn class(&self) -> &'static str {
        "ZeroSizedHloElimination"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let effects = Effects::of(module);
        let mut made = 0;
        for computation in unfused_computations(module) {
            for i in module.post_order(computation) {
                let Some(literal) = empty(module, &effects, i) else { continue };
                if !cx.spend() {
                    return Ok(made);
                }
                let shape = module[i].shape.clone();
                module.replace_with(i, Op::constant(literal), shape, &[]);
                // Left without users, so a second run finds it no more than `dce` leaves it.
                module.remove_instruction(i);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// The value of an array without elements that is no constant yet.
fn empty(module: &Module, effects: &Effects, i: InstructionId) -> Option<Literal> {
    let shape = view::static_array(module, i)?;
    let stays =
        matches!(module[i].op, Op::Constant(_) | Op::Parameter(_)) || effects.has(module, i);
    if shape.element_count() != Some(0) || stays {
        return None;
    }
    ArrayLiteral::zeros(&shape.without_layout()).ok().map(Literal::Array)
}
