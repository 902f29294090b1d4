//! `quantized-dot-rewriter`: products and convolutions of arrays that were dequantised become those of the
//! integers, summed exactly in 32 bits, and scaled once. XLA has no such pass.
//!
//! What comes out is not what went in to the last bit. Before, each element was rounded when it was scaled,
//! and each sum; now the sum is rounded when it becomes a float, and when it is scaled: the relative error is three
//! roundings, however long the sum. What could overflow 32 bits, or scales whose product a float does not
//! hold well, are left as they are.
//!
//! What is multiplied has no zero point: bytes as they are, or moved by 128 to those of the other sign, or
//! moved into 16 bits. Where the product reads the other operand often, the zero point is taken out of the
//! sums instead, by sums of the other operand; an image is padded with it then, since padding stands for zero.

use rxla_base::Result;
use rxla_hlo::op::{Convert, Pad, PaddingDimension, Reduce};
use rxla_hlo::{BinaryKind, Dims, ElementType, InstructionId, Module, Op, Shape};

use super::dequantized::{Dequantized, Numbers};
use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct QuantizedDotRewriter;

const RULES: &[NamedRule] = rules! {
    Dot => [dot],
    Convolution => [convolution],
};

/// Products in which an element of one operand is, from which on it is cheaper to sum that operand once more
/// than to multiply numbers of 16 bits.
const OFTEN: i64 = 32;
/// Scales that leave room on both sides for a sum of 32 bits.
const SCALES: std::ops::Range<f64> = 1e-30..1e28;

impl Pass for QuantizedDotRewriter {
    fn name(&self) -> &'static str {
        "quantized-dot-rewriter"
    }

    fn class(&self) -> &'static str {
        "QuantizedDotRewriter"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `dot(p * (a - x), q * (b - y)) => p * q * dot(a - x, b - y)`, or with `x * sum(b)` subtracted
fn dot(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(op) = &m[i].op else { return None };
    let mut op = op.clone();
    op.operand_precision.clear();
    op.algorithm = None;
    let dims = view::dims(m, view::operand(m, i, 0))?;
    let depth = op.lhs_contracting_dims.iter().map(|&d| dims[d as usize]).product();
    let batches = op.lhs_batch_dims.len();
    let lhs = places(dims.len(), &op.lhs_batch_dims, &op.lhs_contracting_dims, batches);
    let start = dims.len() - op.lhs_contracting_dims.len();
    let rank = view::dims(m, view::operand(m, i, 1))?.len();
    let rhs = places(rank, &op.rhs_batch_dims, &op.rhs_contracting_dims, start);
    let form = Form { op: Op::from(op), depth, sides: [lhs, rhs], later: &[0, 1] };
    Some(Product::of(m, i, form)?.rewrite(m, i))
}

/// The same for `convolution`
fn convolution(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Convolution(op) = &m[i].op else { return None };
    if op.sparsity_config.is_some() {
        return None;
    }
    let mut op = op.clone();
    op.operand_precision.clear();
    op.algorithm = None;
    let labels = &op.dim_labels;
    let kernel = view::dims(m, view::operand(m, i, 1))?;
    let whole = kernel.iter().product::<i64>();
    let depth = whole / kernel[labels.kernel_output_feature as usize].max(1);
    let rank = kernel.len();
    let mut lhs = vec![None; rank];
    if op.batch_group_count.0 == 1 {
        lhs[labels.input_batch as usize] = Some(labels.output_batch as usize);
    }
    let mut rhs = vec![None; rank];
    rhs[labels.kernel_output_feature as usize] = Some(labels.output_feature as usize);
    // Every result takes all of the kernel, but not all of the image. What lies between the elements of
    // a dilated one is better not multiplied.
    let dense = op.window.dimensions.iter().all(|dim| dim.base_dilation == 1);
    let later: &[usize] = if dense { &[0] } else { &[] };
    let form = Form { op: Op::from(op), depth, sides: [lhs, rhs], later };
    Some(Product::of(m, i, form)?.rewrite(m, i))
}

