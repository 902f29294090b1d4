//! `dense<…> : type`. The type stands behind the elements but says how to read them, so the
//! elements are passed over once and read in a second go.

use std::sync::Arc;

use rxla_base::{Diagnostic, Span};

use super::cursor::Result;
use super::parser::Parser;
use crate::mlir::{Attribute, ByteString, DenseElements, DenseStrings, Type};

impl Parser<'_> {
    /// What follows the word `dense`.
    pub(super) fn dense(&mut self) -> Result<Attribute> {
        self.skip_space();
        let start = self.offset();
        self.pass_balanced(|_| {})?;
        self.expect(":")?;
        self.skip_space();
        let type_start = self.offset();
        let ty = self.ty()?;
        let type_span = self.span_from(type_start);
        let end = self.offset();
        self.move_to(start);
        self.expect("<")?;
        let attribute = self.dense_body(&ty, type_span)?;
        self.expect(">")?;
        self.move_to(end);
        Ok(attribute)
    }

    fn dense_body(&mut self, ty: &Type, type_span: Span) -> Result<Attribute> {
        let Some((shape, element)) = ty.shaped() else {
            return Err(self.error(type_span, "elements need a tensor or vector type with sizes"));
        };
        let shape = shape.to_vec();
        let element = element.clone();
        let Some(count) = ty.element_count() else {
            return Err(self.error(type_span, "elements need a type with known sizes that fit"));
        };
        if matches!(element, Type::Opaque(_) | Type::Token | Type::Tuple(_)) {
            return self.dense_strings(ty, &shape);
        }
        let Some(size) = element.dense_element_bytes() else {
            let text = super::print::type_text(&element);
            return Err(self.error(type_span, format!("elements of type `{text}` cannot be dense")));
        };
        if size > 16 {
            let text = super::print::type_text(&element);
            return Err(self
                .error(type_span, format!("dense elements of type `{text}` are not implemented")));
        }
        let mut bytes = Vec::new();
        self.skip_space();
        let start = self.offset();
        if self.sees(">") {
            if count != 0 {
                return Err(self.error(
                    Span::new(start, start + 1),
                    format!("no elements are given where the type has {count}"),
                ));
            }
        } else if self.sees("\"") {
            bytes = self.hexadecimal_elements(&element, count)?;
        } else if self.sees("[") {
            self.dense_list(&shape, &mut |parser| parser.dense_element(&element, &mut bytes))?;
        } else {
            self.dense_element(&element, &mut bytes)?;
        }
        let span = self.span_from(start);
        let given = bytes.len() / size;
        match DenseElements::new(ty.clone(), bytes) {
            Some(elements) => Ok(Attribute::DenseElements(Arc::new(elements))),
            None => Err(Box::new(
                Diagnostic::error(format!("{given} elements are given where the type has {count}"))
                    .at(span)
                    .label(type_span, "the type"),
            )),
        }
    }

    fn dense_strings(&mut self, ty: &Type, shape: &[i64]) -> Result<Attribute> {
        let mut values: Vec<ByteString> = Vec::new();
        let splat = self.sees("\"");
        if splat {
            values.push(self.string()?.into());
        } else if !self.sees(">") {
            self.dense_list(shape, &mut |parser| {
                values.push(parser.string()?.into());
                Ok(())
            })?;
        }
        Ok(Attribute::DenseStrings(Arc::new(DenseStrings { ty: ty.clone(), splat, values })))
    }

    /// Nested lists with the extents `shape`.
    fn dense_list(
        &mut self,
        shape: &[i64],
        element: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        self.skip_space();
        let start = self.offset();
        // An empty tensor may be written with fewer brackets than it has dimensions.
        let mut ahead = (**self).clone();
        ahead.eat("[");
        if ahead.sees("]") && shape.contains(&0) {
            self.move_to(ahead.offset() + 1);
            return Ok(());
        }
        let Some((&size, inner)) = shape.split_first() else {
            return Err(self.unexpected("one element, since the tensor has no further dimensions"));
        };
        let mut count = 0;
        self.expect("[")?;
        self.list_until("]", |parser| {
            count += 1;
            if inner.is_empty() {
                element(parser)
            } else {
                parser.nested(|parser| parser.dense_list(inner, element))
            }
        })?;
        if count == size {
            return Ok(());
        }
        let span = self.span_from(start);
        Err(self.error(span, format!("{count} entries where the type has {size}")))
    }

    fn dense_element(&mut self, element: &Type, bytes: &mut Vec<u8>) -> Result<()> {
        if let Type::Complex(part) = element {
            self.expect("(")?;
            self.dense_element(part, bytes)?;
            self.expect(",")?;
            self.dense_element(part, bytes)?;
            return self.expect(")");
        }
        let size = element.dense_element_bytes().unwrap_or(0);
        let bits = match element {
            &Type::I1 if !self.sees_number() => u64::from(self.boolean()?),
            Type::Float(float) => {
                let number = self.number()?;
                self.float_bits(number, *float)?
            }
            Type::Integer { width, .. } => {
                let number = self.number()?;
                let value = self.integer_of(number, element)? as u64;
                // Bits above the width are zero.
                value & (u64::MAX >> (64 - (*width).clamp(1, 64)))
            }
            _ => {
                let number = self.number()?;
                self.integer_of(number, element)? as u64
            }
        };
        if size > 8 {
            return Err(self.unexpected("a hexadecimal string for elements of more than 64 bits"));
        }
        bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        Ok(())
    }

    /// `"0x…"`: the bytes of all elements, or of one for all.
    fn hexadecimal_elements(&mut self, element: &Type, count: u64) -> Result<Vec<u8>> {
        let start = self.offset();
        let text = self.string()?;
        let span = self.span_from(start);
        let bytes = text.strip_prefix(b"0x").and_then(hexadecimal);
        let Some(mut bytes) = bytes else {
            return Err(Box::new(
                Diagnostic::error("expected bytes in hexadecimal")
                    .at(span)
                    .hint("write `\"0x\"` with two digits for each byte"),
            ));
        };
        // Until 2025 MLIR packed truth values, eight in a byte.
        if *element == Type::I1 && count > 8 && bytes.len() as u64 == count.div_ceil(8) {
            let bit = |index: usize| bytes[index / 8] >> (index % 8) & 1;
            bytes = (0..count as usize).map(bit).collect();
        }
        clear_unused_bits(element, &mut bytes);
        Ok(bytes)
    }
}

/// Makes equal values equal bytes.
fn clear_unused_bits(element: &Type, bytes: &mut [u8]) {
    let part = match element {
        Type::Complex(part) => part,
        other => other,
    };
    let bits = match part {
        Type::Integer { width, .. } => *width,
        Type::Float(float) => float.bits(),
        _ => return,
    };
    let size = bits.div_ceil(8).max(1) as usize;
    let unused = (size as u32 * 8).saturating_sub(bits);
    if unused == 0 || unused >= 8 {
        return;
    }
    for byte in bytes.iter_mut().skip(size - 1).step_by(size) {
        *byte &= 0xff >> unused;
    }
}

/// Two digits a byte.
pub(super) fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
