//! What a client keeps beside a compiled program for the next process: its name and signature, so
//! that the program's module need not be read to run it.

use rxla_base::{RecordReader, RecordWriter};
use rxla_hlo::shape_record::{read_shape, write_shape};

use crate::device::MemoryKind;
use crate::executable::{Donation, Output, Parameter, Signature};

/// The notes; `None` if a shape cannot be written down.
pub(crate) fn write(name: &str, signature: &Signature) -> Option<Vec<u8>> {
    let mut record = RecordWriter::new();
    record.text(name);
    record.number(u64::from(signature.tuple_result));
    record.count(signature.parameters.len());
    for parameter in &signature.parameters {
        write_shape(&mut record, &parameter.shape)?;
        record.count(parameter.memory.number());
        let (kind, output) = match parameter.donation {
            Donation::Kept => (0, 0),
            Donation::Alias(output) => (1, output),
        };
        record.number(kind);
        record.count(output);
    }
    record.count(signature.outputs.len());
    for output in &signature.outputs {
        write_shape(&mut record, &output.shape)?;
        record.count(output.memory.number());
    }
    Some(record.finish())
}

/// Name and signature; `None` if the notes are not what [`write`] makes.
pub(crate) fn read(notes: &[u8]) -> Option<(String, Signature)> {
    let mut record = RecordReader::new(notes);
    let name = record.text()?.to_owned();
    let tuple_result = record.number()? != 0;
    let count = record.count()?;
    let parameters = (0..count)
        .map(|_| {
            let shape = read_shape(&mut record)?;
            let memory = *MemoryKind::ALL.get(record.size()?)?;
            let (kind, output) = (record.number()?, record.size()?);
            let donation = match kind {
                0 => Donation::Kept,
                1 => Donation::Alias(output),
                _ => return None,
            };
            Some(Parameter { shape, memory, donation })
        })
        .collect::<Option<_>>()?;
    let count = record.count()?;
    let outputs = (0..count)
        .map(|_| {
            let shape = read_shape(&mut record)?;
            Some(Output { shape, memory: *MemoryKind::ALL.get(record.size()?)? })
        })
        .collect::<Option<_>>()?;
    record.is_empty().then_some((name, Signature { parameters, outputs, tuple_result }))
}

#[cfg(test)]
mod tests {
    use rxla_hlo::{ElementType, Shape};

    use super::*;

    #[test]
    fn a_signature_comes_back() {
        let shape = |dims: &[i64]| {
            Shape::array(ElementType::F32, dims.iter().copied()).with_default_layout()
        };
        let parameter = |donation, memory| Parameter { shape: shape(&[2, 3]), memory, donation };
        let signature = Signature {
            parameters: vec![
                parameter(Donation::Kept, MemoryKind::Device),
                parameter(Donation::Kept, MemoryKind::PinnedHost),
                parameter(Donation::Alias(1), MemoryKind::UnpinnedHost),
            ],
            outputs: vec![
                Output { shape: Shape::Token, memory: MemoryKind::Device },
                Output { shape: shape(&[]), memory: MemoryKind::PinnedHost },
            ],
            tuple_result: true,
        };
        let notes = write("name", &signature).unwrap();
        assert_eq!(read(&notes), Some(("name".to_owned(), signature)));
        for end in 0..notes.len() {
            assert_eq!(read(&notes[..end]), None);
        }
    }
}
