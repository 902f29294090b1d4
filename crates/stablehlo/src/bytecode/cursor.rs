//! [`Cursor`]: reading primitives with bounds checks.

use rxla_base::{Error, Result};

/// A place in some bytes of the file. Errors name the offset from the start of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// Offset in the file of the first byte of `rest`.
    offset: usize,
    /// What is being read, for messages.
    what: &'static str,
}

/// A piece of the file: its bytes and where they start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) offset: usize,
}

impl<'a> Span<'a> {
    pub(super) fn cursor(self, what: &'static str) -> Cursor<'a> {
        Cursor { rest: self.bytes, offset: self.offset, what }
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Cursor<'a> {
        Cursor { rest: bytes, offset: 0, what }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    #[cold]
    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::invalid_argument(format!("{message} at byte {} ({})", self.offset, self.what))
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        let Some((&first, rest)) = self.rest.split_first() else {
            return Err(self.error("bytecode ends too early"));
        };
        self.rest = rest;
        self.offset += 1;
        Ok(first)
    }

    pub(super) fn bytes(&mut self, length: u64) -> Result<Span<'a>> {
        let Some(length) = usize::try_from(length).ok().filter(|&n| n <= self.rest.len()) else {
            return Err(self.error(format_args!(
                "bytecode ends too early: {length} bytes wanted, {} left",
                self.rest.len()
            )));
        };
        let (taken, rest) = self.rest.split_at(length);
        let span = Span { bytes: taken, offset: self.offset };
        self.rest = rest;
        self.offset += length;
        Ok(span)
    }

    /// An unsigned integer of one to nine bytes: as many zero bits at the low end of the first byte
    /// as bytes follow.
    pub(super) fn varint(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first & 1 == 1 {
            return Ok(u64::from(first >> 1));
        }
        let extra = first.trailing_zeros() as usize;
        let mut word = [0; 8];
        if extra == 8 {
            word.copy_from_slice(self.bytes(8)?.bytes);
            return Ok(u64::from_le_bytes(word));
        }
        word[0] = first;
        word[1..=extra].copy_from_slice(self.bytes(extra as u64)?.bytes);
        Ok(u64::from_le_bytes(word) >> (extra + 1))
    }

    /// A signed integer, zigzag encoded.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number with a flag in the lowest bit.
    pub(super) fn flagged(&mut self) -> Result<(u64, bool)> {
        let value = self.varint()?;
        Ok((value >> 1, value & 1 == 1))
    }

    /// The length of a list whose items take at least one byte each.
    pub(super) fn count(&mut self) -> Result<usize> {
        let count = self.varint()?;
        self.checked_count(count)
    }

    /// Refuses a number of items that cannot be in the bytes that are left.
    pub(super) fn checked_count(&self, count: u64) -> Result<usize> {
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(self.error(format_args!(
                "a list of {count} items cannot be in the {} bytes left",
                self.rest.len()
            ))),
        }
    }

    pub(super) fn signed_list(&mut self) -> Result<Vec<i64>> {
        let count = self.count()?;
        (0..count).map(|_| self.signed()).collect()
    }

    /// Bytes up to a zero byte, without it.
    pub(super) fn null_terminated(&mut self) -> Result<Span<'a>> {
        let Some(length) = self.rest.iter().position(|&byte| byte == 0) else {
            return Err(self.error("a string has no terminating zero"));
        };
        let span = self.bytes(length as u64)?;
        self.byte()?;
        Ok(span)
    }

    /// Skips padding up to a multiple of `alignment` bytes from the start of the file.
    fn align(&mut self, alignment: u64) -> Result<()> {
        if !alignment.is_power_of_two() {
            return Err(self.error(format_args!("alignment {alignment} is not a power of two")));
        }
        while self.offset as u64 & (alignment - 1) != 0 {
            let padding = self.byte()?;
            if padding != 0xcb {
                return Err(self.error(format_args!("padding is {padding:#x} instead of 0xcb")));
            }
        }
        Ok(())
    }

    /// A blob with its alignment, as resources hold it.
    pub(super) fn aligned_blob(&mut self) -> Result<(u64, Span<'a>)> {
        let alignment = self.varint()?;
        let length = self.varint()?;
        self.align(alignment)?;
        Ok((alignment, self.bytes(length)?))
    }

    /// A section: its number and its contents.
    pub(super) fn section(&mut self) -> Result<(u8, Span<'a>)> {
        let id = self.byte()?;
        let length = self.varint()?;
        if id & 0x80 != 0 {
            let alignment = self.varint()?;
            self.align(alignment)?;
        }
        Ok((id & 0x7f, self.bytes(length)?))
    }

    /// Refuses bytes that nothing asked for.
    pub(super) fn finish(self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(self.error(format_args!("{} bytes are left over", self.rest.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        let read = |bytes: &[u8]| {
            let mut cursor = Cursor::new(bytes, "test");
            let value = cursor.varint()?;
            cursor.finish().map(|()| value)
        };
        assert_eq!(read(&[0x01]), Ok(0));
        assert_eq!(read(&[0xff]), Ok(127));
        assert_eq!(read(&[0x02, 0x02]), Ok(128));
        assert_eq!(read(&[0xfe, 0xff]), Ok((1 << 14) - 1));
        assert_eq!(read(&[0, 255, 255, 255, 255, 255, 255, 255, 255]), Ok(u64::MAX));
        assert!(read(&[]).is_err());
        assert!(read(&[0x02]).is_err());
        assert!(read(&[0, 1, 2]).is_err());
        assert!(read(&[1, 1]).is_err());
    }

    #[test]
    fn signed_varints_are_zigzag() {
        let read = |byte| Cursor::new(&[byte], "test").signed();
        assert_eq!(read(0b001), Ok(0));
        assert_eq!(read(0b011), Ok(-1));
        assert_eq!(read(0b101), Ok(1));
        let minimum = [0, 255, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(Cursor::new(&minimum, "test").signed(), Ok(i64::MIN));
    }
}
