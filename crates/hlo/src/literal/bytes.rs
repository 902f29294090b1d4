//! Storage of literals: aligned to 64 bytes when we allocate it, shared on clone, copied on the
//! first write. Memory from elsewhere comes in two ways: *provided*, to be ours alone and written like
//! our own, or *foreign*, a shared slice that somebody else owns.

use std::fmt;
use std::sync::Arc;

use rxla_base::{Error, Memory, Result};

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
    Provided(Arc<dyn Memory>),
    Foreign(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

/// A run of bytes with cheap clones.
#[derive(Clone)]
pub struct Bytes {
    storage: Storage,
    /// Whether somebody outside knows the address, as of clones that are made from then on.
    shown: bool,
}

impl Bytes {
    fn of(storage: Storage) -> Bytes {
        Bytes { storage, shown: false }
    }

    /// Zeroed memory; an error, not an abort, if there is not that much.
    pub fn zeroed(len: usize) -> Result<Bytes> {
        Ok(Bytes::of(Storage::Owned(Arc::new(Owned::zeroed(len)?))))
    }

    /// A copy of `bytes` in memory of our own.
    pub fn copy_of(bytes: &[u8]) -> Result<Bytes> {
        let mut copy = Bytes::zeroed(bytes.len())?;
        copy.make_mut().copy_from_slice(bytes);
        Ok(copy)
    }

    /// Memory from somebody else's allocator, which goes back there when the last clone is dropped.
    pub fn provided(memory: Arc<dyn Memory>) -> Bytes {
        Bytes::of(Storage::Provided(memory))
    }

    /// Memory owned by somebody else, which must not change while a clone of this lives.
    pub fn foreign(memory: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Bytes {
        Bytes::of(Storage::Foreign(memory))
    }

    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn as_slice(&self) -> &[u8] {
        match &self.storage {
            Storage::Owned(owned) => owned.as_slice(),
            Storage::Provided(memory) => memory.as_slice(),
            Storage::Foreign(memory) => (**memory).as_ref(),
        }
    }

    /// Whether nobody else holds these bytes, so that writing needs no copy.
    pub fn is_unique(&self) -> bool {
        match &self.storage {
            Storage::Owned(owned) => Arc::strong_count(owned) == 1,
            Storage::Provided(memory) => Arc::strong_count(memory) == 1,
            Storage::Foreign(_) => false,
        }
    }

    /// Takes down that somebody outside gets to know the address, who may write to it. What others share by
    /// then is copied first.
    pub fn show(&mut self) -> Result<()> {
        if !self.shown && !matches!(self.storage, Storage::Foreign(_)) {
            if !self.is_unique() {
                *self = Bytes::copy_of(self.as_slice())?;
            }
            self.shown = true;
        }
        Ok(())
    }

    /// Whether somebody outside may know the address: who gives these bytes away as a new value has to copy
    /// them.
    pub fn is_shown(&self) -> bool {
        self.shown || matches!(self.storage, Storage::Foreign(_))
    }

    /// The bytes for writing; copied first if another clone shares them or they are foreign.
    ///
    /// Panics when there is no memory for the copy.
    pub fn make_mut(&mut self) -> &mut [u8] {
        let ours = match &self.storage {
            Storage::Owned(_) => true,
            Storage::Provided(_) => self.is_unique(),
            Storage::Foreign(_) => false,
        };
        if !ours {
            *self = Bytes::copy_of(self.as_slice()).expect("memory for a copy on write");
        }
        match &mut self.storage {
            Storage::Owned(owned) => Arc::make_mut(owned).as_mut_slice(),
            Storage::Provided(memory) => Arc::get_mut(memory).expect("unique").as_mut_slice(),
            Storage::Foreign(_) => unreachable!("made our own above"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Provided(Vec<u8>);

    impl Memory for Provided {
        fn as_slice(&self) -> &[u8] {
            &self.0
        }

        fn as_mut_slice(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }

    #[test]
    fn provided_memory_is_written_in_place_while_it_is_ours_alone() {
        let mut bytes = Bytes::provided(Arc::new(Provided(vec![1, 2, 3])));
        let address = bytes.as_slice().as_ptr();
        bytes.make_mut()[0] = 9;
        assert_eq!((bytes.as_slice(), bytes.as_slice().as_ptr()), (&[9, 2, 3][..], address));
        let shared = bytes.clone();
        assert!(!bytes.is_unique());
        bytes.make_mut()[1] = 8;
        assert_eq!((bytes.as_slice(), shared.as_slice()), (&[9, 8, 3][..], &[9, 2, 3][..]));
        assert!(shared.is_unique() && bytes.is_unique());
    }

    #[test]
    fn what_is_shown_is_nobody_elses() {
        let mut bytes = Bytes::copy_of(&[1, 2, 3]).unwrap();
        let before = bytes.clone();
        bytes.show().unwrap();
        assert!(bytes.is_shown() && bytes.is_unique() && !before.is_shown());
        let (address, after) = (bytes.as_slice().as_ptr(), bytes.clone());
        bytes.show().unwrap();
        assert!(after.is_shown() && bytes.as_slice().as_ptr() == address);
        assert!(Bytes::foreign(Arc::new([1u8, 2])).is_shown());
    }
}
