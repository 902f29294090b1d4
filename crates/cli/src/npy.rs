//! Arrays in NumPy's files: `.npy` holds one, `.npz` an archive of several.
//!
//! Types that NumPy does not know (`bf16`, `f8e4m3fn`, `s4`, …) are written as raw bytes of their
//! width, as the Python package `ml_dtypes` does; what they are then follows from the shape that is
//! expected.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use rxla_base::{Error, Result};
use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The most bytes that one array of an archive may have.
const MAX_BYTES: u64 = 1 << 36;

/// An array as a file has it: the type is known only by kind and width.
pub(crate) struct Stored {
    /// Where it was read from, for messages.
    pub(crate) name: String,
    kind: char,
    width: usize,
    column_major: bool,
    dims: Dims,
    bytes: Vec<u8>,
}

/// All arrays of a `.npy` or `.npz` file, in the order in which they stand.
pub(crate) fn read(path: &Path) -> Result<Vec<Stored>> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path)
        .map_err(|error| Error::invalid_argument(format!("cannot read `{name}`: {error}")))?;
    if bytes.starts_with(MAGIC) {
        return Ok(vec![parse(&name, &bytes)?]);
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::invalid_argument(format!("`{name}` is neither `.npy` nor `.npz`: {error}"))
    };
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| failed(&error))?;
    (0..archive.len())
        .map(|index| {
            let mut file = archive.by_index(index).map_err(|error| failed(&error))?;
            let member = file.name().map_err(|error| failed(&error))?;
            let member = format!("{name}:{member}");
            let mut bytes = Vec::new();
            // An archive may say that little becomes very much.
            let mut file = file.by_ref().take(MAX_BYTES);
            file.read_to_end(&mut bytes).map_err(|error| failed(&error))?;
            parse(&member, &bytes)
        })
        .collect()
}

fn parse(name: &str, bytes: &[u8]) -> Result<Stored> {
    let broken =
        |what: &str| Error::invalid_argument(format!("`{name}` is no array of NumPy: {what}"));
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| broken("the magic bytes are missing"))?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(|| broken("it is cut off"))?;
    let (length, rest) = if version[0] == 1 {
        let (length, rest) = rest.split_first_chunk().ok_or_else(|| broken("it is cut off"))?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else {
        let (length, rest) = rest.split_first_chunk().ok_or_else(|| broken("it is cut off"))?;
        (u32::from_le_bytes(*length) as usize, rest)
    };
    let header = rest.get(..length).ok_or_else(|| broken("its header is cut off"))?;
    let header = std::str::from_utf8(header).map_err(|_| broken("its header is no text"))?;
    let value = |key: &str| -> Option<&str> {
        let (_, rest) = header.split_once(&format!("'{key}':"))?;
        Some(rest.trim_start())
    };
    let descr = value("descr")
        .and_then(|text| text.strip_prefix('\''))
        .and_then(|text| text.split_once('\''))
        .map(|(descr, _)| descr)
        .ok_or_else(|| broken("it has no simple type"))?;
    let column_major = value("fortran_order").is_some_and(|text| text.starts_with("True"));
    let dims = value("shape")
        .and_then(|text| text.strip_prefix('('))
        .and_then(|text| text.split_once(')'))
        .map(|(dims, _)| dims)
        .ok_or_else(|| broken("it has no shape"))?;
    let dims = dims
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(|size| size.parse::<i64>().map_err(|_| broken("its shape has no sizes")))
        .collect::<Result<Dims>>()?;
    let mut letters = descr.chars();
    if letters.next() == Some('>') {
        return Err(broken("its bytes are big-endian"));
    }
    let kind = letters.next().ok_or_else(|| broken("its type is empty"))?;
    let width = letters.as_str().parse().map_err(|_| broken("its type has no width"))?;
    let bytes = rest[length..].to_vec();
    Ok(Stored { name: name.to_owned(), kind, width, column_major, dims, bytes })
}

impl Stored {
    /// The array as a value of the expected shape.
    pub(crate) fn into_literal(self, expected: &ArrayShape) -> Result<ArrayLiteral> {
        let element_type = expected.element_type;
        let fits = self.width == element_type.byte_width()
            && match self.kind {
                'V' => true,
                kind => kind == kind_of(element_type),
            };
        let same_dims = self.dims.len() == expected.rank()
            && (0..expected.rank()).all(|d| {
                self.dims[d] == expected.dims[d]
                    || expected.is_dynamic_dimension(d) && self.dims[d] <= expected.dims[d]
            });
        if !fits || !same_dims {
            return Err(Error::invalid_argument(format!(
                "`{}` is {}{}{:?} where `{expected}` is expected",
                self.name,
                self.kind,
                self.width,
                self.dims.as_slice()
            )));
        }
        let dims = self.dims.iter().copied();
        if self.column_major {
            // The file has the array of the reversed dimensions, row-major.
            let shape = ArrayShape::new(element_type, self.dims.iter().rev().copied());
            let stored = ArrayLiteral::from_bytes(&shape, Bytes::copy_of(&self.bytes)?)?;
            return Ok(row_major(&stored));
        }
        ArrayLiteral::from_bytes(&ArrayShape::new(element_type, dims), Bytes::copy_of(&self.bytes)?)
    }
}

