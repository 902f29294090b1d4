//! Who takes part in a collective: replica groups written out, whatever their spelling, and the
//! devices that they name; and by which channel they meet.

use super::{
    AllGather, AllGatherStart, AllReduce, AllReduceStart, AllToAll, CollectiveBroadcast,
    CollectiveGroupMode, CollectivePermute, CollectivePermuteStart, IotaGroups, MeshAxesGroups, Op,
    RaggedAllToAll, Recv, RecvDone, ReduceScatter, ReplicaGroups, Send, SendDone,
};
use crate::{AxisRef, Dims, Mesh};

/// What a collective says of who takes part.
pub struct Participants<'a> {
    pub groups: &'a ReplicaGroups,
    pub channel_id: Option<i64>,
    /// `None` for ops without the attribute.
    use_global_device_ids: Option<bool>,
    /// How groups are read, where the op says it itself.
    said: Option<CollectiveGroupMode>,
}

/// The attribute `channel_id` of the ops that have it.
macro_rules! channel_id {
    ($op:expr) => {
        match $op {
            Op::AllGather(AllGather { channel_id, .. })
            | Op::AllGatherStart(AllGatherStart { channel_id, .. })
            | Op::AllReduce(AllReduce { channel_id, .. })
            | Op::AllReduceStart(AllReduceStart { channel_id, .. })
            | Op::AllToAll(AllToAll { channel_id, .. })
            | Op::CollectiveBroadcast(CollectiveBroadcast { channel_id, .. })
            | Op::CollectivePermute(CollectivePermute { channel_id, .. })
            | Op::CollectivePermuteStart(CollectivePermuteStart { channel_id, .. })
            | Op::RaggedAllToAll(RaggedAllToAll { channel_id, .. })
            | Op::Recv(Recv { channel_id, .. })
            | Op::RecvDone(RecvDone { channel_id, .. })
            | Op::ReduceScatter(ReduceScatter { channel_id, .. })
            | Op::Send(Send { channel_id, .. })
            | Op::SendDone(SendDone { channel_id, .. }) => Some(channel_id),
            _other => None,
        }
    };
}

impl Op {
    /// The channel by which the op meets others, on this device or on others.
    pub fn channel_id(&self) -> Option<i64> {
        channel_id!(self).copied().flatten()
    }

    /// Where the channel is, in ops that may have one.
    pub fn channel_id_mut(&mut self) -> Option<&mut Option<i64>> {
        channel_id!(self)
    }

    /// Who takes part in a collective; `None` for other ops. The pairs of a permutation are places in
    /// the one group of all.
    pub fn participants(&self) -> Option<Participants<'_>> {
        static ALL: ReplicaGroups = ReplicaGroups::Explicit(Vec::new());
        let (groups, channel_id, global, said) = match self {
            Op::AllGather(op) => {
                (&op.replica_groups, op.channel_id, Some(op.use_global_device_ids), None)
            }
            Op::AllGatherStart(op) => {
                (&op.replica_groups, op.channel_id, Some(op.use_global_device_ids), None)
            }
            Op::AllReduce(op) => {
                (&op.replica_groups, op.channel_id, Some(op.use_global_device_ids), op.mode)
            }
            Op::AllReduceStart(op) => {
                (&op.replica_groups, op.channel_id, Some(op.use_global_device_ids), op.mode)
            }
            Op::ReduceScatter(op) => {
                (&op.replica_groups, op.channel_id, Some(op.use_global_device_ids), op.mode)
            }
            Op::AllToAll(op) => (&op.replica_groups, op.channel_id, None, None),
            Op::CollectiveBroadcast(op) => (&op.replica_groups, op.channel_id, None, None),
            Op::RaggedAllToAll(op) => (&op.replica_groups, op.channel_id, None, None),
            Op::CollectivePermute(op) => (&ALL, op.channel_id, None, None),
            Op::CollectivePermuteStart(op) => (&ALL, op.channel_id, None, None),
            _other => return None,
        };
        Some(Participants { groups, channel_id, use_global_device_ids: global, said })
    }
}

