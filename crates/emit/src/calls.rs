//! Computations inlined where they are called: their parameters are other frames' instructions, or
//! elements.

use rxla_base::Result;
use rxla_hlo::ComputationId;

use crate::affine::Index;
use crate::emitter::{Emitter, Frame, Leaf, Node, Placed};

impl Emitter<'_> {
    /// The root of a computation called with this node's operands, at this node's index.
    pub(crate) fn called(&mut self, node: &Node, computation: ComputationId) -> Result<Node> {
        let key = Node { index: Index::new(), leaf: usize::MAX - 1, ..node.clone() };
        let frame = match self.frame_numbers.get(&(key.frame, key.id)) {
            Some(&frame) => frame,
            None => {
                let operands = self.module[node.id].operands();
                let parameters = self.module[computation].parameters();
                let leaves = parameters
                    .iter()
                    .zip(operands)
                    .map(|(&parameter, &operand)| (parameter, Leaf::Outer(node.frame, operand)));
                let frame =
                    Frame { leaves: leaves.collect(), depth: self.frames[node.frame].depth };
                self.frames.push(frame);
                self.frame_numbers.insert((key.frame, key.id), self.frames.len() - 1);
                self.frames.len() - 1
            }
        };
        let id = self.module[computation].root();
        Ok(Node { frame, id, ..node.clone() })
    }

    /// A computation of scalars applied to elements; the leaf of its result.
    pub(crate) fn applied(
        &mut self,
        computation: ComputationId,
        arguments: Vec<Placed>,
        leaf: usize,
    ) -> Result<Placed> {
        let frame = self.frame_of(computation, arguments);
        let id = self.module[computation].root();
        self.element(&Node { frame, id, leaf, index: Index::new() })
    }

    /// A frame in which the parameters of a computation are these elements.
    pub(crate) fn frame_of(&mut self, computation: ComputationId, arguments: Vec<Placed>) -> usize {
        let depth = arguments.iter().map(|argument| argument.depth).max().unwrap_or(self.base);
        let parameters = self.module[computation].parameters();
        let leaves = parameters
            .iter()
            .zip(arguments)
            .map(|(&parameter, argument)| (parameter, Leaf::Elements(vec![argument])));
        self.frames.push(Frame { leaves: leaves.collect(), depth });
        self.frames.len() - 1
    }
}
