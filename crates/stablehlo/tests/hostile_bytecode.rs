//! Bytecode made to hurt: cycles, towers, shared parts and counts that are not true. Each case must end
//! soon, in an error or a module.

use std::time::{Duration, Instant};

use rxla_base::Code;
use rxla_stablehlo::bytecode::{self, TextParsers};

/// An unsigned number in the format's encoding.
fn varint(value: u64) -> Vec<u8> {
    let bits = (u64::BITS - value.leading_zeros()).max(1);
    let bytes = bits.div_ceil(7) as usize;
    if bytes > 8 {
        return [&[0][..], &value.to_le_bytes()].concat();
    }
    ((value << 1 | 1) << (bytes - 1)).to_le_bytes()[..bytes].to_vec()
}

fn list(numbers: &[u64]) -> Vec<u8> {
    let mut out = varint(numbers.len() as u64);
    numbers.iter().for_each(|&number| out.extend(varint(number)));
    out
}

fn section(id: u8, data: &[u8]) -> Vec<u8> {
    [&[id][..], &varint(data.len() as u64), data].concat()
}

/// Attributes of the builtin dialect.
mod attribute {
    use super::{list, varint};

    pub(super) fn array(items: &[u64]) -> Vec<u8> {
        [varint(0), list(items)].concat()
    }
    pub(super) fn dictionary(entries: &[(u64, u64)]) -> Vec<u8> {
        let mut out = [varint(1), varint(entries.len() as u64)].concat();
        for &(name, value) in entries {
            out.extend(varint(name));
            out.extend(varint(value));
        }
        out
    }
    /// String 2 of the file, `x`.
    pub(super) fn string() -> Vec<u8> {
        [varint(2), varint(2)].concat()
    }
    pub(super) fn call_site(callee: u64, caller: u64) -> Vec<u8> {
        [varint(10), varint(callee), varint(caller)].concat()
    }
    pub(super) fn unknown_location() -> Vec<u8> {
        varint(15)
    }
}

/// A file of version 6 with these attributes and types of the builtin dialect, one operation name,
/// `builtin.module`, and this IR section.
fn file(attributes: &[Vec<u8>], types: &[Vec<u8>], ir: &[u8]) -> Vec<u8> {
    file_with_names(0, attributes, types, ir)
}

/// The same with as many more strings, after the first three.
fn file_with_names(names: u64, attributes: &[Vec<u8>], types: &[Vec<u8>], ir: &[u8]) -> Vec<u8> {
    let mut strings = vec!["builtin".to_owned(), "module".to_owned(), "x".to_owned()];
    strings.extend((0..names).map(|name| format!("n{name}")));
    let mut string_section = varint(strings.len() as u64);
    strings.iter().rev().for_each(|s| string_section.extend(varint(s.len() as u64 + 1)));
    strings.iter().for_each(|s| string_section.extend([s.as_bytes(), &[0]].concat()));
    // One dialect without version, one operation: in the group of dialect 0, string 1, known.
    let dialects =
        [varint(1), varint(0), varint(1), varint(0), varint(1), varint(1 << 1 | 1)].concat();
    let mut offsets = [varint(attributes.len() as u64), varint(types.len() as u64)].concat();
    for entries in [attributes, types] {
        if !entries.is_empty() {
            offsets.extend([varint(0), varint(entries.len() as u64)].concat());
            entries.iter().for_each(|e| offsets.extend(varint((e.len() as u64) << 1 | 1)));
        }
    }
    let data = [attributes.concat(), types.concat()].concat();
    [
        &b"ML\xefR"[..],
        &varint(6),
        b"test\0",
        &section(0, &string_section),
        &section(1, &dialects),
        &section(2, &data),
        &section(3, &offsets),
        &section(4, ir),
    ]
    .concat()
}

/// `builtin.module` with attributes from a dictionary and no region.
fn module_with(dictionary: u64, location: u64) -> Vec<u8> {
    [varint(1 << 1), varint(0), vec![1], varint(location), varint(dictionary)].concat()
}

/// Reads within a second, or says how it went wrong.
fn read(bytes: &[u8]) -> Result<usize, String> {
    let start = Instant::now();
    let outcome = bytecode::read(bytes, TextParsers::default());
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
    let outcome = outcome.map(|read| read.module.operations.len());
    outcome.map_err(|error| {
        assert_ne!(error.code, Code::Internal, "{error}");
        error.to_string()
    })
}

/// Unknown location, the string `x`, and a dictionary that has the last of these attributes under it.
fn with_attributes(more: &[Vec<u8>]) -> Vec<u8> {
    let mut attributes = vec![attribute::unknown_location(), attribute::string()];
    attributes.extend_from_slice(more);
    attributes.push(attribute::dictionary(&[(1, attributes.len() as u64 - 1)]));
    let dictionary = attributes.len() as u64 - 1;
    file(&attributes, &[], &module_with(dictionary, 0))
}

#[test]
fn the_frame_is_right() {
    assert_eq!(read(&with_attributes(&[attribute::array(&[1, 1])])), Ok(1));
}

#[test]
fn an_attribute_in_itself() {
    let error = read(&with_attributes(&[attribute::array(&[2])])).unwrap_err();
    assert!(error.contains("is a part of itself"), "{error}");
    let error = read(&with_attributes(&[attribute::array(&[3]), attribute::array(&[1, 2])]));
    assert!(error.unwrap_err().contains("is a part of itself"));
}

