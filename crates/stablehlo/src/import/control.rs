//! Control flow: `while`, `case`, `if`, and the optimisation barrier.

use rxla_hlo::op::{Conditional, OptimizationBarrier, While};
use rxla_hlo::{ElementType, InstructionId, Shape};

use super::attributes::View;
use super::block::{PassCaptures, captured_values};
use super::importer::{Importer, Result, one_or_tuple_shape};
use crate::mlir::ValueId;

/// The values that the regions of an operation take from outside, as instructions here.
fn captures<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
) -> Result<(Vec<ValueId>, Vec<InstructionId>)> {
    let values = captured_values(view.source, view.id);
    let instructions =
        values.iter().map(|&value| cx.value(view, value)).collect::<Result<Vec<_>>>()?;
    Ok((values, instructions))
}

/// `stablehlo.while`: captured values are carried along unchanged.
pub(super) fn while_loop<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let mut state = cx.operands(view)?;
    let carried = state.len();
    view.expect_results(carried)?;
    let (captured, instructions) = captures(cx, view)?;
    state.extend(instructions);
    let shapes: Vec<Shape> = state.iter().map(|&part| cx.logical_shape(part)).collect();
    let (condition, body) = (view.block(0)?, view.block(1)?);
    let condition = cx.packed_region(view, condition, &captured, &shapes, PassCaptures::No)?;
    let body = cx.packed_region(view, body, &captured, &shapes, PassCaptures::Yes)?;
    let shape = one_or_tuple_shape(shapes);
    let predicate = cx.shape(cx.module[condition].root());
    if !predicate.compatible(&Shape::scalar(ElementType::Pred)) {
        return Err(view.error(format_args!(
            "has a condition that gives `{predicate}` where `pred[]` is needed"
        )));
    }
    let next = cx.shape(cx.module[body].root());
    if !next.compatible(&shape) {
        return Err(view.error(format_args!("carries `{shape}` but its body gives `{next}`")));
    }
    let operand = cx.one_or_tuple(&state);
    let instruction = cx.add(While { condition, body }, shape, &[operand]);
    if state.len() == 1 {
        return match view.op.results.is_empty() {
            true => Ok(()),
            false => cx.finish(view, instruction),
        };
    }
    cx.mark_sharding(view, instruction)?;
    for (index, &result) in view.op.results.iter().enumerate() {
        let part = cx.get_tuple_element(instruction, index);
        cx.bind(result, part);
    }
    Ok(())
}

/// A branch per region, each with the captured values as its operand.
fn conditional<'a>(cx: &mut Importer<'a>, view: View<'a>, selector: InstructionId) -> Result {
    let (captured, instructions) = captures(cx, view)?;
    let shapes: Vec<Shape> = instructions.iter().map(|&part| cx.logical_shape(part)).collect();
    let declared = one_or_tuple_shape(view.result_shapes()?);
    let mut result = None;
    let mut branch_computations = Vec::new();
    for region in 0..view.op.regions.len() {
        let block = view.block(region)?;
        let computation = cx.packed_region(view, block, &captured, &shapes, PassCaptures::No)?;
        let root = cx.shape(cx.module[computation].root()).clone();
        let expected = result.get_or_insert(root.clone());
        if !root.compatible(expected) {
            return Err(
                view.error(format_args!("has branches that give `{expected}` and `{root}`"))
            );
        }
        branch_computations.push(computation);
    }
    let Some(shape) = result else {
        return Err(view.error("has no branches"));
    };
    if !super::types::is_unbounded(&declared) && !shape.compatible(&declared) {
        return Err(
            view.error(format_args!("has the type `{declared}` but its branches give `{shape}`"))
        );
    }
    let operand = cx.one_or_tuple(&instructions);
    let mut operands = vec![selector];
    operands.resize(1 + branch_computations.len(), operand);
    let instruction = cx.add(Conditional { branch_computations }, shape, &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.case`.
pub(super) fn case<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [index] = cx.exactly(view)?;
    if !cx.shape(index).compatible(&Shape::scalar(ElementType::S32)) {
        return Err(view.error(format_args!("takes a scalar `i32`, not `{}`", cx.shape(index))));
    }
    conditional(cx, view, index)
}

/// `stablehlo.if`.
pub(super) fn if_then<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [predicate] = cx.exactly(view)?;
    if !cx.shape(predicate).compatible(&Shape::scalar(ElementType::Pred)) {
        return Err(view.error(format_args!("takes a scalar `i1`, not `{}`", cx.shape(predicate))));
    }
    if view.op.regions.len() != 2 {
        return Err(view.error("has not two regions"));
    }
    conditional(cx, view, predicate)
}

/// `stablehlo.optimization_barrier`: values pass through one barrier together.
pub(super) fn optimization_barrier<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    view.expect_results(operands.len())?;
    if operands.is_empty() {
        return Ok(());
    }
    let operand = cx.one_or_tuple(&operands);
    let shape = cx.logical_shape(operand);
    let instruction = cx.add(OptimizationBarrier {}, shape, &[operand]);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.tuple`.
pub(super) fn tuple<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.operands(view)?;
    let instruction = cx.tuple(&operands);
    cx.finish(view, instruction)
}

/// `stablehlo.get_tuple_element`.
pub(super) fn get_tuple_element<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let index = view.integer("index")?;
    let count = cx.shape(operand).as_tuple().map_or(0, <[Shape]>::len);
    let index = usize::try_from(index).ok().filter(|&index| index < count).ok_or_else(|| {
        view.error(format_args!("takes element {index} of `{}`", cx.shape(operand)))
    })?;
    let instruction = cx.get_tuple_element(operand, index);
    cx.finish(view, instruction)
}
