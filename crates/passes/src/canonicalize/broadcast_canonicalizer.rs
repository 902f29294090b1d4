//! `broadcast_canonicalizer`, XLA's BroadcastCanonicalizer: a broadcast keeps the order of
//! dimensions; where one does not, a transpose before it does that part.

use rxla_base::Result;
use rxla_hlo::op::Transpose;
use rxla_hlo::{InstructionId, Module, Op};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct BroadcastCanonicalizer;

const RULES: &[NamedRule] = rules! {
    Broadcast => [unsorted_broadcast],
};

impl Pass for BroadcastCanonicalizer {
    fn name(&self) -> &'static str {
        "broadcast_canonicalizer"
    }

    fn class(&self) -> &'static str {
        "BroadcastCanonicalizer"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `broadcast(x, dims) => broadcast(transpose(x), sorted(dims))`
fn unsorted_broadcast(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Broadcast(op) = &m[i].op else { return None };
    if op.dimensions.is_sorted() {
        return None;
    }
    let mut dimensions = op.dimensions.clone();
    let mut order: Vec<usize> = (0..dimensions.len()).collect();
    order.sort_by_key(|&d| dimensions[d]);
    dimensions.sort_unstable();
    let x = view::operand(m, i, 0);
    let order = order.into_iter().map(|d| d as i64).collect();
    let transposed = view::add(m, i, Transpose { dimensions: order }, &[x]);
    Some(view::add_same(m, i, Op::broadcast(dimensions), &[transposed]))
}
