//! `tuple-simplifier`, XLA's TupleSimplifier: values that go into a tuple and out again.

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct TupleSimplifier;

pub const RULES: &[NamedRule] = rules! {
    GetTupleElement => [element_of_tuple],
    Tuple => [tuple_of_elements],
};

impl Pass for TupleSimplifier {
    fn name(&self) -> &'static str {
        "tuple-simplifier"
    }

    fn class(&self) -> &'static str {
        "TupleSimplifier"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `tuple(a, b, …)[1] => b`
fn element_of_tuple(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::GetTupleElement(op) = &m[i].op else { return None };
    let tuple = view::operand(m, i, 0);
    let Op::Tuple(_) = &m[tuple].op else { return None };
    m[tuple].operands().get(usize::try_from(op.index).ok()?).copied()
}

/// `tuple(t[0], t[1], …) => t`, if that is all of `t`
fn tuple_of_elements(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Tuple(_) = &m[i].op else { return None };
    let first = *m[i].operands().first()?;
    let Op::GetTupleElement(_) = &m[first].op else { return None };
    let whole = view::operand(m, first, 0);
    let in_order = m[i].operands().iter().enumerate().all(|(index, &element)| {
        matches!(&m[element].op, Op::GetTupleElement(op) if op.index == index as i64)
            && view::operand(m, element, 0) == whole
    });
    (in_order && view::same_shape(m, whole, i)).then_some(whole)
}
