//! The collectives that a program has itself: whose values each device gets, and so what of them may
//! be divided. What devices exchange has to be the same part for all of them; they work on each part
//! alone but along the dimensions in which they join or split arrays.

use rxla_hlo::op::{CollectiveGroupMode, ReplicaGroups, group_mode};
use rxla_hlo::{Dims, Op};

use crate::factors::{Factor, Rule};
use crate::move_parts::Devices;

/// Whose values come together in an instruction.
pub(crate) enum Exchange {
    Nothing,
    Known(Sources),
    /// It may be anybody's.
    Unknown,
}

pub(crate) struct Sources {
    /// By partition the partitions whose values it gets, in order. It is the same in each replica.
    pub(crate) of: Vec<Vec<usize>>,
    /// Whether what a device makes of them depends on its place among them.
    by_place: bool,
}

impl Sources {
    /// Whether all devices of a group make the same of their values, if they have the same.
    pub(crate) fn keep(&self, groups: &[i64]) -> bool {
        let seen = |device: usize| {
            let sources = &self.of[device];
            let place = self.by_place.then(|| sources.iter().position(|&source| source == device));
            (sources.iter().map(|&source| groups[source]).collect::<Vec<_>>(), place)
        };
        let mut of_group = rustc_hash::FxHashMap::default();
        (0..groups.len()).all(|device| {
            let seen = seen(device);
            *of_group.entry(groups[device]).or_insert_with(|| seen.clone()) == seen
        })
    }
}

pub(crate) fn exchange(op: &Op, devices: Devices) -> Exchange {
    let (groups, mode, by_place) = match op {
        Op::AllGather(op) => {
            let mode = group_mode(op.channel_id.is_some(), Some(op.use_global_device_ids));
            (&op.replica_groups, mode.ok(), false)
        }
        Op::AllReduce(op) => {
            let mode = group_mode(op.channel_id.is_some(), Some(op.use_global_device_ids));
            (&op.replica_groups, op.mode.or(mode.ok()), false)
        }
        Op::ReduceScatter(op) => {
            let mode = group_mode(op.channel_id.is_some(), Some(op.use_global_device_ids));
            (&op.replica_groups, op.mode.or(mode.ok()), true)
        }
        Op::AllToAll(op) => {
            (&op.replica_groups, group_mode(op.channel_id.is_some(), None).ok(), true)
        }
        Op::CollectiveBroadcast(op) if !op.has_dynamic_root => {
            (&op.replica_groups, group_mode(op.channel_id.is_some(), None).ok(), false)
        }
        Op::CollectivePermute(op) => {
            return match op.channel_id {
                Some(_) => permuted(&op.source_target_pairs, devices),
                // Replicas exchange.
                None => known((0..devices.partitions).map(|device| vec![device]).collect(), false),
            };
        }
        op if op.is_collective() || matches!(op, Op::AsyncStart(_)) => return Exchange::Unknown,
        _ => return Exchange::Nothing,
    };
    match mode.and_then(|mode| members(groups, mode, devices)) {
        Some(of) => known(of, by_place),
        None => Exchange::Unknown,
    }
}

fn known(of: Vec<Vec<usize>>, by_place: bool) -> Exchange {
    Exchange::Known(Sources { of, by_place })
}

fn permuted(pairs: &[(i64, i64)], devices: Devices) -> Exchange {
    let mut of = vec![Vec::new(); devices.partitions];
    for &(source, target) in pairs {
        let number = |device: i64| usize::try_from(device).ok().filter(|&d| d < devices.partitions);
        let (Some(source), Some(target)) = (number(source), number(target)) else {
            return Exchange::Unknown;
        };
        of[target].push(source);
    }
    known(of, false)
}

