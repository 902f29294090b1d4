//! `while-loop-unroller`, XLA's WhileLoopUnroller: the few steps of a small loop are written one after the other
//! where each is simpler if it is seen with its own constants.
//!
//! Constants may trade places in the state. That is how random bits come out of JAX: five steps of threefry, whose
//! rotations alternate. Written out they are one expression with rotations by constants, which fuses with what it
//! starts from and what reads it. Or steps of a loop within another read and write what has their number, as the
//! stages of a Runge-Kutta method do for many systems side by side: then parts are known, and rows can be seen to have
//! nothing to do with each other.

use rustc_hash::FxHashMap;
use rxla_base::Result;
use rxla_hlo::{InstructionId, Module, Op};

use super::carried::{self, Loop};
use super::trip_count::trip_count;
use crate::effects::unfused_computations;
use crate::pass::{Context, Pass};
use crate::simplify::call_inliner::{MAX_INSTRUCTIONS, inherit_metadata};
use crate::view;

pub struct WhileLoopUnroller;

/// More steps are better left a loop, and so are more instructions in all of them.
const MOST_STEPS: usize = 8;
const MOST_WRITTEN: usize = 512;
/// Instructions of steps that read by number, of which more is left when they are written out.
const MOST_NUMBERED: usize = 384;
/// Elements of an array that is worth it.
const LARGE: i64 = 4096;
/// Elements of what a product in such steps may have on one side.
const SMALL_FACTOR: i64 = 1024;

impl Pass for WhileLoopUnroller {
    fn name(&self) -> &'static str {
        "while-loop-unroller"
    }

    fn class(&self) -> &'static str {
        "WhileLoopUnroller"
    }

    fn run(&self, module: &mut Module, cx: &Context) -> Result<u64> {
        let mut made = 0;
        let computations = unfused_computations(module);
        let bodies = carried::bodies(module, &computations, |_| true);
        for computation in computations {
            for site in module.post_order(computation) {
                // A reading of a loop's result goes with the loop.
                if module.is_removed(site) {
                    continue;
                }
                let Some(found) = carried::find(module, site) else { continue };
                let inside = bodies.contains(&computation);
                let Some(steps) = steps(module, &found, inside) else { continue };
                if module.instruction_capacity() > MAX_INSTRUCTIONS || !cx.spend() {
                    return Ok(made);
                }
                unroll(module, &found, steps);
                made += 1;
            }
        }
        Ok(made)
    }
}

/// How many steps are written out, if they are.
fn steps(m: &Module, found: &Loop, is_inside: bool) -> Option<usize> {
    let (condition, body) = (m[found.condition].instructions(), m[found.body].instructions());
    let steps = usize::try_from(trip_count(m, found.site)?).ok()?;
    let written = steps * body.len();
    let few = (2..=MOST_STEPS).contains(&steps) && written <= MOST_WRITTEN;
    let root = m[found.body].root();
    let free =
        |&i: &InstructionId| !view::has_control_edges(m, i) && !m[i].operands().contains(&root);
    if !few || !condition.iter().all(|&i| is_plain(&m[i].op)) || !body.iter().all(free) {
        return None;
    }
    let plain = body.iter().all(|&i| is_plain(&m[i].op)) && trades(m, found);
    let numbered = || {
        let numbers = body.iter().any(|&i| is_numbered(&m[i].op));
        let suit = |&i: &InstructionId| suits_numbers(m, i) || is_plain(&m[i].op);
        let worth = is_inside && written <= MOST_NUMBERED && changes_much(m, found);
        worth && numbers && body.iter().all(suit)
    };
    (plain || numbered()).then_some(steps)
}

/// What takes next to no time to compile and fuses.
fn is_plain(op: &Op) -> bool {
    op.is_elementwise() && !matches!(op, Op::Map(_))
        || matches!(
            op,
            Op::Parameter(_)
                | Op::GetTupleElement(_)
                | Op::Tuple(_)
                | Op::Constant(_)
                | Op::Broadcast(_)
                | Op::Iota(_)
                | Op::Reshape(_)
                | Op::Slice(_)
        )
}

/// What is simpler with constants for numbers.
fn is_numbered(op: &Op) -> bool {
    matches!(op, Op::DynamicSlice(_) | Op::DynamicUpdateSlice(_) | Op::Scatter(_))
}

/// Whether a large array goes from step to step: small ones are not worth compiling each step.
fn changes_much(m: &Module, found: &Loop) -> bool {
    let results = m[m[found.body].root()].operands().iter().enumerate();
    let mut changed = results.filter(|&(index, _)| !found.passes_through(m, index));
    changed.any(|(_, &result)| view::elements(m, result) >= LARGE)
}

/// What may stand beside that: other passes do better with products of large arrays in a loop.
fn suits_numbers(m: &Module, i: InstructionId) -> bool {
    let is_small = |number: usize| {
        (1..=SMALL_FACTOR).contains(&view::elements(m, view::operand(m, i, number)))
    };
    match &m[i].op {
        Op::Concatenate(_) | Op::Pad(_) | Op::Reduce(_) | Op::Reverse(_) | Op::Transpose(_) => true,
        Op::Dot(_) => is_small(0) || is_small(1),
        op => is_numbered(op),
    }
}

/// Whether a constant is handed on at another place than it is read from.
fn trades(m: &Module, found: &Loop) -> bool {
    let state = m[found.body].parameters()[0];
    let results = m[m[found.body].root()].operands();
    results.iter().enumerate().any(|(index, &result)| {
        carried::element(m, result, state).is_some_and(|from| {
            let constant =
                |index| found.initial(m, index).is_some_and(|i| matches!(m[i].op, Op::Constant(_)));
            from != index && constant(from) && constant(index)
        })
    })
}

/// What all steps compute alike, such as what they know of constants, is there once.
type Known = FxHashMap<(InstructionId, Vec<InstructionId>), InstructionId>;

fn unroll(m: &mut Module, found: &Loop, steps: usize) {
    let site = found.site;
    let (state, root) = (m[found.body].parameters()[0], m[found.body].root());
    let (order, results) = (m.post_order(found.body), m[root].operands().to_vec());
    let mut values: Vec<InstructionId> =
        (0..found.width(m)).map(|index| found.take_initial(m, index)).collect();
    let mut known = Known::default();
    for _ in 0..steps {
        let mut made: FxHashMap<InstructionId, InstructionId> = FxHashMap::default();
        for &i in order.iter().filter(|&&i| i != state && i != root) {
            let value = match carried::element(m, i, state) {
                Some(index) => values[index],
                None => {
                    let operands = m[i].operands().iter().map(|operand| made[operand]).collect();
                    again(m, site, i, operands, &mut known)
                }
            };
            made.insert(i, value);
        }
        values = results.iter().map(|result| made[result]).collect();
    }
    for user in m[site].users().to_vec() {
        if let Some(index) = carried::element(m, user, site) {
            m.replace_all_uses(user, values[index]);
            m.remove_instruction(user);
        }
    }
    if !m[site].users().is_empty() || view::is_root(m, site) {
        let whole = view::add(m, site, Op::tuple(), &values);
        m.replace_all_uses(site, whole);
    }
    m.remove_instruction(site);
}

/// An instruction of the body beside the loop.
fn again(
    m: &mut Module,
    site: InstructionId,
    i: InstructionId,
    operands: Vec<InstructionId>,
    known: &mut Known,
) -> InstructionId {
    *known.entry((i, operands)).or_insert_with_key(|(_, operands)| {
        let copy = m.copy_instruction(i, m[site].parent(), operands);
        inherit_metadata(m, site, copy);
        copy
    })
}
