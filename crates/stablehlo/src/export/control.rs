//! Calls, loops, branches, tuples, and what only orders or copies.

use rxla_hlo::op::{Conditional, While};
use rxla_hlo::{ComputationId, ElementType, Shape};

use super::attributes::Declared;
use super::exporter::{Exported, Exporter, Result, Scope, View, tree};
use crate::mlir::{Attribute, Type, ValueId};

pub(super) fn tuple<'m>(cx: &Exporter<'m>, scope: &Scope, view: View<'m>) -> Result<Exported> {
    let parts = (0..view.instruction.operands().len()).map(|index| cx.operand(scope, view, index));
    Ok(Exported::Tuple(parts.collect::<Result<_>>()?))
}

/// A part of the only operand.
pub(super) fn part<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    index: i64,
) -> Result<Exported> {
    let operand = cx.operand(scope, view, 0)?;
    let parts = cx.parts(scope.block, &operand, view)?;
    let part = usize::try_from(index).ok().and_then(|index| parts.into_iter().nth(index));
    part.ok_or_else(|| view.error(format_args!("takes part {index}, which is not there")))
}

/// A function that is called.
pub(super) fn call<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    computation: ComputationId,
) -> Result<Exported> {
    let name = cx.function(computation);
    let operands = cx.values(scope, view)?;
    let attributes = Declared::new().with("callee", Attribute::symbol(name));
    // A tuple of one part is one value of tuple type.
    match view.shape() {
        Shape::Tuple(parts) if parts.len() == 1 => {
            let types = vec![cx.ty(view, view.shape())?];
            let results = cx.add(scope.block, view, "func.call", &operands, types, attributes)?;
            Ok(Exported::Value(results[0]))
        }
        _ => cx.add_with(scope, view, "func.call", &operands, attributes),
    }
}

/// What a computation does, right here.
pub(super) fn inline<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    computation: ComputationId,
) -> Result<Exported> {
    let operands = (0..view.instruction.operands().len())
        .map(|index| cx.operand(scope, view, index))
        .collect::<Result<Vec<_>>>()?;
    cx.inline(scope.block, computation, operands)
}

/// Operands, then the result.
pub(super) fn async_start<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    computation: ComputationId,
) -> Result<Exported> {
    let operands = tuple(cx, scope, view)?;
    let result = inline(cx, scope, view, computation)?;
    Ok(Exported::Tuple(vec![operands, result]))
}

/// Destination, source and a context that nothing may look into.
pub(super) fn copy_start<'m>(cx: &Exporter<'m>, scope: &Scope, view: View<'m>) -> Result<Exported> {
    let operand = cx.operand(scope, view, 0)?;
    Ok(Exported::Tuple(vec![operand.clone(), operand]))
}

/// The first operand, after the second.
pub(super) fn add_dependency<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
) -> Result<Exported> {
    let value = cx.operand(scope, view, 0)?;
    let mut values = cx.leaves(scope.block, &value, view)?;
    let count = values.len();
    values.push(cx.value(scope, view, 1)?);
    let results = barrier(cx, scope, view, &values)?;
    rebuilt(view, view.shape(), results.into_iter().take(count))
}

pub(super) fn optimization_barrier<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
) -> Result<Exported> {
    let value = cx.operand(scope, view, 0)?;
    let values = cx.leaves(scope.block, &value, view)?;
    let results = barrier(cx, scope, view, &values)?;
    rebuilt(view, view.shape(), results.into_iter())
}

fn barrier<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    values: &[ValueId],
) -> Result<Vec<ValueId>> {
    let types = types_of(cx, values);
    let name = "stablehlo.optimization_barrier";
    cx.add(scope.block, view, name, values, types, Declared::new())
}

fn types_of(cx: &Exporter<'_>, values: &[ValueId]) -> Vec<Type> {
    values.iter().map(|&value| cx.out.values[value].ty.clone()).collect()
}

fn rebuilt(
    view: View<'_>,
    shape: &Shape,
    mut leaves: impl Iterator<Item = ValueId>,
) -> Result<Exported> {
    tree(shape, &mut leaves).ok_or_else(|| view.error("has fewer values than its shape says"))
}

/// The state is a list of values in StableHLO.
pub(super) fn while_loop<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &While,
) -> Result<Exported> {
    let state = cx.operand(scope, view, 0)?;
    let operands = cx.leaves(scope.block, &state, view)?;
    let types = types_of(cx, &operands);
    let (while_op, results) = cx.add_operation(
        scope.block,
        view,
        "stablehlo.while",
        &operands,
        types.clone(),
        Declared::new(),
    )?;
    cx.annotate(while_op, view);
    for computation in [op.condition, op.body] {
        let (_, block, arguments) = cx.region(while_op, types.iter().cloned());
        let parameter = rebuilt(view, view.shape(), arguments.into_iter())?;
        let root = cx.inline(block, computation, vec![parameter])?;
        let values = cx.leaves(block, &root, view)?;
        cx.end(block, values);
    }
    rebuilt(view, view.shape(), results.into_iter())
}

/// Branches use their operand from outside.
pub(super) fn conditional<'m>(
    cx: &mut Exporter<'m>,
    scope: &Scope,
    view: View<'m>,
    op: &Conditional,
) -> Result<Exported> {
    let selector = cx.value(scope, view, 0)?;
    let by_predicate = cx
        .operand_shape(view, 0)?
        .as_array()
        .is_some_and(|array| array.element_type == ElementType::Pred);
    let name = if by_predicate { "stablehlo.if" } else { "stablehlo.case" };
    let types = view
        .shape()
        .leaves()
        .into_iter()
        .map(|(_, leaf)| cx.ty(view, leaf))
        .collect::<Result<Vec<_>>>()?;
    let operands = (0..op.branch_computations.len())
        .map(|branch| cx.operand(scope, view, branch + 1))
        .collect::<Result<Vec<_>>>()?;
    let (case, results) =
        cx.add_operation(scope.block, view, name, &[selector], types, Declared::new())?;
    cx.annotate(case, view);
    for (&computation, operand) in op.branch_computations.iter().zip(operands) {
        let (_, block, _) = cx.region(case, []);
        let root = cx.inline(block, computation, vec![operand])?;
        let values = cx.leaves(block, &root, view)?;
        cx.end(block, values);
    }
    rebuilt(view, view.shape(), results.into_iter())
}
