//! Loops marked `vector` become loops over lanes, with what is left over done by narrower ones and
//! at last by a plain loop; of a constant count the last few by one vector of as many lanes, if it suits.
//!
//! A value of the body is the same in all lanes and stays a scalar, or an index that grows by a
//! constant from lane to lane and stays one too, or becomes a vector. Accesses to neighbouring
//! elements load and store vectors side by side, others gather and scatter. A loop inside, if its
//! bounds are the same in all lanes, runs as it is, on vectors. Conditions that differ between lanes
//! become masks and selects.
//!
//! Reductions run in every lane, and in several independent vectors where the body is small, and
//! are combined in a fixed tree, so results depend on the bounds and on the width alone.
//!
//! A loop for which none of this works becomes a sequential one.

mod class;
mod reduction;
mod stride;
#[cfg(test)]
mod tests;
mod widen;
mod width;

use self::class::{Class, Classes};
use self::reduction::{Reduction, Selection, identity, recognise};
use self::stride::{Group, LoadGroup, Sums, groups, load_groups};
use self::widen::Widen;
use super::{Copies, Target, in_turns};
use crate::ir::{BinaryOp, Block, Carried, Function, LoopKind, Op, Statement, Value};
use crate::types::{Scalar, Type};
use crate::walk::Renaming;

/// Runs every loop marked `vector` in lanes, where that can be done.
pub fn vectorize(function: &mut Function, target: &Target) {
    let mut body = std::mem::take(&mut function.body);
    let constants = constants(function, &body);
    let sums = Sums::of(function, &body);
    let vector_bytes = usize::try_from(target.vector_bits / 8).unwrap_or(16);
    let copies = target.copies;
    let twos = twos(function, &body);
    let mut vectorizer = Vectorizer { function, constants, twos, sums, vector_bytes, copies };
    vectorizer.block(&mut body);
    function.body = body;
}

/// The bits of scalar constants, by value.
fn constants(function: &Function, body: &Block) -> Vec<Option<u64>> {
    let mut constants = vec![None; function.types.len()];
    body.walk(&mut |statement| {
        if let Statement::Let { result, op: Op::Constant { bits } } = statement
            && !function.ty(*result).is_vector()
        {
            constants[result.0 as usize] = Some(*bits);
        }
    });
    constants
}

/// How many factors of two an index is known to have, by value.
fn twos(function: &Function, body: &Block) -> Vec<u32> {
    let mut twos: Vec<u32> = vec![0; function.types.len()];
    body.walk(&mut |statement| {
        let Statement::Let { result, op } = statement else { return };
        let of = |value: &Value| twos[value.0 as usize];
        twos[result.0 as usize] = match op {
            Op::Constant { bits } if function.ty(*result) == Type::I64 => bits.trailing_zeros(),
            Op::Binary(BinaryOp::Mul, a, b) => of(a) + of(b),
            _ => 0,
        };
    });
    twos
}

struct Vectorizer<'a> {
    function: &'a mut Function,
    constants: Vec<Option<u64>>,
    twos: Vec<u32>,
    sums: Sums,
    vector_bytes: usize,
    copies: Copies,
}

/// A loop marked `vector`, taken apart.
struct Loop {
    variable: Value,
    low: Value,
    high: Value,
    step: i64,
    carried: Vec<Carried>,
    body: Block,
}

/// How a loop is cut: each stage does as many rounds of `lanes * copies` iterations as fit into
/// what the stages before it left.
#[derive(Clone, Copy, Debug)]
struct Stage {
    lanes: u16,
    copies: u16,
}

impl Stage {
    fn width(self) -> i64 {
        i64::from(self.lanes) * i64::from(self.copies)
    }
}

