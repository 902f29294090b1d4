//! Custom calls of LAPACK, as JAX makes them for CPUs, for which the runtime has kernels of its own: `potrf`,
//! `getrf`, `trsm`, `geqrf`, `orgqr`, `syevd`, but for vectors of large matrices `gesdd`, and of small matrices `gehrd`,
//! `geev` and `gees`. All others go to whoever has registered their handlers.
//!
//! And those that XLA's own library of builders makes, which PyTorch/XLA and TensorFlow use: `Qr`,
//! `ProductOfElementaryHouseholderReflectors`, `Eigh`.
//!
//! Arrays are row-major here whatever layouts the call asks for, so nothing is transposed.

use std::str::FromStr;

use rxla_base::{Error, Result};
use rxla_hlo::op::{self, CustomCallApiVersion};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module, Shape};
use rxla_runtime::linear::{
    Cholesky, Diagonal, Eigen, Form, GeneralEigen, Hessenberg, Lu, Qr, Schur, Side, Singular,
    Triangle, TriangularSolve, Wanted,
};

use super::runtime::{TRIANGULAR_SOLVE, matrices, number};

/// Values of the largest matrices whose singular vectors the runtime computes. LAPACK goes about larger ones by dividing
/// them, which takes fewer steps, so that vectors are also nearer to each other's right angles.
const LARGEST_SVD: usize = 128;

/// Rows of the largest matrices that are not Hermitian whose eigenvalues the runtime computes: from 75 on LAPACK goes about
/// it with several shifts at once and in blocks, which suits large ones better.
const LARGEST_GENERAL: usize = 74;

/// Rows of the largest real matrices of which the runtime makes Schur forms. The vectors' signs tell how many steps
/// were taken, which for larger ones depends on how each number was rounded, and for complex ones on more than that:
/// only LAPACK gives what LAPACK gives, to which JAX's users, and its tests, compare it.
const LARGEST_SCHUR: usize = 4;

