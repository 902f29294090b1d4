//! `softmax-divide-sinking`: what a softmax divides by is divided by after the product with its rows, of which
//! the result has fewer elements: `dot(exp(x - max) / sum, v) => dot(exp(x - max), v) / sum`. XLA has no pass
//! of this kind.
//!
//! Exponentials of what is at most zero are at most one, so no sum grows past what the values of `v` allow for.
//! Types whose largest number is near are left alone, and so are those that would be rounded once more.

use rxla_base::Result;
use rxla_hlo::op::{Dot, Reduce};
use rxla_hlo::{BinaryKind, Dims, ElementType, InstructionId, Module, Op, UnaryKind};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct SoftmaxDivideSinking;

const RULES: &[NamedRule] = rules! {
    Dot => [divided_after],
};

impl Pass for SoftmaxDivideSinking {
    fn name(&self) -> &'static str {
        "softmax-divide-sinking"
    }

    fn class(&self) -> &'static str {
        "SoftmaxDivideSinking"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `dot(exp(x - max(x)) / s, v) => dot(exp(x - max(x)), v) / s` where `s` is the same for all that is summed
fn divided_after(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(op) = &m[i].op else { return None };
    let wide = matches!(view::element_type(m, i)?, ElementType::F32 | ElementType::F64);
    let find = |side| Some((side, divided(m, op, i, side)?));
    let (side, (exponential, divisor, dimensions)) = (0..2).find_map(find)?;
    let quotient = view::operand(m, i, side);
    let same = view::element_type(m, quotient)? == view::element_type(m, i)?;
    if !wide || !same || view::has_control_edges(m, i) || view::has_control_edges(m, quotient) {
        return None;
    }
    let op = op.clone();
    let mut operands = [view::operand(m, i, 0), view::operand(m, i, 1)];
    operands[side] = exponential;
    let dot = view::add_same(m, i, Op::Dot(op), &operands);
    let divisors = view::add_same(m, i, Op::broadcast(dimensions), &[divisor]);
    Some(view::add_same(m, i, Op::binary(BinaryKind::Divide), &[dot, divisors]))
}

/// An operand of a product that is such a quotient, as what is divided and what it is divided by, with the
/// dimensions of the product's result that the latter has.
fn divided(
    m: &Module,
    op: &Dot,
    dot: InstructionId,
    side: usize,
) -> Option<(InstructionId, InstructionId, Dims)> {
    let quotient = view::operand(m, dot, side);
    if view::only_user(m, quotient)? != dot || view::is_root(m, quotient) {
        return None;
    }
    let [exponential, divisors] = view::binary(m, quotient, BinaryKind::Divide)?;
    let count = |id: InstructionId| view::dims(m, id).map(|dims| dims.iter().product::<i64>());
    if !is_at_most_one(m, exponential) || count(dot)? >= count(quotient)? {
        return None;
    }
    let Op::Broadcast(broadcast) = &m[divisors].op else { return None };
    let (batch, summed) = match side {
        0 => (&op.lhs_batch_dims, &op.lhs_contracting_dims),
        _ => (&op.rhs_batch_dims, &op.rhs_contracting_dims),
    };
    let rank = |id: InstructionId| view::dims(m, id).map_or(0, |dims| dims.len());
    let is_free = |dimension: &i64| !batch.contains(dimension) && !summed.contains(dimension);
    let free = (0..rank(quotient) as i64).filter(is_free);
    // The result has the batch, what is free on the left, and what is free on the right.
    let first = match side {
        0 => batch.len(),
        _ => rank(dot) - free.clone().count(),
    };
    let place = |dimension: &i64| {
        let of_batch = batch.iter().position(|batch| batch == dimension);
        let of_free = || Some(first + free.clone().position(|free| free == *dimension)?);
        of_batch.or_else(of_free).map(|place| place as i64)
    };
    let dimensions: Option<Dims> = broadcast.dimensions.iter().map(place).collect();
    let divisor = m[divisors].operands()[0];
    Some((exponential, divisor, dimensions?))
}

/// Whether this is `exp(x - max)`, the largest element of what is in a row.
fn is_at_most_one(m: &Module, id: InstructionId) -> bool {
    let largest = || {
        let difference = view::unary(m, id, UnaryKind::Exp)?;
        let [x, most] = view::binary(m, difference, BinaryKind::Subtract)?;
        let Op::Broadcast(_) = &m[most].op else { return None };
        let reduce = view::operand(m, most, 0);
        let Op::Reduce(Reduce { to_apply, .. }) = &m[reduce].op else { return None };
        let root = m[*to_apply].root();
        view::binary(m, root, BinaryKind::Maximum)?;
        (view::operand(m, reduce, 0) == x).then_some(())
    };
    largest().is_some()
}