impl Vectorizer<'_> {
    /// Returns whether a loop in the block is in lanes now.
    fn block(&mut self, block: &mut Block) -> bool {
        let mut renaming = Renaming::default();
        let mut any = false;
        for mut statement in std::mem::take(&mut block.statements) {
            statement.for_each_use_mut(&mut |value| *value = renaming.get(*value));
            let mut inside = false;
            for block in statement.blocks_mut() {
                inside |= self.block(block);
            }
            match statement {
                Statement::For {
                    kind: LoopKind::Vector,
                    variable,
                    low,
                    high,
                    step,
                    carried,
                    body,
                } => {
                    let source = Loop { variable, low, high, step, carried, body };
                    // The innermost loop in lanes is enough.
                    let plan = if inside { None } else { self.plan(&source) };
                    any |= plan.is_some();
                    match plan {
                        Some(plan) => self.run(source, &plan, &mut block.statements, &mut renaming),
                        None => block.statements.push(source.sequential()),
                    }
                }
                other => block.statements.push(other),
            }
            any |= inside;
        }
        block.yields.iter_mut().for_each(|value| *value = renaming.get(*value));
        any
    }

    fn constant(&self, value: Value) -> Option<i64> {
        Some(self.constants.get(value.0 as usize).copied().flatten()? as i64)
    }

    /// The number of iterations, if it is constant.
    fn trip_count(&self, source: &Loop) -> Option<i64> {
        let (low, high) = (self.constant(source.low)?, self.constant(source.high)?);
        let count = (i128::from(high) - i128::from(low)).max(0);
        i64::try_from((count + i128::from(source.step) - 1) / i128::from(source.step)).ok()
    }

    /// Whether rounds of a stage leave nothing, however many iterations there are.
    fn divides(&self, source: &Loop, stage: Stage) -> bool {
        let twos = [source.low, source.high].map(|bound| self.twos.get(bound.0 as usize));
        let twos = twos.into_iter().map(|known| known.copied().unwrap_or(0)).min().unwrap_or(0);
        source.step == 1 && stage.width().ilog2() <= twos
    }

    fn plan(&self, source: &Loop) -> Option<Plan> {
        let (kinds, selection) = recognise(self.function, &source.carried, &source.body)?;
        let reduced: Vec<Value> = source
            .carried
            .iter()
            .zip(&kinds)
            .filter(|(_, kind)| **kind != Reduction::Invariant)
            .map(|(carried, _)| carried.param)
            .collect();
        let addresses = |value: &Value| {
            let ty = self.function.ty(*value);
            ty.is_vector() || ty.scalar == Scalar::Ptr
        };
        if reduced.iter().any(addresses) {
            return None;
        }
        let classes = Classes::of_loop(
            self.function,
            &self.constants,
            (source.variable, source.step),
            &reduced,
            &source.body,
        )
        .ok()?;
        let class = |value| classes.get(value);
        let mut groups = groups(self.function, &class, &self.constants, &self.sums, &source.body);
        let data = width::data_width(self.function, &classes, &source.carried, &source.body);
        let mut full = (self.vector_bytes / data).clamp(2, 64) as u16;
        groups.retain(|group| group.suits(full, self.vector_bytes));
        let (loads, weight) = loop {
            let mut loads =
                load_groups(self.function, &class, &self.constants, &self.sums, &source.body);
            loads.retain(|group| group.suits(full));
            let weight = width::weight(self.function, &classes, &groups, &loads, &source.body);
            let most = self.vector_bytes as u16 / width::BYTES_OF_PLACE;
            if weight.gathers + weight.scatters == 0 || full <= most {
                break (loads, weight);
            }
            full = most;
        };
        let stages = self.stages(source, (data, full), &weight, !reduced.is_empty())?;
        let is_long = weight.is_long() || weight.functions > 0;
        let classes = classes.into_table();
        Some(Plan { kinds, selection, classes, groups, loads, stages, is_long })
    }

    fn stages(
        &self,
        source: &Loop,
        (data, full): (usize, u16),
        weight: &width::Weight,
        reduces: bool,
    ) -> Option<Vec<Stage>> {
        let apart = weight.gathers + weight.scatters;
        // Moving single elements about is not faster for being called a vector operation.
        if apart > 0 && weight.operations < apart && (weight.narrow > 0 || self.vector_bytes < 64) {
            return None;
        }
        if weight.scatters > 0 && weight.all_operations() < 4 * weight.scatters {
            return None;
        }
        let copies = match (reduces, weight.operations) {
            _ if weight.inner_loops || apart > 0 => 1,
            _ if weight.functions > 0 => weight.copies_of_functions(self.copies),
            (true, 0..=8) => 4,
            (true, 9..=24) => 2,
            (true, _) => 1,
            (false, 0..=4) => 4,
            (false, 5..=12) => 2,
            (false, _) => weight.copies_of_long_body(self.copies),
        };
        let Some(mut left) = self.trip_count(source) else {
            let first = Stage { lanes: full, copies };
            let second = Stage { lanes: full, copies: 1 };
            return Some(match copies {
                1 => vec![second],
                _ if self.divides(source, first) => vec![first],
                _ => vec![first, second],
            });
        };
        // Vectors of less than 8 bytes gain nothing.
        let least = (8 / data).max(2) as u16;
        let mut stages = Vec::new();
        let mut add = |left: &mut i64, stage: Stage| {
            if *left >= stage.width() {
                stages.push(stage);
                *left %= stage.width();
            }
        };
        if copies > 1 {
            add(&mut left, Stage { lanes: full, copies });
        }
        if apart == 0 && weight.is_product() {
            add(&mut left, Stage { lanes: 2 * full, copies: 1 });
        }
        let mut lanes = full;
        while lanes >= least {
            // The last few are one vector, in a register of which some lanes are nobody's.
            let few = i64::from(least) + 1..i64::from(lanes);
            if !reduces && weight.suits_any_lanes() && few.contains(&left) {
                lanes = left as u16;
            }
            add(&mut left, Stage { lanes, copies: 1 });
            lanes /= 2;
        }
        if stages.is_empty() { None } else { Some(stages) }
    }

    /// Writes the stages and what is left over, and names what stands for the results.
    fn run(
        &mut self,
        source: Loop,
        plan: &Plan,
        out: &mut Vec<Statement>,
        renaming: &mut Renaming,
    ) {
        let mut low = source.low;
        let mut left = self.trip_count(&source);
        let mut inits: Vec<Value> = source.carried.iter().map(|carried| carried.init).collect();
        for &stage in &plan.stages {
            let high = match &mut left {
                Some(left) => {
                    let rounds = *left / stage.width();
                    *left %= stage.width();
                    let from = self.constant(low).expect("constant bounds stay constant");
                    let to = from + rounds * stage.width() * source.step;
                    self.integer(to, out)
                }
                None if self.divides(&source, stage) => {
                    left = Some(0);
                    source.high
                }
                None => self.whole_rounds(low, source.high, source.step, stage, out),
            };
            inits = self.stage(&source, plan, stage, (low, high), inits, out);
            low = high;
        }
        if left == Some(0) {
            for (carried, value) in source.carried.iter().zip(inits) {
                renaming.insert(carried.result, value);
            }
            return;
        }
        let mut rest = source;
        rest.low = low;
        rest.carried.iter_mut().zip(inits).for_each(|(carried, init)| carried.init = init);
        out.push(rest.sequential());
    }

    fn emit(&mut self, ty: Type, op: Op, out: &mut Vec<Statement>) -> Value {
        let result = self.function.new_value(ty);
        out.push(Statement::Let { result, op });
        result
    }

    fn integer(&mut self, value: i64, out: &mut Vec<Statement>) -> Value {
        let result = self.emit(Type::I64, Op::Constant { bits: value as u64 }, out);
        self.constants.resize(self.function.types.len(), None);
        self.constants[result.0 as usize] = Some(value as u64);
        result
    }

    fn arithmetic(&mut self, op: BinaryOp, a: Value, b: Value, out: &mut Vec<Statement>) -> Value {
        self.emit(Type::I64, Op::Binary(op, a, b), out)
    }

    /// Where the rounds of a stage end that fit between the bounds.
    fn whole_rounds(
        &mut self,
        low: Value,
        high: Value,
        step: i64,
        stage: Stage,
        out: &mut Vec<Statement>,
    ) -> Value {
        let mut count = self.arithmetic(BinaryOp::Sub, high, low, out);
        let step_value = self.integer(step, out);
        if step != 1 {
            let round = self.integer(step - 1, out);
            count = self.arithmetic(BinaryOp::Add, count, round, out);
            count = self.arithmetic(BinaryOp::SDiv, count, step_value, out);
        }
        // Lanes and copies are powers of two.
        let mask = self.integer(-stage.width(), out);
        let whole = self.arithmetic(BinaryOp::And, count, mask, out);
        let zero = self.integer(0, out);
        let mut whole = self.arithmetic(BinaryOp::SMax, whole, zero, out);
        if step != 1 {
            whole = self.arithmetic(BinaryOp::Mul, whole, step_value, out);
        }
        self.arithmetic(BinaryOp::Add, low, whole, out)
    }

    /// Writes one stage; the carried values after it.
    fn stage(
        &mut self,
        source: &Loop,
        plan: &Plan,
        stage: Stage,
        (low, high): (Value, Value),
        inits: Vec<Value>,
        out: &mut Vec<Statement>,
    ) -> Vec<Value> {
        let reduced = |kind: &Reduction| *kind != Reduction::Invariant;
        let wide: Vec<bool> = plan.kinds.iter().map(reduced).collect();
        let first_values = self.first_values(plan, stage, &inits, out);
        let variable = self.function.new_value(Type::I64);
        // One accumulator per reduction and copy, copy by copy.
        let mut carried = Vec::new();
        for _ in 0..stage.copies {
            for &init in first_values.iter().flatten() {
                let ty = self.function.ty(init);
                let (param, result) = (self.function.new_value(ty), self.function.new_value(ty));
                carried.push(Carried { init, param, result });
            }
        }
        let mut params = carried.iter().map(|carried| carried.param);
        let mut yields = Vec::new();
        let (mut indices, mut copies) = (Vec::new(), Vec::new());
        for copy in 0..stage.copies {
            let mut at = variable;
            if copy > 0 {
                let distance = i64::from(copy) * i64::from(stage.lanes) * source.step;
                let distance = self.integer(distance, out);
                at = self.arithmetic(BinaryOp::Add, variable, distance, &mut indices);
            }
            let mut given = vec![(source.variable, at)];
            for (position, old) in source.carried.iter().enumerate() {
                let new = if wide[position] { params.next() } else { Some(inits[position]) };
                given.push((old.param, new.expect("each reduction has an accumulator per copy")));
            }
            let (classes, constants) = (&plan.classes, &self.constants);
            let widen =
                Widen::new(self.function, classes, constants, &plan.loads, stage.lanes, out);
            let (statements, next) = widen.body(&source.body, &given, &wide, &plan.groups);
            copies.push(statements);
            let kept = next.into_iter().zip(&wide).filter(|(_, wide)| **wide);
            yields.extend(kept.map(|(value, _)| value));
        }
        // Of short bodies a processor sees several at once as it is.
        let mut statements = indices;
        statements.extend(if plan.is_long { in_turns(copies) } else { copies.concat() });
        let body = Block { statements, yields };
        let results: Vec<Value> = carried.iter().map(|carried| carried.result).collect();
        let step = stage.width() * source.step;
        let kind = LoopKind::Sequential;
        out.push(Statement::For { kind, variable, low, high, step, carried, body });
        self.combine(source, plan, stage, results, inits, out)
    }

    /// What each reduction's accumulators start from.
    fn first_values(
        &mut self,
        plan: &Plan,
        stage: Stage,
        inits: &[Value],
        out: &mut Vec<Statement>,
    ) -> Vec<Option<Value>> {
        let first = |(kind, &init): (&Reduction, &Value)| {
            let ty = self.function.ty(init).scalar.vector(stage.lanes);
            match kind {
                Reduction::Invariant => None,
                Reduction::By(op) => {
                    let bits = identity(*op, ty);
                    Some(self.emit(ty, Op::Constant { bits }, out))
                }
                // A choice between a value and itself is the value.
                Reduction::Selected => Some(self.emit(ty, Op::Splat(init), out)),
            }
        };
        plan.kinds.iter().zip(inits).map(first).collect()
    }

    /// One value from the accumulators of each reduction.
    fn combine(
        &mut self,
        source: &Loop,
        plan: &Plan,
        stage: Stage,
        results: Vec<Value>,
        inits: Vec<Value>,
        out: &mut Vec<Statement>,
    ) -> Vec<Value> {
        // Copies first: halves with each other until one is left.
        let count = plan.kinds.iter().filter(|kind| **kind != Reduction::Invariant).count();
        let mut copies: Vec<Vec<Value>> =
            results.chunks(count.max(1)).map(<[Value]>::to_vec).collect();
        while copies.len() > 1 {
            let upper = copies.split_off(copies.len() / 2);
            let pairs = copies.into_iter().zip(upper);
            copies = pairs.map(|(a, b)| self.combine_two(source, plan, &a, &b, out)).collect();
        }
        let mut vectors = copies.pop().unwrap_or_default();
        if plan.kinds.contains(&Reduction::Selected) {
            return self.choose_lane(source, plan, stage, vectors, inits, out);
        }
        let mut combined = vectors.drain(..);
        let mut next = |kind: &Reduction, init: Value| match kind {
            Reduction::Invariant | Reduction::Selected => init,
            Reduction::By(op) => {
                let ty = self.function.ty(init);
                let vector = combined.next().expect("one for each reduction");
                let reduced = self.emit(ty, Op::Reduce(*op, vector), out);
                self.emit(ty, Op::Binary(*op, init, reduced), out)
            }
        };
        plan.kinds.iter().zip(inits).map(|(kind, init)| next(kind, init)).collect()
    }

    /// Reductions of which some choose: lanes are combined as the loop combines iterations.
    fn choose_lane(
        &mut self,
        source: &Loop,
        plan: &Plan,
        stage: Stage,
        mut vectors: Vec<Value>,
        inits: Vec<Value>,
        out: &mut Vec<Statement>,
    ) -> Vec<Value> {
        let mut lanes = stage.lanes;
        while lanes > 1 {
            let half = lanes / 2;
            let mut parts = [Vec::new(), Vec::new()];
            for &vector in &vectors {
                let scalar = self.function.ty(vector).scalar;
                for (part, first) in parts.iter_mut().zip([0, half]) {
                    let op = match half {
                        1 => Op::Extract(vector, first),
                        _ => Op::Shuffle(vector, vector, (first..first + half).collect()),
                    };
                    part.push(self.emit(scalar.vector(half), op, out));
                }
            }
            let [lower, upper] = parts;
            vectors = self.combine_two(source, plan, &lower, &upper, out);
            lanes = half;
        }
        let mut vectors = vectors.into_iter();
        let mut next = |kind: &Reduction, init: Value| match kind {
            Reduction::Invariant => init,
            Reduction::Selected => vectors.next().expect("one for each reduction"),
            Reduction::By(op) => {
                let reduced = vectors.next().expect("one for each reduction");
                self.emit(self.function.ty(init), Op::Binary(*op, init, reduced), out)
            }
        };
        plan.kinds.iter().zip(inits).map(|(kind, init)| next(kind, init)).collect()
    }

    /// Combines the reductions of two sets of iterations, in all lanes that the values have.
    fn combine_two(
        &mut self,
        source: &Loop,
        plan: &Plan,
        a: &[Value],
        b: &[Value],
        out: &mut Vec<Statement>,
    ) -> Vec<Value> {
        // In the place of carried params stand the values of `a`, of candidates those of `b`.
        let mut map = Renaming::default();
        let mut position_of = Vec::new();
        for (position, kind) in plan.kinds.iter().enumerate() {
            if *kind != Reduction::Invariant {
                position_of.push(position);
            }
        }
        let place = |position: usize| position_of.iter().position(|&p| p == position);
        for &(position, candidate) in &plan.selection.members {
            let place = place(position).expect("selected values are reductions");
            map.insert(source.carried[position].param, a[place]);
            map.insert(candidate, b[place]);
        }
        let lanes = a.first().map_or(1, |&value| self.function.ty(value).lanes);
        for &index in &plan.selection.statements {
            let Statement::Let { result, op } = &source.body.statements[index] else {
                unreachable!("a selection is made of operations")
            };
            let ty = self.function.ty(*result).scalar.vector(lanes);
            let mut op = op.clone();
            op.for_each_operand_mut(|operand| {
                let new = map.get(*operand);
                *operand = if self.function.ty(new).lanes == lanes {
                    new
                } else {
                    self.emit(self.function.ty(new).scalar.vector(lanes), Op::Splat(new), out)
                };
            });
            let new = self.emit(ty, op, out);
            map.insert(*result, new);
        }
        let mut combined = Vec::new();
        for (place, &position) in position_of.iter().enumerate() {
            let next = match plan.kinds[position] {
                Reduction::By(op) => {
                    let ty = self.function.ty(a[place]);
                    self.emit(ty, Op::Binary(op, a[place], b[place]), out)
                }
                Reduction::Selected | Reduction::Invariant => map.get(source.body.yields[position]),
            };
            combined.push(next);
        }
        combined
    }
}

/// What a loop in lanes needs to know of the one it comes from.
struct Plan {
    kinds: Vec<Reduction>,
    selection: Selection,
    classes: Vec<Class>,
    groups: Vec<Group>,
    loads: Vec<LoadGroup>,
    stages: Vec<Stage>,
    /// Whether copies of the body take turns, statement by statement.
    is_long: bool,
}

impl Loop {
    fn sequential(self) -> Statement {
        let Loop { variable, low, high, step, carried, body } = self;
        Statement::For { kind: LoopKind::Sequential, variable, low, high, step, carried, body }
    }
}
