//! Products that the runtime computes take along the slices that they read and the update that they make, reshaped
//! or not: it reads and writes parts of arrays where they lie, as the matrices of a layer in a stack of them.
//! Where a mask hides columns, the number goes with them that says which.

use rustc_hash::FxHashMap;
use rxla_hlo::op::{Fusion, FusionKind};
use rxla_hlo::{ComputationId, InstructionId, Module, Op};
use rxla_passes::{Context, view};

use super::cost::{Role, role};
use super::masked::{self, Seen};
use super::overwrite::{Updates, origin};
use crate::program::lies_evenly;

/// Makes the fusions of a computation and returns how many.
pub(super) fn fuse(module: &mut Module, computation: ComputationId, cx: &Context) -> u64 {
    let order = module.post_order(computation);
    let dots = order.iter().copied().filter(|&id| {
        // What is small is computed by a kernel of ours.
        let free = !module[id].has_control_edges();
        matches!(module[id].op, Op::Dot(_)) && free && !crate::kernels::supports(module, id)
    });
    let dots: Vec<InstructionId> = dots.collect();
    if dots.is_empty() {
        return 0;
    }
    // All of them before the first is made: slices and updates go with it.
    let updates = Updates::new(module, &order);
    let slices: Vec<_> = dots.iter().map(|&dot| slices_of(module, &updates, dot)).collect();
    let mut made = 0;
    for (dot, slices) in dots.into_iter().zip(slices) {
        let update = update_of(module, dot).unwrap_or_default();
        let seen = masked::seen_columns(module, dot);
        if slices.is_empty() && update.is_empty() && seen.is_none() {
            continue;
        }
        made += u64::from(build(module, dot, &slices, &update, seen, cx));
    }
    made
}

/// The slices that a product reads where they lie, with the reshapes of each.
fn slices_of(module: &Module, updates: &Updates<'_>, dot: InstructionId) -> Vec<InstructionId> {
    let stays = |slice: &Vec<InstructionId>| {
        // What others compute as they need it is computed for the slice alone.
        let stored = role(module, origin(module, module[slice[0]].operands()[0])) != Role::Lazy;
        stored && !updates.are_between(slice[0], dot)
    };
    let operands = module[dot].operands().iter();
    operands.filter_map(|&operand| slice(module, operand)).filter(stays).flatten().collect()
}

/// A slice and the reshapes of it that an operand is, if its elements lie evenly.
fn slice(module: &Module, operand: InstructionId) -> Option<Vec<InstructionId>> {
    let mut chain = vec![operand];
    while let Op::Reshape(_) = module[*chain.last()?].op {
        chain.push(module[*chain.last()?].operands()[0]);
    }
    chain.reverse();
    let free = chain.iter().all(|&id| !module[id].has_control_edges());
    (free && lies_evenly(module, chain[0], operand)).then_some(chain)
}

/// The update of which a product is the new part, if it is that and nothing else, and reads nothing of
/// what is updated; last, behind the reshapes of the part.
fn update_of(module: &Module, dot: InstructionId) -> Option<Vec<InstructionId>> {
    let mut chain = Vec::new();
    let mut part = dot;
    let user = loop {
        let user = view::only_user(module, part)?;
        if module[user].has_control_edges() {
            return None;
        }
        chain.push(user);
        match &module[user].op {
            Op::Reshape(_) => part = user,
            Op::DynamicUpdateSlice(_) => break user,
            _ => return None,
        }
    };
    let [target, updated, ..] = module[user].operands() else { return None };
    let target = origin(module, *target);
    let reads = |operand: InstructionId| {
        let source = slice(module, operand).map_or(operand, |slice| module[slice[0]].operands()[0]);
        origin(module, source) == target
    };
    let plain = *updated == part && !module[dot].operands().iter().any(|&operand| reads(operand));
    (plain && lies_evenly(module, user, dot)).then_some(chain)
}

/// Whether there is a kernel for the fusion; otherwise all stays as it was.
fn build(
    module: &mut Module,
    dot: InstructionId,
    slices: &[InstructionId],
    update: &[InstructionId],
    seen: Option<Seen>,
    cx: &Context,
) -> bool {
    let outside = module[dot].parent();
    let computation = module.add_computation("fused_computation");
    let mut copies: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    let mut operands = Vec::new();
    let members = [slices, &[dot], update].concat();
    for &id in &members {
        // Slices of a product with itself.
        if copies.contains_key(&id) {
            continue;
        }
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
    let last = members[members.len() - 1];
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
    if !crate::program::is_product(module, fusion) || !cx.spend() {
        module.remove_instruction(fusion);
        module.remove_computation(computation);
        return false;
    }
    module.replace_all_uses(last, fusion);
    let root = module[outside].root();
    for &id in members.iter().rev() {
        if !module.is_removed(id) && module[id].users().is_empty() && id != root {
            module.remove_instruction(id);
        }
    }
    true
}
