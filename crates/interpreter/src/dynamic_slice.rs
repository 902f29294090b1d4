//! `dynamic-slice` and `dynamic-update-slice`: regions whose start is known only at run time. A
//! start that would leave the array is moved so that the whole region lies inside.

use rxla_base::Result;
use rxla_hlo::{ArrayLiteral, ArrayShape};

use crate::movement::{to_i64, to_i64s};
use crate::strided::{View, copy};

/// `indices` are scalars, one per dimension, or one vector of them.
pub(crate) fn dynamic_slice(
    operand: &ArrayLiteral,
    indices: &[ArrayLiteral],
    sizes: &[i64],
) -> Result<ArrayLiteral> {
    let from = region(operand, indices, sizes)?;
    let shape = ArrayShape::new(operand.element_type(), sizes.iter().copied());
    let mut result = ArrayLiteral::zeros(&shape)?;
    copy(sizes, operand, &from, &mut result, &View::dense(sizes));
    Ok(result)
}

/// Writes `update` into the operand, in place if nobody else holds it.
pub(crate) fn dynamic_update_slice(
    mut operand: ArrayLiteral,
    update: &ArrayLiteral,
    indices: &[ArrayLiteral],
) -> Result<ArrayLiteral> {
    let to = region(&operand, indices, update.dims())?;
    if !update.is_empty() {
        copy(update.dims(), update, &View::dense(update.dims()), &mut operand, &to);
    }
    Ok(operand)
}

fn region(operand: &ArrayLiteral, indices: &[ArrayLiteral], sizes: &[i64]) -> Result<View> {
    let mut view = View::dense(operand.dims());
    let vector = match indices {
        [vector] if vector.dims().len() == 1 => Some(to_i64s(vector)?),
        _ => None,
    };
    for dimension in 0..sizes.len() {
        let start = match &vector {
            Some(starts) => starts[dimension],
            None => to_i64(&indices[dimension])?,
        };
        let last = (operand.dims()[dimension] - sizes[dimension]).max(0);
        view.start += start.clamp(0, last) as isize * view.strides[dimension];
    }
    Ok(view)
}
