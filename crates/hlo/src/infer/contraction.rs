//! Dots of every kind.

use smallvec::SmallVec;

use super::check::{
    Result, array, dimension, dimensions, ensure, error, promote, same_size, same_sizes, size_of,
    with_sizes,
};
use crate::op::{Dot, Precision, RaggedDot, ScaledDot};
use crate::{ArrayShape, Dims, ElementType, Shape, TypeClass};

/// The dimension numbers that all dots have.
struct Numbers<'a> {
    lhs_batch: &'a Dims,
    lhs_contracting: &'a Dims,
    rhs_batch: &'a Dims,
    rhs_contracting: &'a Dims,
}

type Indices = SmallVec<[usize; 4]>;

struct Checked {
    lhs_batch: Indices,
    lhs_contracting: Indices,
    rhs_batch: Indices,
    rhs_contracting: Indices,
}

fn side(
    batch: &Dims,
    contracting: &Dims,
    rank: usize,
    constraint: &str,
    name: &str,
) -> Result<(Indices, Indices)> {
    let mut all = batch.clone();
    all.extend_from_slice(contracting);
    let mut all = dimensions(
        &all,
        rank,
        &format!("{constraint} `{name}_batch_dims` and `{name}_contracting_dims`"),
    )?;
    let contracting = all.drain(batch.len()..).collect();
    Ok((all, contracting))
}

fn check(numbers: &Numbers<'_>, lhs: &ArrayShape, rhs: &ArrayShape) -> Result<Checked> {
    ensure!(
        numbers.lhs_batch.len() == numbers.rhs_batch.len(),
        "(C1) {} batch dimensions on the left, {} on the right",
        numbers.lhs_batch.len(),
        numbers.rhs_batch.len()
    );
    ensure!(
        numbers.lhs_contracting.len() == numbers.rhs_contracting.len(),
        "(C2) {} contracting dimensions on the left, {} on the right",
        numbers.lhs_contracting.len(),
        numbers.rhs_contracting.len()
    );
    let (lhs_batch, lhs_contracting) =
        side(numbers.lhs_batch, numbers.lhs_contracting, lhs.rank(), "(C3, C5, C6)", "lhs")?;
    let (rhs_batch, rhs_contracting) =
        side(numbers.rhs_batch, numbers.rhs_contracting, rhs.rank(), "(C4, C7, C8)", "rhs")?;
    for (kind, pairs) in [
        ("(C9) batch", lhs_batch.iter().zip(&rhs_batch)),
        ("(C10) contracting", lhs_contracting.iter().zip(&rhs_contracting)),
    ] {
        for (&l, &r) in pairs {
            ensure!(
                same_size(lhs.dims[l], rhs.dims[r]),
                "{kind} dimension {l} of `{lhs}` is {}, but {r} of `{rhs}` is {}",
                lhs.dims[l],
                rhs.dims[r]
            );
        }
    }
    Ok(Checked { lhs_batch, lhs_contracting, rhs_batch, rhs_contracting })
}

/// The type computed when none is declared. XLA multiplies any two types: compilers rewrite dots to
/// take narrow weights as they are, such as `bf16` times `s4`.
pub(super) fn product_type(lhs: ElementType, rhs: ElementType) -> ElementType {
    let rank = |t: ElementType| {
        let class = match t.class() {
            TypeClass::Pred => 0,
            TypeClass::Unsigned | TypeClass::Signed => 1,
            TypeClass::Float => 2,
            TypeClass::Complex => 3,
        };
        (class, t.bit_width())
    };
    promote(lhs, rhs).unwrap_or(if rank(lhs) >= rank(rhs) { lhs } else { rhs })
}

pub(super) fn precisions(given: &[Precision]) -> Result<()> {
    ensure!(
        given.is_empty() || given.len() >= 2,
        "(C11) `operand_precision` has {} entries, one for each operand is needed",
        given.len()
    );
    Ok(())
}

fn result(
    lhs: &ArrayShape,
    rhs: &ArrayShape,
    checked: &Checked,
    groups: Option<(i64, bool)>,
    skipped_on_right: Option<usize>,
) -> Result<Shape> {
    let element_type = product_type(lhs.element_type, rhs.element_type);
    let mut sizes: SmallVec<[(i64, bool); 8]> = SmallVec::new();
    sizes.extend(groups);
    sizes.extend(checked.lhs_batch.iter().map(|&d| size_of(lhs, d)));
    sizes.extend(
        (0..lhs.rank())
            .filter(|d| !checked.lhs_batch.contains(d) && !checked.lhs_contracting.contains(d))
            .map(|d| size_of(lhs, d)),
    );
    sizes.extend(
        (0..rhs.rank())
            .filter(|d| {
                !checked.rhs_batch.contains(d)
                    && !checked.rhs_contracting.contains(d)
                    && skipped_on_right != Some(*d)
            })
            .map(|d| size_of(rhs, d)),
    );
    Ok(with_sizes(element_type, sizes).into())
}

pub(super) fn dot(op: &Dot, lhs: &Shape, rhs: &Shape) -> Result<Shape> {
    let (lhs, rhs) = (array(lhs, "operand 0")?, array(rhs, "operand 1")?);
    let numbers = Numbers {
        lhs_batch: &op.lhs_batch_dims,
        lhs_contracting: &op.lhs_contracting_dims,
        rhs_batch: &op.rhs_batch_dims,
        rhs_contracting: &op.rhs_contracting_dims,
    };
    precisions(&op.operand_precision)?;
    result(lhs, rhs, &check(&numbers, lhs, rhs)?, None, None)
}