impl Participants<'_> {
    /// How replica groups are read: as the op says, or else by whether it has a channel, and by
    /// `use_global_device_ids` for ops that have the attribute (XLA's table).
    pub fn mode(&self) -> Result<CollectiveGroupMode, String> {
        match (self.said, self.channel_id.is_some(), self.use_global_device_ids) {
            (Some(mode), _, _) => Ok(mode),
            (None, false, None | Some(false)) => Ok(CollectiveGroupMode::CrossReplica),
            (None, false, Some(true)) => {
                Err("`use_global_device_ids` needs a `channel_id`".to_owned())
            }
            (None, true, None) => Ok(CollectiveGroupMode::CrossPartition),
            (None, true, Some(false)) => Ok(CollectiveGroupMode::CrossReplicaAndPartition),
            (None, true, Some(true)) => Ok(CollectiveGroupMode::FlattenedId),
        }
    }

    /// The devices that meet, group by group, each in order. Devices are counted replica by replica:
    /// the number is `replica * partitions + partition`. Groups of which none exists are left out.
    pub fn devices(&self, replicas: usize, partitions: usize) -> Result<Vec<Vec<usize>>, String> {
        let total = replicas.saturating_mul(partitions);
        if total > MAX_DEVICES as usize {
            return Err(format!("there are more than {MAX_DEVICES} devices"));
        }
        let mode = self.mode()?;
        // Groups have members `0..count`, whose devices are `step` apart, and each group meets once
        // from each of these first devices.
        let (count, step, firsts): (_, _, Vec<usize>) = match mode {
            CollectiveGroupMode::CrossReplica | CollectiveGroupMode::CrossReplicaAndPartition => {
                (replicas, partitions, (0..partitions).collect())
            }
            CollectiveGroupMode::CrossPartition => {
                (partitions, 1, (0..replicas).map(|replica| replica * partitions).collect())
            }
            CollectiveGroupMode::FlattenedId => (total, 1, vec![0]),
        };
        let groups = match self.groups.is_all() {
            true => vec![(0..count as i64).collect()],
            false => self.groups.expand()?,
        };
        let exists = |member: &i64| (0..count as i64).contains(member);
        let mut meetings: Vec<Vec<usize>> = Vec::new();
        for group in groups.iter().filter(|group| group.iter().any(exists)) {
            if let Some(absent) = group.iter().find(|member| !exists(member)) {
                return Err(format!("a group has the member {absent} where there are {count}"));
            }
            let from = |first| group.iter().map(move |&member| member as usize * step + first);
            match mode {
                CollectiveGroupMode::CrossReplicaAndPartition => {
                    meetings.push(firsts.iter().flat_map(from).collect());
                }
                _ => meetings.extend(firsts.iter().map(|first| from(first).collect::<Vec<_>>())),
            }
        }
        Ok(meetings)
    }
}

/// More devices than any machine has; groups beyond are refused rather than written out.
const MAX_DEVICES: i64 = 1 << 22;

fn product(dims: &Dims) -> Result<i64, String> {
    let mut product = 1i64;
    for &dim in dims {
        if dim <= 0 {
            return Err(format!("replica groups have a size of {dim}"));
        }
        product = product
            .checked_mul(dim)
            .filter(|&product| product <= MAX_DEVICES)
            .ok_or_else(|| format!("replica groups have more than {MAX_DEVICES} members"))?;
    }
    Ok(product)
}

impl ReplicaGroups {
    /// Whether no group is named, which means one group of all.
    pub fn is_all(&self) -> bool {
        matches!(self, ReplicaGroups::Explicit(groups) if groups.is_empty())
    }

    /// The size of the first group; `None` when no group is named.
    pub fn group_size(&self) -> Result<Option<i64>, String> {
        match self {
            ReplicaGroups::Explicit(groups) => Ok(groups.first().map(|group| group.len() as i64)),
            ReplicaGroups::Iota(iota) => {
                product(&iota.dims)?;
                match iota.dims[..] {
                    [_, size] => Ok(Some(size)),
                    _ => Err(format!("iota replica groups have {} sizes, not 2", iota.dims.len())),
                }
            }
            ReplicaGroups::MeshAxes(mesh) => mesh.group_size().map(Some),
        }
    }

    /// The groups, each with its members in order. Empty when no group is named.
    pub fn expand(&self) -> Result<Vec<Vec<i64>>, String> {
        match self {
            ReplicaGroups::Explicit(groups) => Ok(groups.clone()),
            ReplicaGroups::Iota(iota) => iota.expand(),
            ReplicaGroups::MeshAxes(mesh) => mesh.expand(),
        }
    }
}

