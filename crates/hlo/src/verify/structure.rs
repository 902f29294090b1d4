//! Links: operands, roots, parameters, names, and that neither values nor calls go in circles.

use rustc_hash::FxHashMap;
use rxla_base::SecondaryMap;

use super::{Findings, each_instruction};
use crate::{Computation, ComputationId, Instruction, InstructionId, Module, Op};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    names(module, findings);
    match module.try_entry() {
        None => findings.module("there is no entry computation"),
        Some(entry) if module.get_computation(entry).is_none() => {
            findings.module("the entry computation is not in the module");
        }
        Some(_) => {}
    }
    for &id in module.computations() {
        let Some(computation) = module.get_computation(id) else {
            findings.module("the text order lists a computation that was removed");
            continue;
        };
        operands(module, id, computation, findings);
        root(module, id, computation, findings);
        parameters(module, id, computation, findings);
        value_cycles(module, computation, findings);
    }
    call_cycles(module, findings);
    stack_frames(module, findings);
}

fn names(module: &Module, findings: &mut Findings) {
    let mut seen: FxHashMap<&str, InstructionId> = FxHashMap::default();
    for (id, instruction) in each_instruction(module) {
        if instruction.name().is_empty() {
            findings.instruction(id, "the instruction has no name");
        } else if seen.insert(instruction.name(), id).is_some_and(|other| other != id) {
            findings.instruction(id, format!("the name `{}` is taken", instruction.name()));
        }
    }
    let mut seen: FxHashMap<&str, ComputationId> = FxHashMap::default();
    for &id in module.computations() {
        let Some(computation) = module.get_computation(id) else { continue };
        if seen.insert(computation.name(), id).is_some_and(|other| other != id) {
            findings.computation(id, format!("the name `{}` is taken", computation.name()));
        }
    }
}

fn operands(
    module: &Module,
    id: ComputationId,
    computation: &Computation,
    findings: &mut Findings,
) {
    for &instruction_id in computation.instructions() {
        let Some(instruction) = module.get_instruction(instruction_id) else {
            findings.computation(id, "the computation lists an instruction that was removed");
            continue;
        };
        if instruction.parent() != id {
            findings.instruction(instruction_id, "the instruction belongs to another computation");
        }
        let operands = instruction.operands().iter().map(|&operand| ("operand", operand));
        let predecessors = instruction
            .control_predecessors()
            .iter()
            .map(|&before| ("control predecessor", before));
        for (what, operand_id) in operands.chain(predecessors) {
            match module.get_instruction(operand_id) {
                None => {
                    findings.instruction(instruction_id, format!("a {what} is not in the module"));
                }
                Some(operand) if operand.parent() != id => {
                    let other = module.get_computation(operand.parent());
                    findings.instruction(
                        instruction_id,
                        format!(
                            "{what} `{}` is in `{}`, not in `{}`",
                            operand.name(),
                            other.map_or("?", |other| other.name()),
                            computation.name()
                        ),
                    );
                }
                Some(_) => {}
            }
        }
        for &called in &instruction.op.called_computations() {
            if module.get_computation(called).is_none() {
                findings.instruction(instruction_id, "a called computation is not in the module");
            }
        }
    }
}

fn root(module: &Module, id: ComputationId, computation: &Computation, findings: &mut Findings) {
    let Some(root) = computation.try_root() else {
        findings.computation(id, "the computation has no root");
        return;
    };
    match module.get_instruction(root) {
        None => findings.computation(id, "the root is not in the module"),
        Some(root) if root.parent() != id => {
            findings
                .computation(id, format!("the root `{}` is in another computation", root.name()));
        }
        Some(_) => {}
    }
}

