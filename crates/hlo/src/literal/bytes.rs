//! Storage of literals: aligned to 64 bytes when we allocate it, shared on clone, copied on the
//! first write. Memory that somebody else owns can be borrowed as a shared slice.

use std::fmt;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rxla_base::{Error, Result};

/// A cache line, to make the allocator align.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

#[derive(Clone)]
struct Owned {
    lines: Box<[Line]>,
    len: usize,
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
        let lines = bytemuck::allocation::try_zeroed_slice_box(len.div_ceil(64)).map_err(|()| {
            Error::resource_exhausted(format!("out of memory allocating {len} bytes"))
        })?;
        Ok(Bytes(Storage::Owned(Arc::new(Owned { lines, len }))))
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
            Storage::Owned(owned) => &bytemuck::cast_slice(&owned.lines)[..owned.len],
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
        let owned = Arc::make_mut(owned);
        &mut bytemuck::cast_slice_mut(&mut owned.lines)[..owned.len]
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
