//! Results that are handed on while their run goes on, see [`crate::program`].

use std::panic::{AssertUnwindSafe, catch_unwind};

use rxla_hlo::literal::Bytes;
use rxla_hlo::{ArrayLiteral, Literal};
use rxla_runtime::Subnormals;

use crate::executable::Leaf;
use crate::fallback::RunContext;

/// Who is told of a leaf of the result, by number, that is there before the run ends. The run gives it with the others
/// once more.
pub type Tell<'a> = dyn Fn(usize, Literal) + 'a;

/// Whom a run tells.
pub(crate) struct Early<'a> {
    pub(crate) results: &'a [Leaf],
    pub(crate) tell: &'a Tell<'a>,
}

/// Called by the driver when the bytes of an output are there.
///
/// # Safety
///
/// `context` is that of the run, and the bytes at `address` are an output's, as many as its shape says.
pub(crate) unsafe extern "C" fn rxla_early(
    context: *const RunContext<'_>,
    number: i64,
    address: *const u8,
) {
    // SAFETY: the context lives until the driver returns.
    let context = unsafe { &*context };
    let Some(early) = &context.early else { return };
    let Some(Leaf::Array { shape, bytes, .. }) = early.results.get(number as usize) else { return };
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(address, *bytes) };
    // Whoever is told does arithmetic as usual.
    let _mode = Subnormals::keep();
    // Where anything is amiss the result comes when the run ends.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Ok(bytes) = Bytes::copy_of(bytes)
            && let Ok(array) = ArrayLiteral::from_bytes(shape, bytes)
        {
            (early.tell)(number as usize, Literal::Array(array));
        }
    }));
    if let Some(pool) = &context.runtime.pool {
        pool.look_around();
    }
}
