//! `call-inliner`, XLA's CallInliner: puts the body of what is called in place of the call.
//!
//! Calls onto another thread stay, and so do those that say `inlineable="false"`.

use rxla_base::{Error, Result};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};

use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};

pub struct CallInliner;

/// Calls of calls can double with each level; beyond so many instructions it is given up.
pub const MAX_INSTRUCTIONS: usize = 1 << 22;

impl Pass for CallInliner {
    fn name(&self) -> &'static str {
        "call-inliner"
    }

    fn class(&self) -> &'static str {
        "CallInliner"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        // Callees come first, so what is put in has no calls left.
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                let Some(callee) = inlineable(module, site) else { continue };
                let grown = module.instruction_capacity() + module[callee].instructions().len();
                if grown > MAX_INSTRUCTIONS {
                    return Err(Error::resource_exhausted(format!(
                        "`{}` has more than {MAX_INSTRUCTIONS} instructions when its calls are \
                         inlined",
                        module.name
                    )));
                }
                if !cx.spend() {
                    return Ok(made);
                }
                inline(module, site, callee);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// The callee of a call that may be replaced by its body.
fn inlineable(module: &Module, site: InstructionId) -> Option<ComputationId> {
    let Op::Call(op) = &module[site].op else { return None };
    let thread = &module[module[site].parent()].execution_thread;
    let forbidden = module[site].info().is_some_and(|info| {
        info.frontend_attributes.get("inlineable").is_some_and(|value| value == "false")
    });
    (!forbidden && module[op.to_apply].execution_thread == *thread).then_some(op.to_apply)
}

/// Puts the body of `callee` in place of `site`, whose operands are its arguments.
pub(crate) fn inline(module: &mut Module, site: InstructionId, callee: ComputationId) {
    let arguments = module[site].operands().to_vec();
    inline_with(module, site, callee, &arguments);
}

/// The same with arguments that need not be the operands of `site`.
pub(crate) fn inline_with(
    module: &mut Module,
    site: InstructionId,
    callee: ComputationId,
    arguments: &[InstructionId],
) {
    let fresh = module.instruction_capacity();
    let before = module[site].control_predecessors().to_vec();
    let after = module[site].control_successors().to_vec();
    let root = module.inline_at(site, callee, arguments);
    let body = (fresh..module.instruction_capacity()).map(InstructionId::from_index);
    for inlined in body.clone() {
        inherit_metadata(module, site, inlined);
    }
    if !(before.is_empty() && after.is_empty()) {
        // All of the body happens where the call happened. A body that is nothing but a parameter
        // happens nowhere, and what waited for it waits for its predecessors when it goes.
        module.take_control_edges(site);
        for inlined in body.clone() {
            before.iter().for_each(|&b| module.add_control_edge(b, inlined));
            after.iter().for_each(|&a| module.add_control_edge(inlined, a));
        }
        if body.clone().next().is_none() {
            for &b in &before {
                after.iter().for_each(|&a| module.add_control_edge(b, a));
            }
        }
    }
    module.replace_all_uses(site, root);
    module.remove_instruction(site);
}

/// What has no place in the source of its own is where the call was.
pub(crate) fn inherit_metadata(module: &mut Module, site: InstructionId, inlined: InstructionId) {
    let Some(info) = module[site].info() else { return };
    let place = info.metadata.clone();
    if module[inlined].metadata().is_none_or(|own| *own == Default::default())
        && place != Default::default()
    {
        module[inlined].info_mut().metadata = place;
    }
}
