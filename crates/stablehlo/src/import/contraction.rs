//! Dots, convolutions, FFT, Cholesky and triangular solve.

use rxla_hlo::op::{
    Cholesky, Convolution, ConvolutionDimensions, Dot, DotAlgorithm, Fft, FftType, GroupCount,
    Precision, TransposeKind, TriangularSolve,
};
use rxla_hlo::{ArrayShape, Dims, InstructionId, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::reductions::{padding_pairs, window, windowed_dims};
use super::shapes::check_dimension;
use crate::mlir::{self, Attribute, DotDimensionNumbers, EnumValue, Float, Type};

/// `precision_config`: one per operand, or nothing when all are the default.
pub(super) fn precisions(view: View<'_>) -> Result<Vec<Precision>> {
    let Some(list) = view.get("precision_config") else { return Ok(Vec::new()) };
    let wrong = || view.wrong("precision_config", "a list of precisions");
    let mut precisions = Vec::new();
    for item in list.as_array().ok_or_else(wrong)? {
        let Attribute::Enum(attribute) = item else { return Err(wrong()) };
        let EnumValue::Precision(precision) = attribute.value else { return Err(wrong()) };
        precisions.push(match precision {
            mlir::Precision::Default => Precision::Default,
            mlir::Precision::High => Precision::High,
            mlir::Precision::Highest => Precision::Highest,
        });
    }
    if precisions.iter().all(|&precision| precision == Precision::Default) {
        precisions.clear();
    }
    Ok(precisions)
}

/// The algorithm asked of a dot, one of those that HLO names.
fn algorithm(view: View<'_>) -> Result<Option<DotAlgorithm>> {
    let algorithm = match view.get("algorithm") {
        None => return Ok(None),
        Some(Attribute::DotAlgorithm(algorithm)) => algorithm,
        Some(_) => return Err(view.wrong("algorithm", "a dot algorithm")),
    };
    let name = |ty: &Type| match ty {
        Type::Float(float) => Some(*float),
        _ => None,
    };
    let is_f8 = |float: Option<Float>| {
        matches!(
            float,
            Some(
                Float::F8E5M2
                    | Float::F8E4M3
                    | Float::F8E4M3FN
                    | Float::F8E5M2FNUZ
                    | Float::F8E4M3FNUZ
                    | Float::F8E4M3B11FNUZ
                    | Float::F8E3M4
            )
        )
    };
    let (left, right) = (name(&algorithm.lhs_precision_type), name(&algorithm.rhs_precision_type));
    let sum = name(&algorithm.accumulation_type);
    let components = (algorithm.lhs_component_count, algorithm.rhs_component_count);
    let passes = algorithm.num_primitive_operations;
    let imprecise = algorithm.allow_imprecise_accumulation;
    let known = match (left, sum, components, passes, imprecise) {
        (_, Some(Float::F32), (1, 1), 1, imprecise) if is_f8(left) && is_f8(right) => {
            Some(match imprecise {
                false => DotAlgorithm::AnyF8AnyF8F32,
                true => DotAlgorithm::AnyF8AnyF8F32FastAccum,
            })
        }
        _ if left != right => None,
        (Some(Float::F16), Some(Float::F16), (1, 1), 1, false) => Some(DotAlgorithm::F16F16F16),
        (Some(Float::F16), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::F16F16F32),
        (Some(Float::BF16), Some(Float::BF16), (1, 1), 1, false) => {
            Some(DotAlgorithm::Bf16Bf16Bf16)
        }
        (Some(Float::BF16), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::Bf16Bf16F32),
        (Some(Float::BF16), Some(Float::F32), (1, 1), 3, false) => {
            Some(DotAlgorithm::Bf16Bf16F32X3)
        }
        (Some(Float::BF16), Some(Float::F32), (1, 1), 6, false) => {
            Some(DotAlgorithm::Bf16Bf16F32X6)
        }
        (Some(Float::BF16), Some(Float::F32), (1, 1), 9, false) => {
            Some(DotAlgorithm::Bf16Bf16F32X9)
        }
        (Some(Float::TF32), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::Tf32Tf32F32),
        (Some(Float::TF32), Some(Float::F32), (1, 1), 3, false) => {
            Some(DotAlgorithm::Tf32Tf32F32X3)
        }
        (Some(Float::F32), Some(Float::F32), (1, 1), 1, false) => Some(DotAlgorithm::F32F32F32),
        (Some(Float::F64), Some(Float::F64), (1, 1), 1, false) => Some(DotAlgorithm::F64F64F64),
        _ => None,
    };
    known.map(Some).ok_or_else(|| view.unimplemented("this `algorithm`, which HLO has no name for"))
}

/// Sizes of a dot: batch, then what is left of the left and of the right.
fn dot_dims(
    view: View<'_>,
    left: &ArrayShape,
    right: &ArrayShape,
    numbers: &DotDimensionNumbers,
) -> Result<Dims> {
    let check = |name: &str, dimensions: &[i64], rank: usize| {
        dimensions.iter().try_for_each(|&d| check_dimension(view, name, d, rank).map(drop))
    };
    check("lhs dimensions", &numbers.lhs_batching_dimensions, left.rank())?;
    check("lhs dimensions", &numbers.lhs_contracting_dimensions, left.rank())?;
    check("rhs dimensions", &numbers.rhs_batching_dimensions, right.rank())?;
    check("rhs dimensions", &numbers.rhs_contracting_dimensions, right.rank())?;
    let free = |array: &ArrayShape, batch: &[i64], contracting: &[i64]| -> Vec<i64> {
        (0..array.rank() as i64)
            .filter(|d| !batch.contains(d) && !contracting.contains(d))
            .map(|d| array.dims[d as usize])
            .collect()
    };
    let batch = numbers.lhs_batching_dimensions.iter().map(|&d| left.dims[d as usize]);
    Ok(batch
        .chain(free(left, &numbers.lhs_batching_dimensions, &numbers.lhs_contracting_dimensions))
        .chain(free(right, &numbers.rhs_batching_dimensions, &numbers.rhs_contracting_dimensions))
        .collect())
}

/// The shape of a dot: the declared one, completed from the operands.
fn dot_shape<'a>(
    cx: &Importer<'a>,
    view: View<'a>,
    left: InstructionId,
    right: InstructionId,
    numbers: &DotDimensionNumbers,
) -> Result<Shape> {
    let (left_array, right_array) = (cx.array(view, left)?, cx.array(view, right)?);
    let dims = dot_dims(view, &left_array, &right_array, numbers)?;
    cx.declared(view, 0, |_| Some(dims))
}

