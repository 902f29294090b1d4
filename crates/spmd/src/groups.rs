//! Which devices exchange values in a collective that the partitioner makes.

use rxla_base::{Error, Result};
use rxla_hlo::Module;
use rxla_hlo::op::ReplicaGroups;

use crate::factors::Axis;
use crate::move_parts::Devices;

/// Groups of devices that differ along `along` alone, in the order of their places there. `others`
/// are the axes in which the devices of a group are alike.
pub(crate) fn groups(devices: Devices, others: &[Axis], along: &[&Axis]) -> Result<ReplicaGroups> {
    let place = |axes: &mut dyn Iterator<Item = &Axis>, device: usize| {
        axes.fold(0, |at, axis| at * axis.count + axis.places[device])
    };
    let count: i64 = along.iter().map(|axis| axis.count).product();
    let mut alike: Vec<(i64, Vec<Vec<usize>>)> = Vec::new();
    for device in 0..devices.partitions {
        let key = place(&mut others.iter(), device);
        let at = place(&mut along.iter().copied(), device) as usize;
        let index = alike.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            alike.push((key, vec![Vec::new(); count as usize]));
            alike.len() - 1
        });
        alike[index].1[at].push(device);
    }
    let mut groups = Vec::new();
    for replica in 0..devices.replicas {
        for (_, places) in &alike {
            for nth in 0..places[0].len() {
                let group = places.iter().map(|sharers| {
                    let device = sharers.get(nth)?;
                    Some((replica * devices.partitions + device) as i64)
                });
                groups.push(group.collect::<Option<Vec<_>>>().ok_or_else(|| {
                    Error::internal("devices share the parts of an array unevenly")
                })?);
            }
        }
    }
    Ok(ReplicaGroups::Explicit(groups))
}

/// A channel that no collective of the module uses.
pub(crate) fn next_channel(module: &Module) -> i64 {
    let used = module.instruction_ids().filter_map(|id| module[id].op.channel_id()).max();
    used.unwrap_or(0).saturating_add(1)
}
