//! What holds for each statement.

use super::Verifier;
use crate::ir::{Block, Carried, FunctionId, LoopKind, Statement, Value};
use crate::types::{Scalar, Type};

impl<'a> Verifier<'a> {
    pub(super) fn statement(&mut self, statement: &'a Statement) {
        statement.for_each_operand(|value| self.used(value));
        match statement {
            Statement::Let { result, op } => {
                self.op(*result, op);
                self.define(*result);
                self.remember_constant(*result, op);
            }
            Statement::Store { base, index, value, mask } => {
                let ty = self.ty(*value);
                self.access(*base, *index, ty, *mask);
            }
            Statement::For { kind, variable, low, high, step, carried, body } => {
                self.expect_type("the lower bound", *low, Type::I64);
                self.expect_type("the upper bound", *high, Type::I64);
                self.expect_type("the variable", *variable, Type::I64);
                if *step <= 0 {
                    self.error(format!("a step of {step}"));
                }
                let constant =
                    |value: &Value| self.constants.get(value.0 as usize).copied().flatten();
                if *kind == LoopKind::Unroll
                    && (constant(low).is_none() || constant(high).is_none())
                {
                    self.error("a loop to be unrolled has constant bounds");
                }
                self.scoped(|verifier| {
                    verifier.define(*variable);
                    verifier.params(carried);
                    verifier.block(body);
                });
                self.next_values(carried, body);
            }
            Statement::If { condition, results, then, otherwise } => {
                self.expect_type("the condition", *condition, Type::I1);
                self.block(then);
                self.block(otherwise);
                self.yields("the first block", then, results);
                self.yields("the second block", otherwise, results);
                results.iter().for_each(|&result| self.define(result));
            }
            Statement::While { carried, before, body } => {
                self.scoped(|verifier| {
                    verifier.params(carried);
                    verifier.block(before);
                    verifier.block(body);
                });
                match before.yields.as_slice() {
                    [condition] => self.expect_type("the condition", *condition, Type::I1),
                    yields => self.error(format!("{} conditions", yields.len())),
                }
                self.next_values(carried, body);
            }
            Statement::Call { callee, arguments } => self.call(*callee, arguments, &[]),
            Statement::ParallelCall { context, callee, arguments, count, grain } => {
                self.expect_type("the context", *context, Type::PTR);
                self.expect_type("the count", *count, Type::I64);
                if *grain <= 0 {
                    self.error(format!("a grain of {grain}"));
                }
                self.call(*callee, arguments, &[Type::I64, Type::I64]);
            }
            Statement::CallRuntime { name, arguments, result } => {
                let valid = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
                if name.is_empty() || !name.bytes().all(valid) {
                    self.error(format!("`{name}` is no name of a function"));
                }
                for &value in arguments.iter().chain(result) {
                    let ty = self.ty(value);
                    let passable = match ty.scalar {
                        Scalar::I1 | Scalar::F16 | Scalar::BF16 => false,
                        Scalar::I8
                        | Scalar::I16
                        | Scalar::I32
                        | Scalar::I64
                        | Scalar::F32
                        | Scalar::F64
                        | Scalar::Ptr => !ty.is_vector(),
                    };
                    if !passable {
                        let message =
                            format!("`{}` of type {ty} passes no C call", self.name(value));
                        self.error(message);
                    }
                }
                result.iter().for_each(|&result| self.define(result));
            }
            Statement::ReturnIfNonzero { value } => {
                let ty = self.ty(*value);
                if ty.is_vector() || !ty.scalar.is_integer() {
                    self.error(format!("the function returns on {ty}, no integer"));
                }
                if self.function.result != Some(ty) {
                    self.error(format!("the function's result is not {ty}"));
                }
            }
        }
    }

    /// Runs `f`; what it defines is seen no more afterwards.
    fn scoped(&mut self, f: impl FnOnce(&mut Verifier<'a>)) {
        let outside = self.visible.len();
        f(self);
        for value in self.visible.split_off(outside) {
            self.states[value.0 as usize] = super::State::Gone;
        }
    }

    fn params(&mut self, carried: &[Carried]) {
        carried.iter().for_each(|carried| self.define(carried.param));
    }

    /// The types of carried values, and what the body makes of them; defines the results.
    fn next_values(&mut self, carried: &[Carried], body: &Block) {
        let params: Vec<Value> = carried.iter().map(|carried| carried.param).collect();
        self.yields("the body", body, &params);
        for carried in carried {
            let ty = self.ty(carried.param);
            self.expect_type("the first value", carried.init, ty);
            self.expect_type("the last value", carried.result, ty);
            self.define(carried.result);
        }
    }

    fn yields(&mut self, what: &str, block: &Block, receivers: &[Value]) {
        if block.yields.len() != receivers.len() {
            let (yields, wanted) = (block.yields.len(), receivers.len());
            self.error(format!("{what} yields {yields} values where {wanted} belong"));
        }
        for (&value, &receiver) in block.yields.iter().zip(receivers) {
            let ty = self.ty(receiver);
            self.expect_type(&format!("{what} yields"), value, ty);
        }
    }

    fn call(&mut self, callee: FunctionId, arguments: &[Value], more: &[Type]) {
        let Some(callee) = self.module.functions.get(callee.0 as usize) else {
            return self.error(format!("there is no function {}", callee.0));
        };
        if callee.result.is_some() {
            self.error(format!("@{} returns a value, which a call leaves", callee.name));
        }
        let types: Vec<Type> =
            arguments.iter().map(|&value| self.ty(value)).chain(more.iter().copied()).collect();
        let wanted: Vec<Type> = (callee.parameters.iter())
            .map(|parameter| callee.types.get(parameter.value.0 as usize).copied())
            .map(|ty| ty.unwrap_or(Type::I64))
            .collect();
        if types != wanted {
            let list = |types: &[Type]| {
                types.iter().map(|ty| ty.to_string()).collect::<Vec<_>>().join(", ")
            };
            let (found, wanted) = (list(&types), list(&wanted));
            self.error(format!("@{} takes ({wanted}), not ({found})", callee.name));
        }
    }

    /// A load or store of `ty`.
    pub(super) fn access(&mut self, base: Value, index: Value, ty: Type, mask: Option<Value>) {
        self.expect_type("the base", base, Type::PTR);
        if self.ty(index) != Type::I64 {
            self.expect_type("the index", index, Scalar::I64.vector(ty.lanes));
        }
        if let Some(mask) = mask {
            self.expect_type("the mask", mask, ty.with_scalar(Scalar::I1));
        }
    }
}
