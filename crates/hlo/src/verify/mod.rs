//! The verifier: everything that must hold of a module, checked in one linear sweep.
//!
//! All findings are collected, each with the instruction, the user's source line from its metadata
//! and, for modules read from text, the place in it. Nothing is assumed: a module that a reader
//! could build, with dangling ids, cycles or gaps, gets findings, never a panic. What passes may
//! rely on is what is checked here; [`crate::Phase`] says what is required from when on.

mod asynchronous;
mod boundary;
mod buffers;
mod communication;
mod fusion;
mod layouts;
mod place;
mod rules;
mod shapes;
mod sharding;
mod structure;
#[cfg(test)]
mod tests;

use rxla_base::{Diagnostic, SecondaryMap, Span};

use crate::{ComputationId, Instruction, InstructionId, Module};

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Module,
    Computation(ComputationId),
    Instruction(InstructionId),
}

/// All that is wrong with `module`; nothing if it may be compiled.
pub fn verify(module: &Module) -> Vec<Diagnostic> {
    let findings = find(module);
    findings.into_iter().map(|(place, finding)| place::describe(module, place, finding)).collect()
}

/// As [`verify`], pointing into the text that the module was read from.
pub fn verify_with_spans(
    module: &Module,
    spans: &SecondaryMap<Instruction, Span>,
) -> Vec<Diagnostic> {
    let findings = find(module);
    let placed = findings.into_iter().map(|(place, finding)| {
        let span = match place {
            Place::Instruction(instruction) => Some(spans[instruction]),
            Place::Computation(computation) => module
                .get_computation(computation)
                .and_then(|computation| computation.try_root())
                .map(|root| spans[root]),
            Place::Module => None,
        };
        match span {
            Some(span) if span != Span::default() => {
                place::describe_source(module, place, finding.at(span))
            }
            Some(_) | None => place::describe(module, place, finding),
        }
    });
    placed.collect()
}

/// All findings with what they are about, not yet put in words.
pub fn find(module: &Module) -> Vec<(Place, Diagnostic)> {
    let mut findings = Findings::default();
    structure::check(module, &mut findings);
    shapes::check(module, &mut findings);
    fusion::check(module, &mut findings);
    rules::check(module, &mut findings);
    asynchronous::check(module, &mut findings);
    communication::check(module, &mut findings);
    boundary::check(module, &mut findings);
    buffers::check(module, &mut findings);
    layouts::check(module, &mut findings);
    sharding::check(module, &mut findings);
    findings.0
}

#[derive(Default)]
struct Findings(Vec<(Place, Diagnostic)>);

impl Findings {
    fn module(&mut self, message: impl Into<String>) {
        self.0.push((Place::Module, Diagnostic::error(message)));
    }

    fn computation(&mut self, computation: ComputationId, message: impl Into<String>) {
        self.0.push((Place::Computation(computation), Diagnostic::error(message)));
    }

    fn instruction(&mut self, instruction: InstructionId, message: impl Into<String>) {
        self.add(instruction, Diagnostic::error(message));
    }

    fn add(&mut self, instruction: InstructionId, diagnostic: Diagnostic) {
        self.0.push((Place::Instruction(instruction), diagnostic));
    }
}

/// Live computations with their live instructions, whatever else is wrong.
fn each_instruction(module: &Module) -> impl Iterator<Item = (InstructionId, &Instruction)> {
    module
        .computations()
        .iter()
        .filter_map(|&computation| module.get_computation(computation))
        .flat_map(|computation| computation.instructions())
        .filter_map(|&id| module.get_instruction(id).map(|instruction| (id, instruction)))
}
