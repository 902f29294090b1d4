//! Tables of live handles.
//!
//! A handle is the address of an object, but it is never dereferenced on the caller's word: each
//! kind of object has a table of the addresses we have handed out, and a handle that is not there
//! (null, freed, of another kind, garbage) is an error. A looked-up object is shared, so another
//! thread destroying the handle meanwhile does no harm.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use rxla::{Error, Result};

/// Threads that work on different objects rarely meet on one lock.
const SHARDS: usize = 16;

type Shard<T> = RwLock<FxHashMap<usize, Arc<T>>>;

/// The live objects of one kind; `H` is the C side's name for them.
pub(crate) struct Table<H, T> {
    name: &'static str,
    shards: OnceLock<Box<[Shard<T>]>>,
    handle: PhantomData<fn() -> H>,
}

impl<H, T> Table<H, T> {
    pub(crate) const fn new(name: &'static str) -> Table<H, T> {
        Table { name, shards: OnceLock::new(), handle: PhantomData }
    }

    fn shard(&self, address: usize) -> &Shard<T> {
        let shards = self.shards.get_or_init(|| (0..SHARDS).map(|_| Shard::default()).collect());
        &shards[(address >> 5) % SHARDS]
    }

    /// Hands an object out. The handle lives until [`Table::remove`].
    pub(crate) fn insert(&self, object: T) -> *mut H {
        self.insert_shared(Arc::new(object))
    }

    /// [`Table::insert`] for an object that we keep a share of.
    pub(crate) fn insert_shared(&self, object: Arc<T>) -> *mut H {
        let pointer = Arc::as_ptr(&object).cast_mut().cast::<H>();
        let address = pointer.addr();
        self.shard(address).write().unwrap_or_else(PoisonError::into_inner).insert(address, object);
        pointer
    }

    pub(crate) fn get(&self, handle: *const H) -> Result<Arc<T>> {
        let shard = self.shard(handle.addr()).read().unwrap_or_else(PoisonError::into_inner);
        shard.get(&handle.addr()).cloned().ok_or_else(|| unknown(self.name, handle.cast()))
    }

    /// Looks up a handle that may be null.
    pub(crate) fn get_optional(&self, handle: *const H) -> Result<Option<Arc<T>>> {
        if handle.is_null() { Ok(None) } else { self.get(handle).map(Some) }
    }

    /// Takes a handle back. The object may live on in shares.
    pub(crate) fn remove(&self, handle: *const H) -> Result<Arc<T>> {
        let mut shard = self.shard(handle.addr()).write().unwrap_or_else(PoisonError::into_inner);
        let object = shard.remove(&handle.addr());
        // The lock is released before the object can be dropped by anybody.
        drop(shard);
        object.ok_or_else(|| unknown(self.name, handle.cast()))
    }

    /// Takes back a handle that may be null: destroying nothing is no error.
    pub(crate) fn destroy(&self, handle: *const H) -> Result<()> {
        if !handle.is_null() {
            self.remove(handle)?;
        }
        Ok(())
    }
}

/// What a handle that nobody has now is answered with.
#[cold]
pub(crate) fn unknown(name: &str, handle: *const c_void) -> Error {
    Error::invalid_argument(if handle.is_null() {
        format!("the `{name}` is null")
    } else {
        format!("{handle:p} is no live `{name}`")
    })
}

impl<H, T> fmt::Debug for Table<H, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::PJRT_Event;

    #[test]
    fn only_live_handles_are_found() {
        let table = Table::<PJRT_Event, String>::new("PJRT_Event");
        let handle = table.insert("one".to_owned());
        assert_eq!(*table.get(handle).unwrap(), "one");
        let kept = table.remove(handle).unwrap();
        assert_eq!(*kept, "one");
        assert!(table.get(handle).unwrap_err().message.ends_with("is no live `PJRT_Event`"));
        assert!(table.remove(handle).is_err());
        assert_eq!(table.get(std::ptr::null()).unwrap_err().message, "the `PJRT_Event` is null");
        assert!(table.destroy(std::ptr::null()).is_ok());
    }
}
