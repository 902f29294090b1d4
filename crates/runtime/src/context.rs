//! What a running program passes to the functions of this crate.

use std::sync::Arc;

use crate::pool::Pool;

/// Lives as long as the execution that it was made for; compiled code holds its address.
#[derive(Clone, Default)]
pub struct Context {
    /// `None`: everything runs on the calling thread.
    pub pool: Option<Arc<Pool>>,
}

impl Context {
    pub fn new(pool: Option<Arc<Pool>>) -> Context {
        Context { pool }
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
        static NONE: Context = Context { pool: None };
        // SAFETY: the caller's promise.
        unsafe { context.as_ref() }.unwrap_or(&NONE)
    }

    /// Threads that work may be spread over, the calling one included.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.threads())
    }

    /// Runs `work(begin, end)` for pieces that cover `0..count`; see [`Pool::parallel_for`].
    pub fn parallel_for(&self, count: usize, grain: usize, work: impl Fn(usize, usize) + Sync) {
        match &self.pool {
            Some(pool) => pool.parallel_for(count, grain, work),
            None if count > 0 => work(0, count),
            None => {}
        }
    }
}