/// The kernel for a custom call and its description, if there is one.
pub(super) fn call(
    module: &Module,
    id: InstructionId,
    op: &op::CustomCall,
) -> Option<(&'static str, Result<Vec<i64>, Error>)> {
    let function = match op.custom_call_target.as_str() {
        target @ ("Qr" | "ProductOfElementaryHouseholderReflectors" | "Eigh") => target,
        target if op.api_version == Some(CustomCallApiVersion::TypedFfi) => {
            let (kind, function) =
                target.strip_prefix("lapack_")?.strip_suffix("_ffi")?.split_at_checked(1)?;
            matches!(kind, "s" | "d" | "c" | "z").then_some(function)?
        }
        _ => return None,
    };
    let config = module[id].info().map_or("", |info| info.backend_config.as_str());
    let letter = |name: &str| letter(config, name);
    let shape = |&operand: &InstructionId| module[operand].shape.as_array();
    let operands: Vec<&ArrayShape> =
        module[id].operands().iter().map(shape).collect::<Option<_>>()?;
    let results: Vec<&ArrayShape> = match &module[id].shape {
        Shape::Tuple(results) => results.iter().map(Shape::as_array).collect::<Option<_>>()?,
        other => vec![other.as_array()?],
    };
    // Nobody has checked that the shapes of a custom call fit each other.
    let numbers = |array: &ArrayShape, dims: &[i64]| {
        array.element_type == ElementType::S32 && array.dims[..] == *dims
    };
    Some(match (function, &operands[..], &results[..]) {
        ("potrf", &[operand], &[result, failures]) => {
            let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
            let fits = operand.same_dims(result) && numbers(failures, outer);
            let description = cholesky(operand, triangle(letter("uplo")?)?)?;
            ("rxla_potrf", fits.then_some(description)?.encode())
        }
        ("getrf", &[operand], &[result, pivots, failures]) => {
            let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
            let description = lu(operand)?;
            let least = description.rows.min(description.columns) as i64;
            let fits = operand.same_dims(result)
                && numbers(pivots, &[outer, &[least]].concat())
                && numbers(failures, outer);
            ("rxla_getrf", fits.then_some(description)?.encode())
        }
        ("trsm", &[operand, known], &[result]) => {
            let (batch, size, width) = matrices(operand)?;
            let (known_batch, rows, columns) = matrices(known)?;
            let side = match letter("side")? {
                b'L' => Side::Left,
                b'R' => Side::Right,
                _ => return None,
            };
            let (length, lines) =
                if side == Side::Left { (rows, columns) } else { (columns, rows) };
            let fits = known.same_dims(result)
                && known.element_type == operand.element_type
                && [size, size, batch] == [width, length, known_batch];
            let solve = TriangularSolve {
                element: number(operand.element_type)?,
                batch,
                size,
                lines,
                side,
                triangle: triangle(letter("uplo")?)?,
                form: match letter("trans_x")? {
                    b'N' => Form::Plain,
                    b'T' => Form::Transpose,
                    b'C' => Form::Adjoint,
                    _ => return None,
                },
                diagonal: match letter("diag")? {
                    b'N' => Diagonal::Stored,
                    b'U' => Diagonal::Unit,
                    _ => return None,
                },
            };
            (TRIANGULAR_SOLVE, fits.then_some(solve)?.encode())
        }
        ("geqrf" | "Qr", &[operand], &[result, taus]) => {
            let (batch, rows, columns) = matrices(operand)?;
            let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
            let reflections = rows.min(columns);
            let element = number(operand.element_type)?;
            let fits = operand.same_dims(result)
                && operand.element_type == result.element_type
                && operand.element_type == taus.element_type
                && taus.dims[..] == *[outer, &[reflections as i64]].concat();
            let description = Qr { element, batch, rows, columns, reflections };
            ("rxla_geqrf", fits.then_some(description)?.encode())
        }
        (
            "orgqr" | "ungqr" | "ProductOfElementaryHouseholderReflectors",
            &[operand, taus],
            &[result],
        ) => {
            let (batch, rows, columns) = matrices(operand)?;
            let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
            let reflections = usize::try_from(*taus.dims.last()?).ok()?;
            let element = number(operand.element_type)?;
            let fits = operand.same_dims(result)
                && operand.element_type == result.element_type
                && operand.element_type == taus.element_type
                && reflections <= columns
                && columns <= rows
                && taus.dims[..] == *[outer, &[reflections as i64]].concat();
            let description = Qr { element, batch, rows, columns, reflections };
            ("rxla_orgqr", fits.then_some(description)?.encode())
        }
        ("syevd" | "heevd", &[operand], &[result, values, failures]) => {
            let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
            let vectors = match letter("mode")? {
                b'V' => Wanted::Some,
                b'N' => Wanted::Nothing,
                _ => return None,
            };
            let triangle = triangle(letter("uplo")?)?;
            let description = eigen(operand, result, values, triangle, vectors)?;
            ("rxla_syevd", numbers(failures, outer).then_some(description)?.encode())
        }
        ("Eigh", &[operand], &[result, values]) => {
            // `lower,sort_eigenvalues,max_iter,tol`: they come sorted, and exactly.
            let triangle = match config.split(',').next()?.trim() {
                "1" => Triangle::Lower,
                "0" => Triangle::Upper,
                _ => return None,
            };
            let description = eigen(operand, result, values, triangle, Wanted::Some)?;
            ("rxla_eigh", description.encode())
        }
        ("gesdd", &[operand], &[copy, values, left, right, failures]) => {
            let (batch, rows, columns) = matrices(operand)?;
            let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
            let least = rows.min(columns);
            let (vectors, wide, high) = match letter("mode")? {
                b'A' => (Wanted::All, rows, columns),
                b'S' => (Wanted::Some, least, least),
                // The vectors' arrays are there, but nobody reads them.
                b'N' => (Wanted::Nothing, rows, columns),
                _ => return None,
            };
            if least == 0 || (vectors != Wanted::Nothing && least > LARGEST_SVD) {
                return None;
            }
            let vectors_fit = |array: &ArrayShape, sizes: [usize; 2]| {
                array.element_type == operand.element_type
                    && (vectors == Wanted::Nothing
                        || array.dims[..] == *[outer, &sizes.map(|size| size as i64)].concat())
            };
            let fits = operand.same_dims(copy)
                && operand.element_type == copy.element_type
                && values.element_type == operand.element_type.real_part()
                && values.dims[..] == *[outer, &[least as i64]].concat()
                && vectors_fit(left, [rows, wide])
                && vectors_fit(right, [high, columns])
                && numbers(failures, outer);
            let element = number(operand.element_type)?;
            let description = Singular { element, batch, rows, columns, vectors };
            ("rxla_gesdd", fits.then_some(description)?.encode())
        }
        ("gehrd", &[operand], &[result, taus, failures]) => {
            let (batch, size, outer) = general(operand)?;
            let count = (size as i64 - 1).max(0);
            let rows = [row(config, "low")?, row(config, "high")?];
            let fits = operand.same_dims(result)
                && rows[1] < size
                && operand.element_type == result.element_type
                && operand.element_type == taus.element_type
                && taus.dims[..] == *[outer, &[count]].concat()
                && numbers(failures, outer);
            let element = number(operand.element_type)?;
            let description = Hessenberg { element, batch, size, rows };
            ("rxla_gehrd", fits.then_some(description)?.encode())
        }
        ("gees", &[operand], &[form, vectors, real, imaginary, selected, failures]) => {
            let (batch, size, outer) = general(operand)?;
            let wanted = flag(letter("mode")?)?;
            // Values that are to be preferred would be named by a function of the caller's.
            let fits = size <= LARGEST_SCHUR
                && letter("sort")? == b'N'
                && [form, vectors].into_iter().all(|array| {
                    operand.same_dims(array) && operand.element_type == array.element_type
                })
                && are_values(&[real, imaginary], operand)
                && numbers(selected, outer)
                && numbers(failures, outer);
            let element = number(operand.element_type)?;
            let description = Schur { element, batch, size, vectors: wanted };
            ("rxla_gees", fits.then_some(description)?.encode())
        }
        ("geev", &[operand], &[ref values @ .., left, right, failures]) => {
            let (batch, size, outer) = general(operand)?;
            let wanted = [flag(letter("compute_left")?)?, flag(letter("compute_right")?)?];
            let function =
                if operand.element_type.is_complex() { "rxla_geev" } else { "rxla_geev_real" };
            let real = operand.element_type.real_part();
            let fits = are_values(values, operand)
                && [left, right].into_iter().all(|array| {
                    operand.same_dims(array)
                        && array.element_type.is_complex()
                        && array.element_type.real_part() == real
                })
                && numbers(failures, outer);
            let element = number(operand.element_type)?;
            let description =
                GeneralEigen { element, batch, size, left: wanted[0], right: wanted[1] };
            (function, fits.then_some(description)?.encode())
        }
        _ => return None,
    })
}

