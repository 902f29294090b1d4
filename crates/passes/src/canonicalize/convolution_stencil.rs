//! `convolution-stencil`: a convolution with a small window, of features that are each on their own, becomes the sum
//! over its taps of the shifted operand times the tap, which is fused with what is around it. XLA has no pass of this
//! kind.
//!
//! Of one feature, as in signals and on grids, this is faster than any call, whatever the size: a smoothing step of
//! 16 by 16 in a loop took a sixth of the time, one of 1000 by 1000 by itself four fifths. Of many features it is
//! where they are few enough that the call is what takes the time.

use rxla_base::Result;
use rxla_hlo::op::{
    Convolution, ConvolutionDimensions, Pad, PaddingDimension, Reshape, Slice, SliceDimension,
    Transpose, WindowDimension,
};
use rxla_hlo::{
    ArrayLiteral, ArrayShape, BinaryKind, ElementType, InstructionId, Literal, Module, Op,
};

use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

/// Taps, at most: each is a read of the operand in the kernel.
const MOST_TAPS: i64 = 32;
/// Products of several features, at most.
const MOST_PRODUCTS: i64 = 1 << 15;

pub struct ConvolutionStencil;

const RULES: &[NamedRule] = rules! {
    Convolution => [sum_over_taps],
};

impl Pass for ConvolutionStencil {
    fn name(&self) -> &'static str {
        "convolution-stencil"
    }

    fn class(&self) -> &'static str {
        "ConvolutionStencil"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `convolution(x, w) => sum(slice(pad(x)) * broadcast(w[tap]))` over all taps, in order
fn sum_over_taps(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Convolution(op) = &m[i].op else { return None };
    let [image, window] = [0, 1].map(|side| view::operand(m, i, side));
    let result = view::static_array(m, i)?.clone();
    let summed = sum_type(result.element_type)?;
    let converts = |x: InstructionId| sum_type(view::element_type(m, x)?);
    let same_class = converts(image)?.is_complex() == summed.is_complex();
    let groups = op.feature_group_count.0;
    let labels = &op.dim_labels;
    let kernel = view::dims(m, window)?;
    let alone = kernel[labels.kernel_input_feature as usize] == 1
        && kernel[labels.kernel_output_feature as usize] == groups
        && op.batch_group_count.0 == 1
        && op.sparsity_config.is_none();
    let taps: i64 = labels.kernel_spatial.iter().map(|&dim| kernel[dim as usize]).product();
    let products = result.element_count()?.saturating_mul(taps as usize);
    let few = groups == 1 || products <= MOST_PRODUCTS as usize;
    let some = !op.window.dimensions.is_empty() && products > 0;
    if !alone || !few || !some || !(1..=MOST_TAPS).contains(&taps) || !same_class {
        return None;
    }
    converts(window)?;
    view::static_array(m, image)?;
    let op = op.clone();
    let sum_shape = ArrayShape::new(summed, result.dims.iter().copied());
    let [image, window] = [image, window].map(|x| in_type(m, i, x, summed));
    let zero = zero(m, i, summed)?;
    let padded = padded(m, i, &op, image, zero);
    // A sum of products that are all -0 is +0.
    let everywhere = Op::broadcast([]);
    let mut sum = view::add_with_shape(m, i, everywhere, sum_shape.clone(), &[zero]);
    for tap in 0..taps {
        let product = product(m, i, &op, [padded, window], tap, &sum_shape);
        sum = binary(m, i, BinaryKind::Add, &sum_shape, [sum, product]);
    }
    Some(in_type(m, i, sum, result.element_type))
}

/// The type in which products are summed, if it is one of those that are done here.
fn sum_type(element_type: ElementType) -> Option<ElementType> {
    use ElementType::*;
    match element_type {
        F16 | Bf16 | F32 => Some(F32),
        F64 | C64 | C128 | S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64 => Some(element_type),
        _ => None,
    }
}

fn in_type(
    m: &mut Module,
    i: InstructionId,
    x: InstructionId,
    element_type: ElementType,
) -> InstructionId {
    let dims = view::dims(m, x).cloned().unwrap_or_default();
    view::convert(m, i, x, &ArrayShape::new(element_type, dims).into())
}

