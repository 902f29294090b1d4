//! `all-reduce-combiner`, XLA's AllReduceCombiner: reductions over the same devices that do not wait for each
//! other become one of several operands, so that devices meet once instead of once for each.
//!
//! Which of them may go together is decided by depth, the number of reductions that the longest way to one
//! passes: those of a depth never wait for each other, and what they are combined into waits only for what was
//! less deep, so that no circle can come about.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::op::AllReduce;
use rxla_hlo::{ComputationId, ElementType, InstructionId, Module, Op};

use super::hlo_cse::SameComputations;
use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::view;

pub struct AllReduceCombiner {
    /// How many bytes of operands one reduction takes at most. What is combined is in memory at the same time.
    pub most_bytes: usize,
    /// How many operands it takes at most.
    pub most_operands: usize,
}

impl AllReduceCombiner {
    /// XLA's thresholds, `kDefaultAllReduceCombineThreshold` and the count that goes with it.
    pub const DEFAULT: AllReduceCombiner =
        AllReduceCombiner { most_bytes: 30 * 1024 * 1024 + 7, most_operands: 256 };
}

impl Pass for AllReduceCombiner {
    fn name(&self) -> &'static str {
        "all-reduce-combiner"
    }

    fn class(&self) -> &'static str {
        "AllReduceCombiner"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut computations = unfused_computations(module);
        computations.retain(|&computation| has_several(module, computation));
        if computations.is_empty() {
            return Ok(0);
        }
        let same = SameComputations::in_module(module);
        let mut made = 0;
        for computation in computations {
            for group in self.groups(module, computation, &same) {
                if !cx.spend() {
                    return Ok(made);
                }
                combine(module, computation, &group);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// Reductions that may go together, in the order in which they are found, filled up one group after the other.
struct Kind<'a> {
    depth: usize,
    element_type: ElementType,
    op: &'a AllReduce,
    groups: Vec<Group>,
}

#[derive(Default)]
struct Group {
    members: Vec<InstructionId>,
    bytes: usize,
}

impl AllReduceCombiner {
    /// What to combine in a computation: groups of at least two.
    fn groups(
        &self,
        m: &Module,
        computation: ComputationId,
        same: &SameComputations,
    ) -> Vec<Vec<InstructionId>> {
        let mut depths: FxHashMap<InstructionId, usize> = FxHashMap::default();
        let mut kinds: Vec<Kind<'_>> = Vec::new();
        for i in m.post_order(computation) {
            let before = m[i].operands().iter().chain(m[i].control_predecessors());
            let depth = before.map(|before| depths[before]).max().unwrap_or(0);
            let Some((op, element_type, bytes)) = candidate(m, i) else {
                depths.insert(i, depth);
                continue;
            };
            depths.insert(i, depth + 1);
            let is_kind = |kind: &Kind<'_>| {
                (kind.depth, kind.element_type) == (depth, element_type) && alike(same, kind.op, op)
            };
            let at = kinds.iter().position(is_kind).unwrap_or_else(|| {
                kinds.push(Kind { depth, element_type, op, groups: Vec::new() });
                kinds.len() - 1
            });
            let is_full = |group: &Group| {
                group.bytes + bytes > self.most_bytes || group.members.len() == self.most_operands
            };
            let groups = &mut kinds[at].groups;
            if groups.last().is_none_or(is_full) {
                groups.push(Group::default());
            }
            let open = groups.last_mut().expect("there is one");
            open.members.push(i);
            open.bytes += bytes;
        }
        let groups = kinds.into_iter().flat_map(|kind| kind.groups);
        groups.map(|group| group.members).filter(|members| members.len() > 1).collect()
    }
}

fn has_several(m: &Module, computation: ComputationId) -> bool {
    let instructions = m[computation].instructions().iter();
    instructions.filter(|&&i| candidate(m, i).is_some()).count() > 1
}

/// A reduction of one array, with the array's element type and bytes.
fn candidate(m: &Module, i: InstructionId) -> Option<(&AllReduce, ElementType, usize)> {
    let Op::AllReduce(op) = &m[i].op else { return None };
    let array = view::static_array(m, i)?;
    let plain = m[i].operands().len() == 1 && !view::has_control_edges(m, i);
    (plain && !op.constrain_layout).then_some((op, array.element_type, array.byte_size()?))
}

/// Whether two reductions are of the same groups of devices and by the same function. Channels only tell
/// reductions apart.
fn alike(same: &SameComputations, a: &AllReduce, b: &AllReduce) -> bool {
    let like_b = AllReduce { channel_id: b.channel_id, ..a.clone() };
    a.channel_id.is_some() == b.channel_id.is_some()
        && same.ops(&Op::AllReduce(like_b), &Op::AllReduce(b.clone()))
}

fn combine(m: &mut Module, computation: ComputationId, members: &[InstructionId]) {
    let first = members[0];
    let op = m[first].op.clone();
    let operands: Vec<InstructionId> = members.iter().map(|&i| view::operand(m, i, 0)).collect();
    let combined = view::add(m, first, op, &operands);
    let info = m[first].info().cloned();
    if let Some(info) = info {
        m[combined].info_mut().metadata = info.metadata;
    }
    for (index, &member) in members.iter().enumerate() {
        let part = view::add(m, member, Op::get_tuple_element(index as i64), &[combined]);
        if let Some(info) = m[member].info().cloned() {
            let made = m[part].info_mut();
            (made.metadata, made.sharding) = (info.metadata, info.sharding);
        }
        m.replace_all_uses(member, part);
    }
    m.remove_instructions(computation, members);
}
