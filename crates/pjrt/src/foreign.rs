//! Memory of the caller that buffers use in place.

use std::sync::Arc;

use rxla::hlo::literal::Bytes;

/// Memory is shared only if it is aligned like our own. XLA:CPU asks for the same, so programs that
/// (wrongly) write to an array they have handed over see no difference.
pub(crate) const ALIGNMENT: usize = 64;

/// A run of foreign bytes and what to do when nobody uses it any more.
pub(crate) struct ForeignMemory<F: FnOnce() + Send + Sync> {
    data: *const u8,
    size: usize,
    release: Option<F>,
}

// SAFETY: the memory does not change while this lives, so any thread may read it.
unsafe impl<F: FnOnce() + Send + Sync> Send for ForeignMemory<F> {}
// SAFETY: as above.
unsafe impl<F: FnOnce() + Send + Sync> Sync for ForeignMemory<F> {}

impl<F: FnOnce() + Send + Sync + 'static> ForeignMemory<F> {
    /// # Safety
    /// `data` points to `size` bytes (or `size` is 0) that stay unchanged until `release` is called.
    pub(crate) unsafe fn share(data: *const u8, size: usize, release: F) -> Bytes {
        Bytes::foreign(Arc::new(ForeignMemory { data, size, release: Some(release) }))
    }
}

impl<F: FnOnce() + Send + Sync> AsRef<[u8]> for ForeignMemory<F> {
    fn as_ref(&self) -> &[u8] {
        if self.size == 0 {
            return &[];
        }
        // SAFETY: the promise made to `share`.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }
}

impl<F: FnOnce() + Send + Sync> Drop for ForeignMemory<F> {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release();
        }
    }
}
