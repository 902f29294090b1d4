//! Ways through the IR that every reader of it needs: operands, definitions and blocks of a
//! statement, and copies of blocks under new names.

use std::collections::HashMap;

use crate::ir::{BinaryOp, Block, Function, Op, Statement, UnaryOp, Value};

impl Op {
    /// Calls `f` on each operand, in the order of the text.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        match self {
            Op::Constant { .. } | Op::LaneIndex | Op::Alloca { .. } => {}
            Op::Unary(_, a)
            | Op::Convert(_, a)
            | Op::Splat(a)
            | Op::Extract(a, _)
            | Op::Reduce(_, a) => f(*a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) | Op::Shuffle(a, b, _) => {
                f(*a);
                f(*b);
            }
            Op::Fma(a, b, c) | Op::Select(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
            Op::Load { base, index, mask } => {
                f(*base);
                f(*index);
                mask.iter().for_each(|&mask| f(mask));
            }
            Op::Offset { base, bytes } => {
                f(*base);
                f(*bytes);
            }
        }
    }

    /// The same, to change them.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Op::Constant { .. } | Op::LaneIndex | Op::Alloca { .. } => {}
            Op::Unary(_, a)
            | Op::Convert(_, a)
            | Op::Splat(a)
            | Op::Extract(a, _)
            | Op::Reduce(_, a) => f(a),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) | Op::Shuffle(a, b, _) => {
                f(a);
                f(b);
            }
            Op::Fma(a, b, c) | Op::Select(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            Op::Load { base, index, mask } => {
                f(base);
                f(index);
                mask.iter_mut().for_each(f);
            }
            Op::Offset { base, bytes } => {
                f(base);
                f(bytes);
            }
        }
    }

    /// Whether the result depends on the operands alone. Loads depend on memory, and each place
    /// where memory is made makes memory of its own.
    pub fn is_pure(&self) -> bool {
        match self {
            Op::Load { .. } | Op::Alloca { .. } => false,
            Op::Constant { .. }
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::Compare(..)
            | Op::Select(..)
            | Op::Convert(..)
            | Op::Splat(_)
            | Op::LaneIndex
            | Op::Extract(..)
            | Op::Reduce(..)
            | Op::Shuffle(..)
            | Op::Offset { .. } => true,
        }
    }
}

impl Statement {
    /// Calls `f` on each value that the statement itself uses. What the blocks inside use and
    /// yield is not counted.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        match self {
            Statement::Let { op, .. } => op.for_each_operand(f),
            Statement::Store { base, index, value, mask } => {
                f(*base);
                f(*index);
                f(*value);
                mask.iter().for_each(|&mask| f(mask));
            }
            Statement::For { low, high, carried, .. } => {
                f(*low);
                f(*high);
                carried.iter().for_each(|carried| f(carried.init));
            }
            Statement::If { condition, .. } => f(*condition),
            Statement::While { carried, .. } => carried.iter().for_each(|carried| f(carried.init)),
            Statement::Call { arguments, .. } | Statement::CallRuntime { arguments, .. } => {
                arguments.iter().for_each(|&argument| f(argument));
            }
            Statement::ParallelCall { context, arguments, count, .. } => {
                f(*context);
                arguments.iter().for_each(|&argument| f(argument));
                f(*count);
            }
            Statement::ReturnIfNonzero { value } => f(*value),
        }
    }

    /// The same, to change them.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Statement::Let { op, .. } => op.for_each_operand_mut(f),
            Statement::Store { base, index, value, mask } => {
                f(base);
                f(index);
                f(value);
                mask.iter_mut().for_each(f);
            }
            Statement::For { low, high, carried, .. } => {
                f(low);
                f(high);
                carried.iter_mut().for_each(|carried| f(&mut carried.init));
            }
            Statement::If { condition, .. } => f(condition),
            Statement::While { carried, .. } => {
                carried.iter_mut().for_each(|carried| f(&mut carried.init));
            }
            Statement::Call { arguments, .. } | Statement::CallRuntime { arguments, .. } => {
                arguments.iter_mut().for_each(f);
            }
            Statement::ParallelCall { context, arguments, count, .. } => {
                f(context);
                arguments.iter_mut().for_each(&mut f);
                f(count);
            }
            Statement::ReturnIfNonzero { value } => f(value),
        }
    }

    /// Calls `f` on each value that the statement defines: its results, and what it gives to its
    /// blocks.
    pub fn for_each_definition(&self, mut f: impl FnMut(Value)) {
        match self {
            Statement::Let { result, .. } => f(*result),
            Statement::For { variable, carried, .. } => {
                f(*variable);
                for carried in carried {
                    f(carried.param);
                    f(carried.result);
                }
            }
            Statement::If { results, .. } => results.iter().for_each(|&result| f(result)),
            Statement::While { carried, .. } => {
                for carried in carried {
                    f(carried.param);
                    f(carried.result);
                }
            }
            Statement::CallRuntime { result, .. } => result.iter().for_each(|&result| f(result)),
            Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::ReturnIfNonzero { .. } => {}
        }
    }

    /// The same, to change them.
    pub fn for_each_definition_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Statement::Let { result, .. } => f(result),
            Statement::For { variable, carried, .. } => {
                f(variable);
                for carried in carried {
                    f(&mut carried.param);
                    f(&mut carried.result);
                }
            }
            Statement::If { results, .. } => results.iter_mut().for_each(f),
            Statement::While { carried, .. } => {
                for carried in carried {
                    f(&mut carried.param);
                    f(&mut carried.result);
                }
            }
            Statement::CallRuntime { result, .. } => result.iter_mut().for_each(f),
            Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::ReturnIfNonzero { .. } => {}
        }
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let blocks = match self {
            Statement::For { body, .. } => [Some(body), None],
            Statement::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
            Statement::While { before, body, .. } => [Some(before), Some(body)],
            Statement::Let { .. }
            | Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => [None, None],
        };
        blocks.into_iter().flatten()
    }

    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let blocks = match self {
            Statement::For { body, .. } => [Some(body), None],
            Statement::If { then, otherwise, .. } => [Some(then), Some(otherwise)],
            Statement::While { before, body, .. } => [Some(before), Some(body)],
            Statement::Let { .. }
            | Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => [None, None],
        };
        blocks.into_iter().flatten()
    }

    /// Calls `f` on every use of a value in the statement and in its blocks.
    pub fn for_each_use_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
        self.for_each_operand_mut(&mut *f);
        self.blocks_mut().for_each(|block| block.for_each_use_mut(f));
    }

    /// Calls `f` on every use of a value in the statement and in its blocks.
    pub fn for_each_use(&self, f: &mut impl FnMut(Value)) {
        self.for_each_operand(&mut *f);
        self.blocks().for_each(|block| block.for_each_use(f));
    }

    /// Calls `f` on this statement and all inside it, the outer ones first.
    pub fn walk(&self, f: &mut impl FnMut(&Statement)) {
        f(self);
        self.blocks().for_each(|block| block.walk(f));
    }
}

