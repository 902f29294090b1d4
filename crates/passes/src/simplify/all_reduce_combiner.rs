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
        let mut made = 0;
        for computation in unfused_computations(module) {
            for group in self.groups(module, computation) {
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

/// Reductions that go together, as they are found one after the other.
#[derive(Default)]
struct Group {
    members: Vec<InstructionId>,
    bytes: usize,
}

impl AllReduceCombiner {
    /// What to combine in a computation: groups of at least two.
    fn groups(&self, m: &Module, computation: ComputationId) -> Vec<Vec<InstructionId>> {
        let is_candidate = |&i: &InstructionId| candidate(m, i).is_some();
        if m[computation].instructions().iter().copied().filter(is_candidate).count() < 2 {
            return Vec::new();
        }
        let mut depths: FxHashMap<InstructionId, usize> = FxHashMap::default();
        // The last group of each kind is the one that is open.
        let mut kinds: Vec<((usize, ElementType, &AllReduce), Vec<Group>)> = Vec::new();
        for i in m.post_order(computation) {
            let before = m[i].operands().iter().chain(m[i].control_predecessors());
            let depth = before.map(|before| depths[before]).max().unwrap_or(0);
            let Some((op, element_type, bytes)) = candidate(m, i) else {
                depths.insert(i, depth);
                continue;
            };
            depths.insert(i, depth + 1);
            let same = |((d, t, o), _): &&mut ((usize, ElementType, &AllReduce), Vec<Group>)| {
                (*d, *t) == (depth, element_type) && alike(m, o, op)
            };
            let groups = match kinds.iter_mut().find(same) {
                Some((_, groups)) => groups,
                None => {
                    kinds.push(((depth, element_type, op), vec![Group::default()]));
                    &mut kinds.last_mut().expect("it was just added").1
                }
            };
            let is_full = |group: &Group| {
                group.bytes + bytes > self.most_bytes || group.members.len() == self.most_operands
            };
            if groups.last().is_none_or(is_full) {
                groups.push(Group::default());
            }
            let open = groups.last_mut().expect("there is one");
            open.members.push(i);
            open.bytes += bytes;
        }
        let groups = kinds.into_iter().flat_map(|(_, groups)| groups);
        groups.map(|group| group.members).filter(|members| members.len() > 1).collect()
    }
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
fn alike(m: &Module, a: &AllReduce, b: &AllReduce) -> bool {
    let like_b =
        AllReduce { channel_id: a.channel_id.and(b.channel_id), to_apply: b.to_apply, ..a.clone() };
    a.channel_id.is_some() == b.channel_id.is_some()
        && like_b == *b
        && (a.to_apply == b.to_apply || same_function(m, a.to_apply, b.to_apply))
}

/// Whether two reducers apply the same operation to their two parameters and do nothing else.
fn same_function(m: &Module, a: ComputationId, b: ComputationId) -> bool {
    let [a_root, b_root] = [a, b].map(|reducer| m[reducer].root());
    let of_both = |reducer: ComputationId, root: InstructionId| {
        m[reducer].parameters().len() == 2 && m[root].operands() == m[reducer].parameters()
    };
    m[a_root].op == m[b_root].op
        && m[a_root].op.called_computations().is_empty()
        && m[a_root].shape == m[b_root].shape
        && of_both(a, a_root)
        && of_both(b, b_root)
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