fn zero(m: &mut Module, i: InstructionId, element_type: ElementType) -> Option<InstructionId> {
    let zero = ArrayLiteral::zeros(&ArrayShape::scalar(element_type)).ok()?;
    let parent = m[i].parent();
    Some(m.add_constant(parent, Literal::Array(zero)))
}

fn binary(
    m: &mut Module,
    i: InstructionId,
    kind: BinaryKind,
    shape: &ArrayShape,
    operands: [InstructionId; 2],
) -> InstructionId {
    view::add_with_shape(m, i, Op::binary(kind), shape.clone(), &operands)
}

/// The image with the zeros around and between its elements that the window says.
fn padded(
    m: &mut Module,
    i: InstructionId,
    op: &Convolution,
    image: InstructionId,
    zero: InstructionId,
) -> InstructionId {
    let mut padding = vec![PaddingDimension::default(); op.window.dimensions.len() + 2];
    for (dim, &at) in op.window.dimensions.iter().zip(&op.dim_labels.input_spatial) {
        let WindowDimension { padding_low, padding_high, base_dilation, .. } = *dim;
        padding[at as usize] =
            PaddingDimension { low: padding_low, high: padding_high, interior: base_dilation - 1 };
    }
    if padding.iter().all(|dim| *dim == PaddingDimension::default()) {
        return image;
    }
    view::add(m, i, Pad { padding }, &[image, zero])
}

/// The elements that a tap meets, one for each of the result, times the tap.
fn product(
    m: &mut Module,
    i: InstructionId,
    op: &Convolution,
    [padded, window]: [InstructionId; 2],
    tap: i64,
    shape: &ArrayShape,
) -> InstructionId {
    let labels = &op.dim_labels;
    let whole = |m: &Module, x: InstructionId| -> Vec<SliceDimension> {
        let sizes = view::dims(m, x).cloned().unwrap_or_default();
        sizes.iter().map(|&limit| SliceDimension { start: 0, limit, stride: 1 }).collect()
    };
    let [mut met, mut place] = [whole(m, padded), whole(m, window)];
    let mut rest = tap;
    for (number, dim) in op.window.dimensions.iter().enumerate().rev() {
        let at = rest % dim.size;
        rest /= dim.size;
        let last = (shape.dims[labels.output_spatial[number] as usize] - 1) * dim.stride;
        let start = at * dim.window_dilation;
        met[labels.input_spatial[number] as usize] =
            SliceDimension { start, limit: start + last + 1, stride: dim.stride };
        let at = if dim.window_reversal { dim.size - 1 - at } else { at };
        place[labels.kernel_spatial[number] as usize] =
            SliceDimension { start: at, limit: at + 1, stride: 1 };
    }
    let mut met = view::add(m, i, Slice { slice: met }, &[padded]);
    let dimensions = in_result_order(labels);
    if !dimensions.iter().copied().eq(0..dimensions.len() as i64) {
        met = view::add(m, i, Transpose { dimensions: dimensions.into() }, &[met]);
    }
    let place = view::add(m, i, Slice { slice: place }, &[window]);
    // Of each group one number.
    let groups = op.feature_group_count.0;
    let (sizes, dimensions) = match groups {
        1 => (vec![], vec![]),
        _ => (vec![groups], vec![labels.output_feature]),
    };
    let numbers = ArrayShape::new(shape.element_type, sizes);
    let reshape = Reshape { inferred_dimension: None };
    let numbers = view::add_with_shape(m, i, reshape, numbers, &[place]);
    let broadcast = Op::broadcast(dimensions);
    let factors = view::add_with_shape(m, i, broadcast, shape.clone(), &[numbers]);
    binary(m, i, BinaryKind::Multiply, shape, [met, factors])
}

/// Which dimension of the image each of the result is.
fn in_result_order(labels: &ConvolutionDimensions) -> Vec<i64> {
    let mut dimensions = vec![0; labels.output_spatial.len() + 2];
    dimensions[labels.output_batch as usize] = labels.input_batch;
    dimensions[labels.output_feature as usize] = labels.input_feature;
    for (&to, &from) in labels.output_spatial.iter().zip(&labels.input_spatial) {
        dimensions[to as usize] = from;
    }
    dimensions
}