/// By partition the partitions of its group.
fn members(
    groups: &ReplicaGroups,
    mode: CollectiveGroupMode,
    devices: Devices,
) -> Option<Vec<Vec<usize>>> {
    let Devices { replicas, partitions } = devices;
    let count = match mode {
        CollectiveGroupMode::CrossReplica => {
            return Some((0..partitions).map(|partition| vec![partition]).collect());
        }
        CollectiveGroupMode::CrossReplicaAndPartition => {
            return Some(vec![(0..partitions).collect(); partitions]);
        }
        CollectiveGroupMode::CrossPartition => partitions,
        CollectiveGroupMode::FlattenedId => replicas * partitions,
    };
    let groups = match groups.is_all() {
        true => vec![(0..count as i64).collect()],
        false => groups.expand().ok()?,
    };
    let mut of: Vec<Option<Vec<usize>>> = vec![None; partitions];
    for group in groups {
        let members = group
            .iter()
            .map(|&member| usize::try_from(member).ok().filter(|&member| member < count));
        let members = members.collect::<Option<Vec<_>>>()?;
        let group: Vec<usize> = members.iter().map(|member| member % partitions).collect();
        for &member in &group {
            // Each replica has to see the same.
            if of[member].get_or_insert_with(|| group.clone()) != &group {
                return None;
            }
        }
    }
    of.into_iter().collect()
}

/// How a collective may be divided.
pub(crate) fn rule(op: &Op, mut rule: Rule, devices: Devices) -> Option<Rule> {
    let none = Dims::new();
    let joined = match op {
        Op::AllGather(op) => &op.dimensions,
        Op::ReduceScatter(op) => &op.dimensions,
        // The form of one operand for each device has no dimension.
        Op::AllToAll(op) if op.dimensions.is_empty() => return None,
        Op::AllToAll(op) => &op.dimensions,
        _ => &none,
    };
    let Exchange::Known(sources) = exchange(op, devices) else { return None };
    if rule.operands.len() != rule.results.len() {
        return None;
    }
    for value in 0..rule.results.len() {
        for d in 0..rule.results[value].dims.len() {
            if !joined.contains(&(d as i64)) {
                rule.join(Factor::Kept, [(value, d)], [(value, d)]);
            }
        }
    }
    let with_itself = sources.of.into_iter().enumerate().map(|(device, mut sources)| {
        sources.push(device);
        sources
    });
    rule.exchanging = with_itself.collect();
    Some(rule)
}

#[cfg(test)]
mod tests {
    use rxla_hlo::op::{AllGather, CollectivePermute};

    use super::*;

    const DEVICES: Devices = Devices { replicas: 1, partitions: 4 };
    /// Of a mesh of 2×2, the place along its first axis and that along its second one.
    const FIRST: &[i64] = &[0, 0, 1, 1];
    const SECOND: &[i64] = &[0, 1, 0, 1];

    fn permutation(pairs: &[(i64, i64)]) -> Op {
        Op::CollectivePermute(CollectivePermute {
            channel_id: Some(1),
            source_target_pairs: pairs.to_vec(),
            slice_sizes: Vec::new(),
        })
    }

    fn keeps(op: &Op, groups: &[i64]) -> bool {
        match exchange(op, DEVICES) {
            Exchange::Known(sources) => sources.keep(groups),
            Exchange::Nothing | Exchange::Unknown => panic!("the sources are known"),
        }
    }

    #[test]
    fn devices_of_a_group_may_get_the_same() {
        // All of the second half get what the first half has, and the first half nothing.
        let shift = permutation(&[(0, 2), (1, 3)]);
        assert!(keeps(&shift, FIRST));
        assert!(!keeps(&shift, SECOND));
        assert!(!keeps(&shift, &[0; 4]));
        assert!(!keeps(&permutation(&[(0, 2)]), FIRST));
        let gather = Op::AllGather(AllGather {
            channel_id: Some(1),
            replica_groups: ReplicaGroups::Explicit(vec![vec![0, 2], vec![1, 3]]),
            dimensions: [0][..].into(),
            use_global_device_ids: true,
            ..AllGather::default()
        });
        assert!(keeps(&gather, FIRST));
        assert!(keeps(&gather, &[0; 4]));
        assert!(keeps(&gather, SECOND));
        let rule = rule(&gather, Rule::new(&[&[4, 4]], &[&[8, 4]]), DEVICES).unwrap();
        assert_eq!(rule.results[0].factors, [None, Some(0)]);
        assert_eq!(rule.exchanging[3], [1, 3, 3]);
    }
}
