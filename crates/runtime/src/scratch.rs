//! `rxla_scratch_take`, `rxla_scratch_give_back`: memory that a thread has of its own while it runs
//! iterations of a loop that others run too. It comes from the allocator that keeps what was used before.

use crate::allocator::{Allocator, Block};
use crate::status::{OK, Status, guard};

/// What was taken, as compiled code keeps it meanwhile.
#[repr(C)]
pub struct Scratch {
    pub address: *mut u8,
    block: *mut Block,
}

/// Takes memory of so many bytes.
///
/// # Safety
///
/// There is room for a [`Scratch`] at `into`. What is written there goes to
/// [`rxla_scratch_give_back`] once, if the status is 0.
pub unsafe extern "C" fn rxla_scratch_take(into: *mut Scratch, bytes: i64) -> Status {
    guard(|| {
        let block = Allocator::shared().allocate(bytes.max(0) as usize)?;
        let address = block.as_ptr();
        let block = Box::into_raw(Box::new(block));
        // SAFETY: the caller's promise.
        unsafe { into.write(Scratch { address, block }) };
        Ok(())
    })
}

/// Gives back what was taken.
///
/// # Safety
///
/// [`rxla_scratch_take`] wrote what `taken` holds, and nobody uses the memory any more.
pub unsafe extern "C" fn rxla_scratch_give_back(taken: *const Scratch) -> Status {
    // SAFETY: the caller's promise; the box is that of `rxla_scratch_take`.
    drop(unsafe { Box::from_raw((*taken).block) });
    OK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back() {
        for bytes in [0, 1, 1 << 20] {
            let mut taken = Scratch { address: std::ptr::null_mut(), block: std::ptr::null_mut() };
            // SAFETY: there is room for it, and it is given back once.
            unsafe {
                assert_eq!(rxla_scratch_take(&raw mut taken, bytes), OK);
                std::slice::from_raw_parts_mut(taken.address, bytes as usize).fill(7);
                assert_eq!(rxla_scratch_give_back(&raw const taken), OK);
            }
        }
    }
}
