//! `reduce` as an element: a loop over what is reduced, with any computation as reducer.
//!
//! Sums and the like of floats narrower than `f32` are carried in `f32`. Long sums of floats are cut
//! into chunks, so that rounding errors grow with the number of chunks rather than of elements; the
//! order depends on sizes alone.

use rxla_base::{Error, Result};
use rxla_hlo::op::{Binary, BinaryKind, Reduce};
use rxla_hlo::{ComputationId, ElementType, InstructionId, Module, Op, TypeClass};
use rxla_kernel::{BinaryOp, Builder, LoopKind, Value};

use crate::affine::{Affine, Index};
use crate::emitter::{Emitter, Node, Placed};
use crate::keep::Filling;
use crate::nest::Style;
use crate::plan::NestId;
use crate::scalar::{number, scalar_of};
use crate::shapes::{array, leaf_shape};
use crate::{Element, ops};

/// Elements of a long sum that are added before they join the rest.
const CHUNK: i64 = 1024;
/// Up to so many elements are combined without a loop.
const STRAIGHT: i64 = 16;
/// Up to so many results side by side are reduced in one loop, which runs in lanes unless it is as short as this.
const MOST_COLUMNS: i64 = 8;
const FEW_IN_COLUMN: i64 = 32;

/// How the elements of a reduction are combined.
#[derive(Clone, Debug)]
pub(crate) enum Combine {
    /// One function of two values, in this type.
    Kind(BinaryKind, ElementType),
    Computation(ComputationId),
}

impl Combine {
    pub(crate) fn of(
        module: &Module,
        op_types: &[ElementType],
        to_apply: ComputationId,
    ) -> Combine {
        if let ([element_type], Some(kind)) = (op_types, binary_kind(module, to_apply)) {
            let narrow = element_type.is_float() && element_type.bit_width() < 32;
            let wide = if narrow { ElementType::F32 } else { *element_type };
            if identity_exists(kind, wide) {
                return Combine::Kind(kind, wide);
            }
        }
        Combine::Computation(to_apply)
    }
}

pub(crate) fn element(emitter: &mut Emitter<'_>, node: &Node, op: &Reduce) -> Result<Placed> {
    let module = emitter.module;
    let count = operand_count(module, node.id)?;
    let dims = array(module.operand_shape(node.id, 0))?.dims.clone();
    let types: Vec<ElementType> = (0..count)
        .map(|k| Ok(array(module.operand_shape(node.id, k))?.element_type))
        .collect::<Result<_>>()?;
    let mut depth = emitter.frames[node.frame].depth;
    for index in &node.index {
        depth = depth.max(emitter.depth_of(index));
    }
    let mut initial = Vec::new();
    for k in 0..count {
        let placed = emitter.element(&emitter.operand(node, count + k, Index::new()))?;
        depth = depth.max(placed.depth);
        initial.push(placed.element);
    }
    let depth = emitter.placed_at(depth);
    let mut reduced: Vec<usize> = op.dimensions.iter().map(|&d| d as usize).collect();
    reduced.sort_unstable();
    let sizes: Vec<i64> = reduced.iter().map(|&d| dims[d]).collect();
    let combine = Combine::of(module, &types, op.to_apply);
    let nodes = side_by_side(emitter, node, &dims, &reduced, &combine);
    let initial = initial.repeat(nodes.len());
    let results = emitter.inside(depth, |emitter| {
        let place = |node: &Node, index: &Index| {
            let mut kept = node.index.iter();
            let mut inner = index.iter();
            (0..dims.len())
                .map(|dimension| {
                    let from = if reduced.contains(&dimension) { &mut inner } else { &mut kept };
                    from.next().cloned().unwrap_or_default()
                })
                .collect::<Index>()
        };
        let along_rows = reduced.last().is_some_and(|&last| {
            let inside = if dims[last] >= FEW_IN_COLUMN { nodes.len() as i64 } else { 1 };
            dims[last + 1..].iter().product::<i64>() == inside
        });
        let mut load = |emitter: &mut Emitter<'_>, index: &Index| {
            let mut loaded = Vec::new();
            for node in &nodes {
                let at = place(node, index);
                emitter.keep(node, &at)?;
                for k in 0..count {
                    let operand = emitter.operand(node, k, at.clone());
                    loaded.push(emitter.element(&operand)?.element);
                }
            }
            Ok(loaded)
        };
        let id = NestId::Inner(node.id);
        emitter.fill(node.id, Filling::Shown);
        let results =
            reduce_nest(emitter, id, &sizes, &types, &combine, initial, along_rows, &mut load);
        emitter.fill(node.id, Filling::No);
        results
    })?;
    let mut own = None;
    for (each, elements) in nodes.into_iter().zip(results.chunks(count)) {
        for (leaf, &element) in elements.iter().enumerate() {
            let each = Node { leaf, ..each.clone() };
            let placed = Placed { element, depth };
            if each == *node {
                own = Some(placed);
            }
            emitter.remember(each, placed);
        }
    }
    own.ok_or_else(|| Error::internal("a reduction without the result that was asked for"))
}

