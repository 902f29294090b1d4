//! Products that the runtime computes take along the slices that they read and the update that they make:
//! it reads and writes parts of arrays where they lie.
//! Where a mask hides columns, the number goes with them that says which.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{Fusion, FusionKind};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};
use rxla_passes::Context;

use super::masked::{self, Seen};
use super::overwrite::origin;

/// Makes the fusions of a computation and returns how many.
pub(super) fn fuse(module: &mut Module, computation: ComputationId, cx: &Context) -> u64 {
    let mut made = 0;
    // All of them before the first is made: slices and updates go with it.
    let is_dot = |id: &InstructionId| matches!(module[*id].op, Op::Dot(_));
    let dots: Vec<InstructionId> =
        module.post_order(computation).into_iter().filter(is_dot).collect();
    for dot in dots {
        // What is small is computed by a kernel of ours.
        if module[dot].has_control_edges() || crate::kernels::supports(module, dot) {
            continue;
        }
        let mut slices: Vec<InstructionId> =
            module[dot].operands().iter().copied().filter(|&id| is_slice(module, id)).collect();
        // Of a product with itself.
        slices.dedup();
        let update = update_of(module, dot);
        let seen = masked::seen_columns(module, dot);
        if slices.is_empty() && update.is_none() && seen.is_none() {
            continue;
        }
        if !cx.spend() {
            break;
        }
        made += u64::from(build(module, dot, &slices, update, seen));
    }
    made
}

fn is_slice(module: &Module, id: InstructionId) -> bool {
    matches!(module[id].op, Op::DynamicSlice(_)) && !module[id].has_control_edges()
}

/// The update of which a product is the new part, if it is that and nothing else, and reads nothing of
/// what is updated.
fn update_of(module: &Module, dot: InstructionId) -> Option<InstructionId> {
    let [user] = module[dot].users() else { return None };
    let Op::DynamicUpdateSlice(_) = &module[*user].op else { return None };
    let [target, part, ..] = module[*user].operands() else { return None };
    let root = module[module[dot].parent()].root();
    let target = origin(module, *target);
    let reads = |id: InstructionId| {
        let source = if is_slice(module, id) { module[id].operands()[0] } else { id };
        origin(module, source) == target
    };
    let plain = *part == dot
        && root != dot
        && !module[*user].has_control_edges()
        && !module[dot].operands().iter().any(|&operand| reads(operand));
    plain.then_some(*user)
}

/// Whether there is a kernel for the fusion; otherwise all stays as it was.
fn build(
    module: &mut Module,
    dot: InstructionId,
    slices: &[InstructionId],
    update: Option<InstructionId>,
    seen: Option<Seen>,
) -> bool {
    let outside = module[dot].parent();
    let computation = module.add_computation("fused_computation");
    let mut copies: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    let mut operands = Vec::new();
    for id in slices.iter().copied().chain([dot]).chain(update) {
        let mut of = Vec::new();
        for operand in module[id].operands().to_vec() {
            let copy = match copies.get(&operand) {
                Some(&copy) => copy,
                None => {
                    operands.push(operand);
                    let name = format!("param_{}", operands.len() - 1);
                    let shape = module[operand].shape.clone();
                    module.add_parameter(computation, &name, shape)
                }
            };
            copies.insert(operand, copy);
            of.push(copy);
        }
        let (op, shape) = (module[id].op.clone(), module[id].shape.clone());
        let name = module[id].name().to_owned();
        let info = module[id].info().cloned();
        let copy = module.add_instruction(computation, &name, op, shape, &of);
        if let Some(info) = info {
            *module[copy].info_mut() = info;
        }
        copies.insert(id, copy);
    }
    let last = update.unwrap_or(dot);
    let mut root = copies[&last];
    if let Some(Seen { before, more }) = seen {
        let own = copies.get(&before).copied().unwrap_or_else(|| {
            operands.push(before);
            let name = format!("param_{}", operands.len() - 1);
            let shape = module[before].shape.clone();
            module.add_parameter(computation, &name, shape)
        });
        root = masked::hide(module, computation, root, own, more);
    }
    module.set_root(root);
    let shape = module[last].shape.clone();
    let op = Op::Fusion(Fusion {
        kind: FusionKind::Output,
        output_to_operand_aliasing: Vec::new(),
        calls: computation,
    });
    let fusion = module.add_like(last, op, shape, &operands);
    if !crate::program::is_product(module, fusion) {
        module.remove_instruction(fusion);
        module.remove_computation(computation);
        return false;
    }
    module.replace_all_uses(last, fusion);
    let root = module[outside].root();
    for id in update.into_iter().chain([dot]).chain(slices.iter().copied()) {
        if !module.is_removed(id) && module[id].users().is_empty() && id != root {
            module.remove_instruction(id);
        }
    }
    true
}
