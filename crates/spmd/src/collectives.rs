//! The collectives that a program has itself: whose values each device gets, and so what of them may
//! be divided. What devices exchange has to be the same part for all of them; they work on each part
//! alone but along the dimensions in which they join or split arrays.

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
    /// By device, replica after replica, the devices whose values it gets, in order.
    of: Vec<Vec<usize>>,
    /// Whether what a device makes of them depends on its place among them.
    by_place: bool,
}

impl Sources {
    /// Whether all devices of a group make the same of their values, if they have the same. Those of
    /// other replicas have values of their own.
    pub(crate) fn keep(&self, groups: &[i64]) -> bool {
        let group = |device: usize| (device / groups.len(), groups[device % groups.len()]);
        let mut of_group = rustc_hash::FxHashMap::default();
        self.of.iter().enumerate().all(|(device, sources)| {
            let place = self.by_place.then(|| sources.iter().position(|&source| source == device));
            let seen = (sources.iter().copied().map(group).collect::<Vec<_>>(), place);
            *of_group.entry(group(device)).or_insert_with(|| seen.clone()) == seen
        })
    }
}

pub(crate) fn exchange(op: &Op, devices: Devices) -> Exchange {
    let by_place = match op {
        Op::ReduceScatter(_) | Op::AllToAll(_) => true,
        Op::AllGather(_) | Op::AllReduce(_) | Op::CollectivePermute(_) => false,
        Op::CollectiveBroadcast(op) if !op.has_dynamic_root => false,
        op if op.is_collective() || matches!(op, Op::AsyncStart(_)) => return Exchange::Unknown,
        _ => return Exchange::Nothing,
    };
    match sources(op, devices) {
        Some(of) => Exchange::Known(Sources { of, by_place }),
        None => Exchange::Unknown,
    }
}

/// By device those whose values it gets, if that is known of all.
fn sources(op: &Op, devices: Devices) -> Option<Vec<Vec<usize>>> {
    let groups = op.participants()?.devices(devices.replicas, devices.partitions).ok()?;
    let mut of = vec![Vec::new(); devices.replicas * devices.partitions];
    for group in &groups {
        let at = |place: i64| group.get(usize::try_from(place).ok()?).copied();
        match op {
            Op::CollectivePermute(permute) => {
                for &(source, target) in &permute.source_target_pairs {
                    of[at(target)?].push(at(source)?);
                }
            }
            _ => group.iter().for_each(|&member| of[member].clone_from(group)),
        }
    }
    // Who is no target of a permutation gets nothing.
    let may_be_empty = matches!(op, Op::CollectivePermute(_));
    (may_be_empty || of.iter().all(|sources| !sources.is_empty())).then_some(of)
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
        sources.into_iter().map(|device| device % devices.partitions).collect()
    });
    rule.exchanging = with_itself.collect();
    Some(rule)
}

#[cfg(test)]
mod tests {
    use rxla_hlo::op::{AllGather, CollectivePermute, ReplicaGroups};

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

    #[test]
    fn values_of_several_replicas_come_in_an_order() {
        let devices = Devices { replicas: 2, partitions: 2 };
        let mut gather =
            AllGather { channel_id: Some(1), use_global_device_ids: true, ..AllGather::default() };
        let mut keeps = |groups: &[[i64; 2]]| {
            let groups = groups.iter().map(|group| group.to_vec()).collect();
            gather.replica_groups = ReplicaGroups::Explicit(groups);
            match exchange(&Op::AllGather(gather.clone()), devices) {
                Exchange::Known(sources) => Some(sources.keep(&[0, 0])),
                Exchange::Nothing | Exchange::Unknown => None,
            }
        };
        assert_eq!(keeps(&[[0, 2], [1, 3]]), Some(true));
        assert_eq!(keeps(&[[0, 2], [3, 1]]), Some(false));
        assert_eq!(keeps(&[[0, 1], [2, 3]]), Some(true));
        assert_eq!(keeps(&[[0, 2]]), None);
    }
}
