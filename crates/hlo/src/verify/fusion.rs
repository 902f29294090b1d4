//! Computations and their callers: fused computations have one, run on one thread with it and do
//! nothing but compute.

use rustc_hash::FxHashMap;

use super::{Findings, each_instruction};
use crate::{ComputationId, InstructionId, Module, Op};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    let mut callers: FxHashMap<ComputationId, Vec<InstructionId>> = FxHashMap::default();
    for (id, instruction) in each_instruction(module) {
        for called in instruction.op.called_computations() {
            callers.entry(called).or_default().push(id);
        }
    }
    // In text order, since a hash map has none.
    for &id in module.computations() {
        let Some(computation) = module.get_computation(id) else { continue };
        let Some(callers) = callers.get(&id) else { continue };
        for &caller_id in callers {
            let Some(caller) = module.get_instruction(caller_id) else { continue };
            threads(module, caller_id, id, findings);
            if let Op::Fusion(_) = caller.op {
                if callers.len() > 1 {
                    findings.instruction(
                        caller_id,
                        format!(
                            "the fused computation `{}` has {} callers, it may have one",
                            computation.name(),
                            callers.len()
                        ),
                    );
                }
                if module.try_entry() == Some(id) {
                    findings.instruction(caller_id, "the entry computation cannot be fused");
                }
                fused(module, id, findings);
            }
        }
    }
}

/// Calls stay on the caller's thread, but for those that start something in the background.
fn threads(
    module: &Module,
    caller_id: InstructionId,
    called: ComputationId,
    findings: &mut Findings,
) {
    let (Some(caller), Some(called)) =
        (module.get_instruction(caller_id), module.get_computation(called))
    else {
        return;
    };
    let thread = match &caller.op {
        Op::AsyncStart(op) => {
            (!op.async_execution_thread.is_empty()).then_some(op.async_execution_thread.as_str())
        }
        // Only where control is handed over; a reducer runs wherever it is applied.
        Op::Call(_) | Op::Fusion(_) | Op::While(_) | Op::Conditional(_) => {
            let parent = module.get_computation(caller.parent());
            parent.and_then(|parent| parent.execution_thread.as_deref())
        }
        _other => return,
    };
    let main = |thread: Option<&str>| thread.unwrap_or("main").to_owned();
    let (expected, found) = (main(thread), main(called.execution_thread.as_deref()));
    if expected != found {
        findings.instruction(
            caller_id,
            format!("`{}` runs on thread `{found}`, but is called on `{expected}`", called.name()),
        );
    }
}

fn fused(module: &Module, id: ComputationId, findings: &mut Findings) {
    let Some(computation) = module.get_computation(id) else { return };
    for &instruction_id in computation.instructions() {
        let Some(instruction) = module.get_instruction(instruction_id) else { continue };
        let is_root = computation.try_root() == Some(instruction_id);
        if instruction.op.has_side_effect() && !may_be_fused(&instruction.op) {
            findings.instruction(
                instruction_id,
                format!(
                    "`{}` has a side effect, which a fusion cannot have",
                    instruction.op.name()
                ),
            );
        }
        if is_root && !instruction.users().is_empty() {
            findings.instruction(instruction_id, "the root of a fused computation has users");
        }
        if !is_root && instruction.users().is_empty() && !instruction.op.has_side_effect() {
            findings.instruction(
                instruction_id,
                format!("`{}` is not used in its fused computation", instruction.name()),
            );
        }
    }
}

/// Among ops with effects. Collectives are: the group of one kernel talks.
fn may_be_fused(op: &Op) -> bool {
    op.is_collective() || matches!(op, Op::CustomCall(_) | Op::Rng(_) | Op::RngGetAndUpdateState(_))
}
