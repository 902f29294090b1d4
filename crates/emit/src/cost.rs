//! What an instruction takes, counted in the kernel IR of a first run.

use rustc_hash::FxHashMap;
use rxla_hlo::{InstructionId, Module};
use rxla_kernel::{BinaryOp, Block, Function, Op, Statement, UnaryOp, Value};

use crate::Cost;

pub(crate) fn cost_of(module: &Module, id: InstructionId, function: &Function) -> Cost {
    let mut count =
        Count { function, constants: FxHashMap::default(), cost: Cost::default(), read: 0 };
    count.block(&function.body, 1);
    // Elements that are read again come from a cache: memory is read once.
    let operands = module[id].operands();
    let most: i64 = operands
        .iter()
        .map(|&operand| module[operand].shape.byte_size().unwrap_or(0) as i64)
        .fold(0, i64::saturating_add);
    let mut cost = count.cost;
    cost.bytes = cost.bytes.saturating_add(count.read.min(most));
    cost
}

struct Count<'a> {
    function: &'a Function,
    constants: FxHashMap<Value, i64>,
    cost: Cost,
    read: i64,
}

impl Count<'_> {
    fn block(&mut self, block: &Block, times: i64) {
        for statement in &block.statements {
            self.statement(statement, times);
        }
    }

    fn statement(&mut self, statement: &Statement, times: i64) {
        let bytes = |value: Value| self.function.ty(value).scalar.byte_width() as i64;
        match statement {
            Statement::Let { result, op } => {
                if let Op::Constant { bits } = op {
                    self.constants.insert(*result, *bits as i64);
                }
                if let Op::Load { .. } = op {
                    self.read = self.read.saturating_add(times.saturating_mul(bytes(*result)));
                }
                self.operations(times.saturating_mul(weight(op)));
            }
            Statement::Store { value, .. } => {
                let stored = times.saturating_mul(bytes(*value));
                self.cost.bytes = self.cost.bytes.saturating_add(stored);
            }
            Statement::For { low, high, step, body, .. } => {
                let known = |value: &Value| self.constants.get(value).copied();
                // Bounds that are not constant are those of chunks.
                let trips = match (known(low), known(high)) {
                    (Some(low), Some(high)) => (high - low).max(0) / step.max(&1),
                    _ => 1024,
                };
                self.operations(times.saturating_mul(trips));
                self.block(body, times.saturating_mul(trips));
            }
            Statement::If { then, otherwise, .. } => {
                self.block(then, times);
                self.block(otherwise, times);
            }
            Statement::While { before, body, .. } => {
                self.block(before, times);
                self.block(body, times);
            }
            Statement::Call { .. }
            | Statement::ParallelCall { .. }
            | Statement::CallRuntime { .. }
            | Statement::ReturnIfNonzero { .. } => self.operations(times),
        }
    }

    fn operations(&mut self, count: i64) {
        self.cost.operations = self.cost.operations.saturating_add(count);
    }
}

/// Operations as simple ones: division takes longer, a mathematical function expands to many.
fn weight(op: &Op) -> i64 {
    match op {
        Op::Constant { .. } | Op::Load { .. } | Op::Offset { .. } | Op::Alloca { .. } => 0,
        Op::Unary(unary, _) => match unary {
            UnaryOp::Neg
            | UnaryOp::Not
            | UnaryOp::FAbs
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Trunc
            | UnaryOp::RoundEven => 1,
            UnaryOp::PopCount | UnaryOp::CountLeadingZeros => 4,
            UnaryOp::Sqrt | UnaryOp::Rsqrt => 8,
            UnaryOp::Exp
            | UnaryOp::Exp2
            | UnaryOp::Expm1
            | UnaryOp::Log
            | UnaryOp::Log2
            | UnaryOp::Log1p
            | UnaryOp::Sin
            | UnaryOp::Cos
            | UnaryOp::Tan
            | UnaryOp::Asin
            | UnaryOp::Acos
            | UnaryOp::Atan
            | UnaryOp::Sinh
            | UnaryOp::Cosh
            | UnaryOp::Tanh
            | UnaryOp::Asinh
            | UnaryOp::Acosh
            | UnaryOp::Atanh
            | UnaryOp::Erf
            | UnaryOp::Erfc
            | UnaryOp::Cbrt
            | UnaryOp::Logistic => 20,
        },
        Op::Binary(binary, ..) => match binary {
            BinaryOp::FDiv => 4,
            BinaryOp::SDiv | BinaryOp::UDiv | BinaryOp::SRem | BinaryOp::URem => 10,
            BinaryOp::FRem | BinaryOp::Atan2 | BinaryOp::Pow => 40,
            _ => 1,
        },
        Op::Fma(..)
        | Op::Compare(..)
        | Op::Select(..)
        | Op::Convert(..)
        | Op::Splat(_)
        | Op::LaneIndex
        | Op::Extract(..)
        | Op::Reduce(..)
        | Op::Shuffle(..) => 1,
    }
}
