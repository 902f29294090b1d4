//! Values known while translating: shapes that a program computes from sizes of arrays are found
//! by folding the instructions that compute them.

use rxla_hlo::op::{BinaryKind, ComparisonDirection, UnaryKind};
use rxla_hlo::{InstructionId, Op};

use super::importer::Importer;

/// Shapes are short; what has more elements than this is no shape.
const MAX_ELEMENTS: usize = 256;
/// How many instructions may stand between a shape and the constants it comes from.
const MAX_STEPS: usize = 4096;

/// The integers an instruction gives, row-major, if they follow from constants.
pub(super) fn integers(cx: &Importer<'_>, instruction: InstructionId) -> Option<Vec<i64>> {
    let mut budget = MAX_STEPS;
    evaluate(cx, instruction, 0, &mut budget)
}

fn evaluate(
    cx: &Importer<'_>,
    instruction: InstructionId,
    depth: usize,
    budget: &mut usize,
) -> Option<Vec<i64>> {
    *budget = budget.checked_sub(1)?;
    if depth > 200 {
        return None;
    }
    let node = &cx.module[instruction];
    let array = node.shape.as_array()?;
    let count = array.element_count().filter(|&count| count <= MAX_ELEMENTS)?;
    let mut operand = |index: usize| -> Option<Vec<i64>> {
        evaluate(cx, *node.operands().get(index)?, depth + 1, budget)
    };
    let values = match &node.op {
        Op::Constant(constant) => constant.literal.as_array()?.integers()?,
        Op::Reshape(_) | Op::Copy(_) => operand(0)?,
        Op::Convert(_) if array.element_type.is_integer() => {
            let bits = array.element_type.bit_width();
            let values = operand(0)?;
            // Only what the narrower type holds; sizes never wrap.
            let fits = |&value: &i64| bits >= 64 || value.unsigned_abs() < 1 << (bits - 1);
            values.iter().all(fits).then_some(values)?
        }
        Op::Broadcast(broadcast) if broadcast.dimensions.is_empty() => {
            vec![*operand(0)?.first()?; count]
        }
        Op::Broadcast(broadcast) if array.rank() == 1 && broadcast.dimensions.as_slice() == [0] => {
            operand(0)?
        }
        Op::Iota(_) if array.rank() == 1 => (0..count as i64).collect(),
        Op::Concatenate(_) if array.rank() == 1 => {
            let mut all = Vec::new();
            for index in 0..node.operands().len() {
                all.extend(operand(index)?);
            }
            all
        }
        Op::Slice(slice) if array.rank() == 1 => {
            let dimension = slice.slice.first()?;
            let step = usize::try_from(dimension.stride).ok().filter(|&step| step > 0)?;
            let range =
                usize::try_from(dimension.start).ok()?..usize::try_from(dimension.limit).ok()?;
            operand(0)?.get(range)?.iter().copied().step_by(step).collect()
        }
        Op::Unary(unary) => {
            let values = operand(0)?;
            let f = |value: i64| match unary.kind {
                UnaryKind::Negate => value.checked_neg(),
                UnaryKind::Abs => value.checked_abs(),
                UnaryKind::Sign => Some(value.signum()),
                _ => None,
            };
            values.into_iter().map(f).collect::<Option<_>>()?
        }
        Op::Binary(binary) => {
            let (left, right) = (operand(0)?, operand(1)?);
            let f = |a: i64, b: i64| match binary.kind {
                BinaryKind::Add => a.checked_add(b),
                BinaryKind::Subtract => a.checked_sub(b),
                BinaryKind::Multiply => a.checked_mul(b),
                BinaryKind::Divide => a.checked_div(b),
                BinaryKind::Remainder => a.checked_rem(b),
                BinaryKind::Maximum => Some(a.max(b)),
                BinaryKind::Minimum => Some(a.min(b)),
                BinaryKind::And => Some(a & b),
                BinaryKind::Or => Some(a | b),
                _ => None,
            };
            left.into_iter().zip(right).map(|(a, b)| f(a, b)).collect::<Option<_>>()?
        }
        Op::Compare(compare) => {
            let (left, right) = (operand(0)?, operand(1)?);
            let f = |a: i64, b: i64| match compare.direction {
                ComparisonDirection::Eq => a == b,
                ComparisonDirection::Ne => a != b,
                ComparisonDirection::Ge => a >= b,
                ComparisonDirection::Gt => a > b,
                ComparisonDirection::Le => a <= b,
                ComparisonDirection::Lt => a < b,
            };
            left.into_iter().zip(right).map(|(a, b)| i64::from(f(a, b))).collect()
        }
        Op::Select(_) => {
            let (condition, then, otherwise) = (operand(0)?, operand(1)?, operand(2)?);
            let parts = condition.into_iter().zip(then.into_iter().zip(otherwise));
            parts.map(|(c, (t, o))| if c != 0 { t } else { o }).collect()
        }
        Op::Clamp(_) => {
            let (low, value, high) = (operand(0)?, operand(1)?, operand(2)?);
            let parts = value.into_iter().zip(low.into_iter().zip(high));
            parts.map(|(v, (l, h))| v.max(l).min(h)).collect()
        }
        Op::Reduce(reduce) => {
            // The product or sum of a shape, as programs that flatten arrays compute it.
            let root = &cx.module[cx.module[reduce.to_apply].root()];
            let Op::Binary(binary) = &root.op else { return None };
            if node.operands().len() != 2 || array.rank() != 0 {
                return None;
            }
            let init = *operand(1)?.first()?;
            let f = |a: i64, b: i64| match binary.kind {
                BinaryKind::Add => a.checked_add(b),
                BinaryKind::Multiply => a.checked_mul(b),
                BinaryKind::Maximum => Some(a.max(b)),
                BinaryKind::Minimum => Some(a.min(b)),
                _ => None,
            };
            vec![operand(0)?.into_iter().try_fold(init, f)?]
        }
        // What else there is does not compute shapes.
        _ => return None,
    };
    (values.len() == count).then_some(values)
}
