//! One walk from the top that folds operations, finds again what was computed before, and undoes
//! conditions and loops whose way is known.

use rustc_hash::FxHashMap;

use super::fold::{Folded, Known, fold};
use crate::ir::{BinaryOp, Block, Carried, Function, Op, Statement, Value};
use crate::types::Type;

/// Folds what is known and uses again what was computed.
pub fn rewrite(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let mut rewriter = Rewriter {
        replaced: vec![None; function.types.len()],
        facts: vec![Fact::default(); function.types.len()],
        function,
        computed: FxHashMap::default(),
        scope: Vec::new(),
    };
    rewriter.block(&mut body);
    function.body = body;
}

#[derive(Clone, Default)]
struct Fact {
    constant: Option<u64>,
    definition: Option<Op>,
}

struct Rewriter<'a> {
    function: &'a mut Function,
    /// What stands for a value that is gone.
    replaced: Vec<Option<Value>>,
    facts: Vec<Fact>,
    /// Operations that are computed where the walk is.
    computed: FxHashMap<(Type, Op), Value>,
    /// What to forget when blocks close.
    scope: Vec<(Type, Op)>,
}

impl Known for Rewriter<'_> {
    fn ty(&self, value: Value) -> Type {
        self.function.ty(value)
    }

    fn constant(&self, value: Value) -> Option<u64> {
        self.facts.get(value.0 as usize)?.constant
    }

    fn definition(&self, value: Value) -> Option<&Op> {
        self.facts.get(value.0 as usize)?.definition.as_ref()
    }
}

