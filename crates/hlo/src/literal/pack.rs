//! Packed sub-byte elements, as buffers with `E(n)` in their layout and some fields of XLA's
//! literal proto hold them: several elements to a byte, the first in the lowest bits.

use rxla_base::{Error, Result};

use super::Bytes;
use crate::{ElementType, with_native};

/// Bits that an element takes when packed; `None` for types that are never packed.
pub fn packed_bits(element_type: ElementType) -> Option<usize> {
    match element_type {
        ElementType::S1 | ElementType::U1 => Some(1),
        ElementType::S2 | ElementType::U2 => Some(2),
        ElementType::S4 | ElementType::U4 | ElementType::F4e2m1fn => Some(4),
        ElementType::Pred
        | ElementType::S8
        | ElementType::S16
        | ElementType::S32
        | ElementType::S64
        | ElementType::U8
        | ElementType::U16
        | ElementType::U32
        | ElementType::U64
        | ElementType::F16
        | ElementType::Bf16
        | ElementType::F32
        | ElementType::F64
        | ElementType::F8e5m2
        | ElementType::F8e4m3
        | ElementType::F8e4m3fn
        | ElementType::F8e4m3b11fnuz
        | ElementType::F8e3m4
        | ElementType::F8e5m2fnuz
        | ElementType::F8e4m3fnuz
        | ElementType::F8e8m0fnu
        // Six bits fill no byte evenly: XLA gives each element its own.
        | ElementType::F6e3m2fn
        | ElementType::F6e2m3fn
        | ElementType::C64
        | ElementType::C128 => None,
    }
}

/// Bytes that `count` packed elements take; the plain size for types that are never packed.
pub fn packed_byte_size(element_type: ElementType, count: usize) -> Option<usize> {
    match packed_bits(element_type) {
        Some(bits) => Some(count.div_ceil(8 / bits)),
        None => count.checked_mul(element_type.byte_width()),
    }
}

/// Packs elements that take a byte each. Types that are never packed are copied.
pub fn pack(element_type: ElementType, unpacked: &[u8]) -> Result<Bytes> {
    let Some(bits) = packed_bits(element_type) else { return Bytes::copy_of(unpacked) };
    let mut packed = Bytes::zeroed(unpacked.len().div_ceil(8 / bits))?;
    let mask = u8::MAX >> (8 - bits);
    for (out, elements) in packed.make_mut().iter_mut().zip(unpacked.chunks(8 / bits)) {
        for (place, element) in elements.iter().enumerate() {
            *out |= (element & mask) << (place * bits);
        }
    }
    Ok(packed)
}

/// Unpacks `count` elements to a byte each, in the form that literals hold. Fails if there are
/// not as many bytes as they take.
pub fn unpack(element_type: ElementType, packed: &[u8], count: usize) -> Result<Bytes> {
    if packed_byte_size(element_type, count) != Some(packed.len()) {
        return Err(Error::invalid_argument(format!(
            "{} bytes given for {count} packed elements of type `{element_type}`, which take {}",
            packed.len(),
            packed_byte_size(element_type, count)
                .map_or("too many".to_owned(), |size| size.to_string()),
        )));
    }
    let Some(bits) = packed_bits(element_type) else {
        let mut bytes = Bytes::copy_of(packed)?;
        canonicalize(element_type, bytes.make_mut());
        return Ok(bytes);
    };
    let mut unpacked = Bytes::zeroed(count)?;
    for (elements, byte) in unpacked.make_mut().chunks_mut(8 / bits).zip(packed) {
        for (place, element) in elements.iter_mut().enumerate() {
            *element = byte >> (place * bits);
        }
    }
    canonicalize(element_type, unpacked.make_mut());
    Ok(unpacked)
}

/// Brings bytes from outside into the form that literals hold: a `pred` is 0 or 1, a sub-byte
/// integer is extended to its byte, a small float has no bits above its own.
pub fn canonicalize(element_type: ElementType, bytes: &mut [u8]) {
    let bits = element_type.bit_width();
    if element_type == ElementType::Pred {
        for byte in bytes {
            *byte = u8::from(*byte != 0);
        }
    } else if bits < 8 {
        let shift = 8 - bits;
        if element_type.is_signed() {
            for byte in bytes {
                *byte = ((*byte as i8) << shift >> shift) as u8;
            }
        } else {
            for byte in bytes {
                *byte = *byte << shift >> shift;
            }
        }
    }
}

/// Whether bytes are in the form that literals hold; see [`canonicalize`].
pub fn is_canonical(element_type: ElementType, bytes: &[u8]) -> bool {
    let width = with_native!(element_type, T => size_of::<T>());
    width > 1
        || bytes.iter().all(|&byte| {
            let mut canonical = [byte];
            canonicalize(element_type, &mut canonical);
            canonical[0] == byte
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_element_is_lowest() {
        let s4 = [1, -2i8 as u8, 7];
        let packed = pack(ElementType::S4, &s4).unwrap();
        assert_eq!(packed.as_slice(), [0xe1, 0x07]);
        assert_eq!(unpack(ElementType::S4, &[0xe1, 0x07], 3).unwrap().as_slice(), s4);
        assert_eq!(unpack(ElementType::U4, &[0xe1, 0x07], 3).unwrap().as_slice(), [1, 14, 7]);
        assert_eq!(pack(ElementType::U2, &[0, 1, 2, 3, 2]).unwrap().as_slice(), [0b1110_0100, 2]);
        assert_eq!(pack(ElementType::U1, &[1, 0, 0, 1]).unwrap().as_slice(), [0b1001]);
        let s1 = unpack(ElementType::S1, &[0b101], 3).unwrap();
        assert_eq!(s1.as_slice(), [0xff, 0, 0xff]);
    }

    #[test]
    fn other_types_stay() {
        assert_eq!(pack(ElementType::U8, &[9, 8]).unwrap().as_slice(), [9, 8]);
        assert_eq!(packed_byte_size(ElementType::F6e3m2fn, 3), Some(3));
        assert_eq!(packed_byte_size(ElementType::F64, usize::MAX), None);
        assert_eq!(unpack(ElementType::Pred, &[2, 0], 2).unwrap().as_slice(), [1, 0]);
    }

    #[test]
    fn wrong_length_is_an_error() {
        let error = unpack(ElementType::S4, &[0; 3], 7).unwrap_err();
        assert_eq!(error.message, "3 bytes given for 7 packed elements of type `s4`, which take 4");
    }

    #[test]
    fn foreign_bytes_become_canonical() {
        for (element_type, foreign, expected) in [
            (ElementType::Pred, [0, 255], [0, 1]),
            (ElementType::S4, [0x0f, 0x78], [0xff, 0xf8]),
            (ElementType::U2, [0xff, 0x04], [3, 0]),
            (ElementType::F4e2m1fn, [0xf7, 0x08], [7, 8]),
            (ElementType::U8, [0xff, 0x80], [0xff, 0x80]),
        ] {
            let mut bytes = foreign;
            assert_eq!(is_canonical(element_type, &bytes), foreign == expected);
            canonicalize(element_type, &mut bytes);
            assert_eq!(bytes, expected, "{element_type}");
        }
    }
}
