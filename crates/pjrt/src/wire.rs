//! Protocol buffers' wire format: just enough to read the options that frameworks send and to
//! write the few small messages that PJRT wants back.

use rxla::{Error, Result};

/// One field of a message.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// The fields of a message in order of appearance.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

/// Reads a message; ends after the first broken field.
pub(crate) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>)>;

    fn next(&mut self) -> Option<Result<(u64, Field<'a>)>> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or_else(|| Error::invalid_argument("a protocol buffer message is broken")))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().ok()?)),
            _ => return None,
        };
        Some((key >> 3, field))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl<'a> Field<'a> {
    pub(crate) fn int(self) -> Result<i64> {
        match self {
            Field::Varint(value) => Ok(value as i64),
            other => Err(unexpected("a number", other)),
        }
    }

    pub(crate) fn flag(self) -> Result<bool> {
        Ok(self.int()? != 0)
    }

    pub(crate) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Field::Bytes(bytes) => Ok(bytes),
            other => Err(unexpected("bytes", other)),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| Error::invalid_argument("a string of a protocol buffer is not UTF-8"))
    }

    /// Appends a repeated number, which may come packed or alone.
    pub(crate) fn ints(self, list: &mut Vec<i64>) -> Result<()> {
        match self {
            Field::Bytes(packed) => {
                let mut packed = Fields { rest: packed };
                while !packed.rest.is_empty() {
                    list.push(packed.varint().ok_or_else(|| {
                        Error::invalid_argument("a packed list of a protocol buffer is broken")
                    })? as i64);
                }
            }
            single => list.push(single.int()?),
        }
        Ok(())
    }
}

fn unexpected(wanted: &str, field: Field<'_>) -> Error {
    Error::invalid_argument(format!("a protocol buffer has {field:?} where {wanted} belongs"))
}

/// Writes a message.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number, left out if it is the default.
    pub(crate) fn int(&mut self, field: u64, value: i64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value as u64);
        }
    }

    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    /// A packed list of numbers, left out if empty.
    pub(crate) fn ints(&mut self, field: u64, values: impl IntoIterator<Item = i64>) {
        let mut packed = Writer::default();
        for value in values {
            packed.varint(value as u64);
        }
        if !packed.0.is_empty() {
            self.bytes(field, &packed.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::default();
        writer.int(1, -1);
        writer.int(2, 0);
        writer.bytes(3, b"text");
        writer.ints(16, [1, 300, -5]);
        let read: Vec<_> = fields(&writer.0).collect::<Result<_>>().unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], (1, Field::Varint(u64::MAX)));
        assert_eq!(read[1].1.text().unwrap(), "text");
        let mut list = Vec::new();
        read[2].1.ints(&mut list).unwrap();
        assert_eq!((read[2].0, list), (16, vec![1, 300, -5]));
    }

    #[test]
    fn broken_messages_are_errors() {
        for broken in [&[0x08][..], &[0x0a, 5, 1], &[0x0f], &[0xff; 11], &[0x0d, 1, 2]] {
            assert!(fields(broken).any(|field| field.is_err()), "{broken:?}");
        }
    }
}
