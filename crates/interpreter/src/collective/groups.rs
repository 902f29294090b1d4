//! Which devices take part in a collective with a given device.

use rxla_base::{Error, Result};
use rxla_hlo::op::{CollectiveGroupMode, ReplicaGroups, group_mode};

use super::Collectives;
use crate::options::DeviceId;

/// How an op's groups are read, as its attributes say.
pub(super) fn mode(
    channel: Option<i64>,
    use_global_device_ids: Option<bool>,
    explicit: Option<CollectiveGroupMode>,
) -> Result<CollectiveGroupMode> {
    match explicit {
        Some(mode) => Ok(mode),
        None => {
            group_mode(channel.is_some(), use_global_device_ids).map_err(Error::invalid_argument)
        }
    }
}

/// The numbers of the devices that meet, in the order of the group.
pub(super) fn members(
    all: &Collectives,
    device: DeviceId,
    groups: &ReplicaGroups,
    mode: CollectiveGroupMode,
) -> Result<Vec<usize>> {
    let number = |replica: usize, partition: usize| all.number(DeviceId { replica, partition });
    let (own, count) = match mode {
        CollectiveGroupMode::CrossReplica | CollectiveGroupMode::CrossReplicaAndPartition => {
            (device.replica, all.replica_count)
        }
        CollectiveGroupMode::CrossPartition => (device.partition, all.partition_count),
        CollectiveGroupMode::FlattenedId => {
            (all.number(device), all.replica_count * all.partition_count)
        }
    };
    let group: Vec<usize> = if groups.is_all() {
        (0..count).collect()
    } else {
        let groups = groups.expand().map_err(Error::invalid_argument)?;
        let group = groups.into_iter().find(|group| group.contains(&(own as i64)));
        let Some(group) = group else {
            return Err(Error::invalid_argument(format!(
                "replica {} partition {} is in no group",
                device.replica, device.partition
            )));
        };
        let members = group.into_iter().filter(|&member| member >= 0);
        members.map(|member| member as usize).collect()
    };
    if let Some(absent) = group.iter().find(|&&member| member >= count) {
        return Err(Error::invalid_argument(format!(
            "a group has the member {absent} where there are {count}"
        )));
    }
    Ok(match mode {
        CollectiveGroupMode::CrossReplica => {
            group.into_iter().map(|replica| number(replica, device.partition)).collect()
        }
        CollectiveGroupMode::CrossPartition => {
            group.into_iter().map(|partition| number(device.replica, partition)).collect()
        }
        CollectiveGroupMode::CrossReplicaAndPartition => (0..all.partition_count)
            .flat_map(|partition| group.iter().map(move |&replica| (replica, partition)))
            .map(|(replica, partition)| number(replica, partition))
            .collect(),
        CollectiveGroupMode::FlattenedId => group,
    })
}
