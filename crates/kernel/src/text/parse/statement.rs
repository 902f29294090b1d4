//! Statements.

use super::{Parser, Result, Token, TokenKind, error};
use crate::ir::{Carried, FunctionId, LoopKind, Statement, Value};
use crate::types::Type;

impl<'a> Parser<'a> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let start = self.token;
        let results = self.results()?;
        let word = self.token;
        let name = self.slice(word);
        let one = |results: &[Value]| match results {
            [result] => Ok(*result),
            _ => {
                let message = format!("an operation has one result, not {}", results.len());
                Err(error(message, start.span()))
            }
        };
        let none = |statement| match results.as_slice() {
            [] => Ok(statement),
            _ => {
                let message = format!("`{name}` has no result");
                Err(error(message, start.span()))
            }
        };
        if word.kind != TokenKind::Word {
            return Err(self.unexpected("a statement"));
        }
        match name {
            "for" => self.for_loop(results, start),
            "while" => self.while_loop(results, start),
            "if" => self.if_else(results),
            "store" => none(self.store()?),
            "call" => none(self.call()?),
            "parallel_call" => none(self.parallel_call()?),
            "return_if_nonzero" => {
                self.advance();
                none(Statement::ReturnIfNonzero { value: self.operand()? })
            }
            "call_runtime" => {
                if results.len() > 1 {
                    one(&results)?;
                }
                self.call_runtime(results.first().copied())
            }
            _ => {
                let result = one(&results)?;
                let op = self.op(self.function.ty(result))?;
                Ok(Statement::Let { result, op })
            }
        }
    }

    /// `%a: f32, %b: i64 =`, or nothing.
    fn results(&mut self) -> Result<Vec<Value>> {
        let mut results = Vec::new();
        if self.token.kind != TokenKind::Value {
            return Ok(results);
        }
        loop {
            results.push(self.typed_definition()?);
            if !self.take(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Equal)?;
        Ok(results)
    }

    /// `carried (%p = %init, …)`, one for each result.
    fn carried(&mut self, results: &[Value], start: Token) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        let place = self.token;
        if self.take_word("carried") {
            self.expect(TokenKind::LeftParen)?;
            loop {
                let param = self.definition()?;
                self.expect(TokenKind::Equal)?;
                let init = self.operand()?;
                carried.push((param, init));
                if !self.take(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::RightParen)?;
        }
        if carried.len() != results.len() {
            let message =
                format!("{} carried values, but {} results", carried.len(), results.len());
            return Err(error(message, start.span()).label(place.span(), ""));
        }
        let carry = |((param, init), &result)| {
            let param = self.define(param, self.function.ty(result))?;
            Ok(Carried { init, param, result })
        };
        carried.into_iter().zip(results).map(carry).collect()
    }

    fn for_loop(&mut self, results: Vec<Value>, start: Token) -> Result<Statement> {
        self.expect_word("for")?;
        let mut kind = LoopKind::Sequential;
        if self.token.kind == TokenKind::Word {
            let token = self.advance();
            let Some(named) = LoopKind::from_name(self.slice(token)) else {
                let message = format!("`{}` is no kind of loop", self.slice(token));
                return Err(error(message, token.span()));
            };
            kind = named;
        }
        let variable = self.definition()?;
        let variable = self.define(variable, Type::I64)?;
        self.expect_word("in")?;
        let low = self.operand()?;
        self.expect(TokenKind::Dots)?;
        let high = self.operand()?;
        self.expect_word("step")?;
        let step = self.integer()?;
        let carried = self.carried(&results, start)?;
        let body = self.block()?;
        Ok(Statement::For { kind, variable, low, high, step, carried, body })
    }

    fn while_loop(&mut self, results: Vec<Value>, start: Token) -> Result<Statement> {
        self.expect_word("while")?;
        let carried = self.carried(&results, start)?;
        let before = self.block()?;
        self.expect_word("do")?;
        let body = self.block()?;
        Ok(Statement::While { carried, before, body })
    }

    fn if_else(&mut self, results: Vec<Value>) -> Result<Statement> {
        self.expect_word("if")?;
        let condition = self.operand()?;
        let then = self.block()?;
        let otherwise = if self.take_word("else") { self.block()? } else { Default::default() };
        Ok(Statement::If { condition, results, then, otherwise })
    }

    fn store(&mut self) -> Result<Statement> {
        self.expect_word("store")?;
        let (base, index) = self.element()?;
        self.expect(TokenKind::Comma)?;
        let value = self.operand()?;
        let mask = self.mask()?;
        Ok(Statement::Store { base, index, value, mask })
    }

    fn call(&mut self) -> Result<Statement> {
        self.expect_word("call")?;
        let callee = self.callee()?;
        let arguments = self.arguments()?;
        Ok(Statement::Call { callee, arguments })
    }

    fn parallel_call(&mut self) -> Result<Statement> {
        self.expect_word("parallel_call")?;
        let context = self.operand()?;
        self.expect(TokenKind::Comma)?;
        let callee = self.callee()?;
        let arguments = self.arguments()?;
        self.expect_word("count")?;
        let count = self.operand()?;
        self.expect_word("grain")?;
        let grain = self.integer()?;
        Ok(Statement::ParallelCall { context, callee, arguments, count, grain })
    }

    fn call_runtime(&mut self, result: Option<Value>) -> Result<Statement> {
        self.expect_word("call_runtime")?;
        let name = self.expect(TokenKind::Function)?;
        let name = self.function_name(name)?.to_owned();
        let arguments = self.arguments()?;
        Ok(Statement::CallRuntime { name, arguments, result })
    }

    fn callee(&mut self) -> Result<FunctionId> {
        let token = self.expect(TokenKind::Function)?;
        let name = self.function_name(token)?;
        self.functions
            .get(name)
            .copied()
            .ok_or_else(|| error(format!("no function is named `{name}`"), token.span()))
    }

    fn arguments(&mut self) -> Result<Vec<Value>> {
        self.expect(TokenKind::LeftParen)?;
        if self.take(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let arguments = self.operands()?;
        self.expect(TokenKind::RightParen)?;
        Ok(arguments)
    }

    /// `%base[%index]`.
    pub(super) fn element(&mut self) -> Result<(Value, Value)> {
        let base = self.operand()?;
        self.expect(TokenKind::LeftSquare)?;
        let index = self.operand()?;
        self.expect(TokenKind::RightSquare)?;
        Ok((base, index))
    }

    pub(super) fn mask(&mut self) -> Result<Option<Value>> {
        if self.take_word("mask") { Ok(Some(self.operand()?)) } else { Ok(None) }
    }
}
