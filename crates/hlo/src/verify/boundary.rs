//! What the module promises its caller: entry shapes, aliases, donated parameters.

use rustc_hash::FxHashSet;

use super::Findings;
use crate::{Computation, Dims, Module, Shape};

pub(super) fn check(module: &Module, findings: &mut Findings) {
    let Some(entry) = module.try_entry().and_then(|entry| module.get_computation(entry)) else {
        return;
    };
    let parameters: Option<Vec<&Shape>> = entry
        .parameters()
        .iter()
        .map(|&parameter| module.get_instruction(parameter).map(|parameter| &parameter.shape))
        .collect();
    let result = root_shape(module, entry);
    let (Some(parameters), Some(result)) = (parameters, result) else { return };
    entry_layout(module, &parameters, result, findings);
    aliases(module, &parameters, result, findings);
    counts(module, findings);
}

fn root_shape<'m>(module: &'m Module, computation: &Computation) -> Option<&'m Shape> {
    module.get_instruction(computation.try_root()?).map(|root| &root.shape)
}

fn entry_layout(module: &Module, parameters: &[&Shape], result: &Shape, findings: &mut Findings) {
    let Some(layout) = &module.config.entry_computation_layout else { return };
    if layout.parameters.len() != parameters.len() {
        findings.module(format!(
            "`entry_computation_layout` has {} parameters, but the entry has {}",
            layout.parameters.len(),
            parameters.len()
        ));
    }
    for (number, (said, is)) in layout.parameters.iter().zip(parameters).enumerate() {
        if !crate::infer::agree(said, is) {
            findings.module(format!(
                "`entry_computation_layout` says `{said}` of parameter {number}, which is `{is}`"
            ));
        }
    }
    if !crate::infer::agree(&layout.result, result) {
        findings.module(format!(
            "`entry_computation_layout` says the result is `{}`, but it is `{result}`",
            layout.result
        ));
    }
}

/// The array at an index of a parameter, or what is wrong with that.
fn part<'s>(
    parameters: &[&'s Shape],
    number: i64,
    index: &Dims,
    what: &str,
) -> Result<&'s Shape, String> {
    let Some(parameter) = usize::try_from(number).ok().and_then(|n| parameters.get(n)) else {
        return Err(format!("{what} names parameter {number}, but there are {}", parameters.len()));
    };
    match parameter.subshape(index) {
        Some(part @ (Shape::Array(_) | Shape::Buffer(_))) => Ok(part),
        Some(_) | None => Err(format!(
            "{what} names {:?} of parameter {number}, `{parameter}`, which is no array",
            index.as_slice()
        )),
    }
}

fn aliases(module: &Module, parameters: &[&Shape], result: &Shape, findings: &mut Findings) {
    let mut inputs = FxHashSet::default();
    let mut outputs = FxHashSet::default();
    for alias in &module.config.input_output_alias {
        let what = "`input_output_alias`";
        let input = match part(parameters, alias.parameter, &alias.parameter_index, what) {
            Ok(input) => input,
            Err(message) => {
                findings.module(message);
                continue;
            }
        };
        let Some(output) = result.subshape(&alias.output_index).filter(|s| s.as_array().is_some())
        else {
            findings.module(format!(
                "{what} names {:?} of the result, `{result}`, which is no array",
                alias.output_index.as_slice()
            ));
            continue;
        };
        if input.byte_size() != output.byte_size() {
            findings.module(format!(
                "{what} joins parameter {}, `{input}`, with `{output}` of another size",
                alias.parameter
            ));
        }
        if !inputs.insert((alias.parameter, &alias.parameter_index)) {
            findings.module(format!(
                "{what} uses {:?} of parameter {} twice",
                alias.parameter_index.as_slice(),
                alias.parameter
            ));
        }
        if !outputs.insert(&alias.output_index) {
            findings.module(format!(
                "{what} names {:?} of the result twice",
                alias.output_index.as_slice()
            ));
        }
    }
    for donor in &module.config.buffer_donors {
        let what = "`buffer_donor`";
        if let Err(message) = part(parameters, donor.parameter, &donor.parameter_index, what) {
            findings.module(message);
        } else if inputs.contains(&(donor.parameter, &donor.parameter_index)) {
            findings.module(format!(
                "{what} names {:?} of parameter {}, which `input_output_alias` uses",
                donor.parameter_index.as_slice(),
                donor.parameter
            ));
        }
    }
    for prefetch in &module.config.cross_program_prefetches {
        let what = "a cross-program prefetch";
        if let Err(message) = part(parameters, prefetch.parameter, &prefetch.index, what) {
            findings.module(message);
        }
    }
}

fn counts(module: &Module, findings: &mut Findings) {
    let config = &module.config;
    for (what, count) in
        [("replica_count", config.replica_count), ("num_partitions", config.num_partitions)]
    {
        if count < 1 {
            findings.module(format!("`{what}` is {count}, below 1"));
        }
    }
    if let Some(assignment) = &config.device_assignment {
        let fits = assignment.devices.len() as i64 == assignment.computation_count
            && assignment.devices.iter().all(|row| row.len() as i64 == assignment.replica_count);
        if !fits {
            findings.module(format!(
                "the device assignment does not list {} partitions of {} replicas",
                assignment.computation_count, assignment.replica_count
            ));
        }
    }
}
