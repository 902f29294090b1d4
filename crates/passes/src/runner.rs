//! Runs passes: checks between them, counts and times what they do, and stops when told to.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use rxla_base::{Error, Result, render_all};
use rxla_hlo::{Module, verify};
use rxla_trace as trace;

use crate::pass::{Context, Pass};
use crate::pipeline::Step;
use crate::rewrite::NamedRule;

/// How a run goes about it.
pub struct RunOptions<'a> {
    pub verify: Verify,
    /// No rewrite beyond so many is made.
    pub rewrite_limit: Option<u64>,
    /// Passes that are left out, by name.
    pub disabled: Vec<String>,
    /// If not empty, the only passes that run, by name.
    pub only: Vec<String>,
    /// What the steps are called together.
    pub pipeline: &'static str,
    /// Rules that `algsimp` has beside its own, which it tries first: for tests of what finds bad
    /// rules.
    pub extra_rules: &'static [NamedRule],
    /// Rounds of a fixpoint before it is given up, which the report then says.
    pub rounds: u32,
    /// Called before each pass and after it.
    pub observer: Option<&'a mut dyn FnMut(&Event<'_>)>,
}

/// When the module is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verify {
    /// After each pass that rewrote something, so that the guilty one is named.
    Between,
    AtEnd,
    Never,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            verify: if cfg!(debug_assertions) { Verify::Between } else { Verify::Never },
            rewrite_limit: None,
            disabled: Vec::new(),
            only: Vec::new(),
            pipeline: "passes",
            extra_rules: &[],
            rounds: 50,
            observer: None,
        }
    }
}

/// A pass that is about to run or has just run.
pub struct Event<'a> {
    /// Counts passes from 0.
    pub number: usize,
    /// The innermost pipeline that the pass is in.
    pub pipeline: &'static str,
    pub pass: &'static str,
    pub moment: Moment,
    pub module: &'a Module,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    Before,
    After { rewrites: u64, time: Duration },
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// One entry a pass, in the order in which they ran first.
    pub passes: Vec<PassReport>,
    /// The pass that made the last rewrite.
    pub last: Option<&'static str>,
    /// Fixpoints that were given up, with the passes that would go on, and passes that were, with
    /// the rules.
    pub unsettled: Vec<(&'static str, Vec<&'static str>)>,
}

impl Report {
    /// Rewrites of all passes.
    pub fn rewrites(&self) -> u64 {
        self.passes.iter().map(|pass| pass.rewrites).sum()
    }
}

/// All runs of one pass together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PassReport {
    pub name: &'static str,
    pub runs: u32,
    pub rewrites: u64,
    pub time: Duration,
}

/// Runs `steps` on a module that has passed the verifier.
pub fn run(module: &mut Module, steps: &[Step], options: RunOptions<'_>) -> Result<Report> {
    let cx = Context::of(options.rewrite_limit, options.extra_rules);
    let check = options.verify;
    let mut run =
        Run { cx, options, report: Report::default(), number: 0, settled: FxHashMap::default() };
    run.steps(module, run.options.pipeline, steps)?;
    if check == Verify::AtEnd && run.cx.made() > 0 {
        check_module(module, "the passes")?;
    }
    Ok(run.report)
}

struct Run<'a> {
    cx: Context,
    options: RunOptions<'a>,
    report: Report,
    number: usize,
    /// How many rewrites had been made when a pass found nothing to do: as long as there are no more
    /// it would find nothing again.
    settled: FxHashMap<&'static str, u64>,
}

impl Run<'_> {
    /// The passes that rewrote something.
    fn steps(
        &mut self,
        module: &mut Module,
        pipeline: &'static str,
        steps: &[Step],
    ) -> Result<Vec<&'static str>> {
        let mut busy = Vec::new();
        for step in steps {
            if self.cx.exhausted() {
                break;
            }
            match step {
                Step::Pass(pass) => {
                    if self.pass(module, pipeline, &**pass)? > 0 {
                        busy.push(pass.name());
                    }
                }
                Step::Fixpoint { name, steps } => busy.extend(self.fixpoint(module, name, steps)?),
            }
        }
        Ok(busy)
    }

    fn fixpoint(
        &mut self,
        module: &mut Module,
        name: &'static str,
        steps: &[Step],
    ) -> Result<Vec<&'static str>> {
        let mut all = Vec::new();
        let mut busy = Vec::new();
        for _ in 0..self.options.rounds {
            busy = self.steps(module, name, steps)?;
            if busy.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(&busy);
        }
        self.report.unsettled.push((name, busy));
        Ok(all)
    }

    fn pass(
        &mut self,
        module: &mut Module,
        pipeline: &'static str,
        pass: &dyn Pass,
    ) -> Result<u64> {
        let name = pass.name();
        let listed = |list: &[String]| list.iter().any(|listed| listed == name);
        let RunOptions { disabled, only, .. } = &self.options;
        if listed(disabled) || (!only.is_empty() && !listed(only)) {
            return Ok(0);
        }
        if self.settled.get(name) == Some(&self.cx.made()) {
            return Ok(0);
        }
        let phases = pass.phases();
        if !phases.contains(&module.phase) {
            return Err(Error::invalid_argument(format!(
                "`{name}` runs on modules from phase {:?} to {:?}, but `{}` is at {:?}",
                phases.start(),
                phases.end(),
                module.name,
                module.phase
            )));
        }
        let number = self.number;
        self.tell(Event { number, pipeline, pass: name, moment: Moment::Before, module });
        let before = self.cx.made();
        let start = Instant::now();
        let mut span = trace::span(trace::Kind::Pass, || name);
        let rewrites = pass.run(module, &self.cx).map_err(|error| error.context(in_pass(name)))?;
        let time = start.elapsed();
        span.details(|| {
            vec![("pipeline", pipeline.to_owned()), ("rewrites", rewrites.to_string())]
        });
        drop(span);
        let endless = self.cx.take_endless();
        if !endless.is_empty() {
            self.report.unsettled.push((name, endless));
        }
        let counted = self.cx.made() - before;
        assert_eq!(rewrites, counted, "`{name}` counts its rewrites wrongly");
        if rewrites == 0 {
            self.settled.insert(name, self.cx.made());
        } else {
            self.report.last = Some(name);
            if self.options.verify == Verify::Between {
                check_module(module, name)?;
            }
        }
        match self.report.passes.iter_mut().find(|report| report.name == name) {
            Some(report) => {
                report.runs += 1;
                report.rewrites += rewrites;
                report.time += time;
            }
            None => self.report.passes.push(PassReport { name, runs: 1, rewrites, time }),
        }
        let moment = Moment::After { rewrites, time };
        self.tell(Event { number, pipeline, pass: name, moment, module });
        self.number += 1;
        Ok(rewrites)
    }

    fn tell(&mut self, event: Event<'_>) {
        if let Some(observer) = &mut self.options.observer {
            observer(&event);
        }
    }
}