/// A dot of two arrays with a result of this shape.
pub(super) fn dot_of<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    left: InstructionId,
    right: InstructionId,
    numbers: &DotDimensionNumbers,
    shape: Shape,
) -> Result<InstructionId> {
    let op = Dot {
        lhs_batch_dims: Dims::from_slice(&numbers.lhs_batching_dimensions),
        lhs_contracting_dims: Dims::from_slice(&numbers.lhs_contracting_dimensions),
        rhs_batch_dims: Dims::from_slice(&numbers.rhs_batching_dimensions),
        rhs_contracting_dims: Dims::from_slice(&numbers.rhs_contracting_dimensions),
        operand_precision: precisions(view)?,
        algorithm: algorithm(view)?,
    };
    Ok(cx.add(Box::new(op), shape, &[left, right]))
}

/// `stablehlo.dot_general`.
pub(super) fn dot_general<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [left, right] = cx.exactly(view)?;
    let Attribute::DotDimensionNumbers(numbers) = view.require("dot_dimension_numbers")? else {
        return Err(view.wrong("dot_dimension_numbers", "a dot's dimension numbers"));
    };
    let shape = dot_shape(cx, view, left, right, numbers)?;
    let instruction = dot_of(cx, view, left, right, numbers, shape)?;
    cx.finish(view, instruction)
}

/// `stablehlo.dot`: last dimension of the left with first of the right.
pub(super) fn dot<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [left, right] = cx.exactly(view)?;
    let rank = cx.array(view, left)?.rank();
    if rank == 0 || cx.array(view, right)?.rank() == 0 {
        return Err(view.error("takes vectors and matrices, not scalars"));
    }
    let numbers = DotDimensionNumbers {
        lhs_contracting_dimensions: vec![rank as i64 - 1],
        rhs_contracting_dimensions: vec![0],
        ..DotDimensionNumbers::default()
    };
    let shape = dot_shape(cx, view, left, right, &numbers)?;
    let instruction = dot_of(cx, view, left, right, &numbers, shape)?;
    cx.finish(view, instruction)
}

/// `stablehlo.convolution`.
pub(super) fn convolution<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [input, kernel] = cx.exactly(view)?;
    let spatial = spatial_rank(cx, view, input)?;
    let padding = padding_pairs(view, spatial)?;
    convolution_with(cx, view, input, kernel, &padding)
}

pub(super) fn spatial_rank(
    cx: &Importer<'_>,
    view: View<'_>,
    input: InstructionId,
) -> Result<usize> {
    let rank = cx.array(view, input)?.rank();
    rank.checked_sub(2).ok_or_else(|| view.error("takes arrays of rank 2 at least"))
}