/// Matrices whose eigenvalues the runtime computes: how many, their size, and the sizes of the batch.
fn general(operand: &ArrayShape) -> Option<(usize, usize, &[i64])> {
    let (batch, size, columns) = matrices(operand)?;
    let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
    (size == columns && size <= LARGEST_GENERAL).then_some((batch, size, outer))
}

/// Whether these are the eigenvalues of matrices: complex numbers, or real parts and imaginary ones.
fn are_values(values: &[&ArrayShape], operand: &ArrayShape) -> bool {
    let dims = operand.dims.split_last().map_or(&[][..], |(_, dims)| dims);
    let fit =
        |array: &&ArrayShape| array.element_type == operand.element_type && array.dims[..] == *dims;
    values.len() == if operand.element_type.is_complex() { 1 } else { 2 } && values.iter().all(fit)
}

fn flag(letter: u8) -> Option<bool> {
    match letter {
        b'V' => Some(true),
        b'N' => Some(false),
        _ => None,
    }
}

fn cholesky(operand: &ArrayShape, triangle: Triangle) -> Option<Cholesky> {
    let (batch, size, columns) = matrices(operand)?;
    let element = number(operand.element_type)?;
    (size == columns).then_some(Cholesky { element, batch, size, triangle })
}

fn lu(operand: &ArrayShape) -> Option<Lu> {
    let (batch, rows, columns) = matrices(operand)?;
    Some(Lu { element: number(operand.element_type)?, batch, rows, columns })
}

fn eigen(
    operand: &ArrayShape,
    result: &ArrayShape,
    values: &ArrayShape,
    triangle: Triangle,
    vectors: Wanted,
) -> Option<Eigen> {
    let (batch, size, columns) = matrices(operand)?;
    let outer = operand.dims.get(..operand.rank().checked_sub(2)?)?;
    let fits = size == columns
        && operand.same_dims(result)
        && operand.element_type == result.element_type
        && values.element_type == operand.element_type.real_part()
        && values.dims[..] == *[outer, &[size as i64]].concat();
    let element = number(operand.element_type)?;
    fits.then_some(Eigen { element, batch, size, triangle, vectors })
}

fn triangle(letter: u8) -> Option<Triangle> {
    match letter {
        b'L' => Some(Triangle::Lower),
        b'U' => Some(Triangle::Upper),
        _ => None,
    }
}

/// The letter that an attribute is: `{uplo = 76 : ui8}`.
fn letter(config: &str, name: &str) -> Option<u8> {
    attribute(config, name, "ui8")
}

/// The row, from 0 on, that an attribute numbers from 1 on: `{low = 1 : i32}`.
fn row(config: &str, name: &str) -> Option<usize> {
    attribute::<usize>(config, name, "i32")?.checked_sub(1)
}

fn attribute<T: FromStr>(config: &str, name: &str, kind: &str) -> Option<T> {
    let entries = config.trim().strip_prefix('{')?.strip_suffix('}')?;
    entries.split(',').find_map(|entry| {
        let (entry_name, value) = entry.split_once('=')?;
        let (value, entry_kind) = value.split_once(':')?;
        let is_it = entry_name.trim() == name && entry_kind.trim() == kind;
        is_it.then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_found_by_name() {
        let config = "{diag = 85 : ui8, side = 76 : ui8,trans_x=78:ui8}";
        assert_eq!(letter(config, "diag"), Some(b'U'));
        assert_eq!(letter(config, "trans_x"), Some(b'N'));
        for (config, name) in [(config, "uplo"), ("{a = 1 : i64}", "a"), ("", "a"), ("{}", "a")] {
            assert_eq!(letter(config, name), None);
        }
    }
}
