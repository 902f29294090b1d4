//! Numbers and bytes one after the other, for files that only the program that wrote them reads.
//! Whatever is wrong with the bytes, a reader says `None`.

/// Appends to a record.
#[derive(Clone, Debug, Default)]
pub struct RecordWriter(Vec<u8>);

impl RecordWriter {
    pub fn new() -> RecordWriter {
        RecordWriter::default()
    }

    pub fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub fn signed(&mut self, number: i64) {
        self.0.extend(number.to_le_bytes());
    }

    /// With their length before them.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Takes from a record what was appended, in the same order.
#[derive(Clone, Debug)]
pub struct RecordReader<'a>(&'a [u8]);

impl<'a> RecordReader<'a> {
    pub fn new(record: &'a [u8]) -> RecordReader<'a> {
        RecordReader(record)
    }

    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(|number| number as i64)
    }

    /// A number of things that each take a byte at least, so that it is no larger than what is left.
    pub fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    pub fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// Whether all has been taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = RecordWriter::new();
        writer.number(u64::MAX);
        writer.signed(-3);
        writer.text("rxla");
        writer.bytes(&[]);
        let record = writer.finish();
        let mut reader = RecordReader::new(&record);
        assert_eq!(reader.number(), Some(u64::MAX));
        assert_eq!(reader.signed(), Some(-3));
        assert_eq!(reader.text(), Some("rxla"));
        assert_eq!(reader.bytes(), Some(&[][..]));
        assert!(reader.is_empty());
        assert_eq!(reader.number(), None);
    }

    #[test]
    fn lengths_that_lie_are_seen() {
        let mut writer = RecordWriter::new();
        writer.number(1 << 60);
        let record = writer.finish();
        assert_eq!(RecordReader::new(&record).bytes(), None);
        assert_eq!(RecordReader::new(&record).count(), None);
        assert_eq!(RecordReader::new(&record[..7]).number(), None);
    }
}
