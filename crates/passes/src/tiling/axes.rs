//! How the dimensions of an array lie in the space that is cut into tiles: which part of each belongs to
//! a tile, and what that says of the operands that an op needs for it.
//!
//! A tile has one of all batches, some neighbouring rows, and all of everything else. A dimension is a
//! product of factors, the slowest first, since reshapes join batches, rows and others.

use rxla_hlo::op::Dot;
use rxla_hlo::{Dims, InstructionId, Module, Op};

use crate::view;

/// A part of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Factor {
    /// All of it is in each tile.
    Whole(i64),
    /// A tile of batch `i` has only number `i / step % size`.
    Batch { size: i64, step: i64 },
    /// A tile has as many as it has rows.
    Rows(i64),
}

impl Factor {
    pub(super) fn size(self) -> i64 {
        match self {
            Factor::Whole(size) | Factor::Batch { size, .. } | Factor::Rows(size) => size,
        }
    }

    /// How much of it is in a tile of so many rows.
    pub(super) fn tiled(self, rows: i64) -> i64 {
        match self {
            Factor::Whole(size) => size,
            Factor::Batch { .. } => 1,
            Factor::Rows(_) => rows,
        }
    }
}

/// The factors of each dimension; those of size 1 are left out.
pub(super) type Axes = Vec<Vec<Factor>>;

/// Why the operands of an op cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// The op does not compute a tile from tiles.
    Never,
    /// The rows are to be seen as a product of these, the slower first.
    Split(i64, i64),
}

/// An array that is whole in each tile.
pub(super) fn whole(dims: &[i64]) -> Axes {
    dims.iter().map(|&size| one(Factor::Whole(size))).collect()
}

/// A dimension that is one factor.
pub(super) fn one(factor: Factor) -> Vec<Factor> {
    if factor.size() == 1 { Vec::new() } else { vec![factor] }
}

/// The sizes of a tile.
pub(super) fn tiled(axes: &Axes, rows: i64) -> Dims {
    axes.iter().map(|factors| factors.iter().map(|factor| factor.tiled(rows)).product()).collect()
}

/// How the operands of an op lie in the space if its result lies so.
pub(super) fn operands(m: &Module, id: InstructionId, axes: &Axes) -> Result<Vec<Axes>, Refusal> {
    let instruction = &m[id];
    let dims = |index: usize| operand_dims(m, id, index).ok_or(Refusal::Never);
    match &instruction.op {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select(_)
        | Op::Clamp(_)
        | Op::Convert(_)
        | Op::Copy(_)
        | Op::ReducePrecision(_) => (0..instruction.operands().len())
            .map(|index| Ok(if dims(index)?.is_empty() { Axes::new() } else { axes.clone() }))
            .collect(),
        Op::Constant(_) | Op::Iota(_) => Ok(Vec::new()),
        Op::Broadcast(op) => {
            let own = dims(0)?.iter().zip(&op.dimensions);
            let pick = |(&size, &dimension): (&i64, &i64)| {
                if size == 1 { Vec::new() } else { axes[dimension as usize].clone() }
            };
            Ok(vec![own.map(pick).collect()])
        }
        Op::Transpose(op) => {
            let mut own = axes.clone();
            for (factors, &dimension) in axes.iter().zip(&op.dimensions) {
                own[dimension as usize] = factors.clone();
            }
            Ok(vec![own])
        }
        Op::Reshape(_) => Ok(vec![reshaped(axes, dims(0)?)?]),
        Op::Reduce(op) if instruction.operands().len() == 2 => {
            let mut kept = axes.iter();
            let own = dims(0)?.iter().enumerate().map(|(number, &size)| {
                match op.dimensions.contains(&(number as i64)) {
                    true => Some(one(Factor::Whole(size))),
                    false => kept.next().cloned(),
                }
            });
            Ok(vec![own.collect::<Option<Axes>>().ok_or(Refusal::Never)?, Axes::new()])
        }
        Op::Dot(op) => {
            let sides = Sides::of(op);
            let mut next = axes.iter();
            let batch: Axes = next.by_ref().take(op.lhs_batch_dims.len()).cloned().collect();
            let mut list = Vec::new();
            for (index, (batch_dims, summed)) in sides.0.into_iter().enumerate() {
                let side = dims(index)?.iter().enumerate().map(|(number, &size)| {
                    let number = number as i64;
                    if let Some(place) = batch_dims.iter().position(|&d| d == number) {
                        Some(batch[place].clone())
                    } else if summed.contains(&number) {
                        Some(one(Factor::Whole(size)))
                    } else {
                        next.next().cloned()
                    }
                });
                list.push(side.collect::<Option<Axes>>().ok_or(Refusal::Never)?);
            }
            Ok(list)
        }
        _ => Err(Refusal::Never),
    }
}

