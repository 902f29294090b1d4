//! Shapes that the text leaves out.

use super::instruction::Draft;
use super::{Failed, MissingLayouts, Parse, Parser};
use crate::{Shape, infer};

impl<'a> Parser<'a> {
    pub(super) fn inferred_shape(&mut self, draft: &Draft<'a>) -> Parse<Shape> {
        for computation in draft.op.called_computations() {
            if self.module[computation].try_root().is_none() {
                let defined = self.computations.values().any(|c| c.id == computation && c.defined);
                if defined {
                    // It failed, and that was told.
                    return Err(Failed);
                }
                let name = self.module[computation].name();
                let message = format!(
                    "the shape of `{}` must be written where it calls `{name}`, which comes later",
                    draft.op.name()
                );
                return Err(self.error(draft.span, message));
            }
        }
        let operands: Vec<&Shape> =
            draft.operands.iter().map(|&operand| &self.module[operand].shape).collect();
        match infer(&self.module, &draft.op, &operands, None) {
            Ok(shape) => Ok(match self.options.missing_layouts {
                MissingLayouts::Keep => shape,
                MissingLayouts::RowMajor => shape.with_default_layout(),
            }),
            Err(diagnostic) => Err(self.report(diagnostic.at(draft.span))),
        }
    }
}
