//! Who talks to whom: replica groups, permutation pairs, channels.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Findings, each_instruction};
use crate::op::{CollectiveGroupMode, Participants};
use crate::{Instruction, InstructionId, Module, Op};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    host_channels(module, findings);
    for (id, instruction) in each_instruction(module) {
        match &instruction.op {
            Op::CollectivePermute(op) => {
                let limit = members(module, op.channel_id);
                let times = op.slice_sizes.len().max(1);
                pairs(id, &op.source_target_pairs, limit, times, findings);
            }
            Op::CollectivePermuteStart(op) => {
                let limit = members(module, op.channel_id);
                let times = op.slice_sizes.len().max(1);
                pairs(id, &op.source_target_pairs, limit, times, findings);
            }
            op => {
                let Some(participants) = op.participants() else { continue };
                if let Err(message) = check_groups(module, op, &participants) {
                    findings.instruction(id, format!("{}: {message}", op.name()));
                }
                if let Some(channel) = participants.channel_id.filter(|&channel| channel < 0) {
                    findings.instruction(id, format!("the channel {channel} is negative"));
                }
            }
        }
    }
}

/// Transfers with the host that share a channel are the same transfer in several places.
fn host_channels(module: &Module, findings: &mut Findings) {
    let mut first: FxHashMap<i64, &Instruction> = FxHashMap::default();
    for (id, instruction) in each_instruction(module) {
        let channel = match &instruction.op {
            Op::Send(op) if op.is_host_transfer => op.channel_id,
            Op::Recv(op) if op.is_host_transfer => op.channel_id,
            _other => None,
        };
        let Some(channel) = channel else { continue };
        let other = *first.entry(channel).or_insert(instruction);
        let same = other.op.name() == instruction.op.name()
            && crate::infer::agree(&other.shape, &instruction.shape);
        if !same {
            findings.instruction(
                id,
                format!(
                    "channel {channel} with the host is `{} {}` here, but `{} {}` in `{}`",
                    instruction.shape,
                    instruction.op.name(),
                    other.shape,
                    other.op.name(),
                    other.name()
                ),
            );
        }
    }
}

/// Groups have members, each member is in one group, and together they are all there are.
fn check_groups(module: &Module, op: &Op, participants: &Participants<'_>) -> Result<(), String> {
    let (groups, mode) = (participants.groups, participants.mode()?);
    let may_differ =
        matches!(op, Op::AllReduce(_) | Op::AllReduceStart(_) | Op::CollectiveBroadcast(_));
    if groups.is_all() {
        return if mode == CollectiveGroupMode::FlattenedId {
            Err("`replica_groups` have to be given with `use_global_device_ids`".to_owned())
        } else {
            Ok(())
        };
    }
    let groups = groups.expand()?;
    let count: usize = groups.iter().map(Vec::len).sum();
    let mut seen = FxHashSet::default();
    for group in &groups {
        if group.is_empty() {
            return Err("a replica group is empty".to_owned());
        }
        if !may_differ && group.len() != groups[0].len() {
            return Err(format!(
                "replica groups differ in size: {} and {}",
                groups[0].len(),
                group.len()
            ));
        }
        for &member in group {
            if !usize::try_from(member).is_ok_and(|member| member < count) {
                return Err(format!(
                    "replica groups have {count} members, so {member} cannot be one"
                ));
            }
            if !seen.insert(member) {
                return Err(format!("{member} is in replica groups twice"));
            }
        }
    }
    let (replicas, partitions) = (module.config.replica_count, module.config.num_partitions);
    let expected = match mode {
        CollectiveGroupMode::CrossReplica | CollectiveGroupMode::CrossReplicaAndPartition => {
            replicas
        }
        CollectiveGroupMode::CrossPartition => partitions,
        CollectiveGroupMode::FlattenedId => replicas.saturating_mul(partitions),
    };
    // A count of one is what a module says that was not told.
    if expected > 1 && expected != count as i64 {
        return Err(format!(
            "replica groups have {count} members, but the module has {expected} ({})",
            mode.name()
        ));
    }
    Ok(())
}

/// How many can take part in a permutation, if the module says.
fn members(module: &Module, channel: Option<i64>) -> Option<i64> {
    let count =
        if channel.is_some() { module.config.num_partitions } else { module.config.replica_count };
    (count > 1).then_some(count)
}

fn pairs(
    id: InstructionId,
    pairs: &[(i64, i64)],
    limit: Option<i64>,
    times: usize,
    findings: &mut Findings,
) {
    let mut sides = [("source", Vec::new()), ("target", Vec::new())];
    for &(source, target) in pairs {
        sides[0].1.push(source);
        sides[1].1.push(target);
    }
    for (what, mut members) in sides {
        members.sort_unstable();
        for run in members.chunk_by(|a, b| a == b) {
            let member = run[0];
            if member < 0 || limit.is_some_and(|limit| member >= limit) {
                let limit = limit.map_or(String::new(), |limit| format!(", there are {limit}"));
                findings.instruction(id, format!("{what} {member} does not exist{limit}"));
            }
            if run.len() > times {
                findings.instruction(
                    id,
                    format!(
                        "(C2, C3) {what} {member} is in `source_target_pairs` {} times",
                        run.len()
                    ),
                );
            }
        }
    }
}
