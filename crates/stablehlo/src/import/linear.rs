//! Fourier transforms, Cholesky factors and triangular systems.

use rxla_hlo::Shape;
use rxla_hlo::op::{Cholesky, Fft, FftType, TransposeKind, TriangularSolve};

use super::attributes::View;
use super::importer::{Importer, Result};
use crate::mlir::{self, EnumValue};

/// `stablehlo.fft`.
pub(super) fn fft<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let EnumValue::FftType(fft_type) = view.enumeration("fft_type")? else {
        return Err(view.wrong("fft_type", "a kind of Fourier transform"));
    };
    let fft_type = match fft_type {
        mlir::FftType::Fft => FftType::Fft,
        mlir::FftType::Ifft => FftType::Ifft,
        mlir::FftType::Rfft => FftType::Rfft,
        mlir::FftType::Irfft => FftType::Irfft,
    };
    let fft_length = view.integers("fft_length")?;
    let mut dims = cx.array(view, operand)?.dims;
    match (fft_type, dims.last_mut(), fft_length.last()) {
        (FftType::Rfft, Some(last), Some(&length)) => {
            *last = length.max(0) / 2 + i64::from(length > 0)
        }
        (FftType::Irfft, Some(last), Some(&length)) => *last = length,
        _ => {}
    }
    let shape = cx.declared(view, 0, |_| Some(dims))?;
    let instruction = cx.add(Fft { fft_type, fft_length }, shape, &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.cholesky`.
pub(super) fn cholesky<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let shape: Shape = cx.array(view, operand)?.into();
    let op = Cholesky { lower: view.bool_or("lower", false)? };
    let instruction = cx.add(op, shape, &[operand]);
    cx.finish(view, instruction)
}

/// `stablehlo.triangular_solve`.
pub(super) fn triangular_solve<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [matrix, right] = cx.exactly(view)?;
    let EnumValue::Transpose(transpose) = view.enumeration("transpose_a")? else {
        return Err(view.wrong("transpose_a", "a kind of transposition"));
    };
    let op = TriangularSolve {
        left_side: view.bool("left_side")?,
        lower: view.bool("lower")?,
        unit_diagonal: view.bool("unit_diagonal")?,
        transpose_a: match transpose {
            mlir::Transpose::NoTranspose => TransposeKind::NoTranspose,
            mlir::Transpose::Transpose => TransposeKind::Transpose,
            mlir::Transpose::Adjoint => TransposeKind::Adjoint,
            mlir::Transpose::Invalid => {
                return Err(view.wrong("transpose_a", "a valid kind of transposition"));
            }
        },
    };
    let shape: Shape = cx.array(view, right)?.into();
    let instruction = cx.add(op, shape, &[matrix, right]);
    cx.finish(view, instruction)
}
