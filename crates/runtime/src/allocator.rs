//! The caching allocator of buffers and temporaries.
//!
//! Fresh memory from the system costs a page fault for every page that is touched, which for large
//! results takes longer than the work itself. So freed blocks are kept, up to a bound, and handed
//! out again; large ones are asked of the system in huge pages.
//!
//! What holds here: blocks start at multiples of 64 (large ones of 4096, huge ones of 2 MiB); their
//! bytes are initialised, since the system gives zeros and what is reused was written before, but
//! which bytes they are is not to be relied upon; blocks kept longest go first when the bound is met.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rxla_base::{Code, Error, Memory, Result};

use crate::system;

/// What every block is aligned to: a cache line.
pub const ALIGN: usize = 64;
/// Up to here blocks come from the heap in classes with lists of their own; above, from the system.
const SMALL: usize = 32 << 10;
/// From here on blocks are whole huge pages.
const HUGE: usize = 2 << 20;
/// Bytes of small blocks kept, of each class.
const SMALL_BOUND: usize = 1 << 20;
/// Classes of small blocks: four to each doubling.
const SMALL_CLASSES: usize = class_of(SMALL) + 1;

/// Hands out [`Block`]s and keeps what comes back.
pub struct Allocator {
    small: [Mutex<Class>; SMALL_CLASSES],
    /// Oldest first.
    large: Mutex<VecDeque<Raw>>,
    large_kept: AtomicUsize,
    large_used: AtomicUsize,
    bound: usize,
}

/// The small blocks of one size.
#[derive(Default)]
struct Class {
    kept: Vec<Raw>,
    /// How many somebody holds.
    used: usize,
}

/// Memory of one owner, which goes back to its allocator when dropped.
pub struct Block {
    raw: Raw,
    len: usize,
    home: Arc<Allocator>,
}

/// Memory without an owner that would free it.
struct Raw {
    address: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a block is memory that nobody else has the address of, like a `Box<[u8]>`.
unsafe impl Send for Raw {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Raw {}

/// Figures for memory statistics, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// In blocks that somebody holds.
    pub used: usize,
    /// In freed blocks.
    pub kept: usize,
}

impl Allocator {
    /// An allocator that keeps up to `bound` bytes of freed large blocks.
    pub fn new(bound: usize) -> Arc<Allocator> {
        Arc::new(Allocator {
            small: std::array::from_fn(|_| Mutex::default()),
            large: Mutex::default(),
            large_kept: AtomicUsize::new(0),
            large_used: AtomicUsize::new(0),
            bound,
        })
    }

    /// The allocator that everything in the process may share. It keeps up to a quarter of the
    /// memory that the process may use.
    pub fn shared() -> &'static Arc<Allocator> {
        static SHARED: OnceLock<Arc<Allocator>> = OnceLock::new();
        SHARED.get_or_init(|| Allocator::new(system::memory_limit() / 4))
    }

    /// A block with bytes of any value.
    pub fn allocate(self: &Arc<Allocator>, len: usize) -> Result<Block> {
        let raw = self.take(len).ok_or_else(|| {
            let message = format!("out of memory allocating {len} bytes");
            Error::new(Code::ResourceExhausted, message)
        })?;
        Ok(Block { raw, len, home: Arc::clone(self) })
    }

    /// A block of zeros.
    pub fn allocate_zeroed(self: &Arc<Allocator>, len: usize) -> Result<Block> {
        let mut block = self.allocate(len)?;
        block.as_mut_slice().fill(0);
        Ok(block)
    }

    pub fn usage(&self) -> Usage {
        let mut usage = Usage {
            used: self.large_used.load(Ordering::Relaxed),
            kept: self.large_kept.load(Ordering::Relaxed),
        };
        for (class, list) in self.small.iter().enumerate() {
            let list = lock(list);
            usage.used += list.used * class_size(class);
            usage.kept += list.kept.len() * class_size(class);
        }
        usage
    }

