//! Ops whose operand's index is known at run time only, or depends on where the element lies:
//! `concatenate`, `pad`, `dynamic-slice`, `dynamic-update-slice`, `gather`, `bitcast-convert` between
//! widths.
//!
//! Where the ranges of the indices tell which operand an element comes from, nothing is left of these
//! ops; the plan cuts loops so that this is the rule. What is left selects between elements at indices
//! held inside their arrays.

use rxla_base::{Error, Result};
use rxla_hlo::op::{Concatenate, Gather, Pad, PaddingDimension};
use rxla_hlo::{ElementType, Op};
use rxla_kernel::{BinaryOp, Convert, Scalar, Value};

use crate::affine::{Affine, Index};
use crate::condition::Known;
use crate::emitter::{Emitter, Node, Placed};
use crate::scalar::scalar_of;
use crate::shapes::array;
use crate::{Element, ops};

/// The operands that an element may come from, each with where it begins.
fn pieces(emitter: &mut Emitter<'_>, node: &Node, dimension: usize) -> Result<Vec<(usize, i64)>> {
    let own = &node.index[dimension];
    let (mut pieces, mut start) = (Vec::new(), 0);
    for number in 0..emitter.module[node.id].operands().len() {
        let size = array(emitter.module.operand_shape(node.id, number))?.dims[dimension];
        let (from, to) = (emitter.at_least(own, start), emitter.at_least(own, start + size));
        if size > 0 && from != Known::Never && to != Known::Always {
            pieces.push((number, start));
        }
        start += size;
    }
    Ok(pieces)
}

pub(crate) fn concatenate_needs(
    emitter: &mut Emitter<'_>,
    node: &Node,
    op: &Concatenate,
) -> Result<Vec<Node>> {
    let dimension = op.dimensions[0] as usize;
    let mut needs = Vec::new();
    for (number, start) in pieces(emitter, node, dimension)? {
        let size = array(emitter.module.operand_shape(node.id, number))?.dims[dimension];
        let mut index = node.index.clone();
        let own = index[dimension].plus_constant(-start);
        index[dimension] = emitter.clamped(&own, size - 1);
        needs.push(emitter.operand(node, number, index));
    }
    Ok(needs)
}

pub(crate) fn concatenate(
    emitter: &mut Emitter<'_>,
    node: &Node,
    op: &Concatenate,
    operands: &[Placed],
) -> Result<Placed> {
    let dimension = op.dimensions[0] as usize;
    let pieces = pieces(emitter, node, dimension)?;
    let mut all = pieces.iter().zip(operands);
    let Some((_, &first)) = all.next() else {
        return Err(Error::internal("an index lies outside a `concatenate`"));
    };
    let mut result = first;
    for (&(_, start), operand) in all {
        let (condition, at) = emitter.condition(&node.index[dimension], start);
        result = choose(emitter, (condition, at), *operand, result)?;
    }
    Ok(result)
}

/// `condition ? x : y`.
pub(crate) fn choose(
    emitter: &mut Emitter<'_>,
    (condition, at): (Value, usize),
    x: Placed,
    y: Placed,
) -> Result<Placed> {
    let depth = emitter.placed_at(at.max(x.depth).max(y.depth));
    let element = emitter.at(depth, |b| ops::select(b, condition, x.element, y.element))?;
    Ok(Placed { element, depth })
}

/// Where an element of a `pad` comes from.
pub(crate) struct Padded {
    /// It is padding for sure.
    pub(crate) outside: bool,
    /// Expressions and what each must reach for the operand to be there.
    conditions: Vec<(Affine, i64)>,
    /// The operand's index, held inside.
    pub(crate) index: Index,
}

fn padded(emitter: &mut Emitter<'_>, node: &Node, op: &Pad) -> Result<Padded> {
    let dims = array(emitter.module.operand_shape(node.id, 0))?.dims.clone();
    Ok(padded_index(emitter, &node.index, &op.padding, &dims))
}