/// An iota of the product of `reshape`, reshaped, transposed and flattened.
fn transposed_iota(reshape: &[i64], transpose: &[i64], count: i64) -> Result<Vec<i64>, String> {
    let rank = reshape.len();
    let order: Vec<usize> = if transpose.is_empty() {
        (0..rank).collect()
    } else {
        transpose.iter().map(|&d| usize::try_from(d).unwrap_or(usize::MAX)).collect()
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank) {
        return Err("the transposition of replica groups is no permutation".to_owned());
    }
    let mut strides = vec![1i64; rank];
    for d in (1..rank).rev() {
        strides[d - 1] = strides[d] * reshape[d];
    }
    let mut out = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    for flat in 0..count {
        let (mut rest, mut device) = (flat, 0);
        for &d in order.iter().rev() {
            device += rest % reshape[d] * strides[d];
            rest /= reshape[d];
        }
        out.push(device);
    }
    Ok(out)
}

fn chunks(devices: &[i64], size: i64) -> Vec<Vec<i64>> {
    let size = usize::try_from(size).unwrap_or(1).max(1);
    devices.chunks(size).map(<[i64]>::to_vec).collect()
}

impl IotaGroups {
    fn expand(&self) -> Result<Vec<Vec<i64>>, String> {
        let [_, size] = self.dims[..] else {
            return Err(format!("iota replica groups have {} sizes, not 2", self.dims.len()));
        };
        let count = product(&self.dims)?;
        let reshape =
            if self.reshape.is_empty() { Dims::from_slice(&[count]) } else { self.reshape.clone() };
        if product(&reshape)? != count {
            return Err("the reshape of iota replica groups has another size".to_owned());
        }
        Ok(chunks(&transposed_iota(&reshape, &self.transpose, count)?, size))
    }
}

impl MeshAxesGroups {
    fn group_size(&self) -> Result<i64, String> {
        let sizes = self
            .axes
            .iter()
            .map(|axis| axis_size(&self.mesh, axis))
            .collect::<Result<Dims, _>>()?;
        product(&sizes)
    }

    /// Splits each axis at the borders of the parts that are named, brings the named parts last
    /// in their order, and cuts.
    fn expand(&self) -> Result<Vec<Vec<i64>>, String> {
        let group = self.group_size()?;
        let sizes: Dims = self.mesh.axes.iter().map(|axis| axis.size).collect();
        let count = product(&sizes)?;
        // Per mesh axis the parts it is cut into, each with its place in `axes` if it is named.
        let mut parts: Vec<(i64, Option<usize>)> = Vec::new();
        for (number, axis) in self.mesh.axes.iter().enumerate() {
            let mut named: Vec<(i64, i64, usize)> = Vec::new();
            for (place, reference) in self.axes.iter().enumerate() {
                if reference.axis == number as i64 {
                    let (pre, size) = reference.sub_axis.unwrap_or((1, axis.size));
                    named.push((pre, size, place));
                }
            }
            named.sort_unstable();
            let mut done = 1i64;
            for (pre, size, place) in named {
                if pre < done || pre % done != 0 {
                    return Err(format!("parts of mesh axis `{}` overlap", axis.name));
                }
                if pre > done {
                    parts.push((pre / done, None));
                }
                parts.push((size, Some(place)));
                done = pre.checked_mul(size).ok_or("a mesh axis overflows")?;
            }
            if done <= 0 || axis.size % done != 0 {
                return Err(format!("parts of mesh axis `{}` do not divide it", axis.name));
            }
            if axis.size / done > 1 {
                parts.push((axis.size / done, None));
            }
        }
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&part| parts[part].1.map_or(0, |place| place + 1));
        let reshape: Vec<i64> = parts.iter().map(|part| part.0).collect();
        let transpose: Vec<i64> = order.iter().map(|&part| part as i64).collect();
        let flat = transposed_iota(&reshape, &transpose, count)?;
        let devices = mesh_devices(&self.mesh, count)?;
        let devices: Option<Vec<i64>> =
            flat.iter().map(|&at| devices.get(usize::try_from(at).ok()?).copied()).collect();
        let devices = devices.ok_or("a mesh has fewer devices than places")?;
        Ok(chunks(&devices, group))
    }
}

