//! `scan`: a computation run along one dimension, with values carried from step to step.

use rxla_base::{Error, Result};
use rxla_hlo::op::{Scan, SliceDimension};
use rxla_hlo::{ArrayLiteral, ArrayShape, Literal, Shape};

use crate::context::Context;
use crate::dispatch::{array_shape, arrays, one_dimension};
use crate::movement::slice;
use crate::strided::{View, copy};

/// Operands are inputs, then carries; results are outputs stacked along the dimension, then the
/// final carries.
pub(crate) fn scan(
    cx: &Context<'_>,
    mut operands: Vec<Literal>,
    op: &Scan,
    shape: &Shape,
) -> Result<Literal> {
    let dimension = one_dimension(&op.dimensions)?;
    let carry_count = usize::try_from(op.num_carries).unwrap_or(usize::MAX);
    if carry_count > operands.len() {
        return Err(Error::invalid_argument(format!(
            "`scan` of {} operands cannot have {carry_count} carries",
            operands.len()
        )));
    }
    let mut carries = operands.split_off(operands.len() - carry_count);
    let inputs = arrays(operands)?;
    let result_shapes = match shape {
        Shape::Tuple(elements) => elements.iter().collect(),
        single @ (Shape::Array(_) | Shape::Buffer(_) | Shape::Token | Shape::Opaque) => {
            vec![single]
        }
    };
    let mut outputs = result_shapes[..result_shapes.len() - carry_count]
        .iter()
        .map(|shape| ArrayLiteral::zeros(&array_shape(shape)?.without_layout()))
        .collect::<Result<Vec<_>>>()?;
    let steps = match (inputs.first(), outputs.first()) {
        (Some(array), _) | (None, Some(array)) => array.dims()[dimension],
        (None, None) => 0,
    };
    for step in 0..steps {
        cx.check_limits()?;
        let at = if op.is_reverse { steps - 1 - step } else { step };
        let mut arguments = Vec::with_capacity(inputs.len() + carry_count);
        for input in &inputs {
            arguments.push(Literal::Array(row(input, dimension, at)?));
        }
        arguments.append(&mut carries);
        let mut results = match cx.run(op.to_apply, arguments)? {
            Literal::Tuple(elements) => elements,
            single => vec![single],
        };
        carries = results.split_off(outputs.len().min(results.len()));
        for (output, value) in outputs.iter_mut().zip(arrays(results)?) {
            let mut to = View::dense(output.dims());
            to.start = at as isize * to.strides[dimension];
            to.strides.remove(dimension);
            copy(value.dims(), &value, &View::dense(value.dims()), output, &to);
        }
    }
    let mut results: Vec<Literal> = outputs.into_iter().map(Literal::Array).collect();
    results.append(&mut carries);
    Ok(match shape {
        Shape::Tuple(_) => Literal::Tuple(results),
        _ => results.swap_remove(0),
    })
}

/// Index `at` of one dimension, without that dimension.
fn row(input: &ArrayLiteral, dimension: usize, at: i64) -> Result<ArrayLiteral> {
    let mut slices: Vec<SliceDimension> =
        input.dims().iter().map(|&limit| SliceDimension { start: 0, limit, stride: 1 }).collect();
    slices[dimension] = SliceDimension { start: at, limit: at + 1, stride: 1 };
    let mut dims = input.dims().clone();
    dims.remove(dimension);
    slice(input, &slices)?.with_shape(&ArrayShape::new(input.element_type(), dims))
}
