//! Groups become `fusion` instructions.

use rustc_hash::{FxHashMap, FxHashSet};
use rxla_hlo::op::{Fusion, FusionKind};
use rxla_hlo::{InstructionId, Module, Op, Shape};
use rxla_passes::Context;

use super::cost::elements;
use super::groups::Group;
use super::siblings::inputs;

/// Makes the fusions and returns how many.
pub(super) fn build(module: &mut Module, groups: &[Group], cx: &Context) -> u64 {
    let mut made = 0;
    for group in groups {
        if group.members.len() < 2 {
            continue;
        }
        if !cx.spend() {
            break;
        }
        if fuse(module, group) {
            made += 1;
        }
    }
    remove_unused(module, groups);
    made
}

/// What moved into its users is left without any.
fn remove_unused(module: &mut Module, groups: &[Group]) {
    let mut dead: FxHashSet<InstructionId> = FxHashSet::default();
    let mut list = Vec::new();
    loop {
        let before = list.len();
        for &member in groups.iter().flat_map(|group| &group.members) {
            let root = module[module[member].parent()].root();
            if member != root
                && !dead.contains(&member)
                && module[member].users().iter().all(|user| dead.contains(user))
            {
                dead.insert(member);
                list.push(member);
            }
        }
        if list.len() == before {
            break;
        }
    }
    if let Some(&first) = list.first() {
        let computation = module[first].parent();
        module.remove_instructions(computation, &list);
    }
}

/// Whether the fusion is one that can be emitted; otherwise all stays as it was.
fn fuse(module: &mut Module, group: &Group) -> bool {
    let computation = module.add_computation("fused_computation");
    let mut copies: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
    let mut operands = Vec::new();
    for input in inputs(module, group) {
        let (op, shape) = (module[input].op.clone(), module[input].shape.clone());
        // A constant number is part of the code.
        let number = matches!(op, Op::Constant(_)) && elements(module, input) == 1;
        let name = module[input].name().to_owned();
        let copy = if number {
            module.add_instruction(computation, &name, op, shape, &[])
        } else {
            operands.push(input);
            module.add_parameter(computation, &format!("param_{}", operands.len() - 1), shape)
        };
        copies.insert(input, copy);
    }
    for &member in group.members.iter().rev() {
        let instruction = &module[member];
        let of: Vec<InstructionId> = instruction.operands().iter().map(|o| copies[o]).collect();
        let (op, shape) = (instruction.op.clone(), instruction.shape.clone());
        let name = instruction.name().to_owned();
        let info = instruction.info().cloned();
        let copy = module.add_instruction(computation, &name, op, shape, &of);
        if let Some(info) = info {
            *module[copy].info_mut() = info;
        }
        copies.insert(member, copy);
    }
    let roots: Vec<InstructionId> = group.roots.iter().map(|root| copies[root]).collect();
    let root = match roots[..] {
        [root] => root,
        _ => {
            let shape = Shape::tuple(roots.iter().map(|&root| module[root].shape.clone()));
            module.add_instruction(computation, "tuple", Op::tuple(), shape, &roots)
        }
    };
    module.set_root(root);
    let shape = module[root].shape.clone();
    let reduces = group.roots.iter().any(|&root| matches!(module[root].op, Op::Reduce(_)));
    let kind = if reduces { FusionKind::Input } else { FusionKind::Loop };
    let op =
        Op::Fusion(Fusion { kind, output_to_operand_aliasing: Vec::new(), calls: computation });
    let last = group.roots[group.roots.len() - 1];
    let fusion = module.add_like(last, op, shape, &operands);
    if !crate::kernels::supports(module, fusion) {
        module.remove_instruction(fusion);
        module.remove_computation(computation);
        return false;
    }
    for (index, &root) in group.roots.iter().enumerate() {
        let value = if group.roots.len() == 1 {
            fusion
        } else {
            let shape = module[root].shape.clone();
            module.add_like(root, Op::get_tuple_element(index as i64), shape, &[fusion])
        };
        let before = module[root].control_predecessors().to_vec();
        module.replace_all_uses(root, value);
        for edge in before {
            module.add_control_edge(edge, fusion);
        }
    }
    true
}
