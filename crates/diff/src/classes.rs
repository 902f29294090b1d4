//! Classes of nodes: two nodes of either graph have the same number exactly if they are alike.
//!
//! A node's *value* is its label, its operands' values and what it calls: all that its result follows
//! from. Its *role* is its value and, from the root down, the roles of its users: two equal instructions
//! and one that is used twice differ in it. A computation's class is that of its root and of all its nodes.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::graph::{Computation, Graph};

/// Numbers for keys, in the order in which they come.
struct Numbers<K>(FxHashMap<K, u32>);

impl<K: Eq + Hash> Numbers<K> {
    fn of(&mut self, key: K) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Numbers(FxHashMap::default())
    }
}

/// Shared by the graphs that are compared.
#[derive(Default)]
pub(crate) struct Classes {
    labels: Numbers<(&'static str, String, String)>,
    values: Numbers<(u32, Vec<u32>, Vec<u32>)>,
    roles: Numbers<(u32, bool, Vec<(u32, usize)>)>,
    computations: Numbers<(String, Option<u32>, Vec<u32>)>,
}

/// The classes of a graph.
pub(crate) struct Classified {
    /// By computation.
    pub(crate) computations: Vec<u32>,
    /// By computation and node.
    pub(crate) nodes: Vec<Vec<NodeClass>>,
    /// By computation and node: users, in order, each once.
    pub(crate) users: Vec<Vec<Vec<usize>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NodeClass {
    pub(crate) label: u32,
    pub(crate) value: u32,
    pub(crate) role: u32,
}

impl Classes {
    pub(crate) fn classify(&mut self, graph: &Graph) -> Classified {
        let count = graph.computations.len();
        let mut found = Classified {
            computations: vec![0; count],
            nodes: vec![Vec::new(); count],
            users: vec![Vec::new(); count],
        };
        for place in callees_first(graph) {
            let computation = &graph.computations[place];
            let users = users(computation);
            let nodes = self.nodes(computation, &users, &found.computations);
            let root = computation.root.map(|root| nodes[root].role);
            let mut roles: Vec<u32> = nodes.iter().map(|node| node.role).collect();
            roles.sort_unstable();
            let key = (computation.thread.clone(), root, roles);
            found.computations[place] = self.computations.of(key);
            found.nodes[place] = nodes;
            found.users[place] = users.into_iter().map(|of| by_place(&of)).collect();
        }
        found
    }

    fn nodes(
        &mut self,
        computation: &Computation,
        users: &[Vec<(usize, usize)>],
        computations: &[u32],
    ) -> Vec<NodeClass> {
        let mut classes: Vec<NodeClass> = Vec::with_capacity(computation.nodes.len());
        for node in &computation.nodes {
            let label = (node.opcode, node.shape.clone(), node.attributes.clone());
            let label = self.labels.of(label);
            // A broken schedule may have users before operands.
            let value = |&operand: &usize| classes.get(operand).map_or(u32::MAX, |c| c.value);
            let operands = node.operands.iter().map(value).collect();
            let calls = node.calls.iter().map(|&called| computations[called]).collect();
            let value = self.values.of((label, operands, calls));
            classes.push(NodeClass { label, value, role: 0 });
        }
        for place in (0..classes.len()).rev() {
            let role = |&(user, index): &(usize, usize)| (classes[user].role, index);
            let mut used: Vec<(u32, usize)> = users[place].iter().map(role).collect();
            used.sort_unstable();
            let is_root = computation.root == Some(place);
            classes[place].role = self.roles.of((classes[place].value, is_root, used));
        }
        classes
    }
}

/// For each node, who uses it as which operand.
fn users(computation: &Computation) -> Vec<Vec<(usize, usize)>> {
    let mut users = vec![Vec::new(); computation.nodes.len()];
    for (place, node) in computation.nodes.iter().enumerate() {
        for (index, &operand) in node.operands.iter().enumerate() {
            users[operand].push((place, index));
        }
    }
    users
}

fn by_place(uses: &[(usize, usize)]) -> Vec<usize> {
    let mut users: Vec<usize> = uses.iter().map(|&(user, _)| user).collect();
    users.dedup();
    users
}

fn callees_first(graph: &Graph) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Seen,
    }
    let count = graph.computations.len();
    let calls = |place: usize| -> Vec<usize> {
        graph.computations[place].nodes.iter().flat_map(|node| node.calls.iter().copied()).collect()
    };
    let mut visits = vec![Visit::New; count];
    let mut order = Vec::with_capacity(count);
    for start in 0..count {
        if visits[start] == Visit::Seen {
            continue;
        }
        visits[start] = Visit::Seen;
        let mut stack = vec![(start, calls(start))];
        while let Some((place, left)) = stack.last_mut() {
            match left.pop() {
                Some(called) if visits[called] == Visit::New => {
                    visits[called] = Visit::Seen;
                    stack.push((called, calls(called)));
                }
                Some(_) => {}
                None => {
                    order.push(*place);
                    stack.pop();
                }
            }
        }
    }
    order
}
