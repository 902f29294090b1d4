//! Programs for processes without rxla: code as relocatable objects, with all that whoever calls the
//! driver has to know. It is the code that this process would run, byte for byte.
//!
//! What the interpreter evaluates in the middle of a run there is nobody to evaluate: such a program
//! is refused, with the ops that are in the way.

use std::sync::Arc;

use rxla_base::subnormals::FLUSH;
use rxla_base::{Error, Result};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Shape};
use rxla_llvm::{Compiler, UnitObject};

use crate::buffers::Output;
use crate::compile::{Prepared, llvm, prepare};
use crate::marks::metadata;
use crate::program::MAIN;
use crate::{Callees, Lower, Marks, Options};

pub use rxla_llvm::text::ENTRY;

/// A program as objects.
pub struct Ahead {
    pub objects: Vec<UnitObject>,
    /// What other objects call the driver: `driver(context, inputs, outputs, temporaries, constants)`,
    /// which returns an i64, 0 or the number of a code.
    pub driver: String,
    /// Makes code for the same processor.
    pub compiler: Compiler,
    pub constants: Vec<u8>,
    pub temp_bytes: u64,
    /// Bits that are set in MXCSR while the driver runs, which its caller sees to.
    pub modes: u32,
    /// What constants, temporaries and computed results are aligned to.
    pub align: u64,
    /// Leaves of the parameters.
    pub inputs: Vec<Input>,
    /// Leaves of the result.
    pub outputs: Vec<Delivery>,
}

pub struct Input {
    /// What the user, or else the module, calls it.
    pub name: String,
    pub shape: ArrayShape,
}

pub struct Delivery {
    pub shape: ArrayShape,
    pub source: Source,
}

/// How a result comes to where it is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The driver writes it.
    Computed,
    /// The driver overwrites a copy of an input, or the input itself.
    Updated(usize),
    /// It is an input as it came, which the driver does not copy.
    Input(usize),
}

/// Compiles a module that has passed the verifier.
pub fn ahead_of_time(module: &Arc<Module>, options: &Options) -> Result<Ahead> {
    let devices =
        module.config.replica_count.max(1).saturating_mul(module.config.num_partitions.max(1));
    if devices > 1 {
        let message = format!("a program for {devices} devices ahead of time");
        return Err(Error::unimplemented(message));
    }
    let inputs = inputs(module)?;
    let options = Options { marks: Marks::None, ..options.clone() };
    let lower = Lower { callees: Callees::Typed, ..Lower::new(&options.flags) };
    let Prepared { module, program, compiler } = prepare(module, &options, None, &lower)?;
    if !program.fallbacks.is_empty() {
        return Err(without_kernel(&module, &program.fallbacks));
    }
    let mut updated = vec![None; program.outputs.len()];
    for &(argument, output) in &program.aliases {
        updated[output] = Some(argument);
    }
    let mut outputs = Vec::new();
    for (number, (shape, output)) in program.outputs.iter().enumerate() {
        let shape = array(shape, || format!("result {number}"))?;
        let element = shape.element_type;
        if element != ElementType::Pred && element.bit_width() < 8 {
            let message = format!("a result of type `{shape}` ahead of time");
            return Err(Error::unimplemented(message));
        }
        let source = match (output, updated[number]) {
            (Output::Token, _) => return Err(token(&format!("result {number}"))),
            (Output::Argument(input), _) => Source::Input(*input),
            (Output::Computed, Some(input)) => Source::Updated(input),
            (Output::Computed, None) => Source::Computed,
        };
        outputs.push(Delivery { shape, source });
    }
    let objects = compiler.objects_of(&program.kernels, &llvm(&options, &module))?;
    let main = objects.iter().find(|object| object.functions.iter().any(|name| name == MAIN));
    let driver = main.ok_or_else(|| Error::internal("the code has no driver"))?.symbol.clone();
    Ok(Ahead {
        objects,
        driver,
        compiler,
        constants: program.constants,
        temp_bytes: program.temp_bytes,
        modes: if options.flags.rxla_flush_subnormals { FLUSH } else { 0 },
        align: crate::buffers::ALIGN,
        inputs,
        outputs,
    })
}

fn inputs(module: &Module) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for &parameter in module[module.entry()].parameters() {
        let leaves = module[parameter].shape.leaves();
        let own = metadata(module, parameter).map_or("", |metadata| metadata.op_name.as_str());
        let name = if own.is_empty() { module[parameter].name() } else { own };
        for (path, leaf) in &leaves {
            let path: String = path.iter().map(|index| format!(".{index}")).collect();
            let name = format!("{name}{path}");
            let shape = array(leaf, || format!("parameter `{name}`"))?;
            inputs.push(Input { name, shape });
        }
    }
    Ok(inputs)
}

fn array(shape: &Shape, whose: impl Fn() -> String) -> Result<ArrayShape> {
    let array = match shape {
        Shape::Array(array) => array,
        Shape::Token => return Err(token(&whose())),
        Shape::Tuple(_) | Shape::Opaque | Shape::Buffer(_) => {
            let message = format!("{} of type `{shape}` ahead of time", whose());
            return Err(Error::unimplemented(message));
        }
    };
    if !array.is_static() || array.byte_size().is_none() {
        let message = format!("{} of dynamic shape `{shape}` ahead of time", whose());
        return Err(Error::unimplemented(message));
    }
    Ok(array.without_layout())
}

fn token(whose: &str) -> Error {
    Error::unimplemented(format!("{whose}, a token, ahead of time: nothing orders runs in C"))
}

/// Names each op once, with where the user wrote it.
fn without_kernel(module: &Module, fallbacks: &[InstructionId]) -> Error {
    const SHOWN: usize = 8;
    let mut seen: Vec<String> = Vec::new();
    for &id in fallbacks {
        let instruction = &module[id];
        let mut what = format!("`{}`", instruction.op.name());
        if let rxla_hlo::Op::CustomCall(call) = &instruction.op {
            what.push_str(&format!(" to `{}`", call.custom_call_target));
        }
        what.push_str(&format!(" ({}", instruction.name()));
        if let Some(metadata) = metadata(module, id) {
            if !metadata.op_name.is_empty() {
                what.push_str(&format!(", {}", metadata.op_name));
            }
            if !metadata.source_file.is_empty() {
                what.push_str(&format!(", {}:{}", metadata.source_file, metadata.source_line));
            }
        }
        what.push(')');
        if !seen.contains(&what) {
            seen.push(what);
        }
    }
    let more = seen.len().saturating_sub(SHOWN);
    seen.truncate(SHOWN);
    let mut list = seen.join("; ");
    if more > 0 {
        list.push_str(&format!("; and {more} more"));
    }
    Error::unimplemented(format!("no kernel ahead of time for {list}"))
}
