//! What a pass is, and how many rewrites it may still make.

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;

use rxla_base::Result;
use rxla_hlo::{Module, Phase};

use crate::rewrite::NamedRule;

/// A transformation of modules. Its options are the fields of the struct that implements this.
pub trait Pass: Sync {
    /// What XLA's pass of this kind calls itself: `dce`, `algsimp`.
    fn name(&self) -> &'static str;

    /// XLA's class for it: `HloDCE`, `AlgebraicSimplifier`.
    fn class(&self) -> &'static str;

    /// What the module may be when this runs. By default only what has no layouts yet: most passes
    /// make shapes without thinking of layout, and instructions without a place in a schedule.
    fn phases(&self) -> RangeInclusive<Phase> {
        Phase::Input..=Phase::Simplified
    }

    /// Rewrites the module and returns how many rewrites it made, each of them asked for with
    /// [`Context::spend`]. A pass that made none has left the module as it was.
    ///
    /// An error is a limit of ours that the module exceeds. What is wrong with the pass itself
    /// panics.
    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64>;
}

/// A pass that stands somewhere else, so that pipelines may hold those of the registry.
impl<P: Pass + ?Sized> Pass for &P {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn class(&self) -> &'static str {
        (**self).class()
    }

    fn phases(&self) -> RangeInclusive<Phase> {
        (**self).phases()
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        (**self).run(module, cx)
    }
}

/// What passes share during a run: how many rewrites were made and how many may be.
#[derive(Debug, Default)]
pub struct Context {
    limit: Option<u64>,
    extra_rules: &'static [NamedRule],
    made: Cell<u64>,
    endless: RefCell<Vec<&'static str>>,
}

impl Context {
    /// Rewrites without limit.
    pub fn new() -> Context {
        Context::default()
    }

    pub fn with_limit(limit: u64) -> Context {
        Context::of(Some(limit), &[])
    }

    /// With a limit, if there is one, and rules beside those of `algsimp`.
    pub(crate) fn of(limit: Option<u64>, extra_rules: &'static [NamedRule]) -> Context {
        Context { limit, extra_rules, ..Context::default() }
    }

    /// Rules that this run has beside those of `algsimp`.
    pub fn extra_rules(&self) -> &'static [NamedRule] {
        self.extra_rules
    }

    /// Counts one rewrite. Where the answer is `false` the limit is reached, and the rewrite must
    /// not be made.
    #[must_use]
    pub fn spend(&self) -> bool {
        if self.exhausted() {
            return false;
        }
        self.made.set(self.made.get() + 1);
        true
    }

    /// Notes that a rule would go on for ever, so that it was stopped. That is a fault of rules, not
    /// of the module, which stays valid.
    pub fn note_endless(&self, rule: &'static str) {
        self.endless.borrow_mut().push(rule);
    }

    /// Takes the notes.
    pub fn take_endless(&self) -> Vec<&'static str> {
        self.endless.take()
    }

    /// Rewrites made so far, by all passes.
    pub fn made(&self) -> u64 {
        self.made.get()
    }

    /// Whether no further rewrite may be made.
    pub fn exhausted(&self) -> bool {
        self.limit.is_some_and(|limit| self.made.get() >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_kept() {
        let cx = Context::with_limit(2);
        assert!(cx.spend() && cx.spend() && !cx.spend());
        assert_eq!((cx.made(), cx.exhausted()), (2, true));
        assert!(!Context::new().exhausted());
    }
}