/// Parameters are numbered from 0 without gaps, and each number is used once.
fn parameters(
    module: &Module,
    id: ComputationId,
    computation: &Computation,
    findings: &mut Findings,
) {
    let listed = computation.parameters();
    for (number, &parameter) in listed.iter().enumerate() {
        match module.get_instruction(parameter).map(|parameter| &parameter.op) {
            Some(Op::Parameter(op)) if op.number == number as i64 => {}
            Some(_) => {
                findings.instruction(parameter, format!("this is not parameter {number}"));
            }
            None => findings.computation(
                id,
                format!(
                    "parameter {number} is missing, but there is a parameter {}",
                    listed.len() - 1
                ),
            ),
        }
    }
    for &instruction_id in computation.instructions() {
        let Some(instruction) = module.get_instruction(instruction_id) else { continue };
        if let Op::Parameter(op) = &instruction.op {
            let at = usize::try_from(op.number).ok().and_then(|number| listed.get(number));
            if at != Some(&instruction_id) {
                findings.instruction(
                    instruction_id,
                    format!("there are several parameters {}", op.number),
                );
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Visit {
    #[default]
    New,
    Open,
    Done,
}

fn before(instruction: &Instruction, index: usize) -> Option<InstructionId> {
    let operands = instruction.operands();
    match operands.get(index) {
        Some(&operand) => Some(operand),
        None => instruction.control_predecessors().get(index - operands.len()).copied(),
    }
}

/// Depth first with a stack of its own: chains of a hundred thousand instructions are real.
fn value_cycles(module: &Module, computation: &Computation, findings: &mut Findings) {
    let mut state: SecondaryMap<Instruction, Visit> = SecondaryMap::default();
    let mut stack: Vec<(InstructionId, usize)> = Vec::new();
    for &start in computation.instructions() {
        if state[start] != Visit::New || module.get_instruction(start).is_none() {
            continue;
        }
        state[start] = Visit::Open;
        stack.push((start, 0));
        while let Some((current, next)) = stack.last_mut() {
            let (id, index) = (*current, *next);
            *next += 1;
            // What is not in the module was pushed by nobody.
            let Some(instruction) = module.get_instruction(id) else { break };
            match before(instruction, index) {
                Some(operand_id) => {
                    let Some(operand) = module.get_instruction(operand_id) else { continue };
                    match state[operand_id] {
                        Visit::New => {
                            state[operand_id] = Visit::Open;
                            stack.push((operand_id, 0));
                        }
                        Visit::Open => findings.instruction(
                            id,
                            format!(
                                "`{}` needs its own result, by way of `{}`",
                                operand.name(),
                                instruction.name()
                            ),
                        ),
                        Visit::Done => {}
                    }
                }
                None => {
                    state[id] = Visit::Done;
                    stack.pop();
                }
            }
        }
    }
}

/// No computation calls itself, however indirectly.
fn call_cycles(module: &Module, findings: &mut Findings) {
    let calls = |computation: ComputationId| -> Vec<(InstructionId, ComputationId)> {
        let Some(computation) = module.get_computation(computation) else { return Vec::new() };
        let mut calls = Vec::new();
        for &id in computation.instructions() {
            if let Some(instruction) = module.get_instruction(id) {
                let called = instruction.op.called_computations();
                calls.extend(called.into_iter().map(|called| (id, called)));
            }
        }
        calls
    };
    let mut state: SecondaryMap<Computation, Visit> = SecondaryMap::default();
    for &start in module.computations() {
        if state[start] != Visit::New {
            continue;
        }
        state[start] = Visit::Open;
        let mut stack = vec![(start, calls(start), 0)];
        while let Some((current, called, next)) = stack.last_mut() {
            let Some(&(caller, callee)) = called.get(*next) else {
                state[*current] = Visit::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            let Some(computation) = module.get_computation(callee) else { continue };
            match state[callee] {
                Visit::New => {
                    state[callee] = Visit::Open;
                    let called = calls(callee);
                    stack.push((callee, called, 0));
                }
                Visit::Open => {
                    let message = format!("`{}` calls itself by way of this", computation.name());
                    findings.instruction(caller, message);
                }
                Visit::Done => {}
            }
        }
    }
}

/// Ids in the tables of source positions name entries, and frames have an outermost one.
fn stack_frames(module: &Module, findings: &mut Findings) {
    let tables = &module.stack_frames;
    let within = |id: i32, len: usize| usize::try_from(id).is_ok_and(|id| id <= len);
    for (index, location) in tables.file_locations.iter().enumerate() {
        if !within(location.file_name_id, tables.file_names.len())
            || !within(location.function_name_id, tables.function_names.len())
        {
            findings.module(format!(
                "file location {} names file {} of {} and function {} of {}",
                index + 1,
                location.file_name_id,
                tables.file_names.len(),
                location.function_name_id,
                tables.function_names.len()
            ));
        }
    }
    for (index, frame) in tables.stack_frames.iter().enumerate() {
        if !within(frame.file_location_id, tables.file_locations.len())
            || !within(frame.parent_frame_id, tables.stack_frames.len())
        {
            findings.module(format!(
                "stack frame {} names file location {} of {} and parent {} of {}",
                index + 1,
                frame.file_location_id,
                tables.file_locations.len(),
                frame.parent_frame_id,
                tables.stack_frames.len()
            ));
        }
    }
    // Walking up from each frame passes no frame twice; what was walked once needs no second walk.
    let mut walked = vec![0usize; tables.stack_frames.len() + 1];
    for start in 1..=tables.stack_frames.len() {
        let mut at = start;
        while at != 0 && walked[at] == 0 {
            walked[at] = start;
            let parent = tables.stack_frames[at - 1].parent_frame_id;
            at = usize::try_from(parent).ok().filter(|&at| at < walked.len()).unwrap_or(0);
        }
        if at != 0 && walked[at] == start {
            findings.module(format!("stack frame {at} is its own parent"));
        }
    }
}
