//! The decompositions that XLA's library of builders leaves to custom calls, which PyTorch/XLA and
//! TensorFlow make: `Qr`, `ProductOfElementaryHouseholderReflectors` and `Eigh`, in double precision by
//! the schoolbook.

use num_complex::Complex;
use rxla_base::{Error, Result};
use rxla_hlo::{ArrayLiteral, ArrayShape, ElementType, Literal};

use crate::lift::take;
use crate::linear::{back, square};
use crate::matmul::to_type;

type C = Complex<f64>;

/// The upper triangle of each matrix of a batch with its reflections below the diagonal, and the factor
/// `tau` of each: what LAPACK calls `geqrf`.
pub(crate) fn qr(operands: Vec<ArrayLiteral>) -> Result<Literal> {
    let [operand] = take(operands)?;
    let element_type = operand.element_type();
    let [rows, columns] = sizes(&operand)?;
    let count = rows.min(columns);
    let mut dims = operand.dims().to_vec();
    dims.truncate(dims.len() - 2);
    dims.push(count as i64);
    let mut taus = ArrayLiteral::zeros(&ArrayShape::new(ElementType::C128, dims))?;
    let mut matrices = to_type(operand, ElementType::C128)?;
    if count > 0 {
        let each = matrices.values_mut::<C>().chunks_exact_mut(rows * columns);
        for (matrix, taus) in each.zip(taus.values_mut::<C>().chunks_exact_mut(count)) {
            for (step, tau) in taus.iter_mut().enumerate() {
                *tau = reflect(matrix, rows, columns, step);
            }
        }
    }
    let (matrices, taus) = (back(matrices, element_type)?, back(taus, element_type)?);
    Ok(Literal::Tuple(vec![matrices.into(), taus.into()]))
}

/// Makes zeros below the diagonal of a column by a reflection, which is stored there, and applies its
/// adjoint to the columns after it. Gives `tau` of I - tau v v*, where v begins with 1.
fn reflect(matrix: &mut [C], rows: usize, columns: usize, step: usize) -> C {
    let at = |row: usize, column: usize| row * columns + column;
    let first = matrix[at(step, step)];
    let below = (step + 1..rows).map(|row| matrix[at(row, step)].norm()).fold(0.0, f64::hypot);
    if below == 0.0 && first.im == 0.0 {
        return C::default();
    }
    let length = first.norm().hypot(below).copysign(-first.re);
    let tau = (length - first) / length;
    for row in step + 1..rows {
        matrix[at(row, step)] /= first - length;
    }
    matrix[at(step, step)] = length.into();
    for column in step + 1..columns {
        let along: C = (step + 1..rows)
            .map(|row| matrix[at(row, step)].conj() * matrix[at(row, column)])
            .sum();
        let by = tau.conj() * (matrix[at(step, column)] + along);
        matrix[at(step, column)] -= by;
        for row in step + 1..rows {
            let part = by * matrix[at(row, step)];
            matrix[at(row, column)] -= part;
        }
    }
    tau
}

/// The first columns of the product of the reflections that [`qr`] gives.
pub(crate) fn product_of_reflections(operands: Vec<ArrayLiteral>) -> Result<ArrayLiteral> {
    let [operand, taus] = take(operands)?;
    let element_type = operand.element_type();
    let [rows, columns] = sizes(&operand)?;
    let count = taus.dims().last().map_or(0, |&count| count as usize);
    let outer = operand.dims().len() - 2;
    let fits = taus.dims().len() == outer + 1 && taus.dims()[..outer] == operand.dims()[..outer];
    if !fits || count > columns || columns > rows {
        return Err(Error::invalid_argument(format!(
            "`ProductOfElementaryHouseholderReflectors` of `{}` with `{}`: as many factors as \
             columns at most, and no more columns than rows",
            operand.shape(),
            taus.shape()
        )));
    }
    let mut matrices = to_type(operand, ElementType::C128)?;
    let taus = to_type(taus, ElementType::C128)?;
    if matrices.is_empty() {
        return back(matrices, element_type);
    }
    let each = matrices.values_mut::<C>().chunks_exact_mut(rows * columns);
    for (number, matrix) in each.enumerate() {
        let reflections = matrix.to_vec();
        matrix.copy_from_slice(&identity(rows, columns));
        for step in (0..count).rev() {
            let tau = taus.values::<C>()[number * count + step];
            let part = |row: usize| {
                if row == step { C::from(1.0) } else { reflections[row * columns + step] }
            };
            for column in 0..columns {
                let along: C =
                    (step..rows).map(|row| part(row).conj() * matrix[row * columns + column]).sum();
                for row in step..rows {
                    matrix[row * columns + column] -= tau * along * part(row);
                }
            }
        }
    }
    back(matrices, element_type)
}