impl Rewriter<'_> {
    fn get(&self, value: Value) -> Value {
        self.replaced.get(value.0 as usize).copied().flatten().unwrap_or(value)
    }

    fn replace(&mut self, value: Value, by: Value) {
        self.replaced[value.0 as usize] = Some(by);
    }

    fn block(&mut self, block: &mut Block) {
        let outside = self.scope.len();
        let mut out = Vec::with_capacity(block.statements.len());
        for statement in std::mem::take(&mut block.statements) {
            self.statement(statement, &mut out);
        }
        block.statements = out;
        block.yields.iter_mut().for_each(|value| *value = self.get(*value));
        for key in self.scope.split_off(outside) {
            self.computed.remove(&key);
        }
    }

    fn statement(&mut self, mut statement: Statement, out: &mut Vec<Statement>) {
        statement.for_each_operand_mut(|value| *value = self.get(*value));
        match statement {
            Statement::Let { result, op } => self.operation(result, op, out),
            Statement::If { condition, results, then, otherwise } => {
                if let Some(bits) = self.constant(condition) {
                    let taken = if bits != 0 { then } else { otherwise };
                    return self.inline(taken, &results, out);
                }
                self.if_else(condition, results, then, otherwise, out);
            }
            Statement::For { kind, variable, low, high, step, mut carried, mut body } => {
                let bounds = (self.constant(low), self.constant(high));
                if let (Some(first), Some(end)) = bounds {
                    let (first, end) = (first as i64, end as i64);
                    if first >= end {
                        let inits = carried.iter().map(|carried| (carried.result, carried.init));
                        return inits.for_each(|(result, init)| self.replace(result, init));
                    }
                    if i128::from(first) + i128::from(step) >= i128::from(end) {
                        self.replace(variable, low);
                        for carried in &carried {
                            self.replace(carried.param, carried.init);
                        }
                        let results: Vec<Value> =
                            carried.iter().map(|carried| carried.result).collect();
                        return self.inline(body, &results, out);
                    }
                }
                self.drop_unchanged(&mut carried, &mut body);
                self.block(&mut body);
                out.push(Statement::For { kind, variable, low, high, step, carried, body });
            }
            Statement::While { mut carried, mut before, mut body } => {
                self.drop_unchanged(&mut carried, &mut body);
                self.block(&mut before);
                self.block(&mut body);
                out.push(Statement::While { carried, before, body });
            }
            Statement::Store { base, index, value, mask: Some(mask) }
                if self.constant(mask).is_some() =>
            {
                if self.constant(mask) != Some(0) {
                    out.push(Statement::Store { base, index, value, mask: None });
                }
            }
            Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => out.push(statement),
        }
    }

    /// Puts a block's statements in the place of the statement that owned it.
    fn inline(&mut self, block: Block, results: &[Value], out: &mut Vec<Statement>) {
        for statement in block.statements {
            self.statement(statement, out);
        }
        for (&result, value) in results.iter().zip(block.yields) {
            let value = self.get(value);
            self.replace(result, value);
        }
    }

    fn if_else(
        &mut self,
        condition: Value,
        mut results: Vec<Value>,
        mut then: Block,
        mut otherwise: Block,
        out: &mut Vec<Statement>,
    ) {
        self.block(&mut then);
        self.block(&mut otherwise);
        // What both give alike was there before.
        for position in (0..results.len()).rev() {
            if then.yields[position] == otherwise.yields[position] {
                self.replace(results[position], then.yields[position]);
                results.remove(position);
                then.yields.remove(position);
                otherwise.yields.remove(position);
            }
        }
        let empty = then.statements.is_empty() && otherwise.statements.is_empty();
        // A scalar condition selects no vectors.
        let scalars = results.iter().all(|&result| !self.function.ty(result).is_vector());
        if empty && scalars {
            for (position, &result) in results.iter().enumerate() {
                let (a, b) = (then.yields[position], otherwise.yields[position]);
                self.operation(result, Op::Select(condition, a, b), out);
            }
            return;
        }
        out.push(Statement::If { condition, results, then, otherwise });
    }

    /// Carried values that the body hands on as they came are what they began as.
    fn drop_unchanged(&mut self, carried: &mut Vec<Carried>, body: &mut Block) {
        for position in (0..carried.len()).rev() {
            let Carried { init, param, result } = carried[position];
            let next = self.get(body.yields[position]);
            if next == param || next == init {
                self.replace(param, init);
                self.replace(result, init);
                carried.remove(position);
                body.yields.remove(position);
            }
        }
    }

    fn new_value(&mut self, ty: Type) -> Value {
        self.replaced.push(None);
        self.facts.push(Fact::default());
        self.function.new_value(ty)
    }

    /// A constant, made or made before.
    fn constant_value(&mut self, ty: Type, bits: u64, out: &mut Vec<Statement>) -> Value {
        if let Some(&known) = self.computed.get(&(ty, Op::Constant { bits })) {
            return known;
        }
        let result = self.new_value(ty);
        self.keep(result, ty, Op::Constant { bits }, out);
        result
    }

    fn operation(&mut self, result: Value, mut op: Op, out: &mut Vec<Statement>) {
        let ty = self.function.ty(result);
        // Each step makes the operation simpler, so this ends.
        loop {
            match fold(self, ty, &op) {
                Folded::No => break,
                Folded::Value(value) => return self.replace(result, value),
                Folded::Constant(bits) => {
                    op = Op::Constant { bits };
                    break;
                }
                Folded::Op(other) => op = other,
                Folded::WithConstant(binary, a, bits) => {
                    let b = self.constant_value(ty, bits, out);
                    op = Op::Binary(binary, a, b);
                }
                Folded::Linear(a, factor, distance) => {
                    let factor = self.constant_value(ty, factor, out);
                    let product = self.new_value(ty);
                    self.operation(product, Op::Binary(BinaryOp::Mul, a, factor), out);
                    let distance = self.constant_value(ty, distance, out);
                    op = Op::Binary(BinaryOp::Add, self.get(product), distance);
                }
                Folded::Offset(base, bytes) => {
                    let bytes = self.constant_value(Type::I64, bytes, out);
                    op = Op::Offset { base, bytes };
                }
            }
        }
        if let Some(&known) = self.computed.get(&(ty, canonical(&op))) {
            return self.replace(result, known);
        }
        self.keep(result, ty, op, out);
    }

    fn keep(&mut self, result: Value, ty: Type, op: Op, out: &mut Vec<Statement>) {
        let fact = &mut self.facts[result.0 as usize];
        if let Op::Constant { bits } = op {
            fact.constant = Some(bits);
        }
        if op.is_pure() {
            fact.definition = Some(op.clone());
            let key = (ty, canonical(&op));
            self.scope.push(key.clone());
            self.computed.insert(key, result);
        }
        out.push(Statement::Let { result, op });
    }
}

/// One form for operations that differ by the order of operands only.
fn canonical(op: &Op) -> Op {
    match op {
        Op::Binary(
            binary @ (BinaryOp::Add
            | BinaryOp::Mul
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::SMin
            | BinaryOp::SMax
            | BinaryOp::UMin
            | BinaryOp::UMax),
            a,
            b,
        ) if b < a => Op::Binary(*binary, *b, *a),
        other => other.clone(),
    }
}
