//! Layouts that are given are sound, and what each phase requires is there.

use super::{Findings, each_instruction};
use crate::{ArrayShape, Layout, Module, Op, Phase, Shape};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    for (id, instruction) in each_instruction(module) {
        each_array(&instruction.shape, &mut |array| match &array.layout {
            Some(layout) => {
                if let Err(message) = sound(array, layout) {
                    findings.instruction(id, message);
                }
            }
            None => {
                // Shapes inside a custom call's own world have none.
                if module.phase >= Phase::LayoutAssigned
                    && !matches!(instruction.op, Op::CustomCall(_))
                {
                    findings.instruction(
                        id,
                        format!("`{array}` has no layout after layout assignment"),
                    );
                }
            }
        });
    }
    if let Some(layout) = &module.config.entry_computation_layout {
        for shape in layout.parameters.iter().chain([&layout.result]) {
            each_array(shape, &mut |array| {
                if let Some(layout) = &array.layout
                    && let Err(message) = sound(array, layout)
                {
                    findings.module(format!("entry computation layout: {message}"));
                }
            });
        }
    }
    if module.config.is_scheduled || module.phase >= Phase::Scheduled {
        schedule(module, findings);
    }
}

fn each_array(shape: &Shape, f: &mut impl FnMut(&ArrayShape)) {
    match shape {
        Shape::Array(array) => f(array),
        Shape::Buffer(array) => f(array),
        Shape::Tuple(elements) => elements.iter().for_each(|element| each_array(element, f)),
        Shape::Token | Shape::Opaque => {}
    }
}

fn sound(array: &ArrayShape, layout: &Layout) -> Result<(), String> {
    let rank = array.rank();
    let order = &layout.minor_to_major;
    let mut seen = vec![false; rank];
    for &dimension in order {
        match usize::try_from(dimension).ok().and_then(|dimension| seen.get_mut(dimension)) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => {
                return Err(format!("the layout of `{array}` names dimension {dimension} twice"));
            }
            None => return Err(format!("the layout of `{array}` names dimension {dimension}")),
        }
    }
    if order.len() != rank {
        return Err(format!("the layout of `{array}` has {} dimensions", order.len()));
    }
    if !layout.dim_level_types.is_empty() && layout.dim_level_types.len() != rank {
        return Err(format!(
            "the layout of `{array}` has {} dimension levels",
            layout.dim_level_types.len()
        ));
    }
    if layout.element_size_in_bits < 0 || layout.memory_space < 0 {
        return Err(format!("the layout of `{array}` has a negative element size or memory space"));
    }
    for tile in &layout.tiles {
        if tile.dimensions.iter().any(|&size| size <= 0 && size != crate::Tile::COMBINE) {
            return Err(format!("the layout of `{array}` has a tile without elements"));
        }
    }
    Ok(())
}

/// In a scheduled module text order is execution order.
fn schedule(module: &Module, findings: &mut Findings) {
    let mut done: rxla_base::SecondaryMap<crate::Instruction, bool> = Default::default();
    for (id, instruction) in each_instruction(module) {
        let before = instruction.operands().iter().chain(instruction.control_predecessors());
        for &before in before {
            if let Some(operand) = module.get_instruction(before)
                && !done[before]
            {
                findings.instruction(
                    id,
                    format!(
                        "`{}` is scheduled before `{}`, which it needs",
                        instruction.name(),
                        operand.name()
                    ),
                );
            }
        }
        done[id] = true;
    }
}
