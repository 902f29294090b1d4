//! Programs as they cross the border: their formats, and the envelope in which an executable is
//! kept on disk.

use std::sync::Arc;

use rxla::{Code, Error, Result};

use crate::abi;
use crate::ffi;

/// A program as the caller gave it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Source {
    pub(crate) format: String,
    pub(crate) code: Arc<[u8]>,
    /// The serialized compile options that came with it.
    pub(crate) options: Vec<u8>,
}

impl Source {
    /// Copies what a caller passes to a compile function.
    ///
    /// # Safety
    /// `program` is null or points to a program whose pointers are good; `options` points to
    /// `options_size` bytes.
    pub(crate) unsafe fn read(
        program: *const ffi::PJRT_Program,
        options: *const std::ffi::c_char,
        options_size: usize,
    ) -> Result<Source> {
        // SAFETY: the caller's promise.
        unsafe {
            let program = abi::versioned(program, "program")?
                .ok_or_else(|| Error::invalid_argument("`program` is null"))?;
            let code =
                abi::slice(program.code.cast_const().cast::<u8>(), program.code_size, "code")?;
            Ok(Source {
                format: abi::text(program.format, program.format_size, "format")?.to_owned(),
                code: code.into(),
                options: abi::slice(options.cast::<u8>(), options_size, "compile_options")?
                    .to_vec(),
            })
        }
    }

    /// What the client takes of the program and its options.
    pub(crate) fn parse(&self) -> Result<(rxla::Source, rxla::CompileOptions)> {
        let options = crate::compile_options::read(&self.options)?;
        let format = match self.format.as_str() {
            "mlir" => rxla::Format::StableHlo,
            "hlo" => rxla::Format::HloProto,
            "hlo_with_config" => rxla::Format::HloProtoWithConfig,
            other => {
                return Err(Error::invalid_argument(format!(
                    "programs of format `{other}` are not known; `mlir`, `hlo` and \
                     `hlo_with_config` are"
                )));
            }
        };
        let arguments = match options.tupled_arguments {
            true => rxla::ArgumentForm::Tupled,
            false => rxla::ArgumentForm::Separate,
        };
        let read = rxla::ReadOptions { arguments };
        Ok((rxla::Source { format, options: read, bytes: Arc::clone(&self.code) }, options))
    }

    /// The envelope: a magic line, then format, options and code, each with its length.
    pub(crate) fn serialize(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for part in [self.format.as_bytes(), &self.options, &*self.code] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        bytes
    }

    pub(crate) fn deserialize(bytes: &[u8]) -> Result<Source> {
        let broken =
            || Error::new(Code::DataLoss, "these bytes are no serialized executable of rxla");
        let mut rest = bytes.strip_prefix(MAGIC).ok_or_else(broken)?;
        let mut part = || {
            let (length, after) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
            let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
            let (part, after) = after.split_at_checked(length).ok_or_else(broken)?;
            rest = after;
            Ok::<_, Error>(part.to_vec())
        };
        let (format, options, code) = (part()?, part()?, part()?);
        let format = String::from_utf8(format).map_err(|_| broken())?;
        if rest.is_empty() {
            Ok(Source { format, code: code.into(), options })
        } else {
            Err(broken())
        }
    }
}

const MAGIC: &[u8] = b"rxla executable 1\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_is_read_back_and_checked() {
        let source = Source {
            format: "mlir".to_owned(),
            code: b"ML\xefR"[..].into(),
            options: vec![1, 2, 3],
        };
        let bytes = source.serialize();
        assert_eq!(Source::deserialize(&bytes).unwrap(), source);
        for length in 0..bytes.len() {
            assert!(Source::deserialize(&bytes[..length]).is_err(), "cut at {length}");
        }
    }
}
