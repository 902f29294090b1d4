//! `custom-call`: first the run's registry, then the few targets that mean nothing at run time.

use rxla_base::{Error, Result};
use rxla_hlo::op::CustomCall;
use rxla_hlo::{InstructionId, Literal, Shape};

use crate::context::Context;
use crate::options::CustomCallRequest;

/// Targets that hand their first operand on: hints to a compiler that have been followed or need
/// not be.
const IDENTITIES: &[&str] = &[
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "LayoutConstraint",
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
        let shapes: Vec<&Shape> =
            instruction.operands().iter().map(|&operand| &cx.module[operand].shape).collect();
        let info = instruction.info();
        let request = CustomCallRequest {
            target,
            op,
            backend_config: info.map_or("", |info| &info.backend_config),
            frontend_attributes: info.map(|info| &info.frontend_attributes),
            operand_shapes: &shapes,
            result_shape: &instruction.shape,
            device: cx.device,
        };
        if let Some(result) = registry.call(&request, operands.clone()) {
            let result = crate::plan::without_layout(&result?);
            if !result.shape().compatible(&instruction.shape.without_layout()) {
                return Err(Error::internal(format!(
                    "custom call `{target}` gives `{}` where `{}` is due",
                    result.shape(),
                    instruction.shape
                )));
            }
            return Ok(result);
        }
    }
    let keeps_shape = operands
        .first()
        .is_some_and(|operand| operand.shape().compatible(&instruction.shape.without_layout()));
    if IDENTITIES.contains(&target) && keeps_shape {
        return Ok(operands.into_iter().next().expect("checked above"));
    }
    Err(Error::unimplemented(format!("custom call `{target}`")))
}
