//! The pass: mathematical operations become their approximations.

use super::emit::{Emitter, Floats, Lanes};
use super::precision::{Double, Precision, Single};
use super::{binary, unary};
use crate::ir::{BinaryOp, Block, Convert, Function, Op, Statement, UnaryOp, Value};
use crate::types::Scalar;

/// Replaces each mathematical operation in a function, scalar or on vectors. To be run when loops
/// have become lanes: what is rare in an approximation is branched over, which vectorisation would
/// have to turn back.
pub fn expand(function: &mut Function) {
    let emitter = Emitter::new(std::mem::take(&mut function.types));
    function.body = expand_block(&emitter, std::mem::take(&mut function.body));
    function.types = emitter.into_types();
}

fn expand_block(emitter: &Emitter, block: Block) -> Block {
    let fill =
        || block.statements.into_iter().for_each(|statement| expand_statement(emitter, statement));
    Block { statements: emitter.block(fill), yields: block.yields }
}

fn expand_statement(emitter: &Emitter, mut statement: Statement) {
    if let Statement::Let { result, op } = &statement
        && let Some(call) = Call::of(op)
    {
        let before = emitter.with_statements(|statements| statements.len());
        let value = call.in_format(emitter);
        emitter.with_statements(|statements| rename(&mut statements[before..], value, *result));
        return;
    }
    for block in statement.blocks_mut() {
        *block = expand_block(emitter, std::mem::take(block));
    }
    emitter.push(statement);
}

/// Gives a value that the statements define another name.
fn rename(statements: &mut [Statement], from: Value, to: Value) {
    let change = |value: &mut Value| {
        if *value == from {
            *value = to;
        }
    };
    for statement in statements {
        statement.for_each_definition_mut(change);
        statement.for_each_operand_mut(change);
        for block in statement.blocks_mut() {
            block.for_each_use_mut(&mut { change });
        }
    }
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
