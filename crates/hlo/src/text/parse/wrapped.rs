//! `add-start`, `add-update` and `add-done`: text's way to write an asynchronous computation that
//! consists of a single op.

use super::instruction::Draft;
use super::{Parse, Parser};
use crate::{InstructionId, Op, Shape};

impl<'a> Parser<'a> {
    /// Makes the computation of an `…-start`, and checks what asynchronous ops hang together by.
    pub(super) fn finish_wrapped(&mut self, draft: &mut Draft<'a>) -> Parse<()> {
        match &draft.op {
            Op::AsyncStart(_) => self.finish_start(draft),
            Op::AsyncUpdate(_) | Op::AsyncDone(_) => self.check_continuation(draft),
            _ => Ok(()),
        }
    }

    fn finish_start(&mut self, draft: &mut Draft<'a>) -> Parse<()> {
        let elements = draft.shape.as_ref().and_then(Shape::as_tuple).unwrap_or_default();
        let [Shape::Tuple(inputs), output, ..] = elements else {
            let message = "the shape of an asynchronous start is `((operands), result, …)`";
            return Err(self.error(draft.span, message));
        };
        if inputs.len() != draft.operands.len() {
            let message = format!(
                "the shape lists {} operands, {} are given",
                inputs.len(),
                draft.operands.len()
            );
            return Err(self.error(draft.span, message));
        }
        let Some(wrapped) = draft.wrapped.take() else {
            let Op::AsyncStart(start) = &draft.op else { return Ok(()) };
            let computation = start.calls;
            self.module[computation].execution_thread = thread(&start.async_execution_thread);
            return Ok(());
        };
        let computation = self.module.add_computation("async_wrapped");
        let mut parameters = Vec::with_capacity(draft.operands.len());
        for (number, &operand) in draft.operands.iter().enumerate() {
            let shape = self.module[operand].shape.clone();
            let op = Op::parameter(number as i64);
            let name = "async_param";
            parameters.push(self.module.add_instruction(computation, name, op, shape, &[]));
        }
        let root = self.module.add_instruction(
            computation,
            "async_op",
            wrapped,
            output.clone(),
            &parameters,
        );
        self.module.set_root(root);
        if let Some(info) = &draft.info {
            // XLA repeats on the wrapped op what describes it, but not its sharding and order.
            let copy = self.module[root].info_mut();
            copy.metadata = info.metadata.clone();
            copy.original_value = info.original_value.clone();
            copy.backend_config = info.backend_config.clone();
            copy.frontend_attributes = info.frontend_attributes.clone();
            copy.statistics = info.statistics.clone();
        }
        if let Op::AsyncStart(start) = &mut draft.op {
            start.calls = computation;
            self.module[computation].execution_thread = thread(&start.async_execution_thread);
        }
        Ok(())
    }

    fn check_continuation(&mut self, draft: &mut Draft<'a>) -> Parse<()> {
        let start = draft.operands.first().and_then(|&operand| self.start_of(operand));
        let Some(start) = start else {
            let message =
                format!("the operand of `{}` is an asynchronous start or update", draft.op.name());
            return Err(self.error(draft.span, message));
        };
        let Some(wrapped) = &draft.wrapped else { return Ok(()) };
        let Op::AsyncStart(op) = &self.module[start].op else { return Ok(()) };
        let Some(root) = self.module[op.calls].try_root() else { return Ok(()) };
        let actual = self.module[root].op.name();
        if actual != wrapped.name() {
            let message =
                format!("this continues a `{}`, but its start wraps a `{actual}`", wrapped.name());
            return Err(self.error(draft.span, message));
        }
        Ok(())
    }

    /// The start of the chain that an asynchronous op belongs to.
    fn start_of(&self, mut instruction: InstructionId) -> Option<InstructionId> {
        loop {
            let current = &self.module[instruction];
            match current.op {
                Op::AsyncStart(_) => return Some(instruction),
                Op::AsyncUpdate(_) => instruction = *current.operands().first()?,
                _ => return None,
            }
        }
    }
}

/// How a thread's name is kept: `main` goes without saying.
fn thread(name: &str) -> Option<String> {
    (!name.is_empty() && name != "main").then(|| name.to_owned())
}
