//! Saying in words where a finding is: the instruction as text, and where the user wrote it.

use std::fmt::Write;

use rxla_base::Diagnostic;

use super::Place;
use crate::{InstructionId, Metadata, Module};

/// Adds the instruction or computation and the user's source line.
pub(super) fn describe(module: &Module, place: Place, mut finding: Diagnostic) -> Diagnostic {
    match place {
        Place::Module => finding.notes.push(format!("in module `{}`", module.name)),
        Place::Computation(computation) => {
            if let Some(computation) = module.get_computation(computation) {
                finding.notes.push(format!("in computation `{}`", computation.name()));
            }
        }
        Place::Instruction(instruction) => {
            finding.notes.push(format!("in `{}`", summary(module, instruction)));
        }
    }
    describe_source(module, place, finding)
}

/// Adds only the user's source line, for findings that point into text already.
pub(super) fn describe_source(
    module: &Module,
    place: Place,
    mut finding: Diagnostic,
) -> Diagnostic {
    if let Place::Instruction(instruction) = place
        && let Some(metadata) =
            module.get_instruction(instruction).and_then(|instruction| instruction.metadata())
        && let Some(source) = source_line(module, metadata)
    {
        finding.notes.push(source);
    }
    finding
}

/// The instruction in one line, with operands by name.
fn summary(module: &Module, id: InstructionId) -> String {
    let Some(instruction) = module.get_instruction(id) else { return "an instruction".to_owned() };
    let mut out =
        format!("{} = {} {}(", instruction.name(), instruction.shape, instruction.op.name());
    // Tuples have thousands of operands; the first few tell them apart.
    const SHOWN: usize = 6;
    for (index, &operand) in instruction.operands().iter().take(SHOWN).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let name = module.get_instruction(operand).map_or("?", |operand| operand.name());
        _ = write!(out, "{separator}{name}");
    }
    if instruction.operands().len() > SHOWN {
        out.push_str(", …");
    }
    out.push(')');
    if let Some(computation) = module.get_computation(instruction.parent()) {
        _ = write!(out, "` of `{}", computation.name());
    }
    out
}

/// `written at file.py:12 in `f` (jit(f)/add)`, from metadata or the stack frame it names.
fn source_line(module: &Module, metadata: &Metadata) -> Option<String> {
    let mut out = String::new();
    let frames = &module.stack_frames;
    if let Some(frame) = frames.frames(metadata.stack_frame_id).next() {
        _ = write!(out, "written at {}:{}", frame.file, frame.line);
        if !frame.function.is_empty() {
            _ = write!(out, " in `{}`", frame.function);
        }
        if let Some(caller) = frames.caller_of_library(metadata.stack_frame_id) {
            _ = write!(out, ", called from {}:{}", caller.file, caller.line);
        }
    } else if !metadata.source_file.is_empty() {
        _ = write!(out, "written at {}:{}", metadata.source_file, metadata.source_line);
    }
    if !metadata.op_name.is_empty() {
        let (before, after) = if out.is_empty() { ("written as ", "") } else { (" (", ")") };
        _ = write!(out, "{before}{}{after}", metadata.op_name);
    }
    (!out.is_empty()).then_some(out)
}
