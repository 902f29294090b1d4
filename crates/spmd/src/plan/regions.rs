//! Which devices work on one array. Outside of manual regions all do; inside of one those do that
//! differ only along the axes that it leaves to us, and arrays of others may have other values. So each
//! value belongs to groups of devices, and moves of its parts stay within them.
//!
//! Groups are found by where values come from: what is made of values of several groups belongs to
//! their intersections. Only the way out of a region leads to groups as they are outside.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::While;
use rxla_hlo::{ComputationId, InstructionId, Module, Op, Sharding, ShardingKind};

use super::{Plan, is_flat};
use crate::calls;
use crate::collectives::{Exchange, exchange};
use crate::tiles::Tiles;

/// A way of dividing the devices into groups.
pub(super) type Region = usize;

/// All devices in one group.
pub(super) const ALL: Region = 0;
/// Each device on its own.
const ALONE: Region = 1;

pub(super) struct Regions {
    /// By partition the number of its group; groups are numbered in the order of their first devices.
    groups: Vec<Vec<i64>>,
    intersections: FxHashMap<(Region, Region), Region>,
}

impl Regions {
    pub(super) fn new(partitions: usize) -> Regions {
        let alone = (0..partitions as i64).collect();
        Regions { groups: vec![vec![0; partitions], alone], intersections: FxHashMap::default() }
    }

    pub(super) fn groups(&self, region: Region) -> &[i64] {
        &self.groups[region]
    }

    fn of<K: Eq + std::hash::Hash>(&mut self, keys: impl Iterator<Item = K>) -> Region {
        let mut numbers = FxHashMap::default();
        let groups: Vec<i64> = keys
            .map(|key| {
                let next = numbers.len() as i64;
                *numbers.entry(key).or_insert(next)
            })
            .collect();
        let known = self.groups.iter().position(|known| *known == groups);
        known.unwrap_or_else(|| {
            self.groups.push(groups);
            self.groups.len() - 1
        })
    }

    fn intersection(&mut self, one: Region, other: Region) -> Region {
        if one == other || other == ALL {
            return one;
        }
        if one == ALL {
            return other;
        }
        if let Some(&known) = self.intersections.get(&(one, other)) {
            return known;
        }
        let pairs: Vec<_> =
            self.groups[one].iter().copied().zip(self.groups[other].iter().copied()).collect();
        let region = self.of(pairs.into_iter());
        self.intersections.insert((one, other), region);
        region
    }
}

/// What is known while regions are being found.
struct Search {
    /// What shardings say themselves, where it is not [`ALL`].
    said: FxHashMap<InstructionId, Region>,
    /// What everything in a computation belongs to: not all devices may come there.
    bases: FxHashMap<ComputationId, Region>,
    /// Whether it is asked if collectives give all devices of a group the same.
    asks: bool,
}

impl Plan {
    /// Finds the regions of all slots, which have been united as far as they hold the same values.
    pub(super) fn find_regions(&mut self, module: &Module, order: &[ComputationId]) -> Result<()> {
        let mut search =
            Search { said: FxHashMap::default(), bases: FxHashMap::default(), asks: false };
        let order: Vec<_> = order.iter().map(|&c| (c, module.post_order(c))).collect();
        for &id in order.iter().flat_map(|(_, list)| list) {
            let region = self.said_region(module, id)?;
            if region != ALL {
                search.said.insert(id, region);
            }
        }
        // Most programs have nothing in which devices differ.
        let mut ids = order.iter().flat_map(|(_, list)| list);
        if search.said.is_empty() && !ids.any(|&id| may_differ(&module[id].op)) {
            return Ok(());
        }
        // Collectives are asked only when it is known what their operands belong to: in loops that
        // comes late, and what belongs to small groups stays there.
        for asks in [false, true] {
            search.asks = asks;
            let mut news = true;
            while news {
                news = false;
                for (computation, list) in &order {
                    let base = search.bases.get(computation).copied().unwrap_or(ALL);
                    for &id in list {
                        news |= self.find_region(module, id, base, &mut search);
                    }
                }
            }
        }
        Ok(())
    }

    /// The region that the sharding of a call speaks of.
    fn said_region(&mut self, module: &Module, id: InstructionId) -> Result<Region> {
        let unsaid = match calls::target(module, id) {
            // It may lead each device somewhere else.
            Some("SPMDFullToShardShape") => ALONE,
            Some("Sharding" | "SPMDShardToFullShape") => ALL,
            _ => return Ok(ALL),
        };
        let sharding = module[id].info().and_then(|info| info.sharding.as_ref());
        let Some(sharding @ Sharding::Single(single)) = sharding else { return Ok(unsaid) };
        match single.kind {
            ShardingKind::Manual => Ok(ALONE),
            ShardingKind::Tiled(_) | ShardingKind::Named(_) => {
                let rank = module[id].shape.as_array().map_or(0, |array| array.rank());
                let said = Tiles::of(sharding, rank, self.devices.partitions)?;
                Ok(self.regions.of(said.groups.into_iter()))
            }
            ShardingKind::Replicated
            | ShardingKind::Maximal { .. }
            | ShardingKind::Unreduced
            | ShardingKind::Unknown => Ok(unsaid),
        }
    }

