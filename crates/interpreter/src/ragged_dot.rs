//! `ragged-dot`, where the group that a row of `lhs` belongs to decides what it is multiplied with,
//! and `scaled-dot`, whose operands come with scales for blocks of elements.

use rxla_base::{Error, Result};
use rxla_hlo::op::{BinaryKind, RaggedDot, ScaledDot, SliceDimension};
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType};

use crate::dot::{Contraction, contract, others};
use crate::elementwise;
use crate::matmul::{term_type, to_type};
use crate::movement::{broadcast, concatenate, slice, to_i64s};

/// The ragged dimension of `lhs` is cut into groups of the given sizes. If it is free, each group
/// meets its own slice of `rhs`; if it is contracted, each group gives a result of its own; if it
/// is a batch dimension, groups change nothing. Rows beyond the last group count as zero.
pub(crate) fn ragged_dot(
    lhs: &ArrayLiteral,
    rhs: &ArrayLiteral,
    sizes: &ArrayLiteral,
    op: &RaggedDot,
    result: ElementType,
) -> Result<ArrayLiteral> {
    let ragged = crate::dispatch::one_dimension(&op.lhs_ragged_dims)? as i64;
    let (lhs_batch, lhs_contracting) = (&*op.lhs_batch_dims, &*op.lhs_contracting_dims);
    let free = others(lhs.dims().len(), &[lhs_batch, lhs_contracting]);
    let before = |dimensions: &[i64]| {
        let end = dimensions.iter().position(|&d| d == ragged).unwrap_or(dimensions.len());
        dimensions[..end].to_vec()
    };
    let is_batch = lhs_batch.contains(&ragged);
    let is_contracting = lhs_contracting.contains(&ragged);
    let prefix = if is_batch {
        before(lhs_batch)
    } else if is_contracting {
        [lhs_batch, &before(lhs_contracting)].concat()
    } else {
        [lhs_batch, &before(&free)].concat()
    };
    let groups = Groups { lhs, ragged: ragged as usize, prefix: &prefix, sizes };
    let count = sizes.dims().last().copied().unwrap_or(0) as usize;
    let numbers = Contraction {
        lhs_batch,
        lhs_contracting,
        rhs_batch: &op.rhs_batch_dims,
        rhs_contracting: &op.rhs_contracting_dims,
    };
    if is_batch {
        return contract(groups.select(0..count)?, rhs.clone(), &numbers, result);
    }
    if is_contracting {
        let parts = (0..count)
            .map(|group| {
                let lhs = groups.select(group..group + 1)?;
                let part = contract(lhs, rhs.clone(), &numbers, result)?;
                let dims: Dims = [1].into_iter().chain(part.dims().iter().copied()).collect();
                part.with_shape(&ArrayShape::new(result, dims))
            })
            .collect::<Result<Vec<_>>>()?;
        return concatenate(&parts, 0);
    }
    // The group dimension of rhs goes away: each group takes its slice.
    let group_dimension = crate::dispatch::one_dimension(&op.rhs_group_dims)?;
    let without = |dimensions: &[i64]| -> Vec<i64> {
        dimensions.iter().map(|&d| d - i64::from(d as usize > group_dimension)).collect()
    };
    let (rhs_batch, rhs_contracting) =
        (without(&op.rhs_batch_dims), without(&op.rhs_contracting_dims));
    let numbers =
        Contraction { rhs_batch: &rhs_batch, rhs_contracting: &rhs_contracting, ..numbers };
    let mut sum: Option<ArrayLiteral> = None;
    for group in 0..count {
        let part = contract(
            groups.select(group..group + 1)?,
            row(rhs, group_dimension, group as i64)?,
            &numbers,
            result,
        )?;
        sum = Some(match sum {
            Some(sum) => elementwise::binary(BinaryKind::Add, sum, part)?,
            None => part,
        });
    }
    sum.ok_or_else(|| Error::invalid_argument("`ragged-dot` without groups"))
}

