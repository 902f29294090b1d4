//! Which computation is which, and what differs in each pair.

use rustc_hash::FxHashMap;

use crate::classes::{Classes, Classified};
use crate::graph::{Computation, Graph};
use crate::pairs::{Pairs, Side, pairs};

/// What differs between two graphs. Places are those of [`Graph::computations`] and of their nodes.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    pub header: bool,
    /// Whether other computations are the entries.
    pub entry: bool,
    /// In the order of the right graph; what the left one alone has comes last.
    pub changes: Vec<Change>,
    /// Instructions that are the same.
    pub same: usize,
    /// Pairs of computations and of instructions whose names differ; instructions after the place of
    /// their computation. Some of these are changed as well.
    pub renamed_computations: Vec<(usize, usize)>,
    pub renamed: Vec<((usize, usize), (usize, usize))>,
    /// Of the instructions that are the same, those that have another name.
    pub same_but_renamed: usize,
}

impl Difference {
    pub fn is_none(&self) -> bool {
        !self.header && !self.entry && self.changes.is_empty()
    }
}

/// What differs in a computation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    Added {
        right: usize,
        /// One on the left that is the same, of which this is a copy.
        copy_of: Option<usize>,
    },
    Removed {
        left: usize,
        copy_of: Option<usize>,
    },
    Changed {
        left: usize,
        right: usize,
        added: Vec<usize>,
        removed: Vec<usize>,
        changed: Vec<Changed>,
        /// Whether the roots are no pair, or the threads are others.
        root: bool,
        thread: bool,
    },
}

/// An instruction that is another than its partner, and in what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    pub left: usize,
    pub right: usize,
    pub reasons: Vec<&'static str>,
}

pub fn compare(left: &Graph, right: &Graph) -> Difference {
    let mut classes = Classes::default();
    let sides = (classes.classify(left), classes.classify(right));
    let mut comparison = Comparison {
        left,
        right,
        left_classes: &sides.0,
        right_classes: &sides.1,
        partner: vec![None; left.computations.len()],
        partner_right: vec![None; right.computations.len()],
        nodes: FxHashMap::default(),
    };
    comparison.pair_computations();
    comparison.difference()
}

struct Comparison<'a> {
    left: &'a Graph,
    right: &'a Graph,
    left_classes: &'a Classified,
    right_classes: &'a Classified,
    partner: Vec<Option<usize>>,
    partner_right: Vec<Option<usize>>,
    /// The pairs of nodes, by the computation on the left.
    nodes: FxHashMap<usize, Pairs>,
}

fn side<'a>(graph: &'a Graph, classes: &'a Classified, place: usize) -> Side<'a> {
    Side {
        computation: &graph.computations[place],
        classes: &classes.nodes[place],
        users: &classes.users[place],
    }
}

