//! `scatter`: updates combined into the operand one after the other, in the order in which they
//! stand. An update whose window would leave the operand is skipped as a whole.

use rxla_base::{Error, Result};
use rxla_hlo::ElementType;
use rxla_hlo::op::Scatter;
use rxla_kernel::{BinaryOp, ComparePredicate, Convert, LoopKind, Scalar, Value};

use crate::affine::{Affine, Index, linear};
use crate::emitter::{Emitter, Node};
use crate::nest::{Loop, Style};
use crate::plan::NestId;
use crate::reduce::apply;
use crate::scalar::{load, store};
use crate::shapes::array;
use crate::{Destination, Element};

/// Combines all updates into the destinations, which hold the operands.
pub(crate) fn run(
    emitter: &mut Emitter<'_>,
    nest: NestId,
    node: &Node,
    op: &Scatter,
    destinations: &[Destination],
) -> Result<()> {
    let module = emitter.module;
    let count = module[node.id].operands().len() / 2;
    let dims = array(module.operand_shape(node.id, 0))?.dims.clone();
    let updates = array(module.operand_shape(node.id, count + 1))?.dims.clone();
    let types: Vec<ElementType> = (0..count)
        .map(|k| Ok(array(module.operand_shape(node.id, k))?.element_type))
        .collect::<Result<_>>()?;
    if dims.contains(&0) || updates.contains(&0) {
        return Ok(());
    }
    let bases: Vec<Value> = destinations
        .iter()
        .map(|destination| match destination {
            Destination::Memory(base) => Ok(*base),
            Destination::Register => Err(Error::internal("a `scatter` in registers")),
        })
        .collect::<Result<_>>()?;
    // Loops over updates stand outside of those over a window.
    let loops = emitter.loops(nest, &updates, LoopKind::Sequential);
    let in_window = |each: &Loop| {
        each.members
            .iter()
            .all(|member| op.update_window_dims.contains(&(member.1.dimension as i64)))
    };
    let (mut window, mut outer): (Vec<Loop>, Vec<Loop>) = loops.into_iter().partition(in_window);
    for each in outer.iter_mut().chain(&mut window) {
        each.cuts.clear();
        if each.style != Style::Straight {
            each.style = Style::Loop(LoopKind::Sequential);
        }
    }
    if let Some(last) = window.iter_mut().rev().find(|each| each.style != Style::Straight) {
        last.style = Style::Loop(LoopKind::Vector);
    }
    emitter.nest(nest, updates.len(), &outer, &[], &mut |emitter, index, _| {
        let (start, inside) = start(emitter, node, op, (&dims, &updates), count, index)?;
        let body = |emitter: &mut Emitter<'_>| {
            let rank = updates.len();
            emitter.nest(nest, rank, &window, &[], &mut |emitter, inner, _| {
                let place: Index = index.iter().zip(inner).map(|(a, b)| a.plus(b)).collect();
                combine(emitter, node, op, (&dims, &types), &start, &place, &bases)?;
                Ok(Vec::new())
            })
        };
        match inside {
            None => body(emitter),
            Some(inside) => emitter.if_else(inside, body, |_| Ok(Vec::new())),
        }
    })?;
    Ok(())
}

/// Where an update goes, and whether its window lies inside.
fn start(
    emitter: &mut Emitter<'_>,
    node: &Node,
    op: &Scatter,
    (dims, updates): (&[i64], &[i64]),
    count: usize,
    index: &Index,
) -> Result<(Index, Option<Value>)> {
    let module = emitter.module;
    let indices = array(module.operand_shape(node.id, count))?;
    let vector = op.index_vector_dim as usize;
    let batch: Index = (0..updates.len())
        .filter(|&dimension| !op.update_window_dims.contains(&(dimension as i64)))
        .map(|dimension| index[dimension].clone())
        .collect();
    // Sizes of the window in the operand's dimensions.
    let mut window = op.update_window_dims.iter();
    let sizes: Vec<i64> = (0..dims.len() as i64)
        .map(|dimension| {
            let elided = op.inserted_window_dims.contains(&dimension)
                || op.input_batching_dims.contains(&dimension);
            match elided {
                true => 1,
                false => window.next().map_or(1, |&own| updates[own as usize]),
            }
        })
        .collect();
    let mut start: Index = dims.iter().map(|_| Affine::default()).collect();
    for (&own, &other) in op.input_batching_dims.iter().zip(&op.scatter_indices_batching_dims) {
        let other = other as usize;
        let at = if other > vector { other - 1 } else { other };
        start[own as usize] = batch[at].clone();
    }
    let mut inside: Option<Value> = None;
    for (component, &dimension) in op.scatter_dims_to_operand_dims.iter().enumerate() {
        let mut place = batch.clone();
        if vector < indices.rank() {
            place.insert(vector, Affine::constant(component as i64));
        }
        let value = emitter.element(&emitter.operand(node, count, place))?.element.one()?;
        let dimension = dimension as usize;
        let last = dims[dimension] - sizes[dimension];
        let depth = emitter.depth();
        let b = &mut *emitter.builder;
        let ty = indices.element_type;
        let extend = if ty.is_signed() { Convert::SignExtend } else { Convert::ZeroExtend };
        let wide = b.convert(extend, value, Scalar::I64);
        // Seen as unsigned, negative starts lie far outside.
        let limit = b.index(last.max(-1));
        let fits = b.compare(ComparePredicate::Ule, wide, limit);
        let zero = b.index(0);
        let fits = match last {
            ..0 => b.compare(ComparePredicate::Ult, wide, zero),
            _ => fits,
        };
        inside = Some(match inside {
            Some(before) => b.binary(BinaryOp::And, before, fits),
            None => fits,
        });
        let symbol = emitter.value_symbol(wide, 0, last.max(0), depth);
        start[dimension] = start[dimension].plus(&Affine::symbol(symbol));
    }
    Ok((start, inside))
}

/// Combines one element of the updates into its place.
fn combine(
    emitter: &mut Emitter<'_>,
    node: &Node,
    op: &Scatter,
    (dims, types): (&[i64], &[ElementType]),
    start: &Index,
    place: &Index,
    bases: &[Value],
) -> Result<()> {
    let count = types.len();
    let mut target = start.clone();
    let mut window = op.update_window_dims.iter();
    for dimension in 0..dims.len() as i64 {
        let elided = op.inserted_window_dims.contains(&dimension)
            || op.input_batching_dims.contains(&dimension);
        if !elided && let Some(&own) = window.next() {
            let at = &mut target[dimension as usize];
            *at = at.plus(&place[own as usize]);
        }
    }
    let mut new = Vec::new();
    for k in 0..count {
        let update = emitter.operand(node, count + 1 + k, place.clone());
        new.push(emitter.element(&update)?.element);
    }
    let position = emitter.position(&linear(&target, dims));
    let old: Vec<Element> = types
        .iter()
        .zip(bases)
        .map(|(&ty, &base)| load(emitter.builder, ty, base, position))
        .collect();
    let sums = apply(emitter, op.to_apply, old, new)?;
    for (element, &base) in sums.into_iter().zip(bases) {
        store(emitter.builder, base, position, element);
    }
    Ok(())
}
