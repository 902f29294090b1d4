//! Storage of literals: aligned to 64 bytes when we allocate it, shared on clone, copied on the
//! first write. Memory that somebody else owns can be borrowed as a shared slice.

use std::fmt;
use std::sync::Arc;

use rxla_base::{Error, Result};

/// Where literals start: a cache line.
const ALIGN: usize = 64;

/// Memory of our own. It is taken in words that the allocator aligns without being asked, since it
/// hands out large zeroed blocks for nothing only then, and used from the first aligned byte on.
struct Owned {
    words: Box<[u128]>,
    start: usize,
    len: usize,
}

impl Owned {
    fn zeroed(len: usize) -> Result<Owned> {
        let out_of_memory =
            || Error::resource_exhausted(format!("out of memory allocating {len} bytes"));
        let slack = ALIGN / size_of::<u128>() - 1;
        let count = len.div_ceil(size_of::<u128>()).checked_add(slack).ok_or_else(out_of_memory)?;
        let words: Box<[u128]> =
            bytemuck::allocation::try_zeroed_slice_box(count).map_err(|()| out_of_memory())?;
        let start = bytemuck::cast_slice::<u128, u8>(&words).as_ptr().align_offset(ALIGN);
        Ok(Owned { words, start, len })
    }

    fn as_slice(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[self.start..self.start + self.len]
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[self.start..self.start + self.len]
    }
}

impl Clone for Owned {
    /// Panics when there is no memory for the copy.
    fn clone(&self) -> Owned {
        let mut copy = Owned::zeroed(self.len).expect("memory for a copy on write");
        copy.as_mut_slice().copy_from_slice(self.as_slice());
        copy
    }
}

#[derive(Clone)]
enum Storage {
    Owned(Arc<Owned>),
    Foreign(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

/// A run of bytes with cheap clones.
#[derive(Clone)]
pub struct Bytes(Storage);

impl Bytes {
    /// Zeroed memory; an error, not an abort, if there is not that much.
    pub fn zeroed(len: usize) -> Result<Bytes> {
        Ok(Bytes(Storage::Owned(Arc::new(Owned::zeroed(len)?))))
    }

    /// A copy of `bytes` in memory of our own.
    pub fn copy_of(bytes: &[u8]) -> Result<Bytes> {
        let mut copy = Bytes::zeroed(bytes.len())?;
        copy.make_mut().copy_from_slice(bytes);
        Ok(copy)
    }

    /// Memory owned by somebody else, which must not change while a clone of this lives.
    pub fn foreign(memory: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Bytes {
        Bytes(Storage::Foreign(memory))
    }

    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Storage::Owned(owned) => owned.as_slice(),
            Storage::Foreign(memory) => (**memory).as_ref(),
        }
    }

    /// Whether nobody else holds these bytes, so that writing needs no copy.
    pub fn is_unique(&self) -> bool {
        match &self.0 {
            Storage::Owned(owned) => Arc::strong_count(owned) == 1,
            Storage::Foreign(_) => false,
        }
    }

    /// The bytes for writing; copied first if another clone shares them or they are foreign.
    ///
    /// Panics when there is no memory for the copy.
    pub fn make_mut(&mut self) -> &mut [u8] {
        if let Storage::Foreign(memory) = &self.0 {
            *self = Bytes::copy_of((**memory).as_ref()).expect("memory for a copy on write");
        }
        let Storage::Owned(owned) = &mut self.0 else { unreachable!("made our own above") };
        Arc::make_mut(owned).as_mut_slice()
    }

    /// The same bytes at an address that is a multiple of `align`, copied only if they are not.
    pub fn aligned(self, align: usize) -> Result<Bytes> {
        if (self.as_slice().as_ptr() as usize).is_multiple_of(align) {
            Ok(self)
        } else {
            Bytes::copy_of(self.as_slice())
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}
