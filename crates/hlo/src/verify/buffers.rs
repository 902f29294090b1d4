//! Buffers: named pieces of memory, made by `Pin` or `CreateBuffer`, handed from writer to writer
//! and given back by `Unpin`. A buffer has one writer at a time, and only ops that know of buffers
//! touch them.

use rustc_hash::FxHashSet;

use super::{Findings, each_instruction};
use crate::infer::agree;
use crate::op::CustomCall;
use crate::{Computation, Dims, Instruction, InstructionId, Module, Op, Shape};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    let background: FxHashSet<crate::ComputationId> = each_instruction(module)
        .filter_map(|(_, instruction)| match &instruction.op {
            Op::AsyncStart(start) => Some(start.calls),
            _other => None,
        })
        .collect();
    for (id, instruction) in each_instruction(module) {
        // Programs without buffers, which are nearly all, pay for one look at each shape.
        let touches = holds_buffer(&instruction.shape)
            || instruction.operands().iter().any(|&operand| {
                module.get_instruction(operand).is_some_and(|o| holds_buffer(&o.shape))
            });
        if !touches || background.contains(&instruction.parent()) {
            continue;
        }
        match &instruction.op {
            Op::CustomCall(call) => custom_call(module, id, instruction, call, findings),
            Op::While(_) => one_writer(module, id, instruction, findings),
            Op::Parameter(_) => {
                if module.try_entry() == Some(instruction.parent()) {
                    findings.instruction(id, "the entry computation takes no buffers");
                }
                one_writer(module, id, instruction, findings);
            }
            Op::DynamicUpdateSlice(_) => one_writer(module, id, instruction, findings),
            Op::AsyncStart(_)
            | Op::AsyncUpdate(_)
            | Op::AsyncDone(_)
            | Op::Call(_)
            | Op::GetTupleElement(_)
            | Op::Tuple(_) => {}
            _other => findings
                .instruction(id, format!("`{}` does not work on buffers", instruction.op.name())),
        }
    }
}

fn holds_buffer(shape: &Shape) -> bool {
    match shape {
        Shape::Buffer(_) => true,
        Shape::Tuple(elements) => elements.iter().any(holds_buffer),
        Shape::Array(_) | Shape::Token | Shape::Opaque => false,
    }
}

fn buffers(shape: &Shape) -> Vec<Dims> {
    let leaves = shape.leaves().into_iter();
    leaves.filter(|(_, leaf)| matches!(leaf, Shape::Buffer(_))).map(|(index, _)| index).collect()
}

fn one_writer(
    module: &Module,
    id: InstructionId,
    instruction: &Instruction,
    findings: &mut Findings,
) {
    for index in buffers(&instruction.shape) {
        let writers = writers(module, instruction, &index, 0);
        if writers > 1 {
            findings.instruction(id, format!("the buffer at {index:?} has {writers} writers"));
        }
    }
}

/// How many ops write the buffer at an index of a value, through tuples.
fn writers(module: &Module, instruction: &Instruction, index: &[i64], depth: usize) -> usize {
    // A tuple in a tuple in … is as deep as a shape may be; a circle is reported elsewhere.
    const DEEPEST: usize = 100;
    if depth > DEEPEST {
        return 0;
    }
    let users = instruction.users().iter().filter_map(|&user| module.get_instruction(user));
    let counts = users.map(|user| match &user.op {
        Op::GetTupleElement(element) => match index {
            [first, rest @ ..] if *first == element.index => writers(module, user, rest, depth + 1),
            [_, ..] | [] => 0,
        },
        Op::Tuple(_) => {
            let is_root = parent(module, user).and_then(Computation::try_root);
            let place = user.operands().iter().position(|&operand| {
                module.get_instruction(operand).is_some_and(|o| std::ptr::eq(o, instruction))
            });
            let mut longer = Dims::from_slice(&[place.unwrap_or(0) as i64]);
            longer.extend_from_slice(index);
            // What a loop's body gives is written by the next turn.
            let given = is_root.is_some_and(|root| {
                module.get_instruction(root).is_some_and(|root| std::ptr::eq(root, user))
            });
            usize::from(given) + writers(module, user, &longer, depth + 1)
        }
        Op::CustomCall(_)
        | Op::While(_)
        | Op::Conditional(_)
        | Op::DynamicUpdateSlice(_)
        | Op::Call(_)
        | Op::Fusion(_)
        | Op::AsyncStart(_) => 1,
        _other => 0,
    });
    counts.sum()
}

