//! Small dots as elements: a loop over what is contracted. Those that stand alone are written in
//! blocks if they can be (`product.rs`), and large ones belong to a runtime kernel.

use rxla_base::{Error, Result};
use rxla_hlo::op::{BinaryKind, Dot};
use rxla_hlo::{ArrayShape, ElementType, InstructionId, Module};
use rxla_kernel::LoopKind;

use crate::affine::{Affine, Index};
use crate::emitter::{Emitter, Node, Placed};
use crate::nest::Style;
use crate::ops;
use crate::plan::NestId;
use crate::reduce::element_of;
use crate::scalar::number;
use crate::shapes::array;
use crate::{Element, scalar};

/// Products that are worth no call: contracted elements, and results of one batch.
const MOST_CONTRACTED: i64 = 32;
const MOST_RESULTS: i64 = 1024;
/// Nor are those, however many results there are, for a row of which so many numbers are multiplied: both rows and what
/// is contracted are written out, and what the runtime would pack is read once.
const MOST_IN_ROW: i64 = 256;
const STRAIGHT: i64 = 16;

/// Sizes of the contracted dimensions if the dot is small enough.
fn contracted(module: &Module, id: InstructionId, op: &Dot) -> Result<Vec<i64>> {
    let lhs = array(module.operand_shape(id, 0))?;
    let sizes: Vec<i64> =
        op.lhs_contracting_dims.iter().map(|&dimension| lhs.dims[dimension as usize]).collect();
    let batches = op.lhs_batch_dims.len();
    let results: i64 = array(&module[id].shape)?.dims[batches..].iter().product();
    let depth: i64 = sizes.iter().product();
    let rhs = array(module.operand_shape(id, 1))?;
    let batch: i64 =
        op.rhs_batch_dims.iter().map(|&dimension| rhs.dims[dimension as usize]).product();
    let row = rhs.dims.iter().product::<i64>() / batch.max(1);
    let short = depth <= 4 || (depth <= STRAIGHT && row <= MOST_IN_ROW);
    if depth > MOST_CONTRACTED || (results > MOST_RESULTS && !short) {
        return Err(Error::unimplemented(format!(
            "`dot` of {depth} products for each of {results} results in a kernel"
        )));
    }
    Ok(sizes)
}

pub(crate) fn element(emitter: &mut Emitter<'_>, node: &Node, op: &Dot) -> Result<Placed> {
    let module = emitter.module;
    let sizes = contracted(module, node.id, op)?;
    let lhs = array(module.operand_shape(node.id, 0))?;
    let rhs = array(module.operand_shape(node.id, 1))?;
    let result = array(&module[node.id].shape)?.element_type;
    let term = term_type(result, lhs.element_type, rhs.element_type);
    let mut depth = emitter.frames[node.frame].depth;
    for index in &node.index {
        depth = depth.max(emitter.depth_of(index));
    }
    let depth = emitter.placed_at(depth);
    let batches = op.lhs_batch_dims.len();
    let free = |shape: &ArrayShape, batch: &[i64], contracted: &[i64]| {
        (0..shape.rank() as i64)
            .filter(|d| !batch.contains(d) && !contracted.contains(d))
            .collect::<Vec<i64>>()
    };
    let lhs_free = free(lhs, &op.lhs_batch_dims, &op.lhs_contracting_dims);
    let rhs_free = free(rhs, &op.rhs_batch_dims, &op.rhs_contracting_dims);
    let rhs_start = batches + lhs_free.len();
    let place =
        |rank: usize, batch: &[i64], free: &[i64], start: usize, along: &[i64], inner: &Index| {
            let mut index: Index = (0..rank).map(|_| Affine::default()).collect();
            for (at, &dimension) in batch.iter().enumerate() {
                index[dimension as usize] = node.index[at].clone();
            }
            for (at, &dimension) in free.iter().enumerate() {
                index[dimension as usize] = node.index[start + at].clone();
            }
            for (&dimension, own) in along.iter().zip(inner) {
                index[dimension as usize] = own.clone();
            }
            index
        };
    let element = emitter.inside(depth, |emitter| {
        let product = |emitter: &mut Emitter<'_>, inner: &Index| -> Result<Element> {
            let left = place(
                lhs.rank(),
                &op.lhs_batch_dims,
                &lhs_free,
                batches,
                &op.lhs_contracting_dims,
                inner,
            );
            let right = place(
                rhs.rank(),
                &op.rhs_batch_dims,
                &rhs_free,
                rhs_start,
                &op.rhs_contracting_dims,
                inner,
            );
            let x = emitter.element(&emitter.operand(node, 0, left))?.element;
            let y = emitter.element(&emitter.operand(node, 1, right))?.element;
            let b = &mut *emitter.builder;
            let x = ops::convert(b, lhs.element_type, term, x)?;
            let y = ops::convert(b, rhs.element_type, term, y)?;
            ops::binary(b, BinaryKind::Multiply, term, x, y)
        };
        let zero = |emitter: &mut Emitter<'_>| {
            let zero = number(emitter.builder, scalar::scalar_of(term), 0.0);
            if term.is_complex() { Element::Complex(zero, zero) } else { Element::One(zero) }
        };
        let total: i64 = sizes.iter().product();
        if total == 0 {
            let zero = zero(emitter);
            return ops::convert(emitter.builder, term, result, zero);
        }
        let id = NestId::Inner(node.id);
        let mut loops = emitter.loops(id, &sizes, LoopKind::Sequential);
        let straight = total <= STRAIGHT && emitter.learned.is_none();
        if straight {
            loops.iter_mut().for_each(|each| each.style = Style::Straight);
            // Zero is added to the first as well: it makes a negative zero positive.
            let mut sum = zero(emitter);
            emitter.nest(id, sizes.len(), &loops, &[], &mut |emitter, index, _| {
                let next = product(emitter, index)?;
                sum = ops::binary(emitter.builder, BinaryKind::Add, term, sum, next)?;
                Ok(Vec::new())
            })?;
            return ops::convert(emitter.builder, term, result, sum);
        }
        let start = zero(emitter).values();
        let sum =
            emitter.nest(id, sizes.len(), &loops, &start, &mut |emitter, index, carried| {
                let next = product(emitter, index)?;
                let sum = element_of(term, carried);
                Ok(ops::binary(emitter.builder, BinaryKind::Add, term, sum, next)?
                    .values()
                    .to_vec())
            })?;
        ops::convert(emitter.builder, term, result, element_of(term, &sum))
    })?;
    Ok(Placed { element, depth })
}

/// The type in which products are computed and summed.
fn term_type(result: ElementType, lhs: ElementType, rhs: ElementType) -> ElementType {
    use ElementType::*;
    match result {
        Pred | S1 | S2 | S4 | S8 | S16 | S32 | U1 | U2 | U4 | U8 | U16 | U32 => S32,
        S64 | U64 => S64,
        F32 if lhs == F64 || rhs == F64 => F64,
        F16 | Bf16 | F32 | F8e5m2 | F8e4m3 | F8e4m3fn | F8e4m3b11fnuz | F8e3m4 | F8e5m2fnuz
        | F8e4m3fnuz | F8e8m0fnu | F6e3m2fn | F6e2m3fn | F4e2m1fn => F32,
        F64 => F64,
        C64 => C64,
        C128 => C128,
    }
}
