//! Moves what a loop does not change to before the loop.

use std::collections::HashMap;

use crate::ir::{Block, Function, Op, Statement, Value};

/// Hoists operations out of loops: pure ones wherever their operands allow, for all operations
/// are total; loads only out of loops that run at least once and store nowhere near.
pub fn hoist(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let mut addresses = Addresses::default();
    for parameter in &function.parameters {
        let root = if parameter.noalias { Root::Alone } else { Root::Shared };
        addresses.roots.insert(parameter.value, (parameter.value, root));
    }
    let mut hoister = Hoister {
        inside: vec![0; function.types.len()],
        loops: 0,
        constants: HashMap::new(),
        addresses,
    };
    hoister.block(&mut body);
    function.body = body;
}

struct Hoister {
    /// The number of the loop being looked at, for what it defines.
    inside: Vec<u32>,
    loops: u32,
    constants: HashMap<Value, u64>,
    addresses: Addresses,
}

/// Where addresses point to.
#[derive(Default)]
struct Addresses {
    /// The address that each one was made from by moving it.
    roots: HashMap<Value, (Value, Root)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Root {
    /// Nothing reached from elsewhere overlaps.
    Alone,
    Shared,
}

impl Addresses {
    fn root(&self, base: Value) -> (Value, Root) {
        self.roots.get(&base).copied().unwrap_or((base, Root::Shared))
    }

    fn may_overlap(&self, a: Value, b: Value) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        a.0 == b.0 || (a.1 == Root::Shared && b.1 == Root::Shared)
    }
}

impl Hoister {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.statements.len());
        for mut statement in std::mem::take(&mut block.statements) {
            self.learn(&statement);
            // Inner loops first: what leaves them may leave this one too.
            statement.blocks_mut().for_each(|block| self.block(block));
            if matches!(statement, Statement::For { .. } | Statement::While { .. }) {
                self.leave_loop(&mut statement, &mut out);
            }
            out.push(statement);
        }
        block.statements = out;
    }

    fn learn(&mut self, statement: &Statement) {
        let Statement::Let { result, op } = statement else { return };
        match op {
            Op::Constant { bits } => {
                self.constants.insert(*result, *bits);
            }
            Op::Alloca { .. } => {
                self.addresses.roots.insert(*result, (*result, Root::Alone));
            }
            Op::Offset { base, .. } => {
                let root = self.addresses.root(*base);
                self.addresses.roots.insert(*result, root);
            }
            _ => {}
        }
    }

    fn leave_loop(&mut self, statement: &mut Statement, out: &mut Vec<Statement>) {
        self.loops += 1;
        let number = self.loops;
        let mut writes = Writes::default();
        statement.walk(&mut |inner| {
            inner.for_each_definition(|value| self.inside[value.0 as usize] = number);
            writes.note(inner);
        });
        // Results are defined by the loop, but they are not seen inside.
        let runs = self.runs_at_least_once(statement);
        for block in statement.blocks_mut() {
            let loads = if runs { Some(&writes) } else { None };
            self.leave_block(block, loads, out);
        }
    }

    fn leave_block(
        &mut self,
        block: &mut Block,
        writes: Option<&Writes>,
        out: &mut Vec<Statement>,
    ) {
        for mut statement in std::mem::take(&mut block.statements) {
            let Statement::Let { result, op } = &statement else {
                if let Statement::If { then, otherwise, .. } = &mut statement {
                    self.leave_condition(then, out);
                    self.leave_condition(otherwise, out);
                }
                block.statements.push(statement);
                continue;
            };
            let movable = match op {
                Op::Load { base, .. } => writes.is_some_and(|writes| {
                    !writes.anywhere
                        && writes.bases.iter().all(|&to| !self.addresses.may_overlap(*base, to))
                }),
                op => op.is_pure(),
            };
            if movable && !self.depends_on_loop(op) {
                self.inside[result.0 as usize] = 0;
                out.push(statement);
            } else {
                block.statements.push(statement);
            }
        }
    }

    /// Out of conditional blocks goes what costs nothing.
    fn leave_condition(&mut self, block: &mut Block, out: &mut Vec<Statement>) {
        for mut statement in std::mem::take(&mut block.statements) {
            if let Statement::If { then, otherwise, .. } = &mut statement {
                self.leave_condition(then, out);
                self.leave_condition(otherwise, out);
            }
            match &statement {
                Statement::Let {
                    result,
                    op: op @ (Op::Constant { .. } | Op::Splat(_) | Op::LaneIndex),
                } if !self.depends_on_loop(op) => {
                    self.inside[result.0 as usize] = 0;
                    out.push(statement);
                }
                _ => block.statements.push(statement),
            }
        }
    }

    fn depends_on_loop(&self, op: &Op) -> bool {
        let mut depends = false;
        op.for_each_operand(|operand| {
            depends |= self.inside[operand.0 as usize] == self.loops;
        });
        depends
    }

    fn runs_at_least_once(&self, statement: &Statement) -> bool {
        let Statement::For { low, high, .. } = statement else { return false };
        match (self.constants.get(low), self.constants.get(high)) {
            (Some(&low), Some(&high)) => (low as i64) < (high as i64),
            (Some(_) | None, _) => false,
        }
    }
}

/// What a loop writes to.
#[derive(Default)]
struct Writes {
    bases: Vec<Value>,
    /// Calls may write wherever they like.
    anywhere: bool,
}

impl Writes {
    fn note(&mut self, statement: &Statement) {
        match statement {
            Statement::Store { base, .. } => self.bases.push(*base),
            // A return may come before the load that would be moved before it.
            Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => self.anywhere = true,
            Statement::Let { .. }
            | Statement::For { .. }
            | Statement::If { .. }
            | Statement::While { .. } => {}
        }
    }
}
