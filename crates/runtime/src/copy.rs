//! `rxla_copy`: large copies that threads share.

use crate::context::Context;
use crate::gemm::Address;
use crate::status::{Status, guard};

/// Bytes that are worth a thread's attention.
const GRAIN: usize = 1 << 17;

/// Copies bytes.
///
/// # Safety
///
/// The context is null or a [`Context`]; from both addresses on there are so many bytes, which do not
/// overlap, and nobody else uses those at `to`.
pub unsafe extern "C" fn rxla_copy(
    context: *const Context,
    to: *mut u8,
    from: *const u8,
    bytes: i64,
) -> Status {
    guard(|| {
        // SAFETY: the caller's promise.
        let context = unsafe { Context::from_ptr(context) };
        let (to, from) = (Address(to), Address(from.cast_mut()));
        context.parallel_for(bytes.max(0) as usize, GRAIN, |begin, end| {
            // SAFETY: the caller's promise; pieces do not overlap.
            unsafe {
                from.get().add(begin).copy_to_nonoverlapping(to.get().add(begin), end - begin)
            };
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    #[test]
    fn all_bytes_arrive() {
        let context = Context::new(Some(Pool::with_threads(3)));
        for bytes in [0, 1, GRAIN - 1, GRAIN, 5 * GRAIN + 77] {
            let from: Vec<u8> = (0..bytes).map(|place| (place % 251) as u8).collect();
            let mut to = vec![255; bytes];
            // SAFETY: both are as long.
            let status = unsafe {
                rxla_copy(context.as_ptr(), to.as_mut_ptr(), from.as_ptr(), bytes as i64)
            };
            assert_eq!((status, to == from), (0, true), "{bytes}");
        }
    }
}
