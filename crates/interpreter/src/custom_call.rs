//! `custom-call`: first the run's registry, then the few targets that XLA's own passes make and
//! those that mean nothing at run time, and PyTorch/XLA's quantising.

use rxla_base::{Error, Result};
use rxla_hlo::op::{CustomCall, Largest, TopK};
use rxla_hlo::{ArrayLiteral, InstructionId, Literal, Op, Shape};
use smallvec::SmallVec;

use crate::context::Context;
use crate::decompositions;
use crate::dispatch::{array_shape, arrays};
use crate::layer_norm::layer_norm;
use crate::lift::take;
use crate::movement::{set_dimension_size, to_i64};
use crate::options::CustomCallRequest;
use crate::quantize;

/// Targets that hand their first operand on: hints to a compiler that have been followed or need
/// not be.
const IDENTITIES: &[&str] = &[
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "LayoutConstraint",
    "SetBound",
    "annotate_device_placement",
    "MoveToHost",
    "MoveToDevice",
];

pub(crate) fn custom_call(
    cx: &Context<'_>,
    id: InstructionId,
    op: &CustomCall,
    operands: Vec<Literal>,
) -> Result<Literal> {
    let instruction = &cx.module[id];
    let target = op.custom_call_target.as_str();
    if let Some(registry) = &cx.options.custom_calls {
        let result = with_request(cx, id, op, |request| registry.call(request, operands.clone()));
        if let Some(result) = result {
            let result = crate::plan::without_layout(&result?);
            check(target, &result, &instruction.shape).map_err(Error::internal)?;
            return Ok(result);
        }
    }
    let keeps_shape = operands
        .first()
        .is_some_and(|operand| operand.shape().compatible(&instruction.shape.without_layout()));
    if IDENTITIES.contains(&target) && keeps_shape {
        return Ok(operands.into_iter().next().expect("checked above"));
    }
    let config = instruction.info().map_or("", |info| &info.backend_config);
    if let Some(direction) = quantize::direction(target) {
        let [operand] = take(arrays(operands)?)?;
        return Ok(quantize::quantize(operand, config, direction, &instruction.shape)?.into());
    }
    let result = match target {
        "__onednn$layernorm" => Ok(layer_norm(&arrays(operands)?, config)?.into()),
        // Memory that is written before it is read.
        "AllocateBuffer" if operands.is_empty() => {
            Ok(ArrayLiteral::zeros(array_shape(&instruction.shape)?)?.into())
        }
        "Qr" => decompositions::qr(arrays(operands)?),
        "ProductOfElementaryHouseholderReflectors" => {
            Ok(decompositions::product_of_reflections(arrays(operands)?)?.into())
        }
        "Eigh" => decompositions::eigh(arrays(operands)?, config),
        "TopK" => top_k(arrays(operands)?, &instruction.shape),
        // Its sizes are those of this run, not those of the instruction.
        "SliceToDynamic" => return slice_to_dynamic(arrays(operands)?, &instruction.shape),
        "PadToStatic" => pad_to_static(arrays(operands)?, &instruction.shape),
        // Orders its operands one after the other, as they have been by now.
        "control_dep" if instruction.shape.as_tuple().is_some_and(<[Shape]>::is_empty) => {
            Ok(Literal::Tuple(Vec::new()))
        }
        _ => Err(Error::unimplemented(format!("custom call `{target}`"))),
    }?;
    check(target, &result, &instruction.shape).map_err(Error::invalid_argument)?;
    Ok(result)
}

/// Has the registry do a call where its arrays lie, if it can; says whether.
pub(crate) fn custom_call_in_place(
    cx: &Context<'_>,
    id: InstructionId,
    operands: &[&[u8]],
    results: &mut [&mut [u8]],
) -> Result<bool> {
    let (Op::CustomCall(op), Some(registry)) = (&cx.module[id].op, &cx.options.custom_calls) else {
        return Ok(false);
    };
    let done =
        with_request(cx, id, op, |request| registry.call_in_place(request, operands, results));
    done.map_or(Ok(false), |done| done.map(|()| true))
}

fn with_request<R>(
    cx: &Context<'_>,
    id: InstructionId,
    op: &CustomCall,
    body: impl FnOnce(&CustomCallRequest<'_>) -> R,
) -> R {
    let instruction = &cx.module[id];
    let shapes: SmallVec<[&Shape; 8]> =
        instruction.operands().iter().map(|&operand| &cx.module[operand].shape).collect();
    let info = instruction.info();
    body(&CustomCallRequest {
        target: &op.custom_call_target,
        id,
        op,
        backend_config: info.map_or("", |info| &info.backend_config),
        frontend_attributes: info.map(|info| &info.frontend_attributes),
        operand_shapes: &shapes,
        result_shape: &instruction.shape,
        device: cx.device,
    })
}

/// Says what is wrong where a custom call's result is not of the shape that its instruction claims.
fn check(target: &str, result: &Literal, shape: &Shape) -> Result<(), String> {
    let found = result.shape();
    if found.compatible(&shape.without_layout()) {
        return Ok(());
    }
    Err(format!("custom call `{target}` gives `{found}` where `{shape}` is due"))
}

/// The largest elements of each row and their positions, as many as the result has.
fn top_k(operands: Vec<ArrayLiteral>, shape: &Shape) -> Result<Literal> {
    let [operand] = take(operands)?;
    let values = shape.as_tuple().and_then(<[Shape]>::first).and_then(Shape::as_array);
    let k = values.and_then(|values| values.dims.last().copied()).unwrap_or(1);
    let op = TopK { k, largest: Largest(true), is_stable: true };
    let (values, indices) = crate::sort::topk(&operand, &op)?;
    Ok(Literal::Tuple(vec![values.into(), indices.into()]))
}

/// The first elements of each dimension, as many as the further operands say.
fn slice_to_dynamic(mut operands: Vec<ArrayLiteral>, shape: &Shape) -> Result<Literal> {
    let bounds = &array_shape(shape)?.dims;
    let sizes = operands.split_off(1);
    let [mut operand] = take(operands)?;
    for (dimension, size) in sizes.iter().enumerate().take(bounds.len()) {
        let size = to_i64(size)?;
        operand = set_dimension_size(&operand, size, dimension, bounds[dimension])?;
    }
    Ok(operand.into())
}

/// The operand filled up with zeros to its bounds, and the sizes that it had.
fn pad_to_static(operands: Vec<ArrayLiteral>, shape: &Shape) -> Result<Literal> {
    let [mut operand] = take(operands)?;
    let padded = shape.as_tuple().and_then(<[Shape]>::first).and_then(Shape::as_array);
    let padded = padded.ok_or_else(|| {
        Error::invalid_argument(format!("`PadToStatic` gives `{shape}` where a tuple is due"))
    })?;
    let sizes: Vec<Literal> =
        operand.dims().iter().map(|&size| Literal::scalar(size as i32)).collect();
    for (dimension, &bound) in padded.dims.iter().enumerate() {
        operand = set_dimension_size(&operand, bound, dimension, bound)?;
    }
    Ok(Literal::Tuple([operand.into()].into_iter().chain(sizes).collect()))
}
