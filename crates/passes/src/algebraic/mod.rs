//! `algsimp`, XLA's AlgebraicSimplifier: equations between ops, a file per subject.
//!
//! Each file has a table `RULES`; a new rule is a function and its name in the table, under the opcodes
//! that it is about. Rules about constants on one side expect them on the right, where `canonical` rules
//! bring them first.

mod arithmetic;
mod bounds;
mod compare;
mod convert;
mod dynamic;
mod functions;
mod integers;
mod joins;
mod logic;
mod places;
pub(crate) mod reductions;
mod reorder;
mod scatters;
mod select;
mod slices;
mod structure;
mod updates;

use rxla_base::Result;
use rxla_hlo::Module;

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};

pub struct AlgebraicSimplifier;

/// The tables in the order in which they are tried.
pub const TABLES: &[&[NamedRule]] = &[
    arithmetic::RULES,
    logic::RULES,
    compare::RULES,
    select::RULES,
    bounds::RULES,
    convert::RULES,
    functions::RULES,
    reorder::RULES,
    slices::RULES,
    joins::RULES,
    dynamic::RULES,
    scatters::RULES,
    reductions::RULES,
    places::RULES,
    structure::RULES,
    updates::RULES,
];

impl Pass for AlgebraicSimplifier {
    fn name(&self) -> &'static str {
        "algsimp"
    }

    fn class(&self) -> &'static str {
        "AlgebraicSimplifier"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        match cx.extra_rules() {
            [] => Ok(rewrite::apply(module, cx, TABLES)),
            extra => Ok(rewrite::apply(module, cx, &[&[extra], TABLES].concat())),
        }
    }
}
