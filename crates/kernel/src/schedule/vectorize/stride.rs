//! Elements that lie a few apart: loads that read whole vectors and pick, groups of loads that read
//! most of what lies between, as of short rows, and groups of stores that together fill it, as for
//! the parts of complex numbers.

use std::collections::HashMap;

use super::class::{Class, address};
use super::widen::Widen;
use crate::ir::{BinaryOp, Block, Function, Op, Statement, Value};
use crate::types::{Scalar, Type};

/// Steps from lane to lane that are worth picking from whole vectors.
pub(super) fn is_short(step: i64) -> bool {
    (2..=4).contains(&step)
}

/// Stores that fill what lies between, at most.
const MOST_TURNS: i64 = 16;

/// What a vector takes of so many whose lanes take turns: halves are put together by one shuffle, and an odd
/// number by one that costs `any` for each of the others.
fn cost_of_turns(count: i64, any: i64) -> i64 {
    if count % 2 == 0 { 1 + cost_of_turns(count / 2, any) } else { any * (count - 1) }
}

/// Stores of the body that together write every element: the positions of the statements, in the
/// order of the elements.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) stores: Vec<usize>,
}

impl Group {
    /// Whether shuffles are fewer than instructions that store elements one by one, in registers of so many bytes. Where these
    /// have 64, that is one an element, and any lanes of two are put into one by one; else two, and about three.
    pub(super) fn suits(&self, lanes: u16, vector_bytes: usize) -> bool {
        let count = self.stores.len() as i64;
        let (any, apart) = if vector_bytes >= 64 { (1, 1) } else { (3, 2) };
        is_short(count) || cost_of_turns(count, any) <= apart * i64::from(lanes)
    }

    /// The store in whose place all are done.
    pub(super) fn last(&self) -> usize {
        self.stores.iter().copied().max().unwrap_or_default()
    }
}

/// Loads of the body that together read most of what lies between them: what is read is read once, as
/// vectors side by side, and dealt out.
#[derive(Clone, Debug)]
pub(super) struct LoadGroup {
    /// What is loaded in the order of the elements, each with its distance from the first element.
    pub(super) loads: Vec<(Value, i64)>,
    /// The load in whose place all are done.
    pub(super) first: Value,
    pub(super) step: i64,
}

/// Steps up to which vectors side by side are read for elements apart: for one load, and for more.
const ONE_LOAD: i64 = 8;
const SEVERAL_LOADS: i64 = 16;

impl LoadGroup {
    pub(super) fn has(&self, value: Value) -> bool {
        self.loads.iter().any(|load| load.0 == value)
    }

    /// Whether vectors of so many lanes are read: more make the last of them end with the group.
    pub(super) fn suits(&self, lanes: u16) -> bool {
        i64::from(lanes) >= self.step
    }

    /// About how many shuffles a round takes.
    pub(super) fn shuffles(&self) -> usize {
        let levels = 64 - self.step.leading_zeros() as usize;
        levels * self.loads.len()
    }
}

/// What accesses of one group have in common.
#[derive(PartialEq)]
struct Place {
    base: Value,
    scalar: Scalar,
    /// The sum of these, and of a constant, is the index.
    terms: Vec<Value>,
    step: i64,
}

/// The constants of the indices, and the positions of the statements.
type Open = (Place, Vec<(i64, usize)>);

impl Place {
    fn join(self, open: &mut Vec<Open>, member: (i64, usize)) {
        match open.iter_mut().find(|(place, _)| *place == self) {
            Some((_, members)) => members.push(member),
            None => open.push((self, vec![member])),
        }
    }
}

