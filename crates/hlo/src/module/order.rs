//! Orders over a module's graph: operands before users, callees before callers.

use rxla_base::SecondaryMap;

use super::{Computation, ComputationId, InstructionId, Module};

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Visit {
    #[default]
    New,
    Open,
    Done,
}

impl Module {
    /// The instructions of a computation with operands and control predecessors before users.
    ///
    /// Ties keep text order, so a computation that is already in order comes back unchanged.
    /// Panics on a cycle, which readers and the verifier refuse first.
    pub fn post_order(&self, computation: ComputationId) -> Vec<InstructionId> {
        let instructions = self[computation].instructions();
        let mut order = Vec::with_capacity(instructions.len());
        // From the lowest id on: those of a computation are near each other, those of a module many.
        let first = instructions.iter().map(|i| i.index()).min().unwrap_or(0);
        let last = instructions.iter().map(|i| i.index()).max().unwrap_or(0);
        let mut state = vec![Visit::New; last + 1 - first];
        // An explicit stack: chains of a hundred thousand instructions are real.
        let mut stack: Vec<(InstructionId, usize)> = Vec::new();
        for &start in instructions {
            if state[start.index() - first] == Visit::Done {
                continue;
            }
            stack.push((start, 0));
            state[start.index() - first] = Visit::Open;
            while let Some((instruction, next)) = stack.last_mut() {
                let current = &self[*instruction];
                let operands = current.operands();
                let before = operands
                    .get(*next)
                    .or_else(|| current.control_predecessors().get(*next - operands.len()));
                match before {
                    Some(&before) => {
                        *next += 1;
                        match state[before.index() - first] {
                            Visit::New => {
                                state[before.index() - first] = Visit::Open;
                                stack.push((before, 0));
                            }
                            Visit::Open => panic!("`{}` is part of a cycle", self[before].name()),
                            Visit::Done => {}
                        }
                    }
                    None => {
                        state[instruction.index() - first] = Visit::Done;
                        order.push(*instruction);
                        stack.pop();
                    }
                }
            }
        }
        order
    }

    /// Computations reachable from the entry, callees before callers.
    pub fn computation_post_order(&self) -> Vec<ComputationId> {
        let mut order = Vec::new();
        let mut state: SecondaryMap<Computation, Visit> = SecondaryMap::default();
        let callees = |computation: ComputationId| -> Vec<ComputationId> {
            self[computation]
                .instructions()
                .iter()
                .flat_map(|&i| self[i].op.called_computations())
                .collect()
        };
        let entry = self.entry();
        let mut stack = vec![(entry, callees(entry), 0)];
        state[entry] = Visit::Open;
        while let Some((computation, called, next)) = stack.last_mut() {
            if let Some(&callee) = called.get(*next) {
                *next += 1;
                match state[callee] {
                    Visit::New => {
                        state[callee] = Visit::Open;
                        stack.push((callee, callees(callee), 0));
                    }
                    Visit::Open => panic!("`{}` calls itself", self[callee].name()),
                    Visit::Done => {}
                }
            } else {
                state[*computation] = Visit::Done;
                order.push(*computation);
                stack.pop();
            }
        }
        order
    }
}