impl Comparison<'_> {
    fn pair_computations(&mut self) {
        if let (Some(left), Some(right)) = (self.left.entry, self.right.entry) {
            self.pair(left, right);
        }
        // What the pairs call first, since calls tell more than names, which tell more than being equal.
        self.pair_equal(Names::Same);
        self.pair_equal(Names::Any);
        for left in 0..self.left.computations.len() {
            let name = &self.left.computations[left].name;
            let named =
                self.right.computations.iter().position(|computation| computation.name == *name);
            if let Some(right) = named {
                self.pair(left, right);
            }
        }
    }

    /// Pairs two computations, and what they call differently.
    fn pair(&mut self, left: usize, right: usize) {
        let mut open = vec![(left, right)];
        while let Some((left, right)) = open.pop() {
            if self.partner[left].is_some() || self.partner_right[right].is_some() {
                continue;
            }
            self.partner[left] = Some(right);
            self.partner_right[right] = Some(left);
            let sides = (
                side(self.left, self.left_classes, left),
                side(self.right, self.right_classes, right),
            );
            let found = pairs(sides.0, sides.1);
            for (node, partner) in found.left.iter().enumerate().rev() {
                let Some(partner) = *partner else { continue };
                let calls = &sides.0.computation.nodes[node].calls;
                let others = &sides.1.computation.nodes[partner].calls;
                if calls.len() != others.len() {
                    continue;
                }
                for (&a, &b) in calls.iter().zip(others) {
                    // Equal ones find each other by name, where there are several.
                    let is_named =
                        self.left.computations[a].name == self.right.computations[b].name;
                    if is_named
                        || self.left_classes.computations[a] != self.right_classes.computations[b]
                    {
                        open.push((a, b));
                    }
                }
            }
            self.nodes.insert(left, found);
        }
    }

    fn pair_equal(&mut self, names: Names) {
        let (lefts, rights) = (self.left, self.right);
        let mut equal: FxHashMap<(u32, Option<&str>), Vec<usize>> = FxHashMap::default();
        for right in (0..rights.computations.len()).rev() {
            if self.partner_right[right].is_none() {
                let name = names.of(&rights.computations[right]);
                let key = (self.right_classes.computations[right], name);
                equal.entry(key).or_default().push(right);
            }
        }
        for left in 0..self.left.computations.len() {
            if self.partner[left].is_some() {
                continue;
            }
            let name = names.of(&lefts.computations[left]);
            let key = (self.left_classes.computations[left], name);
            let Some(equal) = equal.get_mut(&key) else { continue };
            while let Some(right) = equal.pop() {
                if self.partner_right[right].is_none() {
                    self.pair(left, right);
                    break;
                }
            }
        }
    }

    fn difference(&self) -> Difference {
        let entries = (self.left.entry, self.right.entry);
        let mut found = Difference {
            header: self.left.header != self.right.header,
            entry: entries.0.is_some() != entries.1.is_some(),
            ..Difference::default()
        };
        let copy = |class: u32, of: &Classified| of.computations.iter().position(|&c| c == class);
        for right in 0..self.right.computations.len() {
            match self.partner_right[right] {
                Some(left) => self.compare(left, right, &mut found),
                None => {
                    let class = self.right_classes.computations[right];
                    let copy_of = copy(class, self.left_classes);
                    found.changes.push(Change::Added { right, copy_of });
                }
            }
        }
        for left in 0..self.left.computations.len() {
            if self.partner[left].is_none() {
                let class = self.left_classes.computations[left];
                let copy_of = copy(class, self.right_classes);
                found.changes.push(Change::Removed { left, copy_of });
            }
        }
        found
    }

    fn compare(&self, left: usize, right: usize, found: &mut Difference) {
        let (a, b) = (&self.left.computations[left], &self.right.computations[right]);
        let pairs = &self.nodes[&left];
        if a.name != b.name {
            found.renamed_computations.push((left, right));
        }
        let mut changed = Vec::new();
        for (place, partner) in pairs.right.iter().enumerate() {
            let Some(partner) = *partner else { continue };
            let reasons = self.reasons(a, b, pairs, partner, place);
            let is_renamed = a.nodes[partner].name != b.nodes[place].name;
            if is_renamed {
                found.renamed.push(((left, partner), (right, place)));
            }
            if reasons.is_empty() {
                found.same += 1;
                found.same_but_renamed += usize::from(is_renamed);
            } else {
                changed.push(Changed { left: partner, right: place, reasons });
            }
        }
        let lonely = |of: &[Option<usize>]| -> Vec<usize> {
            (0..of.len()).filter(|&place| of[place].is_none()).collect()
        };
        let (removed, added) = (lonely(&pairs.left), lonely(&pairs.right));
        let root = a.root.map(|root| pairs.left[root]) != b.root.map(Some);
        let thread = a.thread != b.thread;
        if root || thread || !changed.is_empty() || !removed.is_empty() || !added.is_empty() {
            found.changes.push(Change::Changed {
                left,
                right,
                added,
                removed,
                changed,
                root,
                thread,
            });
        }
    }

    /// In what an instruction differs from its partner.
    fn reasons(
        &self,
        a: &Computation,
        b: &Computation,
        pairs: &Pairs,
        left: usize,
        right: usize,
    ) -> Vec<&'static str> {
        let (old, new) = (&a.nodes[left], &b.nodes[right]);
        let partners = |of: &[usize]| -> Vec<Option<usize>> {
            of.iter().map(|&place| pairs.left[place]).collect()
        };
        let own = |of: &[usize]| -> Vec<Option<usize>> { of.iter().map(|&p| Some(p)).collect() };
        let mut after = partners(&old.after);
        after.sort_unstable();
        let calls = old.calls.len() == new.calls.len()
            && old.calls.iter().zip(&new.calls).all(|(&called, &other)| {
                self.partner[called] == Some(other)
                    || self.left_classes.computations[called]
                        == self.right_classes.computations[other]
            });
        let attributes = match new.opcode {
            "constant" => "value",
            "parameter" => "number or attributes",
            _ => "attributes",
        };
        [
            (old.opcode == new.opcode, "op"),
            (old.shape == new.shape, "shape"),
            (old.attributes == new.attributes || old.opcode != new.opcode, attributes),
            (partners(&old.operands) == own(&new.operands), "operands"),
            (calls, "computations"),
            (after == own(&new.after), "control-predecessors"),
        ]
        .into_iter()
        .filter_map(|(is_same, what)| (!is_same).then_some(what))
        .collect()
    }
}

/// Whether equal computations have to have equal names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Same,
    Any,
}

impl Names {
    fn of(self, computation: &Computation) -> Option<&str> {
        match self {
            Names::Same => Some(&computation.name),
            Names::Any => None,
        }
    }
}