/// Where the element at an index of a padded array comes from in the array.
pub(crate) fn padded_index(
    emitter: &mut Emitter<'_>,
    index: &Index,
    padding: &[PaddingDimension],
    dims: &[i64],
) -> Padded {
    let mut result = Padded { outside: false, conditions: Vec::new(), index: Index::new() };
    for ((own, padding), &size) in index.iter().zip(padding).zip(dims) {
        let shifted = own.plus_constant(-padding.low);
        let mut required = vec![(shifted.clone(), 0)];
        let mut place = shifted;
        if padding.interior > 0 {
            place = emitter.clamped(&place, i64::MAX);
            let (quotient, rest) = emitter.divided(&place, padding.interior + 1);
            required.push((rest.times(-1), 0));
            place = quotient;
        }
        required.push((place.times(-1), 1 - size));
        for (expression, border) in required {
            match emitter.at_least(&expression, border) {
                Known::Always => {}
                Known::Never => result.outside = true,
                Known::Sometimes => result.conditions.push((expression, border)),
            }
        }
        if result.outside || size == 0 {
            result.outside = true;
            return result;
        }
        let place = emitter.clamped(&place, size - 1);
        result.index.push(place);
    }
    result
}

impl Padded {
    /// The condition under which the element is not padding, if it has to be asked.
    pub(crate) fn condition(&self, emitter: &mut Emitter<'_>) -> Option<(Value, usize)> {
        let mut all = None;
        for (expression, border) in &self.conditions {
            let condition = emitter.condition(expression, *border);
            all = emitter.both(all, Some(condition));
        }
        all
    }
}

pub(crate) fn pad_needs(emitter: &mut Emitter<'_>, node: &Node, op: &Pad) -> Result<Vec<Node>> {
    let padded = padded(emitter, node, op)?;
    let value = emitter.operand(node, 1, Index::new());
    if padded.outside {
        return Ok(vec![value]);
    }
    let inside = emitter.operand(node, 0, padded.index);
    Ok(if padded.conditions.is_empty() { vec![inside] } else { vec![inside, value] })
}

pub(crate) fn pad(
    emitter: &mut Emitter<'_>,
    node: &Node,
    op: &Pad,
    operands: &[Placed],
) -> Result<Placed> {
    let &[inside, value] = operands else { return Ok(operands[0]) };
    let padded = padded(emitter, node, op)?;
    match padded.condition(emitter) {
        Some(condition) => choose(emitter, condition, inside, value),
        None => Ok(inside),
    }
}

/// The elements that say where a slice starts, per dimension in which it can move, with the
/// greatest start.
fn starts(
    emitter: &Emitter<'_>,
    node: &Node,
    first: usize,
    dims: &[i64],
    sizes: &[i64],
) -> Result<Vec<(usize, Node, i64)>> {
    let module = emitter.module;
    let mut starts = Vec::new();
    for (dimension, (&size, &slice)) in dims.iter().zip(sizes).enumerate() {
        let limit = size - slice;
        if limit <= 0 {
            continue;
        }
        let operands = module[node.id].operands().len();
        let vector =
            operands == first + 1 && array(module.operand_shape(node.id, first))?.rank() == 1;
        let start = if vector {
            let index = Index::from_elem(Affine::constant(dimension as i64), 1);
            emitter.operand(node, first, index)
        } else {
            emitter.operand(node, first + dimension, Index::new())
        };
        starts.push((dimension, start, limit));
    }
    Ok(starts)
}

/// An integer element, once known, as an index between 0 and `limit`.
fn start(emitter: &mut Emitter<'_>, node: &Node, limit: i64) -> Result<Affine> {
    if let Op::Constant(constant) = &emitter.module[node.id].op
        && node.index.is_empty()
        && let Some(value) = constant.literal.as_array().and_then(|literal| literal.integer(0))
    {
        return Ok(Affine::constant(value.clamp(0, limit)));
    }
    let key = (node.clone(), limit);
    if let Some(known) = emitter.caches.iter().rev().find_map(|cache| cache.starts.get(&key)) {
        return Ok(known.clone());
    }
    let element_type = array(&emitter.module[node.id].shape)?.element_type;
    let placed =
        emitter.known(node).ok_or_else(|| Error::internal("a start that is not known yet"))?;
    let value = placed.element.one()?;
    let depth = emitter.placed_at(placed.depth);
    let value = emitter.at(depth, |b| ops::to_index(b, element_type, value, limit))?;
    let result = Affine::symbol(emitter.value_symbol(value, 0, limit, depth));
    emitter.cache(depth).starts.insert(key, result.clone());
    Ok(result)
}

