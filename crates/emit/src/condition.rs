//! Comparisons of index expressions: decided by their ranges where possible, else asked.

use rxla_kernel::{BinaryOp, ComparePredicate, Value};

use crate::affine::Affine;
use crate::emitter::Emitter;

impl Emitter<'_> {
    /// Whether an expression is at least `border`.
    pub(crate) fn at_least(&mut self, expression: &Affine, border: i64) -> Known {
        let (low, high) = self.range(expression);
        if low >= border {
            return Known::Always;
        }
        if high < border {
            return Known::Never;
        }
        self.want_cut(expression, border);
        Known::Sometimes
    }

    /// The condition that [`Known::Sometimes`] stands for, with its depth.
    pub(crate) fn condition(&mut self, expression: &Affine, border: i64) -> (Value, usize) {
        let position = self.position(expression);
        let depth = self.placed_at(self.depth_of(expression));
        let condition = self.at(depth, |b| {
            let border = b.index(border);
            b.compare(ComparePredicate::Sge, position, border)
        });
        (condition, depth)
    }

    /// Both conditions.
    pub(crate) fn both(
        &mut self,
        one: Option<(Value, usize)>,
        other: Option<(Value, usize)>,
    ) -> Option<(Value, usize)> {
        let (Some((a, at)), Some((b, bt))) = (one, other) else { return one.or(other) };
        let depth = at.max(bt);
        Some((self.at(depth, |builder| builder.binary(BinaryOp::And, a, b)), depth))
    }
}

/// What is known of a comparison before it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Always,
    Never,
    Sometimes,
}
