//! What stands in a convolution's `window = {…}`, from text.

use std::sync::Arc;

use super::cursor::Result;
use super::operations::Reading;
use super::parser::Parser;
use crate::mlir::{Attribute, DenseElements, Type};

impl<'a> Parser<'a> {
    /// `stride = [1, 1], pad = [[0, 0], [1, 1]], lhs_dilate = …, rhs_dilate = …, reverse = …`.
    pub(super) fn window(&mut self, reading: &mut Reading<'a>) -> Result<()> {
        let mut seen = Vec::new();
        while !self.sees("}") {
            if !seen.is_empty() {
                self.expect(",")?;
            }
            self.skip_space();
            let start = self.offset();
            let word = self.peek_word();
            let name = match word {
                "stride" => "window_strides",
                "pad" => "padding",
                "lhs_dilate" => "lhs_dilation",
                "rhs_dilate" => "rhs_dilation",
                "reverse" => "window_reversal",
                _ => {
                    return Err(self.unexpected(
                        "`stride`, `pad`, `lhs_dilate`, `rhs_dilate`, `reverse` or `}`",
                    ));
                }
            };
            self.word();
            if seen.contains(&word) {
                let span = self.span_from(start);
                return Err(self.error(span, format!("`{word}` is given twice")));
            }
            seen.push(word);
            self.expect("=")?;
            let value = match word {
                "pad" => self.padding()?,
                "reverse" => {
                    let values = self.list("[", "]", |parser| {
                        if parser.sees_number() {
                            return Ok(parser.integer()? != 0);
                        }
                        parser.boolean()
                    })?;
                    Attribute::bool_array(values)
                }
                _ => Attribute::i64_array(self.integer_list()?),
            };
            reading.set(name, value);
        }
        Ok(())
    }

    /// `[[0, 0], [1, 1]]` as a tensor with two columns.
    fn padding(&mut self) -> Result<Attribute> {
        self.skip_space();
        let start = self.offset();
        let pairs = self.list("[", "]", |parser| parser.integer_list())?;
        let span = self.span_from(start);
        if pairs.iter().any(|pair| pair.len() != 2) {
            return Err(self.error(span, "expected pairs of low and high padding"));
        }
        let ty = Type::tensor([pairs.len() as i64, 2], Type::I64);
        let bytes: Vec<u8> = pairs.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        match DenseElements::new(ty, bytes) {
            Some(elements) => Ok(Attribute::DenseElements(Arc::new(elements))),
            None => Err(self.error(span, "expected pairs of low and high padding")),
        }
    }
}
