//! Producers into consumers.
//!
//! Consumers are looked at before producers. A producer either moves into all its consumers or
//! stays; so no cycle can arise. What reduces rows may also join one consumer that goes through these rows, which then
//! makes it for the others, too.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::{ComputationId, Dims, InstructionId, Module, Op, Shape};

use super::cost::{
    BYTE, KERNEL, MADE_DEPTH, Role, bytes, elements, is_made, may_fuse_operand, operand_count,
    role, same_place, work,
};
use super::overwrite::{self, Updates};
use super::siblings::{MAX_ROOTS, inputs};

/// Instructions computed together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Whose values are stored.
    pub(super) roots: Vec<InstructionId>,
    /// All, the roots too, users before operands.
    pub(super) members: Vec<InstructionId>,
}

/// More instructions are not fused. What is cut off is stored for nearly each of the operations that need it, so this
/// is far above what programs of a few hundred lines have; it keeps the code of one loop within bounds.
pub(super) const MAX_MEMBERS: usize = 8000;
/// Nor is an instruction whose elements a group needs at more different places.
const MAX_PLACES: usize = 8;
/// A concatenation of no more operands is fused wherever its elements are needed.
const FEW_PARTS: usize = 4;
/// As many elements are turned one by one.
const FEW_TURNED: usize = 1024;
/// A search that comes to more instructions than this counts as having found what it looks for.
const SEARCH_LIMIT: usize = 4000;

/// One way in which a group needs the elements of an instruction: those of one way are the same
/// elements at the same time, and computed once.
#[derive(Clone, Copy, Debug)]
struct Way {
    group: usize,
    number: u32,
    count: f64,
    order: Order,
}

/// In which order a group comes to elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// As they lie, so that what belongs to a row is computed once for it.
    Rows,
    Any,
}

/// A row of so many elements is read again from a near cache, and longer than vectors.
const ROW: std::ops::RangeInclusive<usize> = 64..=1 << 15;
/// Rows that threads can share.
const MANY_ROWS: usize = 64;

/// The groups of a computation, including those of one member.
pub(super) fn form(module: &Module, computation: ComputationId) -> Vec<Group> {
    let order = module.post_order(computation);
    let mut former = Former {
        module,
        groups: Vec::new(),
        ways: FxHashMap::default(),
        row_ways: FxHashMap::default(),
        next: 0,
        root_of: FxHashMap::default(),
        updates: Updates::new(module, &order),
    };
    for &id in order.iter().rev() {
        former.visit(id, module[computation].root());
    }
    former.groups
}

struct Former<'a> {
    module: &'a Module,
    groups: Vec<Group>,
    /// How groups need what is in them.
    ways: FxHashMap<InstructionId, Vec<Way>>,
    /// The way in which a group needs what it has one of for each row, by the sizes of that.
    row_ways: FxHashMap<(usize, Dims), Way>,
    next: u32,
    /// The group whose root an instruction is.
    root_of: FxHashMap<InstructionId, usize>,
    updates: Updates<'a>,
}