    /// Gives all freed blocks back to the system.
    pub fn trim(&self) {
        for class in &self.small {
            let blocks = std::mem::take(&mut lock(class).kept);
            blocks.into_iter().for_each(Raw::free);
        }
        let blocks = std::mem::take(&mut *lock(&self.large));
        let bytes = blocks.iter().map(|block| block.capacity).sum();
        self.large_kept.fetch_sub(bytes, Ordering::Relaxed);
        blocks.into_iter().for_each(Raw::free);
    }

    fn take(&self, len: usize) -> Option<Raw> {
        let capacity = capacity_of(len)?;
        if capacity <= SMALL {
            let mut class = lock(&self.small[class_of(capacity)]);
            let raw = class.kept.pop().or_else(|| Raw::new(capacity));
            class.used += usize::from(raw.is_some());
            return raw;
        }
        let raw = self.take_large(capacity).or_else(|| {
            self.trim();
            Raw::new(capacity)
        })?;
        self.large_used.fetch_add(capacity, Ordering::Relaxed);
        Some(raw)
    }

    fn take_large(&self, capacity: usize) -> Option<Raw> {
        let mut large = lock(&self.large);
        // What was freed last is the likeliest to be in the caches.
        if let Some(place) = large.iter().rposition(|block| block.capacity == capacity) {
            self.large_kept.fetch_sub(capacity, Ordering::Relaxed);
            return large.remove(place);
        }
        drop(large);
        Raw::new(capacity)
    }

    fn put_back(&self, raw: Raw) {
        let capacity = raw.capacity;
        if capacity <= SMALL {
            let mut class = lock(&self.small[class_of(capacity)]);
            class.used -= 1;
            if (class.kept.len() + 1) * capacity <= SMALL_BOUND {
                class.kept.push(raw);
            } else {
                drop(class);
                raw.free();
            }
            return;
        }
        self.large_used.fetch_sub(capacity, Ordering::Relaxed);
        let mut large = lock(&self.large);
        large.push_back(raw);
        let mut kept = self.large_kept.fetch_add(capacity, Ordering::Relaxed) + capacity;
        let mut gone = Vec::new();
        while kept > self.bound
            && let Some(oldest) = large.pop_front()
        {
            self.large_kept.fetch_sub(oldest.capacity, Ordering::Relaxed);
            kept -= oldest.capacity;
            gone.push(oldest);
        }
        drop(large);
        gone.into_iter().for_each(Raw::free);
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        self.trim();
    }
}

impl Block {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the block starts. Whoever writes through it must be its only user meanwhile.
    pub fn as_ptr(&self) -> *mut u8 {
        self.raw.address.as_ptr()
    }
}

impl Memory for Block {
    fn as_slice(&self) -> &[u8] {
        // SAFETY: the block has at least `len` initialised bytes, and `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.as_ptr(), self.len) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let raw = Raw { address: self.raw.address, capacity: self.raw.capacity };
        self.home.put_back(raw);
    }
}

impl Raw {
    fn new(capacity: usize) -> Option<Raw> {
        let address = if capacity <= SMALL {
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { std::alloc::alloc_zeroed(small_layout(capacity)) })
        } else {
            system::map(capacity, if capacity >= HUGE { HUGE } else { 1 })
        };
        Some(Raw { address: address?, capacity })
    }

    fn free(self) {
        if self.capacity <= SMALL {
            // SAFETY: it was allocated with this layout in `new`.
            unsafe { std::alloc::dealloc(self.address.as_ptr(), small_layout(self.capacity)) };
        } else {
            // SAFETY: it was mapped with this size in `new`, and its one owner is gone.
            unsafe { system::unmap(self.address, self.capacity) };
        }
    }
}

fn small_layout(capacity: usize) -> std::alloc::Layout {
    std::alloc::Layout::from_size_align(capacity, ALIGN).expect("a size of at most 32 KiB")
}

