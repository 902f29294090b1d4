//! What a running program passes to the functions of this crate.

use std::sync::Arc;

pub use crate::gemm::kept::KeptMatrices;
use crate::pool::{Pool, Work};

/// Lives as long as the execution that it was made for; compiled code holds its address.
#[derive(Default)]
pub struct Context {
    /// `None`: everything runs on the calling thread.
    pub pool: Option<Arc<Pool>>,
    /// Matrices that are packed once; `None`: each product packs its own.
    pub kept: Option<Kept>,
}

/// Matrices that stay packed from one product to the next.
pub struct Kept {
    /// The program's constants, for as long as there is the program.
    pub constants: Arc<KeptMatrices>,
    /// What does not change while a loop of this execution runs.
    pub invariants: KeptMatrices,
}

impl Context {
    pub fn new(pool: Option<Arc<Pool>>) -> Context {
        Context { pool, kept: None }
    }

    /// One that keeps matrices packed, those of the program's constants with others of its executions.
    pub fn keeping(pool: Option<Arc<Pool>>, constants: Arc<KeptMatrices>) -> Context {
        Context { pool, kept: Some(Kept { constants, invariants: KeptMatrices::default() }) }
    }

    /// What compiled code passes on.
    pub fn as_ptr(&self) -> *const Context {
        self
    }

    /// The context behind an address that compiled code passed on.
    ///
    /// # Safety
    ///
    /// The address is null or that of a context that outlives `'a`.
    pub unsafe fn from_ptr<'a>(context: *const Context) -> &'a Context {
        static NONE: Context = Context { pool: None, kept: None };
        // SAFETY: the caller's promise.
        unsafe { context.as_ref() }.unwrap_or(&NONE)
    }

    /// Threads that work may be spread over, the calling one included.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads())
    }

    /// Runs `work(begin, end)` for pieces that cover `0..count`; see [`Pool::parallel_for_each`].
    pub fn parallel_for_each(&self, count: usize, work: impl Fn(usize, usize) + Sync) {
        self.spread(count, None, &work);
    }

    /// Runs `work(begin, end)` for pieces that cover `0..count`; see [`Pool::parallel_for`].
    pub fn parallel_for(&self, count: usize, grain: usize, work: impl Fn(usize, usize) + Sync) {
        self.spread(count, Some(grain), &work);
    }

    /// Without a grain each index is much work.
    fn spread(&self, count: usize, grain: Option<usize>, work: &Work) {
        match (&self.pool, grain) {
            (Some(pool), Some(grain)) => pool.parallel_for(count, grain, work),
            (Some(pool), None) => pool.parallel_for_each(count, work),
            (None, _) if count > 0 => work(0, count),
            (None, _) => {}
        }
    }
}

/// Says that a loop begins: what it did not change before, and was packed in a slot, may have changed.
///
/// # Safety
///
/// The context is null or a [`Context`].
pub unsafe extern "C" fn rxla_forget(context: *const Context, slot: i64) {
    // SAFETY: the caller's promise.
    if let Some(kept) = unsafe { &Context::from_ptr(context).kept } {
        kept.invariants.forget(slot as u64);
    }
}
