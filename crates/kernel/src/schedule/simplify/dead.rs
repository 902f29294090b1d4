//! Removes what has no effect and whose results nobody uses, carried values included.

use crate::ir::{Block, Carried, Function, Statement, Value};

/// Removes dead code. A `while` stays, for it may be meant not to end.
pub fn remove_dead_code(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let mut live = Live { values: vec![false; function.types.len()], changed: false };
    live.block(&body);
    live.sweep(&mut body);
    function.body = body;
}

struct Live {
    values: Vec<bool>,
    changed: bool,
}

impl Live {
    fn is(&self, value: Value) -> bool {
        self.values[value.0 as usize]
    }

    fn mark(&mut self, value: Value) {
        self.changed |= !self.is(value);
        self.values[value.0 as usize] = true;
    }

    fn kept(&self, carried: &Carried) -> bool {
        self.is(carried.param) || self.is(carried.result)
    }

    /// Marks what the statements of a block need, backwards.
    fn block(&mut self, block: &Block) {
        for statement in block.statements.iter().rev() {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        if !self.is_needed(statement) {
            return;
        }
        match statement {
            Statement::For { low, high, carried, body, .. } => {
                self.mark(*low);
                self.mark(*high);
                self.cycle(carried, &body.yields, |live| live.block(body));
            }
            Statement::While { carried, before, body } => {
                before.yields.iter().for_each(|&condition| self.mark(condition));
                self.cycle(carried, &body.yields, |live| {
                    live.block(body);
                    live.block(before);
                });
            }
            Statement::If { condition, results, then, otherwise } => {
                self.mark(*condition);
                for (position, &result) in results.iter().enumerate() {
                    if self.is(result) {
                        self.mark(then.yields[position]);
                        self.mark(otherwise.yields[position]);
                    }
                }
                self.block(then);
                self.block(otherwise);
            }
            Statement::Let { .. }
            | Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => {
                statement.for_each_operand(|operand| self.mark(operand));
            }
        }
    }

    /// Marks round a loop until nothing is new.
    fn cycle(&mut self, carried: &[Carried], yields: &[Value], run: impl Fn(&mut Live)) {
        let mut changed = self.changed;
        loop {
            self.changed = false;
            for (carried, &next) in carried.iter().zip(yields) {
                if self.kept(carried) {
                    self.mark(next);
                    self.mark(carried.init);
                }
            }
            run(self);
            if !self.changed {
                break;
            }
            changed = true;
        }
        // Loops around this one have to look again too.
        self.changed = changed;
    }

    fn is_needed(&self, statement: &Statement) -> bool {
        let mut result_lives = false;
        statement.for_each_definition(|value| result_lives |= self.is(value));
        result_lives || has_effect(statement)
    }

    fn sweep(&self, block: &mut Block) {
        block.statements.retain(|statement| self.is_needed(statement));
        for statement in &mut block.statements {
            match statement {
                Statement::For { carried, body, .. } | Statement::While { carried, body, .. } => {
                    let kept: Vec<bool> =
                        carried.iter().map(|carried| self.kept(carried)).collect();
                    retain(carried, &kept);
                    retain(&mut body.yields, &kept);
                }
                Statement::If { results, then, otherwise, .. } => {
                    let kept: Vec<bool> = results.iter().map(|&result| self.is(result)).collect();
                    retain(results, &kept);
                    retain(&mut then.yields, &kept);
                    retain(&mut otherwise.yields, &kept);
                }
                Statement::Let { .. }
                | Statement::Store { .. }
                | Statement::Call { .. }
                | Statement::ParallelCall { .. }
                | Statement::CallRuntime { .. }
                | Statement::ReturnIfNonzero { .. } => {}
            }
            statement.blocks_mut().for_each(|block| self.sweep(block));
        }
    }
}

fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| *kept.next().expect("one for each"));
}

/// Whether running a statement may be noticed apart from its results.
pub(super) fn has_effect(statement: &Statement) -> bool {
    match statement {
        Statement::Let { .. } => false,
        Statement::Store { .. }
        | Statement::Call { .. }
        | Statement::ParallelCall { .. }
        | Statement::CallRuntime { .. }
        | Statement::ReturnIfNonzero { .. }
        | Statement::While { .. } => true,
        Statement::For { .. } | Statement::If { .. } => {
            statement.blocks().any(|block| block.statements.iter().any(has_effect))
        }
    }
}