fn axis_size(mesh: &Mesh, axis: &AxisRef) -> Result<i64, String> {
    if let Some((_, size)) = axis.sub_axis {
        return Ok(size);
    }
    let named = usize::try_from(axis.axis).ok().and_then(|index| mesh.axes.get(index));
    named.map(|axis| axis.size).ok_or_else(|| format!("the mesh has no axis {}", axis.axis))
}

/// Devices in row-major mesh order.
fn mesh_devices(mesh: &Mesh, count: i64) -> Result<Vec<i64>, String> {
    if let Some((reshape, transpose)) = &mesh.iota {
        if product(reshape)? != count {
            return Err("the device order of a mesh has another size".to_owned());
        }
        return transposed_iota(reshape, transpose, count);
    }
    if mesh.device_ids.is_empty() { Ok((0..count).collect()) } else { Ok(mesh.device_ids.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{ParseOptions, parse};

    fn devices(
        mode: CollectiveGroupMode,
        groups: &[&[i64]],
        replicas: usize,
        partitions: usize,
    ) -> Result<Vec<Vec<usize>>, String> {
        let groups = &ReplicaGroups::Explicit(groups.iter().map(|group| group.to_vec()).collect());
        let (channel_id, use_global_device_ids) = (None, None);
        Participants { groups, channel_id, use_global_device_ids, said: Some(mode) }
            .devices(replicas, partitions)
    }

    #[test]
    fn channels_are_found_and_moved() {
        let text = "HloModule m, num_partitions=2
            sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
            ENTRY e {
              p = f32[4] parameter(0)
              t = token[] after-all()
              g = (f32[4], f32[8]) all-gather-start(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
              h = f32[8] all-gather-done(g)
              r = f32[4] all-reduce-start(p), channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=sum
              d = f32[4] all-reduce-done(r)
              c = (f32[4], f32[4]) collective-permute-start(p), channel_id=3, source_target_pairs={{0,1}}
              q = f32[4] collective-permute-done(c)
              n = (f32[4], u32[], token[]) send(p, t), channel_id=4
              o = token[] send-done(n), channel_id=4
              a = f32[4] all-to-all(p), channel_id=5, replica_groups={{0,1}}, dimensions={0}
              ROOT b = f32[4] collective-broadcast(a), channel_id=6, replica_groups={{0,1}}
            }";
        let mut module = parse(text, &ParseOptions::default()).unwrap().module;
        let ids: Vec<_> = module.instruction_ids().collect();
        let mut found: Vec<_> = ids.iter().filter_map(|&id| module[id].op.channel_id()).collect();
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 4, 5, 6]);
        for id in ids {
            if let Some(Some(channel)) = module[id].op.channel_id_mut() {
                *channel += 10;
            }
        }
        assert_eq!(module.to_string().matches("channel_id=1").count(), found.len());
    }

    #[test]
    fn groups_name_devices() {
        use CollectiveGroupMode::*;
        for (mode, groups, expected) in [
            (CrossReplica, &[&[1, 0][..]][..], &[&[3, 0][..], &[4, 1], &[5, 2]][..]),
            (CrossReplica, &[&[0], &[1]], &[&[0], &[1], &[2], &[3], &[4], &[5]]),
            (CrossPartition, &[&[2, 0], &[1]], &[&[2, 0], &[5, 3], &[1], &[4]]),
            (CrossReplicaAndPartition, &[&[1, 0]], &[&[3, 0, 4, 1, 5, 2]]),
            (FlattenedId, &[&[5, 0, 1], &[2, 3, 4]], &[&[5, 0, 1], &[2, 3, 4]]),
            (CrossReplica, &[], &[&[0, 3], &[1, 4], &[2, 5]]),
            (CrossPartition, &[], &[&[0, 1, 2], &[3, 4, 5]]),
            (CrossReplicaAndPartition, &[], &[&[0, 3, 1, 4, 2, 5]]),
            (FlattenedId, &[], &[&[0, 1, 2, 3, 4, 5]]),
        ] {
            assert_eq!(devices(mode, groups, 2, 3).unwrap(), expected, "{mode:?} {groups:?}");
        }
        // A module that was not told of other devices may name them.
        assert_eq!(devices(CrossReplica, &[&[0], &[1]], 1, 1).unwrap(), [[0]]);
        assert_eq!(
            devices(CrossReplica, &[&[0, 1]], 1, 1).unwrap_err(),
            "a group has the member 1 where there are 1"
        );
        assert!(devices(CrossReplica, &[], 1 << 16, 1 << 16).is_err());
    }
}