impl Block {
    /// Calls `f` on each statement, also on those inside others, the outer ones first.
    pub fn walk(&self, f: &mut impl FnMut(&Statement)) {
        self.statements.iter().for_each(|statement| statement.walk(f));
    }

    /// Calls `f` on every use of a value in the block, its yields included.
    pub fn for_each_use_mut(&mut self, f: &mut impl FnMut(&mut Value)) {
        for statement in &mut self.statements {
            statement.for_each_use_mut(f);
        }
        self.yields.iter_mut().for_each(f);
    }

    /// Calls `f` on every use of a value in the block, its yields included.
    pub fn for_each_use(&self, f: &mut impl FnMut(Value)) {
        for statement in &self.statements {
            statement.for_each_use(f);
        }
        self.yields.iter().for_each(|&value| f(value));
    }
}

/// New names for values, for copies of code.
#[derive(Clone, Debug, Default)]
pub struct Renaming {
    to: HashMap<Value, Value>,
}

impl Renaming {
    /// What stands for `value`: itself unless it was renamed.
    pub fn get(&self, value: Value) -> Value {
        self.to.get(&value).copied().unwrap_or(value)
    }

    pub fn insert(&mut self, from: Value, to: Value) {
        self.to.insert(from, to);
    }

    /// A copy of a block in which everything defined has a new name, and what was renamed
    /// before is used under that name.
    pub fn copy_block(&mut self, function: &mut Function, block: &Block) -> Block {
        let statements =
            block.statements.iter().map(|statement| self.copy(function, statement)).collect();
        Block { statements, yields: block.yields.iter().map(|&value| self.get(value)).collect() }
    }

    /// A copy of a statement in the same way.
    pub fn copy(&mut self, function: &mut Function, statement: &Statement) -> Statement {
        let mut copy = match statement {
            Statement::For { kind, variable, low, high, step, carried, .. } => Statement::For {
                kind: *kind,
                variable: *variable,
                low: *low,
                high: *high,
                step: *step,
                carried: carried.clone(),
                body: Block::default(),
            },
            Statement::If { condition, results, .. } => Statement::If {
                condition: *condition,
                results: results.clone(),
                then: Block::default(),
                otherwise: Block::default(),
            },
            Statement::While { carried, .. } => Statement::While {
                carried: carried.clone(),
                before: Block::default(),
                body: Block::default(),
            },
            Statement::Let { .. }
            | Statement::Store { .. }
            | Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => statement.clone(),
        };
        copy.for_each_operand_mut(|value| *value = self.get(*value));
        copy.for_each_definition_mut(|value| {
            let new = function.new_value(function.ty(*value));
            self.insert(*value, new);
            *value = new;
        });
        for (copy, block) in copy.blocks_mut().zip(statement.blocks()) {
            *copy = self.copy_block(function, block);
        }
        copy
    }
}

impl UnaryOp {
    /// Whether it is a mathematical function, which code generation sees expanded.
    pub fn is_maths(self) -> bool {
        self >= UnaryOp::Exp
    }
}

impl BinaryOp {
    /// Whether it is a mathematical function, which code generation sees expanded.
    pub fn is_maths(self) -> bool {
        self >= BinaryOp::Atan2
    }

    /// Whether its result is one of its operands.
    pub fn is_choice(self) -> bool {
        matches!(
            self,
            BinaryOp::FMin
                | BinaryOp::FMax
                | BinaryOp::SMin
                | BinaryOp::SMax
                | BinaryOp::UMin
                | BinaryOp::UMax
        )
    }

    /// Whether it may stand in a reduction: associative (as near as floats are) and commutative.
    pub fn is_reducer(self) -> bool {
        match self {
            BinaryOp::Add
            | BinaryOp::Mul
            | BinaryOp::FMin
            | BinaryOp::FMax
            | BinaryOp::SMin
            | BinaryOp::SMax
            | BinaryOp::UMin
            | BinaryOp::UMax
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor => true,
            BinaryOp::Sub
            | BinaryOp::FDiv
            | BinaryOp::FRem
            | BinaryOp::SDiv
            | BinaryOp::UDiv
            | BinaryOp::SRem
            | BinaryOp::URem
            | BinaryOp::Shl
            | BinaryOp::LShr
            | BinaryOp::AShr
            | BinaryOp::CopySign
            | BinaryOp::Atan2
            | BinaryOp::Pow => false,
        }
    }
}
