//! A rule that is wrong on purpose: what `rxla bisect` has to find in its tests. Nothing applies it
//! unless asked to by [`crate::RunOptions::extra_rules`].

use rxla_hlo::{BinaryKind, InstructionId, Module, Op};

use crate::rewrite::NamedRule;
use crate::{rules, view};

pub const RULES: &[NamedRule] = rules! {
    Binary(BinaryKind::Maximum) => [maximum_is_minimum],
};

/// `maximum(x, y) => minimum(x, y)`, which is false
fn maximum_is_minimum(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let [x, y] = view::binary(m, i, BinaryKind::Maximum)?;
    Some(view::add_same(m, i, Op::binary(BinaryKind::Minimum), &[x, y]))
}
