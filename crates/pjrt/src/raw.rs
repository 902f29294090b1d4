//! Raw pointers that may cross threads: handles and callback arguments, which we pass on and never
//! dereference.

/// A pointer that only its maker dereferences.
#[repr(transparent)]
pub(crate) struct Raw<T>(pub(crate) *mut T);

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Raw<T> {
        *self
    }
}

impl<T> Copy for Raw<T> {}

// SAFETY: the pointer is only carried; what it leads to is its maker's business, and PJRT demands
// of makers that it may be used from any thread.
unsafe impl<T> Send for Raw<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Raw<T> {}

impl<T> Raw<T> {
    /// An array of handles as C sees it.
    pub(crate) fn array(handles: &[Raw<T>]) -> *const *mut T {
        // `Raw` is transparent over the pointer.
        handles.as_ptr().cast()
    }
}
