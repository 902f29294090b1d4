//! Shapes that the text leaves out.

use rxla_base::Diagnostic;

use super::instruction::Draft;
use super::{Parse, Parser};
use crate::{Op, Shape};

impl<'a> Parser<'a> {
    pub(super) fn inferred_shape(&mut self, draft: &Draft<'a>) -> Parse<Shape> {
        let operand = |index: usize| self.module[draft.operands[index]].shape.clone();
        match &draft.op {
            Op::Unary(_) | Op::Binary(_) => Ok(operand(0)),
            Op::Tuple(_) => Ok(Shape::tuple((0..draft.operands.len()).map(operand))),
            op => {
                let message = format!("the shape of `{}` must be written", op.name());
                Err(self.report(Diagnostic::error(message).at(draft.span)))
            }
        }
    }
}