impl Former<'_> {
    fn visit(&mut self, id: InstructionId, root: InstructionId) {
        let module = self.module;
        let kind = role(module, id);
        if kind == Role::Alone {
            return;
        }
        // One element: in registers, computed where it stands.
        let single = elements(module, id) == 1 && kind == Role::Lazy;
        if single {
            return;
        }
        let movable = kind == Role::Lazy || is_of_rows(module, id);
        if movable && id != root && (self.try_fuse(id) || self.try_join(id)) {
            return;
        }
        // Its bytes are those of its operand, which is stored in the shape that it is computed in, as others need it.
        if let Op::Reshape(_) = module[id].op {
            return;
        }
        let group = self.groups.len();
        self.groups.push(Group { roots: vec![id], members: vec![id] });
        let way = self.way(group, elements(module, id) as f64, Order::Rows);
        self.ways.insert(id, vec![way]);
        self.root_of.insert(id, group);
    }

    fn way(&mut self, group: usize, count: f64, order: Order) -> Way {
        self.next += 1;
        Way { group, number: self.next, count, order }
    }

    /// The way in which a user that is needed in one way needs an operand that stands elsewhere.
    fn operand_way(&mut self, user: InstructionId, index: usize, way: Way) -> Way {
        let module = self.module;
        let operand = module[user].operands()[index];
        if way.order == Order::Rows {
            if adds_ones(module, user) {
                return way;
            }
            if is_of_rows(module, user) {
                return self.way(way.group, elements(module, operand) as f64, Order::Rows);
            }
            if repeats_in_rows(module, user)
                && let Some(shape) = module[operand].shape.as_array()
            {
                let key = (way.group, shape.dims.clone());
                if let Some(&known) = self.row_ways.get(&key) {
                    return known;
                }
                let made = self.way(way.group, elements(module, operand) as f64, Order::Rows);
                self.row_ways.insert(key, made);
                return made;
            }
        }
        let count = operand_count(module, user, index, way.count);
        self.way(way.group, count, Order::Any)
    }

    /// The bytes of operands of `id` that those groups do not read yet, over all groups.
    fn reads(&self, id: InstructionId, groups: &[usize]) -> usize {
        let module = self.module;
        let reads = |operand: InstructionId, group: usize| {
            module[operand].users().iter().any(|user| {
                let ways = self.ways.get(user);
                ways.is_some_and(|ways| ways.iter().any(|way| way.group == group))
            })
        };
        let missing = |&operand: &InstructionId| {
            let groups = groups.iter().filter(|&&group| !reads(operand, group)).count();
            groups * read_bytes(module, operand)
        };
        module[id].operands().iter().map(missing).sum()
    }

    /// Whether a reduction writes rows of `id` down for others of its group.
    fn is_kept(&self, id: InstructionId, ways: &[Way], groups: &[usize]) -> bool {
        let module = self.module;
        let &[group] = groups else { return false };
        let group = &self.groups[group];
        let count = elements(module, id) as f64;
        let member = |other: InstructionId| group.members.contains(&other);
        ways.len() > 1
            && ways.iter().all(|way| way.order == Order::Rows && way.count == count)
            && group.members.iter().any(|&member| is_of_rows(module, member))
            && !pays(module, id, ways, 1, 0)
            && rxla_emit::keeping_reduction(module, id, &member, &|other| {
                group.roots.contains(&other)
            })
            .is_some_and(|reduction| is_of_rows(module, reduction))
    }

    /// Whether somebody who is fused needs elements at places from which no loop can tell in which part of a
    /// concatenation they lie.
    fn is_scattered(&self, id: InstructionId) -> bool {
        let module = self.module;
        let mut seen = vec![id];
        let mut next = 0;
        while let Some(&own) = seen.get(next) {
            next += 1;
            for &user in module[own].users() {
                let scatters = match module[user].op {
                    Op::Reshape(_) => !adds_ones(module, user),
                    Op::Dot(_) | Op::DynamicSlice(_) | Op::Gather(_) => true,
                    _ => false,
                };
                if scatters && self.ways.contains_key(&user) {
                    return true;
                }
                if !seen.contains(&user) && self.ways.contains_key(&user) {
                    seen.push(user);
                }
            }
        }
        false
    }

    /// Moves an instruction into all its users if that pays.
    fn try_fuse(&mut self, id: InstructionId) -> bool {
        let module = self.module;
        let users = module[id].users();
        if users.is_empty()
            || has_control_edges(module, id)
            || users.iter().any(|&user| overwrite::reads_what_it_overwrites(module, user, id))
            || (has_many_parts(module, id) && self.is_scattered(id))
        {
            return false;
        }
        let mut ways: Vec<Way> = Vec::new();
        for &user in users {
            let Some(of_user) = self.ways.get(&user).cloned() else { return false };
            for (index, &operand) in module[user].operands().iter().enumerate() {
                if operand != id {
                    continue;
                }
                if !may_fuse_operand(module, user, index) {
                    return false;
                }
                for way in &of_user {
                    if same_place(module, user, index) {
                        if !ways.iter().any(|known| known.number == way.number) {
                            ways.push(*way);
                        }
                    } else {
                        let way = self.operand_way(user, index, *way);
                        if !ways.iter().any(|known| known.number == way.number) {
                            ways.push(way);
                        }
                    }
                }
            }
        }
        let mut groups: Vec<usize> = ways.iter().map(|way| way.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let full = |&group: &usize| self.groups[group].members.len() >= MAX_MEMBERS;
        if ways.len() > MAX_PLACES * groups.len() || groups.iter().any(full) {
            return false;
        }
        if groups.iter().any(|&group| self.updates.are_before(id, &self.groups[group])) {
            return false;
        }
        let turned = moves_minor_dimension(module, id);
        let refused = |&group: &usize| {
            let mut members = self.groups[group].members.iter();
            match (turned, is_of_rows(module, id)) {
                (true, _) => computes_rows(module, &self.groups[group]),
                (false, true) => members.any(|&member| moves_minor_dimension(module, member)),
                // Loops that are cut where parts end are not turned block by block.
                (false, false) => {
                    has_parts(module, id)
                        && members.any(|&member| moves_minor_dimension(module, member))
                }
            }
        };
        if groups.iter().any(refused) {
            return false;
        }
        // A sum of a row is computed where rows are gone through, and nowhere else.
        if is_of_rows(module, id) && ways.iter().any(|way| way.order != Order::Rows) {
            return false;
        }
        if self.is_kept(id, &ways, &groups) {
            // Its operands are needed where the reduction that keeps it needs it, and nowhere else.
            ways.truncate(1);
        } else if !pays(module, id, &ways, groups.len(), self.reads(id, &groups)) {
            return false;
        }
        for group in groups {
            self.groups[group].members.push(id);
        }
        self.ways.insert(id, ways);
        true
    }

    /// Makes what reduces rows a further root of a group that needs it for these rows, if there is one.
    fn try_join(&mut self, id: InstructionId) -> bool {
        let module = self.module;
        let users = module[id].users();
        if !is_of_rows(module, id) || has_control_edges(module, id) {
            return false;
        }
        let ways = users.iter().filter_map(|user| self.ways.get(user)).flatten();
        let mut groups: Vec<usize> = ways.map(|way| way.group).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            if !self.may_join(id, group) {
                continue;
            }
            let Some(ways) = self.ways_of_row(id, group) else { continue };
            let position = &self.updates.position;
            let joined = &mut self.groups[group];
            joined.members.push(id);
            joined.roots.push(id);
            joined.roots.sort_by_key(|root| position[root]);
            self.ways.insert(id, ways);
            self.root_of.insert(id, group);
            return true;
        }
        false
    }

    /// Whether a group goes through rows that `id` reduces, and nothing that it needs needs `id` by another way.
    fn may_join(&self, id: InstructionId, number: usize) -> bool {
        let module = self.module;
        let group = &self.groups[number];
        let dims = |shape: &Shape| shape.as_array().map(|array| array.dims.clone());
        let rows = dims(module.operand_shape(id, 0));
        let goes_through = |&root: &InstructionId| match &module[root].op {
            Op::DynamicUpdateSlice(_) | Op::Transpose(_) => false,
            Op::Reduce(_) => {
                is_of_rows(module, root) && dims(module.operand_shape(root, 0)) == rows
            }
            _ => dims(&module[root].shape) == rows,
        };
        let turned = |&member: &InstructionId| moves_minor_dimension(module, member);
        group.members.len() < MAX_MEMBERS
            && group.roots.len() < MAX_ROOTS
            && group.roots.iter().all(goes_through)
            && !group.members.iter().any(turned)
            && self.reads(id, &[number]) == 0
            && !self.updates.are_before(id, group)
            && !self.is_needed_before(id, number)
    }

    /// The ways in which a group needs `id`, if that is one for each row.
    fn ways_of_row(&mut self, id: InstructionId, group: usize) -> Option<Vec<Way>> {
        let module = self.module;
        let count = elements(module, id) as f64;
        let mut ways: Vec<Way> = Vec::new();
        for &user in module[id].users() {
            let of_user = self.ways.get(&user).cloned().unwrap_or_default();
            for way in of_user.into_iter().filter(|way| way.group == group) {
                for (index, _) in module[user]
                    .operands()
                    .iter()
                    .enumerate()
                    .filter(|(_, operand)| **operand == id)
                {
                    if !may_fuse_operand(module, user, index) {
                        return None;
                    }
                    let way = match same_place(module, user, index) {
                        true => way,
                        false => self.operand_way(user, index, way),
                    };
                    if way.order != Order::Rows || way.count != count {
                        return None;
                    }
                    if !ways.iter().any(|known| known.number == way.number) {
                        ways.push(way);
                    }
                }
            }
        }
        (ways.len() == 1).then_some(ways)
    }

    /// Whether what a group reads, `id` aside, is made of `id`.
    fn is_needed_before(&self, id: InstructionId, group: usize) -> bool {
        let module = self.module;
        let position = &self.updates.position;
        let mut stack = inputs(module, &self.groups[group]);
        stack.retain(|&input| input != id);
        let mut seen = FxHashSet::default();
        while let Some(own) = stack.pop() {
            if own == id || seen.len() > SEARCH_LIMIT {
                return true;
            }
            // What stands before it does not need it.
            if position[&own] < position[&id] || !seen.insert(own) {
                continue;
            }
            match self.root_of.get(&own) {
                Some(&other) => stack.extend(inputs(module, &self.groups[other])),
                None => stack.extend(module[own].operands()),
            }
            stack.extend(module[own].control_predecessors());
        }
        false
    }
}

