//! `dot-strength-reduction`, XLA's DotStrengthReduction: a product of two vectors is a reduction of what their
//! elements multiply to, and so is one of a vector with a matrix where kernels for products are slower. As such it is
//! fused with what makes its operands, and no vector is packed.
//!
//! Stands after `dot_decomposer`, whose form it looks for, and after `transpose-folding`: products take matrices as
//! they lie. Short products are left alone: they are fused as they are.

use rxla_base::Result;
use rxla_hlo::op::{Reduce, Reshape};
use rxla_hlo::{BinaryKind, Dims, ElementType, InstructionId, Module, Op, Shape};

use super::dot_decomposer::is_canonical;
use crate::pass::{Context, Pass};
use crate::rewrite::{self, NamedRule};
use crate::{rules, view};

pub struct DotStrengthReduction;

const RULES: &[NamedRule] = rules! {
    Dot => [product_of_vectors],
};

/// Products of so many terms are fused as dots, if there are so few results of one batch.
const SHORT: i64 = 32;
const FEW: i64 = 1024;

/// Lines of a matrix up to which multiplying them with a vector one by one is slower than to reduce many of them.
const SHORT_LINES: i64 = 64;

/// Elements of a matrix of narrow floats from which on kernels for products are faster: they ask memory ahead.
const LARGE: i64 = 1 << 18;

impl Pass for DotStrengthReduction {
    fn name(&self) -> &'static str {
        "dot-strength-reduction"
    }

    fn class(&self) -> &'static str {
        "DotStrengthReduction"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        Ok(rewrite::apply(module, cx, &[RULES]))
    }
}

/// `dot(x, y) => reduce(x * y)` where `x` and `y` are vectors, or one of them if that is the faster way
fn product_of_vectors(m: &mut Module, i: InstructionId) -> Option<InstructionId> {
    let Op::Dot(op) = &m[i].op else { return None };
    let operands = [view::operand(m, i, 0), view::operand(m, i, 1)];
    let dims = [view::dims(m, operands[0])?.clone(), view::dims(m, operands[1])?.clone()];
    let sides = [
        (&op.lhs_batch_dims, &op.lhs_contracting_dims),
        (&op.rhs_batch_dims, &op.rhs_contracting_dims),
    ];
    let canonical = |side: usize| is_canonical(sides[side].0, sides[side].1, dims[side].len());
    if !canonical(0) || !canonical(1) {
        return None;
    }
    let batches = op.lhs_batch_dims.len();
    let summed = [op.lhs_contracting_dims[0], op.rhs_contracting_dims[0]];
    let depth = dims[0][summed[0] as usize];
    let batch = &dims[0][..batches];
    // Rows and columns: all that is neither of the batch nor summed.
    let free = [0, 1].map(|side| {
        let all: i64 = dims[side][batches..].iter().product();
        if depth == 0 { 0 } else { all / depth }
    });
    let result = view::element_type(m, i)?;
    let types = operands.map(|operand| view::element_type(m, operand));
    let terms = terms(result, types)?;
    let vectors = free == [1, 1];
    let short = depth <= SHORT && free[0].max(free[1]) <= FEW;
    let matrix = usize::from(free[1] > 1);
    let in_short_lines = free[matrix] > FEW
        && depth <= SHORT_LINES
        && summed[matrix] as usize == dims[matrix].len() - 1;
    let suits = match terms {
        _ if vectors => true,
        _ if !free.contains(&1) => false,
        ElementType::F32 | ElementType::F64 => {
            in_short_lines || (result != terms && depth * free[matrix] < LARGE)
        }
        _ => terms.is_complex() || types == [Some(terms); 2],
    };
    if short || !suits {
        return None;
    }
    // A vector has its batch and what is summed.
    let flat: Dims = batch.iter().copied().chain([depth]).collect();
    let (shape, along) = match vectors {
        true => (flat.clone(), batches as i64),
        false => (dims[matrix].clone(), summed[matrix]),
    };
    let spread: Dims = (0..batches as i64).chain([along]).collect();
    let factors = [0, 1].map(|side| {
        let reshaped = if side == matrix { &shape } else { &flat };
        let value = with_dims(m, i, operands[side], reshaped);
        let value = in_type(m, i, value, terms);
        if *reshaped == shape {
            return value;
        }
        let shape = Shape::array(terms, shape.iter().copied());
        view::add_with_shape(m, i, Op::broadcast(spread.clone()), shape, &[value])
    });
    let product = view::add(m, i, Op::binary(BinaryKind::Multiply), &factors);
    let parent = m[i].parent();
    let zero = m.add_scalar(parent, terms, 0.0);
    let to_apply = m.add_scalar_computation(BinaryKind::Add, terms).ok()?;
    let reduce = Reduce { dimensions: Dims::from_slice(&[along]), to_apply };
    let sums = view::add(m, i, reduce, &[product, zero]);
    let sums = in_type(m, i, sums, result);
    let dims = view::dims(m, i)?.clone();
    Some(with_dims(m, i, sums, &dims))
}

/// The value with these dimensions.
fn with_dims(m: &mut Module, i: InstructionId, value: InstructionId, dims: &Dims) -> InstructionId {
    let array = m[value].shape.as_array().expect("a dot is about arrays");
    if array.dims == *dims {
        return value;
    }
    let shape = Shape::array(array.element_type, dims.iter().copied());
    view::add_with_shape(m, i, Reshape::default(), shape, &[value])
}

/// The value in an element type.
fn in_type(
    m: &mut Module,
    i: InstructionId,
    value: InstructionId,
    to: ElementType,
) -> InstructionId {
    let dims = view::dims(m, value).expect("a dot is about arrays").clone();
    view::convert(m, i, value, &Shape::array(to, dims))
}

/// The type that a product with such operands is summed in, if it is the result's or a float for a narrower one.
fn terms(result: ElementType, operands: [Option<ElementType>; 2]) -> Option<ElementType> {
    use ElementType::*;
    let terms = match result {
        F16 | Bf16 => F32,
        F32 | F64 | C64 | C128 | S32 | U32 | S64 | U64 => result,
        _ => return None,
    };
    let fits = |operand: ElementType| {
        let same = [operand.is_complex(), operand.is_float(), operand.is_integer()]
            == [terms.is_complex(), terms.is_float(), terms.is_integer()];
        same && operand.byte_width() <= terms.byte_width()
    };
    operands.into_iter().all(|operand| operand.is_some_and(fits)).then_some(terms)
}
