//! The passes of the CPU, in order.

use rxla_passes::{Step, pipeline};

use crate::fuse::CpuFusion;

/// Everything from the module as it came to the module that is planned.
pub fn steps() -> Vec<Step> {
    let mut steps = pipeline::cpu().steps;
    // Last: fusions are opaque to the passes before.
    steps.push(Step::pass(CpuFusion));
    steps
}
