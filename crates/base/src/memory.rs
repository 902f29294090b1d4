//! Memory that one place hands out and another uses: what lets literals lie in blocks of an
//! allocator that their crate does not know.

/// A run of bytes with one owner, which may write it. Its address and length stay.
pub trait Memory: Send + Sync {
    fn as_slice(&self) -> &[u8];
    fn as_mut_slice(&mut self) -> &mut [u8];
}
