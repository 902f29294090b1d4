//! Loops marked `unroll` become their iterations, one after the other.

use crate::ir::{Block, Function, LoopKind, Op, Statement, Value};
use crate::types::Type;
use crate::walk::Renaming;

/// Loops that would make more statements than this stay loops.
const MAX_STATEMENTS: u64 = 4096;

/// Unrolls every loop marked so whose bounds are constants and which is not too large.
pub fn unroll(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let mut constants = vec![None; function.types.len()];
    block(function, &mut constants, &mut body);
    function.body = body;
}

fn block(function: &mut Function, constants: &mut Vec<Option<i64>>, block: &mut Block) {
    let mut renaming = Renaming::default();
    for mut statement in std::mem::take(&mut block.statements) {
        // Results of loops that are gone have the names of what the last iteration gave.
        statement.for_each_use_mut(&mut |value| *value = renaming.get(*value));
        if let Statement::Let { result, op: Op::Constant { bits } } = &statement {
            constants.resize(function.types.len(), None);
            constants[result.0 as usize] = Some(*bits as i64);
        }
        for inner in statement.blocks_mut() {
            self::block(function, constants, inner);
        }
        let iterations = iterations(constants, &statement);
        match (statement, iterations) {
            (Statement::For { variable, carried, body, .. }, Some(iterations)) => {
                let mut current: Vec<Value> = carried.iter().map(|carried| carried.init).collect();
                for at in iterations {
                    let index = function.new_value(Type::I64);
                    let op = Op::Constant { bits: at as u64 };
                    block.statements.push(Statement::Let { result: index, op });
                    let mut copy = Renaming::default();
                    copy.insert(variable, index);
                    for (carried, &value) in carried.iter().zip(&current) {
                        copy.insert(carried.param, value);
                    }
                    let copy = copy.copy_block(function, &body);
                    block.statements.extend(copy.statements);
                    current = copy.yields;
                }
                for (carried, value) in carried.iter().zip(current) {
                    renaming.insert(carried.result, value);
                }
            }
            (mut other, _) => {
                if let Statement::For { kind: kind @ LoopKind::Unroll, .. } = &mut other {
                    *kind = LoopKind::Sequential;
                }
                block.statements.push(other);
            }
        }
    }
    block.yields.iter_mut().for_each(|value| *value = renaming.get(*value));
}

/// The values of a loop's variable if the loop is to be unrolled.
fn iterations(
    constants: &[Option<i64>],
    statement: &Statement,
) -> Option<std::iter::StepBy<std::ops::Range<i64>>> {
    let Statement::For { kind: LoopKind::Unroll, low, high, step, body, .. } = statement else {
        return None;
    };
    let constant = |value: &Value| constants.get(value.0 as usize).copied().flatten();
    let (low, high) = (constant(low)?, constant(high)?);
    let count = i128::from(high).saturating_sub(i128::from(low)).max(0).unsigned_abs();
    let count = count.div_ceil(u128::from(step.unsigned_abs()));
    let mut size = 1u64;
    body.walk(&mut |_| size += 1);
    if count.saturating_mul(u128::from(size)) > u128::from(MAX_STATEMENTS) {
        return None;
    }
    Some((low..high).step_by(usize::try_from(*step).ok()?))
}

#[cfg(test)]
mod tests {
    use crate::schedule::check;

    #[test]
    fn iterations_follow_each_other() {
        check(
            super::unroll,
            "kernel @f(%0: ptr, %1: i64) {
               %low: i64 = constant 1
               %high: i64 = constant 6
               %sum: i64 = for unroll %i in %low..%high step 3 carried (%s = %1) {
                 %next: i64 = add %s, %i
                 yield %next
               }
               store %0[%low], %sum
             }",
            "kernel @f(%0: ptr, %1: i64) {
  %2: i64 = constant 1
  %3: i64 = constant 6
  %4: i64 = constant 1
  %5: i64 = add %1, %4
  %6: i64 = constant 4
  %7: i64 = add %5, %6
  store %0[%2], %7
}
",
        );
    }

    #[test]
    fn loops_in_loops_and_loops_of_nothing() {
        check(
            super::unroll,
            "kernel @f(%0: ptr, %1: i64) {
               %zero: i64 = constant 0
               %two: i64 = constant 2
               for %i in %zero..%1 step 1 {
                 for unroll %j in %zero..%two step 1 {
                   store %0[%j], %i
                 }
                 %none: i64 = for unroll %j2 in %two..%zero step 1 carried (%c = %i) { yield %zero }
                 store %0[%zero], %none
               }
             }",
            "kernel @f(%0: ptr, %1: i64) {
  %2: i64 = constant 0
  %3: i64 = constant 2
  for %4 in %2..%1 step 1 {
    %5: i64 = constant 0
    store %0[%5], %4
    %6: i64 = constant 1
    store %0[%6], %4
    store %0[%2], %4
  }
}
",
        );
    }
}
