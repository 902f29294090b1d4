//! The plan of a computation: in which order its instructions run and where each value is used
//! last, so that it can be moved instead of shared. Made once per computation and module.

use std::sync::OnceLock;

use rxla_hlo::{ComputationId, InstructionId, Literal, Module, Op};
use smallvec::SmallVec;

use crate::comparator::Comparator;
use crate::context::DEPTH_LIMIT;
use crate::reducer::Reducer;

/// What was found out about the computations of a module, filled in when first needed.
pub(crate) struct Plans(Vec<Facts>);

#[derive(Default)]
struct Facts {
    plan: OnceLock<Plan>,
    reducer: OnceLock<Reducer>,
    comparator: OnceLock<Comparator>,
    liftable: OnceLock<bool>,
}

impl Plans {
    pub(crate) fn new(module: &Module) -> Plans {
        let count = module.computations().iter().map(|c| c.index() + 1).max().unwrap_or(0);
        Plans((0..count).map(|_| Facts::default()).collect())
    }

    pub(crate) fn plan(&self, module: &Module, computation: ComputationId) -> &Plan {
        self.0[computation.index()].plan.get_or_init(|| Plan::new(module, computation))
    }

    pub(crate) fn reducer(&self, module: &Module, computation: ComputationId) -> Reducer {
        *self.0[computation.index()].reducer.get_or_init(|| Reducer::of(module, computation))
    }

    pub(crate) fn comparator(&self, module: &Module, computation: ComputationId) -> &Comparator {
        self.0[computation.index()].comparator.get_or_init(|| Comparator::of(module, computation))
    }

    pub(crate) fn liftable(&self, module: &Module, computation: ComputationId) -> bool {
        self.liftable_at(module, computation, 0)
    }

    /// [`Plans::liftable`] of what is called at some depth: too deep is none of our business.
    pub(crate) fn liftable_at(
        &self,
        module: &Module,
        computation: ComputationId,
        depth: u32,
    ) -> bool {
        let fact = &self.0[computation.index()].liftable;
        depth < DEPTH_LIMIT
            && *fact.get_or_init(|| crate::lift::is_liftable(self, module, computation, depth))
    }
}

/// How one computation is run.
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Per parameter its slot, or `None` if nothing reads it.
    pub(crate) parameters: Vec<Option<usize>>,
    pub(crate) root: usize,
    /// Number of values held.
    pub(crate) slots: usize,
}

pub(crate) struct Step {
    pub(crate) instruction: InstructionId,
    pub(crate) operands: SmallVec<[Use; 2]>,
    pub(crate) slot: usize,
    /// Bytes of the result as the module says it; `None` if no memory could hold it.
    pub(crate) bytes: Option<usize>,
    /// Whether nothing reads the result: it is run for its effects.
    pub(crate) unread: bool,
    /// The value of a constant, without layout.
    pub(crate) constant: Option<Literal>,
}

/// A read of a value.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) slot: usize,
    /// The last read of the value: it may be moved out.
    pub(crate) last: bool,
    /// For `get-tuple-element`: the last read of this element of a tuple of which only elements
    /// are read, so that the element may be moved out.
    pub(crate) last_of_element: bool,
}

impl Plan {
    fn new(module: &Module, computation: ComputationId) -> Plan {
        let order = module.post_order(computation);
        let root = module[computation].root();
        let live = live(module, &order, root);
        let position: rustc_hash::FxHashMap<InstructionId, usize> =
            order.iter().enumerate().map(|(position, &i)| (i, position)).collect();
        let mut steps = Vec::new();
        for (slot, &instruction) in order.iter().enumerate() {
            if !live[slot] || matches!(module[instruction].op, Op::Parameter(_)) {
                continue;
            }
            let operands = module[instruction].operands().iter().map(|operand| Use {
                slot: position[operand],
                last: false,
                last_of_element: false,
            });
            let constant = match &module[instruction].op {
                Op::Constant(constant) => Some(without_layout(&constant.literal)),
                _ => None,
            };
            let operands = operands.collect();
            let bytes = module[instruction].shape.byte_size();
            steps.push(Step { instruction, operands, slot, bytes, unread: false, constant });
        }
        let root = position[&root];
        mark_last_uses(module, &order, &mut steps, root);
        let mut read = vec![false; order.len()];
        read[root] = true;
        steps.iter().flat_map(|step| &step.operands).for_each(|operand| read[operand.slot] = true);
        for step in &mut steps {
            step.unread = !read[step.slot];
        }
        let parameters = module[computation]
            .parameters()
            .iter()
            .map(|parameter| position.get(parameter).copied().filter(|&slot| read[slot]))
            .collect();
        Plan { steps, parameters, root, slots: order.len() }
    }
}

/// Which instructions must run: what the root needs and what has effects.
fn live(module: &Module, order: &[InstructionId], root: InstructionId) -> Vec<bool> {
    let mut needed: rustc_hash::FxHashSet<InstructionId> = [root].into_iter().collect();
    let mut live = vec![false; order.len()];
    for (slot, &id) in order.iter().enumerate().rev() {
        let instruction = &module[id];
        live[slot] = needed.contains(&id)
            || instruction.op.has_side_effect()
            || !instruction.op.called_computations().is_empty()
            || crate::collective::is_collective(&instruction.op);
        if live[slot] {
            needed.extend(instruction.operands().iter().copied());
        }
    }
    live
}

fn mark_last_uses(module: &Module, order: &[InstructionId], steps: &mut [Step], root: usize) {
    let mut seen = vec![false; order.len()];
    seen[root] = true;
    let mut only_elements_read = vec![true; order.len()];
    only_elements_read[root] = false;
    for step in steps.iter() {
        if !matches!(module[step.instruction].op, Op::GetTupleElement(_)) {
            step.operands.iter().for_each(|operand| only_elements_read[operand.slot] = false);
        }
    }
    let mut elements_seen = rustc_hash::FxHashSet::default();
    for step in steps.iter_mut().rev() {
        for operand in step.operands.iter_mut().rev() {
            operand.last = !std::mem::replace(&mut seen[operand.slot], true);
            if let Op::GetTupleElement(element) = &module[step.instruction].op {
                let first_seen = elements_seen.insert((operand.slot, element.index));
                operand.last_of_element = only_elements_read[operand.slot] && first_seen;
            }
        }
    }
}

/// The literal with plain row-major shapes, as all values in here have.
pub(crate) fn without_layout(literal: &Literal) -> Literal {
    match literal {
        Literal::Array(array) if array.shape().layout.is_some() => {
            let shape = array.shape().without_layout();
            Literal::Array(array.clone().with_shape(&shape).expect("the same dimensions"))
        }
        Literal::Array(array) => Literal::Array(array.clone()),
        Literal::Tuple(elements) => Literal::Tuple(elements.iter().map(without_layout).collect()),
        Literal::Token => Literal::Token,
    }
}
