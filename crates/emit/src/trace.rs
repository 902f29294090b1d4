//! Where a result comes from, through tuples and copies: an operand, updates of one, a scatter.

use rxla_hlo::Op;

use crate::emitter::{Emitter, Leaf, Node};
use crate::shapes::{leaves_before, operand_of_leaf};

/// The `scatter` that makes a result; the node's leaf is which of its results.
pub(crate) fn scatter_of(emitter: &Emitter<'_>, node: &Node) -> Option<Node> {
    let node = maker(emitter, node);
    let own = !emitter.frames[node.frame].leaves.contains_key(&node.id);
    (own && matches!(emitter.module[node.id].op, Op::Scatter(_))).then_some(node)
}

pub(crate) fn select_and_scatter_of(emitter: &Emitter<'_>, node: &Node) -> Option<Node> {
    let node = maker(emitter, node);
    let own = !emitter.frames[node.frame].leaves.contains_key(&node.id);
    (own && matches!(emitter.module[node.id].op, Op::SelectAndScatter(_))).then_some(node)
}

/// What makes a leaf of a value, through tuples and copies.
pub(crate) fn maker(emitter: &Emitter<'_>, node: &Node) -> Node {
    let module = emitter.module;
    let mut node = node.clone();
    while !emitter.frames[node.frame].leaves.contains_key(&node.id) {
        let operands = module[node.id].operands();
        match &module[node.id].op {
            Op::Tuple(_) => {
                let Ok((number, leaf)) = operand_of_leaf(module, node.id, node.leaf) else { break };
                node = Node { id: operands[number], leaf, ..node };
            }
            Op::GetTupleElement(op) => {
                let Ok(before) = leaves_before(&module[operands[0]].shape, op.index as usize)
                else {
                    break;
                };
                node = Node { id: operands[0], leaf: before + node.leaf, ..node };
            }
            Op::Copy(_) => node.id = operands[0],
            _ => break,
        }
    }
    node
}

/// The operand leaf that a value is, if it is one.
pub(crate) fn source(emitter: &Emitter<'_>, node: &Node) -> Option<usize> {
    let node = maker(emitter, node);
    match emitter.frames[node.frame].leaves.get(&node.id)? {
        Leaf::Sources(_, first) => Some(first + node.leaf),
        Leaf::Outer(..) | Leaf::Elements(_) => None,
    }
}

/// The updates, the first one first, that make a result from an operand.
pub(crate) fn updates_of(emitter: &Emitter<'_>, node: &Node, operand: usize) -> Option<Vec<Node>> {
    let module = emitter.module;
    let mut node = node.clone();
    let mut updates = Vec::new();
    // More updates on top of each other than this are written as a whole.
    while updates.len() < 16 {
        match emitter.frames[node.frame].leaves.get(&node.id) {
            Some(Leaf::Sources(_, first)) if first + node.leaf == operand => {
                updates.reverse();
                return (!updates.is_empty()).then_some(updates);
            }
            Some(_) => return None,
            None => {}
        }
        let instruction = &module[node.id];
        match &instruction.op {
            Op::Tuple(_) => {
                let (number, leaf) = operand_of_leaf(module, node.id, node.leaf).ok()?;
                node = Node { id: instruction.operands()[number], leaf, ..node };
            }
            Op::Copy(_) => node.id = instruction.operands()[0],
            Op::DynamicUpdateSlice(_) => {
                updates.push(node.clone());
                node.id = instruction.operands()[0];
            }
            _ => return None,
        }
    }
    None
}