/// Index `at` of one dimension, which goes away.
fn row(operand: &ArrayLiteral, dimension: usize, at: i64) -> Result<ArrayLiteral> {
    let mut slices: Vec<SliceDimension> =
        operand.dims().iter().map(|&limit| SliceDimension { start: 0, limit, stride: 1 }).collect();
    slices[dimension] = SliceDimension { start: at, limit: at + 1, stride: 1 };
    let mut dims = operand.dims().clone();
    dims.remove(dimension);
    slice(operand, &slices)?.with_shape(&ArrayShape::new(operand.element_type(), dims))
}

struct Groups<'a> {
    lhs: &'a ArrayLiteral,
    ragged: usize,
    /// The dimensions of lhs that index group sizes, beside the groups themselves.
    prefix: &'a [i64],
    sizes: &'a ArrayLiteral,
}

impl Groups<'_> {
    /// `lhs` with zeros outside the named groups.
    fn select(&self, groups: std::ops::Range<usize>) -> Result<ArrayLiteral> {
        let sizes = to_i64s(self.sizes)?;
        let count = self.sizes.dims().last().copied().unwrap_or(0) as usize;
        let mut lhs = self.lhs.clone();
        let dims = lhs.dims().clone();
        let width = lhs.element_type().byte_width();
        let shared = self.sizes.dims().len() == 1;
        let mut index = vec![0i64; dims.len()];
        for element in lhs.bytes_mut().chunks_exact_mut(width) {
            let line = if shared {
                0
            } else {
                self.prefix.iter().fold(0, |line, &d| line * dims[d as usize] + index[d as usize])
            };
            let line = &sizes[line as usize * count..][..count];
            let start: i64 = line[..groups.start].iter().sum();
            let end: i64 = start + line[groups.clone()].iter().sum::<i64>();
            if !(start..end).contains(&index[self.ragged]) {
                element.fill(0);
            }
            for dimension in (0..dims.len()).rev() {
                index[dimension] += 1;
                if index[dimension] < dims[dimension] {
                    break;
                }
                index[dimension] = 0;
            }
        }
        Ok(lhs)
    }
}

/// The dot of both operands times their scales, computed in the type of the sums.
pub(crate) fn scaled_dot(
    [lhs, rhs, lhs_scale, rhs_scale]: [ArrayLiteral; 4],
    op: &ScaledDot,
    result: ElementType,
) -> Result<ArrayLiteral> {
    let term = term_type(result, lhs.element_type(), rhs.element_type());
    let numbers = Contraction {
        lhs_batch: &op.lhs_batch_dims,
        lhs_contracting: &op.lhs_contracting_dims,
        rhs_batch: &op.rhs_batch_dims,
        rhs_contracting: &op.rhs_contracting_dims,
    };
    contract(scaled(lhs, lhs_scale, term)?, scaled(rhs, rhs_scale, term)?, &numbers, result)
}

fn scaled(operand: ArrayLiteral, scale: ArrayLiteral, term: ElementType) -> Result<ArrayLiteral> {
    let operand = to_type(operand, term)?;
    let scale = to_type(scale, term)?;
    // Each scale is repeated over its block: dimension d becomes (blocks, size of a block).
    let mut blocks = Dims::new();
    let mut dimensions = Vec::new();
    for (d, &size) in operand.dims().iter().enumerate() {
        let count = if scale.dims().is_empty() { 1 } else { scale.dims()[d] };
        if count < 1 || size % count != 0 {
            return Err(Error::invalid_argument(format!(
                "the scales `{}` do not fit `{}`",
                scale.shape(),
                operand.shape()
            )));
        }
        dimensions.push(2 * d as i64);
        blocks.extend([count, size / count]);
    }
    if scale.dims().is_empty() {
        dimensions.clear();
    }
    let repeated = broadcast(&scale, &dimensions, &ArrayShape::new(term, blocks))?;
    elementwise::binary(
        BinaryKind::Multiply,
        operand.clone(),
        repeated.with_shape(operand.shape())?,
    )
}
