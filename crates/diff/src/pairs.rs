//! Which instruction of one computation is which of another.
//!
//! From what is sure to what is likely: the same role, the same value, the same neighbours, the same
//! name, neighbours that are at least of the same op. Nothing is paired twice, and what was paired stays.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::NodeClass;
use crate::graph::Computation;

/// A computation with the classes of its nodes.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) computation: &'a Computation,
    pub(crate) classes: &'a [NodeClass],
    pub(crate) users: &'a [Vec<usize>],
}

/// The partner of each node, if it has one.
#[derive(Default)]
pub(crate) struct Pairs {
    pub(crate) left: Vec<Option<usize>>,
    pub(crate) right: Vec<Option<usize>>,
}

/// How much two nodes have to have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alike {
    Role,
    /// Op, shape and attributes.
    Label,
    Opcode,
    /// Nothing.
    Not,
}

pub(crate) fn pairs(left: Side<'_>, right: Side<'_>) -> Pairs {
    let mut pairing = Pairing {
        left,
        right,
        pairs: Pairs {
            left: vec![None; left.classes.len()],
            right: vec![None; right.classes.len()],
        },
    };
    pairing.roots(Alike::Role);
    pairing.groups(Together::All, |side, place| side.classes[place].role);
    let names_count = pairing.names_were_kept();
    pairing.parameters();
    pairing.groups(Together::Single, |side, place| side.classes[place].value);
    pairing.groups(Together::All, |side, place| {
        (side.classes[place].value, side.computation.nodes[place].name.clone())
    });
    if names_count {
        pairing.names(Alike::Label);
    }
    pairing.roots(Alike::Label);
    pairing.neighbours(Alike::Label);
    pairing.groups(Together::All, |side, place| side.classes[place].value);
    pairing.neighbours(Alike::Label);
    pairing.names(Alike::Opcode);
    pairing.neighbours(Alike::Label);
    pairing.roots(Alike::Opcode);
    pairing.neighbours(Alike::Opcode);
    pairing.names(Alike::Not);
    pairing.roots(Alike::Not);
    pairing.neighbours(Alike::Opcode);
    pairing.pairs
}

/// Of nodes that are alike, which are paired.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Together {
    /// Only if there is one on each side.
    Single,
    /// As many as there are on both sides.
    All,
}

struct Pairing<'a> {
    left: Side<'a>,
    right: Side<'a>,
    pairs: Pairs,
}

