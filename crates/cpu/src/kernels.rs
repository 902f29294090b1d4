//! What the emitter is asked about an instruction.

use rxla_base::{Error, Result};
use rxla_emit::{Destination, Element, Part, Source};
use rxla_hlo::{InstructionId, Module};
use rxla_kernel::Builder;

pub(crate) fn supports(_module: &Module, _id: InstructionId) -> Result<()> {
    Err(Error::unimplemented("emit"))
}

pub(crate) fn emit(
    _builder: &mut Builder,
    _module: &Module,
    _id: InstructionId,
    _sources: &[Source],
    _destinations: &[Destination],
    _part: Part,
) -> Result<Vec<Option<Element>>> {
    Err(Error::unimplemented("emit"))
}

pub(crate) fn extent(_module: &Module, _id: InstructionId) -> u64 {
    1
}

pub(crate) struct Cost;

impl Cost {
    pub(crate) fn work(&self) -> u64 {
        0
    }
    pub(crate) fn statements(&self) -> usize {
        0
    }
}

pub(crate) fn cost(_module: &Module, _id: InstructionId) -> Cost {
    Cost
}

pub(crate) fn in_place(
    _module: &Module,
    _id: InstructionId,
    _operand: usize,
    _result: usize,
) -> bool {
    false
}
