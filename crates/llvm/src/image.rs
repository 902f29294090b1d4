//! Loaded code as bytes that a later process maps without linking: what relocation made of the
//! objects, with a list of what depends on where it lies and on where the functions outside are.

use std::collections::BTreeMap;

use rxla_base::{Error, RecordReader, RecordWriter, Result};

use crate::builtins;
use crate::load::Code;
use crate::mapping::{Mapping, page_size};

/// What has to be known of code to move it elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    /// Where the executable part ends.
    pub(crate) executable: usize,
    /// Words that hold addresses inside.
    pub(crate) absolute: Vec<usize>,
    /// Functions outside, and the word that holds the address of each.
    pub(crate) outside: Vec<(String, usize)>,
    /// It depends on where it lies in ways that are not listed.
    pub(crate) fixed: bool,
}

const WORD: usize = 8;

impl Code {
    /// The code as bytes; `None` if it cannot run elsewhere.
    pub fn image(&self) -> Option<Vec<u8>> {
        let links = &self.links;
        if links.fixed {
            return None;
        }
        let mut bytes = self.mapping.contents()[..self.length].to_vec();
        let start = self.mapping.start() as u64;
        for &at in &links.absolute {
            let word = bytes.get_mut(at..at + WORD)?;
            let address = u64::from_le_bytes((&*word).try_into().ok()?);
            word.copy_from_slice(&address.wrapping_sub(start).to_le_bytes());
        }
        let mut record = RecordWriter::new();
        record.count(self.bytes);
        record.count(page_size());
        record.count(links.executable);
        record.count(links.absolute.len());
        links.absolute.iter().for_each(|&at| record.count(at));
        record.count(links.outside.len());
        for (name, at) in &links.outside {
            record.text(name);
            record.count(*at);
            // What this process has there is nobody else's business.
            bytes.get_mut(*at..*at + WORD)?.fill(0);
        }
        record.count(self.functions.len());
        for (name, &address) in &self.functions {
            record.text(name);
            record.count(address - start as usize);
        }
        record.bytes(&bytes);
        Some(record.finish())
    }

    /// Code from what [`Code::image`] gave; `Ok(None)` if these bytes are none of ours or were made
    /// where pages have another size. `resolve` is that of [`crate::Compiler::compile`].
    pub fn from_image(
        image: &[u8],
        resolve: &dyn Fn(&str) -> Option<*const u8>,
    ) -> Result<Option<Code>> {
        let Some(parts) = parts(image) else { return Ok(None) };
        let mut mapping = Mapping::new(parts.bytes.len())?;
        let start = mapping.start() as u64;
        let target = mapping.bytes();
        target[..parts.bytes.len()].copy_from_slice(parts.bytes);
        for &at in &parts.links.absolute {
            let Some(word) = target.get_mut(at..at + WORD) else { return Ok(None) };
            let offset = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|index| word[index]));
            word.copy_from_slice(&start.wrapping_add(offset).to_le_bytes());
        }
        for (name, at) in &parts.links.outside {
            let Some(word) = target.get_mut(*at..*at + WORD) else { return Ok(None) };
            let Some(address) = builtins::address(name).or_else(|| resolve(name)) else {
                let what = format!("a kernel calls {name}, which nothing defines");
                return Err(Error::internal(what));
            };
            word.copy_from_slice(&(address as u64).to_le_bytes());
        }
        mapping.protect(parts.links.executable)?;
        let functions = parts
            .functions
            .into_iter()
            .map(|(name, offset)| (name, start as usize + offset))
            .collect();
        let (length, bytes) = (parts.bytes.len(), parts.used);
        Ok(Some(Code { mapping, functions, bytes, length, links: parts.links }))
    }
}

struct Parts<'a> {
    used: usize,
    links: Links,
    functions: BTreeMap<String, usize>,
    bytes: &'a [u8],
}

fn parts(image: &[u8]) -> Option<Parts<'_>> {
    let mut record = RecordReader::new(image);
    let used = record.size()?;
    if record.size()? != page_size() {
        return None;
    }
    let executable = record.size()?;
    let count = record.count()?;
    let absolute = (0..count).map(|_| record.size()).collect::<Option<_>>()?;
    let count = record.count()?;
    let outside = (0..count)
        .map(|_| Some((record.text()?.to_owned(), record.size()?)))
        .collect::<Option<_>>()?;
    let count = record.count()?;
    let functions: BTreeMap<String, usize> = (0..count)
        .map(|_| Some((record.text()?.to_owned(), record.size()?)))
        .collect::<Option<_>>()?;
    let bytes = record.bytes()?;
    let inside = functions.values().all(|&offset| offset < executable.min(bytes.len()));
    let links = Links { executable, absolute, outside, fixed: false };
    (inside && record.is_empty()).then_some(Parts { used, links, functions, bytes })
}
