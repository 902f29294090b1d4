//! Tables of live handles for objects that come and go with every call.
//!
//! They promise what [`crate::handle`] promises, at a cost of a few nanoseconds: objects live in
//! slots whose memory is never given back, so a handle, the address of a slot's object, is checked
//! by arithmetic and by the slot's own count. Whoever works with an object holds a share of its
//! slot; the object is dropped, and the slot free, when the handle is taken back and the last share
//! is gone.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use rxla::Result;

use crate::handle;

/// Slots of the first chunk; each further one has twice as many as the one before.
const FIRST: usize = 64;
/// More than memory can hold.
const CHUNKS: usize = 32;
/// In a slot's state: the handle has been handed out and not been taken back. The rest of the state
/// counts shares; the handle itself is one.
const LIVE: usize = 1 << (usize::BITS - 1);

#[repr(C)]
struct Slot<T: 'static> {
    /// First, so that its address is the slot's.
    object: UnsafeCell<MaybeUninit<T>>,
    state: AtomicUsize,
    home: &'static Free<T>,
}

/// Slots without an object.
type Free<T> = Mutex<Vec<Raw<T>>>;

struct Raw<T: 'static>(NonNull<Slot<T>>);

// SAFETY: a slot that nobody has a share of belongs to whoever holds its address.
unsafe impl<T: Send + 'static> Send for Raw<T> {}

/// The live objects of one kind; `H` is the C side's name for them. There is one for each kind, and
/// it lives as long as the process.
pub(crate) struct Slab<H, T: 'static> {
    name: &'static str,
    chunks: [AtomicPtr<Slot<T>>; CHUNKS],
    free: Free<T>,
    handle: PhantomData<fn() -> H>,
}

/// A share of an object.
pub(crate) struct Share<T: 'static>(NonNull<Slot<T>>);

// SAFETY: a share is as good as an `Arc`: the count is atomic, and the object only read.
unsafe impl<T: Send + Sync> Send for Share<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Share<T> {}
// SAFETY: slots are reached by atomics and a lock, and objects through shares.
unsafe impl<H, T: Send + Sync + 'static> Sync for Slab<H, T> {}

impl<H, T: 'static> Slab<H, T> {
    pub(crate) const fn new(name: &'static str) -> Slab<H, T> {
        Slab {
            name,
            chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS],
            free: Mutex::new(Vec::new()),
            handle: PhantomData,
        }
    }

    /// Hands an object out. The handle lives until [`Slab::destroy`].
    pub(crate) fn insert(&'static self, object: T) -> *mut H {
        let Raw(slot) = self.free_slot();
        // SAFETY: a free slot is nobody else's until its state says that it is live.
        unsafe {
            (*slot.as_ref().object.get()).write(object);
            slot.as_ref().state.store(LIVE | 1, Ordering::Release);
        }
        slot.as_ptr().cast()
    }

    pub(crate) fn get(&self, handle: *const H) -> Result<Share<T>> {
        self.change(handle, |state| state + 1)
    }

    /// Looks up a handle that may be null.
    pub(crate) fn get_optional(&self, handle: *const H) -> Result<Option<Share<T>>> {
        if handle.is_null() { Ok(None) } else { self.get(handle).map(Some) }
    }

    /// Takes a handle back; null is no error. The object may live on in shares.
    pub(crate) fn destroy(&self, handle: *const H) -> Result<()> {
        if !handle.is_null() {
            // The handle's own share goes with the result.
            self.change(handle, |state| state & !LIVE)?;
        }
        Ok(())
    }

    /// A share of a live object, accounted for by the change of its state.
    fn change(&self, handle: *const H, change: impl Fn(usize) -> usize) -> Result<Share<T>> {
        let unknown = || handle::unknown(self.name, handle.cast());
        let slot = self.find(handle.addr()).ok_or_else(unknown)?;
        // SAFETY: slots stay where they are for ever.
        let state = unsafe { &slot.as_ref().state };
        let mut seen = state.load(Ordering::Relaxed);
        while seen & LIVE != 0 {
            match state.compare_exchange_weak(
                seen,
                change(seen),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(Share(slot)),
                Err(now) => seen = now,
            }
        }
        Err(unknown())
    }

    /// The slot at an address, if there is one.
    fn find(&self, address: usize) -> Option<NonNull<Slot<T>>> {
        for (index, chunk) in self.chunks.iter().enumerate() {
            let first = NonNull::new(chunk.load(Ordering::Acquire))?;
            let offset = address.wrapping_sub(first.addr().get());
            if offset < (FIRST << index) * size_of::<Slot<T>>() {
                // SAFETY: the offset is inside of the chunk.
                let slot = || unsafe { first.byte_add(offset) };
                return offset.is_multiple_of(size_of::<Slot<T>>()).then(slot);
            }
        }
        None
    }

    fn free_slot(&'static self) -> Raw<T> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = free.pop() {
            return slot;
        }
        let index = self
            .chunks
            .iter()
            .position(|chunk| chunk.load(Ordering::Relaxed).is_null())
            .expect("fewer handles than memory has bytes");
        let slots: Box<[Slot<T>]> = (0..FIRST << index)
            .map(|_| Slot {
                object: UnsafeCell::new(MaybeUninit::uninit()),
                state: AtomicUsize::new(0),
                home: &self.free,
            })
            .collect();
        let slots = NonNull::from(Box::leak(slots));
        let first = slots.cast::<Slot<T>>();
        // SAFETY: the chunk has so many slots.
        free.extend((0..slots.len()).rev().map(|place| Raw(unsafe { first.add(place) })));
        self.chunks[index].store(first.as_ptr(), Ordering::Release);
        free.pop().expect("a chunk has slots")
    }
}

