//! When a loop over rows ends: after so many steps, or when there is no row left that goes on.
//!
//! A `while_loop` under `vmap` is of the second kind. Its condition asks whether any row goes on; its body computes
//! the same for each row and leaves those as they are that do not. So it makes no difference to a row how
//! many steps are made for others after its last.

use rustc_hash::FxHashSet;
use rxla_hlo::{BinaryKind, InstructionId, Module, Op};

use super::loop_rows::{Rows, is_cut};
use crate::algebraic::reductions::reducer;
use crate::control::carried::{Loop, element};
use crate::control::trip_count::{Counter, counter_of};
use crate::view;

pub(super) enum Ending {
    Counted(Counter),
    /// The truth values of the body that say which rows go on.
    Rows(InstructionId),
}

impl Ending {
    pub(super) fn of(m: &Module, found: &Loop) -> Option<Ending> {
        match counter_of(m, found.site) {
            Some(counter) => Some(Ending::Counted(counter)),
            None => {
                let any = any_row(m, found)?;
                let results = m[m[found.body].root()].operands();
                let going = results.iter().find_map(|&result| kept_where(m, result))?;
                is_same(m, found, any, going).then_some(Ending::Rows(going))
            }
        }
    }

    /// The element of the state that counts.
    pub(super) fn counter(&self) -> Option<&Counter> {
        match self {
            Ending::Counted(counter) => Some(counter),
            Ending::Rows(_) => None,
        }
    }

    /// Whether rows that are cut so end so, each by itself.
    pub(super) fn suits(&self, m: &Module, found: &Loop, rows: &Rows) -> bool {
        let Ending::Rows(going) = self else { return true };
        let state = m[found.body].parameters()[0];
        let results = m[m[found.body].root()].operands();
        let stay = rows.state.iter().all(|(&index, axes)| {
            let result = results[index];
            let before = || element(m, view::operand(m, result, 2), state);
            is_cut(axes) && kept_where(m, result) == Some(*going) && before() == Some(index)
        });
        stay && rows.wanted[going].len() == 1
    }
}

/// What a condition asks for any of; large arrays are asked in two steps.
fn any_row(m: &Module, found: &Loop) -> Option<InstructionId> {
    let root = m[found.condition].root();
    let mut tested = matches!(m[root].op, Op::Reduce(_)).then_some(root)?;
    loop {
        match &m[tested].op {
            Op::Reduce(op)
                if reducer(m, op.to_apply) == Some(BinaryKind::Or)
                    && m[tested].operands().len() == 2
                    && view::is_false(m, view::operand(m, tested, 1)) => {}
            Op::Reshape(_) => {}
            _ => break,
        }
        tested = view::operand(m, tested, 0);
    }
    (tested != root && view::dims(m, root)?.is_empty()).then_some(tested)
}

/// The truth values that say of which rows a result is another than before.
fn kept_where(m: &Module, result: InstructionId) -> Option<InstructionId> {
    let Op::Select(_) = &m[result].op else { return None };
    let mut truth = view::operand(m, result, 0);
    if let Op::Broadcast(_) = &m[truth].op {
        truth = view::operand(m, truth, 0);
    }
    Some(truth)
}

/// Whether a value of the condition is one of the body, of the same state.
fn is_same(m: &Module, found: &Loop, tested: InstructionId, computed: InstructionId) -> bool {
    let states = [found.condition, found.body].map(|computation| m[computation].parameters()[0]);
    let mut pairs = vec![(tested, computed)];
    let mut seen = FxHashSet::default();
    while let Some(pair) = pairs.pop() {
        if !seen.insert(pair) {
            continue;
        }
        let (a, b) = pair;
        let alike = match (&m[a].op, &m[b].op) {
            (Op::GetTupleElement(_), Op::GetTupleElement(_)) => {
                let place = element(m, a, states[0]);
                if place.is_none() || place != element(m, b, states[1]) {
                    return false;
                }
                continue;
            }
            (Op::Reduce(one), Op::Reduce(other)) => {
                let kind = reducer(m, one.to_apply);
                kind.is_some_and(|kind| Op::binary(kind).is_commutative())
                    && kind == reducer(m, other.to_apply)
                    && one.dimensions == other.dimensions
            }
            (one, other) => one == other && one.called_computations().is_empty(),
        };
        let (ours, others) = (m[a].operands(), m[b].operands());
        if !alike || !m[a].shape.compatible(&m[b].shape) || ours.len() != others.len() {
            return false;
        }
        pairs.extend(ours.iter().copied().zip(others.iter().copied()));
    }
    true
}
