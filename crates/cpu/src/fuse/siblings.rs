//! Groups that run over the same elements and read the same arrays become one with several roots:
//! one loop reads once what several would.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_base::SecondaryMap;
use rxla_hlo::{ComputationId, Dims, Instruction, InstructionId, Module, Op};

use super::cost::{elements, same_place};
use super::groups::{Group, MAX_MEMBERS, computes_rows, moves_minor_dimension};
use super::overwrite::Updates;

/// A search that comes to more units than this counts as having found a path.
const SEARCH_LIMIT: usize = 4000;
/// Results and arrays read of one fusion.
pub(super) const MAX_ROOTS: usize = 12;

/// What a group's loop runs over.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Loop {
    Elements(Dims),
    Reduction(Dims, Dims),
}

fn loop_of(module: &Module, group: &Group) -> Option<Loop> {
    // Rows that are reduced on the way are gone through in the loop of the others.
    let reduces = |root: &&InstructionId| matches!(module[**root].op, Op::Reduce(_));
    let root = *group.roots.iter().find(|root| !reduces(root)).or(group.roots.first())?;
    match &module[root].op {
        Op::DynamicUpdateSlice(_) | Op::Transpose(_) => None,
        Op::Reduce(reduce) if module[root].operands().len() == 2 => {
            let operand = module.operand_shape(root, 0).as_array()?;
            Some(Loop::Reduction(operand.dims.clone(), reduce.dimensions.clone()))
        }
        Op::Reduce(_) => None,
        _ => Some(Loop::Elements(module[root].shape.as_array()?.dims.clone())),
    }
}

pub(super) fn merge(module: &Module, computation: ComputationId, groups: Vec<Group>) -> Vec<Group> {
    let mut merger = Merger::new(module, computation, groups);
    for number in 0..merger.groups.len() {
        merger.grow(number);
    }
    merger.groups.into_iter().filter(|group| !group.members.is_empty()).collect()
}

struct Merger<'a> {
    module: &'a Module,
    groups: Vec<Group>,
    /// What each group reads: asked for far more often than it changes.
    inputs: Vec<Vec<InstructionId>>,
    /// Groups of several roots.
    merged: Vec<usize>,
    /// The group whose root an instruction is.
    root_of: FxHashMap<InstructionId, usize>,
    /// Groups that read a value.
    readers: FxHashMap<InstructionId, Vec<usize>>,
    updates: Updates<'a>,
    /// For searches, one after the other.
    seen: RefCell<Seen>,
}

/// A set of instructions that is emptied without being touched.
#[derive(Default)]
struct Seen {
    /// The search that an instruction was seen in last.
    marks: SecondaryMap<Instruction, u32>,
    search: u32,
    count: usize,
}

impl Seen {
    fn clear(&mut self) {
        self.search += 1;
        self.count = 0;
    }

    fn contains(&self, id: InstructionId) -> bool {
        self.marks[id] == self.search
    }

    /// Whether it was not seen before.
    fn insert(&mut self, id: InstructionId) -> bool {
        let fresh = std::mem::replace(&mut self.marks[id], self.search) != self.search;
        self.count += usize::from(fresh);
        fresh
    }
}

impl<'a> Merger<'a> {
    fn new(module: &'a Module, computation: ComputationId, groups: Vec<Group>) -> Merger<'a> {
        let order = module.post_order(computation);
        let mut root_of = FxHashMap::default();
        let mut readers: FxHashMap<InstructionId, Vec<usize>> = FxHashMap::default();
        let inputs: Vec<Vec<InstructionId>> =
            groups.iter().map(|group| inputs(module, group)).collect();
        for (number, group) in groups.iter().enumerate() {
            root_of.extend(group.roots.iter().map(|&root| (root, number)));
            for &operand in &inputs[number] {
                readers.entry(operand).or_default().push(number);
            }
        }
        let merged = (0..groups.len()).filter(|&number| groups[number].roots.len() > 1).collect();
        Merger {
            module,
            groups,
            inputs,
            merged,
            root_of,
            readers,
            updates: Updates::new(module, &order),
            seen: RefCell::default(),
        }
    }

    /// Takes in what runs over the same elements, as long as there is something.
    fn grow(&mut self, number: usize) {
        if self.groups[number].members.is_empty() {
            return;
        }
        let Some(own) = loop_of(self.module, &self.groups[number]) else { return };
        loop {
            let next = self.candidates(number).into_iter().find(|&other| {
                loop_of(self.module, &self.groups[other]).as_ref() == Some(&own)
                    && self.fits(number, other)
            });
            match next {
                Some(other) => self.unite(number, other),
                None => return,
            }
        }
    }

    /// Groups that read what this one reads or makes, or make what it reads.
    fn candidates(&self, number: usize) -> Vec<usize> {
        let group = &self.groups[number];
        let mut found: Vec<usize> = Vec::new();
        for operand in &self.inputs[number] {
            found.extend(self.root_of.get(operand));
            // Scalars and small arrays that many read are no reason.
            if elements(self.module, *operand) > 1 {
                let readers = self.readers.get(operand).map_or(&[][..], Vec::as_slice);
                found.extend(readers.iter().take(64));
            }
        }
        for root in &group.roots {
            found.extend(self.readers.get(root).into_iter().flatten());
        }
        let mut seen = FxHashSet::default();
        found.retain(|&other| {
            other != number && !self.groups[other].members.is_empty() && seen.insert(other)
        });
        found
    }

    fn fits(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.groups[a], &self.groups[b]);
        // Blocks of a turned loop would compute what belongs to a row several times.
        let turned = |group: &Group| {
            group.members.iter().any(|&member| moves_minor_dimension(self.module, member))
        };
        let rows = |group: &Group| computes_rows(self.module, group);
        if (rows(first) && turned(second)) || (rows(second) && turned(first)) {
            return false;
        }
        first.members.len() + second.members.len() <= MAX_MEMBERS
            && first.roots.len() + second.roots.len() <= MAX_ROOTS
            && self.reads_in_place(a, b)
            && self.reads_in_place(b, a)
            && !self.reaches(a, b)
            && !self.reaches(b, a)
            && !self.updates_are_between(a, b)
            && !self.updates_are_between(b, a)
    }

