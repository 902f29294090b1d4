//! Every declared shape is what the op gives for its operands.

use super::{Findings, each_instruction};
use crate::infer::{check_aliases, well_formed};
use crate::op::Op;
use crate::{Module, OriginalValue, Shape, infer};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    for (id, instruction) in each_instruction(module) {
        // What is missing has been reported as such.
        let operands: Option<Vec<&Shape>> = instruction
            .operands()
            .iter()
            .map(|&operand| module.get_instruction(operand).map(|operand| &operand.shape))
            .collect();
        let Some(operands) = operands else { continue };
        if let Err(diagnostic) = infer(module, &instruction.op, &operands, Some(&instruction.shape))
        {
            findings.add(id, diagnostic);
            continue;
        }
        if let Op::CustomCall(op) = &instruction.op {
            // XLA's way out for calls that reinterpret what they share.
            let skip = instruction.info().is_some_and(|info| {
                info.frontend_attributes.contains_key("xla_skip_custom_call_alias_shape_check")
            });
            let aliases = &op.output_to_operand_aliasing;
            if !skip && let Err(diagnostic) = check_aliases(aliases, &operands, &instruction.shape)
            {
                findings.add(id, diagnostic);
            }
        }
        let Some(info) = instruction.info() else { continue };
        if !info.parameter_replication.is_empty()
            && info.parameter_replication.len() != instruction.shape.leaves().len()
        {
            findings.instruction(
                id,
                format!(
                    "`parameter_replication` has {} entries for `{}`",
                    info.parameter_replication.len(),
                    instruction.shape
                ),
            );
        }
        if let Some(OriginalValue::Leaves(leaves)) = &info.original_value {
            for leaf in leaves {
                let part = instruction.shape.subshape(&leaf.index);
                if part.is_none_or(|part| part.as_tuple().is_some()) {
                    findings.instruction(
                        id,
                        format!(
                            "`origin` names {:?}, which is no leaf of `{}`",
                            leaf.index.as_slice(),
                            instruction.shape
                        ),
                    );
                }
            }
        }
    }
    if let Some(layout) = &module.config.entry_computation_layout {
        for shape in layout.parameters.iter().chain([&layout.result]) {
            if let Err(diagnostic) = well_formed(shape) {
                findings.module(format!("entry computation layout: {}", diagnostic.message));
            }
        }
    }
}
