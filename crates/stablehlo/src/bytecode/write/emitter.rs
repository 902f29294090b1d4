//! [`Emitter`]: writing primitives, and [`Tables`]: strings, dialects, operation names and entries.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use super::super::sections::since;
use crate::mlir::{Attribute, ByteString, Location, Resource, Type};

/// Bytes in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct Emitter(Vec<u8>);

impl Emitter {
    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Fills up to a multiple of a power of two.
    pub(super) fn align(&mut self, alignment: u64) {
        while self.0.len() as u64 & (alignment - 1) != 0 {
            self.byte(0xcb);
        }
    }

    /// A section whose contents start at a multiple of the alignment.
    pub(super) fn aligned_section(&mut self, id: u8, alignment: u64, data: &[u8]) {
        self.byte(id | 0x80);
        self.length(data.len());
        self.varint(alignment);
        self.align(alignment);
        self.bytes(data);
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn varint(&mut self, value: u64) {
        let bits = u64::BITS - value.leading_zeros();
        let bytes = bits.div_ceil(7).clamp(1, 9) as usize;
        if bytes == 9 {
            self.byte(0);
            self.bytes(&value.to_le_bytes());
            return;
        }
        let word = (value << 1 | 1) << (bytes - 1);
        self.bytes(&word.to_le_bytes()[..bytes]);
    }

    pub(super) fn length(&mut self, length: usize) {
        self.varint(length as u64);
    }

    pub(super) fn signed(&mut self, value: i64) {
        self.varint((value << 1 ^ value >> 63) as u64);
    }

    pub(super) fn flagged(&mut self, value: usize, flag: bool) {
        self.varint((value as u64) << 1 | u64::from(flag));
    }

    pub(super) fn indices(&mut self, indices: &[usize]) {
        self.length(indices.len());
        indices.iter().for_each(|&index| self.length(index));
    }

    pub(super) fn signed_list(&mut self, values: &[i64]) {
        self.length(values.len());
        values.iter().for_each(|&value| self.signed(value));
    }

    pub(super) fn blob(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.bytes(bytes);
    }

    pub(super) fn section(&mut self, id: u8, data: &[u8]) {
        self.byte(id);
        self.blob(data);
    }
}

/// Attributes or types, each once.
#[derive(Default)]
pub(super) struct EntryTable {
    entries: Vec<Entry>,
    indices: HashMap<Entry, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub(super) dialect: usize,
    pub(super) data: Vec<u8>,
    /// In the dialect's encoding; otherwise text.
    pub(super) custom: bool,
}

impl EntryTable {
    pub(super) fn add(&mut self, entry: Entry) -> usize {
        let next = self.entries.len();
        let index = *self.indices.entry(entry.clone()).or_insert(next);
        if index == next {
            self.entries.push(entry);
        }
        index
    }
}

#[derive(Default)]
pub(super) struct Tables {
    strings: Vec<ByteString>,
    string_indices: HashMap<ByteString, usize>,
    dialects: Vec<ByteString>,
    op_names: Vec<(usize, usize, bool)>,
    op_name_indices: HashMap<String, usize>,
    pub(super) attributes: EntryTable,
    pub(super) types: EntryTable,
    /// Indices of values that are shared, by their address and the encoding.
    known: FxHashMap<Address, usize>,
    /// Those values, so that no other takes their address.
    kept: Vec<Kept>,
    /// Those of the module that is written.
    pub(super) resources: Vec<Resource>,
}

/// Where a shared value is, and whether it is written in VHLO's encoding.
pub(super) type Address = (usize, bool);

/// A clone that keeps a shared value alive.
pub(super) enum Kept {
    Attribute { _value: Attribute },
    Type { _value: Type },
    Location { _value: Location },
}

impl Tables {
    pub(super) fn new(resources: &[Resource]) -> Tables {
        Tables { resources: resources.to_vec(), ..Tables::default() }
    }

    /// The index of a value that was written before.
    pub(super) fn known(&self, address: Address) -> Option<usize> {
        self.known.get(&address).copied()
    }

    pub(super) fn remember(&mut self, address: Address, index: usize, value: Kept) {
        self.known.insert(address, index);
        self.kept.push(value);
    }

    pub(super) fn string(&mut self, text: &ByteString) -> usize {
        let next = self.strings.len();
        let index = *self.string_indices.entry(text.clone()).or_insert(next);
        if index == next {
            self.strings.push(text.clone());
        }
        index
    }

    pub(super) fn dialect(&mut self, name: &ByteString) -> usize {
        // There are few dialects.
        if let Some(index) = self.dialects.iter().position(|known| known == name) {
            return index;
        }
        self.string(name);
        self.dialects.push(name.clone());
        self.dialects.len() - 1
    }

    pub(super) fn op_name(&mut self, name: &str, registered: bool) -> usize {
        if let Some(&index) = self.op_name_indices.get(name) {
            return index;
        }
        let (dialect, base) = name.split_once('.').unwrap_or((name, ""));
        let dialect = self.dialect(&dialect.into());
        let base = self.string(&base.into());
        self.op_names.push((dialect, base, registered));
        self.op_name_indices.insert(name.to_owned(), self.op_names.len() - 1);
        self.op_names.len() - 1
    }

    pub(super) fn dialect_section(&mut self, version: u64) -> Vec<u8> {
        let mut out = Emitter::default();
        out.length(self.dialects.len());
        for dialect in self.dialects.clone() {
            let name = self.string(&dialect);
            if version < since::DIALECT_VERSIONS {
                out.length(name);
            } else {
                out.flagged(name, false);
            }
        }
        if version >= since::BLOCK_ARGUMENT_LOCATION_FLAG {
            out.length(self.op_names.len());
        }
        for group in self.op_names.chunk_by(|a, b| a.0 == b.0) {
            out.length(group[0].0);
            out.length(group.len());
            for &(_, name, registered) in group {
                if version < since::PROPERTIES {
                    out.length(name);
                } else {
                    out.flagged(name, registered);
                }
            }
        }
        out.finish()
    }

    pub(super) fn string_section(&self) -> Vec<u8> {
        let mut out = Emitter::default();
        out.length(self.strings.len());
        for string in self.strings.iter().rev() {
            out.length(string.as_bytes().len() + 1);
        }
        for string in &self.strings {
            out.bytes(string.as_bytes());
            out.byte(0);
        }
        out.finish()
    }

    /// The contents of the entries and their lengths.
    pub(super) fn entry_sections(&self) -> (Vec<u8>, Vec<u8>) {
        let (mut data, mut offsets) = (Emitter::default(), Emitter::default());
        offsets.length(self.attributes.entries.len());
        offsets.length(self.types.entries.len());
        for entries in [&self.attributes.entries, &self.types.entries] {
            for group in entries.chunk_by(|a, b| a.dialect == b.dialect) {
                offsets.length(group[0].dialect);
                offsets.length(group.len());
                for entry in group {
                    offsets.flagged(entry.data.len(), entry.custom);
                    data.bytes(&entry.data);
                }
            }
        }
        (data.finish(), offsets.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_are_read_back() {
        use crate::bytecode::cursor::Cursor;
        for shift in 0..64 {
            for value in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Emitter::default();
                out.varint(value);
                out.signed(value as i64);
                let bytes = out.finish();
                let mut cursor = Cursor::new(&bytes, "test");
                assert_eq!(cursor.varint(), Ok(value));
                assert_eq!(cursor.signed(), Ok(value as i64));
                assert!(cursor.is_empty());
            }
        }
    }
}
