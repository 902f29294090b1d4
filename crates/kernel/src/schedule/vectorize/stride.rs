//! Elements that lie two to four apart: loads that read whole vectors and pick, and groups of
//! stores that together fill what lies between, as for the parts of complex numbers.

use std::collections::HashMap;

use super::class::{Class, address};
use super::widen::Widen;
use crate::ir::{BinaryOp, Block, Function, Op, Statement, Value};
use crate::types::{Scalar, Type};

/// Steps from lane to lane that are worth picking from whole vectors.
pub(super) fn is_short(step: i64) -> bool {
    (2..=4).contains(&step)
}

/// How many stores may fill what lies between: those for which shuffles are fewer than elements.
fn may_take_turns(step: i64) -> bool {
    is_short(step) || step == 8
}

/// Stores of the body that together write every element: the positions of the statements, in the
/// order of the elements.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) stores: Vec<usize>,
}

impl Group {
    /// The store in whose place all are done.
    pub(super) fn last(&self) -> usize {
        self.stores.iter().copied().max().unwrap_or_default()
    }
}

/// Sums of i64 and constants, all over a function.
#[derive(Default)]
pub(super) struct Sums {
    parts: HashMap<Value, (Value, Value)>,
}

impl Sums {
    pub(super) fn of(function: &Function, body: &Block) -> Sums {
        let mut sums = Sums::default();
        body.walk(&mut |statement| {
            if let Statement::Let { result, op: Op::Binary(BinaryOp::Add, a, b) } = statement
                && function.ty(*result) == Type::I64
            {
                sums.parts.insert(*result, (*a, *b));
            }
        });
        sums
    }

    /// A value as a sum of values and a constant.
    fn terms(&self, constants: &[Option<u64>], value: Value) -> (Vec<Value>, i64) {
        let mut terms = Vec::new();
        let mut constant = 0i64;
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let known = constants.get(value.0 as usize).copied().flatten();
            if let Some(bits) = known {
                constant = constant.wrapping_add(bits as i64);
            } else if let (Some(&(a, b)), true) = (self.parts.get(&value), open.len() < 16) {
                open.extend([a, b]);
            } else {
                terms.push(value);
            }
        }
        terms.sort();
        (terms, constant)
    }
}

/// The groups of stores at the body's top.
pub(super) fn groups(
    function: &Function,
    classes: &impl Fn(Value) -> Class,
    constants: &[Option<u64>],
    sums: &Sums,
    body: &Block,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // Stores by what they have in common, with the constants of their indices.
    let mut open: Vec<(Value, Scalar, Vec<Value>, i64, Vec<(i64, usize)>)> = Vec::new();
    for (position, statement) in body.statements.iter().enumerate() {
        let Statement::Store { base, index, value, mask: None } = statement else { continue };
        let ty = function.ty(*value);
        let Some(Class::Affine(step)) = address(classes(*base), classes(*index), ty) else {
            continue;
        };
        if !may_take_turns(step) || classes(*base) != Class::Uniform {
            continue;
        }
        let (terms, constant) = sums.terms(constants, *index);
        let same = open.iter_mut().find(|known| {
            known.0 == *base && known.1 == ty.scalar && known.2 == terms && known.3 == step
        });
        match same {
            Some(known) => known.4.push((constant, position)),
            None => open.push((*base, ty.scalar, terms, step, vec![(constant, position)])),
        }
    }
    for (base, _, _, step, mut members) in open {
        members.sort();
        let complete = members.len() as i64 == step
            && members.windows(2).all(|pair| pair[1].0 == pair[0].0.wrapping_add(1));
        let group = Group { stores: members.iter().map(|member| member.1).collect() };
        let first = group.stores.iter().copied().min().unwrap_or_default();
        let between = &body.statements[first..=group.last()];
        let quiet = between.iter().enumerate().all(|(distance, statement)| {
            group.stores.contains(&(first + distance)) || is_elsewhere(function, base, statement)
        });
        if complete && quiet {
            groups.push(group);
        }
    }
    groups
}

