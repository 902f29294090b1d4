//! Elements between memory and registers, and the pool of constants.

use rustc_hash::FxHashMap;
use rxla_emit::Element;
use rxla_hlo::{ArrayLiteral, ElementType};
use rxla_kernel::{Builder, Scalar, Type, Value};

use crate::buffers::ALIGN;

/// The scalar of each register that holds a part of an element.
pub(super) fn scalar(element_type: ElementType) -> Scalar {
    use ElementType::*;
    match element_type.real_part() {
        Pred => Scalar::I1,
        S16 | U16 => Scalar::I16,
        S32 | U32 => Scalar::I32,
        S64 | U64 => Scalar::I64,
        F16 => Scalar::F16,
        Bf16 => Scalar::BF16,
        F32 | C64 => Scalar::F32,
        F64 | C128 => Scalar::F64,
        // The others have a byte each.
        S1 | S2 | S4 | S8 | U1 | U2 | U4 | U8 | F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz
        | F8e3m4 | F8e5m2fnuz | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => {
            Scalar::I8
        }
    }
}

pub(super) fn load(b: &mut Builder, element_type: ElementType, address: Value) -> Element {
    let ty = Type::from(scalar(element_type));
    let zero = b.index(0);
    let first = b.load(ty, address, zero);
    if !element_type.is_complex() {
        return Element::One(first);
    }
    let one = b.index(1);
    Element::Complex(first, b.load(ty, address, one))
}

pub(super) fn store(b: &mut Builder, address: Value, element: Element) {
    for (index, part) in parts(element).into_iter().enumerate() {
        let index = b.index(index as i64);
        b.store(address, index, part);
    }
}

/// One value, or real and imaginary part.
pub(super) fn parts(element: Element) -> Vec<Value> {
    match element {
        Element::One(value) => vec![value],
        Element::Complex(real, imaginary) => vec![real, imaginary],
    }
}

/// Takes an element of a type from an iterator over parts.
pub(super) fn take(element_type: ElementType, parts: &mut impl Iterator<Item = Value>) -> Element {
    let mut next = || parts.next().expect("a part for each register");
    if element_type.is_complex() { Element::Complex(next(), next()) } else { Element::One(next()) }
}

/// The only element of a constant.
pub(super) fn immediate(b: &mut Builder, literal: &ArrayLiteral) -> Element {
    let ty = scalar(literal.element_type());
    let width = ty.byte_width();
    let mut parts = literal.bytes().chunks(width).map(|bytes| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        b.constant(ty, u64::from_le_bytes(padded))
    });
    let parts: Vec<Value> = parts.by_ref().collect();
    take(literal.element_type(), &mut parts.into_iter())
}

/// Constants side by side, equal ones once.
#[derive(Default)]
pub(super) struct Pool {
    bytes: Vec<u8>,
    /// By a hash of the bytes: where constants with it lie.
    known: FxHashMap<u64, Vec<(usize, usize)>>,
}

impl Pool {
    pub(super) fn offset(&mut self, literal: &ArrayLiteral) -> u64 {
        self.bytes(literal.bytes())
    }

    /// The offset of an array of numbers.
    pub(super) fn words(&mut self, words: &[i64]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.bytes(&bytes)
    }

    fn bytes(&mut self, bytes: &[u8]) -> u64 {
        use std::hash::{Hash, Hasher};
        let mut hasher = rustc_hash::FxHasher::default();
        bytes.hash(&mut hasher);
        let same = self.known.entry(hasher.finish()).or_default();
        for &(offset, len) in same.iter() {
            if &self.bytes[offset..offset + len] == bytes {
                return offset as u64;
            }
        }
        let offset = self.bytes.len().next_multiple_of(ALIGN as usize);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(bytes);
        same.push((offset, bytes.len()));
        offset as u64
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
