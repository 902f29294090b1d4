//! `slice-hoister`, XLA's SliceHoister: of an elementwise result of which only a part is read, only
//! that part is computed.

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct SliceHoister;

const RULES: &[NamedRule] = rules! {
    Slice => [slice_of_elementwise],
};

impl Pass for SliceHoister {
    fn name(&self) -> &'static str {
        "slice-hoister"
    }

    fn class(&self) -> &'static str {
        "SliceHoister"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `slice(f(x, y)) => f(slice(x), slice(y))`, if nothing else uses `f(x, y)`
fn slice_of_elementwise(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Slice(slice) = &m[i].op else { return None };
    let whole = view::operand(m, i, 0);
    let op = &m[whole].op;
    let moves = op.is_elementwise() && !matches!(op, Op::Map(_) | Op::Copy(_));
    if !moves || view::only_user(m, whole) != Some(i) || view::has_control_edges(m, whole) {
        return None;
    }
    let sizes = view::dims(m, whole)?.clone();
    let (op, slice) = (op.clone(), slice.clone());
    let operands = m[whole].operands().to_vec();
    if operands.iter().any(|&operand| view::dims(m, operand).is_none()) {
        return None;
    }
    let parts: Vec<InstructionId> = operands
        .iter()
        .map(|&operand| {
            // The scalars of select and clamp are the same for every part.
            let is_whole = view::dims(m, operand) == Some(&sizes);
            if is_whole { view::add(m, i, slice.clone(), &[operand]) } else { operand }
        })
        .collect();
    Some(view::add_same(m, i, op, &parts))
}
