//! Ops that run in the background, and transfers to and from outside.

use super::check::{Result, agree, callee, ensure, error, needed};
use crate::op::{AsyncStart, CustomCall, Outfeed, OutputOperandAlias};
use crate::{ElementType, Module, Shape};

/// `((operands), result, contexts…)`; only the backend knows the contexts.
pub(super) fn start(
    module: &Module,
    op: &AsyncStart,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let callee = callee(module, op.calls, "`calls`")?;
    callee.expect_arguments(operands)?;
    let arguments = Shape::tuple(operands.iter().map(|&operand| operand.clone()));
    let inferred =
        Shape::tuple([arguments.clone(), callee.result.clone(), Shape::scalar(ElementType::U32)]);
    let inferred = match declared.and_then(Shape::as_tuple) {
        Some([declared_arguments, result, contexts @ ..])
            if agree(declared_arguments, &arguments) && agree(result, callee.result) =>
        {
            let parts = [arguments, callee.result.clone()].into_iter();
            Shape::tuple(parts.chain(contexts.iter().cloned()))
        }
        Some(_) | None => inferred,
    };
    aliases(&op.output_to_operand_aliasing, operands, &inferred)?;
    Ok(inferred)
}

pub(super) fn update(operand: &Shape) -> Result<Shape> {
    ensure!(
        operand.as_tuple().is_some_and(|parts| parts.len() >= 2),
        "the operand has to come from `async-start`, but is `{operand}`"
    );
    Ok(operand.clone())
}

/// Checks which parts of the output share memory with which parts of operands.
pub(crate) fn aliases(
    aliases: &[OutputOperandAlias],
    operands: &[&Shape],
    result: &Shape,
) -> Result<()> {
    for alias in aliases {
        let operand = usize::try_from(alias.operand).ok().and_then(|index| operands.get(index));
        let Some(operand) = operand else {
            return Err(error(format!(
                "`output_to_operand_aliasing` names operand {} of {}",
                alias.operand,
                operands.len()
            )));
        };
        let input = operand.subshape(&alias.operand_index);
        let output = result.subshape(&alias.output_index);
        let (Some(input), Some(output)) = (input, output) else {
            return Err(error(format!(
                "`output_to_operand_aliasing` names a part that is not there: {:?} of the result \
                 `{result}`, {:?} of operand {} `{operand}`",
                alias.output_index.as_slice(),
                alias.operand_index.as_slice(),
                alias.operand
            )));
        };
        let same_array = match (input.as_array(), output.as_array()) {
            (Some(input), Some(output)) => {
                // A buffer and the array in it share memory.
                agree(&input.clone().into(), &output.clone().into())
            }
            (Some(_) | None, _) => agree(input, output),
        };
        ensure!(
            same_array,
            "`output_to_operand_aliasing` joins `{output}` of the result with `{input}` of operand \
             {}",
            alias.operand
        );
    }
    Ok(())
}

pub(super) fn custom_call(
    module: &Module,
    op: &CustomCall,
    operands: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape> {
    let result = needed(declared)?;
    if let Some(constraints) = &op.operand_layout_constraints {
        ensure!(
            constraints.len() == operands.len(),
            "`operand_layout_constraints` has {} entries for {} operands",
            constraints.len(),
            operands.len()
        );
        for (number, (constraint, operand)) in constraints.iter().zip(operands).enumerate() {
            ensure!(
                agree(constraint, operand),
                "`operand_layout_constraints` says `{constraint}` of operand {number}, which is \
                 `{operand}`"
            );
        }
    }
    for &computation in op.to_apply.iter().chain(&op.called_computations) {
        callee(module, computation, "the called computation")?;
    }
    // This frontend attribute is on the instruction, which is not known here; XLA skips the
    // check of shapes for calls that have it. The verifier does the check that has no exception.
    Ok(result.clone())
}

fn token(shape: &Shape, number: usize) -> Result<()> {
    ensure!(*shape == Shape::Token, "operand {number} has to be a token, but is `{shape}`");
    Ok(())
}

/// `(data, token)`.
pub(super) fn infeed(operand: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    token(operand, 0)?;
    let result = needed(declared)?;
    ensure!(
        matches!(result.as_tuple(), Some([_, Shape::Token])),
        "the result has to be data and a token, but is `{result}`"
    );
    Ok(result.clone())
}

pub(super) fn outfeed(op: &Outfeed, operands: &[&Shape]) -> Result<Shape> {
    token(operands[1], 1)?;
    if let Some(shape) = &op.outfeed_shape {
        ensure!(
            agree(shape, operands[0]),
            "`outfeed_shape` is `{shape}`, but operand 0 is `{}`",
            operands[0]
        );
    }
    Ok(Shape::Token)
}

/// `(data, u32[], token)`.
fn transfer(data: Shape) -> Shape {
    Shape::tuple([data, Shape::scalar(ElementType::U32), Shape::Token])
}

pub(super) fn send(data: &Shape, after: &Shape) -> Result<Shape> {
    token(after, 1)?;
    Ok(transfer(data.clone()))
}

pub(super) fn recv(after: &Shape, declared: Option<&Shape>) -> Result<Shape> {
    token(after, 0)?;
    let result = needed(declared)?;
    match result.as_tuple() {
        Some([data, _, _]) if agree(&transfer(data.clone()), result) => Ok(result.clone()),
        Some(_) | None => {
            Err(error(format!("the result has to be data, `u32[]` and a token, but is `{result}`")))
        }
    }
}

/// What is on its way between a start and its done.
fn under_way<'a>(operand: &'a Shape, start: &str) -> Result<&'a Shape> {
    match operand.as_tuple() {
        Some([data, ..]) => Ok(data),
        Some([]) | None => {
            Err(error(format!("the operand has to come from `{start}`, but is `{operand}`")))
        }
    }
}

pub(super) fn send_done(operand: &Shape) -> Result<Shape> {
    under_way(operand, "send")?;
    Ok(Shape::Token)
}

pub(super) fn recv_done(operand: &Shape) -> Result<Shape> {
    Ok(Shape::tuple([under_way(operand, "recv")?.clone(), Shape::Token]))
}