/// Whether elements come from different operands, and there are enough to store them.
fn has_parts(module: &Module, id: InstructionId) -> bool {
    matches!(module[id].op, Op::Concatenate(_) | Op::Pad(_)) && elements(module, id) >= FEW_TURNED
}

/// Whether an element has to be chosen among many operands, unless loops are cut where these end.
fn has_many_parts(module: &Module, id: InstructionId) -> bool {
    matches!(module[id].op, Op::Concatenate(_)) && module[id].operands().len() > FEW_PARTS
}

/// Whether an instruction reduces rows, many of them, of a length that one thread reads again soon.
fn is_of_rows(module: &Module, id: InstructionId) -> bool {
    let Op::Reduce(reduce) = &module[id].op else { return false };
    let Some(shape) = module.operand_shape(id, 0).as_array() else { return false };
    let kept = shape.rank() - reduce.dimensions.len();
    let length = shape.element_count().unwrap_or(0) / elements(module, id).max(1);
    module[id].operands().len() == 2
        && reduce.dimensions.iter().all(|&dimension| dimension >= kept as i64)
        && elements(module, id) >= MANY_ROWS
        && ROW.contains(&length)
}

/// Whether a reshape only puts in or takes out dimensions of size 1.
fn adds_ones(module: &Module, id: InstructionId) -> bool {
    let Op::Reshape(_) = &module[id].op else { return false };
    let sizes = |shape: &Shape| {
        let dims = shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
        dims.into_iter().filter(|&size| size != 1).collect::<Dims>()
    };
    sizes(&module[id].shape) == sizes(module.operand_shape(id, 0))
}