#[test]
fn a_tower_of_arrays() {
    let tower: Vec<Vec<u8>> = (1..100_000).map(|below| attribute::array(&[below])).collect();
    let error = read(&with_attributes(&tower)).unwrap_err();
    assert!(error.contains("nested deeper than 256"), "{error}");
    assert_eq!(read(&with_attributes(&tower[..200])), Ok(1));
}

#[test]
fn doubling_arrays_stay_shared() {
    let doubled: Vec<Vec<u8>> = (1..200).map(|below| attribute::array(&[below, below])).collect();
    assert_eq!(read(&with_attributes(&doubled)), Ok(1));
}

#[test]
fn a_wide_array_whose_parts_come_later() {
    // The array stands before its hundred thousand parts and repeats them.
    let count = 100_000;
    let parts: Vec<u64> = (0..count).map(|index| index + 3).collect();
    let mut attributes = vec![attribute::array(&parts)];
    attributes.extend((0..count).map(|_| attribute::array(&[1])));
    attributes.push(attribute::array(&[2, 2]));
    assert_eq!(read(&with_attributes(&attributes)), Ok(1));
}

#[test]
fn a_long_chain_of_call_sites_is_cut() {
    let mut attributes = vec![attribute::unknown_location(), attribute::string()];
    attributes.push(attribute::dictionary(&[]));
    attributes.push(attribute::call_site(0, 0));
    for last in 3..50_000 {
        attributes.push(attribute::call_site(0, last));
    }
    let last = attributes.len() as u64 - 1;
    assert_eq!(read(&file(&attributes, &[], &module_with(2, last))), Ok(1));
}

#[test]
fn a_large_dictionary_for_many_operations() {
    // Ten thousand names, and thirty thousand operations that refer to all of them: three hundred
    // million attributes from a few hundred kilobytes.
    let names = 10_000u64;
    let mut attributes = vec![attribute::unknown_location()];
    attributes.extend((0..names).map(|name| [varint(2), varint(name + 3)].concat()));
    let entries: Vec<(u64, u64)> = (1..=names).map(|name| (name, 0)).collect();
    attributes.push(attribute::dictionary(&entries));
    let dictionary = attributes.len() as u64 - 1;
    let with_operations = |count: u64| {
        let mut ir = varint(count << 1);
        for _ in 0..count {
            ir.extend([varint(0), vec![1], varint(0), varint(dictionary)].concat());
        }
        read(&file_with_names(names, &attributes, &[], &ir))
    };
    // A second operation is in a module that is made around both.
    assert_eq!(with_operations(2), Ok(3));
    assert!(with_operations(30_000).unwrap_err().contains("far more attributes"));
}

#[test]
fn counts_that_are_not_true() {
    for count in [100, 1 << 20, 1 << 40, u64::MAX] {
        // Items of an array, blocks, values, and a tensor of many truth values from one byte.
        let array = [varint(0), varint(count)].concat();
        assert!(read(&with_attributes(&[array])).is_err());
        let attributes = [attribute::unknown_location(), attribute::dictionary(&[])];
        let head = [varint(1 << 1), varint(0), vec![1 | 16], varint(0), varint(1)].concat();
        let one_region = varint(1 << 1);
        for region in [varint(count), [varint(1), varint(count)].concat()] {
            let ir = [head.clone(), one_region.clone(), region].concat();
            assert!(read(&file(&attributes, &[], &ir)).is_err());
        }
        assert!(read(&file(&attributes, &[], &[head, varint(count << 1)].concat())).is_err());
    }
}

#[test]
fn a_constant_larger_than_its_bytes() {
    // Types: i1, i32, and tensors of 2^20 x 2^20 of them.
    let huge = |element: u64| {
        [varint(13), varint(2), varint(1 << 21), varint(1 << 21), varint(element)].concat()
    };
    let types = [[varint(0), varint(1 << 2)].concat(), [varint(0), varint(32 << 2)].concat()];
    let types = [&types[..], &[huge(0), huge(1)]].concat();
    let constant = |ty: u64, bytes: &[u8]| {
        [varint(18), varint(ty), varint(bytes.len() as u64), bytes.to_vec()].concat()
    };
    let with = |constant: Vec<u8>| {
        let attributes = [
            attribute::unknown_location(),
            attribute::string(),
            constant,
            attribute::dictionary(&[(1, 2)]),
        ];
        read(&file(&attributes, &types, &module_with(3, 0)))
    };
    // A splat is fine whatever the size, a part is not.
    assert_eq!(with(constant(3, &[1, 2, 3, 4])), Ok(1));
    assert_eq!(with(constant(2, &[0xff])), Ok(1));
    assert!(with(constant(3, &[0; 64])).is_err());
    assert!(with(constant(2, &[0x55, 0x55])).is_err());
}

#[test]
fn regions_in_regions() {
    let attributes = [attribute::unknown_location(), attribute::dictionary(&[])];
    let nest = |depth: usize| {
        let mut ir = varint(1 << 1);
        for _ in 0..depth {
            // An operation with one region of one block without values that holds one operation.
            ir.extend([varint(0), vec![16], varint(0), varint(1 << 1)].concat());
            ir.extend([varint(1), varint(0), varint(1 << 1)].concat());
        }
        ir.extend([varint(0), vec![0], varint(0)].concat());
        read(&file(&attributes, &[], &ir))
    };
    assert_eq!(nest(200), Ok(201));
    assert!(nest(100_000).unwrap_err().contains("nest deeper than 256"));
}