impl Pairing<'_> {
    fn is_open(&self, left: usize, right: usize) -> bool {
        self.pairs.left[left].is_none() && self.pairs.right[right].is_none()
    }

    fn is_alike(&self, left: usize, right: usize, how: Alike) -> bool {
        let (a, b) = (self.left.classes[left], self.right.classes[right]);
        match how {
            Alike::Role => a.role == b.role,
            Alike::Label => a.label == b.label,
            Alike::Not => true,
            Alike::Opcode => {
                let opcode = |side: &Side<'_>, place: usize| side.computation.nodes[place].opcode;
                opcode(&self.left, left) == opcode(&self.right, right)
            }
        }
    }

    fn pair(&mut self, left: usize, right: usize) {
        self.pairs.left[left] = Some(right);
        self.pairs.right[right] = Some(left);
    }

    /// Pairs two nodes of equal role, and then their operands, so that of twins each keeps its own.
    fn pair_deeply(&mut self, left: usize, right: usize) {
        let mut stack = vec![(left, right)];
        while let Some((left, right)) = stack.pop() {
            if !self.is_open(left, right) || !self.is_alike(left, right, Alike::Role) {
                continue;
            }
            self.pair(left, right);
            let operands = &self.left.computation.nodes[left].operands;
            let others = &self.right.computation.nodes[right].operands;
            stack.extend(operands.iter().copied().zip(others.iter().copied()).rev());
        }
    }

    fn roots(&mut self, how: Alike) {
        let (Some(left), Some(right)) = (self.left.computation.root, self.right.computation.root)
        else {
            return;
        };
        if !self.is_open(left, right) || !self.is_alike(left, right, how) {
            return;
        }
        match how {
            Alike::Role => self.pair_deeply(left, right),
            Alike::Label | Alike::Opcode | Alike::Not => self.pair(left, right),
        }
    }

    /// Pairs nodes of equal key, users first.
    fn groups<K: Eq + Hash>(&mut self, together: Together, key: impl Fn(&Side<'_>, usize) -> K) {
        let mut found: FxHashMap<K, (Vec<usize>, Vec<usize>)> = FxHashMap::default();
        let mut firsts = Vec::new();
        for place in (0..self.left.classes.len()).rev() {
            if self.pairs.left[place].is_none() {
                let group = found.entry(key(&self.left, place)).or_default();
                if group.0.is_empty() {
                    firsts.push(place);
                }
                group.0.push(place);
            }
        }
        for place in (0..self.right.classes.len()).rev() {
            if self.pairs.right[place].is_none()
                && let Some(group) = found.get_mut(&key(&self.right, place))
            {
                group.1.push(place);
            }
        }
        for first in firsts {
            let Some((left, right)) = found.get(&key(&self.left, first)) else { continue };
            match together {
                Together::Single => {
                    if let ([left], [right]) = (&left[..], &right[..]) {
                        self.pair(*left, *right);
                    }
                }
                Together::All => self.together(left, right),
            }
        }
    }

    /// Those first whose operands are partners, and of them those of equal name; the rest by name, then in
    /// order.
    fn together(&mut self, left: &[usize], right: &[usize]) {
        let (lefts, rights) = (self.left.computation, self.right.computation);
        let named: FxHashMap<&str, usize> =
            right.iter().rev().map(|&place| (&*rights.nodes[place].name, place)).collect();
        let group: FxHashSet<usize> = right.iter().copied().collect();
        let same_name = |place: usize| named.get(&*lefts.nodes[place].name).copied();
        // Each pair may pair others of the group, as operands.
        for &place in left {
            if let Some(named) = same_name(place)
                && self.uses_partners(place, named)
            {
                self.pair_twins(place, named);
            }
        }
        for &place in left {
            if let Some(right) = self.user_of_partners(place, &group) {
                self.pair_twins(place, right);
            }
        }
        for &place in left {
            if let Some(named) = same_name(place) {
                self.pair_twins(place, named);
            }
        }
        let mut rest = right.iter().copied();
        for &place in left {
            while self.pairs.left[place].is_none()
                && let Some(right) = rest.next()
            {
                self.pair_twins(place, right);
            }
        }
    }

    /// Whether no operand has another partner than the other node's.
    fn uses_partners(&self, left: usize, right: usize) -> bool {
        let operands = &self.left.computation.nodes[left].operands;
        let others = &self.right.computation.nodes[right].operands;
        operands.len() == others.len()
            && operands.iter().zip(others).all(|(&a, &b)| match self.pairs.left[a] {
                Some(partner) => partner == b,
                None => self.pairs.right[b].is_none(),
            })
    }

    /// One of a group that uses the partners of a node's operands.
    fn user_of_partners(&self, left: usize, group: &FxHashSet<usize>) -> Option<usize> {
        let operands = self.left.computation.nodes[left].operands.iter();
        let users =
            operands.filter_map(|&operand| Some(&self.right.users[self.pairs.left[operand]?]));
        users.min_by_key(|users| users.len())?.iter().copied().find(|&right| {
            group.contains(&right) && self.is_open(left, right) && self.uses_partners(left, right)
        })
    }

    /// Pairs two nodes of a group if they are open.
    fn pair_twins(&mut self, left: usize, right: usize) {
        if self.is_alike(left, right, Alike::Role) {
            self.pair_deeply(left, right);
        } else if self.is_open(left, right) {
            self.pair(left, right);
        }
    }

    /// Whether most of what is certainly the same has kept its name, so that names tell something.
    fn names_were_kept(&self) -> bool {
        let (mut same, mut all) = (0, 0);
        for (left, right) in self.pairs.left.iter().enumerate() {
            if let Some(right) = *right {
                all += 1;
                let (a, b) =
                    (&self.left.computation.nodes[left], &self.right.computation.nodes[right]);
                same += usize::from(a.name == b.name);
            }
        }
        same * 2 >= all
    }

    /// Parameters of equal number and shape, unless some came or went and the numbers mean others.
    fn parameters(&mut self) {
        let parameters = |side: &Side<'_>| -> Vec<usize> {
            let nodes = side.computation.nodes.iter().enumerate();
            nodes.filter(|(_, node)| node.opcode == "parameter").map(|(place, _)| place).collect()
        };
        let (left, right) = (parameters(&self.left), parameters(&self.right));
        if left.len() != right.len() {
            return;
        }
        let labels: FxHashMap<u32, usize> =
            right.iter().map(|&place| (self.right.classes[place].label, place)).collect();
        for place in left {
            if let Some(&right) = labels.get(&self.left.classes[place].label)
                && self.is_open(place, right)
            {
                self.pair(place, right);
            }
        }
    }

    /// Pairs what has the same name and is alike.
    fn names(&mut self, how: Alike) {
        for (left, right) in self.same_names() {
            if self.is_open(left, right) && self.is_alike(left, right, how) {
                self.pair(left, right);
            }
        }
    }

    fn same_names(&self) -> Vec<(usize, usize)> {
        let right: FxHashMap<&str, usize> = (0..self.right.classes.len())
            .filter(|&place| self.pairs.right[place].is_none())
            .map(|place| (&*self.right.computation.nodes[place].name, place))
            .collect();
        (0..self.left.classes.len())
            .filter(|&place| self.pairs.left[place].is_none())
            .filter_map(|place| {
                Some((place, *right.get(&*self.left.computation.nodes[place].name)?))
            })
            .collect()
    }

    /// Pairs operands of pairs at the same place, and what does the same to the same operands, as long
    /// as there are more.
    fn neighbours(&mut self, how: Alike) {
        while self.operands(how) | self.users(how) {}
    }

    fn operands(&mut self, how: Alike) -> bool {
        let mut any = false;
        for left in (0..self.left.classes.len()).rev() {
            let Some(right) = self.pairs.left[left] else { continue };
            let operands = &self.left.computation.nodes[left].operands;
            let others = &self.right.computation.nodes[right].operands;
            // Of lists of other lengths, such as a tuple's, places say nothing.
            if operands.len() != others.len() {
                continue;
            }
            for (&a, &b) in operands.iter().zip(others) {
                if self.is_open(a, b) && self.is_alike(a, b, how) {
                    self.pair(a, b);
                    any = true;
                }
            }
        }
        any
    }

    fn users(&mut self, how: Alike) -> bool {
        // A value that all use says little about any of them.
        const MOST_USERS: usize = 32;
        let mut any = false;
        for left in 0..self.left.classes.len() {
            if self.pairs.left[left].is_some() {
                continue;
            }
            let operands = &self.left.computation.nodes[left].operands;
            let mut best: Option<(usize, usize)> = None;
            for (index, &operand) in operands.iter().enumerate() {
                let Some(other) = self.pairs.left[operand] else { continue };
                let users = &self.right.users[other];
                if users.len() > MOST_USERS {
                    continue;
                }
                for &right in users {
                    let others = &self.right.computation.nodes[right].operands;
                    if !self.is_open(left, right)
                        || !self.is_alike(left, right, how)
                        || others.get(index) != Some(&other)
                    {
                        continue;
                    }
                    let shared = self.shared_operands(operands, others);
                    let enough = match how {
                        Alike::Role | Alike::Label => shared == operands.len(),
                        Alike::Opcode | Alike::Not => true,
                    };
                    if enough && best.is_none_or(|(most, _)| shared > most) {
                        best = Some((shared, right));
                    }
                }
            }
            if let Some((_, right)) = best {
                self.pair(left, right);
                any = true;
            }
        }
        any
    }

    fn shared_operands(&self, left: &[usize], right: &[usize]) -> usize {
        left.iter().zip(right).filter(|&(&a, &b)| self.pairs.left[a] == Some(b)).count()
    }
}