/// How a product is taken.
struct Form {
    op: Op,
    /// How many products are summed at most.
    depth: i64,
    /// Where dimensions of both operands are in the result, if they are there.
    sides: [Vec<Option<usize>>; 2],
    /// The operands whose zero point can be taken out of the sums: what each element of the result is
    /// multiplied with is all that the other operand has of the dimensions that are not there.
    later: &'static [usize],
}

impl Form {
    /// Pads the image with its zero point, beside `i`, and no more when it is multiplied.
    fn pad(
        &mut self,
        m: &mut Module,
        i: InstructionId,
        image: InstructionId,
        zero: f64,
    ) -> InstructionId {
        let Op::Convolution(op) = &mut self.op else { return image };
        let mut padding =
            vec![PaddingDimension { low: 0, high: 0, interior: 0 }; self.sides[0].len()];
        for (dim, &place) in op.window.dimensions.iter_mut().zip(&op.dim_labels.input_spatial) {
            padding[place as usize].low = std::mem::take(&mut dim.padding_low);
            padding[place as usize].high = std::mem::take(&mut dim.padding_high);
        }
        if padding.iter().all(|dim| (dim.low, dim.high) == (0, 0)) {
            return image;
        }
        let zero = Numbers::one(zero).spread(m, i, ElementType::S8, &Dims::new());
        view::add(m, i, Pad { padding }, &[image, zero])
    }
}

/// Where the dimensions of an operand of a dot are in the result, if the first that is no batch is at `start`.
fn places(rank: usize, batch: &Dims, contracted: &Dims, start: usize) -> Vec<Option<usize>> {
    let mut next = start;
    let place = |dimension: i64| {
        if contracted.contains(&dimension) {
            return None;
        }
        let batch = batch.iter().position(|&d| d == dimension);
        batch.or_else(|| {
            next += 1;
            Some(next - 1)
        })
    };
    (0..rank as i64).map(place).collect()
}

struct Product {
    form: Form,
    operands: [Dequantized; 2],
    /// By the dimensions of the result, each multiplied in turn.
    scales: Vec<Numbers>,
}

impl Product {
    /// What is to be rewritten, if it is worth it and safe.
    fn of(m: &Module, i: InstructionId, form: Form) -> Option<Product> {
        if view::static_array(m, i)?.element_type != ElementType::F32 {
            return None;
        }
        let operands = [0, 1].map(|side| Dequantized::of(m, view::operand(m, i, side)));
        let [Some(a), Some(b)] = operands else { return None };
        let most = i32::MAX as f64;
        if form.depth as f64 * a.most() * b.most() > most {
            return None;
        }
        let mut scales = Vec::new();
        for (operand, places) in [&a, &b].into_iter().zip(&form.sides) {
            let dimension = match operand.scale.dimension {
                Some(dimension) => Some(places[dimension]?),
                None => None,
            };
            scales.push(Numbers { values: operand.scale.values.clone(), dimension });
        }
        let scales = joined(scales)?;
        Some(Product { form, operands: [a, b], scales })
    }

    /// The product of integers and what makes floats of it, beside `i`.
    fn rewrite(mut self, m: &mut Module, i: InstructionId) -> InstructionId {
        let dims = view::dims(m, i).expect("looked at").clone();
        let result = |element_type| Shape::array(element_type, dims.iter().copied());
        let later = self.later(m, i);
        let mut sides = [0, 1].map(|side| match (later, self.operands[side].plain()) {
            (Some((later, _)), _) if later == side => {
                self.operands[side].bytes(m, i, ElementType::S8)
            }
            (_, Some(element_type)) => self.operands[side].bytes(m, i, element_type),
            (_, None) => self.operands[side].words(m, i),
        });
        if let Some((side, zero)) = later {
            sides[side] = self.form.pad(m, i, sides[side], zero);
        }
        let op = self.form.op.clone();
        let mut sum = view::add_with_shape(m, i, op, result(ElementType::S32), &sides);
        if let Some((side, zero)) = later {
            let moved = self.moved(m, i, 1 - side, zero, &dims);
            sum = view::add(m, i, Op::binary(BinaryKind::Subtract), &[sum, moved]);
        }
        let mut value = view::add_with_shape(m, i, Convert {}, result(ElementType::F32), &[sum]);
        for scale in &self.scales {
            let scale = scale.spread(m, i, ElementType::F32, &dims);
            value = view::add(m, i, Op::binary(BinaryKind::Multiply), &[value, scale]);
        }
        value
    }

