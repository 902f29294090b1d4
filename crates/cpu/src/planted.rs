//! Schedules that are wrong on purpose: what `rxla bisect` has to find in its tests.

use rxla_kernel::{Block, Function, LoopKind, Op, Statement, Type, Value};

/// Iterations that vector loops with a carried value do by eights; the rest is lost.
const LANES: i64 = 8;

/// Has vector loops that reduce lose their remainder.
pub(crate) fn lose_remainders(function: &mut Function) {
    let mut constants = vec![None; function.types.len()];
    function.body.walk(&mut |statement| {
        if let Statement::Let { result, op: Op::Constant { bits } } = statement {
            constants[result.0 as usize] = Some(*bits as i64);
        }
    });
    let mut body = std::mem::take(&mut function.body);
    block(function, &constants, &mut body);
    function.body = body;
}

fn block(function: &mut Function, constants: &[Option<i64>], block_: &mut Block) {
    let statements = std::mem::take(&mut block_.statements);
    for mut statement in statements {
        match &mut statement {
            Statement::For { kind, low, high, carried, body, .. } => {
                block(function, constants, body);
                let known = |value: Value| constants.get(value.0 as usize).copied().flatten();
                if let (LoopKind::Vector, false, Some(from), Some(to)) =
                    (*kind, carried.is_empty(), known(*low), known(*high))
                {
                    let result = function.new_value(Type::I64);
                    let bits = (from + (to - from) / LANES * LANES) as u64;
                    block_.statements.push(Statement::Let { result, op: Op::Constant { bits } });
                    *high = result;
                }
            }
            Statement::If { then, otherwise, .. } => {
                block(function, constants, then);
                block(function, constants, otherwise);
            }
            Statement::While { before, body, .. } => {
                block(function, constants, before);
                block(function, constants, body);
            }
            Statement::Let { .. }
            | Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => {}
        }
        block_.statements.push(statement);
    }
}
