//! Copying computations: whole, or into their caller.

use rustc_hash::FxHashMap;

use super::{ComputationId, InstructionId, Module};
use crate::Op;

impl Module {
    /// A copy of a computation that calls the same computations. The name is made unique.
    pub fn clone_computation(&mut self, computation: ComputationId, name: &str) -> ComputationId {
        let copy = self.add_computation(name);
        self[copy].execution_thread = self[computation].execution_thread.clone();
        let root = self.copy_into(computation, copy, |_, _, _| None);
        self.set_root(root);
        copy
    }

    /// Copies the body of `callee` into the computation of `site`, with `arguments` in place of
    /// parameters, and returns the copy of the root. `site` itself stays as it is.
    pub fn inline_at(
        &mut self,
        site: InstructionId,
        callee: ComputationId,
        arguments: &[InstructionId],
    ) -> InstructionId {
        let into = self[site].parent();
        self.copy_into(callee, into, |_, _, number| arguments.get(number).copied())
    }

    /// Copies all instructions of `from` to the end of `into`. `argument` may give what stands for
    /// a parameter; where it does not, the parameter is copied. Returns the copy of the root.
    pub fn copy_into(
        &mut self,
        from: ComputationId,
        into: ComputationId,
        mut argument: impl FnMut(&mut Module, InstructionId, usize) -> Option<InstructionId>,
    ) -> InstructionId {
        let mut copies: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
        for original in self.post_order(from) {
            if let Op::Parameter(parameter) = &self[original].op {
                let number = parameter.number as usize;
                if let Some(stand_in) = argument(self, original, number) {
                    copies.insert(original, stand_in);
                    continue;
                }
            }
            let instruction = &self[original];
            let operands: Vec<_> = instruction.operands().iter().map(|o| copies[o]).collect();
            let before: Vec<_> =
                instruction.control_predecessors().iter().map(|o| copies[o]).collect();
            let copy = self.copy_instruction(original, into, &operands);
            for predecessor in before {
                self.add_control_edge(predecessor, copy);
            }
            copies.insert(original, copy);
        }
        copies[&self[from].root()]
    }

    /// The same instruction with these operands, at the end of `into`. Control edges are not copied.
    pub fn copy_instruction(
        &mut self,
        original: InstructionId,
        into: ComputationId,
        operands: &[InstructionId],
    ) -> InstructionId {
        let instruction = &self[original];
        let name = instruction.name().to_owned();
        let (op, shape) = (instruction.op.clone(), instruction.shape.clone());
        let info = instruction.info().cloned();
        let copy = self.add_instruction(into, &name, op, shape, operands);
        if let Some(info) = info {
            *self[copy].info_mut() = info;
        }
        copy
    }
}
