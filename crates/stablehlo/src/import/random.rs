//! Random numbers, batch normalisation and sizes of dynamic dimensions.

use rxla_hlo::op::{
    BatchNormGrad, BatchNormInference, BatchNormTraining, GetDimensionSize, RandomAlgorithm,
    RandomDistribution, Rng, RngBitGenerator, SetDimensionSize,
};
use rxla_hlo::{ArrayShape, Dims, ElementType, Shape};

use super::attributes::View;
use super::importer::{Importer, Result};
use super::shapes::check_dimension;
use crate::mlir::{self, EnumValue};

/// `stablehlo.rng`; the shape that its last operand says is the result's.
pub(super) fn rng<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [a, b, sizes] = cx.exactly(view)?;
    let EnumValue::RngDistribution(distribution) = view.enumeration("rng_distribution")? else {
        return Err(view.wrong("rng_distribution", "a distribution"));
    };
    let distribution = match distribution {
        mlir::RngDistribution::Uniform => RandomDistribution::Uniform,
        mlir::RngDistribution::Normal => RandomDistribution::Normal,
    };
    let known = super::fold::integers(cx, sizes).map(Dims::from_vec);
    let shape = cx.declared(view, 0, |_| known)?;
    let instruction = cx.add(Rng { distribution }, shape, &[a, b]);
    cx.finish(view, instruction)
}

/// `stablehlo.rng_bit_generator`: the new state and the bits.
pub(super) fn rng_bit_generator<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [state] = cx.exactly(view)?;
    view.expect_results(2)?;
    let EnumValue::RngAlgorithm(algorithm) = view.enumeration("rng_algorithm")? else {
        return Err(view.wrong("rng_algorithm", "an algorithm"));
    };
    let algorithm = match algorithm {
        mlir::RngAlgorithm::Default => RandomAlgorithm::Default,
        mlir::RngAlgorithm::ThreeFry => RandomAlgorithm::ThreeFry,
        mlir::RngAlgorithm::Philox => RandomAlgorithm::Philox,
    };
    let state_dims = cx.array(view, state)?.dims;
    let shapes = [cx.declared(view, 0, |_| Some(state_dims))?, cx.declared(view, 1, |_| None)?];
    let instruction = cx.add(RngBitGenerator { algorithm }, Shape::tuple(shapes), &[state]);
    cx.finish_tuple(view, instruction)
}

/// `epsilon` and `feature_index` of a batch normalisation.
fn norm_attributes(cx: &Importer<'_>, view: View<'_>, rank: usize) -> Result<(f32, i64)> {
    debug_assert!(cx.region_depth() > 0);
    let feature_index = view.integer("feature_index")?;
    check_dimension(view, "feature_index", feature_index, rank)?;
    Ok((view.float("epsilon")? as f32, feature_index))
}

/// `stablehlo.batch_norm_inference`.
pub(super) fn batch_norm_inference<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.exactly::<5>(view)?;
    let array = cx.array(view, operands[0])?;
    let (epsilon, feature_index) = norm_attributes(cx, view, array.rank())?;
    let op = BatchNormInference { epsilon, feature_index };
    let instruction = cx.add(op, array.into(), &operands);
    cx.finish(view, instruction)
}

/// The array and, per feature, two more.
fn norm_shape(array: &ArrayShape, feature_index: i64) -> Shape {
    let features = array.dims[feature_index as usize];
    let each = Shape::array(array.element_type, [features]);
    Shape::tuple([array.clone().into(), each.clone(), each])
}

/// `stablehlo.batch_norm_training`.
pub(super) fn batch_norm_training<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.exactly::<3>(view)?;
    view.expect_results(3)?;
    let array = cx.array(view, operands[0])?;
    let (epsilon, feature_index) = norm_attributes(cx, view, array.rank())?;
    let shape = norm_shape(&array, feature_index);
    let op = BatchNormTraining { epsilon, feature_index };
    let instruction = cx.add(op, shape, &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.batch_norm_grad`.
pub(super) fn batch_norm_grad<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let operands = cx.exactly::<5>(view)?;
    view.expect_results(3)?;
    let array = cx.array(view, operands[0])?;
    let (epsilon, feature_index) = norm_attributes(cx, view, array.rank())?;
    let shape = norm_shape(&array, feature_index);
    let op = BatchNormGrad { epsilon, feature_index };
    let instruction = cx.add(op, shape, &operands);
    cx.finish_tuple(view, instruction)
}

/// `stablehlo.get_dimension_size`; the size of a static dimension is a constant.
pub(super) fn get_dimension_size<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand] = cx.exactly(view)?;
    let array = cx.array(view, operand)?;
    let dimension = view.integer("dimension")?;
    let at = check_dimension(view, "dimension", dimension, array.rank())?;
    let instruction = if array.is_dynamic_dimension(at) {
        let op = GetDimensionSize { dimensions: Dims::from_slice(&[dimension]) };
        cx.add(op, Shape::scalar(ElementType::S32), &[operand])
    } else {
        if i32::try_from(array.dims[at]).is_err() {
            return Err(view.error(format_args!(
                "the size of dimension {dimension} of `{array}` is no `i32`"
            )));
        }
        cx.integer(ElementType::S32, array.dims[at])
    };
    cx.finish(view, instruction)
}

/// `stablehlo.set_dimension_size`; the dimension is bounded by the size it had.
pub(super) fn set_dimension_size<'a>(cx: &mut Importer<'a>, view: View<'a>) -> Result {
    let [operand, size] = cx.exactly(view)?;
    let mut array = cx.array(view, operand)?;
    let dimension = view.integer("dimension")?;
    let at = check_dimension(view, "dimension", dimension, array.rank())?;
    let known = super::fold::integers(cx, size);
    if known.as_deref() == Some(&[array.dims[at]]) {
        array.set_dynamic(at, false);
    } else {
        array.set_dynamic(at, true);
    }
    let op = SetDimensionSize { dimensions: Dims::from_slice(&[dimension]) };
    let instruction = cx.add(op, array.into(), &[operand, size]);
    cx.finish(view, instruction)
}