/// What is allocated for `len` bytes: the next of four sizes to each doubling, and whole huge pages.
/// Equal lengths share a size, and at most a quarter is wasted. `None` if there is no such size.
fn capacity_of(len: usize) -> Option<usize> {
    let size = class_size(class_of(len.max(ALIGN)));
    if len > isize::MAX as usize / 2 {
        None
    } else if len > HUGE {
        // Untouched pages at the end of a block cost nothing if they are not part of huge ones.
        Some(size.next_multiple_of(HUGE))
    } else {
        Some(size)
    }
}

/// Sizes are 64, 80, 96, 112, 128, 160, 192, …
const fn class_of(len: usize) -> usize {
    let last = len - 1;
    if last < ALIGN {
        return 0;
    }
    let doubling = last.ilog2() as usize;
    let quarter = (last >> (doubling - 2)) & 3;
    (doubling - 6) * 4 + quarter + 1
}

const fn class_size(class: usize) -> usize {
    if class == 0 {
        return ALIGN;
    }
    let (doubling, quarter) = ((class - 1) / 4 + 6, (class - 1) % 4);
    (4 + quarter + 1) << (doubling - 2)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_hold_what_they_are_asked_for() {
        for len in (1..5000).chain([SMALL, SMALL + 1, 1 << 20, (2 << 20) + 1, 100_000_000]) {
            let capacity = capacity_of(len).unwrap();
            assert!(capacity >= len, "{len}");
            assert!(capacity <= len.max(ALIGN) * 5 / 4 + HUGE * usize::from(len > HUGE), "{len}");
            assert_eq!(capacity_of(capacity), Some(capacity), "{len}");
        }
        assert_eq!(capacity_of(usize::MAX), None);
        assert_eq!(capacity_of(0), Some(ALIGN));
    }

    #[test]
    fn freed_blocks_come_back() {
        let allocator = Allocator::new(64 << 20);
        for len in [10, 1000, 100_000, 3 << 20] {
            let mut block = allocator.allocate(len).unwrap();
            let address = block.as_ptr() as usize;
            assert!(address.is_multiple_of(ALIGN) && (len < HUGE || address.is_multiple_of(HUGE)));
            assert!(block.as_slice().iter().all(|&byte| byte == 0));
            block.as_mut_slice().fill(7);
            drop(block);
            let again = allocator.allocate(len - 1).unwrap();
            assert_eq!((again.as_ptr() as usize, again.len()), (address, len - 1));
            drop(again);
            assert!(allocator.allocate_zeroed(len).unwrap().as_slice().iter().all(|&b| b == 0));
        }
        let usage = allocator.usage();
        assert_eq!(usage.used, 0);
        assert!(usage.kept >= (3 << 20));
        allocator.trim();
        assert_eq!(allocator.usage().kept, 0);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let allocator = Allocator::new(8 << 20);
        let blocks: Vec<Block> =
            (1..6).map(|size| allocator.allocate(size << 20).unwrap()).collect();
        drop(blocks);
        assert!(allocator.usage().kept <= 8 << 20);
        // The last to be freed is still there.
        let kept = allocator.usage().kept;
        let block = allocator.allocate(5 << 20).unwrap();
        assert!(allocator.usage().kept < kept);
        drop(block);
    }

    #[test]
    fn too_much_is_an_error() {
        let allocator = Allocator::new(0);
        for len in [usize::MAX, usize::MAX / 4] {
            assert_eq!(allocator.allocate(len).err().unwrap().code, Code::ResourceExhausted);
        }
        assert!(allocator.allocate(0).unwrap().is_empty());
    }

    #[test]
    fn threads_share_it() {
        let allocator = Allocator::new(16 << 20);
        std::thread::scope(|scope| {
            for seed in 0..4_u8 {
                let allocator = &allocator;
                scope.spawn(move || {
                    for round in 0..200_usize {
                        let mut block = allocator.allocate(1 + round * 997 % 70_000).unwrap();
                        block.as_mut_slice().fill(seed);
                        std::thread::yield_now();
                        assert!(block.as_slice().iter().all(|&byte| byte == seed));
                    }
                });
            }
        });
        assert_eq!(allocator.usage().used, 0);
    }
}
