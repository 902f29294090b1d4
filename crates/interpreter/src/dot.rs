//! `dot`: sums of products over contracted dimensions, for any batch and contracted dimensions and
//! element types.

use rxla_base::Result;
use rxla_hlo::op::Dot;
use rxla_hlo::{ArrayLiteral, ArrayShape, Dims, ElementType};

use crate::matmul::{multiply_add, multiply_add_transposed, term_type, to_type, with_term};
use crate::movement::transpose;

/// The result has batch dimensions, then the free ones of `lhs`, then those of `rhs`.
pub(crate) fn dot(
    lhs: ArrayLiteral,
    rhs: ArrayLiteral,
    op: &Dot,
    result: ElementType,
) -> Result<ArrayLiteral> {
    let numbers = Contraction {
        lhs_batch: &op.lhs_batch_dims,
        lhs_contracting: &op.lhs_contracting_dims,
        rhs_batch: &op.rhs_batch_dims,
        rhs_contracting: &op.rhs_contracting_dims,
    };
    contract(lhs, rhs, &numbers, result)
}

/// Which dimensions of two operands belong together.
pub(crate) struct Contraction<'a> {
    pub(crate) lhs_batch: &'a [i64],
    pub(crate) lhs_contracting: &'a [i64],
    pub(crate) rhs_batch: &'a [i64],
    pub(crate) rhs_contracting: &'a [i64],
}

/// [`dot`] with its dimension numbers apart.
pub(crate) fn contract(
    lhs: ArrayLiteral,
    rhs: ArrayLiteral,
    numbers: &Contraction<'_>,
    result: ElementType,
) -> Result<ArrayLiteral> {
    let term = term_type(result, lhs.element_type(), rhs.element_type());
    let lhs_free = others(lhs.dims().len(), &[numbers.lhs_batch, numbers.lhs_contracting]);
    let rhs_free = others(rhs.dims().len(), &[numbers.rhs_batch, numbers.rhs_contracting]);
    let dims: Dims = numbers
        .lhs_batch
        .iter()
        .chain(&lhs_free)
        .map(|&d| lhs.dims()[d as usize])
        .chain(rhs_free.iter().map(|&d| rhs.dims()[d as usize]))
        .collect();
    let batch = product(&lhs, numbers.lhs_batch);
    let m = product(&lhs, &lhs_free);
    let k = product(&lhs, numbers.lhs_contracting);
    let n = product(&rhs, &rhs_free);
    let mut sums = ArrayLiteral::zeros(&ArrayShape::new(term, dims))?;
    if sums.is_empty() || k == 0 {
        return to_type(sums, result);
    }
    let lhs = to_type(lhs, term)?;
    let rhs = to_type(rhs, term)?;
    let lhs = transpose(lhs, &[numbers.lhs_batch, &lhs_free, numbers.lhs_contracting].concat())?;
    let few_columns = n < 8;
    let order = if few_columns {
        [numbers.rhs_batch, &rhs_free, numbers.rhs_contracting].concat()
    } else {
        [numbers.rhs_batch, numbers.rhs_contracting, &rhs_free].concat()
    };
    let rhs = transpose(rhs, &order)?;
    with_term!(term, T => {
        let (a, b) = (lhs.values::<T>(), rhs.values::<T>());
        let c = sums.values_mut::<T>();
        for i in 0..batch {
            let a = &a[i * m * k..][..m * k];
            let b = &b[i * k * n..][..k * n];
            let c = &mut c[i * m * n..][..m * n];
            if few_columns {
                multiply_add_transposed(a, b, c, (m, k, n));
            } else {
                multiply_add(a, b, c, (m, k, n));
            }
        }
    });
    to_type(sums, result)
}

/// The dimensions below `rank` that none of `named` has, in order.
pub(crate) fn others(rank: usize, named: &[&[i64]]) -> Vec<i64> {
    (0..rank as i64).filter(|d| !named.iter().any(|named| named.contains(d))).collect()
}

fn product(operand: &ArrayLiteral, dimensions: &[i64]) -> usize {
    dimensions.iter().map(|&d| operand.dims()[d as usize] as usize).product()
}