/// Whether a broadcast gives each row an element of its own.
fn repeats_in_rows(module: &Module, id: InstructionId) -> bool {
    let Op::Broadcast(broadcast) = &module[id].op else { return false };
    !broadcast.dimensions.is_empty()
        && broadcast.dimensions.iter().copied().eq(0..broadcast.dimensions.len() as i64)
}

/// Whether a group computes what belongs to rows on the way.
pub(super) fn computes_rows(module: &Module, group: &Group) -> bool {
    let is_needed = |member: &InstructionId| {
        !group.roots.contains(member)
            || module[*member].users().iter().any(|user| group.members.contains(user))
    };
    group.members.iter().any(|member| is_of_rows(module, *member) && is_needed(member))
}

/// `reads` are the bytes of operands that groups would come to read.
fn pays(module: &Module, id: InstructionId, ways: &[Way], groups: usize, reads: usize) -> bool {
    let count = elements(module, id) as f64;
    let computed: f64 = ways.iter().map(|way| way.count).sum();
    let traffic = bytes(module, id) as f64 * BYTE * (1 + groups) as f64;
    let work = work(module, id);
    // Rows read down columns are slow unless a transposition of its own does it by tiles.
    if moves_minor_dimension(module, id)
        && bytes(module, id) > 32 << 10
        && !is_made(module, module[id].operands()[0], MADE_DEPTH)
    {
        return false;
    }
    let own_reads = module[id].operands().iter().map(|&operand| read_bytes(module, operand));
    let reads = (reads as f64 - own_reads.sum::<usize>() as f64) * BYTE;
    computed * work + reads <= count * work + traffic + KERNEL
}

/// What it takes to read an operand that is not made on the spot.
fn read_bytes(module: &Module, operand: InstructionId) -> usize {
    match &module[operand].op {
        Op::Broadcast(_) | Op::Iota(_) | Op::Constant(_) => 0,
        _ => bytes(module, operand),
    }
}

/// Whether neighbours in the result of a transposition are no neighbours in its operand.
pub(super) fn moves_minor_dimension(module: &Module, id: InstructionId) -> bool {
    match &module[id].op {
        Op::Transpose(transpose) => {
            let rank = transpose.dimensions.len();
            rank > 0 && transpose.dimensions[rank - 1] != rank as i64 - 1
        }
        _ => false,
    }
}

/// Whether something waits for the instruction, or it waits, without a value flowing.
fn has_control_edges(module: &Module, id: InstructionId) -> bool {
    module[id].has_control_edges()
}
