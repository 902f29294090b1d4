//! Concatenations of many arrays: each is copied to its place. One kernel for all would take the code generator long,
//! and so would one that other instructions are fused into.

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op};
use rxla_kernel::Builder;

use super::{Driver, memory};
use crate::buffers::Place;
use crate::plan::{Compute, arrays};

/// Operands from which on they are copied one by one.
const MANY: usize = 32;

/// Whether an instruction puts many arrays one after the other.
pub(crate) fn joins(module: &Module, id: InstructionId) -> bool {
    let Op::Concatenate(op) = &module[id].op else { return false };
    let Some(shape) = module[id].shape.as_array() else { return false };
    let first = op.dimensions[0] as usize;
    module[id].operands().len() >= MANY
        && shape.is_static()
        && shape.dims[..first].iter().all(|&size| size == 1)
        && shape.element_count().is_some_and(|count| count >= MANY)
}

impl Driver<'_> {
    pub(super) fn join(&mut self, b: &mut Builder, compute: &Compute) -> Result<()> {
        let result = arrays(&compute.results)[0];
        let to = self.address(b, self.buffers.place(result));
        let mut done = 0;
        for value in arrays(&compute.operands) {
            let shape = self.shape(value);
            let count = shape.element_count().unwrap_or(0);
            let bytes = (count * shape.element_type.byte_width()) as u64;
            let offset = b.index(done as i64);
            match self.buffers.place(value) {
                _ if bytes == 0 => {}
                Place::Register => {
                    let element = self.register(b, value);
                    let to = b.offset(to, offset);
                    memory::store(b, to, element);
                }
                place => {
                    let from = self.address(b, place);
                    let to = b.offset(to, offset);
                    self.copy(b, to, from, bytes);
                }
            }
            done += bytes;
        }
        Ok(())
    }
}
