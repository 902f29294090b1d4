//! The passes of the CPU, in order.

use rxla_passes::{Pass, Step, pipeline};
use rxla_trace::notice::warn_once;

use crate::accuracy::Accuracy;
use crate::fuse::CpuFusion;

/// Everything from the module as it came to the module that is planned.
pub fn steps() -> Vec<Step> {
    // First: no pass after it knows of accuracies that were asked for.
    let mut steps = vec![Step::pass(Accuracy)];
    steps.extend(pipeline::cpu().steps);
    // Last: fusions are opaque to the passes before.
    steps.push(Step::pass(CpuFusion));
    steps
}

/// The names of passes that somebody gave by name or class; what is no pass is a warning.
pub fn names(given: &[String]) -> Vec<String> {
    let ours: [&dyn Pass; 2] = [&Accuracy, &CpuFusion];
    let own = |name: &str| {
        let known = rxla_passes::lookup(name).map(|pass| pass.name());
        let our = || ours.iter().find(|pass| [pass.name(), pass.class()].contains(&name));
        known.or_else(|| our().map(|pass| pass.name()))
    };
    let name = |given: &String| {
        let own = own(given);
        if own.is_none() {
            warn_once(&format!("there is no pass `{given}`; `rxla passes` lists them"));
        }
        own.map(str::to_owned)
    };
    given.iter().filter_map(name).collect()
}
