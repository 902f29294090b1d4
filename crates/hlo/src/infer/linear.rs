//! Linear algebra, Fourier transforms and batch normalisation.

use super::check::{
    Result, array, arrays, dimension, ensure, error, promote, same_size, same_sizes, size_of,
    with_sizes,
};
use crate::op::{Fft, FftType, TriangularSolve};
use crate::{ArrayShape, ElementType, Shape, TypeClass};

fn float_or_complex(shape: &ArrayShape) -> Result<()> {
    ensure!(
        matches!(shape.element_type.class(), TypeClass::Float | TypeClass::Complex),
        "operands have to be floats or complex numbers, but one is `{shape}`"
    );
    Ok(())
}

pub(super) fn cholesky(a: &Shape) -> Result<Shape> {
    let a = array(a, "the operand")?;
    float_or_complex(a)?;
    let [.., rows, columns] = a.dims[..] else {
        return Err(error(format!("(C2) the operand has to be matrices, but is `{a}`")));
    };
    ensure!(same_size(rows, columns), "(C3) the matrices of `{a}` are not square");
    Ok(a.without_layout().into())
}

pub(super) fn triangular_solve(op: &TriangularSolve, a: &Shape, b: &Shape) -> Result<Shape> {
    let (a, b) = (array(a, "operand 0")?, array(b, "operand 1")?);
    float_or_complex(a)?;
    ensure!(
        a.element_type == b.element_type,
        "(C1) operands differ in element type: `{a}` and `{b}`"
    );
    let ([a_batch @ .., rows, columns], [b_batch @ .., b_rows, b_columns]) =
        (&a.dims[..], &b.dims[..])
    else {
        return Err(error(format!("(C2) operands have to be matrices, but are `{a}` and `{b}`")));
    };
    ensure!(a.rank() == b.rank(), "(C2) operands differ in rank: `{a}` and `{b}`");
    ensure!(
        a_batch.iter().zip(b_batch).all(|(&a, &b)| same_size(a, b)),
        "(C3) operands differ in batch dimensions: `{a}` and `{b}`"
    );
    let shared = if op.left_side { *b_rows } else { *b_columns };
    ensure!(
        same_size(*rows, *columns) && same_size(*columns, shared),
        "(C3) the matrices of `{a}` do not fit those of `{b}`"
    );
    Ok(b.without_layout().into())
}

pub(super) fn fft(op: &Fft, operand: &Shape) -> Result<Shape> {
    let operand = array(operand, "the operand")?;
    let lengths = &op.fft_length[..];
    ensure!(
        (1..=3).contains(&lengths.len()),
        "(C3) `fft_length` has {} entries, not 1 to 3",
        lengths.len()
    );
    ensure!(lengths.iter().all(|&length| length >= 0), "`fft_length` has a negative entry");
    let Some(first) = operand.rank().checked_sub(lengths.len()) else {
        return Err(error(format!(
            "(C1) `fft_length` has {} entries, but the operand is `{operand}`",
            lengths.len()
        )));
    };
    let inner = &operand.dims[first..];
    let last = operand.rank() - 1;
    let last_length = lengths[lengths.len() - 1];
    let half = last_length / 2 + 1;
    let complex = operand.element_type.is_complex();
    let with_last = |element_type: ElementType, size: i64| {
        let dynamic =
            operand.is_dynamic_dimension(last) && operand.dims[last] != ArrayShape::UNBOUNDED;
        let mut sizes: Vec<_> = (0..last).map(|d| size_of(operand, d)).collect();
        sizes.push((size, dynamic));
        Shape::Array(with_sizes(element_type, sizes))
    };
    match op.fft_type {
        FftType::Fft | FftType::Ifft => {
            ensure!(complex, "(C2) {} takes complex numbers, not `{operand}`", op.fft_type);
            Ok(operand.without_layout().into())
        }
        FftType::Rfft => {
            let Some(result) = operand.element_type.complex_of() else {
                return Err(error(format!("(C2) RFFT takes `f32` or `f64`, not `{operand}`")));
            };
            ensure!(
                inner.iter().zip(lengths).all(|(&size, &length)| same_size(size, length)),
                "(C4) `fft_length` is {lengths:?}, but the operand is `{operand}`"
            );
            // A transform of nothing is nothing.
            Ok(with_last(result, if last_length == 0 { 0 } else { half }))
        }
        FftType::Irfft => {
            ensure!(complex, "(C2) IRFFT takes complex numbers, not `{operand}`");
            let outer = &inner[..inner.len() - 1];
            ensure!(
                outer.iter().zip(lengths).all(|(&size, &length)| same_size(size, length)),
                "(C4) `fft_length` is {lengths:?}, but the operand is `{operand}`"
            );
            let size = operand.dims[last];
            ensure!(
                same_size(size, half) || (size == 0 && last_length == 0),
                "(C5) the last dimension of `{operand}` has to be {half} for a length of \
                 {last_length}"
            );
            Ok(with_last(operand.element_type.real_part(), last_length))
        }
    }
}

/// The operand of a batch normalisation with checked vectors of one entry a feature.
fn normalised<'a>(
    operands: &[&'a Shape],
    feature_index: i64,
) -> Result<(&'a ArrayShape, ArrayShape)> {
    let operands = arrays(operands, "operand")?;
    let operand = operands[0];
    let feature = dimension(feature_index, operand.rank(), "(C1) `feature_index`")?;
    ensure!(operand.element_type.is_float(), "the operand has to be floats, but is `{operand}`");
    let features = with_sizes(operand.element_type, [size_of(operand, feature)]);
    for (number, vector) in operands.iter().enumerate().skip(1) {
        if vector.rank() == operand.rank() && operand.rank() != 1 {
            // The gradient, which the caller compares with the operand.
            continue;
        }
        ensure!(
            promote(vector.element_type, operand.element_type).is_some(),
            "(C2) operand {number} is `{vector}`, another element type than `{operand}`"
        );
        ensure!(
            same_sizes(vector, &features),
            "(C3) operand {number} is `{vector}`, but `{operand}` has {} features",
            features.dims[0]
        );
    }
    Ok((operand, features))
}

pub(super) fn batch_norm_training(operands: &[&Shape], feature_index: i64) -> Result<Shape> {
    let (operand, features) = normalised(operands, feature_index)?;
    let features = Shape::Array(features);
    Ok(Shape::tuple([operand.without_layout().into(), features.clone(), features]))
}

pub(super) fn batch_norm_inference(operands: &[&Shape], feature_index: i64) -> Result<Shape> {
    let (operand, _) = normalised(operands, feature_index)?;
    Ok(operand.without_layout().into())
}

pub(super) fn batch_norm_grad(operands: &[&Shape], feature_index: i64) -> Result<Shape> {
    let (operand, features) = normalised(&operands[..4], feature_index)?;
    let gradient = array(operands[4], "operand 4")?;
    ensure!(
        promote(gradient.element_type, operand.element_type).is_some()
            && same_sizes(gradient, operand),
        "(C3) the gradient is `{gradient}`, but the operand is `{operand}`"
    );
    let features = Shape::Array(features);
    Ok(Shape::tuple([operand.without_layout().into(), features.clone(), features]))
}