/// The result that is asked for and those that lie beside it in a short row that is written out, as coordinates of
/// points: they are reduced in one loop, which reads all of what lies together.
fn side_by_side(
    emitter: &Emitter<'_>,
    node: &Node,
    dims: &[i64],
    reduced: &[usize],
    combine: &Combine,
) -> Vec<Node> {
    let alone = || vec![node.clone()];
    let (Some((&length, outer)), Some((column, row))) =
        (dims.split_last(), node.index.split_last())
    else {
        return alone();
    };
    let suits = emitter.learned.is_none()
        && matches!(combine, Combine::Kind(..))
        && !reduced.contains(&outer.len())
        && (2..=MOST_COLUMNS).contains(&length)
        && column.as_constant().is_some()
        && reduced.iter().map(|&d| dims[d]).product::<i64>() > STRAIGHT;
    if !suits {
        return alone();
    }
    let of = |column: i64| {
        let column = Affine::constant(column);
        Node { index: row.iter().cloned().chain([column]).collect(), ..node.clone() }
    };
    (0..length).map(of).collect()
}

/// The initial values combined with all elements that `load` gives.
fn reduce_nest(
    emitter: &mut Emitter<'_>,
    id: NestId,
    sizes: &[i64],
    types: &[ElementType],
    combine: &Combine,
    initial: Vec<Element>,
    along_rows: bool,
    load: &mut dyn FnMut(&mut Emitter<'_>, &Index) -> Result<Vec<Element>>,
) -> Result<Vec<Element>> {
    if sizes.contains(&0) {
        return Ok(initial);
    }
    let kind = match combine {
        _ if along_rows => LoopKind::Vector,
        Combine::Kind(..) | Combine::Computation(_) => LoopKind::Sequential,
    };
    let mut loops = emitter.loops(id, sizes, kind);
    let total: i64 = sizes.iter().product();
    let looking = emitter.learned.is_some();
    let small = total <= STRAIGHT && total * emitter.plan.body_values <= 1500;
    if !looking && small {
        for each in &mut loops {
            each.style = Style::Straight;
        }
        let mut all = Vec::new();
        emitter.nest(id, sizes.len(), &loops, &[], &mut |emitter, index, _| {
            all.push(load(emitter, index)?);
            Ok(Vec::new())
        })?;
        return combined(emitter, combine, types, initial, all);
    }
    match *combine {
        Combine::Kind(op, wide) => {
            let start = vec![identity(emitter.builder, op, wide); initial.len()];
            let start: Vec<Value> = start.iter().flat_map(|element| element.values()).collect();
            let sums_of = vec![wide; initial.len()];
            let long = wide.is_float() && op == BinaryKind::Add;
            let chunk = match loops.last() {
                Some(last) if long && !looking && last.size() > 4 * CHUNK => Some(CHUNK),
                _ => None,
            };
            let element_type = types[0];
            let mut body = |emitter: &mut Emitter<'_>, index: &Index, carried: &[Value]| {
                let mut next = Vec::new();
                for (x, sum) in
                    load(emitter, index)?.into_iter().zip(elements_of(&sums_of, carried))
                {
                    let b = &mut *emitter.builder;
                    let x = ops::convert(b, element_type, wide, x)?;
                    next.extend(ops::binary(b, op, wide, sum, x)?.values());
                }
                Ok(next)
            };
            let sums = match chunk {
                None => emitter.nest(id, sizes.len(), &loops, &start, &mut body)?,
                Some(chunk) => chunked(
                    emitter,
                    id,
                    sizes.len(),
                    &loops,
                    (op, &sums_of, &start, chunk),
                    &mut body,
                )?,
            };
            let b = &mut *emitter.builder;
            let sums = elements_of(&sums_of, &sums).into_iter().zip(initial);
            sums.map(|(sum, initial)| {
                let first = ops::convert(b, element_type, wide, initial)?;
                let sum = ops::binary(b, op, wide, first, sum)?;
                ops::convert(b, wide, element_type, sum)
            })
            .collect()
        }
        Combine::Computation(to_apply) => {
            let start: Vec<Value> = initial.iter().flat_map(|element| element.values()).collect();
            let mut body = |emitter: &mut Emitter<'_>, index: &Index, carried: &[Value]| {
                let sums = elements_of(types, carried);
                let x = load(emitter, index)?;
                let next = apply(emitter, to_apply, sums, x)?;
                Ok(next.iter().flat_map(|element| element.values()).collect())
            };
            let last = emitter.nest(id, sizes.len(), &loops, &start, &mut body)?;
            Ok(elements_of(types, &last))
        }
    }
}