impl<T> Share<T> {
    fn slot(&self) -> &Slot<T> {
        // SAFETY: slots stay where they are for ever.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Deref for Share<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the object was written before the slot became live, and is dropped with the last
        // share.
        unsafe { (*self.slot().object.get()).assume_init_ref() }
    }
}

impl<T> Clone for Share<T> {
    fn clone(&self) -> Share<T> {
        self.slot().state.fetch_add(1, Ordering::Relaxed);
        Share(self.0)
    }
}

impl<T> Drop for Share<T> {
    fn drop(&mut self) {
        let slot = self.slot();
        if slot.state.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        fence(Ordering::Acquire);
        // SAFETY: that was the last share, the handle's included, so nobody can come by another.
        unsafe { (*slot.object.get()).assume_init_drop() };
        slot.home.lock().unwrap_or_else(PoisonError::into_inner).push(Raw(self.0));
    }
}

impl<H, T> fmt::Debug for Slab<H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slab({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ffi::PJRT_Event;

    #[test]
    fn only_live_handles_are_found() {
        static SLAB: Slab<PJRT_Event, String> = Slab::new("PJRT_Event");
        assert!(SLAB.get(ptr::without_provenance(64)).is_err());
        let handle = SLAB.insert("one".to_owned());
        let kept = SLAB.get(handle).unwrap();
        let again = kept.clone();
        SLAB.destroy(handle).unwrap();
        drop(kept);
        assert_eq!(*again, "one");
        assert!(SLAB.get(handle).err().unwrap().message.ends_with("is no live `PJRT_Event`"));
        assert!(SLAB.get(handle.wrapping_byte_add(1)).is_err());
        assert!(SLAB.destroy(handle).is_err());
        assert_eq!(SLAB.get(ptr::null()).err().unwrap().message, "the `PJRT_Event` is null");
        assert!(SLAB.destroy(ptr::null()).is_ok());
    }

    #[test]
    fn objects_are_dropped_once_and_slots_used_again() {
        static SLAB: Slab<PJRT_Event, Arc<()>> = Slab::new("PJRT_Event");
        let object = Arc::new(());
        for _ in 0..3 {
            let handles: Vec<_> = (0..1000).map(|_| SLAB.insert(Arc::clone(&object))).collect();
            assert_eq!(Arc::strong_count(&object), 1001);
            for &handle in &handles {
                assert!(Arc::ptr_eq(&SLAB.get(handle).unwrap(), &object));
                SLAB.destroy(handle).unwrap();
            }
            assert_eq!(Arc::strong_count(&object), 1);
        }
        let chunks = SLAB.chunks.iter().filter(|chunk| !chunk.load(Ordering::Relaxed).is_null());
        assert_eq!(chunks.count(), 5);
    }

    #[test]
    fn threads_may_destroy_what_others_use() {
        static SLAB: Slab<PJRT_Event, Vec<usize>> = Slab::new("PJRT_Event");
        for round in 0..200 {
            let handle = SLAB.insert(vec![round; 100]).addr();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(move || {
                        let handle = ptr::without_provenance::<PJRT_Event>(handle);
                        while let Ok(object) = SLAB.get(handle) {
                            assert!(object.iter().all(|&value| value == round));
                        }
                    });
                }
                SLAB.destroy(ptr::without_provenance(handle)).unwrap();
            });
        }
    }
}