/// The array with its dimensions in reverse order.
fn row_major(stored: &ArrayLiteral) -> ArrayLiteral {
    let dims: Dims = stored.dims().iter().rev().copied().collect();
    let shape = ArrayShape::new(stored.element_type(), dims.iter().copied());
    let mut result = ArrayLiteral::zeros(&shape).expect("as large as what is there");
    let width = stored.element_type().byte_width();
    let mut index = vec![0usize; dims.len()];
    let from = stored.bytes();
    for element in result.bytes_mut().chunks_exact_mut(width) {
        // Dimension d of the result runs with the product of the sizes before it.
        let mut position = 0;
        for d in (0..dims.len()).rev() {
            position = position * dims[d] as usize + index[d];
        }
        element.copy_from_slice(&from[position * width..][..width]);
        for d in (0..dims.len()).rev() {
            index[d] += 1;
            if index[d] < dims[d] as usize {
                break;
            }
            index[d] = 0;
        }
    }
    result
}

/// NumPy's letter for a type; `V` for what it does not know.
fn kind_of(element_type: ElementType) -> char {
    use ElementType::*;
    match element_type {
        Pred => 'b',
        S8 | S16 | S32 | S64 => 'i',
        U8 | U16 | U32 | U64 => 'u',
        F16 | F32 | F64 => 'f',
        C64 | C128 => 'c',
        S1 | S2 | S4 | U1 | U2 | U4 | Bf16 | F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz
        | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => 'V',
    }
}

fn print(array: &ArrayLiteral) -> Vec<u8> {
    let kind = kind_of(array.element_type());
    let width = array.element_type().byte_width();
    let order = if width == 1 { '|' } else { '<' };
    let mut dims: String = array.dims().iter().map(|size| format!("{size}, ")).collect();
    if array.dims().len() > 1 {
        dims.truncate(dims.len() - 2);
    }
    let mut header =
        format!("{{'descr': '{order}{kind}{width}', 'fortran_order': False, 'shape': ({dims}), }}");
    // The data starts at a multiple of 64; ten bytes stand before the header.
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(array.bytes());
    bytes
}

/// Writes one array to a `.npy` file, or any number to a `.npz` archive as `0`, `1`, ….
pub(crate) fn write(path: &Path, arrays: &[ArrayLiteral]) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::invalid_argument(format!("cannot write `{}`: {error}", path.display()))
    };
    let bytes = match arrays {
        [array] if path.extension().is_some_and(|extension| extension == "npy") => print(array),
        _ => {
            let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
            let stored = zip::write::SimpleFileOptions::default()
                .compression_method(zip::CompressionMethod::Stored)
                .large_file(true);
            for (number, array) in arrays.iter().enumerate() {
                archive
                    .start_file(format!("{number}.npy"), stored)
                    .map_err(|error| failed(&error))?;
                archive.write_all(&print(array)).map_err(|error| failed(&error))?;
            }
            archive.finish().map_err(|error| failed(&error))?.into_inner()
        }
    };
    std::fs::write(path, bytes).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let folder = std::env::temp_dir().join(format!("rxla-npy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let arrays = [
            ArrayLiteral::from_values([2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]),
            ArrayLiteral::scalar(7i64),
            ArrayLiteral::from_values([1], &[rxla_hlo::native::bf16::from_f32(0.5)]),
            ArrayLiteral::from_values::<u8>([0], &[]),
        ];
        let path = folder.join("several.npz");
        write(&path, &arrays).unwrap();
        for (stored, array) in read(&path).unwrap().into_iter().zip(&arrays) {
            assert_eq!(&stored.into_literal(array.shape()).unwrap(), array);
        }
        let path = folder.join("one.npy");
        write(&path, &arrays[..1]).unwrap();
        let wrong = ArrayShape::new(ElementType::S32, [2, 3]);
        let error = read(&path).unwrap().remove(0).into_literal(&wrong).unwrap_err();
        assert!(error.message.contains("is f4[2, 3] where `s32[2,3]` is expected"), "{error}");
        std::fs::write(&path, b"\x93NUMPY\x01\x00\xff\xff").unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn column_major_arrays_are_turned() {
        let stored = ArrayLiteral::from_values([3, 2], &[1i32, 4, 2, 5, 3, 6]);
        assert_eq!(row_major(&stored), ArrayLiteral::from_values([2, 3], &[1i32, 2, 3, 4, 5, 6]));
    }
}
