//! Memory on the driver's stack for arrays of one element that a call takes or gives by address. All calls
//! share it: of the hundred thousand that a driver may have, each would else have its own.

use rxla_kernel::{Builder, Value};

/// Bytes of the largest element.
const SLOT: u64 = 16;

#[derive(Default)]
pub(super) struct Slots {
    made: Vec<Value>,
    used: usize,
}

impl Slots {
    /// A slot that no other operand or result of the call has.
    pub(super) fn next(&mut self, b: &mut Builder) -> Value {
        if self.used == self.made.len() {
            // In the function's body, so that what comes after the open blocks knows it, too.
            let inner = b.suspend(1);
            self.made.push(b.alloca(SLOT, SLOT as u32));
            b.resume(inner);
        }
        self.used += 1;
        self.made[self.used - 1]
    }

    /// What was called before needs its slots no more.
    pub(super) fn free(&mut self) {
        self.used = 0;
    }
}
