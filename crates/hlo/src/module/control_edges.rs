//! Control edges: an order between instructions of a computation although no value flows. Each edge
//! stands on both of its sides, so that neither is searched for.

use super::{InstructionId, Module};

/// What an instruction waits for, and what waits for it, although no value flows. Each edge stands
/// on both of its sides.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlEdges {
    pub(super) predecessors: Vec<InstructionId>,
    pub(super) successors: Vec<InstructionId>,
}

impl Module {
    /// Orders `before` before `after` although no value flows.
    pub fn add_control_edge(&mut self, before: InstructionId, after: InstructionId) {
        // An edge stands on both sides; the shorter list says as well whether it is there.
        let predecessors = self.instructions[after].control_predecessors();
        let successors = self.instructions[before].control_successors();
        let known = if predecessors.len() <= successors.len() {
            predecessors.contains(&before)
        } else {
            successors.contains(&after)
        };
        if !known {
            self.instructions[after].control.get_or_insert_default().predecessors.push(before);
            self.instructions[before].control.get_or_insert_default().successors.push(after);
        }
    }

    /// Takes away the control edges of an instruction, and returns its predecessors and successors.
    pub fn take_control_edges(
        &mut self,
        of: InstructionId,
    ) -> (Vec<InstructionId>, Vec<InstructionId>) {
        let Some(control) = self.instructions[of].control.take() else { return Default::default() };
        let ControlEdges { predecessors, successors } = *control;
        for &before in &predecessors {
            if let Some(control) = &mut self.instructions[before].control {
                control.successors.retain(|&edge| edge != of);
            }
        }
        for &after in &successors {
            if let Some(control) = &mut self.instructions[after].control {
                control.predecessors.retain(|&edge| edge != of);
            }
        }
        (predecessors, successors)
    }

    /// Puts `new` in `old`'s place in the order.
    pub(super) fn move_control_edges(&mut self, old: InstructionId, new: InstructionId) {
        let (predecessors, successors) = self.take_control_edges(old);
        for after in successors.into_iter().filter(|&after| after != new) {
            self.add_control_edge(new, after);
        }
        for before in predecessors.into_iter().filter(|&before| before != new) {
            self.add_control_edge(before, new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ComputationId, ElementType, Shape, UnaryKind};

    /// A parameter and `count` instructions that negate it.
    fn module(count: usize) -> (Module, Vec<InstructionId>) {
        let mut module = Module::new("m");
        let entry = module.add_computation("entry");
        module.set_entry(entry);
        let x = module.add_parameter(entry, "x", Shape::scalar(ElementType::F32));
        let made = (0..count)
            .map(|_| module.add_unary(entry, UnaryKind::Negate, x).expect("floats have signs"))
            .collect();
        module.set_root(x);
        (module, made)
    }

    #[test]
    fn an_edge_stands_on_both_sides_once() {
        let (mut m, i) = module(2);
        m.add_control_edge(i[0], i[1]);
        m.add_control_edge(i[0], i[1]);
        assert_eq!(m[i[0]].control_successors(), [i[1]]);
        assert_eq!(m[i[1]].control_predecessors(), [i[0]]);
        let none: Vec<InstructionId> = Vec::new();
        assert_eq!(m.take_control_edges(i[1]), (vec![i[0]], none));
        assert!(!m[i[0]].has_control_edges() && !m[i[1]].has_control_edges());
    }

    #[test]
    fn order_outlives_what_stood_between() {
        let (mut m, i) = module(3);
        m.add_control_edge(i[0], i[1]);
        m.add_control_edge(i[1], i[2]);
        m.remove_instruction(i[1]);
        assert_eq!(m[i[2]].control_predecessors(), [i[0]]);
        assert_eq!(m[i[0]].control_successors(), [i[2]]);
    }

    #[test]
    fn a_replacement_takes_the_edges() {
        let (mut m, i) = module(4);
        m.add_control_edge(i[0], i[1]);
        m.add_control_edge(i[1], i[2]);
        m.add_control_edge(i[1], i[3]);
        // An edge to what replaces it would be a cycle.
        m.replace_all_uses(i[1], i[3]);
        assert!(!m[i[1]].has_control_edges());
        assert_eq!(m[i[3]].control_predecessors(), [i[0]]);
        assert_eq!(m[i[3]].control_successors(), [i[2]]);
    }

    #[test]
    fn copies_have_edges_of_their_own() {
        let (mut m, i) = module(2);
        m.add_control_edge(i[0], i[1]);
        let copy = m.clone_computation(m.entry(), "copy");
        let edges = |m: &Module, computation: ComputationId| -> usize {
            m[computation].instructions().iter().map(|&i| m[i].control_predecessors().len()).sum()
        };
        assert_eq!((edges(&m, m.entry()), edges(&m, copy)), (1, 1));
        let last = *m[copy].instructions().last().expect("not empty");
        m.take_control_edges(last);
        assert_eq!((edges(&m, m.entry()), edges(&m, copy)), (1, 0));
    }
}
