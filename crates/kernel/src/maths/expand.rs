//! The pass: mathematical operations become their approximations.

use std::collections::HashMap;

use super::emit::{Emitter, Floats, Lanes};
use super::precision::{Double, Precision, Single};
use super::{binary, unary};
use crate::ir::{BinaryOp, Block, Convert, Function, Op, Statement, UnaryOp, Value};
use crate::schedule::in_turns;
use crate::types::Scalar;

/// Replaces each mathematical operation in a function, scalar or on vectors. To be run when loops
/// have become lanes: what is rare in an approximation is branched over, which vectorisation would
/// have to turn back.
pub fn expand(function: &mut Function) {
    let emitter = Emitter::new(std::mem::take(&mut function.types));
    let mut expansion = Expansion { emitter: &emitter, results: HashMap::new() };
    function.body = expansion.block(std::mem::take(&mut function.body));
    function.types = emitter.into_types();
}

struct Expansion<'a> {
    emitter: &'a Emitter,
    /// What the results of operations that were replaced are now.
    results: HashMap<Value, Value>,
}

impl Expansion<'_> {
    fn block(&mut self, block: Block) -> Block {
        let emitter = self.emitter;
        let statements = emitter.block(|| {
            let mut left = block.statements.as_slice();
            while let Some((first, rest)) = left.split_first() {
                let alike = self.alike(left);
                if alike > 1 {
                    self.in_turns(&left[..alike]);
                    left = &left[alike..];
                } else {
                    self.statement(first.clone());
                    left = rest;
                }
            }
        });
        let yields = block.yields.into_iter().map(|value| self.current(value)).collect();
        Block { statements, yields }
    }

    fn statement(&mut self, mut statement: Statement) {
        statement.for_each_operand_mut(|value| *value = self.current(*value));
        if let Statement::Let { result, op } = &statement
            && let Some(call) = Call::of(op)
        {
            let value = call.in_format(self.emitter);
            self.results.insert(*result, value);
            return;
        }
        for block in statement.blocks_mut() {
            *block = self.block(std::mem::take(block));
        }
        self.emitter.push(statement);
    }

    /// The same operation on several values, as loops leave it whose iterations lie side by side:
    /// their approximations do so, too.
    fn in_turns(&mut self, calls: &[Statement]) {
        let emitter = self.emitter;
        let alone = |call: &Statement| emitter.block(|| self.statement(call.clone()));
        let lists = calls.iter().map(alone).collect();
        in_turns(lists).into_iter().for_each(|statement| emitter.push(statement));
    }

    /// How many statements from the first on are one operation on vectors that do not wait for each
    /// other; more than a few at once would not fit into registers.
    fn alike(&self, statements: &[Statement]) -> usize {
        const MOST: usize = 4;
        let call = |statement: &Statement| match statement {
            Statement::Let { result, op: Op::Unary(op, a) } if takes_turns(*op) => {
                let ty = self.emitter.ty(*result);
                ty.is_vector().then_some((*result, *a, (*op, ty)))
            }
            _ => None,
        };
        let mut results = Vec::new();
        let mut first = None;
        for (result, a, kind) in statements.iter().take(MOST).map_while(call) {
            if *first.get_or_insert(kind) != kind || results.contains(&a) {
                break;
            }
            results.push(result);
        }
        results.len()
    }

    fn current(&self, value: Value) -> Value {
        self.results.get(&value).copied().unwrap_or(value)
    }
}

/// Whether approximations of a function may lie side by side, operation by operation. Those of sine
/// and its like branch, and find again what others of the same value have computed.
pub fn takes_turns(op: UnaryOp) -> bool {
    op.is_maths() && !matches!(op, UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan)
}

/// A mathematical operation.
enum Call {
    Unary(UnaryOp, Value),
    Binary(BinaryOp, Value, Value),
}

impl Call {
    fn of(op: &Op) -> Option<Call> {
        match op {
            Op::Unary(op, a) if op.is_maths() => Some(Call::Unary(*op, *a)),
            Op::Binary(op, a, b) if op.is_maths() => Some(Call::Binary(*op, *a, *b)),
            _ => None,
        }
    }

    /// Formats of 16 bits are computed in single precision and rounded once.
    fn in_format(self, emitter: &Emitter) -> Value {
        let (Call::Unary(_, first) | Call::Binary(_, first, _)) = self;
        let ty = emitter.ty(first);
        match ty.scalar {
            Scalar::F64 => self.emit::<Double>(emitter),
            Scalar::F32 => self.emit::<Single>(emitter),
            Scalar::F16 | Scalar::BF16 => {
                let widen = |value| {
                    emitter.op(ty.with_scalar(Scalar::F32), Op::Convert(Convert::Float, value))
                };
                let wide = match self {
                    Call::Unary(op, a) => Call::Unary(op, widen(a)),
                    Call::Binary(op, a, b) => Call::Binary(op, widen(a), widen(b)),
                };
                let wide = wide.emit::<Single>(emitter);
                emitter.op(ty, Op::Convert(Convert::Float, wide))
            }
            Scalar::I1 | Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 | Scalar::Ptr => {
                panic!("a mathematical operation on {ty}, which the verifier refuses")
            }
        }
    }

    fn emit<P: Precision>(self, emitter: &Emitter) -> Value {
        let lanes = |value| Lanes::<P, Floats>::new(emitter, value);
        let y = match self {
            Call::Unary(op, a) => unary(op, lanes(a)),
            Call::Binary(op, a, b) => binary(op, lanes(a), lanes(b)),
        };
        y.expect("a mathematical operation").value
    }
}