/// A nest whose innermost loop runs in chunks, each of which starts anew.
fn chunked(
    emitter: &mut Emitter<'_>,
    id: NestId,
    rank: usize,
    loops: &[crate::nest::Loop],
    (op, types, start, chunk): (BinaryKind, &[ElementType], &[Value], i64),
    body: &mut crate::nest::Body<'_>,
) -> Result<Vec<Value>> {
    let (last, outer) = loops.split_last().expect("a loop to cut into chunks");
    let size = last.size();
    let low = emitter.builder.index(0);
    let high = emitter.builder.index(size);
    let bounds = (low, high, chunk);
    emitter.for_loop(LoopKind::Sequential, bounds, start, |emitter, first, carried| {
        let length = emitter.builder.index(chunk);
        let end = emitter.builder.add(first, length);
        let all = emitter.builder.index(size);
        let end = emitter.builder.binary(BinaryOp::SMin, end, all);
        // The chunk's loop stands outermost here if there are others: they sum within it.
        let mut inner = last.clone();
        inner.bounds = Some((first, end));
        let mut loops = outer.to_vec();
        loops.push(inner);
        let sums = emitter.nest(id, rank, &loops, start, body)?;
        let mut next = Vec::new();
        let sums = elements_of(types, &sums).into_iter().zip(elements_of(types, carried));
        for ((sum, before), &ty) in sums.zip(types) {
            next.extend(ops::binary(emitter.builder, op, ty, before, sum)?.values());
        }
        Ok(next)
    })
}

/// A few elements combined in a balanced tree, after the initial ones.
fn combined(
    emitter: &mut Emitter<'_>,
    combine: &Combine,
    types: &[ElementType],
    initial: Vec<Element>,
    mut all: Vec<Vec<Element>>,
) -> Result<Vec<Element>> {
    if let Combine::Kind(_, wide) = combine {
        for x in all.iter_mut().flatten() {
            *x = ops::convert(emitter.builder, types[0], *wide, *x)?;
        }
    }
    let pair = |emitter: &mut Emitter<'_>, x: Vec<Element>, y: Vec<Element>| match combine {
        Combine::Kind(op, wide) => Ok(vec![ops::binary(emitter.builder, *op, *wide, x[0], y[0])?]),
        Combine::Computation(to_apply) => apply(emitter, *to_apply, x, y),
    };
    while all.len() > 1 {
        let mut next = Vec::new();
        let mut pairs = all.into_iter();
        while let Some(x) = pairs.next() {
            next.push(match pairs.next() {
                Some(y) => pair(emitter, x, y)?,
                None => x,
            });
        }
        all = next;
    }
    let Some(last) = all.pop() else { return Ok(initial) };
    match combine {
        Combine::Kind(_, wide) => {
            let first = ops::convert(emitter.builder, types[0], *wide, initial[0])?;
            let sum = pair(emitter, vec![first], last)?[0];
            Ok(vec![ops::convert(emitter.builder, *wide, types[0], sum)?])
        }
        Combine::Computation(_) => pair(emitter, initial, last),
    }
}

/// A reducer applied to two lists of elements, here.
pub(crate) fn apply(
    emitter: &mut Emitter<'_>,
    to_apply: ComputationId,
    x: Vec<Element>,
    y: Vec<Element>,
) -> Result<Vec<Element>> {
    let depth = emitter.depth();
    let count = x.len();
    let arguments = x.into_iter().chain(y).map(|element| Placed { element, depth }).collect();
    let frame = emitter.frame_of(to_apply, arguments);
    let id = emitter.module[to_apply].root();
    (0..count)
        .map(|leaf| {
            let node = Node { frame, id, leaf, index: Index::new() };
            Ok(emitter.element(&node)?.element)
        })
        .collect()
}

pub(crate) fn element_of(element_type: ElementType, values: &[Value]) -> Element {
    if element_type.is_complex() {
        Element::Complex(values[0], values[1])
    } else {
        Element::One(values[0])
    }
}

pub(crate) fn elements_of(types: &[ElementType], values: &[Value]) -> Vec<Element> {
    let mut rest = values;
    let mut elements = Vec::new();
    for &element_type in types {
        elements.push(element_of(element_type, rest));
        rest = &rest[if element_type.is_complex() { 2 } else { 1 }..];
    }
    elements
}

