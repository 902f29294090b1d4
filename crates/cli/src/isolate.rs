//! `rxla isolate`: each fusion (and each instruction that is computed on its own) as a module.

use std::path::PathBuf;

use clap::Args;
use rxla_base::{Error, Result};
use rxla_cpu::scheduled_computations;
use rxla_hlo::text::{PrintOptions, print};
use rxla_hlo::{InstructionId, Module, Op, verify};
use rxla_passes::{Pipeline, RunOptions};

use crate::input::{self, Layouts};
use crate::{Answer, environment, output};

#[derive(Args)]
pub(crate) struct Arguments {
    /// File with a module; `-` is standard input
    file: String,
    /// Folder for the modules
    #[arg(short, long)]
    output: PathBuf,
    /// Take the module as it is instead of as the compiler's passes leave it
    #[arg(long)]
    as_is: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer> {
    let input = input::read(&arguments.file, Layouts::Keep)?;
    input.check()?;
    let mut module = input.module;
    if !arguments.as_is {
        rxla_cpu::optimize_with(&mut module, &environment::flags(), None)?;
    }
    std::fs::create_dir_all(&arguments.output).map_err(|error| {
        let folder = arguments.output.display();
        Error::invalid_argument(format!("cannot make `{folder}`: {error}"))
    })?;
    let all: Vec<InstructionId> = module.instruction_ids().collect();
    let mut count = 0;
    for id in all.into_iter().filter(|&id| is_work(&module, id)) {
        let mut alone = alone(&module, id)?;
        alone.inline_stack_frames();
        let path = arguments.output.join(format!("{}.txt", alone.name));
        output::to(Some(&path), print(&alone, &PrintOptions::complete()).as_bytes())?;
        output::result(&format!("{}  {}\n", path.display(), rxla_cpu::marks::label(&module, id)))?;
        count += 1;
    }
    output::message(&format!("{count} modules"));
    Ok(Answer::Yes)
}

/// Whether an instruction is computed on its own, rather than inside of another or not at all.
fn is_work(module: &Module, id: InstructionId) -> bool {
    let instruction = &module[id];
    let free = matches!(
        instruction.op,
        Op::Parameter(_)
            | Op::Constant(_)
            | Op::Tuple(_)
            | Op::GetTupleElement(_)
            | Op::Bitcast(_)
            | Op::While(_)
            | Op::Conditional(_)
            | Op::Call(_)
    );
    !free && scheduled_computations(module).contains(&instruction.parent())
}

/// A module that computes one instruction of its parameters.
pub(crate) fn alone(module: &Module, id: InstructionId) -> Result<Module> {
    let mut out = module.clone();
    out.name = format!("{}.{}", module.name, module[id].name());
    let entry = out.add_computation("isolated");
    let operands: Vec<InstructionId> = module[id].operands().to_vec();
    let mut parameters: Vec<(InstructionId, InstructionId)> = Vec::new();
    for &operand in &operands {
        if parameters.iter().any(|(known, _)| *known == operand) {
            continue;
        }
        let number = parameters.len() as i64;
        let (name, shape) = (module[operand].name(), module[operand].shape.clone());
        let parameter = out.add_instruction(entry, name, Op::parameter(number), shape, &[]);
        parameters.push((operand, parameter));
    }
    let stand_in = |operand: &InstructionId| {
        parameters.iter().find(|(known, _)| known == operand).expect("a parameter").1
    };
    let operands: Vec<InstructionId> = operands.iter().map(stand_in).collect();
    let instruction = &module[id];
    let (op, shape) = (instruction.op.clone(), instruction.shape.clone());
    let root = out.add_instruction(entry, instruction.name(), op, shape, &operands);
    if let Some(info) = instruction.info() {
        *out[root].info_mut() = info.clone();
    }
    out.set_root(root);
    become_entry(&mut out, entry)?;
    Ok(out)
}

/// Makes a computation the entry and removes what it does not need; what was said of the signature
/// before says nothing any more.
pub(crate) fn become_entry(module: &mut Module, entry: rxla_hlo::ComputationId) -> Result<()> {
    module.set_entry(entry);
    let config = &mut module.config;
    config.entry_computation_layout = None;
    config.input_output_alias.clear();
    config.buffer_donors.clear();
    config.spmd_parameters_shardings.clear();
    config.spmd_output_sharding = None;
    config.allow_spmd_sharding_propagation_to_parameters.clear();
    config.allow_spmd_sharding_propagation_to_output.clear();
    let dce = Pipeline::of_names(["dce"]).expect("there is such a pass");
    rxla_passes::run(module, &dce.steps, RunOptions::default())?;
    let findings = verify(module);
    if findings.iter().any(|finding| finding.severity == rxla_base::Severity::Error) {
        return Err(Error::internal(rxla_base::render_all(&findings, None)));
    }
    Ok(())
}
