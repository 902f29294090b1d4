//! The passes of the CPU, in order.

use rxla_passes::{Pass, Step, pipeline};
use rxla_trace::notice::warn_once;

use crate::fuse::CpuFusion;

/// Everything from the module as it came to the module that is planned.
pub fn steps() -> Vec<Step> {
    let mut steps = pipeline::cpu().steps;
    // Last: fusions are opaque to the passes before.
    steps.push(Step::pass(CpuFusion));
    steps
}

/// The names of passes that somebody gave by name or class; what is no pass is a warning.
pub fn names(given: &[String]) -> Vec<String> {
    let own = |name: &str| match rxla_passes::lookup(name) {
        Some(pass) => Some(pass.name()),
        None if [CpuFusion.name(), CpuFusion.class()].contains(&name) => Some(CpuFusion.name()),
        None => None,
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