/// A scale is a scalar that stands for none, or has the operand's rank and sizes that divide the
/// operand's: one scale for each block.
pub(super) fn scaled_dot(op: &ScaledDot, operands: &[&Shape]) -> Result<Shape> {
    let operands = super::check::arrays(operands, "operand")?;
    let (lhs, rhs) = (operands[0], operands[1]);
    let numbers = Numbers {
        lhs_batch: &op.lhs_batch_dims,
        lhs_contracting: &op.lhs_contracting_dims,
        rhs_batch: &op.rhs_batch_dims,
        rhs_contracting: &op.rhs_contracting_dims,
    };
    precisions(&op.operand_precision)?;
    let checked = check(&numbers, lhs, rhs)?;
    for (operand, scale) in [(lhs, operands[2]), (rhs, operands[3])] {
        let fits = scale.rank() == 0
            || scale.rank() == operand.rank()
                && scale.dims.iter().zip(&operand.dims).all(|(&scale, &size)| {
                    scale == ArrayShape::UNBOUNDED
                        || size == ArrayShape::UNBOUNDED
                        || (scale == size)
                        || (scale > 0 && size % scale == 0)
                });
        ensure!(fits, "the scale `{scale}` does not divide its operand `{operand}` into blocks");
    }
    result(lhs, rhs, &checked, None, None)
}

pub(super) fn ragged_dot(op: &RaggedDot, operands: &[&Shape]) -> Result<Shape> {
    let operands = super::check::arrays(operands, "operand")?;
    let (lhs, rhs, sizes) = (operands[0], operands[1], operands[2]);
    let numbers = Numbers {
        lhs_batch: &op.lhs_batch_dims,
        lhs_contracting: &op.lhs_contracting_dims,
        rhs_batch: &op.rhs_batch_dims,
        rhs_contracting: &op.rhs_contracting_dims,
    };
    precisions(&op.operand_precision)?;
    let checked = check(&numbers, lhs, rhs)?;
    let ragged = super::check::one_dimension(&op.lhs_ragged_dims, lhs.rank(), "`lhs_ragged_dims`")?;
    let Some(groups_at) = sizes.rank().checked_sub(1) else {
        return Err(error("group sizes have to have a dimension, but are a scalar"));
    };
    ensure!(sizes.element_type.is_integer(), "group sizes have to be integers, but are `{sizes}`");
    let groups = size_of(sizes, groups_at);

    // What stands before the ragged dimension may have group sizes of its own.
    let free = (0..lhs.rank())
        .filter(|d| !checked.lhs_batch.contains(d) && !checked.lhs_contracting.contains(d));
    let free: Indices = free.collect();
    let before = |list: &Indices| list.iter().position(|&d| d == ragged);
    let (prefix, group_dims): (Indices, usize) = if let Some(at) = before(&checked.lhs_batch) {
        (checked.lhs_batch[..at].into(), 0)
    } else if let Some(at) = before(&checked.lhs_contracting) {
        let prefix = checked.lhs_batch.iter().chain(&checked.lhs_contracting[..at]);
        (prefix.copied().collect(), 0)
    } else {
        let at = before(&free).unwrap_or(0);
        (checked.lhs_batch.iter().chain(&free[..at]).copied().collect(), 1)
    };
    if sizes.rank() != 1 {
        let fits = sizes.rank() == prefix.len() + 1
            && prefix.iter().zip(&sizes.dims).all(|(&d, &size)| same_size(lhs.dims[d], size));
        ensure!(
            fits,
            "group sizes `{sizes}` do not fit what is before the ragged dimension of `{lhs}`"
        );
    }
    ensure!(
        op.rhs_group_dims.len() == group_dims,
        "`rhs_group_dims` has to name {group_dims} dimensions, but names {}",
        op.rhs_group_dims.len()
    );
    let mut skipped = None;
    if let Some(&number) = op.rhs_group_dims.first() {
        let group = dimension(number, rhs.rank(), "`rhs_group_dims`")?;
        ensure!(
            !checked.rhs_batch.contains(&group) && !checked.rhs_contracting.contains(&group),
            "the group dimension {group} is also a batch or contracting dimension"
        );
        ensure!(
            same_size(rhs.dims[group], groups.0),
            "there are {} groups, but dimension {group} of `{rhs}` is {}",
            groups.0,
            rhs.dims[group]
        );
        skipped = Some(group);
    }
    let contracting = checked.lhs_contracting.contains(&ragged);
    result(lhs, rhs, &checked, contracting.then_some(groups), skipped)
}

/// Whether a dot or convolution that computes `computed` may be declared to give `declared`: the
/// declared type is the one to accumulate in or to round to.
pub(super) fn preferred(computed: &Shape, declared: &Shape) -> bool {
    let (Shape::Array(computed), Shape::Array(declared)) = (computed, declared) else {
        return false;
    };
    let (from, to) = (computed.element_type, declared.element_type);
    same_sizes(computed, declared)
        && (from.class() == to.class()
            || from.is_integer() && (to.is_integer() || to.is_float())
            || from == ElementType::Pred)
}
