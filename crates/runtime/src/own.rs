//! Vectors in memory that a thread has to itself, as kernels need them for each of many small matrices.
//!
//! From the heap, short vectors of two threads may lie in the same cache lines: the C library's threads share parts of
//! it where there are many of them. Then each waits for the other at every store, which took more than half of the
//! time of a thousand eigenvalue problems of 4 by 4.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::allocator::{ALIGN, Allocator, Block};

/// Bytes that a thread keeps.
const KEPT: usize = 64 << 10;

/// What a thread keeps. Vectors follow each other in it.
struct Stack {
    block: Block,
    /// Where the next vector starts.
    top: Cell<usize>,
    vectors: Cell<usize>,
}

thread_local! {
    static STACK: Stack = Stack { block: block(KEPT), top: Cell::new(0), vectors: Cell::new(0) };
}

/// A vector of `T` from the start of a cache line on, which stays with its thread.
pub(crate) struct Own<T> {
    start: NonNull<T>,
    len: usize,
    /// What it is in if the thread's memory was too small.
    block: Option<Block>,
    _values: PhantomData<*mut T>,
}

// SAFETY: shared access only reads.
unsafe impl<T: Sync> Sync for Own<T> {}

impl<T: Copy> Own<T> {
    pub(crate) fn filled(value: T, len: usize) -> Own<T> {
        Own::new(len, |_| value)
    }

    pub(crate) fn copied(values: &[T]) -> Own<T> {
        Own::new(values.len(), |i| values[i])
    }

    /// A vector of what `value` says of each place.
    #[inline]
    pub(crate) fn new(len: usize, mut value: impl FnMut(usize) -> T) -> Own<T> {
        assert!(align_of::<T>() <= ALIGN);
        let bytes = len.checked_mul(size_of::<T>()).expect("a vector that there is memory for");
        let (start, block) = match on_stack(bytes) {
            Some(start) => (start, None),
            None => {
                let block = block(bytes);
                (NonNull::new(block.as_ptr()).expect("an address"), Some(block))
            }
        };
        let start = start.cast::<T>();
        // It is one before its elements are known, so that it is given back if `value` panics; then nobody reads it.
        let vector = Own { start, len, block, _values: PhantomData };
        for i in 0..len {
            // SAFETY: there is room for as many, aligned for them.
            unsafe { start.add(i).write(value(i)) };
        }
        vector
    }
}

/// Memory of the thread's own, if there is enough left.
fn on_stack(bytes: usize) -> Option<NonNull<u8>> {
    STACK
        .try_with(|stack| {
            let start = stack.top.get();
            let end = start + bytes.next_multiple_of(ALIGN);
            if end > KEPT {
                return None;
            }
            stack.top.set(end);
            stack.vectors.set(stack.vectors.get() + 1);
            // SAFETY: it is in the block, or at its end.
            NonNull::new(unsafe { stack.block.as_ptr().add(start) })
        })
        .ok()
        .flatten()
}

/// A block for what does not fit. Kernels have no other way to say that there is none than to panic, which becomes a
/// status.
fn block(bytes: usize) -> Block {
    Allocator::shared().allocate(bytes).unwrap_or_else(|error| panic!("{error}"))
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.block.is_some() {
            return;
        }
        // The thread's memory is not gone: a thread's vectors are dropped before it ends.
        let _ = STACK.try_with(|stack| {
            let start = self.start.as_ptr() as usize - stack.block.as_ptr() as usize;
            let end = start + (self.len * size_of::<T>()).next_multiple_of(ALIGN);
            stack.vectors.set(stack.vectors.get() - 1);
            if stack.vectors.get() == 0 {
                stack.top.set(0);
            } else if stack.top.get() == end {
                stack.top.set(start);
            }
        });
    }
}

impl<T> Deref for Own<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: as many were written.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Own<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address<T>(vector: &Own<T>) -> usize {
        vector.as_ptr() as usize
    }

    #[test]
    fn vectors_follow_each_other_and_give_their_place_back() {
        let first = Own::filled(1_u8, 3);
        let second = Own::new(5, |i| i as f64);
        assert_eq!(address(&second) - address(&first), ALIGN);
        assert_eq!((&first[..], &second[..]), (&[1; 3][..], &[0.0, 1.0, 2.0, 3.0, 4.0][..]));
        let place = address(&second);
        drop(second);
        let mut third = Own::copied(&[7_i32; 40]);
        assert_eq!(address(&third), place);
        // In another order, a place is free once all are.
        drop(first);
        let fourth = Own::filled(0_u8, 1);
        assert!(address(&fourth) >= place + 40 * size_of::<i32>());
        third[39] = 8;
        assert_eq!((third[38], third[39], fourth[0]), (7, 8, 0));
        drop((third, fourth));
        assert_eq!(address(&Own::filled(0_u8, 1)), place - ALIGN);
    }

    #[test]
    fn long_and_empty_vectors() {
        let long = Own::filled(3_u64, KEPT);
        let short = Own::filled(4_u64, 8);
        assert!(long.iter().all(|&value| value == 3) && short.iter().all(|&value| value == 4));
        assert!(address(&long).is_multiple_of(ALIGN));
        assert!(Own::filled(0.0_f32, 0).is_empty());
        assert_eq!(Own::filled((), 5).len(), 5);
    }

    #[test]
    fn a_panic_gives_the_place_back() {
        let place = address(&Own::filled(0_u8, 1));
        let failed = std::panic::catch_unwind(|| Own::new(9, |i| assert!(i < 4)));
        assert!(failed.is_err());
        assert_eq!(address(&Own::filled(0_u8, 1)), place);
    }

    #[test]
    fn threads_have_places_of_their_own() {
        let here = Own::filled(0_u8, 1);
        let there = std::thread::spawn(|| address(&Own::filled(0_u8, 1))).join().unwrap();
        assert!(address(&here).abs_diff(there) >= KEPT);
    }
}