    /// Whether what a group reads is overwritten before another can run.
    fn updates_are_between(&self, reader: usize, other: usize) -> bool {
        let mut members = self.groups[reader].members.iter();
        members.any(|&member| self.updates.are_before(member, &self.groups[other]))
    }

    /// Whether what `reader` reads of `maker`'s results it reads where its loop stands.
    fn reads_in_place(&self, reader: usize, maker: usize) -> bool {
        let module = self.module;
        let (inputs, reader, maker) =
            (&self.inputs[reader], &self.groups[reader], &self.groups[maker]);
        if !maker.roots.iter().any(|root| inputs.contains(root)) {
            return true;
        }
        let reduces = |group: &Group| matches!(module[group.roots[0]].op, Op::Reduce(_));
        // Members in whose place the loop stands, users before operands.
        let mut here: FxHashSet<InstructionId> = reader.roots.iter().copied().collect();
        for &member in &reader.members {
            for (index, operand) in module[member].operands().iter().enumerate() {
                let same = here.contains(&member) && same_place(module, member, index);
                if reader.members.contains(operand) {
                    // Read elsewhere too, it is computed apart for that.
                    if same {
                        here.insert(*operand);
                    }
                } else if maker.roots.contains(operand) && (!same || reduces(reader)) {
                    return false;
                }
            }
        }
        true
    }

    /// Whether something outside both needs `from` and is needed by `to`.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let module = self.module;
        let first = self.earliest(from);
        let targets: FxHashSet<InstructionId> = self.groups[from].roots.iter().copied().collect();
        let own: FxHashSet<InstructionId> = self.groups[to].members.iter().copied().collect();
        let mut seen = self.seen.borrow_mut();
        seen.clear();
        // Backwards from the inputs of `to`, those that `from` makes itself aside.
        let mut stack: Vec<InstructionId> =
            self.inputs[to].iter().copied().filter(|input| !targets.contains(input)).collect();
        while let Some(id) = stack.pop() {
            if targets.contains(&id) || own.contains(&id) {
                return true;
            }
            if !seen.insert(id) {
                continue;
            }
            if seen.count > SEARCH_LIMIT {
                return true;
            }
            let mut visit = |next: InstructionId| {
                if !seen.contains(next) {
                    stack.push(next);
                }
            };
            if let Some(&number) = self.root_of.get(&id) {
                // All its results exist only when all its operands do.
                let group = &self.groups[number];
                if group.roots.iter().all(|root| self.updates.position[root] < first) {
                    continue;
                }
                self.inputs[number].iter().copied().for_each(&mut visit);
            } else {
                if self.updates.position[&id] < first {
                    continue;
                }
                module[id].operands().iter().copied().for_each(&mut visit);
            }
            module[id].control_predecessors().iter().copied().for_each(&mut visit);
        }
        false
    }

    /// A position before which nothing stands that needs the group. Results of a merged group all
    /// need what any of them needs, so that its earliest may stand before what it needs.
    fn earliest(&self, group: usize) -> usize {
        let span = |group: &Group| {
            let positions = group.roots.iter().map(|root| self.updates.position[root]);
            let first = positions.clone().min().unwrap_or(0);
            (first, positions.max().unwrap_or(0))
        };
        let (mut earliest, _) = span(&self.groups[group]);
        loop {
            let before = earliest;
            for &merged in &self.merged {
                let (first, last) = span(&self.groups[merged]);
                if last >= earliest {
                    earliest = earliest.min(first);
                }
            }
            if earliest == before {
                return earliest;
            }
        }
    }

    fn unite(&mut self, into: usize, from: usize) {
        let taken = std::mem::replace(
            &mut self.groups[from],
            Group { roots: Vec::new(), members: Vec::new() },
        );
        for root in &taken.roots {
            self.root_of.insert(*root, into);
        }
        for operand in std::mem::take(&mut self.inputs[from]) {
            let readers = self.readers.entry(operand).or_default();
            if !readers.contains(&into) {
                readers.push(into);
            }
        }
        let position = &self.updates.position;
        let group = &mut self.groups[into];
        group.roots.extend(taken.roots);
        group.roots.sort_by_key(|root| position[root]);
        let own: FxHashSet<InstructionId> = group.members.iter().copied().collect();
        group.members.extend(taken.members.into_iter().filter(|member| !own.contains(member)));
        group.members.sort_by_key(|member| std::cmp::Reverse(position[member]));
        self.inputs[into] = inputs(self.module, group);
        self.merged.retain(|&merged| merged != from);
        if !self.merged.contains(&into) {
            self.merged.push(into);
        }
    }
}

/// What a group reads from outside, each once.
pub(super) fn inputs(module: &Module, group: &Group) -> Vec<InstructionId> {
    let members: FxHashSet<InstructionId> = group.members.iter().copied().collect();
    let mut inputs = Vec::new();
    let mut seen = FxHashSet::default();
    // In the order of text: operands of what comes first, first.
    for member in group.members.iter().rev() {
        for &operand in module[*member].operands() {
            if !members.contains(&operand) && seen.insert(operand) {
                inputs.push(operand);
            }
        }
    }
    inputs
}