    /// The operand whose zero point is taken out of the sums, and the zero point.
    fn later(&self, m: &Module, i: InstructionId) -> Option<(usize, f64)> {
        let free = |side: usize| match self.form.op {
            // Results of images lie so that kernels want signs on both sides.
            Op::Convolution(_) => self.operands[side].plain() == Some(ElementType::S8),
            _ => self.operands[side].plain().is_some(),
        };
        let &side = self.form.later.iter().find(|&&side| !free(side))?;
        let zero = self.operands[side].signed_zero()?;
        let results = view::static_array(m, i)?.element_count()? as i64;
        let others = view::static_array(m, view::operand(m, i, 1 - side))?.element_count()? as i64;
        // In each result are `depth` elements of the other operand.
        let often = results.saturating_mul(self.form.depth) >= others.saturating_mul(OFTEN);
        (often && free(1 - side)).then_some((side, zero))
    }

    /// `zero * sum(other)` at the places of the result.
    fn moved(
        &self,
        m: &mut Module,
        i: InstructionId,
        side: usize,
        zero: f64,
        dims: &Dims,
    ) -> InstructionId {
        let places = &self.form.sides[side];
        let other = &self.operands[side];
        let wide = other.wide(m, i, other.plain().expect("free of a zero point"));
        let parent = m[i].parent();
        let nothing = m.add_scalar(parent, ElementType::S32, 0.0);
        let to_apply = m.add_scalar_computation(BinaryKind::Add, ElementType::S32);
        let to_apply = to_apply.expect("integers are added");
        let summed = (0..places.len()).filter(|&d| places[d].is_none());
        let dimensions = summed.map(|d| d as i64).collect();
        let sums = view::add(m, i, Reduce { dimensions, to_apply }, &[wide, nothing]);
        let kept = view::dims(m, sums).expect("an array").clone();
        let zero = Numbers::one(zero).spread(m, i, ElementType::S32, &kept);
        let moved = view::add(m, i, Op::binary(BinaryKind::Multiply), &[sums, zero]);
        let to = places.iter().flatten().map(|&place| place as i64);
        let shape = Shape::array(ElementType::S32, dims.iter().copied());
        view::add_with_shape(m, i, Op::broadcast(to), shape, &[moved])
    }
}

/// The scales of both operands as few as they can be; `None` if a float does not hold them or their products.
fn joined(scales: Vec<Numbers>) -> Option<Vec<Numbers>> {
    let good = |value: f64| SCALES.contains(&value.abs());
    let [a, b] = <[Numbers; 2]>::try_from(scales).ok()?;
    let [least, most] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|pick| {
        [&a, &b]
            .map(|scale| scale.values.iter().map(|value| value.abs()).reduce(pick).unwrap_or(1.0))
    });
    // `min` and `max` pass over what is no number.
    let numbers = [&a, &b].into_iter().flat_map(|scale| &scale.values).all(|&value| good(value));
    if !numbers || !good(least[0] * least[1]) || !good(most[0] * most[1]) {
        return None;
    }
    Some(match (a.dimension, b.dimension) {
        (Some(_), Some(_)) => vec![a, b],
        (None, dimension) => vec![times(b, a.values[0], dimension)],
        (dimension, None) => vec![times(a, b.values[0], dimension)],
    })
}

fn times(numbers: Numbers, factor: f64, dimension: Option<usize>) -> Numbers {
    Numbers { values: numbers.values.iter().map(|value| value * factor).collect(), dimension }
}

#[cfg(test)]
#[path = "quantized_dot_rewriter_test.rs"]
mod tests;