/// The sizes of an operand that is an array.
pub(super) fn operand_dims(m: &Module, id: InstructionId, index: usize) -> Option<&Dims> {
    let shape = m.operand_shape(id, index).as_array();
    shape.filter(|shape| shape.is_static()).map(|shape| &shape.dims)
}

/// Batch and contracting dimensions of both sides of a product.
pub(super) struct Sides<'a>(pub(super) [(&'a Dims, &'a Dims); 2]);

impl<'a> Sides<'a> {
    pub(super) fn of(op: &'a Dot) -> Sides<'a> {
        Sides([
            (&op.lhs_batch_dims, &op.lhs_contracting_dims),
            (&op.rhs_batch_dims, &op.rhs_contracting_dims),
        ])
    }
}

/// The axes of an array of other sizes with the same elements in the same order.
pub(super) fn reshaped(axes: &Axes, dims: &[i64]) -> Result<Axes, Refusal> {
    let mut rest: Vec<Factor> = axes.iter().flatten().copied().collect();
    let mut result = Axes::new();
    for &size in dims.iter().rev() {
        let mut own: Vec<Factor> = Vec::new();
        let mut missing = size;
        while missing > 1 {
            let factor = rest.pop().ok_or(Refusal::Never)?;
            let size = factor.size();
            if missing % size == 0 {
                own.insert(0, factor);
                missing /= size;
                continue;
            }
            if size % missing != 0 {
                return Err(Refusal::Never);
            }
            let (slow, fast) = (size / missing, missing);
            let [slow, fast] = match factor {
                Factor::Whole(_) => [Factor::Whole(slow), Factor::Whole(fast)],
                Factor::Batch { step, .. } => [
                    Factor::Batch { size: slow, step: step * fast },
                    Factor::Batch { size: fast, step },
                ],
                Factor::Rows(_) => return Err(Refusal::Split(slow, fast)),
            };
            rest.push(slow);
            own.insert(0, fast);
            missing = 1;
        }
        result.insert(0, joined(&own));
    }
    if rest.is_empty() { Ok(result) } else { Err(Refusal::Never) }
}

/// Neighbouring factors that are one.
fn joined(factors: &[Factor]) -> Vec<Factor> {
    let mut list: Vec<Factor> = Vec::new();
    for &factor in factors {
        let one = match (list.last().copied(), factor) {
            (Some(Factor::Whole(slow)), Factor::Whole(fast)) => Some(Factor::Whole(slow * fast)),
            (
                Some(Factor::Batch { size: slow, step: slow_step }),
                Factor::Batch { size: fast, step },
            ) if slow_step == fast * step => Some(Factor::Batch { size: slow * fast, step }),
            _ => None,
        };
        if one.is_some() {
            list.pop();
        }
        list.push(one.unwrap_or(factor));
    }
    list
}

/// Whether an instruction only repeats what is smaller, so that any tile of it is made from that.
pub(super) fn is_spread(m: &Module, id: InstructionId) -> bool {
    matches!(m[id].op, Op::Broadcast(_))
        && view::elements(m, m[id].operands()[0]) < view::elements(m, id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshapes_join_and_divide_what_lies_together() {
        let batch = |size, step| Factor::Batch { size, step };
        let axes = vec![vec![batch(8, 1)], vec![Factor::Rows(512)], vec![Factor::Whole(6)]];
        let divided = reshaped(&axes, &[2, 1, 4, 512, 3, 2]).unwrap();
        let expected = vec![
            vec![batch(2, 4)],
            vec![],
            vec![batch(4, 1)],
            vec![Factor::Rows(512)],
            vec![Factor::Whole(3)],
            vec![Factor::Whole(2)],
        ];
        assert_eq!(divided, expected);
        assert_eq!(reshaped(&divided, &[8, 512, 6]).unwrap(), axes);
        let mixed = reshaped(&axes, &[8, 512 * 6]).unwrap();
        assert_eq!(mixed[1], [Factor::Rows(512), Factor::Whole(6)]);
        assert_eq!(tiled(&mixed, 64).as_slice(), [1, 64 * 6]);
        assert_eq!(reshaped(&axes, &[8, 4, 128, 6]), Err(Refusal::Split(4, 128)));
        assert_eq!(reshaped(&axes, &[8, 512, 4]), Err(Refusal::Never));
    }
}
