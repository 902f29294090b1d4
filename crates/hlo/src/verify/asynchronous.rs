//! What starts in the background is waited for, once, by its counterpart.

use super::{Findings, each_instruction};
use crate::{Instruction, InstructionId, Module, Op};

/// The opcodes that may use the result of an op that starts something, or come before one that
/// waits for it.
struct Chain {
    before: &'static [&'static str],
    after: &'static [&'static str],
}

fn chain(op: &Op) -> Option<Chain> {
    let chain = |before, after| Some(Chain { before, after });
    match op {
        Op::AsyncStart(_) => chain(&[], &["async-update", "async-done"]),
        Op::AsyncUpdate(_) => {
            chain(&["async-start", "async-update"], &["async-update", "async-done"])
        }
        Op::AsyncDone(_) => chain(&["async-start", "async-update"], &[]),
        Op::AllReduceStart(_) => chain(&[], &["all-reduce-done"]),
        Op::AllReduceDone(_) => chain(&["all-reduce-start"], &[]),
        Op::AllGatherStart(_) => chain(&[], &["all-gather-done"]),
        Op::AllGatherDone(_) => chain(&["all-gather-start"], &[]),
        Op::CollectivePermuteStart(_) => chain(&[], &["collective-permute-done"]),
        Op::CollectivePermuteDone(_) => chain(&["collective-permute-start"], &[]),
        Op::CopyStart(_) => chain(&[], &["copy-done"]),
        Op::CopyDone(_) => chain(&["copy-start"], &[]),
        // A transfer under way may be carried round a loop in a tuple.
        Op::Send(_) => chain(&[], &["send-done", "tuple"]),
        Op::SendDone(_) => chain(&["send", "get-tuple-element"], &[]),
        Op::Recv(_) => chain(&[], &["recv-done", "tuple"]),
        Op::RecvDone(_) => chain(&["recv", "get-tuple-element"], &[]),
        _other => None,
    }
}

pub(super) fn check(module: &Module, findings: &mut Findings) {
    for (id, instruction) in each_instruction(module) {
        let Some(chain) = chain(&instruction.op) else { continue };
        let operand = instruction.operands().first().and_then(|&id| module.get_instruction(id));
        if let Some(operand) = operand
            && !chain.before.is_empty()
            && !chain.before.contains(&operand.op.name())
        {
            findings.instruction(
                id,
                format!(
                    "`{}` waits for `{}`, but its operand is `{}`",
                    instruction.op.name(),
                    chain.before.join("` or `"),
                    operand.op.name()
                ),
            );
        }
        if !chain.after.is_empty() {
            users(module, id, instruction, chain.after, findings);
        }
        match &instruction.op {
            Op::AsyncStart(start) => {
                let group = instruction.info().is_some_and(|info| {
                    info.frontend_attributes.contains_key("_collectives_group")
                });
                if !group {
                    single_op(module, id, start.calls, findings);
                }
            }
            Op::SendDone(done) => {
                if let Some(Op::Send(send)) = operand.map(|operand| &operand.op) {
                    let pair = [
                        (send.channel_id, send.is_host_transfer),
                        (done.channel_id, done.is_host_transfer),
                    ];
                    same_channel(id, pair, findings);
                }
            }
            Op::RecvDone(done) => {
                if let Some(Op::Recv(recv)) = operand.map(|operand| &operand.op) {
                    let pair = [
                        (recv.channel_id, recv.is_host_transfer),
                        (done.channel_id, done.is_host_transfer),
                    ];
                    same_channel(id, pair, findings);
                }
            }
            _other => {}
        }
    }
}

/// What runs in the background is one op of the computation's parameters; several transfers, or
/// ops that only take tuples apart, run together too.
fn single_op(
    module: &Module,
    id: InstructionId,
    computation: crate::ComputationId,
    findings: &mut Findings,
) {
    let Some(computation) = module.get_computation(computation) else { return };
    let root = computation.try_root();
    let mut only_transfers = true;
    let mut only_parts = true;
    let mut others = 0;
    for &instruction_id in computation.instructions() {
        let Some(instruction) = module.get_instruction(instruction_id) else { continue };
        match &instruction.op {
            Op::Parameter(_) => {}
            Op::Send(_) | Op::Recv(_) | Op::SendDone(_) | Op::RecvDone(_) | Op::Tuple(_) => {
                only_parts &= Some(instruction_id) == root;
                others += 1;
            }
            Op::GetTupleElement(_) => {
                only_transfers = false;
                others += 1;
            }
            _other => {
                only_transfers = false;
                only_parts &= Some(instruction_id) == root;
                others += 1;
            }
        }
    }
    if others > 1 && !only_transfers && !only_parts {
        findings.instruction(
            id,
            format!(
                "`{}` runs in the background and may have one op beside parameters, but has {others}",
                computation.name()
            ),
        );
    }
}

fn users(
    module: &Module,
    id: InstructionId,
    instruction: &Instruction,
    expected: &[&str],
    findings: &mut Findings,
) {
    let parent = module.get_computation(instruction.parent());
    if parent.and_then(|parent| parent.try_root()) == Some(id) {
        // The root of a computation that runs in the background is waited for from outside.
        return;
    }
    // A custom call that only orders does not wait.
    let orders = |user: &Instruction| matches!(&user.op, Op::CustomCall(call) if call.custom_call_target == "control_dep");
    let users: Vec<&Instruction> = instruction
        .users()
        .iter()
        .filter_map(|&user| module.get_instruction(user))
        .filter(|user| !orders(user))
        .collect();
    match users[..] {
        [user] if expected.contains(&user.op.name()) => {}
        [user] => findings.instruction(
            id,
            format!(
                "`{}` has to be used by `{}`, but is used by `{}`",
                instruction.op.name(),
                expected.join("` or `"),
                user.op.name()
            ),
        ),
        _ => findings.instruction(
            id,
            format!(
                "`{}` has to be used once, by `{}`, but has {} users",
                instruction.op.name(),
                expected.join("` or `"),
                users.len()
            ),
        ),
    }
}

fn same_channel(id: InstructionId, pair: [(Option<i64>, bool); 2], findings: &mut Findings) {
    let [(start, start_host), (done, done_host)] = pair;
    if let (Some(start), Some(done)) = (start, done)
        && start != done
    {
        findings.instruction(id, format!("started on channel {start}, but waited for on {done}"));
    }
    if start_host != done_host {
        findings.instruction(id, "only one side says `is_host_transfer`");
    }
}