/// The function that a computation of two scalars is, if it is one commutative function of both.
pub fn binary_kind(module: &Module, computation: ComputationId) -> Option<BinaryKind> {
    use BinaryKind::*;
    let mut computation = computation;
    // Calls of calls; nobody writes more.
    for _ in 0..8 {
        let parameters = module[computation].parameters();
        let &[first, second] = parameters else { return None };
        let root = module[computation].root();
        let both =
            |operands: &[InstructionId]| operands == [first, second] || operands == [second, first];
        match &module[root].op {
            Op::Binary(Binary { kind }) if both(module[root].operands()) => {
                return match kind {
                    Add | Multiply | Maximum | Minimum | And | Or | Xor => Some(*kind),
                    Atan2 | Complex | Divide | Mulhi | Power | Remainder | ShiftLeft
                    | ShiftRightArithmetic | ShiftRightLogical | Subtract => None,
                };
            }
            Op::Call(call) if module[root].operands() == parameters => computation = call.to_apply,
            Op::Fusion(fusion) if module[root].operands() == parameters => {
                computation = fusion.calls;
            }
            // A narrow float added in f32: what is done anyway.
            Op::Convert(_) => return widened_kind(module, root, first, second),
            _ => return None,
        }
    }
    None
}

fn widened_kind(
    module: &Module,
    root: InstructionId,
    first: InstructionId,
    second: InstructionId,
) -> Option<BinaryKind> {
    use BinaryKind::*;
    let wide = module[root].operands()[0];
    let Op::Binary(Binary { kind }) = module[wide].op else { return None };
    let narrow_type = leaf_shape(&module[root].shape, 0).ok()?.element_type;
    let wide_type = leaf_shape(&module[wide].shape, 0).ok()?.element_type;
    let inner: Vec<InstructionId> = module[wide]
        .operands()
        .iter()
        .filter(|&&id| matches!(module[id].op, Op::Convert(_)))
        .map(|&id| module[id].operands()[0])
        .collect();
    let both = inner == [first, second] || inner == [second, first];
    let narrow = narrow_type.is_float() && narrow_type.bit_width() < 32;
    let fits = both && narrow && wide_type == ElementType::F32;
    (fits && matches!(kind, Add | Multiply | Maximum | Minimum)).then_some(kind)
}

fn identity_exists(kind: BinaryKind, element_type: ElementType) -> bool {
    use BinaryKind::*;
    match kind {
        Add | Multiply => true,
        Maximum | Minimum => !element_type.is_complex(),
        And | Or | Xor => !element_type.is_float() && !element_type.is_complex(),
        _ => false,
    }
}

/// What changes nothing; for a sum of floats that is -0.
pub(crate) fn identity(b: &mut Builder, kind: BinaryKind, element_type: ElementType) -> Element {
    use BinaryKind::*;
    let scalar = scalar_of(element_type);
    let width = element_type.bit_width() as u32;
    let value = match (element_type.class(), kind) {
        (TypeClass::Pred, Multiply | Minimum | And) => 1.0,
        (TypeClass::Pred, _) => 0.0,
        (TypeClass::Complex, Add) => {
            let zero = number(b, scalar, -0.0);
            return Element::Complex(zero, zero);
        }
        (TypeClass::Complex, _) => {
            let (one, zero) = (number(b, scalar, 1.0), number(b, scalar, 0.0));
            return Element::Complex(one, zero);
        }
        (TypeClass::Float, Add) => -0.0,
        (TypeClass::Float, Maximum) => f64::NEG_INFINITY,
        (TypeClass::Float, Minimum) => f64::INFINITY,
        (_, Multiply) => 1.0,
        (TypeClass::Signed, Maximum | Minimum) => {
            let least = 1u64 << (width - 1);
            let bits = if kind == Maximum { least } else { least - 1 };
            // Types below a byte fill it with copies of the sign.
            let held = scalar.bits();
            let bits = if kind == Maximum && held > width { !(least - 1) } else { bits };
            let mask = if held == 64 { u64::MAX } else { (1 << held) - 1 };
            return Element::One(b.constant(scalar, bits & mask));
        }
        (TypeClass::Unsigned, Minimum) | (TypeClass::Unsigned | TypeClass::Signed, And) => {
            let held = if element_type.is_signed() { scalar.bits() } else { width };
            let mask = if held == 64 { u64::MAX } else { (1 << held) - 1 };
            return Element::One(b.constant(scalar, mask));
        }
        (TypeClass::Float | TypeClass::Signed | TypeClass::Unsigned, _) => 0.0,
    };
    Element::One(number(b, scalar, value))
}

/// How many arrays are reduced together.
pub(crate) fn operand_count(module: &Module, id: InstructionId) -> Result<usize> {
    let operands = module[id].operands().len();
    if operands == 0 || !operands.is_multiple_of(2) {
        return Err(Error::invalid_argument("`reduce` has an odd number of operands"));
    }
    Ok(operands / 2)
}