fn parent<'m>(module: &'m Module, instruction: &Instruction) -> Option<&'m Computation> {
    module.get_computation(instruction.parent())
}

fn custom_call(
    module: &Module,
    id: InstructionId,
    instruction: &Instruction,
    call: &CustomCall,
    findings: &mut Findings,
) {
    let operand = instruction.operands().first().and_then(|&id| module.get_instruction(id));
    let one_alias = call.output_to_operand_aliasing.len() == 1;
    let target = call.custom_call_target.as_str();
    match target {
        "Pin" => {
            let fits = match (operand.map(|operand| &operand.shape), &instruction.shape) {
                (Some(Shape::Array(array)), Shape::Buffer(buffer)) => array.compatible(buffer),
                _ => false,
            };
            if !fits || instruction.operands().len() != 1 || !one_alias {
                findings.instruction(
                    id,
                    "`Pin` takes an array, gives a buffer of the same shape, and says that they are \
                     one in `output_to_operand_aliasing`",
                );
            }
            one_writer(module, id, instruction, findings);
        }
        "Unpin" => {
            let fits = match (operand.map(|operand| &operand.shape), &instruction.shape) {
                (Some(Shape::Buffer(buffer)), Shape::Array(array)) => array.compatible(buffer),
                _ => false,
            };
            if !fits || instruction.operands().len() != 1 || !one_alias {
                findings.instruction(
                    id,
                    "`Unpin` takes a buffer, gives an array of the same shape, and says that they \
                     are one in `output_to_operand_aliasing`",
                );
            }
        }
        "CreateBuffer" => {
            let is_buffer = matches!(instruction.shape, Shape::Buffer(_));
            if !instruction.operands().is_empty() || !is_buffer {
                findings.instruction(id, "`CreateBuffer` takes nothing and gives a buffer");
            }
            one_writer(module, id, instruction, findings);
        }
        _ => {
            aliased(module, id, instruction, call, findings);
            one_writer(module, id, instruction, findings);
        }
    }
}

/// Any other call gives each buffer on that it takes, once.
fn aliased(
    module: &Module,
    id: InstructionId,
    instruction: &Instruction,
    call: &CustomCall,
    findings: &mut Findings,
) {
    let aliases = &call.output_to_operand_aliasing;
    for (number, &operand) in instruction.operands().iter().enumerate() {
        let Some(operand) = module.get_instruction(operand) else { continue };
        for index in buffers(&operand.shape) {
            let given = aliases
                .iter()
                .filter(|alias| alias.operand == number as i64 && alias.operand_index == index);
            let count = given.count();
            if count != 1 {
                findings.instruction(
                    id,
                    format!(
                        "the buffer of operand {number} at {index:?} is given on {count} times"
                    ),
                );
            }
        }
    }
    for index in buffers(&instruction.shape) {
        let from = aliases.iter().filter(|alias| alias.output_index == index);
        let is_buffer = from.clone().all(|alias| {
            let operand = usize::try_from(alias.operand)
                .ok()
                .and_then(|number| instruction.operands().get(number))
                .and_then(|&operand| module.get_instruction(operand));
            let part = operand.and_then(|operand| operand.shape.subshape(&alias.operand_index));
            let whole = instruction.shape.subshape(&index);
            matches!((part, whole), (Some(part), Some(whole)) if agree(part, whole))
        });
        let count = from.count();
        if count != 1 || !is_buffer {
            findings.instruction(
                id,
                format!(
                    "the buffer of the result at {index:?} comes from {count} operands, not one"
                ),
            );
        }
    }
}
