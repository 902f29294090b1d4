//! `transpose-folding`, XLA's TransposeFolding: a product of matrices reads its operands transposed
//! rather than having them transposed before.
//!
//! Only what leaves the dot a batched product of matrices (see
//! [`dot_decomposer`](crate::canonicalize::dot_decomposer)) is folded, since that is what there are
//! kernels for.

use rxla_base::Result;
use rxla_hlo::{Dims, InstructionId, Module, Op};

use crate::canonicalize::dot_decomposer::{is_canonical, others};
use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct TransposeFolding;

const RULES: &[NamedRule] = rules! {
    Dot => [dot_of_transpose],
};

impl Pass for TransposeFolding {
    fn name(&self) -> &'static str {
        "transpose-folding"
    }

    fn class(&self) -> &'static str {
        "TransposeFolding"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `dot(transpose(x), y) => dot(x, y)`, with the dimensions numbered as in `x`; so for `y`
fn dot_of_transpose(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(op) = &m[i].op else { return None };
    let mut op = op.clone();
    let mut operands = [view::operand(m, i, 0), view::operand(m, i, 1)];
    let sides = [
        (&mut op.lhs_batch_dims, &mut op.lhs_contracting_dims),
        (&mut op.rhs_batch_dims, &mut op.rhs_contracting_dims),
    ];
    let mut folded = false;
    for (operand, (batch, contracting)) in operands.iter_mut().zip(sides) {
        let Op::Transpose(transpose) = &m[*operand].op else { continue };
        let renumber = |dimensions: &Dims| -> Dims {
            dimensions.iter().map(|&d| transpose.dimensions[d as usize]).collect()
        };
        let rank = transpose.dimensions.len();
        let (new_batch, new_contracting) = (renumber(batch), renumber(contracting));
        // The result lists what is left in the order in which the operand has it.
        let free = renumber(&others(rank, batch, contracting));
        if is_canonical(&new_batch, &new_contracting, rank) && free.is_sorted() {
            (*batch, *contracting) = (new_batch, new_contracting);
            *operand = view::operand(m, *operand, 0);
            folded = true;
        }
    }
    folded.then(|| view::add_same(m, i, Op::from(op), &operands))
}
