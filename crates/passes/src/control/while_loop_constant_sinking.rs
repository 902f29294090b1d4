//! `while-loop-constant-sinking`, XLA's WhileLoopConstantSinking: a constant that a loop hands on as it
//! is, or the same number everywhere, becomes a constant of its body and its condition, where rules see it.
//! Large ones stay outside: they would be there twice.

use std::sync::Arc;

use rxla_base::Result;
use rxla_hlo::{ComputationId, InstructionId, Literal, Module, Op, Shape};

use super::carried::{self, Loop, Place};
use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::MAX_INSTRUCTIONS;
use crate::view;

pub struct WhileLoopConstantSinking;

impl Pass for WhileLoopConstantSinking {
    fn name(&self) -> &'static str {
        "while-loop-constant-sinking"
    }

    fn class(&self) -> &'static str {
        "WhileLoopConstantSinking"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        for computation in unfused_computations(module) {
            for site in module.post_order(computation) {
                let Some(found) = carried::find(module, site) else { continue };
                let constants = constants(module, &found);
                if constants.is_empty() || module.instruction_capacity() > MAX_INSTRUCTIONS {
                    continue;
                }
                if !cx.spend() {
                    return Ok(made);
                }
                sink(module, &found, &constants);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// Bytes of a constant that is sunk, at most.
const MOST_BYTES: usize = 4096;

/// An element of the state, and its value: a literal, or what is broadcast to a shape.
struct Constant {
    index: usize,
    literal: Arc<Literal>,
    broadcast: Option<(Op, Shape)>,
}

/// The elements that are constants and that somebody in the loop reads.
fn constants(m: &Module, found: &Loop) -> Vec<Constant> {
    (0..found.width(m))
        .filter(|&index| {
            found.passes_through(m, index)
                && [found.condition, found.body].iter().any(|&c| is_read(m, c, index))
        })
        .filter_map(|index| {
            let mut initial = found.initial(m, index)?;
            let mut broadcast = None;
            if let Op::Broadcast(_) = m[initial].op {
                broadcast = Some((m[initial].op.clone(), m[initial].shape.clone()));
                initial = view::operand(m, initial, 0);
            }
            let Op::Constant(op) = &m[initial].op else { return None };
            let bytes = op.literal.as_array().map_or(0, |array| array.bytes().len());
            (bytes <= MOST_BYTES).then(|| Constant {
                index,
                literal: op.literal.clone(),
                broadcast,
            })
        })
        .collect()
}

fn is_read(m: &Module, computation: ComputationId, index: usize) -> bool {
    readings(m, computation, index).into_iter().any(|i| {
        m[i].users().iter().any(|&user| !is_result(m, user)) || is_tested(m, computation, i)
    })
}

/// The instructions that take the element out of the state.
fn readings(m: &Module, computation: ComputationId, index: usize) -> Vec<InstructionId> {
    let state = m[computation].parameters()[0];
    let users = m[state].users().iter().copied();
    users.filter(|&user| carried::element(m, user, state) == Some(index)).collect()
}

/// Whether this is the tuple that a body returns: what is handed on there stays as it is.
fn is_result(m: &Module, i: InstructionId) -> bool {
    view::is_root(m, i) && matches!(m[i].op, Op::Tuple(_))
}

/// Whether the element alone decides whether the loop goes on.
fn is_tested(m: &Module, computation: ComputationId, i: InstructionId) -> bool {
    m[computation].root() == i
}

fn sink(m: &mut Module, found: &Loop, constants: &[Constant]) {
    let (condition, _) = carried::copy(m, found.condition);
    let (body, _) = carried::copy(m, found.body);
    for computation in [condition, body] {
        for constant in constants {
            if is_read(m, computation, constant.index) {
                sink_into(m, computation, constant);
            }
        }
    }
    let width = found.width(m);
    let elements: Vec<InstructionId> =
        (0..width).map(|index| found.take_initial(m, index)).collect();
    let places: Vec<Place> = (0..width).map(Place::Element).collect();
    found.replace(m, condition, body, &elements, &places);
}

fn sink_into(m: &mut Module, computation: ComputationId, sunk: &Constant) {
    let mut constant = m.add_constant(computation, Literal::clone(&sunk.literal));
    if let Some((op, shape)) = &sunk.broadcast {
        constant = view::add_with_shape(m, constant, op.clone(), shape.clone(), &[constant]);
    }
    for reading in readings(m, computation, sunk.index) {
        for user in m[reading].users().to_vec() {
            if is_result(m, user) {
                continue;
            }
            for place in 0..m[user].operands().len() {
                if view::operand(m, user, place) == reading {
                    m.set_operand(user, place, constant);
                }
            }
        }
        if m[computation].root() == reading {
            m.set_root(constant);
        }
    }
}
