//! Calls of functions: one computation shared by all calls, or a copy of the body in place where
//! shapes depend on the call, or what is manual does.

use rxla_hlo::{self as hlo, ComputationId};

use super::attributes::View;
use super::functions::{function_type, has_regions};
use super::importer::{Importer, Result, one_or_tuple_shape};
use super::types;
use crate::mlir::Attribute;

/// How many bodies are copied: each copy may hold further calls, so that few functions could
/// unfold to any number.
const MAX_INLINED: usize = 1 << 14;

/// The computation of a function named in an attribute.
pub(super) fn callee<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    symbol: &[u8],
) -> Result<(View<'a>, ComputationId)> {
    let name = String::from_utf8_lossy(symbol);
    let Some(&function) = cx.symbols.get(symbol) else {
        return Err(view.error(format_args!("calls `{name}`, which is not in the module")));
    };
    match cx.functions.get(&function) {
        Some(&computation) => Ok((cx.view(function), computation)),
        None => Err(view.error(format_args!("`{name}` could not be translated"))),
    }
}

/// `func.call`, `call` and `stablehlo.composite` all come to this: a `call` instruction.
pub(super) fn add_call<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    symbol: &[u8],
    call: impl FnOnce(ComputationId) -> hlo::op::Call,
) -> Result<hlo::InstructionId> {
    let (_, computation) = callee(cx, view, symbol)?;
    let operands = cx.operands(view)?;
    let parameters = cx.module[computation].parameters().to_vec();
    if parameters.len() != operands.len() {
        return Err(view.error(format_args!(
            "passes {} operands to `{}`, which takes {}",
            operands.len(),
            String::from_utf8_lossy(symbol),
            parameters.len()
        )));
    }
    for (index, (&operand, &parameter)) in operands.iter().zip(&parameters).enumerate() {
        let (given, needed) = (cx.shape(operand), cx.shape(parameter));
        if !given.compatible(needed) {
            return Err(view.error(format_args!(
                "operand {index} is `{given}` where `{}` takes `{needed}`",
                String::from_utf8_lossy(symbol)
            )));
        }
    }
    let root = cx.module[computation].root();
    let shape = cx.logical_shape(root);
    let declared = one_or_tuple_shape(view.result_shapes()?);
    if !shape.compatible(&declared) {
        return Err(view.error(format_args!(
            "has the type `{declared}` where `{}` returns `{shape}`",
            String::from_utf8_lossy(symbol)
        )));
    }
    Ok(cx.add(call(computation), shape, &operands))
}

/// Whether a function has arguments or results of unknown size, or takes sizes as arguments. Its
/// shapes depend on the call, so each call gets a copy of its body.
pub(super) fn is_shape_polymorphic(view: View<'_>) -> bool {
    let Ok(ty) = function_type(view) else { return false };
    let open = |ty| types::shape(ty).is_ok_and(|shape| types::is_unbounded(&shape));
    let sizes = view.get("arg_attrs").and_then(Attribute::as_array).is_some_and(|list| {
        list.iter().any(|attributes| attributes.entry("jax.global_constant").is_some())
    });
    sizes || ty.inputs.iter().chain(&ty.results).any(open)
}

/// The body of a function in place of a call of it.
fn inline_call<'a>(cx: &mut Importer<'a>, view: View<'a>, callee: View<'a>) -> Result {
    cx.inlined += 1;
    if cx.inlined > MAX_INLINED {
        return Err(view.unimplemented(format_args!(
            "more than {MAX_INLINED} calls of functions whose bodies depend on the call"
        )));
    }
    let operands = cx.operands(view)?;
    let results = cx.inline_block(callee, callee.block(0)?, &operands)?;
    cx.finish_all(view, &results)
}

/// `func.call`.
pub(super) fn call<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let symbol = view.symbol("callee")?;
    if let Some(&function) = cx.symbols.get(symbol) {
        let callee = cx.view(function);
        // Where a region in a region leads out to depends on which axes are manual round the call.
        let is_manual = cx.is_partitioned() && !cx.manual_axes.is_empty();
        if is_shape_polymorphic(callee) || is_manual && has_regions(cx, function) {
            return inline_call(cx, view, callee);
        }
    }
    let call =
        add_call(cx, view, symbol, |to_apply| hlo::op::Call { to_apply, is_composite: false })?;
    cx.finish_tuple(view, call)
}