/// The groups of loads in a body, those in loops inside of it included.
pub(super) fn load_groups(
    function: &Function,
    classes: &impl Fn(Value) -> Class,
    constants: &[Option<u64>],
    sums: &Sums,
    body: &Block,
) -> Vec<LoadGroup> {
    let mut groups = Vec::new();
    // Loads by what they have in common, with the constants of their indices.
    let mut open: Vec<Open> = Vec::new();
    let close = |open: &mut Vec<Open>| {
        let mut groups = Vec::new();
        for (Place { step, .. }, mut members) in open.drain(..) {
            members.sort();
            let mut rest = &members[..];
            while let Some(&(start, _)) = rest.first() {
                let within = |member: &&(i64, usize)| member.0.wrapping_sub(start) < step;
                let (own, after) = rest.split_at(rest.iter().take_while(within).count());
                rest = after;
                let several = own.iter().any(|member| member.0 != start);
                if several || (step <= ONE_LOAD && !is_short(step)) {
                    let loaded = |member: &(i64, usize)| match &body.statements[member.1] {
                        Statement::Let { result, .. } => *result,
                        _ => unreachable!("a load is a value"),
                    };
                    let first = own.iter().min_by_key(|member| member.1).map(loaded);
                    let loads = own.iter().map(|member| (loaded(member), member.0 - start));
                    groups.extend(first.map(|first| LoadGroup {
                        loads: loads.collect(),
                        first,
                        step,
                    }));
                }
            }
        }
        groups
    };
    for (position, statement) in body.statements.iter().enumerate() {
        let Statement::Let { result, op } = statement else {
            // What stores may store what is loaded after it.
            groups.extend(close(&mut open));
            if let Statement::For { body, .. } = statement {
                groups.extend(load_groups(function, classes, constants, sums, body));
            }
            continue;
        };
        let Op::Load { base, index, mask: None } = op else { continue };
        let ty = function.ty(*result);
        let Some(Class::Affine(step)) = address(classes(*base), classes(*index), ty) else {
            continue;
        };
        let data = classes(*result) == Class::Varying && classes(*base) == Class::Uniform;
        if !(2..=SEVERAL_LOADS).contains(&step) || !data {
            continue;
        }
        let (terms, constant) = sums.terms(constants, *index);
        let place = Place { base: *base, scalar: ty.scalar, terms, step };
        place.join(&mut open, (constant, position));
    }
    groups.extend(close(&mut open));
    groups
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
    let mut open: Vec<Open> = Vec::new();
    for (position, statement) in body.statements.iter().enumerate() {
        let Statement::Store { base, index, value, mask: None } = statement else { continue };
        let ty = function.ty(*value);
        let Some(Class::Affine(step)) = address(classes(*base), classes(*index), ty) else {
            continue;
        };
        if !(2..=MOST_TURNS).contains(&step) || classes(*base) != Class::Uniform {
            continue;
        }
        let (terms, constant) = sums.terms(constants, *index);
        let place = Place { base: *base, scalar: ty.scalar, terms, step };
        place.join(&mut open, (constant, position));
    }
    for (Place { base, step, .. }, mut members) in open {
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

    /// The elements at each of `distances` from `index` on, and `step` apart. Nothing behind the last
    /// of them is read.
    pub(super) fn load_dealt(
        &mut self,
        ty: Type,
        base: Value,
        index: Value,
        step: i64,
        distances: &[i64],
    ) -> Vec<Value> {
        let lanes = i64::from(ty.lanes);
        let widest = distances.iter().copied().max().unwrap_or_default();
        let missing = step - 1 - widest;
        let mut vectors = Vec::new();
        for k in 0..step {
            // The last vector ends with the last element, and is moved to where it would be.
            let back = if k + 1 < step { 0 } else { missing };
            let at = self.index_plus(index, k * lanes - back);
            let mut vector = self.emit(ty, Op::Load { base, index: at, mask: None });
            if back > 0 {
                let moved = (0..lanes).map(|lane| (lane + back).min(lanes - 1) as u16).collect();
                vector = self.emit(ty, Op::Shuffle(vector, vector, moved));
            }
            vectors.push(vector);
        }
        let dealt = self.dealt(&vectors);
        distances.iter().map(|&distance| dealt[distance as usize]).collect()
    }

    /// Of vectors side by side every `n`th element, where `n` is their number: those from the first
    /// on, those from the second on, and so on.
    fn dealt(&mut self, vectors: &[Value]) -> Vec<Value> {
        let count = vectors.len();
        if count == 1 {
            return vectors.to_vec();
        }
        let ty = self.function.ty(vectors[0]);
        if count.is_multiple_of(2) {
            let rows = [0, 1].map(|first| {
                let mut row = Vec::new();
                for pair in vectors.chunks(2) {
                    let lanes = (0..ty.lanes).map(|lane| 2 * lane + first).collect();
                    row.push(self.emit(ty, Op::Shuffle(pair[0], pair[1], lanes)));
                }
                self.dealt(&row)
            });
            return rows[0].iter().zip(&rows[1]).flat_map(|(&a, &b)| [a, b]).collect();
        }
        let mut dealt = Vec::new();
        for first in 0..count {
            let place = |lane: u16| {
                let element = usize::from(lane) * count + first;
                (element / usize::from(ty.lanes), (element % usize::from(ty.lanes)) as u16)
            };
            let mut merged = vectors[0];
            for (number, &vector) in vectors.iter().enumerate().skip(1) {
                let pick = |lane: u16| match place(lane) {
                    (from, at) if from == number => ty.lanes + at,
                    // The first shuffle brings what is in the first vector into place.
                    (0, at) if number == 1 => at,
                    _ => lane,
                };
                let lanes = (0..ty.lanes).map(pick).collect();
                merged = self.emit(ty, Op::Shuffle(merged, vector, lanes));
            }
            dealt.push(merged);
        }
        dealt
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

    pub(super) fn index_plus(&mut self, index: Value, distance: i64) -> Value {
        if distance == 0 {
            return index;
        }
        let distance = self.emit_before(Type::I64, Op::Constant { bits: distance as u64 });
        self.emit(Type::I64, Op::Binary(BinaryOp::Add, index, distance))
    }
}
