//! `simplify-sorts`, XLA's SortSimplifier: sorts of nothing, and operands that are carried along in
//! a sort though nobody asks for them.

use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct SortSimplifier;

const RULES: &[NamedRule] = rules! {
    Sort => [sort_of_one_element, unused_operands],
};

impl Pass for SortSimplifier {
    fn name(&self) -> &'static str {
        "simplify-sorts"
    }

    fn class(&self) -> &'static str {
        "SortSimplifier"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `sort(x, y, …) => tuple(x, y, …)` along a dimension of size 0 or 1
fn sort_of_one_element(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Sort(op) = &m[i].op else { return None };
    let dimension = *op.dimensions.first()?;
    let operands = m[i].operands().to_vec();
    if view::dims(m, operands[0])?[dimension as usize] > 1 {
        return None;
    }
    match (&operands[..], m[i].shape.as_tuple()) {
        ([x], None) => Some(*x),
        (_, Some(_)) => Some(view::add(m, i, Op::tuple(), &operands)),
        (_, None) => None,
    }
}

/// `sort(x, y)[0] => sort(x)` where neither `y`'s result nor the comparator's view of it is used
fn unused_operands(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Sort(op) = &m[i].op else { return None };
    let elements = m[i].shape.as_tuple()?;
    if view::is_root(m, i) {
        return None;
    }
    let comparator = op.to_apply;
    let mut used = vec![false; elements.len()];
    for &user in m[i].users() {
        let Op::GetTupleElement(op) = &m[user].op else { return None };
        used[usize::try_from(op.index).ok()?] = true;
    }
    for (number, &parameter) in m[comparator].parameters().iter().enumerate() {
        used[number / 2] |= !m[parameter].users().is_empty() || view::is_root(m, parameter);
    }
    if used.iter().all(|&used| used) || !used.contains(&true) {
        return None;
    }
    let mut op = op.clone();
    let operands = m[i].operands().to_vec();
    let name = m[comparator].name().to_owned();
    op.to_apply = m.clone_computation(comparator, &name);
    for number in (0..used.len()).rev().filter(|&number| !used[number]) {
        m.remove_parameter(op.to_apply, 2 * number + 1);
        m.remove_parameter(op.to_apply, 2 * number);
    }
    let kept: Vec<InstructionId> =
        operands.iter().zip(&used).filter(|(_, used)| **used).map(|(&o, _)| o).collect();
    let sorted = view::add(m, i, op, &kept);
    // The places that nobody asks for get the operand as it was.
    let mut next = 0;
    let mut results = Vec::with_capacity(operands.len());
    for (&operand, &used) in operands.iter().zip(&used) {
        if !used {
            results.push(operand);
        } else if kept.len() == 1 {
            results.push(sorted);
        } else {
            results.push(view::add(m, i, Op::get_tuple_element(next), &[sorted]));
            next += 1;
        }
    }
    Some(view::add(m, i, Op::tuple(), &results))
}