pub(crate) fn slice_needs(emitter: &mut Emitter<'_>, node: &Node) -> Result<Vec<Node>> {
    let dims = array(emitter.module.operand_shape(node.id, 0))?.dims.clone();
    let sizes = array(&emitter.module[node.id].shape)?.dims.clone();
    let starts = starts(emitter, node, 1, &dims, &sizes)?;
    let mut needs: Vec<Node> = starts.iter().map(|start| start.1.clone()).collect();
    if needs.iter().all(|need| emitter.known(need).is_some()) {
        let mut index = node.index.clone();
        for (dimension, place, limit) in &starts {
            let start = start(emitter, place, *limit)?;
            index[*dimension] = index[*dimension].plus(&start);
        }
        needs.push(emitter.operand(node, 0, index));
    }
    Ok(needs)
}

/// Where the update of a `dynamic-update-slice` begins, per dimension.
pub(crate) fn update_start(emitter: &mut Emitter<'_>, node: &Node) -> Result<Index> {
    let dims = array(emitter.module.operand_shape(node.id, 0))?.dims.clone();
    let sizes = array(emitter.module.operand_shape(node.id, 1))?.dims.clone();
    let mut place: Index = dims.iter().map(|_| Affine::default()).collect();
    for (dimension, at, limit) in starts(emitter, node, 2, &dims, &sizes)? {
        emitter.element(&at)?;
        place[dimension] = start(emitter, &at, limit)?;
    }
    Ok(place)
}

/// An element of the updated array: the update's inside the slice, the operand's elsewhere.
pub(crate) fn update_slice(emitter: &mut Emitter<'_>, node: &Node) -> Result<Placed> {
    let start = update_start(emitter, node)?;
    let sizes = array(emitter.module.operand_shape(node.id, 1))?.dims.clone();
    let old = emitter.operand(node, 0, node.index.clone());
    if sizes.contains(&0) {
        return emitter.element(&old);
    }
    let mut conditions = Vec::new();
    let mut index = Index::new();
    for ((own, start), &size) in node.index.iter().zip(&start).zip(&sizes) {
        let place = own.plus(&start.times(-1));
        for (expression, border) in [(place.clone(), 0), (place.times(-1), 1 - size)] {
            match emitter.at_least(&expression, border) {
                Known::Always => {}
                Known::Never => return emitter.element(&old),
                Known::Sometimes => conditions.push((expression, border)),
            }
        }
        index.push(emitter.clamped(&place, size - 1));
    }
    let new = emitter.operand(node, 1, index);
    let new = emitter.element(&new)?;
    let mut all = None;
    for (expression, border) in conditions {
        let condition = emitter.condition(&expression, border);
        all = emitter.both(all, Some(condition));
    }
    let Some(condition) = all else { return Ok(new) };
    let old = emitter.element(&old)?;
    choose(emitter, condition, new, old)
}