    /// Learns of the region of an instruction and of what it calls, where `base` is that of its
    /// computation. Whether there was news.
    fn find_region(
        &mut self,
        module: &Module,
        id: InstructionId,
        base: Region,
        search: &mut Search,
    ) -> bool {
        let instruction = &module[id];
        let operands = instruction.operands();
        let said = search.said.get(&id).copied().unwrap_or(ALL);
        match &instruction.op {
            // Their leaves are those of their operands.
            Op::Tuple(_) | Op::GetTupleElement(_) | Op::OptimizationBarrier(_) => {
                self.narrow(id, base)
            }
            Op::While(While { condition, body }) if is_flat(&instruction.shape) => {
                // How often they run may differ from group to group.
                let decides = self.region_of(module[*condition].root());
                let base = self.regions.intersection(base, decides);
                let mut news = self.narrow(id, base) | self.narrow_as(module, operands[0], id);
                for computation in [*condition, *body] {
                    news |= self.narrow_base(search, computation, base);
                }
                news
            }
            Op::Conditional(conditional) if are_flat(module, id) => {
                let decides = self.region_of(operands[0]);
                let base = self.regions.intersection(base, decides);
                let mut news = self.narrow(id, base);
                let branches = conditional.branch_computations.iter();
                for (&branch, &argument) in branches.zip(&operands[1..]) {
                    news |= self.narrow_base(search, branch, base);
                    news |= self.narrow_as(module, argument, module[branch].parameters()[0]);
                    news |= self.narrow_as(module, module[branch].root(), id);
                }
                news
            }
            // It leads back to the groups outside.
            Op::CustomCall(_) if calls::target(module, id) == Some("SPMDShardToFullShape") => {
                let region = self.regions.intersection(base, said);
                self.narrow(id, region)
            }
            op => {
                let called = op.called_computations();
                let made = called.iter().filter_map(|&c| module[c].try_root());
                let values = [id].into_iter().chain(operands.iter().copied()).chain(made);
                let mut region = base;
                for value in values {
                    let of_value = self.region_of(value);
                    region = self.regions.intersection(region, of_value);
                }
                region = self.regions.intersection(region, said);
                let differs = match exchange(op, self.devices) {
                    Exchange::Nothing => matches!(op, Op::PartitionId(_)),
                    Exchange::Known(sources) => {
                        search.asks && !sources.keep(self.regions.groups(region))
                    }
                    Exchange::Unknown => true,
                };
                if differs {
                    region = ALONE;
                }
                let mut news = self.narrow(id, region);
                for computation in called {
                    news |= self.narrow_base(search, computation, region);
                }
                news
            }
        }
    }

    /// The region of all leaves of a value.
    pub(super) fn region_of(&mut self, id: InstructionId) -> Region {
        let leaves = self.leaves[id].clone();
        leaves.fold(ALL, |region, slot| {
            let of_leaf = self.slots[self.find(slot) as usize].region;
            self.regions.intersection(region, of_leaf)
        })
    }

    /// Brings all leaves of a value into a region.
    fn narrow(&mut self, id: InstructionId, region: Region) -> bool {
        self.leaves[id].clone().fold(false, |news, slot| self.narrow_slot(slot, region) | news)
    }

    fn narrow_slot(&mut self, slot: u32, region: Region) -> bool {
        let slot = self.find(slot) as usize;
        let before = self.slots[slot].region;
        self.slots[slot].region = self.regions.intersection(before, region);
        self.slots[slot].region != before
    }

    /// Brings each leaf of a value into the region of the same leaf of another one.
    fn narrow_as(&mut self, module: &Module, from: InstructionId, to: InstructionId) -> bool {
        let leaves = |id: InstructionId| module[id].shape.leaves().len();
        if leaves(from) != leaves(to) {
            let region = self.region_of(from);
            return self.narrow(to, region);
        }
        let pairs = self.leaves[from].clone().zip(self.leaves[to].clone());
        pairs.fold(false, |news, (from, to)| {
            let region = self.slots[self.find(from) as usize].region;
            self.narrow_slot(to, region) | news
        })
    }

    fn narrow_base(
        &mut self,
        search: &mut Search,
        computation: ComputationId,
        region: Region,
    ) -> bool {
        let base = search.bases.entry(computation).or_insert(ALL);
        let before = *base;
        *base = self.regions.intersection(before, region);
        *base != before
    }
}

/// Whether devices that have the same may get something else each, as [`exchange`] tells in detail.
fn may_differ(op: &Op) -> bool {
    op.is_collective() || matches!(op, Op::AsyncStart(_) | Op::PartitionId(_))
}

/// Whether result and arguments of a conditional have leaves that go into and out of its branches.
fn are_flat(module: &Module, conditional: InstructionId) -> bool {
    let arguments = module[conditional].operands().iter().skip(1);
    is_flat(&module[conditional].shape)
        && arguments.into_iter().all(|&argument| is_flat(&module[argument].shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_intersect() {
        let mut regions = Regions::new(8);
        let first = regions.of([7, 7, 7, 7, 3, 3, 3, 3].into_iter());
        let last = regions.of([0, 1, 0, 1, 0, 1, 0, 1].into_iter());
        assert_eq!(regions.groups(first), [0, 0, 0, 0, 1, 1, 1, 1]);
        let both = regions.intersection(first, last);
        assert_eq!(regions.groups(both), [0, 1, 0, 1, 2, 3, 2, 3]);
        assert_eq!(regions.intersection(last, first), both);
        assert_eq!(regions.intersection(both, last), both);
        assert_eq!(regions.intersection(ALL, last), last);
        assert_eq!(regions.intersection(both, ALONE), ALONE);
    }
}
