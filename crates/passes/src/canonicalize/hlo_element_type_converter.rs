//! `element_type_converter`, XLA's HloElementTypeConverter: arithmetic in one element type is done in
//! another, between conversions.
//!
//! Only ops that compute are changed, and those whose result is rounded once at the end: what moves
//! values keeps its type, and so do reductions, loops' carried values and functions of reducers, where
//! a wider type would round less often than the program says.

use rxla_base::Result;
use rxla_hlo::op::Convert;
use rxla_hlo::{ComputationId, ElementType, InstructionId, Module, Op, Shape};

use crate::pass::{Context, Pass};
use crate::view;

pub struct HloElementTypeConverter {
    pub eliminate: ElementType,
    pub replace_with: ElementType,
}

impl Pass for HloElementTypeConverter {
    fn name(&self) -> &'static str {
        "element_type_converter"
    }

    fn class(&self) -> &'static str {
        "HloElementTypeConverter"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in straight_computations(module) {
            for site in module.post_order(computation) {
                if !self.concerns(module, site) {
                    continue;
                }
                if !cx.spend() {
                    return Ok(made);
                }
                made += 1;
                self.convert(module, site);
            }
        }
        Ok(made)
    }
}

impl HloElementTypeConverter {
    fn concerns(&self, m: &Module, site: InstructionId) -> bool {
        let has = |i: InstructionId| view::element_type(m, i) == Some(self.eliminate);
        computes(&m[site].op) && (has(site) || m[site].operands().iter().any(|&o| has(o)))
    }

    fn convert(&self, m: &mut Module, site: InstructionId) {
        let operands: Vec<InstructionId> = m[site]
            .operands()
            .to_vec()
            .into_iter()
            .map(|operand| self.to(m, operand, self.eliminate, self.replace_with))
            .collect();
        let (op, shape) = (m[site].op.clone(), m[site].shape.clone());
        let shape = of_type(&shape, self.eliminate, self.replace_with).unwrap_or(shape);
        let wide = m.add_like(site, op, shape, &operands);
        let result = if view::element_type(m, site) == Some(self.eliminate) {
            self.to(m, wide, self.replace_with, self.eliminate)
        } else {
            wide
        };
        m.replace_all_uses(site, result);
        m.remove_instruction(site);
    }

    /// The value in type `to` if its type is `from`.
    fn to(
        &self,
        m: &mut Module,
        value: InstructionId,
        from: ElementType,
        to: ElementType,
    ) -> InstructionId {
        match of_type(&m[value].shape, from, to) {
            Some(shape) => m.add_like(value, Op::Convert(Convert {}), shape, &[value]),
            None => value,
        }
    }
}

/// The shape of an array with `to` in place of `from`, if that is its type.
fn of_type(shape: &Shape, from: ElementType, to: ElementType) -> Option<Shape> {
    let mut array = shape.as_array()?.clone();
    if array.element_type != from {
        return None;
    }
    array.element_type = to;
    Some(Shape::Array(array))
}

/// Whether the op does arithmetic on the elements of its operands, and rounds its result only.
fn computes(op: &Op) -> bool {
    matches!(
        op,
        Op::Unary(_)
            | Op::Binary(_)
            | Op::Clamp(_)
            | Op::Compare(_)
            | Op::Dot(_)
            | Op::Convolution(_)
    )
}

/// The entry, and what is called from there as a whole.
fn straight_computations(m: &Module) -> Vec<ComputationId> {
    let mut found = vec![m.entry()];
    let mut next = 0;
    while let Some(&computation) = found.get(next) {
        next += 1;
        for &i in m[computation].instructions() {
            if matches!(m[i].op, Op::Call(_) | Op::Conditional(_) | Op::While(_)) {
                for callee in m[i].op.called_computations() {
                    if !found.contains(&callee) {
                        found.push(callee);
                    }
                }
            }
        }
    }
    found
}
