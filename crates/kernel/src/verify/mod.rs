//! Whether a module means something: every value is defined once and seen where it is used, every
//! statement's and operation's types fit, calls fit what they call and never come back to where
//! they started.
//!
//! That loads and stores stay inside their buffers is not checked here, for it cannot be; the
//! evaluator checks it for the inputs it is given.

pub mod op;
mod statement;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use rxla_base::Diagnostic;

use crate::ir::{Block, Function, FunctionId, Module, Op, Statement, Value};
use crate::text::head;
use crate::types::{Scalar, Type};

/// All findings of a module; none if it is well formed.
pub fn verify(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let mut findings = Vec::new();
    let mut names = HashSet::new();
    for function in &module.functions {
        let valid = !function.name.is_empty()
            && function.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
        if !valid || !names.insert(&function.name) {
            let message = format!("`{}` is no name of its own for a function", function.name);
            findings.push(Diagnostic::error(message));
        }
        verify_function(module, function, &mut findings);
    }
    if findings.is_empty() {
        check_recursion(module, &mut findings);
    }
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

fn verify_function(module: &Module, function: &Function, findings: &mut Vec<Diagnostic>) {
    let mut verifier = Verifier {
        module,
        function,
        numbers: function.printed_numbers(),
        states: vec![State::Undefined; function.types.len()],
        constants: vec![None; function.types.len()],
        visible: Vec::new(),
        place: None,
        findings: Vec::new(),
    };
    for parameter in &function.parameters {
        verifier.define(parameter.value);
        let is_address = verifier.ty(parameter.value) == Type::PTR;
        if !is_address && (parameter.noalias || parameter.align != 1) {
            verifier.error("only addresses have `noalias` and `align`");
        }
        if !parameter.align.is_power_of_two() {
            verifier.error(format!("{} is no alignment", parameter.align));
        }
    }
    verifier.block(&function.body);
    verifier.place = None;
    if !function.body.yields.is_empty() {
        verifier.error("a function's body yields nothing");
    }
    let note = format!("in @{}", function.name);
    findings.extend(verifier.findings.into_iter().map(|finding| finding.note(note.clone())));
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Undefined,
    Visible,
    /// Defined in a block that is closed.
    Gone,
}

struct Verifier<'a> {
    module: &'a Module,
    function: &'a Function,
    numbers: Vec<Option<u32>>,
    states: Vec<State>,
    /// The bits of scalar constants.
    constants: Vec<Option<u64>>,
    /// What was defined, for blocks to hide when they close.
    visible: Vec<Value>,
    place: Option<&'a Statement>,
    findings: Vec<Diagnostic>,
}

/// Findings beyond this many say nothing new.
const MAX_FINDINGS: usize = 20;

impl<'a> Verifier<'a> {
    fn error(&mut self, message: impl Into<String>) {
        if self.findings.len() >= MAX_FINDINGS {
            return;
        }
        let finding = Diagnostic::error(message);
        self.findings.push(match self.place {
            Some(statement) => finding.note(head(self.function, self.module, statement)),
            None => finding,
        });
    }

    /// How messages name a value.
    fn name(&self, value: Value) -> String {
        match self.numbers.get(value.0 as usize).copied().flatten() {
            Some(number) => format!("%{number}"),
            None => format!("%?{}", value.0),
        }
    }

    /// The type of a value; the verifier has complained already if it has none.
    fn ty(&self, value: Value) -> Type {
        self.function.types.get(value.0 as usize).copied().unwrap_or(Type::I64)
    }

    fn define(&mut self, value: Value) {
        let name = self.name(value);
        let Some(state) = self.states.get_mut(value.0 as usize) else {
            return self.error(format!("`{name}` has no type"));
        };
        if *state != State::Undefined {
            self.error(format!("`{name}` is defined twice"));
            return;
        }
        *state = State::Visible;
        self.visible.push(value);
        let ty = self.ty(value);
        if ty.lanes == 0 || (ty.scalar == Scalar::Ptr && ty.is_vector()) {
            self.error(format!("`{name}` has a type that no value has: {ty}"));
        }
    }

    fn used(&mut self, value: Value) {
        match self.states.get(value.0 as usize) {
            Some(State::Visible) => {}
            Some(State::Gone) => {
                let message = format!("`{}` is used outside its block", self.name(value));
                self.error(message);
            }
            Some(State::Undefined) | None => {
                let message = format!("`{}` is used before it is defined", self.name(value));
                self.error(message);
            }
        }
    }

    fn block(&mut self, block: &'a Block) {
        let outside = self.visible.len();
        let owner = self.place;
        for statement in &block.statements {
            self.place = Some(statement);
            self.statement(statement);
        }
        self.place = owner;
        block.yields.iter().for_each(|&value| self.used(value));
        for value in self.visible.split_off(outside) {
            self.states[value.0 as usize] = State::Gone;
        }
    }

    fn expect_type(&mut self, what: &str, value: Value, expected: Type) {
        let found = self.ty(value);
        if found != expected {
            let message = format!("{what} `{}` is {found}, not {expected}", self.name(value));
            self.error(message);
        }
    }

    fn remember_constant(&mut self, result: Value, op: &Op) {
        if let (Op::Constant { bits }, Some(known)) =
            (op, self.constants.get_mut(result.0 as usize))
        {
            *known = Some(*bits);
        }
    }
}

/// A call chain that comes back to where it started could not be inlined.
fn check_recursion(module: &Module, findings: &mut Vec<Diagnostic>) {
    let callees = |function: &Function| {
        let mut callees = Vec::new();
        function.body.walk(&mut |statement| {
            if let Statement::Call { callee, .. } | Statement::ParallelCall { callee, .. } =
                statement
            {
                callees.push(*callee);
            }
        });
        callees
    };
    // Depth first, with a list of its own: chains may be long.
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; module.functions.len()];
    for start in 0..module.functions.len() {
        let mut stack = vec![(FunctionId(start as u32), None::<Vec<FunctionId>>)];
        while let Some((id, pending)) = stack.last_mut() {
            let (id, index) = (*id, id.0 as usize);
            if pending.is_none() {
                match marks[index] {
                    Mark::Done => {
                        stack.pop();
                        continue;
                    }
                    Mark::Open => {
                        let message = format!("@{} calls itself", module[id].name);
                        return findings.push(Diagnostic::error(message));
                    }
                    Mark::New => {
                        marks[index] = Mark::Open;
                        *pending = Some(callees(&module[id]));
                    }
                }
            }
            match pending.as_mut().and_then(Vec::pop) {
                Some(callee) => stack.push((callee, None)),
                None => {
                    marks[index] = Mark::Done;
                    stack.pop();
                }
            }
        }
    }
}