/// Whether a statement touches no memory at `base`.
fn is_elsewhere(function: &Function, base: Value, statement: &Statement) -> bool {
    let alone = |value: Value| {
        function.parameters.iter().any(|parameter| parameter.value == value && parameter.noalias)
    };
    match statement {
        Statement::Let { op: Op::Load { base: other, .. }, .. } => {
            *other != base && alone(*other) && alone(base)
        }
        Statement::Let { op, .. } => op.is_pure(),
        Statement::For { .. } | Statement::If { .. } => statement
            .blocks()
            .all(|block| block.statements.iter().all(|inner| is_elsewhere(function, base, inner))),
        Statement::Store { .. }
        | Statement::While { .. }
        | Statement::Call { .. }
        | Statement::ParallelCall { .. }
        | Statement::CallRuntime { .. }
        | Statement::ReturnIfNonzero { .. } => false,
    }
}

impl Widen<'_> {
    /// Every `step`th element from `index` on. Nothing behind the last of them is read.
    pub(super) fn load_apart(&mut self, ty: Type, base: Value, index: Value, step: i64) -> Value {
        let lanes = i64::from(ty.lanes);
        // The last vector ends with the last element.
        let start = |k: i64| if k + 1 < step { k * lanes } else { (lanes - 1) * (step - 1) };
        let mut vectors = Vec::new();
        for k in 0..step {
            let index = self.index_plus(index, start(k));
            vectors.push(self.emit(ty, Op::Load { base, index, mask: None }));
        }
        let place = |lane: i64| {
            let k = (lane * step / lanes).min(step - 1);
            (k, (lane * step - start(k)) as u16)
        };
        let mut picked = vectors[0];
        for k in 1..step {
            let pick = |lane: i64| match place(lane) {
                (from, at) if from == k => ty.lanes + at,
                // The first shuffle brings what is in the first vector into place.
                (0, at) if k == 1 => at,
                _ => lane as u16,
            };
            let lanes = (0..lanes).map(pick).collect();
            picked = self.emit(ty, Op::Shuffle(picked, vectors[k as usize], lanes));
        }
        picked
    }

    /// Stores vectors so that their lanes take turns, from `index` on.
    pub(super) fn store_in_turns(&mut self, base: Value, index: Value, vectors: &[Value]) {
        let lanes = i64::from(self.function.ty(vectors[0]).lanes);
        for (k, value) in (0..).zip(self.turns(vectors)) {
            let index = self.index_plus(index, k * lanes);
            self.out.push(Statement::Store { base, index, value, mask: None });
        }
    }

    /// The lanes of the vectors in turn, as vectors.
    fn turns(&mut self, vectors: &[Value]) -> Vec<Value> {
        let ty = self.function.ty(vectors[0]);
        let count = vectors.len();
        if count == 1 {
            return vectors.to_vec();
        }
        if count.is_multiple_of(2) {
            // Every other vector first, and then those two rows in turn.
            let rows = [0, 1].map(|first| {
                let row: Vec<Value> = vectors.iter().copied().skip(first).step_by(2).collect();
                self.turns(&row)
            });
            let mut turns = Vec::new();
            for (&a, &b) in rows[0].iter().zip(&rows[1]) {
                for first in [0, ty.lanes / 2] {
                    let pick = |lane: u16| first + lane / 2 + lane % 2 * ty.lanes;
                    let lanes = (0..ty.lanes).map(pick).collect();
                    turns.push(self.emit(ty, Op::Shuffle(a, b, lanes)));
                }
            }
            return turns;
        }
        let mut turns = Vec::new();
        for k in 0..count {
            let mut merged = vectors[0];
            for (number, &vector) in vectors.iter().enumerate().skip(1) {
                let pick = |lane: u16| {
                    let element = k * usize::from(ty.lanes) + usize::from(lane);
                    let at = (element / count) as u16;
                    match element % count {
                        from if from == number => ty.lanes + at,
                        // The first shuffle brings what is in the first vector into place.
                        0 if number == 1 => at,
                        _ => lane,
                    }
                };
                let lanes = (0..ty.lanes).map(pick).collect();
                merged = self.emit(ty, Op::Shuffle(merged, vector, lanes));
            }
            turns.push(merged);
        }
        turns
    }

    fn index_plus(&mut self, index: Value, distance: i64) -> Value {
        if distance == 0 {
            return index;
        }
        let distance = self.emit_before(Type::I64, Op::Constant { bits: distance as u64 });
        self.emit(Type::I64, Op::Binary(BinaryOp::Add, index, distance))
    }
}
