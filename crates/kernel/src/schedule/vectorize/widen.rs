//! Writes the body of a loop once for all lanes.

use std::collections::HashMap;

use super::class::{Class, address};
use super::stride::{Group, LoadGroup, is_short};
use crate::ir::{BinaryOp, Block, Carried, Function, LoopKind, Op, Statement, UnaryOp, Value};
use crate::types::{Scalar, Type};

/// What writes a body in lanes.
pub(super) struct Widen<'a> {
    pub(super) function: &'a mut Function,
    pub(super) classes: &'a [Class],
    pub(super) constants: &'a [Option<u64>],
    load_groups: &'a [LoadGroup],
    pub(super) lanes: u16,
    /// Statements to stand before the loop: vectors of what is known there.
    pub(super) before: &'a mut Vec<Statement>,
    /// The scalar, or lane 0, or vector that stands for a value of the body, by its class.
    map: HashMap<Value, Value>,
    /// Vectors of what is the same in all lanes, or a step apart, by block, the innermost last.
    vectors: Vec<HashMap<Value, Value>>,
    pub(super) out: Vec<Statement>,
    /// The lanes that run the conditional block being written.
    mask: Option<Value>,
}

impl<'a> Widen<'a> {
    pub(super) fn new(
        function: &'a mut Function,
        classes: &'a [Class],
        constants: &'a [Option<u64>],
        load_groups: &'a [LoadGroup],
        lanes: u16,
        before: &'a mut Vec<Statement>,
    ) -> Widen<'a> {
        Widen {
            function,
            classes,
            constants,
            load_groups,
            lanes,
            before,
            map: HashMap::new(),
            vectors: vec![HashMap::new()],
            out: Vec::new(),
            mask: None,
        }
    }

    /// The body with the loop's variable and carried params standing for other values: the
    /// statements and the yields, as vectors where they differ and where `wide` says so.
    pub(super) fn body(
        mut self,
        body: &Block,
        given: &[(Value, Value)],
        wide: &[bool],
        groups: &[Group],
    ) -> (Vec<Statement>, Vec<Value>) {
        self.map.extend(given.iter().copied());
        for (position, statement) in body.statements.iter().enumerate() {
            match groups.iter().find(|group| group.stores.contains(&position)) {
                Some(group) if group.last() == position => self.group(body, group),
                Some(_) => {}
                None => self.statement(statement),
            }
        }
        let yields = body
            .yields
            .iter()
            .zip(wide)
            .map(|(&value, &wide)| if wide { self.vector(value) } else { self.scalar(value) })
            .collect();
        (self.out, yields)
    }

    fn group(&mut self, body: &Block, group: &Group) {
        let mut first = None;
        let mut vectors = Vec::new();
        for &position in &group.stores {
            let Statement::Store { base, index, value, .. } = &body.statements[position] else {
                unreachable!("a group is made of stores")
            };
            first = first.or(Some((*base, *index)));
            vectors.push(self.vector(*value));
        }
        let (base, index) = first.expect("a group has stores");
        let (base, index) = (self.scalar(base), self.scalar(index));
        self.store_in_turns(base, index, &vectors);
    }

    /// All loads of a group, in the place of the first, from where that reads.
    fn load_group(&mut self, group: &LoadGroup, base: Value, index: Value) {
        let distance =
            group.loads.iter().find(|load| load.0 == group.first).map_or(0, |load| load.1);
        let (base, index) = (self.scalar(base), self.scalar(index));
        let index = match distance {
            0 => index,
            _ => {
                let back = Op::Constant { bits: distance.wrapping_neg() as u64 };
                let back = self.emit_before(Type::I64, back);
                self.emit(Type::I64, Op::Binary(BinaryOp::Add, index, back))
            }
        };
        let distances: Vec<i64> = group.loads.iter().map(|load| load.1).collect();
        let dealt = self.load_dealt(self.wide(group.first), base, index, group.step, &distances);
        self.map.extend(group.loads.iter().map(|load| load.0).zip(dealt));
    }

    fn class(&self, value: Value) -> Class {
        self.classes.get(value.0 as usize).copied().unwrap_or(Class::Uniform)
    }

    fn wide(&self, value: Value) -> Type {
        self.function.ty(value).scalar.vector(self.lanes)
    }

    pub(super) fn emit(&mut self, ty: Type, op: Op) -> Value {
        let result = self.function.new_value(ty);
        self.out.push(Statement::Let { result, op });
        result
    }

    /// What stands before the loop.
    pub(super) fn emit_before(&mut self, ty: Type, op: Op) -> Value {
        let result = self.function.new_value(ty);
        self.before.push(Statement::Let { result, op });
        result
    }

    /// The scalar that stands for a value that is the same in all lanes; lane 0 of one that is a
    /// step apart.
    fn scalar(&self, value: Value) -> Value {
        self.map.get(&value).copied().unwrap_or(value)
    }

    /// The vector that stands for a value.
    fn vector(&mut self, value: Value) -> Value {
        if self.class(value) == Class::Varying {
            return self.map.get(&value).copied().expect("what varies was defined in the loop");
        }
        if let Some(&known) = self.vectors.iter().rev().find_map(|vectors| vectors.get(&value)) {
            return known;
        }
        let ty = self.wide(value);
        let constant = self.constants.get(value.0 as usize).copied().flatten();
        // What the body does not define is known before the loop.
        let outside = !self.map.contains_key(&value);
        let vector = match (self.class(value), constant) {
            (Class::Uniform, Some(bits)) => self.emit_before(ty, Op::Constant { bits }),
            (Class::Uniform, None) if outside => self.emit_before(ty, Op::Splat(value)),
            (Class::Affine(step), _) => {
                let first = self.emit(ty, Op::Splat(self.scalar(value)));
                let steps = self.steps(ty.scalar, step);
                self.emit(ty, Op::Binary(BinaryOp::Add, first, steps))
            }
            (Class::Uniform | Class::Varying, _) => self.emit(ty, Op::Splat(self.scalar(value))),
        };
        let scope = if outside || constant.is_some() && self.class(value) == Class::Uniform {
            self.vectors.first_mut()
        } else {
            self.vectors.last_mut()
        };
        scope.expect("a block is open").insert(value, vector);
        vector
    }

    /// `0, step, 2 step, …`.
    fn steps(&mut self, scalar: Scalar, step: i64) -> Value {
        let ty = scalar.vector(self.lanes);
        let lanes = self.emit_before(ty, Op::LaneIndex);
        if step == 1 {
            return lanes;
        }
        let bits = step as u64 & crate::evaluate::scalar::mask(scalar);
        let step = self.emit_before(ty, Op::Constant { bits });
        self.emit_before(ty, Op::Binary(BinaryOp::Mul, lanes, step))
    }

    fn statements(&mut self, block: &Block) {
        block.statements.iter().for_each(|statement| self.statement(statement));
    }

    /// Writes a block of its own.
    fn block(&mut self, block: &Block, wide: &[bool]) -> Block {
        let outside = std::mem::take(&mut self.out);
        self.vectors.push(HashMap::new());
        self.statements(block);
        let yields = block
            .yields
            .iter()
            .zip(wide)
            .map(|(&value, &wide)| if wide { self.vector(value) } else { self.scalar(value) })
            .collect();
        self.vectors.pop();
        Block { statements: std::mem::replace(&mut self.out, outside), yields }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Let { result, op } => {
                if let (Op::Load { base, index, .. }, Some(group)) =
                    (op, self.load_group_of(*result))
                {
                    if group.first == *result {
                        self.load_group(group, *base, *index);
                    }
                    return;
                }
                let new = match (self.class(*result), op) {
                    (Class::Varying, Op::Load { base, index, mask }) => {
                        self.load(*result, *base, *index, *mask)
                    }
                    (Class::Varying, op) => {
                        let mut op = op.clone();
                        op.for_each_operand_mut(|operand| *operand = self.vector(*operand));
                        self.emit(self.wide(*result), op)
                    }
                    (Class::Uniform | Class::Affine(_), op) => {
                        let mut op = op.clone();
                        op.for_each_operand_mut(|operand| *operand = self.scalar(*operand));
                        self.emit(self.function.ty(*result), op)
                    }
                };
                self.map.insert(*result, new);
            }
            Statement::Store { base, index, value, mask } => {
                self.store(*base, *index, *value, *mask);
            }
            Statement::For { kind, variable, low, high, step, carried, body } => {
                let (low, high) = (self.scalar(*low), self.scalar(*high));
                let new_variable = self.function.new_value(Type::I64);
                self.map.insert(*variable, new_variable);
                let (new, wide) = self.carried(carried);
                let body = self.block(body, &wide);
                let kind = match kind {
                    LoopKind::Unroll => LoopKind::Unroll,
                    LoopKind::Sequential | LoopKind::Vector => LoopKind::Sequential,
                };
                self.out.push(Statement::For {
                    kind,
                    variable: new_variable,
                    low,
                    high,
                    step: *step,
                    carried: new,
                    body,
                });
            }
            Statement::While { carried, before, body } => {
                let (new, wide) = self.carried(carried);
                let before = self.block(before, &[false]);
                let body = self.block(body, &wide);
                self.out.push(Statement::While { carried: new, before, body });
            }
            Statement::If { condition, results, then, otherwise } => {
                if self.class(*condition) == Class::Uniform {
                    let condition = self.scalar(*condition);
                    let wide: Vec<bool> =
                        results.iter().map(|&result| self.is_wide(result)).collect();
                    let then = self.block(then, &wide);
                    let otherwise = self.block(otherwise, &wide);
                    let new = results.iter().map(|&result| self.define(result)).collect();
                    self.out.push(Statement::If { condition, results: new, then, otherwise });
                } else {
                    self.both_sides(*condition, results, then, otherwise);
                }
            }
            Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => {
                unreachable!("loops with calls are not run in lanes")
            }
        }
    }

    /// The group that a load is part of.
    fn load_group_of(&self, loaded: Value) -> Option<&'a LoadGroup> {
        let groups = self.load_groups.iter();
        groups.filter(|group| group.suits(self.lanes)).find(|group| group.has(loaded))
    }

    fn is_wide(&self, value: Value) -> bool {
        self.class(value) == Class::Varying
    }

    /// A new value for one of the body's, of the type that its class asks for.
    fn define(&mut self, value: Value) -> Value {
        let ty = if self.is_wide(value) { self.wide(value) } else { self.function.ty(value) };
        let new = self.function.new_value(ty);
        self.map.insert(value, new);
        new
    }

    /// Carried values of a loop inside, and which of them are vectors.
    fn carried(&mut self, carried: &[Carried]) -> (Vec<Carried>, Vec<bool>) {
        let wide: Vec<bool> = carried.iter().map(|carried| self.is_wide(carried.param)).collect();
        let new = carried
            .iter()
            .zip(&wide)
            .map(|(carried, &wide)| {
                let init = if wide { self.vector(carried.init) } else { self.scalar(carried.init) };
                let param = self.define(carried.param);
                Carried { init, param, result: self.define(carried.result) }
            })
            .collect();
        (new, wide)
    }

    /// Writes both blocks of an `if` one after the other, under masks, and selects.
    fn both_sides(&mut self, condition: Value, results: &[Value], then: &Block, otherwise: &Block) {
        let condition = self.vector(condition);
        let outside = self.mask;
        let ty = Scalar::I1.vector(self.lanes);
        if touches_memory(then) {
            self.mask = Some(self.both(outside, condition));
        }
        self.statements(then);
        self.mask = outside;
        if touches_memory(otherwise) {
            let not = self.emit(ty, Op::Unary(UnaryOp::Not, condition));
            self.mask = Some(self.both(outside, not));
        }
        self.statements(otherwise);
        self.mask = outside;
        for (position, &result) in results.iter().enumerate() {
            let then = self.vector(then.yields[position]);
            let otherwise = self.vector(otherwise.yields[position]);
            let new = self.emit(self.wide(result), Op::Select(condition, then, otherwise));
            self.map.insert(result, new);
        }
    }

    fn both(&mut self, outside: Option<Value>, mask: Value) -> Value {
        let ty = Scalar::I1.vector(self.lanes);
        match outside {
            Some(outside) => self.emit(ty, Op::Binary(BinaryOp::And, outside, mask)),
            None => mask,
        }
    }

    /// The lanes that an access with a mask of its own is for.
    fn access_mask(&mut self, mask: Option<Value>) -> Option<Value> {
        match mask {
            Some(mask) => {
                let mask = self.vector(mask);
                Some(self.both(self.mask, mask))
            }
            None => self.mask,
        }
    }

    fn address(&self, base: Value, index: Value, ty: Type) -> Class {
        address(self.class(base), self.class(index), ty).expect("the classes hold")
    }

    fn load(&mut self, result: Value, base: Value, index: Value, mask: Option<Value>) -> Value {
        let narrow = self.function.ty(result);
        let ty = self.wide(result);
        let mask = self.access_mask(mask);
        let class = self.address(base, index, narrow);
        let at = self.scalar(base);
        match class {
            Class::Affine(1) => {
                let index = self.scalar(index);
                self.emit(ty, Op::Load { base: at, index, mask })
            }
            Class::Affine(-1) if mask.is_none() => {
                let index = self.last_lane(index);
                let reversed = self.emit(ty, Op::Load { base: at, index, mask: None });
                self.reverse(reversed)
            }
            Class::Affine(step) if mask.is_none() && is_short(step) && self.lanes >= 4 => {
                let index = self.scalar(index);
                self.load_apart(ty, at, index, step)
            }
            Class::Uniform if mask.is_none() => {
                let index = self.scalar(index);
                let one = self.emit(narrow, Op::Load { base: at, index, mask: None });
                self.emit(ty, Op::Splat(one))
            }
            Class::Uniform | Class::Affine(_) | Class::Varying => {
                let index = self.lane_indices(base, index, narrow);
                self.emit(ty, Op::Load { base: at, index, mask })
            }
        }
    }

    fn store(&mut self, base: Value, index: Value, value: Value, mask: Option<Value>) {
        let narrow = self.function.ty(value);
        let class = self.address(base, index, narrow);
        let at = self.scalar(base);
        let statement = match class {
            Class::Uniform => {
                let mask = mask.map(|mask| self.scalar(mask));
                let (index, value) = (self.scalar(index), self.scalar(value));
                Statement::Store { base: at, index, value, mask }
            }
            Class::Affine(1) => {
                let mask = self.access_mask(mask);
                let (index, value) = (self.scalar(index), self.vector(value));
                Statement::Store { base: at, index, value, mask }
            }
            Class::Affine(-1) if mask.is_none() && self.mask.is_none() => {
                let value = self.vector(value);
                let value = self.reverse(value);
                let index = self.last_lane(index);
                Statement::Store { base: at, index, value, mask: None }
            }
            Class::Affine(step)
                if mask.is_none() && self.mask.is_none() && self.goes_by_lanes(narrow) =>
            {
                let (first, vector) = (self.scalar(index), self.vector(value));
                for lane in 0..self.lanes {
                    let index = self.index_plus(first, i64::from(lane) * step);
                    let value = self.emit(narrow, Op::Extract(vector, lane));
                    self.out.push(Statement::Store { base: at, index, value, mask: None });
                }
                return;
            }
            Class::Affine(_) | Class::Varying => {
                let mask = self.access_mask(mask);
                let index = self.lane_indices(base, index, narrow);
                let value = self.vector(value);
                Statement::Store { base: at, index, value, mask }
            }
        };
        self.out.push(statement);
    }

    /// Whether lanes that are a constant apart are stored one by one. In vectors of 64 bytes an instruction does it; else
    /// their addresses would be taken apart, too.
    fn goes_by_lanes(&self, ty: Type) -> bool {
        usize::from(self.lanes) * ty.scalar.byte_width() < 64
    }

    /// The index of the last lane's element, which is the lowest.
    fn last_lane(&mut self, index: Value) -> Value {
        let back = u64::from(self.lanes) - 1;
        let back = self.emit_before(Type::I64, Op::Constant { bits: back });
        self.emit(Type::I64, Op::Binary(BinaryOp::Sub, self.scalar(index), back))
    }

    fn reverse(&mut self, value: Value) -> Value {
        let ty = self.function.ty(value);
        self.emit(ty, Op::Shuffle(value, value, (0..self.lanes).rev().collect()))
    }

    /// Each lane's index from lane 0's base.
    fn lane_indices(&mut self, base: Value, index: Value, ty: Type) -> Value {
        let index = self.vector(index);
        let bytes = match self.class(base) {
            Class::Affine(bytes) => bytes,
            Class::Uniform | Class::Varying => return index,
        };
        let steps = self.steps(Scalar::I64, bytes / ty.scalar.byte_width() as i64);
        self.emit(Scalar::I64.vector(self.lanes), Op::Binary(BinaryOp::Add, index, steps))
    }
}

fn touches_memory(block: &Block) -> bool {
    let mut touches = false;
    block.walk(&mut |statement| {
        touches |= matches!(
            statement,
            Statement::Store { .. } | Statement::Let { op: Op::Load { .. }, .. }
        );
    });
    touches
}
