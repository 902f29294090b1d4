//! What becomes of a result that is too small for a normal number. Processors make a subnormal number of it,
//! some of them at a hundred times the usual time, or zero, as each thread has it.
//!
//! Only results are flushed. Operands keep their values, since conversions from narrow types go through
//! subnormal numbers; jaxlib calls the plugin on threads that take them for zeros, which is undone meanwhile.
//! Where a processor cannot do the one without the other nothing is flushed.

#![allow(unsafe_code, reason = "the processor's mode is read and written by instructions")]

use std::marker::PhantomData;

/// Bit 15 of MXCSR, "flush to zero" (Intel SDM, volume 1, 10.2.3.3).
pub const FLUSH: u32 = if cfg!(target_arch = "x86_64") { 1 << 15 } else { 0 };

/// Bit 6, "denormals are zeros": operands that are subnormal count as zeros (10.2.3.4).
const ZERO_OPERANDS: u32 = if cfg!(target_arch = "x86_64") { 1 << 6 } else { 0 };

/// Until it is dropped, the thread makes of such results what it says.
pub struct Subnormals {
    before: u32,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

impl Subnormals {
    /// Zero, with the sign of the result.
    pub fn flush() -> Subnormals {
        Subnormals::of(FLUSH)
    }

    /// Subnormal numbers.
    pub fn keep() -> Subnormals {
        Subnormals::of(0)
    }

    /// As on the thread that [`mode`] was called on.
    pub fn of(mode: u32) -> Subnormals {
        Subnormals { before: switch(mode), thread: PhantomData }
    }
}

impl Drop for Subnormals {
    fn drop(&mut self) {
        switch(self.before);
    }
}

/// Makes this thread do as `mode` says; returns what it did before. To write the register takes longer than to look.
fn switch(mode: u32) -> u32 {
    let before = control::get();
    let then = before & !(FLUSH | ZERO_OPERANDS) | mode;
    if then != before {
        control::set(then);
    }
    before & (FLUSH | ZERO_OPERANDS)
}

/// What this thread does, for [`Subnormals::of`] on another.
pub fn mode() -> u32 {
    control::get() & FLUSH
}

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    pub(super) fn get() -> u32 {
        let mut value = 0u32;
        // SAFETY: it writes the four bytes of `value`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
        value
    }

    /// To a value that [`get`] gave but for the two bits that are about subnormal numbers.
    pub(super) fn set(value: u32) {
        // SAFETY: it reads the four bytes of `value`, which has no reserved bit set. Nothing here, nor in compiled
        // programs, counts on subnormal results.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, readonly, preserves_flags))
        };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod control {
    pub(super) fn get() -> u32 {
        0
    }

    pub(super) fn set(_: u32) {}
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::hint::black_box;

    use super::*;

    fn halved() -> f32 {
        black_box(f32::MIN_POSITIVE) * black_box(0.5)
    }

    #[test]
    fn results_are_flushed_and_operands_are_not() {
        assert_ne!(halved(), 0.0);
        let flush = Subnormals::flush();
        assert_eq!(halved(), 0.0);
        assert_eq!(black_box(f32::from_bits(1)) * black_box(8388608.0), f32::MIN_POSITIVE);
        let keep = Subnormals::keep();
        assert_ne!(halved(), 0.0);
        drop(keep);
        assert_eq!(halved(), 0.0);
        drop(flush);
        assert_ne!(halved(), 0.0);
    }

    #[test]
    fn operands_count_whatever_the_caller_does() {
        let doubled = || black_box(f32::from_bits(1)) * black_box(2.0);
        let caller = Subnormals::of(FLUSH | ZERO_OPERANDS);
        assert_eq!(doubled(), 0.0);
        let keep = Subnormals::keep();
        assert_ne!(doubled(), 0.0);
        drop(keep);
        assert_eq!(doubled(), 0.0);
        drop(caller);
        assert_ne!(doubled(), 0.0);
    }
}
