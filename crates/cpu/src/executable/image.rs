//! Compiled programs as bytes that a later process of the same build runs without compiling.
//!
//! A program with parts that the interpreter evaluates has no image: it needs its module.

use std::sync::Arc;

use rxla_base::{Error, Memory, RecordReader, RecordWriter, Result};
use rxla_hlo::shape_record::{read_array, read_shape, write_array, write_shape};
use rxla_hlo::{ArrayShape, Module, Shape};
use rxla_llvm::Code;
use rxla_runtime::Allocator;

use super::{Executable, resolve};
use crate::buffers::Output;
use crate::program::MAIN;

impl Executable {
    /// The program as bytes; `None` if it needs more than can be written down.
    pub fn image(&self) -> Option<Vec<u8>> {
        if !self.fallbacks.is_empty() {
            return None;
        }
        let mut record = RecordWriter::new();
        record.text(&self.module.name);
        record.count(self.temp_bytes);
        record.count(self.parameters.len());
        for parameter in &self.parameters {
            record.number(u64::from(parameter.is_some()));
            if let Some(shape) = parameter {
                write_array(&mut record, shape)?;
            }
        }
        record.count(self.outputs.len());
        for ((shape, output), alias) in self.outputs.iter().zip(&self.aliases) {
            write_shape(&mut record, shape)?;
            let (kind, number) = match (output, alias) {
                (Output::Token, _) => (0, 0),
                (Output::Computed, None) => (1, 0),
                (Output::Computed, Some(argument)) => (2, *argument),
                (Output::Argument(argument), _) => (3, *argument),
            };
            record.number(kind);
            record.count(number);
        }
        record.bytes(self.constants.as_slice());
        record.bytes(&self.code.image()?);
        Some(record.finish())
    }

    /// The program that gave this image; `Ok(None)` if the bytes are no image. Its module is empty.
    pub fn from_image(image: &[u8]) -> Result<Option<Executable>> {
        let Some(parts) = parts(image) else { return Ok(None) };
        let Some(code) = Code::from_image(parts.code, &resolve)? else { return Ok(None) };
        let Some(address) = code.function(MAIN) else { return Ok(None) };
        // SAFETY: as in `new`: the image was made of a driver with this signature by this build.
        let main = unsafe { std::mem::transmute::<*const u8, super::Main>(address) };
        let mut constants = Allocator::shared().allocate(parts.constants.len())?;
        constants.as_mut_slice().copy_from_slice(parts.constants);
        let count = parts.parameters.len();
        let known = |(_, output, alias): &(Shape, Output, Option<usize>)| {
            let argument = match output {
                Output::Argument(argument) => Some(argument),
                Output::Token | Output::Computed => alias.as_ref(),
            };
            argument.is_none_or(|&argument| argument < count)
        };
        if !parts.outputs.iter().all(known) {
            return Err(Error::internal("an image with an output of no argument"));
        }
        Ok(Some(Executable {
            module: Arc::new(Module::new(parts.name)),
            code,
            main,
            constants,
            temp_bytes: parts.temp_bytes,
            parameters: parts.parameters,
            aliases: parts.outputs.iter().map(|(_, _, alias)| *alias).collect(),
            outputs: parts.outputs.into_iter().map(|(shape, output, _)| (shape, output)).collect(),
            fallbacks: Vec::new(),
            interpreter: None,
        }))
    }
}

struct Parts<'a> {
    name: &'a str,
    temp_bytes: usize,
    parameters: Vec<Option<ArrayShape>>,
    outputs: Vec<(Shape, Output, Option<usize>)>,
    constants: &'a [u8],
    code: &'a [u8],
}

fn parts(image: &[u8]) -> Option<Parts<'_>> {
    let mut record = RecordReader::new(image);
    let name = record.text()?;
    let temp_bytes = record.size()?;
    let count = record.count()?;
    let parameters = (0..count)
        .map(|_| match record.number()? {
            0 => Some(None),
            _ => read_array(&mut record).map(Some),
        })
        .collect::<Option<_>>()?;
    let count = record.count()?;
    let outputs = (0..count)
        .map(|_| {
            let shape = read_shape(&mut record)?;
            let kind = record.number()?;
            let number = record.size()?;
            let (output, alias) = match kind {
                0 => (Output::Token, None),
                1 => (Output::Computed, None),
                2 => (Output::Computed, Some(number)),
                3 => (Output::Argument(number), None),
                _ => return None,
            };
            Some((shape, output, alias))
        })
        .collect::<Option<_>>()?;
    let constants = record.bytes()?;
    let code = record.bytes()?;
    let parts = Parts { name, temp_bytes, parameters, outputs, constants, code };
    record.is_empty().then_some(parts)
}
