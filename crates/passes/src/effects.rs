//! What passes ask of the module as a whole: which instructions do something besides computing
//! their result, called computations included, and which computations are theirs to change.

use rustc_hash::FxHashSet;
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

/// The computations with effects. It holds until a computation gains or loses an effect.
pub struct Effects {
    computations: FxHashSet<ComputationId>,
}

impl Effects {
    pub fn of(module: &Module) -> Effects {
        let mut effects = Effects { computations: FxHashSet::default() };
        // Callees come first, so each computation is looked at once.
        for computation in module.computation_post_order() {
            let found = module[computation].instructions().iter();
            if found.into_iter().any(|&i| effects.has(module, i)) {
                effects.computations.insert(computation);
            }
        }
        effects
    }

    /// Whether the instruction may be neither removed, merged nor moved freely.
    pub fn has(&self, module: &Module, instruction: InstructionId) -> bool {
        let op = &module[instruction].op;
        op.has_side_effect() || self.in_callee(op)
    }

    fn in_callee(&self, op: &Op) -> bool {
        !self.computations.is_empty()
            && op.called_computations().iter().any(|callee| self.computations.contains(callee))
    }
}

/// The computations that the entry reaches, callees first, without fused ones: those are finished,
/// and belong to who fused them.
pub fn unfused_computations(module: &Module) -> Vec<ComputationId> {
    let mut order = module.computation_post_order();
    let fused: FxHashSet<ComputationId> = order
        .iter()
        .flat_map(|&computation| module[computation].instructions())
        .filter_map(|&i| {
            let Op::Fusion(op) = &module[i].op else { return None };
            Some(op.calls)
        })
        .collect();
    if !fused.is_empty() {
        order.retain(|computation| !fused.contains(computation));
    }
    order
}
