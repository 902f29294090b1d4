//! What loops carry: the elements of a state that is a tuple, and giving a loop another state.

use rustc_hash::FxHashSet;
use rxla_hlo::op::While;
use rxla_hlo::{ComputationId, InstructionId, Module, Op, Shape};

use crate::effects::Effects;
use crate::view;

/// A `while` whose state is a tuple that is only taken apart, and whose body puts the next one
/// together. Nothing else waits for it, and it is not sharded.
pub(crate) struct Loop {
    pub(crate) site: InstructionId,
    pub(crate) condition: ComputationId,
    pub(crate) body: ComputationId,
}

/// What stands for an element of the old state after the loop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The element of the new state with this index.
    Element(usize),
    /// What it was before the loop.
    Initial,
}

pub(crate) fn find(m: &Module, site: InstructionId) -> Option<Loop> {
    let Op::While(op) = &m[site].op else { return None };
    let (condition, body) = (op.condition, op.body);
    m[site].shape.as_tuple()?;
    let tuple = matches!(m[m[body].root()].op, Op::Tuple(_));
    let apart = [condition, body].iter().all(|&c| is_taken_apart(m, m[c].parameters()[0]));
    let bound = |i| view::has_control_edges(m, i) || is_sharded(m, i);
    let free = !bound(site)
        && !m[site].users().iter().any(|&user| bound(user))
        && !bound(m[body].root())
        && ![condition, body].iter().any(|&c| bound(m[c].parameters()[0]));
    (tuple && apart && free).then_some(Loop { site, condition, body })
}

/// The bodies of the loops in some computations that `suits` says.
pub(crate) fn bodies(
    m: &Module,
    computations: &[ComputationId],
    suits: impl Fn(InstructionId) -> bool,
) -> FxHashSet<ComputationId> {
    let instructions = computations.iter().flat_map(|&computation| m[computation].instructions());
    let body = |&i: &InstructionId| match &m[i].op {
        Op::While(op) if suits(i) => Some(op.body),
        _ => None,
    };
    instructions.filter_map(body).collect()
}

fn is_sharded(m: &Module, i: InstructionId) -> bool {
    m[i].info().is_some_and(|info| info.sharding.is_some())
}

fn is_taken_apart(m: &Module, state: InstructionId) -> bool {
    !view::is_root(m, state)
        && m[state].users().iter().all(|&user| matches!(m[user].op, Op::GetTupleElement(_)))
}

/// The element that a reading of `state` reads.
pub(crate) fn element(m: &Module, i: InstructionId, state: InstructionId) -> Option<usize> {
    let Op::GetTupleElement(op) = &m[i].op else { return None };
    (view::operand(m, i, 0) == state).then(|| usize::try_from(op.index).ok()).flatten()
}

impl Loop {
    pub(crate) fn width(&self, m: &Module) -> usize {
        m[self.site].shape.as_tuple().map_or(0, <[Shape]>::len)
    }

    /// Whether the body hands the element on as it is.
    pub(crate) fn passes_through(&self, m: &Module, index: usize) -> bool {
        let state = m[self.body].parameters()[0];
        element(m, m[m[self.body].root()].operands()[index], state) == Some(index)
    }

    /// The element before the loop, if it is at hand.
    pub(crate) fn initial(&self, m: &Module, index: usize) -> Option<InstructionId> {
        let init = view::operand(m, self.site, 0);
        let Op::Tuple(_) = &m[init].op else { return None };
        m[init].operands().get(index).copied()
    }

    /// The element before the loop, taken out of the tuple where that is needed.
    pub(super) fn take_initial(&self, m: &mut Module, index: usize) -> InstructionId {
        match self.initial(m, index) {
            Some(found) => found,
            None => {
                let init = view::operand(m, self.site, 0);
                view::add(m, self.site, Op::get_tuple_element(index as i64), &[init])
            }
        }
    }

    /// Puts a loop of these computations, which start from `elements`, in place of this one.
    pub(super) fn replace(
        &self,
        m: &mut Module,
        condition: ComputationId,
        body: ComputationId,
        elements: &[InstructionId],
        places: &[Place],
    ) -> InstructionId {
        let init = view::add(m, self.site, Op::tuple(), elements);
        let shape = m[init].shape.clone();
        let site = m.add_like(self.site, Op::While(While { condition, body }), shape, &[init]);
        if m[site].info().is_some() {
            m[site].info_mut().original_value = None;
        }
        for user in m[self.site].users().to_vec() {
            let Some(index) = element(m, user, self.site) else { continue };
            match places[index] {
                Place::Element(new) => {
                    m[user].op = Op::get_tuple_element(new as i64);
                    m.set_operand(user, 0, site);
                }
                Place::Initial => {
                    let value = self.take_initial(m, index);
                    m.replace_all_uses(user, value);
                    m.remove_instruction(user);
                }
            }
        }
        if !m[self.site].users().is_empty() || view::is_root(m, self.site) {
            let whole: Vec<InstructionId> = (0..places.len())
                .map(|index| match places[index] {
                    Place::Element(new) => {
                        view::add(m, self.site, Op::get_tuple_element(new as i64), &[site])
                    }
                    Place::Initial => self.take_initial(m, index),
                })
                .collect();
            let whole = view::add(m, self.site, Op::tuple(), &whole);
            m.replace_all_uses(self.site, whole);
        }
        m.remove_instruction(self.site);
        site
    }
}

/// A copy of a computation under the same name, made unique, with where each instruction went.
pub(super) fn copy(
    m: &mut Module,
    computation: ComputationId,
) -> (ComputationId, Vec<(InstructionId, InstructionId)>) {
    let name = m[computation].name().to_owned();
    let originals = m.post_order(computation);
    let copy = m.clone_computation(computation, &name);
    // Instructions are copied in post-order.
    let pairs = originals.into_iter().zip(m[copy].instructions().iter().copied()).collect();
    (copy, pairs)
}

/// Makes the root of a body a tuple of these elements.
pub(super) fn set_results(m: &mut Module, body: ComputationId, results: &[InstructionId]) {
    let old = m[body].root();
    let shape = Shape::tuple(results.iter().map(|&i| m[i].shape.clone()));
    let new = m.add_like(old, Op::tuple(), shape, results);
    if m[new].info().is_some() {
        m[new].info_mut().original_value = None;
    }
    m.set_root(new);
    if m[old].users().is_empty() {
        m.remove_instruction(old);
    }
}

/// Removes what nobody uses from a computation.
pub(super) fn sweep(m: &mut Module, effects: &Effects, computation: ComputationId) {
    let mut order = m.post_order(computation);
    order.reverse();
    for i in order {
        let used = !m[i].users().is_empty() || view::is_root(m, i);
        if !used && !matches!(m[i].op, Op::Parameter(_)) && !effects.has(m, i) {
            m.remove_instruction(i);
        }
    }
}
