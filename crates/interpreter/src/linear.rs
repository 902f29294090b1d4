//! `cholesky` and `triangular-solve`, computed in double precision by the schoolbook.

use num_complex::Complex;
use rxla_base::{Error, Result};
use rxla_hlo::op::{Cholesky, TransposeKind, TriangularSolve};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType};

use crate::matmul::to_type;

type C = Complex<f64>;

/// The factor of each matrix of a batch; the other triangle is zero. A matrix that is not positive
/// definite gives NaN.
pub(crate) fn cholesky(operand: ArrayLiteral, op: &Cholesky) -> Result<ArrayLiteral> {
    let element_type = operand.element_type();
    let n = square(&operand)?;
    let mut matrices = to_type(operand, ElementType::C128)?;
    if n > 0 {
        for matrix in matrices.values_mut::<C>().chunks_exact_mut(n * n) {
            if !op.lower {
                transpose_conjugate(matrix, n);
            }
            factor(matrix, n);
            if !op.lower {
                transpose_conjugate(matrix, n);
            }
        }
    }
    back(matrices, element_type)
}

fn factor(matrix: &mut [C], n: usize) {
    for j in 0..n {
        let (above, below) = matrix.split_at_mut(j * n);
        let row = &mut below[..n];
        for k in 0..j {
            let other = &above[k * n..][..n];
            let dot: C = (0..k).map(|p| row[p] * other[p].conj()).sum();
            row[k] = (row[k] - dot) / other[k].re;
        }
        let square = row[j].re - row[..j].iter().map(|value| value.norm_sqr()).sum::<f64>();
        if square.is_nan() || square <= 0.0 {
            matrix.fill(C::new(f64::NAN, 0.0));
            return;
        }
        row[j] = C::new(square.sqrt(), 0.0);
        row[j + 1..].fill(C::default());
    }
}

fn transpose_conjugate(matrix: &mut [C], n: usize) {
    for i in 0..n {
        matrix[i * n + i] = matrix[i * n + i].conj();
        for j in 0..i {
            let (a, b) = (matrix[i * n + j].conj(), matrix[j * n + i].conj());
            matrix[i * n + j] = b;
            matrix[j * n + i] = a;
        }
    }
}

/// X with op(A) X = B, or X op(A) = B.
pub(crate) fn triangular_solve(
    a: ArrayLiteral,
    b: ArrayLiteral,
    op: &TriangularSolve,
) -> Result<ArrayLiteral> {
    let element_type = b.element_type();
    let n = square(&a)?;
    let dims = b.dims().clone();
    let [.., rows, columns] = dims[..] else {
        return Err(Error::invalid_argument(format!("`triangular-solve` of `{}`", b.shape())));
    };
    let (rows, columns) = (rows as usize, columns as usize);
    let side = if op.left_side { rows } else { columns };
    if side != n {
        return Err(Error::invalid_argument(format!(
            "`triangular-solve` of `{}` with `{}`",
            b.shape(),
            a.shape()
        )));
    }
    let a = to_type(a, ElementType::C128)?;
    let mut b = to_type(b, ElementType::C128)?;
    if b.is_empty() {
        return back(b, element_type);
    }
    // One column of unknowns per line, for contiguous access: X is solved transposed if it stands
    // on the left of A, where X op(A) = B means op(A)ᵀ Xᵀ = Bᵀ.
    let conjugate = op.transpose_a == TransposeKind::Adjoint;
    let transposed = (op.transpose_a != TransposeKind::NoTranspose) == op.left_side;
    let lower = op.lower != transposed;
    for (a, b) in a
        .values::<C>()
        .chunks_exact(n * n)
        .zip(b.values_mut::<C>().chunks_exact_mut(rows * columns))
    {
        let coefficient = |i: usize, j: usize| {
            let value = if transposed { a[j * n + i] } else { a[i * n + j] };
            if conjugate { value.conj() } else { value }
        };
        let lines = rows * columns / n;
        let at = |line: usize, i: usize| {
            if op.left_side { i * columns + line } else { line * columns + i }
        };
        for step in 0..n {
            let i = if lower { step } else { n - 1 - step };
            let solved = if lower { 0..i } else { i + 1..n };
            for k in solved {
                let factor = coefficient(i, k);
                for line in 0..lines {
                    let known = b[at(line, k)];
                    b[at(line, i)] -= factor * known;
                }
            }
            if !op.unit_diagonal {
                let diagonal = coefficient(i, i);
                (0..lines).for_each(|line| b[at(line, i)] /= diagonal);
            }
        }
    }
    back(b, element_type)
}

/// The size of the square matrices in the last two dimensions.
pub(crate) fn square(operand: &ArrayLiteral) -> Result<usize> {
    match operand.dims()[..] {
        [.., rows, columns] if rows == columns => Ok(rows as usize),
        _ => Err(Error::invalid_argument(format!(
            "`{}` where square matrices are due",
            operand.shape()
        ))),
    }
}

pub(crate) fn back(values: ArrayLiteral, to: ElementType) -> Result<ArrayLiteral> {
    if to.is_complex() {
        return to_type(values, to);
    }
    let real: Vec<f64> = values.values::<C>().iter().map(|value| value.re).collect();
    let shape = ArrayShape::new(ElementType::F64, values.dims().iter().copied());
    to_type(ArrayLiteral::from_values([real.len() as i64], &real).with_shape(&shape)?, to)
}
