//! Compiled programs as bytes that a later process of the same build runs without compiling.
//!
//! A program with parts that the interpreter evaluates has no image: it needs its module.

use std::sync::Arc;

use rxla_base::{Error, Memory, RecordReader, RecordWriter, Result};
use rxla_hlo::shape_record::{read_array, write_array};
use rxla_hlo::{ArrayShape, Module};
use rxla_llvm::Code;
use rxla_runtime::Allocator;

use super::{Executable, Leaf, Source, resolve};
use crate::program::MAIN;

impl Executable {
    /// The program as bytes; `None` if it needs more than can be written down.
    pub fn image(&self) -> Option<Vec<u8>> {
        if !self.fallbacks.is_empty() || !self.marks.is_empty() {
            return None;
        }
        let mut record = RecordWriter::new();
        record.text(&self.module.name);
        record.count(self.temp_bytes);
        record.number(self.expected_nanoseconds.map_or(0, |expected| expected.saturating_add(1)));
        record.number(u64::from(self.flush));
        record.count(self.parameters.len());
        for parameter in &self.parameters {
            record.number(u64::from(parameter.is_some()));
            if let Some(shape) = parameter {
                write_array(&mut record, shape)?;
            }
        }
        record.count(self.results.len());
        for leaf in &self.results {
            let Leaf::Array { shape, bytes: _, source } = leaf else {
                record.number(0);
                continue;
            };
            let (kind, argument) = match *source {
                Source::Fresh => (1, 0),
                Source::Reused(argument) => (2, argument),
                Source::Argument(argument) => (3, argument),
            };
            record.number(kind);
            record.count(argument);
            write_array(&mut record, shape)?;
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
        let known = |leaf: &Leaf| match leaf {
            Leaf::Token | Leaf::Array { source: Source::Fresh, .. } => true,
            Leaf::Array {
                source: Source::Argument(argument) | Source::Reused(argument), ..
            } => *argument < parts.parameters.len(),
        };
        if !parts.results.iter().all(known) {
            return Err(Error::internal("an image with a result of no argument"));
        }
        Ok(Some(Executable {
            module: Arc::new(Module::new(parts.name)),
            code,
            main,
            constants,
            kept: Arc::default(),
            temp_bytes: parts.temp_bytes,
            parameters: parts.parameters,
            results: parts.results,
            fallbacks: Vec::new(),
            marks: Vec::new(),
            interpreter: None,
            expected_nanoseconds: parts.expected_nanoseconds,
            flush: parts.flush,
        }))
    }
}

struct Parts<'a> {
    name: &'a str,
    temp_bytes: usize,
    expected_nanoseconds: Option<u64>,
    flush: bool,
    parameters: Vec<Option<ArrayShape>>,
    results: Vec<Leaf>,
    constants: &'a [u8],
    code: &'a [u8],
}

fn parts(image: &[u8]) -> Option<Parts<'_>> {
    let mut record = RecordReader::new(image);
    let name = record.text()?;
    let temp_bytes = record.size()?;
    let expected_nanoseconds = record.number()?.checked_sub(1);
    let flush = record.number()? != 0;
    let count = record.count()?;
    let parameters = (0..count)
        .map(|_| match record.number()? {
            0 => Some(None),
            _ => read_array(&mut record).map(Some),
        })
        .collect::<Option<_>>()?;
    let count = record.count()?;
    let results = (0..count).map(|_| read_leaf(&mut record)).collect::<Option<_>>()?;
    let constants = record.bytes()?;
    let code = record.bytes()?;
    let parts = Parts {
        name,
        temp_bytes,
        expected_nanoseconds,
        flush,
        parameters,
        results,
        constants,
        code,
    };
    record.is_empty().then_some(parts)
}

fn read_leaf(record: &mut RecordReader<'_>) -> Option<Leaf> {
    let kind = record.number()?;
    if kind == 0 {
        return Some(Leaf::Token);
    }
    let argument = record.size()?;
    let source = match kind {
        1 => Source::Fresh,
        2 => Source::Reused(argument),
        3 => Source::Argument(argument),
        _ => return None,
    };
    let shape = read_array(record)?;
    let bytes = shape.byte_size().unwrap_or(0);
    Some(Leaf::Array { shape: Arc::new(shape), bytes, source })
}