fn in_pass(name: &str) -> String {
    format!("in pass `{name}`")
}

fn check_module(module: &Module, after: &str) -> Result<()> {
    let findings = verify(module);
    if findings.is_empty() {
        return Ok(());
    }
    Err(Error::internal(format!(
        "after `{after}` the module is no longer valid:\n{}",
        render_all(&findings, None)
    )))
}

#[cfg(test)]
mod tests {
    use rxla_hlo::text::{ParseOptions, parse};
    use rxla_hlo::{BinaryKind, ElementType, Shape};

    use super::*;

    fn module() -> Module {
        let text = "HloModule m\nENTRY e {\n  x = s32[] parameter(0)\n  d = s32[] add(x, x)\n  \
                    z = s32[] constant(0)\n  ROOT r = s32[] add(x, z)\n}\n";
        parse(text, &ParseOptions::default()).expect("valid").module
    }

    /// Breaks what it is given.
    struct Wreck;
    impl Pass for Wreck {
        fn name(&self) -> &'static str {
            "wreck"
        }
        fn class(&self) -> &'static str {
            "Wreck"
        }
        fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
            if !cx.spend() {
                return Ok(0);
            }
            let root = module[module.entry()].root();
            module[root].shape = Shape::array(ElementType::F32, [7]);
            Ok(1)
        }
    }

    /// Never content.
    struct Restless;
    impl Pass for Restless {
        fn name(&self) -> &'static str {
            "restless"
        }
        fn class(&self) -> &'static str {
            "Restless"
        }
        fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
            if !cx.spend() {
                return Ok(0);
            }
            let entry = module.entry();
            let root = module[entry].root();
            let next = module.add_binary(entry, BinaryKind::And, root, root).expect("integers");
            module.set_root(next);
            Ok(1)
        }
    }

    #[test]
    fn a_pass_that_breaks_the_module_is_named() {
        let options = RunOptions { verify: Verify::Between, ..RunOptions::default() };
        let error = run(&mut module(), &[Step::pass(Wreck)], options).expect_err("broken");
        assert!(error.message.starts_with("after `wreck`"), "{error}");
    }

    #[test]
    fn endless_fixpoints_are_given_up_and_reported() {
        let steps = [Step::Fixpoint { name: "endless", steps: vec![Step::pass(Restless)] }];
        let options = RunOptions { rounds: 3, ..RunOptions::default() };
        let report = run(&mut module(), &steps, options).expect("no error");
        assert_eq!(report.unsettled, [("endless", vec!["restless"])]);
        assert_eq!((report.passes[0].runs, report.rewrites()), (3, 3));
    }

    #[test]
    fn runs_stop_at_the_limit_and_leave_out_what_is_disabled() {
        let steps = [Step::Fixpoint { name: "endless", steps: vec![Step::pass(Restless)] }];
        let options = RunOptions { rewrite_limit: Some(2), ..RunOptions::default() };
        assert_eq!(run(&mut module(), &steps, options).map(|r| r.rewrites()), Ok(2));
        let options = RunOptions { disabled: vec!["restless".to_owned()], ..RunOptions::default() };
        assert_eq!(run(&mut module(), &steps, options).map(|r| r.rewrites()), Ok(0));
    }

    #[test]
    fn modules_of_a_later_phase_are_refused() {
        let mut module = module();
        module.phase = rxla_hlo::Phase::Scheduled;
        let error = run(&mut module, &[Step::pass(Wreck)], RunOptions::default());
        assert!(error.is_err());
    }
}
