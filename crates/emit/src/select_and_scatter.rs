//! `select-and-scatter`: each element of the source is combined into the place of the operand's
//! element that its window selects, one after the other.

use rxla_base::{Error, Result};
use rxla_hlo::op::{SelectAndScatter, Window};
use rxla_kernel::{BinaryOp, ComparePredicate, LoopKind, Scalar, Type, UnaryOp, Value};

use crate::affine::linear;
use crate::dynamic::padded_index;
use crate::emitter::{Emitter, Node};
use crate::nest::{Loop, Style};
use crate::plan::NestId;
use crate::reduce::apply;
use crate::scalar::{load, store};
use crate::shapes::array;
use crate::window::{padding_of, place_in, positions};
use crate::{Destination, Element, ops};

/// More elements of a window are not worth a copy of the code each.
const MOST: i64 = 64;
/// Up to so many each is written, whether it is selected or not, where that lets lanes do it.
const FEW: i64 = 16;

/// The element that a window has selected so far.
#[derive(Clone, Copy)]
struct Best {
    element: Element,
    position: Value,
    /// Which of the window's elements it is.
    number: Value,
    /// Whether there is one; `None` for certain.
    found: Option<Value>,
}

/// Combines the source into the destination, which holds the initial value everywhere.
pub(crate) fn run(
    emitter: &mut Emitter<'_>,
    nest: NestId,
    node: &Node,
    op: &SelectAndScatter,
    destination: Destination,
) -> Result<()> {
    let module = emitter.module;
    let operand = array(module.operand_shape(node.id, 0))?;
    let source = array(module.operand_shape(node.id, 1))?;
    let ty = operand.element_type;
    let total: i64 = op.window.dimensions.iter().map(|window| window.size).product();
    if total > MOST {
        return Err(Error::unimplemented(format!(
            "`select-and-scatter` with windows of {total} elements in a kernel"
        )));
    }
    let Destination::Memory(base) = destination else {
        return Err(Error::internal("a `select-and-scatter` in registers"));
    };
    if operand.dims.contains(&0) {
        return Ok(());
    }
    let padding = padding_of(&op.window);
    let mut loops = emitter.loops(nest, &source.dims, LoopKind::Sequential);
    loops.iter_mut().for_each(|each| each.style = Style::Loop(LoopKind::Sequential));
    let lanes = total <= FEW && loops.last().is_some_and(|last| apart(last, &op.window));
    if lanes && let Some(last) = loops.last_mut() {
        last.style = Style::Loop(LoopKind::Vector);
    }
    emitter.nest(nest, source.rank(), &loops, &[], &mut |emitter, index, _| {
        let mut best: Option<Best> = None;
        let mut places = Vec::new();
        for inner in positions(&op.window) {
            let place = place_in(&op.window, index, &inner);
            let padded = padded_index(emitter, &place, &padding, &operand.dims);
            if padded.outside {
                continue;
            }
            let position = emitter.position(&linear(&padded.index, &operand.dims));
            let valid = padded.condition(emitter).map(|condition| condition.0);
            let element = emitter.element(&emitter.operand(node, 0, padded.index))?.element;
            let number = emitter.builder.constant(Scalar::I32, places.len() as u64);
            places.push(position);
            let offered = Best { element, position, number, found: valid };
            best = Some(match best {
                None => offered,
                Some(held) => better(emitter, op, held, offered)?,
            });
        }
        let Some(best) = best else { return Ok(Vec::new()) };
        let update = emitter.operand(node, 1, index.clone());
        if lanes {
            let new = emitter.element(&update)?.element;
            for (number, position) in places.into_iter().enumerate() {
                let old = load(emitter.builder, ty, base, position);
                let sum = apply(emitter, op.scatter, vec![old], vec![new])?[0];
                let b = &mut *emitter.builder;
                let number = b.constant(Scalar::I32, number as u64);
                let mut selected = b.compare(ComparePredicate::Eq, best.number, number);
                if let Some(found) = best.found {
                    selected = b.binary(BinaryOp::And, selected, found);
                }
                let next = ops::select(b, selected, sum, old)?;
                store(b, base, position, next);
            }
            return Ok(Vec::new());
        }
        let combine = |emitter: &mut Emitter<'_>| {
            let new = emitter.element(&update)?.element;
            let old = load(emitter.builder, ty, base, best.position);
            let sum = apply(emitter, op.scatter, vec![old], vec![new])?;
            store(emitter.builder, base, best.position, sum[0]);
            Ok(Vec::new())
        };
        match best.found {
            None => combine(emitter),
            Some(found) => emitter.if_else(found, combine, |_| Ok(Vec::new())),
        }
    })?;
    Ok(())
}

/// Whether windows next to each other along a loop have no element in common, so that lanes write
/// to places of their own.
fn apart(each: &Loop, window: &Window) -> bool {
    each.members.iter().all(|member| {
        let window = &window.dimensions[member.1.dimension];
        let span = (window.size - 1) * window.window_dilation + 1;
        let plain =
            window.padding_low == 0 && window.padding_high == 0 && window.base_dilation == 1;
        plain && window.stride >= span
    })
}

/// What a window has selected once another element is offered.
fn better(
    emitter: &mut Emitter<'_>,
    op: &SelectAndScatter,
    held: Best,
    offered: Best,
) -> Result<Best> {
    let kept = apply(emitter, op.select, vec![held.element], vec![offered.element])?[0].one()?;
    let b = &mut *emitter.builder;
    // The offered one is taken if it is there and nothing better is held.
    let keeps = match held.found {
        None => kept,
        Some(found) => b.binary(BinaryOp::And, found, kept),
    };
    let mut takes = b.unary(UnaryOp::Not, keeps);
    if let Some(valid) = offered.found {
        takes = b.binary(BinaryOp::And, valid, takes);
    }
    debug_assert_eq!(b.ty(takes), Type::I1);
    let element = ops::select(b, takes, offered.element, held.element)?;
    let position = b.select(takes, offered.position, held.position);
    let number = b.select(takes, offered.number, held.number);
    let found = match (held.found, offered.found) {
        (Some(held), Some(offered)) => Some(b.binary(BinaryOp::Or, held, offered)),
        (None, _) | (_, None) => None,
    };
    Ok(Best { element, position, number, found })
}