pub(crate) fn gather_needs(
    emitter: &mut Emitter<'_>,
    node: &Node,
    op: &Gather,
) -> Result<Vec<Node>> {
    let module = emitter.module;
    let dims = &array(module.operand_shape(node.id, 0))?.dims;
    let indices = array(module.operand_shape(node.id, 1))?;
    let vector = op.index_vector_dim as usize;
    let batch: Index = (0..node.index.len())
        .filter(|&dimension| !op.offset_dims.contains(&(dimension as i64)))
        .map(|dimension| node.index[dimension].clone())
        .collect();
    // The place in the index array, with the component along its vector dimension.
    let place = |component: i64| {
        let mut place = batch.clone();
        if vector < indices.rank() {
            place.insert(vector, Affine::constant(component));
        }
        place
    };
    let mut needs = Vec::new();
    for (component, &dimension) in op.start_index_map.iter().enumerate() {
        let limit = dims[dimension as usize] - op.slice_sizes[dimension as usize];
        if limit > 0 {
            let node = emitter.operand(node, 1, place(component as i64));
            needs.push((dimension as usize, node, limit));
        }
    }
    let nodes = |needs: &[(usize, Node, i64)]| -> Vec<Node> {
        needs.iter().map(|need| need.1.clone()).collect()
    };
    if needs.iter().any(|need| emitter.known(&need.1).is_none()) {
        return Ok(nodes(&needs));
    }
    let mut index: Index = dims.iter().map(|_| Affine::default()).collect();
    let mut offsets = op.offset_dims.iter();
    for dimension in 0..dims.len() as i64 {
        if op.collapsed_slice_dims.contains(&dimension)
            || op.operand_batching_dims.contains(&dimension)
        {
            continue;
        }
        let Some(&offset) = offsets.next() else {
            return Err(Error::invalid_argument("`gather` has too few offset dimensions"));
        };
        index[dimension as usize] = node.index[offset as usize].clone();
    }
    for (&own, &other) in op.operand_batching_dims.iter().zip(&op.start_indices_batching_dims) {
        // The batch dimension of the result that this dimension of the index array becomes.
        let other = other as usize;
        let at = if other > vector { other - 1 } else { other };
        index[own as usize] = batch[at].clone();
    }
    for (dimension, need, limit) in &needs {
        let start = start(emitter, need, *limit)?;
        index[*dimension] = index[*dimension].plus(&start);
    }
    let mut all = nodes(&needs);
    all.push(emitter.operand(node, 0, index));
    Ok(all)
}

/// `bitcast-convert` between widths: `x` are the parts of a wider element, or the one wider
/// element of which part `last` is taken.
pub(crate) fn bitcast_parts(
    emitter: &mut Emitter<'_>,
    (from, to): (ElementType, ElementType),
    depth: usize,
    x: &[Element],
    last: &Affine,
) -> Result<Element> {
    let (have, want) = (from.bit_width(), to.bit_width());
    if from.is_complex() || to.is_complex() || have < 8 || want < 8 {
        return Err(Error::unimplemented(format!("`bitcast-convert` from `{from}` to `{to}`")));
    }
    let integer = |width: usize| match width {
        8 => Scalar::I8,
        16 => Scalar::I16,
        32 => Scalar::I32,
        _ => Scalar::I64,
    };
    let bits = |b: &mut rxla_kernel::Builder, x: Value| {
        if b.ty(x).scalar.is_float() { b.convert(Convert::Bitcast, x, integer(have)) } else { x }
    };
    let as_wanted = |b: &mut rxla_kernel::Builder, x: Value| {
        let scalar = scalar_of(to);
        Element::One(if scalar.is_float() { b.convert(Convert::Bitcast, x, scalar) } else { x })
    };
    if have > want {
        let position = emitter.position(last);
        let depth = emitter.placed_at(depth.max(emitter.depth_of(last)));
        let x = x[0].one()?;
        return Ok(emitter.at(depth, |b| {
            let x = bits(b, x);
            let width = b.index(want as i64);
            let amount = b.mul(position, width);
            let amount = b.convert(Convert::Truncate, amount, integer(have));
            let part = b.binary(BinaryOp::LShr, x, amount);
            let part = b.convert(Convert::Truncate, part, integer(want));
            as_wanted(b, part)
        }));
    }
    let parts: Vec<Value> = x.iter().map(|x| x.one()).collect::<Result<_>>()?;
    Ok(emitter.at(depth, |b| {
        let mut all = None;
        for (at, part) in parts.into_iter().enumerate() {
            let part = bits(b, part);
            let wide = b.convert(Convert::ZeroExtend, part, integer(want));
            let amount = b.constant(integer(want), (at * have) as u64);
            let wide = b.binary(BinaryOp::Shl, wide, amount);
            all = Some(match all {
                Some(all) => b.binary(BinaryOp::Or, all, wide),
                None => wide,
            });
        }
        as_wanted(b, all.expect("there is a part"))
    }))
}
