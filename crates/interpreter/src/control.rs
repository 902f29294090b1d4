//! Ops that run other computations: call, while, conditional.

use rxla_base::{Error, Result};
use rxla_hlo::native::Pred;
use rxla_hlo::op::{Conditional, While};
use rxla_hlo::{ElementType, Literal};

use crate::context::Context;
use crate::movement::to_i64;

/// Runs the body while the condition holds. The state moves through the loop, so what the body
/// overwrites is overwritten in place.
pub(crate) fn run_while(cx: &Context<'_>, op: &While, mut state: Literal) -> Result<Literal> {
    loop {
        cx.check_limits()?;
        match cx.run(op.condition, vec![state.clone()])? {
            Literal::Array(go_on) if go_on.element_type() == ElementType::Pred => {
                if go_on.values::<Pred>() != [Pred::TRUE] {
                    return Ok(state);
                }
            }
            other => {
                return Err(Error::invalid_argument(format!(
                    "the condition of a `while` gives `{}`, not `pred[]`",
                    other.shape()
                )));
            }
        }
        state = cx.run(op.body, vec![state])?;
    }
}

/// Runs one branch: by a predicate (true is the first) or by number, where out of range means the
/// last one.
pub(crate) fn conditional(
    cx: &Context<'_>,
    op: &Conditional,
    operands: Vec<Literal>,
) -> Result<Literal> {
    let mut operands = operands.into_iter();
    let Some(Literal::Array(index)) = operands.next() else {
        return Err(Error::invalid_argument("a `conditional` without index"));
    };
    let last = op.branch_computations.len() - 1;
    let branch = if index.element_type() == ElementType::Pred {
        usize::from(index.values::<Pred>() != [Pred::TRUE])
    } else {
        usize::try_from(to_i64(&index)?).map_or(last, |index| index.min(last))
    };
    match (op.branch_computations.get(branch), operands.nth(branch)) {
        (Some(&computation), Some(operand)) => cx.run(computation, vec![operand]),
        _ => Err(Error::invalid_argument(format!("`conditional` has no branch {branch}"))),
    }
}