pub(super) fn convolution_with<'a>(
    cx: &mut Importer<'a>,
    view: View<'a>,
    input: InstructionId,
    kernel: InstructionId,
    padding: &[(i64, i64)],
) -> Result {
    let Attribute::ConvDimensionNumbers(numbers) = view.require("dimension_numbers")? else {
        return Err(view.wrong("dimension_numbers", "a convolution's dimension numbers"));
    };
    let spatial = spatial_rank(cx, view, input)?;
    let (input_array, kernel_array) = (cx.array(view, input)?, cx.array(view, kernel)?);
    let rank = spatial + 2;
    let lists = [
        (&numbers.input_spatial_dimensions, input_array.rank()),
        (&numbers.kernel_spatial_dimensions, kernel_array.rank()),
        (&numbers.output_spatial_dimensions, rank),
    ];
    for (list, its_rank) in lists {
        if list.len() != spatial || its_rank != rank {
            return Err(view.wrong("dimension_numbers", "of the operands' rank"));
        }
    }
    for dimension in lists.iter().flat_map(|(list, _)| list.iter().copied()).chain([
        numbers.input_batch_dimension,
        numbers.input_feature_dimension,
        numbers.kernel_input_feature_dimension,
        numbers.kernel_output_feature_dimension,
        numbers.output_batch_dimension,
        numbers.output_feature_dimension,
    ]) {
        check_dimension(view, "dimension_numbers", dimension, rank)?;
    }
    let sizes: Dims =
        numbers.kernel_spatial_dimensions.iter().map(|&d| kernel_array.dims[d as usize]).collect();
    if let Some(size) = sizes.iter().find(|&&size| size < 0) {
        return Err(view.error(format_args!("has a kernel of size {size}")));
    }
    let reversal = view.bools_or("window_reversal", spatial, false)?;
    // A kernel without elements has windows of size zero, which no other operation may have.
    let at_least_one: Dims = sizes.iter().map(|&size| size.max(1)).collect();
    let mut window = window(
        view,
        &at_least_one,
        &view.integers_or("window_strides", spatial, 1)?,
        padding,
        &view.integers_or("lhs_dilation", spatial, 1)?,
        &view.integers_or("rhs_dilation", spatial, 1)?,
    )?;
    for (dimension, (size, reversal)) in
        window.dimensions.iter_mut().zip(sizes.iter().zip(reversal))
    {
        dimension.size = *size;
        dimension.window_reversal = reversal;
    }
    let batch_groups = view.integer_or("batch_group_count", 1)?;
    let feature_groups = view.integer_or("feature_group_count", 1)?;
    if batch_groups < 1 || feature_groups < 1 {
        return Err(view.error("has group counts below 1"));
    }
    let inner = ArrayShape::new(
        input_array.element_type,
        numbers.input_spatial_dimensions.iter().map(|&d| input_array.dims[d as usize]),
    );
    let known = windowed_dims(&inner, &window).map(|moved| {
        let mut dims = Dims::from_elem(0, rank);
        dims[numbers.output_batch_dimension as usize] =
            input_array.dims[numbers.input_batch_dimension as usize] / batch_groups;
        dims[numbers.output_feature_dimension as usize] =
            kernel_array.dims[numbers.kernel_output_feature_dimension as usize];
        for (&place, size) in numbers.output_spatial_dimensions.iter().zip(moved) {
            dims[place as usize] = size;
        }
        dims
    });
    let shape = cx.declared(view, 0, |_| known)?;
    let op = Convolution {
        window,
        dim_labels: ConvolutionDimensions {
            input_batch: numbers.input_batch_dimension,
            input_feature: numbers.input_feature_dimension,
            input_spatial: Dims::from_slice(&numbers.input_spatial_dimensions),
            kernel_input_feature: numbers.kernel_input_feature_dimension,
            kernel_output_feature: numbers.kernel_output_feature_dimension,
            kernel_spatial: Dims::from_slice(&numbers.kernel_spatial_dimensions),
            output_batch: numbers.output_batch_dimension,
            output_feature: numbers.output_feature_dimension,
            output_spatial: Dims::from_slice(&numbers.output_spatial_dimensions),
        },
        feature_group_count: GroupCount(feature_groups),
        batch_group_count: GroupCount(batch_groups),
        operand_precision: precisions(view)?,
        ..Convolution::default()
    };
    let instruction = cx.add(Box::new(op), shape, &[input, kernel]);
    cx.finish(view, instruction)
}

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