/// The eigenvectors, in columns, and the eigenvalues in ascending order, of Hermitian matrices, of which
/// the triangle is read that `config` names: `lower,sort_eigenvalues,max_iter,tol`. NaN where an element
/// is not finite.
pub(crate) fn eigh(operands: Vec<ArrayLiteral>, config: &str) -> Result<Literal> {
    let [operand] = take(operands)?;
    let lower = match config.split(',').next().map(str::trim) {
        Some("1") => true,
        Some("0") => false,
        _ => {
            return Err(Error::invalid_argument(format!(
                "`Eigh` with the configuration `{config}`: `1,…` or `0,…` is due, the triangle"
            )));
        }
    };
    let element_type = operand.element_type();
    let size = square(&operand)?;
    let mut dims = operand.dims().to_vec();
    dims.pop();
    let mut vectors = to_type(operand, ElementType::C128)?;
    let mut values = ArrayLiteral::zeros(&ArrayShape::new(ElementType::C128, dims))?;
    if size > 0 {
        let each = vectors.values_mut::<C>().chunks_exact_mut(size * size);
        for (matrix, values) in each.zip(values.values_mut::<C>().chunks_exact_mut(size)) {
            for i in 0..size {
                matrix[i * size + i].im = 0.0;
                for j in 0..i {
                    let (kept, other) = if lower { ((i, j), (j, i)) } else { ((j, i), (i, j)) };
                    matrix[other.0 * size + other.1] = matrix[kept.0 * size + kept.1].conj();
                }
            }
            diagonalize(matrix, size, values);
        }
    }
    let values = back(values, element_type.real_part())?;
    Ok(Literal::Tuple(vec![back(vectors, element_type)?.into(), values.into()]))
}

/// Jacobi's method: turns each pair of rows and columns until nothing is left beside the diagonal.
/// Puts the vectors in the matrix's place.
fn diagonalize(matrix: &mut [C], size: usize, values: &mut [C]) {
    if matrix.iter().any(|value| !value.re.is_finite() || !value.im.is_finite()) {
        matrix.fill(C::new(f64::NAN, 0.0));
        values.fill(C::new(f64::NAN, 0.0));
        return;
    }
    let mut turned = identity(size, size);
    let scale = matrix.iter().map(|value| value.norm()).fold(0.0, f64::max);
    // Each sweep squares what is left, so that few are needed; the bound is for what rounding leaves.
    for _ in 0..60 {
        let mut left = 0.0f64;
        for p in 0..size {
            for q in p + 1..size {
                let beside = matrix[p * size + q];
                let length = beside.norm();
                left = left.max(length);
                if length <= f64::MIN_POSITIVE {
                    continue;
                }
                // The angle that makes zero of the element, with its phase taken off first.
                let apart = (matrix[q * size + q].re - matrix[p * size + p].re) / (2.0 * length);
                let tangent = 1f64.copysign(apart) / (apart.abs() + apart.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = beside / length * (tangent * cosine);
                for row in 0..size {
                    for array in [&mut *matrix, &mut turned] {
                        let (a, b) = (array[row * size + p], array[row * size + q]);
                        array[row * size + p] = a * cosine - b * sine.conj();
                        array[row * size + q] = a * sine + b * cosine;
                    }
                }
                for column in 0..size {
                    let (a, b) = (matrix[p * size + column], matrix[q * size + column]);
                    matrix[p * size + column] = a * cosine - b * sine;
                    matrix[q * size + column] = a * sine.conj() + b * cosine;
                }
            }
        }
        if left <= scale * 1e-17 {
            break;
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| matrix[a * size + a].re.total_cmp(&matrix[b * size + b].re));
    for (to, &from) in order.iter().enumerate() {
        values[to] = matrix[from * size + from].re.into();
    }
    for row in 0..size {
        for (to, &from) in order.iter().enumerate() {
            matrix[row * size + to] = turned[row * size + from];
        }
    }
}

fn identity(rows: usize, columns: usize) -> Vec<C> {
    let mut matrix = vec![C::default(); rows * columns];
    (0..rows.min(columns)).for_each(|i| matrix[i * columns + i] = C::from(1.0));
    matrix
}

fn sizes(operand: &ArrayLiteral) -> Result<[usize; 2]> {
    match operand.dims()[..] {
        [.., rows, columns] => Ok([rows as usize, columns as usize]),
        _ => Err(Error::invalid_argument(format!("`{}` where matrices are due", operand.shape()))),
    }
}
