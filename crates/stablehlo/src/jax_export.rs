//! Files of `jax.export`: a flatbuffer whose table `Exported` holds the program as StableHLO
//! bytecode. Field numbers are those of JAX's `serialization.fbs`; of the rest of the format only
//! what leads to a field of the root table is needed.

use rxla_base::{Error, Result};

/// The field `mlir_module_serialized`.
const MODULE: usize = 13;

/// The StableHLO program in a serialized `jax.export.Exported`.
pub fn program(file: &[u8]) -> Result<&[u8]> {
    find(file).ok_or_else(|| {
        Error::invalid_argument("this is no serialized `jax.export.Exported` with a program in it")
    })
}

fn find(file: &[u8]) -> Option<&[u8]> {
    let table = at_offset(file, 0)?;
    // A table starts with the distance back to its vtable, which says for each field where in the
    // table it is.
    let distance = i64::from(u32_at(file, table)? as i32);
    let vtable = usize::try_from(i64::try_from(table).ok()?.checked_sub(distance)?).ok()?;
    let slot = 4 + 2 * MODULE;
    if slot + 2 > usize::from(u16_at(file, vtable)?) {
        return None;
    }
    let field = usize::from(u16_at(file, vtable.checked_add(slot)?)?);
    if field == 0 {
        return None;
    }
    let vector = at_offset(file, table.checked_add(field)?)?;
    let length = u32_at(file, vector)? as usize;
    let start = vector.checked_add(4)?;
    file.get(start..start.checked_add(length)?)
}

/// Where the offset that stands at a place leads.
fn at_offset(file: &[u8], place: usize) -> Option<usize> {
    place.checked_add(u32_at(file, place)? as usize)
}

fn u32_at(file: &[u8], place: usize) -> Option<u32> {
    let bytes = file.get(place..place.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn u16_at(file: &[u8], place: usize) -> Option<u16> {
    let bytes = file.get(place..place.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = include_bytes!("../../client/tests/data/mlp.jax_export");

    #[test]
    fn the_program_is_bytecode() {
        assert!(program(FILE).unwrap().starts_with(b"ML\xefR"));
    }

    #[test]
    fn broken_files_are_errors() {
        for length in 0..FILE.len().min(200) {
            assert!(program(&FILE[..length]).is_err(), "cut at {length}");
        }
        assert!(program(&[0xff; 64]).is_err());
        assert!(program(&[0; 64]).is_err());
    }
}
