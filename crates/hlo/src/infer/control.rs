//! Tuples, calls, loops, branches and what only orders.

use super::check::{Result, agree, agree_by, array, callee, ensure, error, needed};
use crate::op::{Conditional, GetTupleElement, While};
use crate::{ComputationId, ElementType, Module, Shape};

pub(super) fn get_tuple_element(op: &GetTupleElement, operand: &Shape) -> Result<Shape> {
    let Some(elements) = operand.as_tuple() else {
        return Err(error(format!("the operand has to be a tuple, but is `{operand}`")));
    };
    let element = usize::try_from(op.index).ok().and_then(|index| elements.get(index));
    element.cloned().ok_or_else(|| {
        error(format!("(C1) index {} is not in a tuple of {}", op.index, elements.len()))
    })
}

/// `call` and `fusion`: parameters take the operands, the result is the callee's.
pub(super) fn call(
    module: &Module,
    computation: ComputationId,
    what: &str,
    operands: &[&Shape],
) -> Result<Shape> {
    let callee = callee(module, computation, what)?;
    callee.expect_arguments(operands)?;
    Ok(callee.result.clone())
}

pub(super) fn while_(module: &Module, op: &While, init: &Shape) -> Result<Shape> {
    let condition = callee(module, op.condition, "`condition`")?;
    let body = callee(module, op.body, "`body`")?;
    for computation in [&condition, &body] {
        computation.expect_parameters(1)?;
        ensure!(
            agree(computation.parameters[0], init),
            "the initial value is `{init}`, but `{}` takes `{}`",
            computation.name,
            computation.parameters[0]
        );
    }
    ensure!(
        agree(condition.result, &Shape::scalar(ElementType::Pred)),
        "(C1) the condition `{}` has to give `pred[]`, but gives `{}`",
        condition.name,
        condition.result
    );
    ensure!(
        agree(body.result, init),
        "(C2) the initial value is `{init}`, but the body `{}` gives `{}`",
        body.name,
        body.result
    );
    Ok(init.clone())
}

pub(super) fn conditional(module: &Module, op: &Conditional, operands: &[&Shape]) -> Result<Shape> {
    let index = array(operands[0], "operand 0")?;
    let branches = &op.branch_computations;
    ensure!(
        index.rank() == 0 && matches!(index.element_type, ElementType::Pred | ElementType::S32),
        "the branch index has to be `pred[]` or `s32[]`, but is `{index}`"
    );
    ensure!(!branches.is_empty(), "(C1) there is no branch");
    ensure!(
        index.element_type != ElementType::Pred || branches.len() == 2,
        "`pred[]` chooses between 2 branches, but there are {}",
        branches.len()
    );
    ensure!(
        operands.len() == branches.len() + 1,
        "{} branches take an operand each, but {} are given",
        branches.len(),
        operands.len() - 1
    );
    let mut result: Option<(&str, &Shape)> = None;
    for (number, (&branch, operand)) in branches.iter().zip(&operands[1..]).enumerate() {
        let callee = callee(module, branch, "the branch")?;
        callee.expect_parameters(1)?;
        ensure!(
            agree(callee.parameters[0], operand),
            "operand {} is `{operand}`, but branch {number}, `{}`, takes `{}`",
            number + 1,
            callee.name,
            callee.parameters[0]
        );
        let (first_name, first) = *result.get_or_insert((callee.name, callee.result));
        ensure!(
            agree(callee.result, first),
            "(C3) branches differ: `{first_name}` gives `{first}`, `{}` gives `{}`",
            callee.name,
            callee.result
        );
    }
    let Some((_, result)) = result else { return Err(error("(C1) there is no branch")) };
    Ok(result.clone())
}

pub(super) fn after_all(operands: &[&Shape]) -> Result<Shape> {
    for operand in operands {
        ensure!(**operand == Shape::Token, "operands have to be tokens, but one is `{operand}`");
    }
    Ok(Shape::Token)
}

pub(super) fn add_dependency(value: &Shape, token: &Shape) -> Result<Shape> {
    ensure!(*token == Shape::Token, "operand 1 has to be a token, but is `{token}`");
    Ok(value.clone())
}

/// A parameter is what it is declared to be.
pub(super) fn parameter(number: i64, declared: Option<&Shape>) -> Result<Shape> {
    ensure!(number >= 0, "parameter number {number} is negative");
    needed(declared).cloned()
}

/// A copy may change the layout, not the value.
pub(super) fn copy_start(operand: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    let inferred =
        Shape::tuple([operand.clone(), operand.clone(), Shape::scalar(ElementType::U32)]);
    // Some backends keep another kind of context in element 2.
    if let Some(declared) = declared
        && let Some([to, from, ..]) = declared.as_tuple()
        && agree_by(to, operand, &|a, b| a == b)
        && agree(from, operand)
    {
        return Ok(declared.clone());
    }
    Ok(inferred)
}

pub(super) fn copy_done(operand: &Shape) -> Result<Shape> {
    match operand.as_tuple() {
        Some([to, ..]) => Ok(to.clone()),
        Some([]) | None => {
            Err(error(format!("the operand has to come from `copy-start`, but is `{operand}`")))
        }
    }
}
